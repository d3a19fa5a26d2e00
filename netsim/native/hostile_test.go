//go:build linux && amd64

package native

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
	"trialog/netsim/world"
)

// try runs one way of testdata/hostile on the host "simhost" and gives what it printed, line by line, without the last
// line, which says that it came to its end.
func try(t *testing.T, way string) (lines []string, stderr string) {
	t.Helper()
	res := play(t, 1, "hostile", "simhost: "+way)
	out := res.Text("simhost", "stdout")
	require.True(t, strings.HasSuffix(out, "done\n"), "%s\n%s", out, res.Text("simhost", "stderr"))
	require.Equal(t, 0, res.Exit("simhost").Code)
	lines = strings.Split(out, "\n")
	return lines[:len(lines)-2], res.Text("simhost", "stderr")
}

func TestFilesAreThoseOfTheSimulatedDisk(t *testing.T) {
	lines, stderr := try(t, "files")
	assert.Empty(t, stderr)
	const no = "no such file or directory"
	want := []string{"/etc/hostname simhost <nil>"}
	for _, name := range []string{"/etc/passwd", "/etc/machine-id", "/proc/self/status", "/proc/1/cmdline", "/proc/cpuinfo",
		"/proc/sys/kernel/random/boot_id", "/sys/devices/system/cpu/online", "/dev/urandom"} {
		want = append(want, name+"  open "+name+": "+no)
	}
	want = append(want, "raw hostname simhost <nil>", "raw passwd "+no, "raw maps "+no)
	for _, name := range []string{"/proc/self/oom_score_adj", "/proc/self/mem", "/proc/self/comm"} {
		want = append(want, "write "+name+" false open "+name+": "+no)
	}
	want = append(want, "root etc", "root tmp", "names simhost /bin/simhost / simhost [] <nil>")
	assert.Equal(t, want, lines)
}

func TestClocksAreVirtual(t *testing.T) {
	lines, stderr := try(t, "clocks")
	assert.Empty(t, stderr)
	readings := map[string]int{}
	for _, line := range lines {
		f := strings.Fields(line)
		kind := f[0]
		readings[kind]++
		switch kind {
		case "wall", "mono":
			v, err := strconv.ParseInt(f[2], 10, 64)
			require.NoError(t, err)
			if kind == "wall" {
				v -= kernel.Epoch
			}
			assert.Less(t, v, 10*time.Second.Nanoseconds(), line)
			assert.GreaterOrEqual(t, v, int64(0), line)
		case "aux":
			assert.Equal(t, "aux 0", line, "the number of the processor")
		}
	}
	assert.Contains(t, lines, "advances true")
	assert.Equal(t, map[string]int{"wall": 8, "mono": 5, "aux": 1, "advances": 1}, readings)
}

func TestOldestClockIsVirtualOrAbsent(t *testing.T) {
	res := play(t, 1, "hostile", "a: vsyscall")
	if out := res.Text("a", "stdout"); out != "" {
		assert.Equal(t, fmt.Sprintf("wall vsyscall %d\ndone\n", kernel.Epoch), out)
	} else { // a kernel without it
		assert.Contains(t, res.Text("a", "stderr"), "SIGSEGV")
	}
}

// The vector that the real kernel puts above the environment names the processor, the file that was started, real
// entropy, and clock functions.
func TestNothingComesWithTheStartOfAProcess(t *testing.T) {
	lines, _ := try(t, "auxv")
	require.Len(t, lines, 2)
	assert.Equal(t, "at 6 4096", lines[0])
	assert.Contains(t, lines[1], "random [")
	again, _ := try(t, "auxv")
	assert.Equal(t, lines, again)
}

func TestIdsAreSimulated(t *testing.T) {
	lines, stderr := try(t, "ids")
	assert.Equal(t, []string{
		"getpid 100 1 0 0", "raw id 100 <nil>", "raw id 100 <nil>", "raw id 1 <nil>", "raw id 0 <nil>", "raw id 100 <nil>",
		"unix id 100 100 1", "uname Linux simhost 6.1.0-netsim #1 netsim <nil>", "processors 1 <nil>", "setaffinity function not implemented",
	}, lines)
	assert.Equal(t, "netsim: system call sched_setaffinity (203) is not served: ENOSYS\n", stderr)
}

// Every line is drawn from another source: system calls in assembly, golang.org/x/sys, crypto/rand, the generators of
// the runtime, the order of a map, the choice of a select, an address.
func TestEntropyIsTheSeeds(t *testing.T) {
	draw := func(seed uint64) []string {
		out := play(t, seed, "hostile", "a: random").Text("a", "stdout")
		return strings.Split(out, "\n")
	}
	one, again, other := draw(1), draw(1), draw(2)
	assert.Equal(t, one, again)
	require.Len(t, one, 10)
	require.Len(t, other, 10)
	for i := range one[:8] {
		assert.NotEqual(t, one[i], other[i])
	}
}

func TestSocketsAreThoseOfTheSimulatedNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // of the real machine
	require.NoError(t, err)
	defer l.Close()
	e := newEngine(t, nil)
	spec := specOf(t, e, 1, "hostile", fmt.Sprint("simhost: sockets ", l.Addr().(*net.TCPAddr).Port), "srv: echo :7000")
	spec.Procs[0].Start = time.Second
	spec.Procs[1].Program, err = e.Load(built(t, "examples/probe"))
	require.NoError(t, err)
	res, err := world.Run(t.Context(), spec)
	require.NoError(t, err)
	const family = " address family not supported by protocol\n"
	assert.Equal(t, "family 1"+family+"family 10"+family+"family 16"+family+"family 17"+family+"family 40"+family+
		"socket <nil>\nconnect real connection refused\nconnect simulated <nil>\nwrite <nil>\nread hello <nil>\ndone\n", res.Text("simhost", "stdout"))
}

// refusals are the names of the calls that stderr says were refused, in that order; each only once.
func refusals(t *testing.T, stderr string) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(stderr) {
		rest, ok := strings.CutPrefix(line, "netsim: system call ")
		require.True(t, ok, line)
		name, rest, _ := strings.Cut(rest, " is not served")
		require.Equal(t, ": ENOSYS\n", rest)
		require.NotContains(t, names, name)
		names = append(names, name)
	}
	return names
}

func TestNoOtherThreadOrProcess(t *testing.T) {
	lines, stderr := try(t, "spawn")
	const enosys = "function not implemented"
	assert.Equal(t, []string{
		"clone thread 0 " + enosys, "clone 0 " + enosys, "clone3 0 " + enosys, "fork 0 " + enosys, "vfork 0 " + enosys,
		"execve 0 " + enosys, "execveat 0 " + enosys, "syscall.Exec " + enosys, "os/exec fork/exec /bin/true: " + enosys,
		"os.StartProcess fork/exec /bin/true: " + enosys, "syscall.ForkExec " + enosys, "and still true <nil>",
	}, lines)
	assert.Equal(t, []string{"clone (56)", "clone3 (435)", "fork (57)", "vfork (58)", "execve (59)", "execveat (322)"}, refusals(t, stderr))
}

func TestUnservedCallsAreNamedOnce(t *testing.T) {
	lines, stderr := try(t, "unserved")
	names := refusals(t, stderr)
	require.Len(t, names, len(lines))
	for i, line := range lines {
		what, rest, _ := strings.Cut(line, " function not implemented")
		assert.Equal(t, " true", rest, line)
		if what != "no such call" {
			assert.Regexp(t, `^`+what+` \(\d+\)$`, names[i])
		}
	}
	assert.Equal(t, "4000", names[len(names)-1], "a number without a name")
	lines, stderr = try(t, "compat")
	assert.Equal(t, []string{"x32 0 function not implemented"}, lines)
	assert.Len(t, refusals(t, stderr), 1)
}

func TestFilesAreNotMapped(t *testing.T) {
	lines, stderr := try(t, "maps")
	const enodev, eacces = "no such device", "permission denied"
	assert.Equal(t, []string{
		"unix.Mmap " + enodev, "syscall.Mmap " + enodev, "raw mmap " + enodev, "anonymous 4096 <nil>",
		"code " + eacces, "raw code " + eacces, "mprotect " + eacces, "raw mprotect " + eacces,
		"raw huge page cannot allocate memory", "raw anonymous 5 <nil>",
	}, lines)
	assert.Equal(t, "netsim: mmap of a file is not served: what a process writes to mapped memory could not be seen; ENODEV\n"+
		"netsim: executable memory is not served: EACCES\n", stderr)
}

// A guest that sends SIGKILL to everybody it can name harms nobody.
func TestNobodyElseIsKilled(t *testing.T) {
	bystander := exec.Command("sleep", "1000")
	require.NoError(t, bystander.Start())
	defer func() {
		require.NoError(t, bystander.Process.Kill())
		_ = bystander.Wait()
	}()
	lines, _ := try(t, fmt.Sprint("kill ", bystander.Process.Pid, " ", os.Getpid(), " ", os.Getppid()))
	require.Len(t, lines, 8*6)
	for _, line := range lines {
		assert.Regexp(t, `^(kill|tgkill|tkill|os|pidfd|sigqueue) (no such process|function not implemented)$`, line)
	}
	assert.NoError(t, bystander.Process.Signal(syscall.Signal(0)))
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(bystander.Process.Pid, &status, syscall.WNOHANG, nil)
	assert.NoError(t, err)
	assert.Zero(t, pid, "still running")
}

// golang.org/x/sys/unix has assembly of its own that enters the kernel.
func TestWrappersOfOthersDoNotEscape(t *testing.T) {
	lines, stderr := try(t, "wrappers")
	const enosys = "function not implemented"
	assert.Equal(t, []string{
		"SyscallNoError 100", "RawSyscallNoError 100", "Syscall 1 errno 0", "RawSyscall 100 errno 0", "RawSyscall6 0 errno 0",
		"Syscall6 " + enosys, "AllThreadsSyscall errno 0", "Setuid " + enosys, "Setgroups " + enosys, "Prctl invalid argument true",
		"Wait4 -1 " + enosys, "Chroot " + enosys, "InotifyInit1 " + enosys, "EpollCreate1 " + enosys, "Eventfd " + enosys,
	}, lines)
	assert.Len(t, refusals(t, stderr), 8)
}

func TestLimitsStayAsTheyAre(t *testing.T) {
	lines, stderr := try(t, "limits")
	assert.Equal(t, []string{
		"getrlimit <nil> 4096 4096", "setrlimit <nil>", "raw setrlimit <nil>", "raw prlimit <nil>", "getrlimit <nil> true", "and still 1048576 <nil>",
	}, lines)
	assert.Empty(t, stderr)
}

func TestCallsAreCaughtHoweverSignalsAreHandled(t *testing.T) {
	built(t, "hostile") // while signals are as usual
	otherSignals(t)     // what this process ignores and blocks is not for its guests
	lines, stderr := try(t, "signals")
	assert.Equal(t, []string{"blocked 0", "ignored false false", "pid 100 <nil> true", "pid 100 <nil> true", "pid 100 <nil> true", "pid 100 <nil> true"}, lines)
	assert.Empty(t, stderr)
}

// A call of the 32-bit interface has another number; where the kernel has that interface the process is killed, and
// elsewhere the instruction traps.
func Test32BitCallsAreTheEnd(t *testing.T) {
	res := play(t, 1, "hostile", "a: int80")
	assert.Empty(t, res.Text("a", "stdout"))
	stderr := res.Text("a", "stderr")
	if strings.Contains(stderr, "SIGSEGV") {
		assert.Equal(t, 2, res.Exit("a").Code)
		return
	}
	assert.Equal(t, "netsim: guest killed itself: bad system call\n", stderr)
	assert.Equal(t, kernel.ReasonCrash, res.Exit("a").Reason)
}

func TestEndsByHand(t *testing.T) {
	res := play(t, 1, "hostile", "a: tgkill", "b: rawexit 7")
	assert.Equal(t, kernel.ReasonCrash, res.Exit("a").Reason)
	assert.Equal(t, "netsim: guest killed itself: killed\n", res.Text("a", "stderr"))
	assert.Equal(t, 7, res.Exit("b").Code)
	assert.Equal(t, kernel.ReasonExit, res.Exit("b").Reason)
	assert.Empty(t, res.Text("a", "stdout")+res.Text("b", "stdout")+res.Text("b", "stderr"))
}

// A guest cannot write past a fault of its disk by leaving a write that it may not leave.
func TestForgedWrite(t *testing.T) {
	for _, c := range []struct{ plan, said, reason string }{
		{"", "left <nil>\ndone\n", kernel.ReasonExit},
		{"at 0s disk a eio write", "", kernel.ReasonCrash},
	} {
		res, err := world.Run(t.Context(), planned(t, specOf(t, newEngine(t, nil), 1, "hostile", "a: sure"), c.plan))
		require.NoError(t, err)
		require.Equal(t, c.reason, res.Exit("a").Reason)
		require.Equal(t, c.said, res.Text("a", "stdout"))
	}
}

// A guest that describes calls which make no sense, and overwrites its page, harms nobody but itself.
func TestForgedCalls(t *testing.T) {
	e, served := newEngine(t, nil), 0
	for seed := range uint64(60) {
		spec := specOf(t, e, seed, "hostile", fmt.Sprint("a: forge ", seed, " 300"), "b: ids")
		res, err := world.Run(t.Context(), spec)
		require.NoError(t, err, seed)
		require.Equal(t, 0, res.Exit("b").Code, seed)
		if res.Exit("a") != nil && res.Exit("a").Reason == kernel.ReasonExit {
			served++
		}
	}
	assert.Positive(t, served, "some come to their end")
}
