package wasi

// sliced is linear memory on Go's heap, for platforms without reservations.
type sliced struct{ b []byte }

// Reallocate grows the slice, keeping its contents.
func (s *sliced) Reallocate(size uint64) []byte {
	if size > MemoryMax {
		return nil
	}
	if size > uint64(cap(s.b)) {
		grown := make([]byte, size, min(2*size, MemoryMax))
		copy(grown, s.b)
		s.b = grown
	}
	s.b = s.b[:size]
	return s.b
}

// Free drops the memory.
func (s *sliced) Free() { s.b = nil }
