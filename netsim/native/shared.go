//go:build linux && amd64

package native

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"trialog/netsim/native/page"
)

// shared is one page with its buffer, in memory that has a descriptor.
type shared struct {
	f   *os.File
	mem []byte
	*page.SimPage
	buf  []byte // operands and results
	post []byte // posted calls
	peek []byte // what can be read

	scratch []byte // takes once more what the guest was shown and has read

	pause int // calls until the two sides yield to each other again
}

func newShared() (*shared, error) {
	fd, err := unix.MemfdCreate("netsim", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("native: memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "netsim page")
	if err := f.Truncate(page.SimSize); err != nil {
		f.Close()
		return nil, fmt.Errorf("native: %w", err)
	}
	mem, err := unix.Mmap(fd, 0, page.SimSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("native: mmap: %w", err)
	}
	return &shared{
		f: f, mem: mem, SimPage: (*page.SimPage)(unsafe.Pointer(&mem[0])),
		buf:  mem[page.SimHeaderSize : page.SimHeaderSize+page.SimBufferSize],
		post: mem[page.SimHeaderSize+page.SimBufferSize : page.SimSize-page.SimPeekSize],
		peek: mem[page.SimSize-page.SimPeekSize:],

		scratch: make([]byte, peekMax),
	}, nil
}

func (s *shared) free() error {
	_ = unix.Munmap(s.mem)
	return s.f.Close()
}

// take gives a page that is clean but for the rest of its buffer, which no guest reads before it was written.
func (e *Engine) take() (*shared, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.pages); n > 0 {
		s := e.pages[n-1]
		e.pages = e.pages[:n-1]
		*s.SimPage, s.pause = page.SimPage{}, 0
		return s, nil
	}
	return newShared()
}

func (e *Engine) give(s *shared) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pages = append(e.pages, s)
}

// Yielding the processor to the other side costs half of what sleeping and waking do, as long as there is nobody else
// to take it. A wait that took long shows that there is, or that the guest computes: then both sides sleep for a while.
// Real time decides only how they wait.
const (
	yieldsMax  = 2
	yieldSlow  = 200 * time.Microsecond
	yieldPause = 500 // calls
)

// yield waits for the turn by giving the processor away. It is false if the turn has not come back.
func (s *shared) yield() bool {
	if s.pause > 0 {
		s.pause--
		return atomic.LoadUint32(&s.Turn) == page.SimKernel
	}
	began := time.Now()
	for range yieldsMax {
		if atomic.LoadUint32(&s.Turn) == page.SimKernel {
			break
		}
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	if time.Since(began) > yieldSlow {
		s.pause = yieldPause
	}
	return atomic.LoadUint32(&s.Turn) == page.SimKernel
}

const (
	futexWait = 0
	futexWake = 1
)

// resume gives the turn to the guest.
func (s *shared) resume() {
	if s.Yields = 0; s.pause == 0 {
		s.Yields = yieldsMax
	}
	atomic.StoreUint32(&s.Turn, page.SimGuest)
	if atomic.LoadUint32(&s.GuestWaits) != 0 {
		_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.Turn)), futexWake, 1, 0, 0, 0)
	}
}

// look is how long the kernel sleeps between two looks at whether a silent guest is alive.
const look = 50 * time.Millisecond

// await sleeps until the turn has come back, or for a while. The thread stays Go's meanwhile: the guest has the
// processor, and it has it only for microseconds as a rule. A signal of Go's scheduler ends the wait early.
func (s *shared) await() bool {
	ts := unix.NsecToTimespec(look.Nanoseconds())
	if s.yield() {
		return true
	}
	atomic.StoreUint32(&s.KernelWaits, 1)
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.Turn)), futexWait, page.SimGuest, uintptr(unsafe.Pointer(&ts)), 0, 0)
	atomic.StoreUint32(&s.KernelWaits, 0)
	return atomic.LoadUint32(&s.Turn) == page.SimKernel
}
