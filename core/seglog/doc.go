// Package seglog is the log of one partition on disk, and the directory that holds many of them.
//
// It owns the files: segments, indexes, producer snapshots, checkpoints, the clean-shutdown marker; how a batch gets
// into them, is found, is made durable, and what is left after a crash. It never decides what is committed or visible
// (replica does), never parses a request, and never looks at the wall clock: times are arguments. Callers: broker (the
// partitions and __cluster_metadata), and the log tools.
//
// One partition is a directory `<topic>-<partition>` with Kafka's files (big-endian; text files end in a newline):
//
//	00000000000000000042.log         batches of format v2, nothing else; the name is the base offset of the segment
//	00000000000000000042.index       {i32 last offset of a batch - base, i32 position of the batch}
//	00000000000000000042.timeindex   {i64 largest timestamp so far, i32 last offset of its batch - base}
//	00000000000000000042.snapshot    producer state of everything below 42 (package producers)
//	leader-epoch-checkpoint          package epochs
//	partition.metadata               topic id
//
// The indexes of the active segment live in memory and are written when the segment is rolled or closed: after a crash
// they are rebuilt from the batches, so writing them earlier would buy nothing.
//
// Who waits for whom: appends run one after the other under the append lock, which readers never take. Readers see
// one list of segments and, for each, one word that holds (next offset, size): never one without the other
// (KAFKA-9835). Flushes share fsyncs: everyone who comes while one is running is served by the next. What a roll
// leaves behind (indexes, snapshot, fsync) is done by the flush, not by the append that rolled.
//
// Invariants:
//
//	S1  start offset <= flushed to <= end offset; the end offset goes back only by Truncate
//	S2  a segment's base offset <= the base offset of its first batch; segments are in order and do not overlap
//	S3  what Flush reported survives a power cut: bytes, file size and directory entry (rule fsync-directory)
//	S4  after a failed write or fsync nothing more is appended or flushed: the log has failed until it is opened again
//	    (KAFKA-10778; a page whose fsync failed may be clean and lost, so fsync is never retried)
//	S5  readers never get bytes past the end offset; bytes that were cut are not served under a new meaning
//	S6  at most one segment has a given base offset, and a roll never touches a file that holds data (KAFKA-6388)
package seglog

import "errors"

// Errors that callers tell apart (errors.Is). All others are failures of the environment.
var (
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("seglog: log is closed")
	// ErrFailed: an earlier write or fsync failed; the text has the first failure (S4).
	ErrFailed = errors.New("seglog: log has failed")
	// ErrTruncated: the log was truncated into bytes that a reader was promised.
	ErrTruncated = errors.New("seglog: truncated under a reader")
	// ErrCorrupt: bytes below the end offset are no batch.
	ErrCorrupt = errors.New("seglog: corrupt")
	// ErrTopicID: the directory belongs to another topic of the same name.
	ErrTopicID = errors.New("seglog: topic id does not match")
)
