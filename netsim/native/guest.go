//go:build linux && amd64

package native

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/native/page"
)

var le = binary.LittleEndian

// guest is the engine's state of one process.
type guest struct {
	p    *kernel.Proc
	e    *Engine
	name string
	*shared
	pid     int // in the real system
	running bool
	began   bool // its first call was served

	cwd      string
	dirs     []openDir
	watched  []watch // the epoll set, in the order of registration
	subs     []kernel.Poll
	owners   []int          // which watched a sub belongs to, and the mode
	parked   []parked       // calls whose ends the guest waits for
	ended    []page.SimDone // posted ones that ended at once
	calm     calm           // its disk, nil if that never tells
	toldCalm bool           // what the guest was told last; it may write over what stands in the page
	peeked   int            // bytes shown since the last turn
	refused  map[uint64]bool
	epolls   int
}

// start forks the process and waits until it has taken over its page.
func (g *guest) start(pr *Program, args, env []string) error {
	file := fmt.Sprintf("/proc/self/fd/%d", pr.f.Fd())
	var seed [40]byte
	g.p.Entropy(seed[:])
	began := time.Now()
	s, err := g.e.take()
	if err != nil {
		return err
	}
	g.shared = s
	s.Magic, s.Version, s.Pid = page.SimMagic, page.SimVersion, firstPid
	s.StartupRand = [2]uint64{le.Uint64(seed[:]), le.Uint64(seed[8:])}
	s.Order, s.CPU = le.Uint64(seed[16:]), g.e.cpu
	if pr.trap {
		s.TrapTSC = 1
	}
	g.inherit()
	s.FilterLen = uint32(copy(s.Filter[:], g.e.filter))
	g.clock()
	s.Turn = page.SimGuest
	null := g.e.null.Fd()
	g.pid, err = syscall.ForkExec(file, args, &syscall.ProcAttr{
		Dir: "/", Env: append([]string{}, env...), Files: []uintptr{null, null, null, s.f.Fd()},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}, // whatever a terminal sends is not for guests
	})
	if err != nil {
		return fmt.Errorf("native: start %s: %w", pr.f.Name(), err)
	}
	g.running = true
	g.refused, g.cwd = map[uint64]bool{}, "/"
	g.calm, _ = g.p.Host.FS.(calm)
	for _, x := range limits {
		l := unix.Rlimit{Cur: x.bytes, Max: x.bytes}
		if err := unix.Prlimit(g.pid, x.what, &l, nil); err != nil {
			return fmt.Errorf("native: prlimit of a guest: %w", err)
		}
	}
	g.await()
	if s.Status != page.SimStarted {
		return fmt.Errorf("native: %s", startFailure(g.SimPage))
	}
	if s.Size != uint32(unsafe.Sizeof(*s.SimPage)) {
		return fmt.Errorf("native: %s has a page of %d bytes: it was built by another version", pr.f.Name(), s.Size)
	}
	g.e.stats.Starts.Add(1)
	g.e.stats.StartNs.Add(time.Since(began).Nanoseconds())
	g.began = true
	g.serve()
	g.resume()
	return nil
}

// limits are those that the real kernel puts on every guest, the same everywhere.
var limits = []struct {
	what       int
	bytes      uint64
	name, flag string
}{
	{unix.RLIMIT_DATA, MemoryMax, "memory", "-d"},
	{unix.RLIMIT_AS, addressesMax, "addresses", "-v"},
	{unix.RLIMIT_CORE, 0, "core files", "-c"},
}

// inheritedMax is the end of the descriptors that a process may start with.
const inheritedMax = 64

// inherit describes the descriptors that the process starts with. Standard input counts as non-blocking, so that a
// goroutine and not the process waits for it.
func (g *guest) inherit() {
	for fd := range inheritedMax {
		switch f := g.p.File(fd); {
		case f == nil:
		case kernel.IsSink(f):
			g.opened(&g.Sinks, fd, unix.O_WRONLY, 0)
		case f.Kind() == kernel.KindChar:
			g.opened(&g.Streams, fd, unix.O_RDONLY, unix.O_NONBLOCK)
		case f.Kind() == kernel.KindDirectory:
			g.opened(&g.Files, fd, unix.O_RDONLY, 0)
		}
	}
}

func set(s *page.SimFDSet, fd int)     { s[fd/64] |= 1 << (fd % 64) }
func unset(s *page.SimFDSet, fd int)   { s[fd/64] &^= 1 << (fd % 64) }
func in(s *page.SimFDSet, fd int) bool { return uint(fd) < page.SimFDMax && s[fd/64]>>(fd%64)&1 != 0 }

// opened describes a new descriptor: how it may be used, and whether calls on it wait (O_NONBLOCK, SOCK_NONBLOCK and the
// flag of pipe2 are one bit).
func (g *guest) opened(kind *page.SimFDSet, fd int, use uint16, flags uint64) {
	set(kind, fd)
	g.Flags[fd] = use
	if flags&unix.O_NONBLOCK == 0 {
		set(&g.Blocking, fd)
	}
	if f, ok := g.p.File(fd).(kernel.SureFile); ok && f.Sure() {
		set(&g.Plain, fd)
	}
}

// firstPid is what getpid answers: a process cannot tell its lives apart by it.
const firstPid = 100

// startFailure says at which step a guest, or a trial of one, could not confine itself.
func startFailure(p *page.SimPage) string {
	switch err := syscall.Errno(p.StartErrno); p.Status {
	case page.SimStartTSC:
		return "the time-stamp counter cannot be trapped (PR_SET_TSC): " + err.Error()
	case page.SimStartPrivs:
		return "PR_SET_NO_NEW_PRIVS is not permitted: " + err.Error()
	case page.SimStartFilter:
		return "seccomp filters are not permitted: " + err.Error()
	}
	return "it took no page; was it built by another version?"
}

// calm is a disk that tells whether a write to any of its files that are sure would now be taken whole and at once, and
// so would all that fit into the page.
type calm interface{ Calm() bool }

// clock tells the guest what its clocks show.
func (g *guest) clock() {
	k := g.p.Kernel()
	g.Now = g.p.Monotonic()
	g.WallDelta = kernel.Epoch + k.Now() + g.p.Host.WallOffset - g.Now
}

// resume gives the turn back after a call.
func (g *guest) resume() {
	g.clock()
	g.tellRoom()
	g.Calm = 0
	if g.toldCalm = g.calm != nil && g.calm.Calm(); g.toldCalm {
		g.Calm = 1
	}
	g.shared.resume()
}

// await waits for the guest's next call. Instead of returning it ends a process from which none will come.
func (g *guest) await() {
	if g.shared.await() {
		return
	}
	silent := time.Now()
	for !g.shared.await() {
		g.look()
		if limit := g.p.Kernel().Silence(); time.Since(silent) > limit {
			g.p.Fail(&kernel.SilentError{Proc: g.name, For: limit})
		}
	}
}

// look reaps a process that died without the kernel's doing. One that raised a signal which its handler could not take has
// crashed; whatever else ended it was nothing that the guest can do, and so the harness's error.
func (g *guest) look() {
	var st unix.WaitStatus
	pid, err := unix.Wait4(g.pid, &st, unix.WNOHANG, nil)
	if pid != g.pid && (err == nil || err == unix.EINTR) {
		return
	}
	g.running = false
	switch {
	case err != nil:
		err = fmt.Errorf("native: guest %s is lost: %w", g.name, err)
	case st.Signaled() && g.began && raised(st.Signal()):
		g.p.Crash(fmt.Sprintf("netsim: guest killed itself: %v", st.Signal()))
		panic(unwound{})
	case st.Signaled():
		err = fmt.Errorf("native: guest %s was killed by the host: %v", g.name, st.Signal())
	case !g.began:
		err = fmt.Errorf("native: guest %s ended before its first call: %s", g.name, startFailure(g.SimPage))
	default:
		err = fmt.Errorf("native: guest %s left without a word (status %d)", g.name, st.ExitStatus())
	}
	g.p.Fail(err)
}

// raised tells of a signal that it comes from the instruction which was running, not from another process.
func raised(sig unix.Signal) bool {
	switch sig {
	case unix.SIGSYS, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP:
		return true
	}
	return false
}

// end kills the process, if it still runs, and takes the page back.
func (g *guest) end() {
	if g.running {
		g.running = false
		g.e.stats.look(g.pid)
		_ = unix.Kill(g.pid, unix.SIGKILL)
		for {
			if _, err := unix.Wait4(g.pid, nil, 0, nil); err != unix.EINTR {
				break
			}
		}
	}
	if g.shared != nil {
		g.e.give(g.shared)
		g.shared = nil
	}
}

// say puts a line of the simulator on the guest's standard error.
func (g *guest) say(format string, args ...any) {
	g.p.Say(fmt.Sprintf("netsim: "+format, args...))
}
