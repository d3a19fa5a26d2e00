//go:build linux && amd64

package native

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
)

const addrSize = 16 // struct sockaddr_in

// address reads a struct sockaddr_in from the buffer.
func (g *guest) address() (kernel.Addr, kernel.Errno) {
	b := g.buf[:g.In[0]]
	if len(b) < addrSize {
		return kernel.Addr{}, kernel.EINVAL
	}
	if le.Uint16(b) != unix.AF_INET {
		return kernel.Addr{}, eafnosup
	}
	return kernel.Addr{IP: [4]byte(b[4:8]), Port: binary.BigEndian.Uint16(b[2:])}, kernel.OK
}

func (g *guest) putAddress(a kernel.Addr) {
	b := g.buf[:addrSize]
	clear(b)
	le.PutUint16(b, unix.AF_INET)
	binary.BigEndian.PutUint16(b[2:], a.Port)
	copy(b[4:], a.IP[:])
	g.Out = addrSize
}

// socket makes stream sockets of IPv4; the simulated network has no others.
func socket(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	const kind = 0xf
	if a[0] != unix.AF_INET || a[1]&kind != unix.SOCK_STREAM {
		return 0, eafnosup
	}
	fd, e := g.p.Socket()
	if e == kernel.OK {
		g.opened(&g.Streams, fd, a[1])
	}
	return result(fd, e)
}

func bind(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	at, e := g.address()
	if e == kernel.OK {
		e = g.p.Bind(fdOf(a[0]), at)
	}
	return 0, e
}

func listen(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd := fdOf(a[0])
	e := g.p.ListenOn(fd)
	g.rewatch(fd)
	return 0, e
}

func connect(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd := fdOf(a[0])
	to, e := g.address()
	if e != kernel.OK {
		return 0, e
	}
	e = g.p.Connect(fd, to)
	g.rewatch(fd)
	if e == kernel.EINPROGRESS && in(&g.Blocking, fd) {
		g.p.PollWait(append(g.subs[:0], g.p.PollOn(int32(fd), kernel.Writable)), -1)
		e = g.p.SocketError(fd)
	}
	return 0, e
}

func accept(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd, e := g.p.Accept(fdOf(a[0]))
	if e != kernel.OK {
		return 0, e
	}
	flags := a[3]
	if g.Num == unix.SYS_ACCEPT {
		flags = 0
	}
	g.opened(&g.Streams, fd, flags)
	if s, ok := g.p.File(fd).(kernel.Socket); ok {
		g.putAddress(s.RemoteAddr())
	}
	return uint64(fd), kernel.OK
}

func shutdown(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	how := kernel.Readable | kernel.Writable
	switch a[1] {
	case unix.SHUT_RD:
		how = kernel.Readable
	case unix.SHUT_WR:
		how = kernel.Writable
	}
	return 0, g.p.Shutdown(fdOf(a[0]), how)
}

func getsockname(g *guest, a *[6]uint64) (uint64, kernel.Errno) { return g.sockAddr(a, false) }
func getpeername(g *guest, a *[6]uint64) (uint64, kernel.Errno) { return g.sockAddr(a, true) }

func (g *guest) sockAddr(a *[6]uint64, remote bool) (uint64, kernel.Errno) {
	at, e := g.p.SocketAddr(fdOf(a[0]), remote)
	if e == kernel.OK && remote && (at == kernel.Addr{}) {
		e = kernel.ENOTCONN
	}
	if e == kernel.OK {
		g.putAddress(at)
	}
	return 0, e
}

// setsockopt agrees to what no program can observe here. SO_LINGER can be observed, and is refused.
func setsockopt(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	s, ok := g.p.File(fdOf(a[0])).(kernel.Socket)
	switch {
	case g.p.File(fdOf(a[0])) == nil:
		return 0, kernel.EBADF
	case !ok || s == nil:
		return 0, kernel.ENOTSOCK
	case a[1] == unix.SOL_SOCKET && a[2] == unix.SO_LINGER:
		return 0, enoprotoopt
	}
	return 0, kernel.OK
}

func getsockopt(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if a[1] != unix.SOL_SOCKET || a[2] != unix.SO_ERROR && a[2] != unix.SO_TYPE {
		return 0, enoprotoopt
	}
	v := uint32(unix.SOCK_STREAM)
	if a[2] == unix.SO_ERROR {
		e := g.p.SocketError(fdOf(a[0]))
		if e == kernel.EBADF || e == kernel.ENOTSOCK {
			return 0, e
		}
		if v = uint32(e); e == kernel.EINPROGRESS { // Linux has no error to report yet
			v = 0
		}
	}
	le.PutUint32(g.buf, v)
	g.Out = 4
	return 0, kernel.OK
}

func pipe(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	r, w, e := g.p.Pipe()
	if e != kernel.OK {
		return 0, e
	}
	flags := a[1]
	if g.Num == unix.SYS_PIPE {
		flags = 0
	}
	g.opened(&g.Streams, r, flags)
	g.opened(&g.Streams, w, flags)
	le.PutUint32(g.buf, uint32(r))
	le.PutUint32(g.buf[4:], uint32(w))
	g.Out = 8
	return 0, kernel.OK
}
