// Package seglog is the log of one partition on disk, and the directory that holds many of them.
//
// It owns the files: segments, indexes, producer snapshots, checkpoints, the clean-shutdown marker; how a batch gets
// into them, is found, is made durable, and what is left after a crash. It never decides what is committed or visible
// (replica does), never parses a request, and never looks at the wall clock: times are arguments. Callers: broker (the
// partitions and __cluster_metadata), and the log tools.
//
// One partition is a directory `<topic>-<partition>` with Kafka's files (big-endian; text files end in a newline; layout has
// their formats):
//
//	00000000000000000042.log         batches of format v2, nothing else; the name is the base offset of the segment
//	00000000000000000042.index       {i32 last offset of a batch - base, i32 position of the batch}
//	00000000000000000042.timeindex   {i64 largest timestamp so far, i32 last offset of its batch - base}
//	00000000000000000042.txnindex    aborted transactions whose marker lies in the segment (package txnindex)
//	00000000000000000042.snapshot    producer state of everything below 42 (package producers)
//	leader-epoch-checkpoint          package epochs
//	partition.metadata               topic id
//	fsync-failed                     not Kafka's: see "A failed fsync"
//
// Of the indexes only a sample is in memory (package index): an open segment costs its sample and less than 4 KiB. Sealed
// segments are opened when they are read; openfiles bounds how many files are open. The active segment, and every one that
// holds bytes that were not fsynced, stays open.
//
// Who waits for whom: appends run one after the other under the append lock, which readers never take, unless they meet a
// replacement of segments or a damaged index. Readers see one list of segments and, for each, one word that holds (next
// offset, size): never one without the other (KAFKA-9835). Flushes share fsyncs: everyone who comes while one is running is
// served by the next. What a roll leaves behind (indexes, snapshot, fsync) is done by the flush, not by the append that
// rolled. Locks, in this order: compaction, append, flush pass.
//
// What is durable when (a power cut loses the rest; a killed process loses nothing that was written):
//
//	a new log                 when Open returns: directory, first segment, partition.metadata
//	a batch                   when Flush returns for it: its bytes, those below it, the names of their segments
//	a sealed segment          soon after the roll: a flush follows in the background, with indexes and snapshot; of a
//	                          compacted log, its batches before there is a next segment (rule compact-below-hw)
//	the active index          never: recovery makes it anew beyond the recovery point; at Close it is
//	an aborted transaction    when Flush returns for its marker: nobody looks for markers below the recovery point again
//	a leader epoch            when StartEpoch returns, or the first append of the epoch: before the batch is written
//	checkpoints               when Checkpoint returns: temporary file, fsync, rename, fsync of the directory; each whole,
//	                          old or new. A recovery point never claims what is not flushed, or is about to be cut
//	a truncation              when it returns; the lowered recovery point before the file is cut
//	the start offset          with the next Checkpoint, or when all segments below it are renamed. A start that goes back in a
//	                          power cut shows records again that were to be deleted, never others
//	a deleted segment         renamed durably, the oldest first, one after the other; its files go after file.delete.delay.ms
//	compacted segments        complete and durable before what they replace loses its name (replace.go)
//	a clean stop              when Close returns: then nothing is scanned at the next start
//
// After an unclean stop everything below the recovery point is believed, and what lies beyond it is read and checked. What
// Open returns is durable again.
//
// A failed fsync: the kernel drops the error and may take the pages for written. So the log stops (S4), nothing that was not
// flushed before counts, and the file fsync-failed is left in its directory: the next process, which finds the bytes in the
// page cache, writes again what it keeps beyond the recovery point before it fsyncs, and then removes the file. After a power
// cut the cache is gone, and with it the need, so this file is not fsynced. It cannot help where even an empty file cannot be
// made; then the error says so. A directory whose fsync failed is fsynced again: file systems with a journal stop at the
// first failure there.
//
// Invariants:
//
//	S1  start offset <= flushed to <= end offset; the end offset goes back only by Truncate
//	S2  a segment's base offset <= the base offset of its first batch; segments are in order and do not overlap
//	S3  what Flush reported survives a power cut: bytes, file size and directory entry (rule fsync-directory)
//	S4  after a failed write or fsync nothing more is appended or flushed: the log has failed until it is opened again
//	    (KAFKA-10778; rule fsync-failure-is-final)
//	S5  readers never get bytes past the end offset; bytes that were cut are not served under a new meaning
//	S6  at most one segment has a given base offset, and a roll never touches a file that holds data (KAFKA-6388)
//	S7  an index entry is used only if the batch that it names is where it says (rule index-sanity-check)
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
