package tcp

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

func TestEchoAndHalfClose(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		require.Equal(t, kernel.OK, g.send(fd, []byte("ping")))
		require.Equal(t, kernel.OK, g.Shutdown(fd, kernel.Writable))
		_, e := g.Write(fd, []byte("x"))
		require.Equal(t, kernel.EPIPE, e)
		got, e := g.recv(fd, all)
		require.Equal(t, kernel.OK, e)
		require.Equal(t, "pong", string(got), "the other direction is still open")
	}, func(g *guest, fd int) {
		got, e := g.recv(fd, all)
		require.Equal(t, kernel.OK, e)
		require.Equal(t, "ping", string(got))
		g.send(fd, []byte("pong"))
	})
	b.linger(time.Second)
	require.NotContains(t, b.n.String(), "conn ", "nothing is left behind")
}

func TestAddresses(t *testing.T) {
	b := newBench(t, 1, Options{})
	require.Equal(t, [4]byte{10, 0, 0, 2}, b.hosts["b"].IP)
	b.pair(func(g *guest, fd int) {
		local, _ := g.SocketAddr(fd, false)
		require.Equal(t, kernel.Addr{IP: [4]byte{10, 0, 0, 1}, Port: portMin}, local)
		remote, _ := g.SocketAddr(fd, true)
		require.Equal(t, kernel.Addr{IP: [4]byte{10, 0, 0, 2}, Port: 80}, remote)
		g.recv(fd, all)
	}, func(g *guest, fd int) {
		remote, _ := g.SocketAddr(fd, true)
		require.Equal(t, kernel.Addr{IP: [4]byte{10, 0, 0, 1}, Port: portMin}, remote)
	})
	b.spawn("c", "names", func(g *guest) {
		for name, want := range map[string][4]byte{
			"a": {10, 0, 0, 1}, "A.": {10, 0, 0, 1}, "localhost": loopbackIP, "LocalHost.": loopbackIP, "1.2.3.4": {1, 2, 3, 4}} {
			ip, e := g.Lookup(name)
			require.Equal(t, []any{want, kernel.OK}, []any{ip, e}, name)
		}
		_, e := g.Lookup("nobody")
		require.Equal(t, kernel.ENOENT, e)
		_, e = g.Dial(kernel.Addr{IP: [4]byte{1, 2, 3, 4}, Port: 5})
		require.Equal(t, kernel.ENETUNREACH, e)

		fd := g.listen(0)
		at, _ := g.SocketAddr(fd, false)
		require.GreaterOrEqual(t, at.Port, uint16(portMin))
		_, e = g.Listen(at)
		require.Equal(t, kernel.EADDRINUSE, e)
		_, e = g.Listen(kernel.Addr{IP: [4]byte{10, 0, 0, 1}, Port: 1})
		require.Equal(t, kernel.EADDRNOTAVAIL, e)
		g.Close(fd)
		g.listen(at.Port)
	})
	b.run()
	require.Panics(t, func() { b.n.AddHost(&kernel.Host{Name: "a"}) })
	require.Panics(t, func() { b.n.Cut("a", "nobody") })
}

func TestLoopback(t *testing.T) {
	b := newBench(t, 1, Options{})
	for _, name := range []string{"localhost", "a"} {
		port := uint16(len(name))
		b.spawn("a", "server "+name, func(g *guest) {
			fd := g.accept(g.listen(port))
			local, _ := g.SocketAddr(fd, false)
			ip, _ := g.Lookup(name)
			require.Equal(t, ip, local.IP)
			g.send(fd, []byte("hi"))
		})
		b.spawn("a", "client "+name, func(g *guest) {
			g.sleep(time.Millisecond)
			got, _ := g.recv(g.dial(name, port), all)
			require.Equal(t, "hi", string(got))
		})
	}
	b.run()
}

func TestDialRefused(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.spawn("a", "client", func(g *guest) {
		_, e := g.connect("b", 80)
		require.Equal(t, kernel.ECONNREFUSED, e)
		require.Less(t, b.now(), 10*time.Millisecond)
		require.Greater(t, b.now(), 100*time.Microsecond, "a round trip")
	})
	b.run()
}

func TestDialTimesOut(t *testing.T) {
	for name, fault := range map[string]func(*Network){
		"host down":        func(n *Network) { n.HostDown("b") },
		"nothing gets out": func(n *Network) { n.Cut("a", "b") },
		"no answer":        func(n *Network) { n.Cut("b", "a") },
	} {
		b := newBench(t, 1, Options{})
		b.spawn("b", "server", func(g *guest) {
			l := g.listen(80)
			g.sleep(30 * time.Second)
			_, e := g.Accept(l)
			require.Equal(t, kernel.EAGAIN, e, "%s: a connection that never was established", name)
		})
		fault(b.n)
		b.spawn("a", "client", func(g *guest) {
			_, e := g.connect("b", 80)
			require.Equal(t, kernel.ETIMEDOUT, e, name)
			require.InDelta(t, 20, b.now().Seconds(), 0.1)
		})
		b.run()
	}
}

func TestDialGoesOnAfterHeal(t *testing.T) {
	for _, way := range [][2]string{{"a", "b"}, {"b", "a"}} {
		b := newBench(t, 1, Options{})
		b.n.Cut(way[0], way[1])
		b.at(5*time.Second, func() { b.n.Heal(way[0], way[1]) })
		b.pair(func(g *guest, fd int) {
			require.Greater(t, b.now(), 5*time.Second)
			require.Less(t, b.now(), 9*time.Second)
		}, func(*guest, int) {})
		b.run()
	}
}

func TestBacklogIsBounded(t *testing.T) {
	b := newBench(t, 1, Options{Backlog: 2})
	established := 0
	b.spawn("b", "server", func(g *guest) {
		l := g.listen(80)
		g.sleep(3 * time.Second)
		require.Equal(t, 2, established)
		for range 4 {
			g.send(g.accept(l), []byte("x"))
		}
		g.sleep(time.Second)
	})
	for _, name := range []string{"1", "2", "3", "4"} {
		b.spawn("a", name, func(g *guest) {
			g.sleep(time.Millisecond)
			fd := g.dial("b", 80)
			established++
			got, _ := g.recv(fd, 1)
			require.Equal(t, "x", string(got))
		})
	}
	b.run()
}

func TestBuffersAreBounded(t *testing.T) {
	b := newBench(t, 1, Options{Buffer: 1000})
	data := pattern(10_000)
	b.pair(func(g *guest, fd int) {
		n, e := g.Write(fd, data)
		require.Equal(t, []any{1000, kernel.OK}, []any{n, e}, "a short write")
		_, e = g.Write(fd, data)
		require.Equal(t, kernel.EAGAIN, e)
		g.sleep(time.Second)
		_, e = g.Write(fd, data)
		require.Equal(t, kernel.EAGAIN, e, "nobody reads")
		require.Equal(t, kernel.OK, g.send(fd, data[1000:]))
		require.Greater(t, b.now(), 2*time.Second)
	}, func(g *guest, fd int) {
		g.sleep(2 * time.Second)
		got, e := g.recv(fd, all)
		require.Equal(t, kernel.OK, e)
		require.True(t, bytes.Equal(data, got))
	})
	b.run()
}

func TestBandwidthAndThrottle(t *testing.T) {
	took := func(prepare func(*bench)) (d time.Duration) {
		b := newBench(t, 1, Options{BytesPerSecond: 1_000_000})
		prepare(b)
		b.pair(func(g *guest, fd int) { g.send(fd, pattern(100_000)) }, func(g *guest, fd int) {
			start := b.now()
			got, _ := g.recv(fd, all)
			require.Len(t, got, 100_000)
			d = b.now() - start
		})
		b.run()
		return d
	}
	require.InDelta(t, 0.1, took(func(*bench) {}).Seconds(), 0.02)
	require.InDelta(t, 1, took(func(b *bench) { b.n.Throttle("a", "b", 100_000) }).Seconds(), 0.1)
	require.InDelta(t, 0.1, took(func(b *bench) { b.n.Throttle("b", "a", 100_000) }).Seconds(), 0.02, "one way only")
	require.InDelta(t, 10, took(func(b *bench) {
		b.n.Throttle("a", "b", 100)
		b.at(10*time.Second, func() { b.n.Throttle("a", "b", 0) })
	}).Seconds(), 1, "what is under way speeds up too")
}

func TestReaderLeavesWriterGetsReset(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		g.sleep(time.Second)
		require.Equal(t, kernel.OK, g.send(fd, []byte("nobody there")), "the first write meets no error yet")
		g.sleep(time.Second)
		_, e := g.Write(fd, []byte("x"))
		require.Equal(t, kernel.EPIPE, e)
		n, e := g.Read(fd, make([]byte, 1))
		require.Equal(t, []any{0, kernel.OK}, []any{n, e}, "the error is told once")
	}, func(g *guest, fd int) { g.Close(fd) })
	b.run()
}

// As in Linux, a reset behind a FIN is told to writers: readers have met the end already.
func TestResetBehindAFinIsNoErrorForReaders(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		g.sleep(time.Second)
		require.Equal(t, kernel.OK, g.send(fd, []byte("nobody there")))
		g.sleep(time.Second)
		n, e := g.Read(fd, make([]byte, 1))
		require.Equal(t, []any{0, kernel.OK}, []any{n, e})
		_, e = g.Write(fd, []byte("x"))
		require.Equal(t, kernel.EPIPE, e)
	}, func(g *guest, fd int) { g.Close(fd) })
	b.run()
}

func TestCloseWithUnreadDataResets(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		g.send(fd, []byte("unread"))
		got, e := g.recv(fd, all)
		require.Equal(t, "last words", string(got), "bytes sent before the reset arrive before it")
		require.Equal(t, kernel.ECONNRESET, e)
	}, func(g *guest, fd int) {
		g.sleep(time.Second)
		g.send(fd, []byte("last words"))
		g.sleep(time.Millisecond)
		g.Close(fd)
	})
	b.linger(time.Second)
	require.NotContains(t, b.n.String(), "conn ")
}

func TestClosedListenerResetsWhoWaits(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.spawn("b", "server", func(g *guest) {
		l := g.listen(80)
		g.sleep(time.Second)
		g.Close(l)
		g.sleep(time.Second)
	})
	b.spawn("a", "client", func(g *guest) {
		g.sleep(time.Millisecond)
		_, e := g.recv(g.dial("b", 80), 1)
		require.Equal(t, kernel.ECONNRESET, e)
		require.Greater(t, b.now(), time.Second)
	})
	b.run()
}

func TestShutdownForReading(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.pair(func(g *guest, fd int) {
		require.Equal(t, kernel.OK, g.Shutdown(fd, kernel.Readable))
		n, e := g.Read(fd, make([]byte, 1))
		require.Equal(t, []any{0, kernel.OK}, []any{n, e})
		require.Equal(t, kernel.OK, g.send(fd, []byte("x")))
		_, e = g.Accept(fd)
		require.Equal(t, kernel.EINVAL, e)
	}, func(g *guest, fd int) {
		got, _ := g.recv(fd, all)
		require.Equal(t, "x", string(got))
		require.Equal(t, kernel.ENOTCONN, g.Shutdown(3, kernel.Readable), "a listener")
	})
	b.run()
}

func TestSameSeedSameTrace(t *testing.T) {
	run := func(seed uint64) string {
		b := newBench(t, seed, Options{})
		b.n.Lossy("a", "b", 20)
		b.pair(func(g *guest, fd int) { g.send(fd, pattern(500_000)) }, func(g *guest, fd int) { g.recv(fd, all) })
		b.run()
		return b.k.Trace().Sum()
	}
	require.Equal(t, run(7), run(7))
	require.NotEqual(t, run(7), run(8))
}
