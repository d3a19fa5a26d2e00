// Package twin is the obvious log: the contract of seglog in memory, slow and short. Tests and the crash sweep run both on
// the same operations and compare every answer; no broker ever imports it.
//
// A Log is a list of batches, a list of the offsets at which segments begin, and a few numbers. It has no files, no indexes,
// no locks and no clock. Nothing in it is shared with seglog but the layout of a batch (package record): what both get wrong
// in the same way has to be got wrong twice.
//
// # How to use it
//
//	w := twin.New(settings)                       // beside seglog.Open on an empty directory
//	w.Append(batch, epoch)                        // each operation as on the log, with what the answer must be
//	have, err := twin.Observe(realLog)            // all that can be seen of the real one
//	err = w.Check(have)                           // while it runs, or after a clean stop
//
//	w.Crashed().Check(have)                       // after a crash between two operations, and a recovery
//	before := w.Clone(); w.Truncate(5)            // after a crash in the middle of an operation:
//	twin.Between(before, w).Check(have)           //   what is allowed before it, after it, or half way
//	w.Adopt(have)                                 // and on from there
//
// A compaction is not predicted but judged: CheckCompacted after a complete pass, Compacting(pass).Check after a crash in
// the middle of one, and Adopt after both.
//
// # What a crash may do
//
//	C1  everything below what Flush reported, and everything that an earlier recovery kept, is there (a truncation that
//	    was begun gives up what it cuts)
//	C2  what is there is a prefix of what was appended, ending between two batches; bytes are as they were
//	C3  the start offset is at least the one last checkpointed, and that of the segments deleted; at most the last one set
//	C4  start <= HW <= end, and what recovery kept is durable
//	C5  the leader-epoch cache knows each batch's epoch, and none that starts at or above the end (but at the start)
//	C6  the producer state is that of the batches; a producer of which no batch is left in the log may be known or not
//	C7  segments are those that were, or fewer; the first begins at or below the start, and none above the end
//	C8  of a compaction, some segments may be cleaned and others not: K1 and K2 of CheckCompacted hold
package twin
