package tcp

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/netsim/kernel"
)

// action is something that happens to the world while two streams of bytes cross each other.
type action struct {
	after time.Duration
	what  string
	back  bool // b->a instead of a->b
}

var harmless = []string{
	"cut", "cut", "heal", "heal", "hold", "release", "delay", "no delay", "throttle", "no throttle",
	"hold conn", "release conn", "pause", "resume", "heal all",
}

func drawAction(t *rapid.T) action {
	return action{
		after: time.Duration(rapid.IntRange(0, 2_000_000).Draw(t, "us")) * time.Microsecond,
		what:  rapid.SampledFrom(harmless).Draw(t, "what"),
		back:  rapid.Bool().Draw(t, "back"),
	}
}

func (b *bench) act(x action, procs []*kernel.Proc) {
	from, to, p := "a", "b", procs[0]
	if x.back {
		from, to, p = to, from, procs[1]
	}
	switch x.what {
	case "cut":
		b.n.Cut(from, to)
	case "heal":
		b.n.Heal(from, to)
	case "hold":
		b.n.Hold(from, to)
	case "release":
		b.n.Release(from, to)
	case "delay":
		b.n.Delay(from, to, 700*time.Millisecond)
	case "no delay":
		b.n.Delay(from, to, 0)
	case "throttle":
		b.n.Throttle(from, to, 20_000)
	case "no throttle":
		b.n.Throttle(from, to, 0)
	case "hold conn":
		b.n.HoldConn("a", "b", 0)
	case "release conn":
		b.n.ReleaseConn("a", "b", 0)
	case "pause":
		p.Pause()
	case "resume":
		p.Resume()
	case "heal all":
		b.n.HealAll()
	}
}

// Whatever links do short of a reset, each side reads exactly what the other wrote, and nothing is left at the end.
func TestStreamsSurviveEverythingButResets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		actions := rapid.SliceOfN(rapid.Custom(drawAction), 0, 12).Draw(t, "actions")
		b := newBench(t, rapid.Uint64().Draw(t, "seed"), Options{
			Buffer: rapid.SampledFrom([]int{1, 100, 10_000, 256 << 10}).Draw(t, "buffer"), GiveUp: time.Hour,
		})
		there := pattern(rapid.IntRange(0, 500).Draw(t, "there"))
		back := pattern(rapid.IntRange(0, 100_000).Draw(t, "back"))
		if b.n.opt.Buffer < 100 {
			back = back[:min(len(back), 300)]
		}
		checked := 0
		side := func(say, hear []byte) func(*guest, int) {
			return func(g *guest, fd int) {
				got := converse(g, fd, say)
				require.True(t, bytes.Equal(hear, got), "%d bytes of %d", len(got), len(hear))
				checked++
			}
		}
		c, s := b.pair(side(there, back), side(back, there))
		at := 2 * time.Millisecond
		for _, x := range actions {
			at += x.after
			b.at(at, func() { b.act(x, []*kernel.Proc{c, s}) })
		}
		b.at(at+time.Second, func() {
			c.Resume()
			s.Resume()
			b.n.HealAll()
		})
		b.outlive(c, s)
		require.Equal(t, 2, checked)
		require.NotContains(t, b.n.String(), "conn ")
		require.NotContains(t, b.n.String(), "link ")
	})
}

// converse writes say and then FIN, while it reads to the end.
func converse(g *guest, fd int, say []byte) (heard []byte) {
	buf := make([]byte, 5000)
	for done, eof := false, false; !done || !eof; {
		progress := false
		if !done {
			n, e := g.Write(fd, say)
			if e == kernel.OK {
				say, progress = say[n:], true
			} else {
				require.Equal(g.b.t, kernel.EAGAIN, e)
			}
			if len(say) == 0 {
				require.Equal(g.b.t, kernel.OK, g.Shutdown(fd, kernel.Writable))
				done = true
			}
		}
		if !eof {
			n, e := g.Read(fd, buf)
			if e == kernel.OK {
				heard, eof, progress = append(heard, buf[:n]...), n == 0, true
			} else {
				require.Equal(g.b.t, kernel.EAGAIN, e)
			}
		}
		if !progress {
			var subs []kernel.Poll
			if !eof {
				subs = append(subs, g.PollOn(int32(fd), kernel.Readable))
			}
			if !done {
				subs = append(subs, g.PollOn(int32(fd), kernel.Writable))
			}
			g.PollWait(subs, -1)
		}
	}
	return heard
}

// With resets, kills and power cuts, what is read is still a prefix of what was written, and everybody ends.
func TestWhatIsReadIsAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, rapid.Uint64().Draw(t, "seed"), Options{BytesPerSecond: 1_000_000, GiveUp: 10 * time.Second})
		data := pattern(300_000)
		var got []byte
		complete := false
		wrote := 0
		c, _ := b.pair(func(g *guest, fd int) {
			for wrote < len(data) {
				n, e := g.Write(fd, data[wrote:])
				if wrote += n; e == kernel.EAGAIN {
					g.wait(fd, wr)
				} else if e != kernel.OK {
					return
				}
			}
		}, func(g *guest, fd int) {
			buf := make([]byte, 1000)
			for {
				n, e := g.Read(fd, buf)
				if got = append(got, buf[:n]...); e == kernel.EAGAIN {
					g.PollWait([]kernel.Poll{g.PollOn(int32(fd), rd)}, g.Monotonic()+5e9)
					if g.File(fd).Ready(rd) {
						continue
					}
					e = second(g.Write(fd, []byte("k"))) // or it would never learn of a lost peer
				} else if e == kernel.OK && n == 0 {
					complete = true
					return
				}
				if e != kernel.OK && e != kernel.EAGAIN {
					return
				}
			}
		})
		at := time.Duration(rapid.IntRange(3000, 300_000).Draw(t, "us")) * time.Microsecond
		what := rapid.SampledFrom([]string{"kill", "power", "reset", "lossy", "cut"}).Draw(t, "what")
		b.at(at, func() {
			switch what {
			case "kill":
				b.k.Kill(c, kernel.ReasonKill)
			case "power":
				b.n.HostDown("a")
				b.k.Kill(c, kernel.ReasonPowerCut)
			case "reset":
				b.n.ResetLink("a", "b")
			case "lossy":
				b.n.Lossy("a", "b", 30)
			case "cut":
				b.n.Partition([]string{"a"}, []string{"b"})
			}
		})
		b.at(at+20*time.Second, func() { b.n.HostUp("a") })
		b.linger(at + 90*time.Second)
		require.True(t, bytes.HasPrefix(data, got))
		if complete {
			require.Len(t, got, wrote)
		}
		require.NotContains(t, b.n.String(), "conn ")
	})
}
