// Package epochs is the leader-epoch cache of one partition: for each leader epoch, the offset at which it starts
// (KIP-101, KIP-279).
//
// It owns the list and the text of the file leader-epoch-checkpoint. It never reads or writes the file (seglog does),
// never decides who truncates (replica does), and knows no log: the log end offset is an argument.
//
// Invariants:
//
//	E1  epochs strictly increase
//	E2  start offsets strictly increase, and are not negative
//	E3  a change is reported by the method that made it, so that the owner knows when to write the file
//
// An entry says "from here on, records carry this epoch". A leader assigns its epoch when it is elected, before its
// first append (KAFKA-7415); a follower assigns when a batch with a new epoch arrives.
package epochs

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"trialog/core/kafka"
)

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

// Assign notes that epoch starts at start and reports whether anything changed. When epoch is the latest already, only
// a lower start changes it. Otherwise entries with an epoch >= epoch or a start >= start are removed first: they lost
// (as Kafka's LeaderEpochFileCache.assign). Negative arguments panic.
func (c *Cache) Assign(epoch kafka.LeaderEpoch, start kafka.Offset) (changed bool) {
	if epoch < 0 || start < 0 {
		panic(fmt.Sprintf("epochs: assign of epoch %d at offset %d to %v", epoch, start, c))
	}
	n := len(c.entries)
	if n > 0 && c.entries[n-1].Epoch == epoch && c.entries[n-1].Start <= start {
		return false
	}
	for n > 0 && (c.entries[n-1].Epoch >= epoch || c.entries[n-1].Start >= start) {
		n--
	}
	c.entries = append(c.entries[:n], Entry{Epoch: epoch, Start: start})
	c.check()
	return true
}

// EndOffsetFor answers OffsetForLeaderEpoch: the largest epoch <= the requested one, and the offset where it ends: the
// start of the next entry, or leo (the log end offset) when it is the latest. Both are Undefined when the cache is
// empty, or the request is negative or above the latest epoch. Below the first entry the answer is the requested epoch
// and the first start. Returning the pair, not only the offset, is what KIP-279 adds.
func (c *Cache) EndOffsetFor(epoch kafka.LeaderEpoch, leo kafka.Offset) (kafka.LeaderEpoch, kafka.Offset) {
	if epoch < 0 || epoch > c.LatestEpoch() {
		return Undefined, Undefined
	}
	i := c.above(epoch)
	end := leo
	if i < len(c.entries) {
		end = c.entries[i].Start
	}
	if i == 0 {
		return epoch, end
	}
	return c.entries[i-1].Epoch, end
}

// EpochAt is the epoch of the record at offset, or Undefined below the first entry. It does not know the log's end.
func (c *Cache) EpochAt(offset kafka.Offset) kafka.LeaderEpoch {
	i := c.after(offset)
	if i == 0 {
		return Undefined
	}
	return c.entries[i-1].Epoch
}

// TruncateFromEnd removes all entries that start at end or later, and reports whether there were any. It must be
// called for every truncation, also for one that cuts no byte (KAFKA-10706).
func (c *Cache) TruncateFromEnd(end kafka.Offset) (changed bool) {
	n := c.from(end)
	changed = n < len(c.entries)
	c.entries = c.entries[:n]
	return changed
}

// TruncateFromStart forgets what lies below start (the new log start offset): the last entry that starts at or below
// it becomes the first and starts there. It reports whether anything changed.
func (c *Cache) TruncateFromStart(start kafka.Offset) (changed bool) {
	n := c.after(start)
	if n == 0 || n == 1 && c.entries[0].Start == start {
		return false
	}
	c.entries = slices.Delete(c.entries, 0, n-1)
	c.entries[0].Start = start
	c.check()
	return true
}

// Latest is the last entry; ok is false when there is none.
func (c *Cache) Latest() (e Entry, ok bool) {
	if len(c.entries) == 0 {
		return Entry{Epoch: Undefined, Start: Undefined}, false
	}
	return c.entries[len(c.entries)-1], true
}

// LatestEpoch is the epoch of the last entry, or Undefined.
func (c *Cache) LatestEpoch() kafka.LeaderEpoch {
	e, _ := c.Latest()
	return e.Epoch
}

// Previous is the largest epoch below the given one, or Undefined.
func (c *Cache) Previous(epoch kafka.LeaderEpoch) kafka.LeaderEpoch {
	i := c.above(epoch - 1)
	if epoch <= 0 || i == 0 {
		return Undefined
	}
	return c.entries[i-1].Epoch
}

// Clear forgets everything and reports whether there was anything.
func (c *Cache) Clear() (changed bool) {
	changed = len(c.entries) > 0
	c.entries = c.entries[:0]
	return changed
}

// Entries is a view of the entries, valid until the next change.
func (c *Cache) Entries() []Entry { return c.entries }

// Len is the number of entries.
func (c *Cache) Len() int { return len(c.entries) }

// Clone is an independent copy.
func (c *Cache) Clone() *Cache { return &Cache{entries: slices.Clone(c.entries)} }

// AppendTo appends a canonical binary form: equal caches, equal bytes.
func (c *Cache) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(c.entries)))
	for _, e := range c.entries {
		b = binary.AppendVarint(b, int64(e.Epoch))
		b = binary.AppendVarint(b, e.Start)
	}
	return b
}

// String is "0@0 2@17 5@40": epoch@start; "-" when empty.
func (c *Cache) String() string {
	if len(c.entries) == 0 {
		return "-"
	}
	words := make([]string, len(c.entries))
	for i, e := range c.entries {
		words[i] = fmt.Sprintf("%d@%d", e.Epoch, e.Start)
	}
	return strings.Join(words, " ")
}

// above is the index of the first entry with a larger epoch.
func (c *Cache) above(epoch kafka.LeaderEpoch) int {
	return sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Epoch > epoch })
}

// from is the index of the first entry that starts at offset or later.
func (c *Cache) from(offset kafka.Offset) int {
	return sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Start >= offset })
}

// after is the index of the first entry that starts after offset.
func (c *Cache) after(offset kafka.Offset) int {
	return sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Start > offset })
}

// check asserts E1 and E2 where an entry was just put: the first two and the last two.
func (c *Cache) check() {
	n := len(c.entries)
	if n < 2 {
		return
	}
	for _, i := range [...]int{1, n - 1} {
		if a, b := c.entries[i-1], c.entries[i]; a.Epoch >= b.Epoch || a.Start >= b.Start {
			panic(fmt.Sprintf("epochs: E1/E2 broken between entries %d and %d of %v", i-1, i, c))
		}
	}
}
