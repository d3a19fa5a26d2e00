package kernel

// Listen is socket, bind and listen in one.
func (p *Proc) Listen(at Addr) (int, Errno) {
	return p.newSocket("listen", func() (Socket, Errno) { return p.k.Net.Listen(p, at) })
}

// Dial is socket and connect in one; EINPROGRESS comes with a valid descriptor.
func (p *Proc) Dial(to Addr) (int, Errno) {
	return p.newSocket("connect", func() (Socket, Errno) { return p.k.Net.Dial(p, to) })
}

func (p *Proc) newSocket(name string, do func() (Socket, Errno)) (int, Errno) {
	c := p.enter(name, nil, 0)
	s, e := do()
	fd := -1
	if e == OK || e == EINPROGRESS {
		var full Errno
		if fd, full = p.allocate(s); full != OK {
			e = full
		}
	}
	p.leave(c, int64(fd), 0, e)
	return fd, e
}

// socket runs a call that only a socket can serve.
func (p *Proc) socket(name string, fd int, do func(Socket) (int64, Errno)) (int64, Errno) {
	f := p.File(fd)
	c := p.enter(name, f, 0)
	v, e := int64(-1), EBADF
	if f != nil {
		e = ENOTSOCK
		if s, ok := f.(Socket); ok {
			v, e = do(s)
		}
	}
	p.leave(c, int64(fd), v, e)
	return v, e
}

// Accept is accept(2).
func (p *Proc) Accept(fd int) (int, Errno) {
	v, e := p.socket("accept", fd, func(s Socket) (int64, Errno) {
		conn, e := s.Accept(p)
		if e != OK {
			return -1, e
		}
		got, e := p.allocate(conn)
		return int64(got), e
	})
	return int(v), e
}

// Shutdown is shutdown(2).
func (p *Proc) Shutdown(fd int, how Mode) Errno {
	_, e := p.socket("shutdown", fd, func(s Socket) (int64, Errno) { return int64(how), s.Shutdown(p, how) })
	return e
}

// SocketError takes the pending error of a socket (SO_ERROR).
func (p *Proc) SocketError(fd int) Errno {
	_, e := p.socket("getsockopt", fd, func(s Socket) (int64, Errno) { return 0, s.Err() })
	return e
}

// SocketAddr is getsockname(2) or, with remote, getpeername(2).
func (p *Proc) SocketAddr(fd int, remote bool) (Addr, Errno) {
	var a Addr
	_, e := p.socket("getsockname", fd, func(s Socket) (int64, Errno) {
		a = s.LocalAddr()
		if remote {
			a = s.RemoteAddr()
		}
		return int64(a.Port), OK
	})
	return a, e
}

// Lookup resolves a host name.
func (p *Proc) Lookup(name string) ([4]byte, Errno) {
	c := p.enter("lookup", nil, len(name))
	ip, e := p.k.Net.Lookup(p, name)
	p.leave(c, int64(ip[2])<<8|int64(ip[3]), 0, e)
	return ip, e
}
