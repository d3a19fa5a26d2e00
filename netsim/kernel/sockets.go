package kernel

// unbound is a socket before listen(2) or connect(2), which put the network's socket in its place. It implements
// [Socket] and answers as Linux does.
type unbound struct {
	at    Addr
	bound bool
}

func (s *unbound) Kind() FileKind                   { return KindSocket }
func (s *unbound) Read(*Proc, []byte) (int, Errno)  { return 0, ENOTCONN }
func (s *unbound) Write(*Proc, []byte) (int, Errno) { return 0, EPIPE }
func (s *unbound) Ready(Mode) bool                  { return true }
func (s *unbound) Close(*Proc)                      {}
func (s *unbound) Accept(*Proc) (Socket, Errno)     { return nil, EINVAL }
func (s *unbound) Shutdown(*Proc, Mode) Errno       { return ENOTCONN }
func (s *unbound) LocalAddr() Addr                  { return s.at }
func (s *unbound) RemoteAddr() Addr                 { return Addr{} }
func (s *unbound) Err() Errno                       { return OK }

// Socket is socket(2), of a stream socket.
func (p *Proc) Socket() (int, Errno) {
	return p.newSocket("socket", func() (Socket, Errno) { return &unbound{}, OK })
}

// Bind is bind(2). A port of 0 becomes a free one. What another listener holds is EADDRINUSE here; two sockets may be
// bound to one address, and the second to listen is refused, as between sockets with SO_REUSEADDR.
func (p *Proc) Bind(fd int, at Addr) Errno {
	_, e := p.socket("bind", fd, func(s Socket) (int64, Errno) {
		u, ok := s.(*unbound)
		if !ok || u.bound {
			return 0, EINVAL
		}
		got, e := p.k.Net.Bind(p, at)
		if e == OK {
			u.at, u.bound = got, true
		}
		return int64(got.Port), e
	})
	return e
}

// ListenOn is listen(2). A socket that was not bound gets a free port; one that listens may be told so again.
func (p *Proc) ListenOn(fd int) Errno {
	_, e := p.socket("listen", fd, func(s Socket) (int64, Errno) {
		u, ok := s.(*unbound)
		if !ok {
			if s.RemoteAddr() == (Addr{}) {
				return int64(s.LocalAddr().Port), OK
			}
			return 0, EINVAL
		}
		l, e := p.k.Net.Listen(p, u.at)
		if e != OK {
			return 0, e
		}
		p.files[fd] = l
		return int64(l.LocalAddr().Port), OK
	})
	return e
}

// Connect is connect(2) of a socket that does not wait: EINPROGRESS means that it is under way, and EALREADY that it was
// before. The network chooses where a connection comes from, so a bound socket is refused with EOPNOTSUPP.
func (p *Proc) Connect(fd int, to Addr) Errno {
	_, e := p.socket("connect", fd, func(s Socket) (int64, Errno) {
		u, ok := s.(*unbound)
		switch {
		case !ok:
			return 0, connectAgain(s)
		case u.bound:
			return 0, EOPNOTSUPP
		}
		c, e := p.k.Net.Dial(p, to)
		if e == OK || e == EINPROGRESS {
			p.files[fd] = c
		}
		return int64(to.Port), e
	})
	return e
}

// connectAgain is what connect says about a socket that is connected, listens, or tried to connect.
func connectAgain(s Socket) Errno {
	switch e := s.Err(); e {
	case EINPROGRESS:
		return EALREADY
	case OK:
		return EISCONN
	default:
		return e
	}
}

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
		if p.free() < 0 {
			return -1, EMFILE
		}
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
		if !remote {
			a = s.LocalAddr()
		} else if a = s.RemoteAddr(); a == (Addr{}) {
			return 0, ENOTCONN
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
