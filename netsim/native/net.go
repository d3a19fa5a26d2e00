//go:build linux && amd64

package native

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/native/calls"
	"trialog/netsim/native/page"
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
		g.opened(&g.Streams, fd, unix.O_RDWR|page.SimSocket, a[1])
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
	at := fdOf(a[0])
	fd, e := g.p.Accept(at)
	if e != kernel.OK {
		return 0, e
	}
	if !g.p.File(at).Ready(kernel.Readable) {
		g.dry(at)
	}
	flags := a[3]
	if g.Num == unix.SYS_ACCEPT {
		flags = 0
	}
	g.opened(&g.Streams, fd, unix.O_RDWR|page.SimSocket, flags)
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
	case unix.SHUT_RDWR:
	default:
		return 0, kernel.EINVAL
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

// onSocket is EBADF or ENOTSOCK for what is no socket.
func (g *guest) onSocket(fd int) kernel.Errno {
	f := g.p.File(fd)
	if f == nil {
		return kernel.EBADF
	}
	if _, ok := f.(kernel.Socket); !ok {
		return kernel.ENOTSOCK
	}
	return kernel.OK
}

// setsockopt agrees to what no program can observe here. SO_LINGER can be observed, and is refused.
func setsockopt(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	e := g.onSocket(fdOf(a[0]))
	if e == kernel.OK && a[1] == unix.SOL_SOCKET && a[2] == unix.SO_LINGER {
		e = enoprotoopt
	}
	return 0, e
}

func getsockopt(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd, v := fdOf(a[0]), uint32(0)
	if e := g.onSocket(fd); e != kernel.OK {
		return 0, e
	}
	if a[1] != unix.SOL_SOCKET {
		return 0, enoprotoopt
	}
	switch a[2] {
	case unix.SO_ERROR:
		if e := g.p.SocketError(fd); e != kernel.EINPROGRESS { // for which Linux has no error to report yet
			v = uint32(e)
		}
	case unix.SO_TYPE:
		v = unix.SOCK_STREAM
	case unix.SO_DOMAIN:
		v = unix.AF_INET
	case unix.SO_PROTOCOL:
		v = unix.IPPROTO_TCP
	default:
		return 0, enoprotoopt
	}
	le.PutUint32(g.buf, v)
	g.Out = 4
	return 0, kernel.OK
}

// recv and send are read and write with flags. One that is not known could mean that bytes stay where they are.
func recv(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if e := g.transfer(a); e != kernel.OK {
		return 0, e
	}
	return read(g, a)
}

func send(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if e := g.transfer(a); e != kernel.OK {
		return 0, e
	}
	return write(g, a)
}

func (g *guest) transfer(a *[6]uint64) kernel.Errno {
	e := g.onSocket(fdOf(a[0]))
	if e == kernel.OK && a[3]&^(unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) != 0 {
		g.sayOnce(g.Num, "%s with flags %#x is not served: EOPNOTSUPP", calls.Name(g.Num), a[3])
		e = eopnotsupp
	}
	return e
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
	g.opened(&g.Streams, r, unix.O_RDONLY, flags)
	g.opened(&g.Streams, w, unix.O_WRONLY, flags)
	le.PutUint32(g.buf, uint32(r))
	le.PutUint32(g.buf[4:], uint32(w))
	g.Out = 8
	return 0, kernel.OK
}
