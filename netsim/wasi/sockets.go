package wasi

import "trialog/netsim/kernel"

func address(ip, port uint64) kernel.Addr {
	a := kernel.Addr{Port: uint16(port)}
	le.PutUint32(a.IP[:], uint32(ip))
	return a
}

// newSocket stores the descriptor that a call made, which may come with EINPROGRESS.
func newSocket(m memory, ptr uint64, fd int, e kernel.Errno) uint64 {
	if fd >= 0 {
		m.put32(ptr, uint32(fd))
	}
	return errno(e)
}

// sockListen is netsim.listen(ip, port, *fd): socket, bind and listen.
func sockListen(g *guest, m memory, a []uint64) uint64 {
	fd, e := g.p.Listen(address(a[0], a[1]))
	return newSocket(m, a[2], fd, e)
}

// sockDial is netsim.dial(ip, port, *fd): socket and a connect that does not wait.
func sockDial(g *guest, m memory, a []uint64) uint64 {
	fd, e := g.p.Dial(address(a[0], a[1]))
	return newSocket(m, a[2], fd, e)
}

func sockAccept(g *guest, m memory, a []uint64) uint64 {
	fd, e := g.p.Accept(int(int32(a[0])))
	return newSocket(m, a[2], fd, e)
}

// Directions of sock_shutdown.
const shutRead, shutWrite = 1, 2

func sockShutdown(g *guest, _ memory, a []uint64) uint64 {
	var how kernel.Mode
	if a[1]&shutRead != 0 {
		how |= kernel.Readable
	}
	if a[1]&shutWrite != 0 {
		how |= kernel.Writable
	}
	return errno(g.p.Shutdown(int(int32(a[0])), how))
}

// sockError is netsim.sock_error(fd): takes SO_ERROR.
func sockError(g *guest, _ memory, a []uint64) uint64 {
	return errno(g.p.SocketError(int(int32(a[0]))))
}

// sockAddr is netsim.sock_addr(fd, remote, *[6]byte): four bytes of address, two of port.
func sockAddr(g *guest, m memory, a []uint64) uint64 {
	addr, e := g.p.SocketAddr(int(int32(a[0])), a[1] != 0)
	if e == kernel.OK {
		b := m.bytes(a[2], 6)
		copy(b, addr.IP[:])
		le.PutUint16(b[4:], addr.Port)
	}
	return errno(e)
}

// lookup is netsim.lookup(name, len, *[4]byte).
func lookup(g *guest, m memory, a []uint64) uint64 {
	ip, e := g.p.Lookup(m.text(a[0], a[1]))
	if e == kernel.OK {
		copy(m.bytes(a[2], 4), ip[:])
	}
	return errno(e)
}

// hostname is netsim.hostname(buf, len): the length of the host's name, cut off where buf ends.
func hostname(g *guest, m memory, a []uint64) uint64 {
	return uint64(copy(m.bytes(a[0], a[1]), g.p.Host.Name))
}

// deferred is netsim.deferred(): the token of the last call if the disk answers it later, else 0.
func deferred(g *guest, _ memory, _ []uint64) uint64 { return uint64(uint32(g.p.Deferred())) }

// resume is netsim.resume(token): the next call is that one again.
func resume(g *guest, _ memory, a []uint64) uint64 {
	g.p.ResumeWith(int32(a[0]))
	return 0
}
