//go:build linux && amd64

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/world"
)

// What ends a Go program prints the usual text and leaves the usual status. The text is part of the trace, with every address
// in it, so it must not depend on where the real kernel puts things: on the length of the file's name, or chance.
func TestEndsOfGoPrograms(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "a name that is long enough to move what lies on the stack of a process")
	text, err := os.ReadFile(built(t, "ends"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(elsewhere, text, 0o755))
	here, scattered := newEngine(t, nil), newEngine(t, func(e *Engine) { e.noASLR = false })
	for _, c := range []struct {
		way    string
		code   int
		stderr []string // what begins it, and what it contains
	}{
		{"nil", 2, []string{"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation", "goroutine 1 [running]:\n"}},
		{"index", 2, []string{"panic: runtime error: index out of range [2] with length 1\n", "testdata/ends/main.go:"}},
		{"divide", 2, []string{"panic: runtime error: integer divide by zero\n"}},
		{"error", 2, []string{"panic: as told\n"}},
		{"argument", 2, []string{"panic: argument\n", "main.told({0x"}},
		{"goroutine", 2, []string{"panic: in a goroutine\n", "created by main.init.func"}},
		{"fatal", 1, []string{"as told\n"}},
		{"unlock", 2, []string{"fatal error: sync: unlock of unlocked mutex\n"}},
		{"maps", 2, []string{"fatal error: concurrent map ", "main.mapWrites"}},
		{"memory", 2, []string{"fatal error: runtime: out of memory\n", "runtime.sysMapOS(0x"}},
		{"huge", 2, []string{"fatal error: runtime: out of memory\n"}},
		{"stack", 2, []string{"runtime: goroutine stack exceeds 1048576-byte limit\n", "fatal error: stack overflow\n"}},
		{"0", 0, []string{""}}, {"1", 1, []string{""}}, {"255", 255, []string{""}}, {"256", 0, []string{""}}, {"-1", 255, []string{""}},
	} {
		t.Run(c.way, func(t *testing.T) {
			spec := specOf(t, here, 1, "ends", "a: "+c.way)
			res, err := world.Run(t.Context(), spec)
			require.NoError(t, err)
			stderr := res.Text("a", "stderr")
			require.NotNil(t, res.Exit("a"), stderr)
			assert.Equal(t, kernel.Exit{At: res.Exit("a").At, Code: c.code, Reason: kernel.ReasonExit}, *res.Exit("a"))
			assert.True(t, strings.HasPrefix(stderr, c.stderr[0]), stderr)
			for _, part := range c.stderr[1:] {
				assert.Contains(t, stderr, part)
			}
			assert.NotContains(t, res.Text("a", "stdout"), "survived")

			spec.Program, err = scattered.Load(elsewhere)
			require.NoError(t, err)
			again, err := world.Run(t.Context(), spec)
			require.NoError(t, err)
			assert.Equal(t, stderr, again.Text("a", "stderr"))
			assert.Equal(t, res.TraceHash, again.TraceHash)
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(play(t, 1, "ends", "a: memory").Text("a", "stdout")), "\n")
	var last int
	_, err := fmt.Sscanf(lines[len(lines)-1], "MiB %d", &last)
	require.NoError(t, err)
	assert.InDelta(t, MemoryMax>>20, last, 65)
}

// Nobody can wake a guest whose goroutines all wait for each other. It is not an error of the guest's alone, since a
// descriptor or a timer might: the world is over, and says that the guest was still there.
func TestDeadlockEndsTheWorld(t *testing.T) {
	for _, way := range []string{"deadlock", "polling", "goexit"} {
		res := play(t, 1, "ends", "a: "+way)
		assert.True(t, res.TimedOut)
		assert.True(t, res.Procs[0].Running)
		assert.Empty(t, res.Text("a", "stdout")+res.Text("a", "stderr"))
	}
}

// struck is a program at one of whose calls something happens to the real process. The guest waits meanwhile.
type struck struct {
	*Program
	call int64
	with func(pid int)
}

func (s struck) Main(args, env []string) func(*kernel.Proc) {
	main := s.Program.Main(args, env)
	return func(p *kernel.Proc) {
		p.SetTrap(&kernel.Trap{Call: s.call, Fire: func(*kernel.Proc) { s.with(child()) }})
		main(p)
	}
}

// child is the youngest process that the calling thread has started.
func child() int {
	list, err := os.ReadFile("/proc/thread-self/children")
	if err != nil {
		return 0
	}
	pid := 0
	for _, f := range strings.Fields(string(list)) {
		_, _ = fmt.Sscan(f, &pid)
	}
	return pid
}

// strike runs "ends tick" and does something to the real process at its 200th call.
func strike(t *testing.T, with func(pid int)) *world.Result {
	t.Helper()
	spec := specOf(t, newEngine(t, nil), 1, "ends", "a: tick")
	spec.Program = struck{spec.Program.(*Program), 200, func(pid int) {
		assert.Positive(t, pid)
		with(pid)
	}}
	res, err := world.Run(t.Context(), spec)
	require.NoError(t, err)
	return res
}

func TestWhatATerminalSendsIsNotForGuests(t *testing.T) {
	strike(t, func(pid int) {
		group, err := unix.Getpgid(pid)
		assert.NoError(t, err)
		assert.NotEqual(t, unix.Getpgrp(), group)
	})
}

// A guest that the real system stops for a moment, or lets wait, has noticed nothing.
func TestAGuestThatTheHostStops(t *testing.T) {
	calm := strike(t, func(int) {})
	stopped := strike(t, func(pid int) {
		assert.NoError(t, unix.Kill(pid, unix.SIGSTOP))
		time.AfterFunc(3*look, func() { assert.NoError(t, unix.Kill(pid, unix.SIGCONT)) })
	})
	assert.Equal(t, calm.TraceHash, stopped.TraceHash)
	assert.Equal(t, 0, stopped.Exit("a").Code)
	// Signals that programs may handle change nothing either.
	signalled := strike(t, func(pid int) {
		for _, sig := range []unix.Signal{unix.SIGURG, unix.SIGWINCH, unix.SIGCHLD, unix.SIGPROF} {
			assert.NoError(t, unix.Kill(pid, sig))
		}
	})
	assert.Equal(t, calm.TraceHash, signalled.TraceHash)
}
