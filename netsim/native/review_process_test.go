//go:build linux && amd64

package native

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/native/page"
	"trialog/netsim/world"
)

// os/signal blocks every signal that nobody asked for. The one that catches system calls is not among them.
func TestCallsAreCaughtWhileOtherSignalsAreBlocked(t *testing.T) {
	res := play(t, 1, "review", "a: notify")
	assert.Equal(t, "pid 100\ndone\n", res.Text("a", "stdout"), res.Text("a", "stderr"))
}

// The number that a process has in the real system means nothing in the simulated one.
func TestRealPidIsNobody(t *testing.T) {
	g := &guest{pid: 4242, shared: &shared{SimPage: &page.SimPage{Num: unix.SYS_KILL}}}
	_, e := killSelf(g, &[6]uint64{4242, 0})
	assert.Equal(t, esrch, e)
	_, e = killSelf(g, &[6]uint64{firstPid, 0})
	assert.Equal(t, kernel.OK, e)
	assert.Equal(t, "100 <nil>\n1 no such process\ndone\n", play(t, 1, "review", "a: exists 100 1").Text("a", "stdout"))
}

// Where memory lies is printed, hashed and compared. It must not be the real kernel's choice.
func TestMemoryLiesWhereTheGuestPutIt(t *testing.T) {
	text := map[bool]string{}
	for _, still := range []bool{true, false} {
		e := newEngine(t, func(e *Engine) { e.noASLR = still })
		res, err := world.Run(t.Context(), specOf(t, e, 1, "review", "a: memory"))
		require.NoError(t, err)
		require.NotNil(t, res.Exit("a"))
		text[still] = res.Text("a", "stdout") + res.Text("a", "stderr")
	}
	assert.Equal(t, text[true], text[false])
	assert.Regexp(t, "unix.Mmap 0x5\\w{11} <nil>\n(?s:.*)unix.MmapPtr 0x5\\w{11} <nil>\n", text[true])
	assert.Equal(t, 4, strings.Count(text[true], " cannot allocate memory\n"), "no huge pages, and nothing below 2 GiB: %s", text[true])
	const advice = "unix.Madvise <nil> "
	assert.Contains(t, text[true], advice+"1\n"+advice+"1\n"+advice+"1\n"+advice+"0\n")
	assert.Contains(t, text[true], "unix.Mremap 0 function not implemented\nmincore function not implemented\ndone\n")
}

// Whatever the real system does to a guest is an error of the harness, never something that the guest did.
func TestWhatTheHostDoesIsNoCrash(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTKFLT} {
		spec := specOf(t, newEngine(t, nil), 1, "review", "a: wait")
		spec.Program = struck{spec.Program.(*Program), 200, func(pid int) { assert.NoError(t, unix.Kill(pid, sig)) }}
		res, err := world.Run(t.Context(), spec)
		if sig == unix.SIGKILL {
			assert.EqualError(t, err, "native: guest a was killed by the host: killed")
			continue
		}
		require.NoError(t, err)
		require.NotNil(t, res.Exit("a"))
		assert.Equal(t, kernel.ReasonExit, res.Exit("a").Reason)
	}
}

// Signals that end programs, sent from outside to all processes of a session or a service, do not reach guests.
func TestSignalsFromOutsideDoNotReachGuests(t *testing.T) {
	hash := ""
	for _, sigs := range [][]unix.Signal{nil, {unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGUSR1, unix.SIGURG, unix.SIGPIPE, unix.SIGQUIT, unix.SIGALRM, 40}} {
		spec := specOf(t, newEngine(t, nil), 1, "review", "a: wait")
		spec.Program = struck{spec.Program.(*Program), 200, func(pid int) {
			for _, sig := range sigs {
				assert.NoError(t, unix.Kill(pid, sig))
			}
		}}
		res, err := world.Run(t.Context(), spec)
		require.NoError(t, err)
		require.NotNil(t, res.Exit("a"))
		assert.Equal(t, "done\n", res.Text("a", "stdout"), fmt.Sprint(sigs, res.Text("a", "stderr")))
		if hash == "" {
			hash = res.TraceHash
		}
		assert.Equal(t, hash, res.TraceHash)
	}
}

// A guest that met a limit of the shell it was started from would behave in another way there.
func TestLimitsOfTheHostAreNotThoseOfGuests(t *testing.T) {
	const none = ^uint64(0)
	for _, c := range []struct {
		what     int
		cur, max uint64
		want     string
	}{
		{unix.RLIMIT_AS, none, none, ""},
		{unix.RLIMIT_AS, 1 << 30, none, "native: this process may have 1024 MiB of addresses (ulimit -v), guests count on 65536 MiB"},
		{unix.RLIMIT_DATA, 1 << 29, none, ""},
		{unix.RLIMIT_DATA, 1 << 29, 1 << 29, "native: this process may have 512 MiB of memory (ulimit -d), guests count on 1024 MiB"},
	} {
		err := spacious(func(what int, l *unix.Rlimit) error {
			*l = unix.Rlimit{Cur: none, Max: none}
			if what == c.what {
				*l = unix.Rlimit{Cur: c.cur, Max: c.max}
			}
			return nil
		})
		if c.want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, c.want)
	}
	spec := specOf(t, newEngine(t, nil), 1, "review", "a: wait")
	spec.Program = struck{spec.Program.(*Program), 200, func(pid int) {
		for _, x := range limits {
			var l unix.Rlimit
			assert.NoError(t, unix.Prlimit(pid, x.what, nil, &l))
			assert.Equal(t, unix.Rlimit{Cur: x.bytes, Max: x.bytes}, l)
		}
	}}
	_, err := world.Run(t.Context(), spec)
	require.NoError(t, err)
}

// A guest's first descriptors take the place of whatever had these numbers, but not of the program.
func TestProgramsKeepClearOfTheFirstDescriptors(t *testing.T) {
	f, err := os.Open(os.Args[0])
	require.NoError(t, err)
	least := int(f.Fd()) + 10
	high, err := lift(f, least)
	require.NoError(t, err)
	defer high.Close()
	assert.GreaterOrEqual(t, int(high.Fd()), least)
	flags, err := unix.FcntlInt(high.Fd(), unix.F_GETFD, 0)
	require.NoError(t, err)
	assert.Equal(t, unix.FD_CLOEXEC, flags)
	assert.ErrorIs(t, f.Close(), os.ErrClosed)
	same, err := lift(high, least)
	require.NoError(t, err)
	assert.Equal(t, high, same)
}

// A thread is what it was when a world has left it.
func TestThreadsAreGivenBack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	state := func() (persona uintptr, cpus int) {
		persona, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0)
		var set unix.CPUSet
		require.NoError(t, unix.SchedGetaffinity(0, &set))
		return persona, set.Count()
	}
	persona, cpus := state()
	p, err := newEngine(t, nil).Load(built(t, "review"))
	require.NoError(t, err)
	leave, err := p.EnterThread()
	require.NoError(t, err)
	inside, one := state()
	assert.Equal(t, persona|0x0040000, inside)
	assert.Equal(t, 1, one)
	leave()
	after, all := state()
	assert.Equal(t, persona, after)
	assert.Equal(t, cpus, all)
}

// Nothing is left behind by processes, however they end.
func TestProcessesLeaveNothingBehind(t *testing.T) {
	e := newEngine(t, nil)
	spec := specOf(t, e, 1, "review", "a: wait", "b: exists 1", "c: nosuch", "d: wait")
	spec = planned(t, spec, "at 20ms kill a for 1ms\nat 30ms powercut a for 1ms\nat 40ms restart a\nat 50ms kill d")
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	family := func() (pids []byte) {
		tasks, err := filepath.Glob("/proc/self/task/*/children")
		require.NoError(t, err)
		require.NotEmpty(t, tasks)
		for _, task := range tasks {
			list, _ := os.ReadFile(task) // threads come and go
			pids = append(pids, list...)
		}
		return pids
	}
	before, nobody := 0, family()
	for i := range 20 {
		_, err := world.Run(t.Context(), spec)
		require.NoError(t, err)
		if i == 0 {
			before = open()
		}
	}
	assert.Equal(t, before, open())
	assert.Equal(t, nobody, family())
	assert.LessOrEqual(t, len(e.pages), 4, "as many as there were processes at a time")
}

// Worlds start processes at the same time, on threads of one process. None has a descriptor of another.
func TestGuestsHaveNoDescriptorsOfOthers(t *testing.T) {
	spec := specOf(t, newEngine(t, nil), 1, "review", "a: wait", "b: wait")
	p := spec.Program.(*Program)
	var worlds sync.WaitGroup
	for range 4 {
		worlds.Go(func() {
			for i := range 3 {
				spec := spec
				spec.Seed = uint64(i)
				spec.Program = struck{p, 50, func(pid int) {
					dir := fmt.Sprintf("/proc/%d/fd/", pid)
					list, err := os.ReadDir(dir)
					assert.NoError(t, err)
					assert.Len(t, list, 3)
					for _, fd := range list {
						file, err := os.Readlink(dir + fd.Name())
						assert.NoError(t, err)
						assert.Equal(t, os.DevNull, file)
					}
				}}
				_, err := world.Run(t.Context(), spec)
				assert.NoError(t, err)
			}
		})
	}
	worlds.Wait()
}

// orphaned is the environment variable by which this test binary becomes a simulator that is killed.
const orphaned = "TRIALOG_NATIVE_ORPHANED"

// TestOrphans is that simulator: it names the process of its guest, and waits.
func TestOrphans(t *testing.T) {
	file := os.Getenv(orphaned)
	if file == "" {
		t.Skip("run by TestGuestsDieWithTheirSimulator")
	}
	p, err := newEngine(t, nil).Load(file)
	require.NoError(t, err)
	spec := world.Spec{Procs: procsOf([]string{"a: wait"}), Limit: 1e9}
	spec.Program = struck{p, 200, func(pid int) {
		fmt.Println("guest", pid)
		select {}
	}}
	_, err = world.Run(t.Context(), spec)
	require.NoError(t, err)
}

func TestGuestsDieWithTheirSimulator(t *testing.T) {
	simulator := exec.Command(os.Args[0], "-test.run=^TestOrphans$", "-test.v")
	simulator.Env = append(os.Environ(), orphaned+"="+built(t, "review"))
	out, err := simulator.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, simulator.Start())
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "guest %d", &pid)
	}
	require.Positive(t, pid)
	guest, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	defer unix.Close(guest)
	require.NoError(t, simulator.Process.Kill())
	_ = simulator.Wait()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(guest), Events: unix.POLLIN}}, 60_000)
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(guest), Events: unix.POLLIN}}, 60_000)
	}
	require.NoError(t, err)
	assert.Equal(t, 1, n, "the guest is over")
}
