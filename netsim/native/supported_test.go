//go:build linux && amd64

package native

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"trialog/netsim/native/page"
	"trialog/netsim/world"
)

func TestProcessorsBelowTheBaseline(t *testing.T) {
	assert.NoError(t, baseline(page.SimCPU))
	assert.NoError(t, baseline(^uint32(0)))
	assert.EqualError(t, baseline(page.SimCPU&^(1<<1)), "native: this processor lacks PCLMULQDQ, which guests count on")
	assert.EqualError(t, baseline(1<<0|1<<9), "native: this processor lacks PCLMULQDQ, SSE4.1, SSE4.2, POPCNT, which guests count on")
	all := uint32(0)
	for _, f := range features {
		all |= f.bit
		assert.ErrorContains(t, baseline(page.SimCPU&^f.bit), "lacks "+f.name+",")
	}
	assert.Equal(t, uint32(page.SimCPU), all, "each feature of the baseline has a name")
}

func TestSupportedHere(t *testing.T) {
	require.NoError(t, Supported())
	before := children(t)
	require.NoError(t, tryOut(filter()))
	allowing := []uint64{uint64(unix.BPF_RET|unix.BPF_K) | unix.SECCOMP_RET_ALLOW<<32}
	assert.EqualError(t, tryOut(allowing), "native: this kernel accepts seccomp filters and does not heed them (status 0x0)")
	assert.Equal(t, before, children(t), "the trial leaves nobody behind")
}

func children(t *testing.T) string {
	t.Helper()
	list, err := os.ReadFile("/proc/thread-self/children")
	require.NoError(t, err)
	return string(list)
}

// Environment variables by which this test binary becomes a process that may not do everything: numbers of system calls, or
// of options of prctl as prctl:N, separated by commas; and the file of a guest.
const denials, sandboxed = "TRIALOG_NATIVE_DENY", "TRIALOG_NATIVE_GUEST"

// TestInASandbox is the other process.
func TestInASandbox(t *testing.T) {
	list := os.Getenv(denials)
	if list == "" {
		t.Skip("run by TestSupportedInSandboxes")
	}
	deny(t, strings.Split(list, ","))
	if err := Supported(); err != nil {
		fmt.Println("answer:", err)
		return
	}
	p, err := newEngine(t, nil).Load(os.Getenv(sandboxed))
	require.NoError(t, err)
	res, err := world.Run(t.Context(), world.Spec{Seed: 1, Program: p, Procs: procsOf([]string{"a: random"}), Limit: time.Second})
	require.NoError(t, err)
	fmt.Println("answer:", res.TraceHash)
}

// deny makes calls fail with EPERM, in all threads of this process and its children, for good.
func deny(t *testing.T, list []string) {
	t.Helper()
	var prog []unix.SockFilter
	add := func(code uint16, jt, jf uint8, k uint32) {
		prog = append(prog, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
	}
	const load, jeq, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	const arg0 = 16
	eperm := uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	for _, d := range list {
		name, option, isOption := strings.Cut(d, ":")
		nr, err := strconv.Atoi(name)
		require.NoError(t, err)
		add(load, 0, 0, dataNr)
		if isOption {
			v, err := strconv.Atoi(option)
			require.NoError(t, err)
			add(jeq, 0, 3, uint32(nr))
			add(load, 0, 0, arg0)
			add(jeq, 0, 1, uint32(v))
		} else {
			add(jeq, 0, 1, uint32(nr))
		}
		add(ret, 0, 0, eperm)
	}
	add(ret, 0, 0, unix.SECCOMP_RET_ALLOW)
	require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	require.Zero(t, e)
}

// What a sandbox forbids is found out before a guest starts, with the reason, and what guests can do without is no obstacle.
func TestSupportedInSandboxes(t *testing.T) {
	here := play(t, 1, "hostile", "a: random").TraceHash
	prctl := func(option int) string { return fmt.Sprint(unix.SYS_PRCTL, ":", option) }
	for _, c := range []struct{ name, deny, answer string }{
		{"seccomp", fmt.Sprint(unix.SYS_SECCOMP), "native: seccomp filters are not permitted: operation not permitted"},
		{"the trap of the time-stamp counter", prctl(unix.PR_SET_TSC), "native: the time-stamp counter cannot be trapped (PR_SET_TSC): operation not permitted"},
		{"no new privileges", prctl(unix.PR_SET_NO_NEW_PRIVS), "native: PR_SET_NO_NEW_PRIVS is not permitted: operation not permitted"},
		{"shared memory", fmt.Sprint(unix.SYS_MEMFD_CREATE), "native: memfd_create: operation not permitted"},
		{"personality", fmt.Sprint(unix.SYS_PERSONALITY), here},
		{"affinity", fmt.Sprint(unix.SYS_SCHED_SETAFFINITY), here},
		{"what guests do not need", fmt.Sprint(unix.SYS_PTRACE, ",", unix.SYS_PROCESS_VM_READV), here},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestInASandbox$")
			cmd.Env = append(os.Environ(), denials+"="+c.deny, sandboxed+"="+built(t, "hostile"))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), "answer: "+c.answer+"\n")
		})
	}
}
