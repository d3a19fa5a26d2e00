// Package epochs is the leader-epoch cache of one partition: for each leader epoch, the offset at which it starts
// (KIP-101, KIP-279).
//
// It owns the list and the text of the file leader-epoch-checkpoint. It never reads or writes the file (seglog does),
// never decides who truncates (replica does), and knows no log: the log end offset is an argument.
//
// Invariants:
//
//	E1  epochs strictly increase
//	E2  start offsets never decrease, and strictly increase unless a TruncateFromStart moved the first entry up
//	E3  a change is reported by the method that made it, so that the owner knows when to write the file
//
// An entry says "from here on, records carry this epoch". A leader assigns its epoch when it is elected, before its
// first append (KAFKA-7415); a follower assigns when a batch with a new epoch arrives.
package epochs

import "trialog/core/kafka"

// Undefined is the answer of EndOffsetFor when nothing is known.
const Undefined = -1

// Entry is one epoch and the offset of its first record.
type Entry struct {
	Epoch kafka.LeaderEpoch
	Start kafka.Offset
}

// Cache is the sorted list of entries. The zero value is empty and ready.
type Cache struct {
	entries []Entry
}

// Assign notes that epoch starts at start and reports whether anything changed.
// An epoch that is already the latest keeps its start. Otherwise entries with an epoch >= epoch or a start >= start
// are removed first: they lost (Kafka's LeaderEpochFileCache.assign). Negative arguments panic.
func (c *Cache) Assign(epoch kafka.LeaderEpoch, start kafka.Offset) (changed bool) {
	panic("epochs: Assign")
}

// EndOffsetFor answers OffsetForLeaderEpoch: the largest epoch <= the requested one, and the offset where it ends: the
// start of the next entry, or leo (the log end offset) when it is the latest. Both are -1 when the cache is empty, or
// the request is negative or above the latest epoch. Below the first entry the answer is (requested, first start).
func (c *Cache) EndOffsetFor(epoch kafka.LeaderEpoch, leo kafka.Offset) (kafka.LeaderEpoch, kafka.Offset) {
	panic("epochs: EndOffsetFor")
}

// EpochAt is the epoch of the record at offset, or -1 below the first entry. It does not know the log's end.
func (c *Cache) EpochAt(offset kafka.Offset) kafka.LeaderEpoch { panic("epochs: EpochAt") }

// TruncateFromEnd removes all entries that start at end or later, and reports whether there were any. It must be
// called for every truncation, one that cuts no byte included (KAFKA-10706).
func (c *Cache) TruncateFromEnd(end kafka.Offset) (changed bool) { panic("epochs: TruncateFromEnd") }

// TruncateFromStart forgets what lies below start (the new log start offset): the last entry that starts at or below
// it becomes the first and starts there. It reports whether anything changed.
func (c *Cache) TruncateFromStart(start kafka.Offset) (changed bool) {
	panic("epochs: TruncateFromStart")
}

// Latest is the last entry; ok is false when there is none.
func (c *Cache) Latest() (e Entry, ok bool) { panic("epochs: Latest") }

// LatestEpoch is the epoch of the last entry, or -1.
func (c *Cache) LatestEpoch() kafka.LeaderEpoch { panic("epochs: LatestEpoch") }

// Previous is the largest epoch below the given one, or -1.
func (c *Cache) Previous(epoch kafka.LeaderEpoch) kafka.LeaderEpoch { panic("epochs: Previous") }

// Clear forgets everything and reports whether there was anything.
func (c *Cache) Clear() (changed bool) { panic("epochs: Clear") }

// Entries is a view of the entries, valid until the next change.
func (c *Cache) Entries() []Entry { return c.entries }

// Len is the number of entries.
func (c *Cache) Len() int { return len(c.entries) }

// Clone is an independent copy.
func (c *Cache) Clone() *Cache { panic("epochs: Clone") }

// AppendTo appends a canonical binary form: equal caches, equal bytes.
func (c *Cache) AppendTo(b []byte) []byte { panic("epochs: AppendTo") }

// String is "0@0 2@17 5@40": epoch@start; "-" when empty.
func (c *Cache) String() string { panic("epochs: String") }
