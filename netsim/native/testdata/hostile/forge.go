package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	shared "trialog/netsim/native/page"
)

// page begins the memory that the guest shares with the simulator, as far as this program writes to it.
type page struct {
	_                             uint64
	_, _                          uint32
	turn, kernelWaits, guestWaits uint32
	_, _                          uint32
	num                           uint64
	args                          [6]uint64
	in                            [2]uint32
	park                          uint32
	again                         int32
}

const (
	pageAt   = 0x5000 << 32
	pageSize = 600 << 10
	ofKernel = 0
)

// post leaves calls for the kernel that the runtime would not have left.
func post(r *rand.Rand, number func() uint64) {
	p := (*shared.SimPage)(unsafe.Pointer(uintptr(pageAt)))
	p.Posted = 0
	for range r.IntN(4) {
		e := (*shared.SimPosted)(unsafe.Pointer(uintptr(pageAt + shared.SimHeaderSize + shared.SimBufferSize + int(p.Posted))))
		*e = shared.SimPosted{
			Now: p.Now, Num: []uint32{0, 1, 3, 18, 18, 74}[r.IntN(6)], Len: r.Uint32N(40), Args: [3]uint64{r.Uint64N(8), number(), number()},
		}
		p.Posted += uint32(unsafe.Sizeof(*e)) + (e.Len+7)&^7
	}
}

// forge SEED COUNT makes calls without the runtime's help, whose descriptions make no sense, and overwrites what else is in
// the page.
func forge(args []string) {
	seed, _ := strconv.ParseUint(args[0], 10, 64)
	count, _ := strconv.Atoi(args[1])
	r := rand.New(rand.NewPCG(seed, 1))
	p := (*page)(unsafe.Pointer(uintptr(pageAt)))
	number := func() uint64 {
		switch r.IntN(6) {
		case 0:
			return r.Uint64()
		case 1:
			return -r.Uint64N(300)
		case 2:
			return 1 << r.IntN(64)
		}
		return r.Uint64N(12)
	}
	for i, flags := range []int{os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_RDONLY, os.O_WRONLY | os.O_SYNC} {
		os.OpenFile("/f"+strconv.Itoa(i), flags|os.O_CREATE, 0o644) // for posted calls
	}
	for range count {
		if seed%2 == 0 && r.IntN(40) == 0 {
			post(r, number)
		}
		if r.IntN(4) == 0 { // what lies behind the description of the call
			word := (*uint64)(unsafe.Pointer(uintptr(pageAt + 160 + 8*r.IntN(pageSize/8))))
			*word = number()
		}
		if p.num = r.Uint64N(340); p.num == unix.SYS_EXIT || p.num == unix.SYS_EXIT_GROUP || r.IntN(3) == 0 {
			p.num = []uint64{0, 1, 3, 17, 18, 41, 42, 44, 45, 49, 50, 232, 233, 257, 281, 288, 293}[r.IntN(17)]
		}
		for i := range p.args {
			p.args[i] = number()
		}
		p.in = [2]uint32{uint32(r.Uint64N(64)), uint32(r.Uint64N(64))}
		if r.IntN(1000) == 0 {
			p.in[r.IntN(2)] = uint32(number())
		}
		p.park, p.again = uint32(r.Uint64N(2)), 0
		if r.IntN(300) == 0 {
			p.again = int32(number())
		}
		atomic.StoreUint32(&p.turn, ofKernel)
		turn := uintptr(unsafe.Pointer(&p.turn))
		call(unix.SYS_FUTEX, turn, 1, 1)
		for atomic.LoadUint32(&p.turn) == ofKernel {
			atomic.StoreUint32(&p.guestWaits, 1)
			call(unix.SYS_FUTEX, turn, 0, ofKernel)
		}
		atomic.StoreUint32(&p.guestWaits, 0)
	}
}

// sure leaves a write that only a process may leave which was told that its disk is calm.
func sure([]string) {
	f, err := os.Create("/f")
	p := (*shared.SimPage)(unsafe.Pointer(uintptr(pageAt)))
	e := (*shared.SimPosted)(unsafe.Pointer(uintptr(pageAt + shared.SimHeaderSize + shared.SimBufferSize + int(p.Posted))))
	*e = shared.SimPosted{Now: p.Now, Num: unix.SYS_PWRITE64, Len: 8, Args: [3]uint64{uint64(f.Fd()), 8, 0}}
	p.Posted += uint32(unsafe.Sizeof(*e)) + 8
	say("left", err)
}
