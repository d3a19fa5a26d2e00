// Package logdirs is the entries of log.dirs together: who owns them, which one
// holds which partition.
//
// It owns the lock file, meta.properties and its checks, the choice of a
// directory for a new partition, and which directories are offline: one that
// failed stays so until the next start, and nothing of what it held is made
// anew elsewhere. It never looks into a log (package seglog does)
// and knows no topic beyond its name and id. Caller: package broker.
//
// # Files, in each directory
//
//	.lock                 held while a broker uses the directory (natively only)
//	meta.properties       cluster id, node id, directory id
//	and those of package seglog
package logdirs
