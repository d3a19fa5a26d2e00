package tcp

import (
	"slices"

	"trialog/netsim/kernel"
)

// backlogRetryNs is when a SYN that found the backlog full comes again.
const backlogRetryNs = 1_000_000_000

// listener is a listening socket. It implements [kernel.Socket].
type listener struct {
	n    *Network
	host *host
	at   kernel.Addr

	half  []*socket // the handshake is not over
	queue []*socket // to be accepted
}

func (h *host) listenerAt(a kernel.Addr) *listener {
	for _, l := range h.listeners {
		if l.at.Port == a.Port && (l.at.IP == a.IP || l.at.IP == anyIP) {
			return l
		}
	}
	return nil
}

func (l *listener) full() bool { return len(l.half)+len(l.queue) >= l.n.opt.Backlog }

// ready moves a connection to those that can be accepted.
func (l *listener) ready(s *socket) {
	l.half = slices.DeleteFunc(l.half, func(have *socket) bool { return have == s })
	l.queue = append(l.queue, s)
}

// drop forgets a connection whose handshake failed. One that can be accepted stays: accept returns it, broken.
func (l *listener) drop(s *socket) {
	l.half = slices.DeleteFunc(l.half, func(have *socket) bool { return have == s })
}

func (l *listener) Kind() kernel.FileKind   { return kernel.KindSocket }
func (l *listener) LocalAddr() kernel.Addr  { return l.at }
func (l *listener) RemoteAddr() kernel.Addr { return kernel.Addr{} }
func (l *listener) Err() kernel.Errno       { return kernel.OK }
func (l *listener) Ready(m kernel.Mode) bool {
	return m&kernel.Readable != 0 && len(l.queue) > 0
}

func (l *listener) Read(*kernel.Proc, []byte) (int, kernel.Errno)  { return 0, kernel.ENOTCONN }
func (l *listener) Write(*kernel.Proc, []byte) (int, kernel.Errno) { return 0, kernel.EPIPE }

func (l *listener) Shutdown(*kernel.Proc, kernel.Mode) kernel.Errno { return kernel.ENOTCONN }

func (l *listener) Accept(*kernel.Proc) (kernel.Socket, kernel.Errno) {
	if len(l.queue) == 0 {
		return nil, kernel.EAGAIN
	}
	s := l.queue[0]
	l.queue = l.queue[1:]
	s.listener = nil
	return s, kernel.OK
}

// Close stops listening; connections that were not accepted are reset.
func (l *listener) Close(p *kernel.Proc) {
	l.host.listeners = slices.DeleteFunc(l.host.listeners, func(have *listener) bool { return have == l })
	waiting := append(append([]*socket(nil), l.half...), l.queue...)
	l.half, l.queue = nil, nil
	for _, s := range waiting {
		s.listener, s.closed = nil, true
		switch {
		case s.state == forgotten:
		case lostPower(p):
			s.forget()
		default:
			s.sendReset()
		}
		s.c.settle()
	}
	l.n.k.Kick()
}
