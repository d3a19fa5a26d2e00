package tcp

import (
	"slices"

	"trialog/netsim/kernel"
)

// The two ends of a connection.
const (
	dialer   = 0
	acceptor = 1
)

// conn is a connection, from the SYN until both ends have forgotten it.
type conn struct {
	n     *Network
	id    int64
	nth   int  // of those dialed between the same hosts, from 1
	held  bool // both directions
	ends  [2]*socket
	flows [2]*flow // flows[i] carries what ends[i] says
}

// connect makes a connection and sends its SYN.
func (n *Network) connect(from, to *host, local, remote kernel.Addr) *conn {
	there, back := n.link(from, to), n.link(to, from)
	there.dialed++
	n.last++
	c := &conn{n: n, id: n.last, nth: there.dialed}
	c.ends[dialer] = &socket{n: n, c: c, side: dialer, host: from, local: local, remote: remote, state: dialing}
	c.ends[acceptor] = &socket{n: n, c: c, side: acceptor, host: to, local: remote, remote: local, state: forgotten}
	c.flows[dialer] = &flow{n: n, c: c, from: c.ends[dialer], to: c.ends[acceptor], link: there, back: back}
	c.flows[acceptor] = &flow{n: n, c: c, from: c.ends[acceptor], to: c.ends[dialer], link: back, back: there}
	n.conns = append(n.conns, c)
	s := c.ends[dialer]
	s.timeout = n.k.After(int64(n.opt.DialTimeout), func() { s.fail(kernel.ETIMEDOUT) })
	c.flows[dialer].send(segment{kind: syn})
	return c
}

// settle removes the connection once nothing more can come of it.
func (c *conn) settle() {
	for _, f := range c.flows {
		if f.from.state != forgotten && !(f.from.closed && f.acked == f.sent) {
			return
		}
	}
	if i, ok := slices.BinarySearchFunc(c.n.conns, c.id, func(c *conn, id int64) int { return int(c.id - id) }); ok {
		c.n.conns = slices.Delete(c.n.conns, i, i+1)
	}
}

// reset breaks the connection at both ends at once.
func (c *conn) reset() {
	for _, s := range c.ends {
		s.fail(kernel.ECONNRESET)
	}
}
