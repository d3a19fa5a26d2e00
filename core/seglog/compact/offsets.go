package compact

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"trialog/core/kafka"
)

// SlotSize is the memory of one key, in bytes: a hash of 128 bits and an offset, as in Kafka.
const SlotSize = 24

// Map is the newest offset of each key, by a hash of 128 bits, in memory that is fixed when it is made.
//
// The hash is SHA-256, cut. Kafka takes MD5, of which anyone can make two keys with the same hash, and so a record that
// deletes another's.
type Map struct {
	slots []slot
	used  int
	max   int
	end   kafka.Offset // everything below is in the map
}

// slot is one key; an empty one has next 0.
type slot struct {
	hi, lo uint64
	next   kafka.Offset // offset of the record, and one
}

// NewMap is an empty map in at most size bytes, of which the share load is filled at most. It is made smaller when keys,
// the most that can come, need less.
func NewMap(size int64, load float64, keys int64) (*Map, error) {
	n := size / SlotSize
	if need := int64(float64(keys)/load) + 2; need < n {
		n = need
	}
	m := &Map{max: min(int(float64(n)*load), int(n)-1)}
	if m.max < 1 {
		return nil, fmt.Errorf("%w: a map of %d bytes filled to %v has no room for one key", ErrNoRoom, size, load)
	}
	m.slots = make([]slot, n)
	return m, nil
}

// Reset empties the map, for a range that begins at start.
func (m *Map) Reset(start kafka.Offset) {
	clear(m.slots)
	m.used, m.end = 0, start
}

// Put notes that the record at offset has this key; false, and nothing is noted, when the key is new and there is no
// room. Offsets come in order.
func (m *Map) Put(key []byte, offset kafka.Offset) bool {
	hi, lo := hash(key)
	s := m.find(hi, lo)
	if s.next == 0 {
		if m.used == m.max {
			return false
		}
		m.used++
	}
	*s = slot{hi: hi, lo: lo, next: offset + 1}
	return true
}

// Newest is the largest offset that was put for the key; false when there is none.
func (m *Map) Newest(key []byte) (kafka.Offset, bool) {
	s := m.find(hash(key))
	return s.next - 1, s.next != 0
}

func hash(key []byte) (hi, lo uint64) {
	sum := sha256.Sum256(key)
	return binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])
}

// find is the slot of a key, or the empty one where it belongs. There is one: max < len(slots).
func (m *Map) find(hi, lo uint64) *slot {
	first, _ := bits.Mul64(hi, uint64(len(m.slots)))
	for i := first; ; {
		s := &m.slots[i]
		if s.next == 0 || s.hi == hi && s.lo == lo {
			return s
		}
		if i++; i == uint64(len(m.slots)) {
			i = 0
		}
		if i == first {
			panic(fmt.Sprintf("compact: a map of %d slots has no empty one, %d are used", len(m.slots), m.used))
		}
	}
}

// Extend says that every batch below end is in the map.
func (m *Map) Extend(end kafka.Offset) { m.end = max(m.end, end) }

// End is the offset below which every batch is in the map: a round cleans up to there.
func (m *Map) End() kafka.Offset { return m.end }

// Room is how many keys the map can have.
func (m *Map) Room() int64 { return int64(m.max) }

// Len is the number of keys.
func (m *Map) Len() int { return m.used }

// Size is the memory in bytes.
func (m *Map) Size() int64 { return int64(len(m.slots)) * SlotSize }

// Used is the share of slots that are taken.
func (m *Map) Used() float64 { return float64(m.used) / float64(len(m.slots)) }
