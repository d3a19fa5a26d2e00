// Package page is the memory that a native guest and its kernel share, and the shape of the system calls that pass
// through it.
//
// It is compiled twice from this one text: here for the kernel's side, and, by the overlay, into the runtime of the
// guest. So the two cannot disagree about the layout; a guest of another build is found out by [Magic], [Version] and
// the size that it reports. The file therefore imports nothing, and everything in it may run where no stack can grow.
package page

// Magic begins every page; Version grows whenever the meaning of a field changes.
const (
	SimMagic   = 0x54524c4f4750414e
	SimVersion = 2
)

// Sizes in bytes. The header is followed by the buffer that operands and results pass through (a transfer of more is
// cut short, as read(2) and write(2) may), by the calls that were posted, and by
// what can be read already.
const (
	SimHeaderSize = 64 << 10
	SimBufferSize = 1 << 20
	SimPostSize   = 256 << 10
	SimPeekSize   = 128 << 10
	SimSize       = SimHeaderSize + SimBufferSize + SimPostSize + SimPeekSize
)

// SimFDMax bounds the descriptors that have bits; SimFDSet is a set of them.
const SimFDMax = 4096

type SimFDSet [SimFDMax / 64]uint64

// SimSocket in SimPage.Flags marks a socket. It is no flag of open(2).
const SimSocket = 1 << 15

// Where a guest finds its page when it starts, and the room for its system-call filter.
const (
	SimPageFD    = 3
	SimFilterMax = 256
	SimDoneMax   = 64
	SimPeekMax   = 32

	SimOffsetMax = 1 << 33 // a posted write begins below
)

// SimPage is the header. All of it belongs to the side that Turn names.
type SimPage struct {
	Magic   uint64
	Version uint32
	Size    uint32 // of the header's struct, as the guest was compiled

	// Turn is the futex word: SimKernel or SimGuest. The other two say who sleeps on it.
	Turn        uint32
	KernelWaits uint32
	GuestWaits  uint32
	Yields      uint32 // how often the guest may yield the processor before it sleeps
	Status      uint32 // how far the start of the guest got; see the SimStart constants

	// The call.
	Num   uint64
	Args  [6]uint64
	In    [2]uint32 // bytes of its operands in the buffer, one behind the other
	Park  uint32    // 1: the caller can wait for a token
	Again int32     // the token of the call that this one repeats, or 0

	// Its result.
	R1    uint64
	Errno uint64
	Out   uint32 // bytes in the buffer for the operand that takes results
	Token int32  // the call ends later; the caller waits for this token and repeats it

	Now       int64 // monotonic clock, ns
	WallDelta int64 // wall clock minus monotonic clock, ns
	Delay     int64 // with epoll_pwait: how long to wait in ns, negative for ever
	DoneCount uint32
	Done      [SimDoneMax]SimDone // calls that have ended

	// Posted calls: those whose answer the guest knows (close, epoll_ctl, writing to a standard stream or a sink, or to a
	// socket that has room, or to a file of a calm disk, reading what it was shown), and fsync, whose goroutine waits for
	// the end in any case. They stand behind the buffer, each a SimPosted with its operand, and are made before the next
	// call.
	Posted uint32 // bytes

	// What the guest knows of its descriptors without asking.
	Files    SimFDSet // of the disk
	Streams  SimFDSet // sockets, pipes, standard input
	Sinks    SimFDSet // written to without an answer
	Blocking SimFDSet // without O_NONBLOCK
	Dry      SimFDSet // nothing to read or accept until an event says so
	Plain    SimFDSet // of Files, those whose writes succeed at once while Calm is 1
	Calm     uint32   // 1: the disk has no fault and much room
	_        uint32

	// Flags are what F_GETFL answers, but for O_NONBLOCK, and SimSocket.
	Flags [SimFDMax]uint16

	// Peeked is what the streams of the last events hold, until the next turn: a read of it is posted.
	PeekCount uint32
	_         uint32
	Peeked    [SimPeekMax]SimPeek

	// Room is how many bytes a write to a socket takes for certain.
	Room [SimFDMax]uint32

	// Set before the guest starts.
	Pid         uint64
	StartupRand [2]uint64 // what AT_RANDOM holds elsewhere
	Order       uint64    // seed of the order of goroutines
	CPU         uint32    // processor features, as in ECX of CPUID leaf 1: SimCPU, or fewer in tests
	StartErrno  uint32
	FilterLen   uint32
	TrapTSC     uint32               // 1: the guest's code may contain RDTSC
	Filter      [SimFilterMax]uint64 // seccomp program
}

// SimDone is the end of a call that somebody waits for. Known tells that its result is here; otherwise the call is to be
// repeated.
type SimDone struct {
	Token int32 // negative: of a posted call, as the guest numbered it
	Known uint32
	Errno uint64
}

// SimPeek is what can be read from a stream: Len bytes at At, in the memory behind the posted calls. All tells that there
// is nothing behind them.
type SimPeek struct {
	FD, At, Len, All uint32
}

// SimPosted begins a posted call.
type SimPosted struct {
	Now  int64 // the guest's clock when it was made
	Num  uint32
	Len  uint32 // bytes of the operand, which follow, rounded up to 8
	Args [3]uint64
}

// Values of Turn.
const (
	SimKernel = 0
	SimGuest  = 1
)

// Values of Status: the step of the guest's start that failed, or SimStarted.
const (
	SimStartNone = iota
	SimStarted
	SimStartTSC    // the time-stamp counter cannot be trapped
	SimStartPrivs  // PR_SET_NO_NEW_PRIVS was refused
	SimStartFilter // the system-call filter was refused
)

// SimCPU is the baseline that guests see as ECX of CPUID leaf 1: SSE3, PCLMULQDQ, SSSE3, SSE4.1, SSE4.2, POPCNT. AES stays
// out, so that Go hashes without it, and so does all that is newer, so that every machine runs the same code.
const SimCPU = 1<<0 | 1<<1 | 1<<9 | 1<<19 | 1<<20 | 1<<23

// SimShape says which operands of a call are pointers. Operands are numbered from 1; 0 is none.
type SimShape struct {
	In1, Len1 uint8 // operand to copy in; its length is operand Len1, or see SimText and SimFixed
	In2, Len2 uint8
	Out       uint8 // operand that takes SimPage.Out bytes
	OutLen    uint8 // operand that takes their number as a uint32
}

// Lengths that are no operand: a C string, or SimFixed plus a number of bytes.
const (
	SimText  = 7
	SimFixed = 8
)

// SimShapeOf gives the shape of call num of linux/amd64. A call without one passes its operands as they are.
//
//go:nosplit
func SimShapeOf(num uint64) SimShape {
	switch num {
	case 0, 17, 217: // read, pread64, getdents64
		return SimShape{Out: 2}
	case 1, 18: // write, pwrite64
		return SimShape{In1: 2, Len1: 3}
	case 44: // sendto; connected sockets only
		return SimShape{In1: 2, Len1: 3}
	case 45: // recvfrom
		return SimShape{Out: 2}
	case 2, 4, 6: // open, stat, lstat
		return SimShape{In1: 1, Len1: SimText, Out: 2}
	case 21, 80, 83, 84, 85, 87, 90, 92, 94, 161: // access, chdir, mkdir, rmdir, creat, unlink, chmod, chown, lchown, chroot
		return SimShape{In1: 1, Len1: SimText}
	case 76: // truncate
		return SimShape{In1: 1, Len1: SimText}
	case 82, 86, 88: // rename, link, symlink
		return SimShape{In1: 1, Len1: SimText, In2: 2, Len2: SimText}
	case 89: // readlink
		return SimShape{In1: 1, Len1: SimText, Out: 2}
	case 257, 258, 260, 263, 268, 269, 439, 437: // openat, mkdirat, fchownat, unlinkat, fchmodat, faccessat, faccessat2, openat2
		return SimShape{In1: 2, Len1: SimText}
	case 262, 267: // newfstatat, readlinkat
		return SimShape{In1: 2, Len1: SimText, Out: 3}
	case 264, 316, 265: // renameat, renameat2, linkat
		return SimShape{In1: 2, Len1: SimText, In2: 4, Len2: SimText}
	case 266: // symlinkat
		return SimShape{In1: 1, Len1: SimText, In2: 3, Len2: SimText}
	case 280: // utimensat
		return SimShape{In1: 2, Len1: SimText, In2: 3, Len2: SimFixed + 32}
	case 5, 137, 138: // fstat, statfs (refused), fstatfs (refused)
		return SimShape{Out: 2}
	case 35: // nanosleep
		return SimShape{In1: 1, Len1: SimFixed + 16}
	case 230: // clock_nanosleep
		return SimShape{In1: 3, Len1: SimFixed + 16}
	case 42, 49: // connect, bind
		return SimShape{In1: 2, Len1: 3}
	case 43, 51, 52, 288: // accept, getsockname, getpeername, accept4
		return SimShape{Out: 2, OutLen: 3}
	case 54: // setsockopt
		return SimShape{In1: 4, Len1: 5}
	case 55: // getsockopt
		return SimShape{Out: 4, OutLen: 5}
	case 22, 293: // pipe, pipe2
		return SimShape{Out: 1}
	case 63, 99: // uname, sysinfo
		return SimShape{Out: 1}
	case 79: // getcwd
		return SimShape{Out: 1}
	case 318: // getrandom
		return SimShape{Out: 1}
	case 97, 204: // getrlimit; sched_getaffinity takes its mask third
		if num == 204 {
			return SimShape{Out: 3}
		}
		return SimShape{Out: 2}
	case 302: // prlimit64
		return SimShape{Out: 4}
	case 233: // epoll_ctl
		return SimShape{In1: 4, Len1: SimFixed + 12}
	case 232, 281: // epoll_wait, epoll_pwait
		return SimShape{Out: 2}
	}
	return SimShape{}
}
