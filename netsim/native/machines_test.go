//go:build linux && amd64

package native

import (
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"trialog/netsim/native/page"
)

// machine is a way in which another machine, or the same one at another time, differs.
type machine struct {
	name string
	// be changes this process until the test is over, and the engine.
	be func(t *testing.T, e *Engine)
}

var machines = []machine{
	{"quiet", func(*testing.T, *Engine) {}},
	{"address randomisation", func(_ *testing.T, e *Engine) { e.noASLR = false }},
	{"noise", func(t *testing.T, _ *Engine) { noise(t) }},
	{"environment", func(t *testing.T, _ *Engine) {
		for _, kv := range []string{"TZ=Asia/Tokyo", "LANG=tr_TR.UTF-8", "GOGC=10", "GODEBUG=gctrace=1", "GOMAXPROCS=3", "GOTRACEBACK=crash", "HOME=/nowhere"} {
			k, v, _ := strings.Cut(kv, "=")
			t.Setenv(k, v)
		}
		t.Setenv("PADDING", strings.Repeat("x", 5000))
	}},
	{"directory", func(t *testing.T, _ *Engine) { t.Chdir(t.TempDir()) }},
	{"small stack", func(t *testing.T, e *Engine) { stackLimit(t, 200<<10); e.noASLR = false }},
	{"other signals", func(t *testing.T, _ *Engine) { otherSignals(t) }},
	{"one P", func(t *testing.T, _ *Engine) { hostProcs(t, 1) }},
	{"processor without features", func(_ *testing.T, e *Engine) { e.cpu = 0 }},
	{"boundless stack", func(t *testing.T, e *Engine) { stackLimit(t, unix.RLIM_INFINITY); e.noASLR = false }},
	{"eight Ps and noise", func(t *testing.T, _ *Engine) { hostProcs(t, 8); noise(t) }},
	{"processor with SSE4.1 only", func(_ *testing.T, e *Engine) { e.cpu = page.SimCPU &^ (1<<1 | 1<<20 | 1<<23) }},
}

// noise keeps all processors busy.
func noise(t *testing.T) {
	var over atomic.Bool
	t.Cleanup(func() { over.Store(true) })
	for range runtime.NumCPU() {
		go func() {
			for x := 0; !over.Load(); x++ {
				_ = make([]byte, x%10000)
			}
		}()
	}
}

// otherSignals ignores and blocks what children inherit.
func otherSignals(t *testing.T) {
	t.Helper()
	signal.Ignore(unix.SIGHUP, unix.SIGINT)
	runtime.LockOSThread()
	var before unix.Sigset_t
	all := unix.Sigset_t{Val: [16]uint64{^uint64(0)}}
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, &all, &before))
	t.Cleanup(func() {
		assert.NoError(t, unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil))
		runtime.UnlockOSThread()
		signal.Reset(unix.SIGHUP, unix.SIGINT)
	})
}

func hostProcs(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// stackLimit sets the soft limit of the main stack, which children inherit. It decides where the kernel puts mappings.
func stackLimit(t *testing.T, bytes uint64) {
	t.Helper()
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_STACK, &before))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_STACK, &unix.Rlimit{Cur: min(bytes, before.Max), Max: before.Max}))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_STACK, &before)) })
}
