package tcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

func expect(t *testing.T, want, got kernel.Errno, why string) {
	t.Helper()
	require.Equal(t, want, got, why)
}

func addr(host byte, port uint16) kernel.Addr {
	return kernel.Addr{IP: [4]byte{10, 0, 0, host}, Port: port}
}

func newSocket(t *testing.T, g *guest) int {
	t.Helper()
	fd, e := g.Socket()
	require.Equal(t, kernel.OK, e)
	return fd
}

// What Linux answers was asked of Linux.
func TestASocketThatIsNotConnectedYet(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.spawn("a", "a", func(g *guest) {
		fd := newSocket(t, g)
		_, e := g.Read(fd, make([]byte, 1))
		expect(t, kernel.ENOTCONN, e, "read")
		_, e = g.Write(fd, []byte("x"))
		expect(t, kernel.EPIPE, e, "write")
		_, e = g.Accept(fd)
		expect(t, kernel.EINVAL, e, "accept")
		expect(t, kernel.ENOTCONN, g.Shutdown(fd, kernel.Writable), "shutdown")
		expect(t, kernel.OK, g.SocketError(fd), "no error is pending")
		_, e = g.SocketAddr(fd, true)
		expect(t, kernel.ENOTCONN, e, "getpeername")
		at, e := g.SocketAddr(fd, false)
		require.Equal(t, []any{kernel.Addr{}, kernel.OK}, []any{at, e})
		g.wait(fd, kernel.Readable) // does not wait
		st, e := g.Fstat(fd)
		require.Equal(t, []any{kernel.KindSocket, kernel.OK}, []any{st.Kind, e})
		expect(t, kernel.OK, g.Close(fd), "close")
		expect(t, kernel.EBADF, g.Bind(fd, kernel.Addr{}), "closed")
		g.Install(9, b.k.NewStdin())
		expect(t, kernel.ENOTSOCK, g.Connect(9, addr(2, 80)), "no socket")
	})
	b.run()
}

func TestBindAndListen(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.spawn("a", "a", func(g *guest) {
		fd := newSocket(t, g)
		expect(t, kernel.EADDRNOTAVAIL, g.Bind(fd, addr(2, 80)), "another host's address")
		expect(t, kernel.OK, g.Bind(fd, addr(1, 0)), "bind")
		at, e := g.SocketAddr(fd, false)
		expect(t, kernel.OK, e, "getsockname")
		require.GreaterOrEqual(t, at.Port, uint16(portMin), "bind has chosen the port")
		expect(t, kernel.EINVAL, g.Bind(fd, addr(1, 81)), "bound twice")
		expect(t, kernel.EOPNOTSUPP, g.Connect(fd, addr(2, 80)), "from a chosen address")

		twin := newSocket(t, g)
		expect(t, kernel.OK, g.Bind(twin, at), "nobody listens there yet")
		expect(t, kernel.OK, g.ListenOn(fd), "listen")
		expect(t, kernel.OK, g.ListenOn(fd), "again")
		expect(t, kernel.EADDRINUSE, g.ListenOn(twin), "the second to listen")
		again, _ := g.SocketAddr(fd, false)
		require.Equal(t, at, again)
		expect(t, kernel.EADDRINUSE, g.Bind(newSocket(t, g), at), "somebody listens there")
		expect(t, kernel.EINVAL, g.Bind(fd, at), "bind a listener")
		expect(t, kernel.EISCONN, g.Connect(fd, addr(2, 80)), "connect a listener")
		_, e = g.SocketAddr(fd, true)
		expect(t, kernel.ENOTCONN, e, "a listener has no peer")
		_, e = g.Write(fd, []byte("x"))
		expect(t, kernel.EPIPE, e, "write to a listener")
		expect(t, kernel.OK, g.Close(fd), "close")
		expect(t, kernel.OK, g.ListenOn(twin), "now it can")

		free := newSocket(t, g)
		expect(t, kernel.OK, g.ListenOn(free), "without an address")
		at, _ = g.SocketAddr(free, false)
		require.Equal(t, anyIP, at.IP)
		require.GreaterOrEqual(t, at.Port, uint16(portMin))
	})
	b.run()
}

func TestConnect(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.spawn("b", "server", func(g *guest) {
		l := newSocket(t, g)
		expect(t, kernel.OK, g.Bind(l, kernel.Addr{Port: 80}), "bind")
		expect(t, kernel.OK, g.ListenOn(l), "listen")
		fd := g.accept(l)
		got, e := g.recv(fd, all)
		require.Equal(t, []any{"hello", kernel.OK}, []any{string(got), e})
	})
	b.spawn("a", "client", func(g *guest) {
		g.sleep(1e6)
		fd := newSocket(t, g)
		expect(t, kernel.ENETUNREACH, g.Connect(fd, kernel.Addr{IP: [4]byte{1, 2, 3, 4}, Port: 5}), "no such network")
		expect(t, kernel.EINPROGRESS, g.Connect(fd, addr(2, 80)), "the socket is still good")
		expect(t, kernel.EALREADY, g.Connect(fd, addr(2, 80)), "under way")
		g.wait(fd, kernel.Writable)
		expect(t, kernel.OK, g.SocketError(fd), "connected")
		expect(t, kernel.EISCONN, g.Connect(fd, addr(2, 80)), "connected")
		expect(t, kernel.EINVAL, g.ListenOn(fd), "listen on a connection")
		expect(t, kernel.EINVAL, g.Bind(fd, addr(1, 9)), "bind a connection")
		peer, e := g.SocketAddr(fd, true)
		require.Equal(t, []any{addr(2, 80), kernel.OK}, []any{peer, e})
		expect(t, kernel.OK, g.send(fd, []byte("hello")), "send")
		expect(t, kernel.OK, g.Close(fd), "close")

		refused := newSocket(t, g)
		expect(t, kernel.EINPROGRESS, g.Connect(refused, addr(2, 81)), "nobody listens, which is not known yet")
		g.wait(refused, kernel.Writable)
		expect(t, kernel.ECONNREFUSED, g.SocketError(refused), "refused")
	})
	b.run()
}

// A process that can have no more descriptors leaves a connection where it is, for when it has closed one.
func TestAcceptWithoutAFreeDescriptor(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.spawn("a", "a", func(g *guest) {
		l := newSocket(t, g)
		expect(t, kernel.OK, g.Bind(l, addr(1, 80)), "bind")
		expect(t, kernel.OK, g.ListenOn(l), "listen")
		last := 0
		for {
			fd, e := g.Socket()
			if e == kernel.EMFILE {
				break
			}
			last = fd
		}
		require.Equal(t, kernel.FilesMax-1, last)
		g.wait(l, kernel.Readable)
		for range 3 {
			_, e := g.Accept(l)
			expect(t, kernel.EMFILE, e, "accept")
		}
		expect(t, kernel.OK, g.Close(last), "close")
		fd, e := g.Accept(l)
		require.Equal(t, []any{last, kernel.OK}, []any{fd, e})
		g.wait(fd, kernel.Readable)
		n, e := g.Read(fd, make([]byte, 10))
		require.Equal(t, []any{5, kernel.OK}, []any{n, e})
	})
	b.spawn("b", "b", func(g *guest) {
		fd, e := g.Dial(addr(1, 80))
		expect(t, kernel.EINPROGRESS, e, "dial")
		g.wait(fd, kernel.Writable)
		_, e = g.Write(fd, []byte("hello"))
		expect(t, kernel.OK, e, "write")
		g.wait(fd, kernel.Readable)
	})
	b.run()
}
