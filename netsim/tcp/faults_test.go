package tcp

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

const (
	rd = kernel.Readable
	wr = kernel.Writable
)

func TestKillSendsWhatWasWrittenThenFIN(t *testing.T) {
	b := newBench(t, 1, Options{BytesPerSecond: 1_000_000})
	data := pattern(200_000) // takes 200 ms, and the writer dies before
	c, _ := b.pair(func(g *guest, fd int) {
		require.Equal(t, kernel.OK, g.send(fd, data))
		g.wait(fd, rd)
	}, func(g *guest, fd int) {
		got, e := g.recv(fd, all)
		require.Equal(t, kernel.OK, e)
		require.True(t, bytes.Equal(data, got))
	})
	b.at(20*time.Millisecond, func() { b.k.Kill(c, kernel.ReasonKill) })
	b.run()
}

func TestKillWithUnreadDataResets(t *testing.T) {
	b := newBench(t, 1, Options{})
	c, _ := b.pair(func(g *guest, fd int) {
		g.send(fd, []byte("said before"))
		g.sleep(time.Hour)
	}, func(g *guest, fd int) {
		g.send(fd, []byte("never read"))
		got, e := g.recv(fd, all)
		require.Equal(t, "said before", string(got))
		require.Equal(t, kernel.ECONNRESET, e)
	})
	b.at(time.Second, func() { b.k.Kill(c, kernel.ReasonKill) })
	b.run()
}

func TestKilledServerRefusesAfterwards(t *testing.T) {
	b := newBench(t, 1, Options{})
	server := b.spawn("b", "server", func(g *guest) {
		g.listen(80)
		g.sleep(time.Hour)
	})
	b.at(time.Second, func() { b.k.Kill(server, kernel.ReasonKill) })
	b.spawn("a", "client", func(g *guest) {
		g.sleep(time.Millisecond)
		fd := g.dial("b", 80)
		_, e := g.recv(fd, 1)
		require.Equal(t, kernel.ECONNRESET, e, "it was never accepted")
		_, e = g.connect("b", 80)
		require.Equal(t, kernel.ECONNREFUSED, e)
	})
	b.run()
}

func TestPowerCutIsSilence(t *testing.T) {
	b := newBench(t, 1, Options{})
	var server *kernel.Proc
	quiet := false
	_, server = b.pair(func(g *guest, fd int) {
		g.sleepUntil(10 * time.Second)
		require.False(t, g.File(fd).Ready(rd), "nobody told us")
		quiet = true
		require.Equal(t, kernel.OK, g.send(fd, []byte("hello?")))
		g.sleepUntil(19 * time.Second)
		require.False(t, g.File(fd).Ready(rd))
		_, e := g.recv(fd, 1) // the host comes back at 20 s and resets what it does not know
		require.Equal(t, kernel.ECONNRESET, e)
		require.Greater(t, b.now(), 20*time.Second)
		require.Less(t, b.now(), 24*time.Second)
		_, e = g.connect("b", 80)
		require.Equal(t, kernel.ECONNREFUSED, e, "up, but nobody listens")
	}, func(g *guest, fd int) { g.sleep(time.Hour) })
	b.at(5*time.Second, func() {
		b.n.HostDown("b")
		b.k.Kill(server, kernel.ReasonPowerCut)
	})
	b.at(20*time.Second, func() { b.n.HostUp("b") })
	b.run()
	require.True(t, quiet)
}

func TestPowerCutKillFirstIsSilentToo(t *testing.T) {
	b := newBench(t, 1, Options{})
	var server *kernel.Proc
	_, server = b.pair(func(g *guest, fd int) {
		g.sleepUntil(10 * time.Second)
		require.False(t, g.File(fd).Ready(rd))
	}, func(g *guest, fd int) { g.sleep(time.Hour) })
	b.at(time.Second, func() {
		b.k.Kill(server, kernel.ReasonPowerCut)
		b.n.HostDown("b")
	})
	b.run()
}

func TestHalfOpenConnectionMeetsReset(t *testing.T) {
	// The acknowledgement is lost in a one-way cut, then the receiver loses power and comes back.
	b := newBench(t, 1, Options{})
	var server *kernel.Proc
	_, server = b.pair(func(g *guest, fd int) {
		g.sleepUntil(time.Second)
		b.n.Cut("b", "a")
		g.send(fd, []byte("x"))
		g.sleepUntil(2 * time.Second)
		b.n.HostDown("b")
		b.k.Kill(server, kernel.ReasonPowerCut)
		b.n.Heal("b", "a")
		g.sleepUntil(10 * time.Second)
		require.False(t, g.File(fd).Ready(rd), "a dead host does not acknowledge")
		b.n.HostUp("b")
		_, e := g.recv(fd, 1)
		require.Equal(t, kernel.ECONNRESET, e)
	}, func(g *guest, fd int) { g.recv(fd, all) })
	b.run()
}

func TestOneWayCut(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		g.sleepUntil(time.Second)
		b.n.Cut("a", "b")
		g.send(fd, []byte("late"))
		got, _ := g.recv(fd, 7)
		require.Equal(t, "in time", string(got), "the other way is open")
		require.Less(t, b.now(), 3*time.Second)
	}, func(g *guest, fd int) {
		g.sleepUntil(2 * time.Second)
		g.send(fd, []byte("in time"))
		got, _ := g.recv(fd, 4)
		require.Equal(t, "late", string(got))
		require.Greater(t, b.now(), 10*time.Second)
		require.Less(t, b.now(), 14*time.Second)
	})
	b.at(10*time.Second, func() { b.n.Heal("a", "b") })
	b.run()
}

func TestGivesUpWhenNothingIsAcknowledged(t *testing.T) {
	for _, way := range [][2]string{{"a", "b"}, {"b", "a"}} { // the data is lost, or the acknowledgement
		b := newBench(t, 1, Options{})
		b.pair(func(g *guest, fd int) {
			g.sleepUntil(time.Second)
			b.n.Cut(way[0], way[1])
			g.send(fd, []byte("x"))
			_, e := g.recv(fd, 1)
			require.Equal(t, kernel.ETIMEDOUT, e)
			require.InDelta(t, 61, b.now().Seconds(), 1)
			b.n.HealAll()
		}, func(g *guest, fd int) {
			g.sleepUntil(70 * time.Second)
			b.n.HealAll()
			g.send(fd, []byte("y"))
			g.sleep(5 * time.Second)
			g.recv(fd, 1)
			_, e := g.recv(fd, 1)
			require.Contains(t, []kernel.Errno{kernel.ECONNRESET, kernel.OK}, e)
			require.Equal(t, kernel.EPIPE, second(g.Write(fd, []byte("z"))), "the other end is gone")
		})
		b.run()
	}
}

func second[T any](_ T, e kernel.Errno) kernel.Errno { return e }

func TestIdleConnectionSurvivesALongCut(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		g.sleepUntil(time.Second)
		b.n.Partition([]string{"a"}, []string{"b", "c"})
		g.sleepUntil(time.Hour)
		b.n.HealPartition([]string{"a"}, []string{"b", "c"})
		g.send(fd, []byte("still here"))
	}, func(g *guest, fd int) {
		got, _ := g.recv(fd, all)
		require.Equal(t, "still here", string(got))
	})
	b.run()
}

func TestPartitionKeepsGroupsApartOnly(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.n.Partition([]string{"a"}, []string{"b", "c"})
	b.spawn("b", "server", func(g *guest) {
		fd := g.accept(g.listen(80))
		remote, _ := g.SocketAddr(fd, true)
		require.Equal(t, b.hosts["c"].IP, remote.IP)
	})
	b.spawn("c", "near", func(g *guest) {
		g.sleep(time.Millisecond)
		g.dial("b", 80)
	})
	b.spawn("a", "far", func(g *guest) {
		g.sleep(time.Millisecond)
		require.Equal(t, kernel.ETIMEDOUT, second(g.connect("b", 80)))
	})
	b.run()
}

func TestPowerCutLosesWhatHasNotLeft(t *testing.T) {
	b := newBench(t, 1, Options{BytesPerSecond: 100_000})
	var c *kernel.Proc
	c, _ = b.pair(func(g *guest, fd int) {
		g.send(fd, pattern(200_000)) // takes 2 s
		g.sleep(time.Hour)
	}, func(g *guest, fd int) {
		g.sleepUntil(10 * time.Second)
		n := 0
		for g.File(fd).Ready(rd) {
			m, _ := g.Read(fd, make([]byte, 1000))
			n += m
		}
		require.InDelta(t, 100_000, n, segmentMax)
	})
	b.at(time.Second, func() {
		b.n.HostDown("a")
		b.k.Kill(c, kernel.ReasonPowerCut)
	})
	b.run()
}

func TestResetIsLostInACut(t *testing.T) {
	b := newBench(t, 1, Options{})
	var c *kernel.Proc
	c, _ = b.pair(func(g *guest, fd int) {
		g.sleepUntil(2 * time.Second)
		b.n.Cut("a", "b")
		b.k.Kill(c, kernel.ReasonKill)
		g.Yield()
	}, func(g *guest, fd int) {
		g.sleepUntil(time.Second)
		g.send(fd, []byte("never read"))
		g.sleepUntil(3 * time.Second)
		b.n.HealAll()
		g.sleepUntil(30 * time.Second)
		require.False(t, g.File(fd).Ready(rd), "half open")
		g.send(fd, []byte("anyone?"))
		_, e := g.recv(fd, 1)
		require.Equal(t, kernel.ECONNRESET, e)
	})
	b.run()
}

func TestDelay(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		for _, d := range []time.Duration{0, 100 * time.Millisecond, 0} {
			b.n.Delay("b", "a", d)
			start := b.now()
			g.send(fd, []byte("x"))
			g.recv(fd, 1)
			require.InDelta(t, d.Seconds(), (b.now() - start).Seconds(), 0.002)
		}
	}, func(g *guest, fd int) {
		for range 3 {
			g.recv(fd, 1)
			g.send(fd, []byte("y"))
		}
	})
	b.run()
}

func TestHoldOneLink(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		b.n.Hold("a", "b")
		g.send(fd, []byte("held"))
		g.send(fd, []byte(" back"))
		g.sleepUntil(10 * time.Minute)
		b.n.Release("a", "b")
		g.sleep(time.Second)
		require.Equal(t, kernel.OK, g.SocketError(fd), "nobody gave up")
	}, func(g *guest, fd int) {
		got, _ := g.recv(fd, 9)
		require.Equal(t, "held back", string(got))
		require.InDelta(t, 600, b.now().Seconds(), 0.1)
	})
	b.run()
}

func TestHoldOneConnection(t *testing.T) {
	// S11: FIFO within a connection, no order across two.
	b := newBench(t, 1, Options{})
	var order []string
	b.spawn("b", "server", func(g *guest) {
		l := g.listen(80)
		subs := []int{g.accept(l), g.accept(l)}
		for len(order) < 2 {
			g.PollWait([]kernel.Poll{g.PollOn(int32(subs[0]), rd), g.PollOn(int32(subs[1]), rd)}, -1)
			for i, fd := range subs {
				if g.File(fd).Ready(rd) {
					got, _ := g.recv(fd, 3)
					order = append(order, string(got))
					subs[i] = l
				}
			}
		}
	})
	b.spawn("a", "client", func(g *guest) {
		g.sleep(time.Millisecond)
		one := g.dial("b", 80)
		two := g.dial("b", 80)
		require.Equal(t, 1, b.n.HoldConn("a", "b", 1))
		require.Zero(t, b.n.HoldConn("b", "a", 1), "dialed the other way")
		g.send(one, []byte("one"))
		g.sleep(30 * time.Second)
		g.send(two, []byte("two"))
		g.sleep(time.Second)
		require.Contains(t, b.n.String(), "conn a->b#1 32768->80 held | open wrote 3, 3 under way, 0 unread, parked")
		require.Equal(t, 2, b.n.ReleaseConn("a", "b", 0))
		g.sleep(time.Second)
		require.Equal(t, 1, b.n.ResetConn("a", "b", 2))
		require.Equal(t, kernel.ECONNRESET, g.SocketError(two))
		require.Equal(t, kernel.OK, g.SocketError(one))
	})
	b.run()
	require.Equal(t, []string{"two", "one"}, order)
}

func TestResetLink(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		_, e := g.recv(fd, 1)
		require.Equal(t, kernel.ECONNRESET, e)
	}, func(g *guest, fd int) {
		_, e := g.recv(fd, 1)
		require.Equal(t, kernel.ECONNRESET, e)
		require.InDelta(t, 1, b.now().Seconds(), 0.001)
	})
	b.at(time.Second, func() { b.n.ResetLink("b", "a") })
	b.run()
}

func TestLossIsDelayAndSometimesReset(t *testing.T) {
	delayed, reset := 0, 0
	for seed := range uint64(40) {
		b := newBench(t, seed, Options{})
		b.pair(func(g *guest, fd int) {
			b.n.Lossy("a", "b", 30)
			for i := range 20 {
				if g.send(fd, []byte(fmt.Sprintf("%02d", i))) != kernel.OK {
					return
				}
				g.sleep(10 * time.Millisecond)
			}
		}, func(g *guest, fd int) {
			got, e := g.recv(fd, all)
			want := "0001020304050607080910111213141516171819"
			require.Equal(t, want[:len(got)], string(got), "in order")
			if e == kernel.ECONNRESET {
				reset++
			} else {
				require.Len(t, got, 40)
			}
			if b.now() > 400*time.Millisecond {
				delayed++
			}
		})
		b.run()
	}
	require.Greater(t, delayed, 10)
	require.Greater(t, reset, 2)
	require.Less(t, reset, 30)
}

func TestDump(t *testing.T) {
	b := newBench(t, 1, Options{})
	var dump string
	b.pair(func(g *guest, fd int) {
		g.sleepUntil(time.Second)
		b.n.Cut("a", "b")
		b.n.Delay("b", "a", time.Second)
		b.n.Throttle("b", "a", 500)
		b.n.HostDown("c")
		g.send(fd, []byte("four"))
		g.sleep(time.Second)
		dump = b.n.String()
	}, func(g *guest, fd int) {
		g.sleepUntil(90 * time.Second)
	})
	b.run()
	require.Equal(t, `host a 10.0.0.1
host b 10.0.0.2, listens on 0.0.0.0:80 with 0 waiting
host c 10.0.0.3 down
link a->b cut
link b->a delay 1s throttle 500
conn a->b#1 32768->80 | open wrote 4, 4 under way, 0 unread, stopped | open wrote 0, 0 under way, 0 unread
`, dump)
}

func TestSentIntoACutIsLostEvenIfItHealsAtOnce(t *testing.T) {
	b := newBench(t, 1, Options{})
	var sent time.Duration
	b.pair(func(g *guest, fd int) {
		g.sleepUntil(time.Second)
		b.n.Cut("a", "b")
		g.send(fd, []byte("x"))
		b.n.Heal("a", "b")
		sent = b.now()
	}, func(g *guest, fd int) {
		g.recv(fd, 1)
		require.Greater(t, b.now()-sent, time.Millisecond, "it had to be sent again")
		require.Less(t, b.now()-sent, 210*time.Millisecond)
	})
	b.run()
}

func TestLostResetComesAgain(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.n.Cut("b", "a")
	b.at(5*time.Second, func() { b.n.Heal("b", "a") })
	b.spawn("a", "client", func(g *guest) {
		_, e := g.connect("b", 80)
		require.Equal(t, kernel.ECONNREFUSED, e)
		require.Greater(t, b.now(), 5*time.Second)
	})
	b.run()
}
