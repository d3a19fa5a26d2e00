package explore

import "encoding/binary"

// A state's number is its shard in the lowest bits and its place in the shard above.
const (
	shardBits = 6
	shards    = 1 << shardBits
	localBits = 32 - shardBits
	noRef     = ^uint32(0)
	chunkBits = 8
	chunkLen  = 1 << chunkBits
)

// print64 is a fingerprint of a state: hi is empty in the modes that do not use it.
type print64 struct{ lo, hi uint64 }

// shardOf uses bits that the table of the shard does not.
func shardOf(p print64) int { return int(p.lo >> (64 - shardBits)) }

// store is the set of visited states: 14 bytes each and a table of 4-byte slots, whose load is between 7/16 and 7/8.
type store struct {
	mode   Mode
	shards [shards]shard
}

// shard is written by one worker at a time, and read by all while nobody writes.
type shard struct {
	prints  chunks[uint64]
	high    chunks[uint64] // Hash128
	ends    chunks[uint64] // Exact: where the state's bytes end in bytes
	bytes   chunks[byte]
	parents chunks[uint32]
	choices chunks[uint16]
	// table is open addressing by the low bits of the print: 0 is empty, otherwise a tag of the print in the upper bits,
	// which spares most looks at prints, and the state's place + 1 below.
	table []uint32
	n     int
}

// chunks is a list that grows without being copied.
type chunks[T any] struct{ list [][]T }

func (c *chunks[T]) at(i int) T { return c.list[i>>chunkBits][i&(chunkLen-1)] }

func (c *chunks[T]) put(i int, v T) {
	if i>>chunkBits == len(c.list) {
		c.list = append(c.list, make([]T, chunkLen))
	}
	c.list[i>>chunkBits][i&(chunkLen-1)] = v
}

// find is the place of a state or -1. encoded is looked at in mode Exact only.
func (s *shard) find(mode Mode, p print64, encoded []byte) int {
	if len(s.table) == 0 {
		return -1
	}
	mask := uint32(len(s.table) - 1)
	tag := tagOf(p)
	for i := uint32(p.lo) & mask; s.table[i] != 0; i = (i + 1) & mask {
		if s.table[i]&^(1<<localBits-1) != tag {
			continue
		}
		at := int(s.table[i]&(1<<localBits-1)) - 1
		if s.prints.at(at) == p.lo && (mode != Hash128 || s.high.at(at) == p.hi) && (mode != Exact || s.same(at, encoded)) {
			return at
		}
	}
	return -1
}

func tagOf(p print64) uint32 { return uint32(p.lo>>32) << localBits }

// same compares with the bytes of the state at that place.
func (s *shard) same(at int, encoded []byte) bool {
	from := s.begin(at)
	if s.ends.at(at)-from != uint64(len(encoded)) {
		return false
	}
	for i, b := range encoded {
		if s.bytes.at(int(from)+i) != b {
			return false
		}
	}
	return true
}

// begin is where the bytes of a state begin in mode Exact.
func (s *shard) begin(at int) uint64 {
	if at == 0 {
		return 0
	}
	return s.ends.at(at - 1)
}

// add enters a state that is not there and returns its place.
func (s *shard) add(mode Mode, p print64, encoded []byte, parent uint32, choice uint16) int {
	if s.n >= len(s.table)/8*7 {
		s.grow()
	}
	at := s.n
	s.n++
	s.prints.put(at, p.lo)
	s.parents.put(at, parent)
	s.choices.put(at, choice)
	switch mode {
	case Hash128:
		s.high.put(at, p.hi)
	case Exact:
		from := s.begin(at)
		for i, b := range encoded {
			s.bytes.put(int(from)+i, b)
		}
		s.ends.put(at, from+uint64(len(encoded)))
	}
	s.enter(p.lo, at)
	return at
}

func (s *shard) enter(lo uint64, at int) {
	mask := uint32(len(s.table) - 1)
	i := uint32(lo) & mask
	for s.table[i] != 0 {
		i = (i + 1) & mask
	}
	s.table[i] = tagOf(print64{lo: lo}) | uint32(at+1)
}

func (s *shard) grow() {
	s.table = make([]uint32, max(64, 2*len(s.table)))
	for at := range s.n {
		s.enter(s.prints.at(at), at)
	}
}

// size is the states in the store, and the bytes that they take.
func (st *store) size() (states, size uint64) {
	for i := range st.shards {
		s := &st.shards[i]
		states += uint64(s.n)
		size += 4 * uint64(len(s.table))
		size += chunkLen * (8*uint64(len(s.prints.list)+len(s.high.list)+len(s.ends.list)) +
			4*uint64(len(s.parents.list)) + 2*uint64(len(s.choices.list)) + uint64(len(s.bytes.list)))
	}
	return states, size
}

func refOf(shard, at int) uint32 { return uint32(at)<<shardBits | uint32(shard) }

// parent is where the state with this number came from: noRef for an initial state, whose choice is its index.
func (st *store) parent(ref uint32) (parent uint32, choice uint16) {
	s := &st.shards[ref&(shards-1)]
	at := int(ref >> shardBits)
	return s.parents.at(at), s.choices.at(at)
}

// printOf is the print of a state as bytes, for an order that does not depend on numbers.
func (st *store) printOf(ref uint32) []byte {
	s := &st.shards[ref&(shards-1)]
	return binary.BigEndian.AppendUint64(nil, s.prints.at(int(ref>>shardBits)))
}
