package kernel

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unwound leaves a Go function that plays a guest.
type unwound struct{}

// guest makes a process main of a Go function.
func guest(f func(*Proc)) func(*Proc) {
	return func(p *Proc) {
		p.Unwind = func() { panic(unwound{}) }
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(unwound); !ok {
					panic(r)
				}
			}
		}()
		f(p)
	}
}

// memFile is a disk file that lives in memory and can be made slow.
type memFile struct {
	b     []byte
	delay int64
}

func (f *memFile) Kind() FileKind                                 { return KindRegular }
func (f *memFile) Ready(Mode) bool                                { return true }
func (f *memFile) Close(*Proc)                                    {}
func (f *memFile) Read(*Proc, []byte) (int, Errno)                { return 0, OK }
func (f *memFile) Pread(*Proc, []byte, int64) (int, Errno)        { return 0, OK }
func (f *memFile) Seek(*Proc, int64, int) (int64, Errno)          { return 0, OK }
func (f *memFile) Truncate(*Proc, int64) Errno                    { return OK }
func (f *memFile) Stat(*Proc) (Stat, Errno)                       { return Stat{Kind: KindRegular}, OK }
func (f *memFile) Entries(*Proc) ([]DirEntry, Errno)              { return nil, ENOTDIR }
func (f *memFile) Pwrite(p *Proc, b []byte, _ int64) (int, Errno) { return f.Write(p, b) }
func (f *memFile) Write(_ *Proc, b []byte) (int, Errno) {
	f.b = append(f.b, b...)
	return len(b), OK
}

func (f *memFile) Sync(p *Proc) Errno {
	if _, e, yes := p.Resumed(); yes {
		return e
	}
	p.Defer(f.delay, func() (int, Errno) { return 0, OK })
	return EAGAIN
}

func spawn(k *Kernel, name string, f func(*Proc)) *Proc {
	return k.Spawn(&Host{Name: name}, name, "0", guest(f), nil)
}

func allDead(k *Kernel) func() bool {
	return func() bool {
		for _, p := range k.Procs() {
			if p.Alive() {
				return false
			}
		}
		return true
	}
}

func sleep(p *Proc, d int64) { p.PollWait(nil, p.Monotonic()+d) }

// race lets three processes append their names to one file with random pauses.
func race(start starter, seed uint64, record *bytes.Buffer) (text, hash string) {
	opt := Options{Seed: seed}
	if record != nil {
		opt.Record = record
	}
	k := start(opt)
	f := &memFile{}
	for _, name := range []string{"a", "b", "c"} {
		p := spawn(k, name, func(p *Proc) {
			var b [1]byte
			for range 20 {
				p.Write(0, []byte(name))
				p.Entropy(b[:])
				sleep(p, int64(b[0])*100)
			}
		})
		p.Install(0, f)
	}
	if err := k.Run(allDead(k)); err != nil {
		panic(err)
	}
	if err := k.Trace().Flush(); err != nil {
		panic(err)
	}
	return string(f.b), k.Trace().Sum()
}

func TestOneSeedIsOneExecution(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		texts := map[string]bool{}
		for seed := range uint64(20) {
			text, hash := race(start, seed, nil)
			again, hashAgain := race(start, seed, nil)
			require.Equal(t, text, again)
			require.Equal(t, hash, hashAgain)
			texts[text] = true
		}
		assert.Greater(t, len(texts), 15, "seeds must differ in their schedules")
	})
}

func TestFirstDifferenceNamesTheEvent(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		var a, b, c bytes.Buffer
		race(start, 1, &a)
		race(start, 1, &b)
		race(start, 2, &c)
		text := a.String()
		d, err := FirstDifference(strings.NewReader(text), &b)
		require.NoError(t, err)
		assert.Nil(t, d)
		d, err = FirstDifference(strings.NewReader(text), &c)
		require.NoError(t, err)
		require.NotNil(t, d)
		assert.NotEqual(t, d.A, d.B)
		short, err := FirstDifference(strings.NewReader(text), strings.NewReader(text[:strings.LastIndexByte(text[:len(text)-1], '\n')+1]))
		require.NoError(t, err)
		assert.Equal(t, "(end of trace)", short.B)
	})
}

func TestStreamsAreIndependent(t *testing.T) {
	a, b := NewRand(7, "b1", "disk"), NewRand(7, "b1", "disk")
	other := NewRand(7, "b1", "latency")
	for range 100 {
		other.Uint64()
		require.Equal(t, a.Uint64(), b.Uint64())
	}
	assert.NotEqual(t, NewRand(7, "ab", "c").Uint64(), NewRand(7, "a", "bc").Uint64())
	assert.NotEqual(t, NewRand(7, "x").Uint64(), NewRand(8, "x").Uint64())
}

// Computed by an independent implementation of xoshiro256** in another language.
const goldenRand0, goldenRand1, goldenRand2 = 0x620a267b57b32dad, 0x16e45953a9a8b420, 0x11013196e246b9fc

func TestRandIsTheSameUnderEveryRelease(t *testing.T) {
	r := NewRand(42, "golden")
	got := []uint64{r.Uint64(), r.Uint64(), r.Uint64()}
	assert.Equal(t, []uint64{goldenRand0, goldenRand1, goldenRand2}, got)
}

func TestRandBounds(t *testing.T) {
	r := NewRand(1, "bounds")
	seen := map[int64]int{}
	for range 10_000 {
		seen[r.Between(-2, 2)]++
		if f := r.Float64(); f < 0 || f >= 1 {
			t.Fatalf("Float64 gave %v", f)
		}
	}
	assert.Len(t, seen, 5)
	for v, n := range seen {
		assert.InDelta(t, 2000, n, 300, "value %d", v)
	}
	assert.Panics(t, func() { r.Int63n(0) })
	odd := make([]byte, 11)
	r.Fill(odd)
	assert.NotEqual(t, make([]byte, 3), odd[8:])
}

func TestTrapsStrikeWhereTheyShould(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		for _, c := range []struct {
			name  string
			trap  Trap
			bytes func(t *testing.T, n int)
		}{
			{"before call 3", Trap{Call: 3, When: Before}, func(t *testing.T, n int) { assert.Equal(t, 20, n) }},
			{"after call 3", Trap{Call: 3, When: After}, func(t *testing.T, n int) { assert.Equal(t, 30, n) }},
			{"in the middle of call 3", Trap{Call: 3, When: Middle}, func(t *testing.T, n int) {
				assert.Greater(t, n, 20)
				assert.Less(t, n, 30)
			}},
			{"at the first write", Trap{When: Before, Match: func(c Call) bool { return c.Name == "write" }}, func(t *testing.T, n int) { assert.Zero(t, n) }},
		} {
			t.Run(c.name, func(t *testing.T) {
				k := start(Options{Seed: 3})
				f := &memFile{}
				p := spawn(k, "a", func(p *Proc) {
					for range 10 {
						p.Write(0, make([]byte, 10))
					}
				})
				p.Install(0, f)
				trap := c.trap
				trap.Fire = func(p *Proc) { k.Kill(p, ReasonKill) }
				p.SetTrap(&trap)
				require.NoError(t, k.Run(allDead(k)))
				c.bytes(t, len(f.b))
				assert.Equal(t, ReasonKill, p.Exited().Reason)
			})
		}
	})
}

func TestKillFromAnEventInsideAnothersCall(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		after := false
		victim := spawn(k, "victim", func(p *Proc) {
			sleep(p, 1e12)
			after = true
		})
		killer := spawn(k, "killer", func(p *Proc) {
			k.After(0, func() { k.Kill(victim, ReasonKill) })
			for range 100 {
				p.Clock(false)
			}
			assert.False(t, victim.Alive())
		})
		require.NoError(t, k.Run(allDead(k)))
		assert.False(t, after, "a dead process ran on")
		assert.Equal(t, ReasonExit, killer.Exited().Reason)
	})
}

func TestPauseDelaysButLosesNothing(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		var woke int64
		p := spawn(k, "a", func(p *Proc) {
			sleep(p, 1e9)
			woke = k.Now()
		})
		k.After(5e8, p.Pause)
		k.After(9e9, p.Resume)
		require.NoError(t, k.Run(allDead(k)))
		assert.GreaterOrEqual(t, woke, int64(9e9))
	})
}

func TestKilledWhilePaused(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		p := spawn(k, "a", func(p *Proc) { sleep(p, 1e12) })
		k.After(1e6, p.Pause)
		k.After(2e6, func() { k.Kill(p, ReasonPowerCut) })
		require.NoError(t, k.Run(allDead(k)))
		assert.Equal(t, &Exit{At: 2e6, Code: 137, Reason: ReasonPowerCut}, p.Exited())
	})
}

func TestDeferredCallIsRepeatedWithItsResult(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		f := &memFile{delay: 7e6}
		p := spawn(k, "a", func(p *Proc) {
			assert.Equal(t, EAGAIN, p.Sync(0))
			token := p.Deferred()
			require.NotZero(t, token)
			start := k.Now()
			p.PollWait([]Poll{p.PollOn(token, Readable)}, -1)
			assert.GreaterOrEqual(t, k.Now()-start, int64(6e6))
			p.ResumeWith(token)
			assert.Equal(t, OK, p.Sync(0))
			assert.Zero(t, p.Deferred())
			sub := []Poll{p.PollOn(token, Readable)}
			_, e := sub[0].Ready()
			assert.Equal(t, EBADF, e, "a token serves once")
		})
		p.Install(0, f)
		require.NoError(t, k.Run(allDead(k)))
	})
}

func TestNothingLeftToHappen(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		p := spawn(k, "a", func(p *Proc) { p.PollWait(nil, -1) })
		assert.ErrorIs(t, k.Run(allDead(k)), ErrIdle)
		k.Close()
		assert.Equal(t, ReasonEnd, p.Exited().Reason)
	})
}

func TestSilentGuestIsAHarnessError(t *testing.T) {
	k := New(Options{Seed: 1, Silence: 60 * time.Millisecond})
	release := make(chan struct{})
	spawn(k, "mute", func(*Proc) { <-release })
	err := k.Run(allDead(k))
	require.Error(t, err)
	var silent *SilentError
	require.ErrorAs(t, err, &silent)
	assert.Equal(t, "mute", silent.Proc)
	k.Close() // leaves the guest alone, which still computes
	close(release)
}

func TestDescriptors(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		p := spawn(k, "a", func(p *Proc) {
			_, e := p.Write(9, []byte("x"))
			assert.Equal(t, EBADF, e)
			n, e := p.Read(0, make([]byte, 4))
			assert.Equal(t, EAGAIN, e)
			assert.Zero(t, n)
			_, e = p.Accept(0)
			assert.Equal(t, ENOTSOCK, e)
			assert.Equal(t, EINVAL, p.Sync(0))
			assert.Equal(t, OK, p.Close(0))
			assert.Equal(t, EBADF, p.Close(0))
			p.Write(1, []byte("one\n"))
			p.ExitProcess(3)
		})
		in := k.NewStdin()
		p.Install(0, in)
		p.Install(1, k.NewSink("stdout"))
		require.NoError(t, k.Run(allDead(k)))
		assert.Equal(t, 3, p.Exited().Code)
		require.Len(t, k.Outputs(), 1)
		assert.Equal(t, "one\n", string(k.Outputs()[0].Data))
	})
}

func TestWallClockHasAnOffsetMonotonicHasNone(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		h := &Host{Name: "a", WallOffset: -5e9}
		k.Spawn(h, "a", "0", guest(func(p *Proc) {
			wall, mono := p.Clock(true), p.Clock(false)
			assert.InDelta(t, Epoch-5e9, wall, 1e6)
			h.WallOffset = 1e12
			assert.Greater(t, p.Clock(false), mono)
			assert.Less(t, p.Clock(false)-mono, int64(1e6))
		}), nil)
		require.NoError(t, k.Run(allDead(k)))
	})
}

// slowFile takes its time for every write.
type slowFile struct{ memFile }

func (f *slowFile) Write(p *Proc, b []byte) (int, Errno) {
	if n, e, yes := p.Resumed(); yes {
		return n, e
	}
	p.Defer(f.delay, func() (int, Errno) { return f.memFile.Write(p, b) })
	return 0, EAGAIN
}

// writeSlowly makes one write as a guest would: it waits for the token, and other calls come between.
func writeSlowly(p *Proc, b []byte) (int, Errno) {
	n, e := p.Write(0, b)
	for e == EAGAIN {
		p.Clock(false) // of the runtime; it must not take the place of the call that was deferred
		token := p.Deferred()
		p.PollWait([]Poll{p.PollOn(token, Readable)}, -1)
		p.ResumeWith(token)
		p.Clock(false)
		n, e = p.Write(0, b)
	}
	return n, e
}

func TestOtherCallsMayComeBeforeTheRepetition(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		f := &slowFile{memFile{delay: 1e6}}
		p := spawn(k, "a", func(p *Proc) {
			n, e := writeSlowly(p, make([]byte, 10))
			assert.Equal(t, OK, e)
			assert.Equal(t, 10, n)
		})
		p.Install(0, f)
		require.NoError(t, k.Run(allDead(k)))
		assert.Len(t, f.b, 10, "written once")
	})
}

func TestMiddleOfAWriteToASlowDisk(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		for _, c := range []struct {
			name    string
			fire    func(k *Kernel, p *Proc)
			written int // complete writes after the prefix
		}{
			{"kill", func(k *Kernel, p *Proc) { k.Kill(p, ReasonKill) }, 0},
			{"pause", func(k *Kernel, p *Proc) { p.Pause(); k.After(1e9, p.Resume) }, 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				k := start(Options{Seed: 1})
				f := &slowFile{memFile{delay: 1e6}}
				p := spawn(k, "a", func(p *Proc) {
					for range 2 {
						writeSlowly(p, make([]byte, 100))
					}
				})
				p.Install(0, f)
				p.SetTrap(&Trap{When: Middle, Fire: func(p *Proc) { c.fire(k, p) }})
				require.NoError(t, k.Run(allDead(k)))
				assert.Greater(t, len(f.b), 100*c.written)
				assert.Less(t, len(f.b), 100*c.written+100)
			})
		}
	})
}

func TestATrapTakenBackDoesNotStrikeASlowWrite(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		f := &slowFile{memFile{delay: 1e6}}
		p := spawn(k, "a", func(p *Proc) { writeSlowly(p, make([]byte, 100)) })
		p.Install(0, f)
		trap := &Trap{When: Middle, Fire: func(p *Proc) { k.Kill(p, ReasonKill) }}
		p.SetTrap(trap)
		k.After(5e5, func() { p.RemoveTrap(trap) })
		require.NoError(t, k.Run(allDead(k)))
		assert.Equal(t, ReasonExit, p.Exited().Reason)
	})
}

// A process that a trap in the middle of its write has killed must not meet the trap behind it.
func TestTheDeadMeetNoFurtherTrap(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		struck := 0
		p := spawn(k, "a", func(p *Proc) { p.Write(0, make([]byte, 100)) })
		p.Install(0, &memFile{})
		for _, w := range []When{Middle, After} {
			p.SetTrap(&Trap{When: w, Fire: func(p *Proc) { struck++; k.Kill(p, ReasonKill) }})
		}
		require.NoError(t, k.Run(allDead(k)))
		assert.Equal(t, 1, struck)
	})
}

func TestTimesBeyondTheEndOfTimeNeverCome(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		p := spawn(k, "a", func(p *Proc) { sleep(p, 1e9) })
		k.After(1, func() { k.After(math.MaxInt64, func() { t.Error("came at", k.Now()) }) })
		require.NoError(t, k.Run(allDead(k)))
		assert.Equal(t, ReasonExit, p.Exited().Reason)
	})
}

// gate is a file that becomes readable.
type gate struct {
	memFile
	open bool
}

func (g *gate) Ready(Mode) bool { return g.open }

// Two processes that become ready at the same moment both run then, although nothing happens between the two.
func TestOneEventWakesEveryWaiter(t *testing.T) {
	bothWays(t, func(t *testing.T, start starter) {
		for seed := range uint64(8) {
			k := start(Options{Seed: seed})
			g := &gate{}
			var woke []int64
			for _, name := range []string{"a", "b", "c"} {
				p := spawn(k, name, func(p *Proc) {
					p.PollWait([]Poll{p.PollOn(0, Readable)}, -1)
					woke = append(woke, k.Now())
					for range 5 {
						sleep(p, 1e9)
					}
				})
				p.Install(0, g)
			}
			k.After(1e6, func() { g.open = true })
			require.NoError(t, k.Run(allDead(k)))
			require.Len(t, woke, 3)
			assert.Less(t, woke[2], int64(2e6), "a waiter slept on")
		}
	})
}
