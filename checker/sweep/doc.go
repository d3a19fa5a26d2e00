// Package sweep crashes the storage engine at every write-like call that a script makes, with every loss a disk may
// suffer, lets it recover, and holds what it serves against what it had promised by then.
//
// A script ([trialog/checker/sweep/script]) runs once in the simulator. At each call that changes the disk (write, pwrite,
// ftruncate, fsync, rename, unlink, rmdir, mkdir, an open that creates or truncates) the disk is forked: before it, after
// it, and in the middle of a write. Each fork loses what is not durable in each pattern of loss, see patterns. What is left
// is an image. The guest (checker/sweep/subject, which holds seglog and nothing else) recovers it, shows all it serves,
// appends a batch, stops cleanly, starts again and shows all once more. The judge runs the obvious log (core/seglog/twin)
// through the same steps up to the moment of the crash and asks whether that is allowed.
//
// A recovery is crashed, too: for each way in which recoveries of a script went (the sequence of their calls) one is taken,
// forked at each call like a script, and what it left recovers once more.
//
// It is complete: every point with every pattern makes an image, every image is judged against every moment at which it
// may have come about, and all are counted. Images that are equal are recovered once.
//
// It owns: points, patterns, images, the judge, the counts. It never: decides what a log may do (twin), or what a disk may
// lose (netsim/disk). Callers: trialog sweep, and the tests.
package sweep
