package tcp

import "trialog/netsim/kernel"

type state uint8

const (
	dialing   state = iota
	half            // of a listener, before the handshake is over
	open            // until both sides are done
	forgotten       // the host knows nothing of it (any more)
)

// socket is one end of a connection. It implements [kernel.Socket].
type socket struct {
	n             *Network
	c             *conn
	side          int
	host          *host
	local, remote kernel.Addr

	state    state
	listener *listener     // while not accepted
	timeout  *kernel.Event // of a dial
	pending  kernel.Errno  // SO_ERROR

	eof         bool // the peer's FIN has arrived
	readClosed  bool
	writeClosed bool // our FIN is sent
	closed      bool // by its process
}

func (s *socket) out() *flow { return s.c.flows[s.side] }
func (s *socket) in() *flow  { return s.c.flows[1-s.side] }

func (s *socket) Kind() kernel.FileKind   { return kernel.KindSocket }
func (s *socket) LocalAddr() kernel.Addr  { return s.local }
func (s *socket) RemoteAddr() kernel.Addr { return s.remote }

func (s *socket) Accept(*kernel.Proc) (kernel.Socket, kernel.Errno) { return nil, kernel.EINVAL }

func (s *socket) Err() kernel.Errno {
	if s.state == dialing {
		return kernel.EINPROGRESS
	}
	e := s.pending
	s.pending = kernel.OK
	return e
}

// PutBack undoes that a call took the pending error. A writer's EPIPE needs no memory: the next one gets it too.
func (s *socket) PutBack(e kernel.Errno) {
	if e != kernel.EPIPE && s.pending == kernel.OK {
		s.pending = e
	}
}

func (s *socket) Read(_ *kernel.Proc, dst []byte) (int, kernel.Errno) {
	switch {
	case s.state == dialing:
		return 0, kernel.EAGAIN
	case len(dst) == 0:
		return 0, kernel.OK
	case len(s.in().unread) > 0:
		return s.in().read(dst), kernel.OK
	case s.eof: // as in Linux, also when a reset came behind the FIN: that is for writers
		return 0, kernel.OK
	case s.pending != kernel.OK:
		return 0, s.Err()
	case s.readClosed || s.state == forgotten:
		return 0, kernel.OK
	}
	return 0, kernel.EAGAIN
}

func (s *socket) Write(_ *kernel.Proc, src []byte) (int, kernel.Errno) {
	switch {
	case s.state == dialing:
		return 0, kernel.EAGAIN
	case s.pending != kernel.OK:
		return 0, s.Err()
	case s.writeClosed || s.state == forgotten:
		return 0, kernel.EPIPE
	case len(src) == 0:
		return 0, kernel.OK
	case s.out().free() <= 0:
		return 0, kernel.EAGAIN
	}
	return s.out().write(src), kernel.OK
}

// Peek copies what a Read would give, without taking it. more tells that there is something behind it: further bytes,
// an end or an error.
func (s *socket) Peek(dst []byte) (n int, more bool) {
	if s.state == dialing {
		return 0, false
	}
	for _, b := range s.in().unread {
		k := copy(dst[n:], b)
		if n += k; k < len(b) {
			return n, true
		}
	}
	return n, s.eof || s.readClosed || s.state == forgotten || s.pending != kernel.OK
}

// Room is how many bytes a Write takes now; 0 where it would fail or wait. It falls by writes only, until the
// connection fails.
func (s *socket) Room() int {
	if s.state != open || s.pending != kernel.OK || s.writeClosed {
		return 0
	}
	return max(0, s.out().free())
}

// Ready for writing needs a quarter of the buffer, so that writers do not dribble.
func (s *socket) Ready(m kernel.Mode) bool {
	switch {
	case s.state == dialing:
		return false
	case s.pending != kernel.OK || s.state == forgotten:
		return true
	}
	if m&kernel.Readable != 0 && (s.eof || s.readClosed || len(s.in().unread) > 0) {
		return true
	}
	return m&kernel.Writable != 0 && (s.writeClosed || s.out().free() >= max(1, s.n.opt.Buffer/4))
}

func (s *socket) Shutdown(_ *kernel.Proc, how kernel.Mode) kernel.Errno {
	if s.state != open {
		return kernel.ENOTCONN
	}
	if how&kernel.Readable != 0 {
		s.readClosed = true
	}
	if how&kernel.Writable != 0 {
		s.finish()
	}
	s.n.k.Kick()
	return kernel.OK
}

// finish sends the FIN, once.
func (s *socket) finish() {
	if !s.writeClosed {
		s.writeClosed = true
		s.out().send(segment{kind: fin})
	}
}

// Close lets go of the socket. Bytes already written still go out, unless bytes are left unread: then Linux resets.
// A power cut says nothing.
func (s *socket) Close(p *kernel.Proc) {
	defer s.n.k.Kick()
	s.closed = true
	switch {
	case s.state == forgotten:
	case lostPower(p):
		s.forget()
	case s.state == dialing:
		s.forget()
	case len(s.in().unread) > 0:
		s.sendReset()
	default:
		s.finish()
	}
	s.c.settle()
}

func lostPower(p *kernel.Proc) bool {
	x := p.Exited()
	return x != nil && x.Reason == kernel.ReasonPowerCut
}

// forget ends this end without a word to the other.
func (s *socket) forget() {
	s.state = forgotten
	cancel(&s.timeout)
	s.out().abandon()
	if s.listener != nil {
		s.listener.drop(s)
	}
}

// fail ends this end with an error for its process.
func (s *socket) fail(e kernel.Errno) {
	if s.state == forgotten {
		return
	}
	s.n.k.Note(s.host.name, "tcp: failed", s.c.id, int64(s.side), int64(e))
	s.forget()
	s.pending = e
	s.c.settle()
}

// sendReset ends this end and tells the other, which may not hear it.
func (s *socket) sendReset() {
	s.forget()
	s.out().send(segment{kind: rst})
}

// take is what an end does with a segment that arrived. It answers false if the end is forgotten: a reset goes back,
// and the segment counts as not delivered until that arrives.
func (s *socket) take(f *flow, g segment) bool {
	switch {
	case g.kind == rst:
		s.hearReset()
		return true
	case g.kind == syn:
		return s.hear()
	case s.state == forgotten:
		s.out().send(segment{kind: rst})
		return false
	}
	switch g.kind {
	case synAck:
		s.state = open
		cancel(&s.timeout)
		s.out().send(segment{kind: established})
	case established:
		s.state = open
		s.listener.ready(s)
	case fin:
		s.eof = true
	case data:
		if s.closed {
			s.sendReset() // nobody will ever read it
			return false
		}
		f.unread = append(f.unread, g.b)
	}
	return true
}

// hear answers a SYN.
func (s *socket) hear() bool {
	l := s.host.listenerAt(s.local)
	switch {
	case l == nil:
		s.out().send(segment{kind: rst})
		return false
	case l.full():
		s.in().retryIn(backlogRetryNs)
		return false
	}
	s.state, s.listener = half, l
	l.half = append(l.half, s)
	s.out().send(segment{kind: synAck})
	return true
}

func (s *socket) hearReset() {
	switch {
	case s.state == dialing:
		s.fail(kernel.ECONNREFUSED)
	case s.eof:
		s.fail(kernel.EPIPE)
	default:
		s.fail(kernel.ECONNRESET)
	}
}
