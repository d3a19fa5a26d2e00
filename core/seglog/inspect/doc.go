// Package inspect reads the files of a log directory, or of one partition, and says what they hold and what is wrong with
// them. It changes nothing, opens no log, and works beside a running broker, whose files may then look unfinished.
//
// It owns the check of a directory against every invariant of the formats, and reading files row by row for a dump. What the
// files look like, layout says; what a batch is, record; what a recovery would do is not foretold here but done, on a copy
// (package rehearse). It reads what Kafka 2.8 and later write as well: compressed, compacted and transactional logs, the
// internal topics, preallocated indexes. Batches before format 2 are named and not read.
//
// A finding has a level, which says who is to be believed:
//
//	damage       nothing that a crash leaves explains it: the directory was stopped cleanly, or the place lies below the
//	             recovery point, or it is unknown which
//	recoverable  a crash may leave it, and the next start settles it
//	note         worth knowing, nothing is wrong
//
// Whether a gap between batches is damage, the cleaner's checkpoint decides: below its row compaction explains them; above it
// a follower has what its leader had, which is a note; a partition without a row was never compacted, and has none.
//
// What the formats cannot show, no check finds: a number in a text checkpoint that is as possible as the right one; index
// entries that are missing at the end of an .index, or in its middle; the base offset of a batch that is moved within a gap
// which compaction left (nothing but the index and the timestamps may then contradict it); a whole batch that is cut off the
// end of a log whose checkpoints are gone too.
package inspect
