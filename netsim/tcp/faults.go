package tcp

import (
	"slices"
	"time"
)

// Host names in this file must be known; an unknown one panics.

// HostDown makes a host silent, as a power cut does: its connections and listeners are gone, nobody is told. Call it
// before or after its processes are killed, in the same event.
func (n *Network) HostDown(name string) {
	h := n.host(name)
	n.note(name, "tcp: host down")
	h.down = true
	h.listeners = nil
	for _, c := range slices.Clone(n.conns) {
		for _, s := range c.ends {
			if s.host == h && s.state != forgotten {
				s.forget()
				c.settle()
			}
		}
	}
	n.k.Kick()
}

// HostUp undoes HostDown. What peers of lost connections send from now on is answered with a reset.
func (n *Network) HostUp(name string) {
	h := n.host(name)
	n.note(name, "tcp: host up")
	h.down = false
	for _, from := range n.hosts {
		n.resume(n.link(from, h))
		n.resume(n.link(h, from))
	}
}

// resume goes on with everything that the state of a link stopped, if that is good now.
func (n *Network) resume(l *link) {
	if l.blocked() {
		return
	}
	for _, c := range n.conns {
		for _, f := range c.flows {
			if f.link == l || f.back == l {
				f.healed(l)
			}
		}
	}
	n.k.Kick()
}

func (n *Network) note(who, what string) { n.k.Note(who, what, 0, 0, 0) }

// between finds the link a->b and notes what happens to it.
func (n *Network) between(a, b, what string, arg int64) *link {
	n.k.Note(a+"->"+b, "tcp: "+what, arg, 0, 0)
	return n.link(n.host(a), n.host(b))
}

// Cut drops everything from a to b. Nothing else is affected: b may still be heard by a.
func (n *Network) Cut(a, b string) { n.between(a, b, "cut", 0).cut = true }

// Heal undoes Cut; what was dropped is sent again after a seeded delay.
func (n *Network) Heal(a, b string) {
	l := n.between(a, b, "heal", 0)
	l.cut = false
	n.resume(l)
}

// Partition cuts both directions between hosts of different groups.
func (n *Network) Partition(groups ...[]string) { n.across(groups, n.Cut) }

// HealPartition heals both directions between hosts of different groups.
func (n *Network) HealPartition(groups ...[]string) { n.across(groups, n.Heal) }

func (n *Network) across(groups [][]string, do func(a, b string)) {
	for i, g := range groups {
		for _, other := range groups[i+1:] {
			for _, a := range g {
				for _, b := range other {
					do(a, b)
					do(b, a)
				}
			}
		}
	}
}

// HealAll undoes every Cut, Hold, Delay, Throttle and Lossy, connections included.
func (n *Network) HealAll() {
	n.note("network", "tcp: heal all")
	for _, c := range n.conns {
		c.held = false
	}
	for _, h := range n.hosts {
		for _, l := range h.out {
			if l != nil {
				n.restore(l)
			}
		}
	}
	n.releaseAll()
}

// HealLink is HealAll for the link from a to b; connections that are held by themselves stay so.
func (n *Network) HealLink(a, b string) {
	n.restore(n.between(a, b, "heal link", 0))
	n.releaseAll()
}

func (n *Network) restore(l *link) {
	changed := l.unusual()
	l.cut, l.held, l.delay, l.rate, l.loss = false, false, 0, 0, 0
	if changed {
		n.resume(l)
		n.reschedule(l)
	}
}

// Hold stops segments from a to b without losing them or letting anyone give up; Release lets them go on.
func (n *Network) Hold(a, b string) { n.between(a, b, "hold", 0).held = true }

// Release undoes Hold.
func (n *Network) Release(a, b string) {
	n.between(a, b, "release", 0).held = false
	n.releaseAll()
}

func (n *Network) releaseAll() {
	for _, c := range n.conns {
		for _, f := range c.flows {
			f.released()
		}
	}
	n.k.Kick()
}

// Delay adds to the latency from a to b; 0 ends it.
func (n *Network) Delay(a, b string, d time.Duration) {
	l := n.between(a, b, "delay", int64(d))
	l.delay = max(int64(d), 0)
	n.reschedule(l)
}

// Throttle limits the bandwidth from a to b; 0 restores the default.
func (n *Network) Throttle(a, b string, bytesPerSecond int64) {
	l := n.between(a, b, "throttle", bytesPerSecond)
	l.rate = max(bytesPerSecond, 0)
	n.reschedule(l)
}

// reschedule applies a link's new speed to what is under way.
func (n *Network) reschedule(l *link) {
	l.busy = n.k.Now()
	for _, c := range n.conns {
		for _, f := range c.flows {
			if f.link == l && !f.stopped && !f.parked {
				f.relaunch()
			}
		}
	}
}

// Lossy loses percent of the segments from a to b, which TCP turns into delay and, now and then, a reset; 0 ends it.
func (n *Network) Lossy(a, b string, percent int) {
	n.between(a, b, "loss", int64(percent)).loss = min(max(percent, 0), 100)
}

// ResetLink resets every connection between a and b, at both ends, at once.
func (n *Network) ResetLink(a, b string) {
	there := n.between(a, b, "reset", 0)
	for _, c := range slices.Clone(n.conns) {
		if f := c.flows[dialer]; f.link == there || f.back == there {
			c.reset()
		}
	}
	n.k.Kick()
}

// HoldConn, ReleaseConn and ResetConn act on the nth connection dialed from a to b since the start (from 1; 0 means
// all that are open), both directions. They answer how many open connections they found.
func (n *Network) HoldConn(a, b string, nth int) int {
	return n.eachConn(a, b, nth, "hold connection", func(c *conn) { c.held = true })
}

// ReleaseConn undoes HoldConn.
func (n *Network) ReleaseConn(a, b string, nth int) int {
	return n.eachConn(a, b, nth, "release connection", func(c *conn) {
		c.held = false
		for _, f := range c.flows {
			f.released()
		}
	})
}

// ResetConn resets the connections at both ends.
func (n *Network) ResetConn(a, b string, nth int) int {
	return n.eachConn(a, b, nth, "reset connection", (*conn).reset)
}

func (n *Network) eachConn(a, b string, nth int, what string, do func(*conn)) int {
	l, found := n.between(a, b, what, int64(nth)), 0
	for _, c := range slices.Clone(n.conns) {
		if c.flows[dialer].link == l && (nth == 0 || c.nth == nth) {
			found++
			do(c)
		}
	}
	n.k.Kick()
	return found
}
