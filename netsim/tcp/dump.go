package tcp

import (
	"fmt"
	"strings"
)

// String lists hosts, links in an unusual state, and connections, in the order in which they were made.
func (n *Network) String() string {
	var b strings.Builder
	for _, h := range n.hosts {
		fmt.Fprintf(&b, "host %s %s", h.name, ipText(h.ip))
		if h.down {
			b.WriteString(" down")
		}
		for _, l := range h.listeners {
			fmt.Fprintf(&b, ", listens on %s:%d with %d waiting", ipText(l.at.IP), l.at.Port, len(l.half)+len(l.queue))
		}
		b.WriteByte('\n')
	}
	for _, h := range n.hosts {
		for _, l := range h.out {
			if l != nil && l.unusual() {
				fmt.Fprintf(&b, "link %v\n", l)
			}
		}
	}
	for _, c := range n.conns {
		fmt.Fprintf(&b, "conn %v\n", c)
	}
	return b.String()
}

func ipText(ip [4]byte) string { return fmt.Sprintf("%d.%d.%d.%d", ip[0], ip[1], ip[2], ip[3]) }

// String names the connection and shows both directions.
func (c *conn) String() string {
	d, a := c.ends[dialer], c.ends[acceptor]
	s := fmt.Sprintf("%s->%s#%d %d->%d", d.host.name, a.host.name, c.nth, d.local.Port, a.local.Port)
	if c.held {
		s += " held"
	}
	return fmt.Sprintf("%s | %v %v | %v %v", s, d, c.flows[dialer], a, c.flows[acceptor])
}

// String tells the state of an end.
func (s *socket) String() string {
	switch {
	case s.state == forgotten:
		return "gone"
	case s.state == dialing:
		return "dialing"
	case s.state == half:
		return "half open"
	case s.closed:
		return "closed"
	case s.eof && s.writeClosed:
		return "finished"
	case s.eof:
		return "peer finished"
	case s.writeClosed:
		return "write closed"
	}
	return "open"
}

// String tells how many bytes were written, how many of those have not arrived, and how many wait for the reader.
func (f *flow) String() string {
	waiting, unread := 0, 0
	for _, s := range f.queue {
		waiting += len(s.b)
	}
	for _, b := range f.unread {
		unread += len(b)
	}
	s := fmt.Sprintf("wrote %d, %d under way, %d unread", f.written, waiting, unread)
	switch {
	case f.unanswered:
		s += ", unanswered"
	case f.stopped:
		s += ", stopped"
	case f.parked:
		s += ", parked"
	}
	return s
}
