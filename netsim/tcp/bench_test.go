package tcp

import (
	"runtime"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

// bench is a network with hosts a, b and c, whose guests are Go functions.
type bench struct {
	t     require.TestingT
	k     *kernel.Kernel
	n     *Network
	hosts map[string]*kernel.Host
	left  int
	fault any
}

func newBench(t require.TestingT, seed uint64, opt Options) *bench {
	k := kernel.New(kernel.Options{Seed: seed})
	b := &bench{t: t, k: k, n: New(k, opt), hosts: map[string]*kernel.Host{}}
	k.Net = b.n
	for _, name := range []string{"a", "b", "c"} {
		b.hosts[name] = &kernel.Host{Name: name}
		b.n.AddHost(b.hosts[name])
	}
	return b
}

// spawn makes a guest. The function has a goroutine of its own, so that it can be left by Goexit: by the kernel
// (Unwind) or by a failed requirement.
func (b *bench) spawn(host, name string, body func(*guest)) *kernel.Proc {
	b.left++
	return b.k.Spawn(b.hosts[host], name, "0", func(p *kernel.Proc) {
		p.Unwind = runtime.Goexit
		over := make(chan struct{})
		go func() {
			returned := false
			defer close(over)
			defer func() {
				if r := recover(); r != nil {
					b.fault = r
				} else if !returned && !p.Dying() {
					b.fault = name + " gave up"
				}
			}()
			body(&guest{Proc: p, b: b})
			returned = true
		}()
		<-over
	}, func(*kernel.Proc) { b.left-- })
}

// at makes something happen to the world at a virtual time.
func (b *bench) at(d time.Duration, do func()) { b.k.After(int64(d), do) }

// run lets all guests run until they are over.
func (b *bench) run() {
	defer b.k.Close()
	err := b.k.Run(func() bool { return b.left == 0 || b.fault != nil })
	if b.fault != nil {
		panic(b.fault)
	}
	require.NoError(b.t, err, "%v", b.n)
}

// linger is run, and goes on at least until then.
func (b *bench) linger(until time.Duration) {
	b.spawn("c", "idle", func(g *guest) { g.sleepUntil(until + time.Second) })
	b.run()
}

// outlive runs until ten seconds after the last of the processes has ended, so that what is on its way arrives.
func (b *bench) outlive(procs ...*kernel.Proc) {
	b.spawn("c", "idle", func(g *guest) {
		for _, p := range procs {
			for p.Alive() {
				g.sleep(time.Second)
			}
		}
		g.sleep(10 * time.Second)
	})
	b.run()
}

func (b *bench) now() time.Duration { return time.Duration(b.k.Now()) }

// guest makes calls that wait.
type guest struct {
	*kernel.Proc
	b *bench
}

func (g *guest) sleep(d time.Duration) { g.PollWait(nil, g.Monotonic()+int64(d)) }
func (g *guest) sleepUntil(d time.Duration) {
	if rest := d - g.b.now(); rest > 0 {
		g.sleep(rest)
	}
}

func (g *guest) wait(fd int, m kernel.Mode) { g.PollWait([]kernel.Poll{g.PollOn(int32(fd), m)}, -1) }

func (g *guest) listen(port uint16) int {
	fd, e := g.Listen(kernel.Addr{Port: port})
	require.Equal(g.b.t, kernel.OK, e)
	return fd
}

func (g *guest) accept(fd int) int {
	for {
		conn, e := g.Accept(fd)
		if e == kernel.OK {
			return conn
		}
		require.Equal(g.b.t, kernel.EAGAIN, e)
		g.wait(fd, kernel.Readable)
	}
}

// connect dials and waits for the outcome.
func (g *guest) connect(host string, port uint16) (int, kernel.Errno) {
	ip, e := g.Lookup(host)
	require.Equal(g.b.t, kernel.OK, e)
	fd, e := g.Dial(kernel.Addr{IP: ip, Port: port})
	if e != kernel.EINPROGRESS {
		return fd, e
	}
	require.Equal(g.b.t, kernel.EINPROGRESS, g.SocketError(fd))
	g.wait(fd, kernel.Writable)
	return fd, g.SocketError(fd)
}

func (g *guest) dial(host string, port uint16) int {
	fd, e := g.connect(host, port)
	require.Equal(g.b.t, kernel.OK, e)
	return fd
}

// send writes everything, or returns the error that stops it.
func (g *guest) send(fd int, data []byte) kernel.Errno {
	for len(data) > 0 {
		n, e := g.Write(fd, data)
		switch e {
		case kernel.OK:
			data = data[n:]
		case kernel.EAGAIN:
			g.wait(fd, kernel.Writable)
		default:
			return e
		}
	}
	return kernel.OK
}

// recv reads n bytes; fewer only at the end of the stream or with an error.
func (g *guest) recv(fd, n int) ([]byte, kernel.Errno) {
	var got []byte
	buf := make([]byte, 10_000)
	for len(got) < n {
		m, e := g.Read(fd, buf[:min(len(buf), n-len(got))])
		switch {
		case e == kernel.EAGAIN:
			g.wait(fd, kernel.Readable)
		case e != kernel.OK:
			return got, e
		case m == 0:
			return got, kernel.OK
		default:
			got = append(got, buf[:m]...)
		}
	}
	return got, kernel.OK
}

const all = 1 << 30 // for recv: to the end

// pair makes two guests with one connection between them, from a to b, and runs the world.
func (b *bench) pair(client, server func(g *guest, fd int)) (c, s *kernel.Proc) {
	s = b.spawn("b", "server", func(g *guest) {
		l := g.listen(80)
		server(g, g.accept(l))
	})
	c = b.spawn("a", "client", func(g *guest) {
		g.sleep(time.Millisecond)
		client(g, g.dial("b", 80))
	})
	return c, s
}

func pattern(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i*7 + i>>8)
	}
	return out
}
