package kernel

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// starter is New.
type starter func(Options) *Kernel

// bothWays runs a test with and without OneThread, on a locked thread, and compares the traces of its kernels.
func bothWays(t *testing.T, test func(t *testing.T, start starter)) {
	t.Helper()
	var sums [2][]string
	for way, name := range []string{"apart", "one thread"} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var made []*Kernel
			test(t, func(opt Options) *Kernel {
				opt.OneThread = way == 1
				made = append(made, New(opt))
				return made[len(made)-1]
			})
			for _, k := range made {
				sums[way] = append(sums[way], k.Trace().Sum())
			}
		})
	}
	assert.Equal(t, sums[0], sums[1], "one seed is one execution, in one thread or not")
}

// Engines that talk to their guests through a thread's own state rely on it.
func TestOneThreadIsTheThreadOfRun(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := New(Options{Seed: 1, OneThread: true})
	mine, switches := threadID(), 0
	check := func() {
		switches++
		assert.Equal(t, mine, threadID())
	}
	victim := spawn(k, "victim", func(p *Proc) {
		defer check()
		sleep(p, 1e12)
	})
	spawn(k, "killer", func(p *Proc) {
		for range 10 {
			check()
			sleep(p, 1e6)
		}
		k.After(0, func() { k.Kill(victim, ReasonKill) })
		k.After(0, func() { spawn(k, "late", func(p *Proc) { p.Yield(); check() }) })
		p.Yield()
		check()
	})
	require.NoError(t, k.Run(allDead(k)))
	assert.Equal(t, 13, switches)
}

func TestAnEngineThatFailsEndsTheRun(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k, broken, unwinding := start(Options{Seed: 1}), errors.New("broken"), errors.New("broken while it unwinds")
		p := spawn(k, "a", func(p *Proc) {
			defer p.Fail(unwinding) // must not unwind a second time
			p.Yield()
			p.Fail(broken)
			t.Error("Fail returned")
		})
		other := spawn(k, "b", func(p *Proc) { sleep(p, 1e12) })
		assert.Equal(t, broken, k.Run(func() bool { return false }))
		assert.Equal(t, ReasonFailed, p.Exited().Reason)
		k.Close()
		assert.Equal(t, ReasonEnd, other.Exited().Reason)
	})
}

func TestAnEngineThatFailsWhileItIsKilledEndsTheRun(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k, broken := start(Options{Seed: 1}), errors.New("the process cannot be killed")
		p := spawn(k, "a", func(p *Proc) {
			defer p.Fail(broken)
			sleep(p, 1e12)
		})
		k.After(1e6, func() { k.Kill(p, ReasonKill) })
		assert.Equal(t, broken, k.Run(func() bool { return false }))
	})
}

func TestTheClockGoesOnWithTheGuests(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		came := int64(0)
		k.After(5e6, func() { came = k.Now() })
		spawn(k, "a", func(p *Proc) {
			now := p.Monotonic()
			p.Advance(now - 1000)
			assert.Equal(t, now, p.Monotonic(), "time never goes back")
			p.Advance(now + 7e6)
			assert.Equal(t, now+7e6, p.Monotonic())
			assert.Zero(t, came, "nothing happens outside of calls")
			assert.GreaterOrEqual(t, p.Clock(false), now+7e6)
			assert.GreaterOrEqual(t, came, int64(7e6))
			assert.Equal(t, int64(1), p.CallNumber(), "Advance is no call")
		})
		require.NoError(t, k.Run(allDead(k)))
	})
}
