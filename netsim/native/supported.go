//go:build linux && amd64

package native

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"trialog/netsim/native/page"
)

// Supported says whether guests can run on this machine: nil, or one line with the reason why not. It finds out by
// trying, in a process of its own, what every guest does when it starts; the answer is kept.
func Supported() error {
	if err := baseline(processor()); err != nil {
		return err
	}
	if err := spacious(unix.Getrlimit); err != nil {
		return err
	}
	return tried()
}

// spacious refuses to let guests inherit limits lower than their own: they would see where the real ones are.
func spacious(get func(what int, l *unix.Rlimit) error) error {
	for _, x := range limits {
		var have unix.Rlimit
		if err := get(x.what, &have); err != nil {
			return fmt.Errorf("native: getrlimit: %w", err)
		}
		if have.Max < x.bytes || x.what == unix.RLIMIT_AS && have.Cur < x.bytes { // which counts from the first mapping on
			return fmt.Errorf("native: this process may have %d MiB of %s (ulimit %s), guests count on %d MiB", min(have.Cur, have.Max)>>20, x.name, x.flag, x.bytes>>20)
		}
	}
	return nil
}

var tried = sync.OnceValue(func() error { return tryOut(filter()) })

// features are the bits of page.SimCPU.
var features = []struct {
	bit  uint32
	name string
	has  *bool
}{
	{1 << 0, "SSE3", &cpu.X86.HasSSE3}, {1 << 1, "PCLMULQDQ", &cpu.X86.HasPCLMULQDQ}, {1 << 9, "SSSE3", &cpu.X86.HasSSSE3},
	{1 << 19, "SSE4.1", &cpu.X86.HasSSE41}, {1 << 20, "SSE4.2", &cpu.X86.HasSSE42}, {1 << 23, "POPCNT", &cpu.X86.HasPOPCNT},
}

func processor() (has uint32) {
	for _, f := range features {
		if *f.has {
			has |= f.bit
		}
	}
	return has
}

// baseline refuses a processor that lacks what guests are shown.
func baseline(has uint32) error {
	var lacks []string
	for _, f := range features {
		if page.SimCPU&f.bit&^has != 0 {
			lacks = append(lacks, f.name)
		}
	}
	if lacks != nil {
		return fmt.Errorf("native: this processor lacks %s, which guests count on", strings.Join(lacks, ", "))
	}
	return nil
}

// tryOut forks a process that confines itself as a guest does, and then makes a system call that must not get through.
func tryOut(filter []uint64) error {
	s, err := newShared()
	if err != nil {
		return err
	}
	defer s.free()
	s.FilterLen = uint32(copy(s.Filter[:], filter))
	pid, err := forkTrial(s.SimPage)
	if err != nil {
		return fmt.Errorf("native: clone is not permitted: %w", err)
	}
	var st unix.WaitStatus
	for {
		if _, err = unix.Wait4(pid, &st, 0, nil); err != unix.EINTR {
			break
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("native: wait4 is not permitted: %w", err)
	case s.Status != page.SimStarted:
		return errors.New("native: " + startFailure(s.SimPage))
	case !st.Signaled() || st.Signal() != unix.SIGSYS:
		return fmt.Errorf("native: this kernel accepts seccomp filters and does not heed them (status %#x)", int(st))
	}
	return nil
}

// forkTrial makes the process. No signal may be handled in the child, and nothing be called there that looks at the stack or
// at other threads: it is a copy of a process of which one thread is left.
//
//go:norace
func forkTrial(p *page.SimPage) (pid int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.Sigset_t
	all := unix.Sigset_t{Val: [len(before.Val)]uint64{^uint64(0)}}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return 0, err
	}
	prog := unix.SockFprog{Len: uint16(p.FilterLen), Filter: (*unix.SockFilter)(unsafe.Pointer(&p.Filter))}
	steps := [...]struct {
		status uint32
		args   [4]uintptr
	}{
		{page.SimStartTSC, [4]uintptr{unix.SYS_PRCTL, unix.PR_SET_TSC, unix.PR_TSC_SIGSEGV}},
		{page.SimStartPrivs, [4]uintptr{unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1}},
		{page.SimStartFilter, [4]uintptr{unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))}},
	}
	r, _, e := syscall.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
	if r == 0 && e == 0 {
		p.Status = page.SimStarted
		for i := range steps {
			a := &steps[i].args
			if _, _, e := syscall.RawSyscall6(a[0], a[1], a[2], a[3], 0, 0, 0); e != 0 {
				p.Status, p.StartErrno = steps[i].status, uint32(e)
				break
			}
		}
		for {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	runtime.KeepAlive(&prog)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err != nil {
		panic("native: cannot restore the signal mask: " + err.Error())
	}
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}
