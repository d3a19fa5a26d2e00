package tcp

import (
	"fmt"
	"time"

	"trialog/netsim/kernel"
)

// link is one direction between two hosts.
type link struct {
	from, to *host
	dialed   int   // connections dialed along it so far
	busy     int64 // until when it transmits what was given to it

	cut, held bool
	delay     int64 // ns added to the latency
	rate      int64 // bytes/s; 0 is the default
	loss      int   // percent

	latency, losses, retries, sizes *kernel.Rand
}

// Loopback latency, and what TCP does about a lost segment: it waits, twice as long each time.
const (
	loopbackNsMin   = 5_000
	loopbackNsMax   = 30_000
	retransmitNsMin = 200_000_000
	lossesMax       = 5  // of one segment in a row
	lossesPerReset  = 20 // one lost segment in so many breaks the connection
)

func (n *Network) link(from, to *host) *link {
	for len(from.out) <= to.index {
		from.out = append(from.out, nil)
	}
	l := from.out[to.index]
	if l == nil {
		name := from.name + "->" + to.name
		l = &link{
			from: from, to: to,
			latency: n.k.Stream(name, "latency"),
			losses:  n.k.Stream(name, "loss"),
			retries: n.k.Stream(name, "retransmission"),
			sizes:   n.k.Stream(name, "segment sizes"),
		}
		from.out[to.index] = l
	}
	return l
}

// blocked tells whether segments that arrive now are lost.
func (l *link) blocked() bool { return l.cut || l.to.down }

// latencyNow draws the one-way latency of a segment.
func (n *Network) latencyNow(l *link) int64 {
	if l.from == l.to {
		return l.latency.Between(loopbackNsMin, loopbackNsMax) + l.delay
	}
	return l.latency.Between(int64(n.opt.LatencyMin), int64(n.opt.LatencyMax)) + l.delay
}

// transmit takes the link for size bytes and returns when that begins and ends.
func (n *Network) transmit(l *link, size int) (begin, end int64) {
	now := n.k.Now()
	rate := l.rate
	if rate == 0 {
		if l.from == l.to {
			return now, now
		}
		rate = n.opt.BytesPerSecond
	}
	begin = max(now, l.busy)
	l.busy = begin + int64(float64(size)*1e9/float64(rate))
	return begin, l.busy
}

// lose draws how long retransmissions delay a segment, and whether they fail.
func (l *link) lose() (extra int64, broken bool) {
	wait := int64(retransmitNsMin)
	for range lossesMax {
		if l.loss == 0 || !l.losses.Chance(l.loss, 100) {
			break
		}
		extra += wait
		wait *= 2
		broken = broken || l.losses.Chance(1, lossesPerReset)
	}
	return extra, broken
}

// retryAfter draws when what was lost for a time is sent again once it can arrive: TCP doubles its waits, so up to as
// long as it was blocked.
func (n *Network) retryAfter(l *link, blockedFor int64) int64 {
	longest := min(max(blockedFor, retransmitNsMin), int64(n.opt.RetransmitMax))
	return l.retries.Between(1_000_000, longest)
}

// String names the link and what is unusual about it.
func (l *link) String() string {
	s := l.from.name + "->" + l.to.name
	if l.cut {
		s += " cut"
	}
	if l.held {
		s += " held"
	}
	if l.delay > 0 {
		s += fmt.Sprintf(" delay %v", time.Duration(l.delay))
	}
	if l.rate > 0 {
		s += fmt.Sprintf(" throttle %d", l.rate)
	}
	if l.loss > 0 {
		s += fmt.Sprintf(" loss %d", l.loss)
	}
	return s
}

func (l *link) unusual() bool { return l.cut || l.held || l.delay > 0 || l.rate > 0 || l.loss > 0 }
