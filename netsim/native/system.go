//go:build linux && amd64

package native

import (
	"fmt"

	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
)

func getrandom(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	b := g.out(a[1])
	g.p.Entropy(b)
	g.Out = uint32(len(b))
	return uint64(len(b)), kernel.OK
}

// uname shows a system of no particular machine.
func uname(g *guest, _ *[6]uint64) (uint64, kernel.Errno) {
	const field = 65
	b := g.buf[:6*field]
	clear(b)
	for i, s := range []string{"Linux", g.p.Host.Name, "6.1.0-netsim", "#1 netsim", "x86_64", "(none)"} {
		copy(b[i*field:(i+1)*field-1], s)
	}
	g.Out = uint32(len(b))
	return 0, kernel.OK
}

// nanosleep makes the whole process sleep; time.Sleep never comes here.
func nanosleep(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	d := int64(le.Uint64(g.buf))*1e9 + int64(le.Uint64(g.buf[8:]))
	if d < 0 || g.In[0] < 16 {
		return 0, kernel.EINVAL
	}
	at := g.p.Monotonic() + d
	if g.Num == unix.SYS_CLOCK_NANOSLEEP && a[1]&1 != 0 { // TIMER_ABSTIME
		if at = d; a[0] == unix.CLOCK_REALTIME {
			at -= g.WallDelta
		}
	}
	g.p.PollWait(nil, max(at, 0))
	return 0, kernel.OK
}

func exitGroup(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	g.p.ExitProcess(int(uint8(a[0])))
	return 0, kernel.OK
}

// killSelf is the end by a signal, if it is one and meant for the process itself.
func killSelf(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	pid, sig := a[0], a[1]
	if g.Num == unix.SYS_TGKILL {
		sig = a[2]
	}
	switch {
	case pid != firstPid:
		return 0, esrch
	case sig == 0:
		return 0, kernel.OK
	}
	g.p.Crash(fmt.Sprintf("netsim: guest killed itself: %v", unix.Signal(sig)))
	g.p.ExitProcess(128 + int(sig))
	return 0, kernel.OK
}

const esrch kernel.Errno = 3

// prlimit shows the same limits everywhere and lets nothing be changed that matters.
func prlimit(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	what := a[1]
	if g.Num == unix.SYS_GETRLIMIT {
		what = a[0]
	}
	limit := ^uint64(0)
	if what == unix.RLIMIT_NOFILE {
		limit = kernel.FilesMax
	}
	le.PutUint64(g.buf, limit)
	le.PutUint64(g.buf[8:], limit)
	g.Out = 16
	return 0, kernel.OK
}

// affinity shows one processor.
func affinity(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if a[1] < 8 {
		return 0, kernel.EINVAL
	}
	le.PutUint64(g.buf, 1)
	g.Out = 8
	return 8, kernel.OK
}

func yield(g *guest, _ *[6]uint64) (uint64, kernel.Errno) {
	g.p.Yield()
	return 0, kernel.OK
}
