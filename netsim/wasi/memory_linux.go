package wasi

import (
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// mapped is linear memory reserved once and committed by the operating system page by page, so that growing never
// copies and a dead guest gives everything back.
type mapped struct{ b []byte }

func allocate(_, max uint64) experimental.LinearMemory {
	b, err := unix.Mmap(-1, 0, int(min(max, MemoryMax)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return &sliced{}
	}
	return &mapped{b}
}

// Reallocate gives the first size bytes, or nil beyond the reservation.
func (m *mapped) Reallocate(size uint64) []byte {
	if size > uint64(len(m.b)) {
		return nil
	}
	return m.b[:size]
}

// Free returns the reservation.
func (m *mapped) Free() {
	if err := unix.Munmap(m.b); err != nil {
		panic("wasi: munmap: " + err.Error())
	}
	m.b = nil
}
