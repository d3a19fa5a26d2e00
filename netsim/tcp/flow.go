package tcp

import "trialog/netsim/kernel"

// kind of a segment.
type kind uint8

const (
	data kind = iota
	syn
	synAck
	established // the third segment of the handshake
	fin
	rst
)

// segment is what travels in one piece.
type segment struct {
	kind   kind
	b      []byte
	depart int64 // when its transmission begins
	arrive int64
	lost   bool // the link was cut when it was sent
}

// units is how much a segment adds to what must be acknowledged.
func (s *segment) units() int64 {
	switch s.kind {
	case data:
		return int64(len(s.b))
	case fin, synAck:
		return 1
	default:
		return 0
	}
}

// segmentMax bounds the bytes of one segment.
const segmentMax = 32 << 10

// flow is one direction of a connection: segments under way in FIFO order, and what arrived and was not read.
type flow struct {
	n          *Network
	c          *conn
	from, to   *socket
	link, back *link

	queue  []segment // not delivered; the first travels, or waits
	last   int64     // arrival of the newest
	pump   *kernel.Event
	unread [][]byte

	sent, delivered, acked      int64 // units: from the sender, at the receiver, known to the sender as such
	written, consumed, credited int64 // bytes: by the writer, by the reader, known to the writer as such

	stopped    bool  // the first segment was lost and must be sent again
	unanswered bool  // stopped although it arrived: the other end has forgotten the connection
	parked     bool  // the first segment has arrived at a held link
	stoppedAt  int64 // when stopped, or ackLost, became true
	retry      *kernel.Event
	giveUp     *kernel.Event

	ack                *kernel.Event
	ackLost, ackParked bool
}

// free is how many bytes the writer may add.
func (f *flow) free() int { return f.n.opt.Buffer - int(f.written-f.credited) }

// crowded tells whether the writer may soon lack room.
func (f *flow) crowded() bool { return f.written-f.credited > int64(f.n.opt.Buffer)/2 }

// write takes as many bytes as there is room for, in segments of seeded sizes.
func (f *flow) write(src []byte) int {
	src = src[:min(len(src), f.free())]
	for rest := src; len(rest) > 0; {
		size := min(len(rest), segmentMax)
		if size > 1 && f.link.sizes.Chance(1, 8) {
			size = 1 + f.link.sizes.Intn(size-1)
		}
		f.send(segment{kind: data, b: append([]byte(nil), rest[:size]...)})
		rest = rest[size:]
	}
	f.written += int64(len(src))
	return len(src)
}

// send puts a segment on its way.
func (f *flow) send(s segment) {
	f.sent += s.units()
	if !f.stopped {
		f.launch(&s)
	}
	f.queue = append(f.queue, s)
	if len(f.queue) == 1 {
		f.schedule()
	}
}

// launch computes when a segment sent now arrives; never before one sent earlier.
func (f *flow) launch(s *segment) {
	begin, end := f.n.transmit(f.link, len(s.b)+40)
	extra, broken := f.link.lose()
	if broken {
		f.n.k.After(extra, f.c.reset)
	}
	f.last = max(f.last, end+f.n.latencyNow(f.link)+extra)
	s.depart, s.arrive, s.lost = begin, f.last, f.link.blocked()
}

// relaunch sends everything that was not delivered again, from now on.
func (f *flow) relaunch() {
	f.last = f.n.k.Now()
	f.stopped, f.unanswered, f.parked = false, false, false
	for i := range f.queue {
		f.launch(&f.queue[i])
	}
	f.schedule()
}

// schedule makes the first segment arrive at its time.
func (f *flow) schedule() {
	cancel(&f.pump)
	if len(f.queue) > 0 && !f.stopped && !f.parked {
		f.pump = f.n.k.After(f.queue[0].arrive-f.n.k.Now(), f.arrive)
	}
}

func cancel(e **kernel.Event) {
	if *e != nil {
		(*e).Cancel()
		*e = nil
	}
}

// arrive is the moment the first segment reaches its host, or would.
func (f *flow) arrive() {
	f.pump = nil
	s := f.queue[0]
	switch {
	case f.link.held || f.c.held:
		f.parked = true
		return
	case s.lost || f.link.blocked():
		if s.kind == rst {
			f.queue = f.queue[1:] // nobody sends a reset again
			f.schedule()
			return
		}
		f.stop()
		return
	}
	f.n.k.Note(f.to.host.name, "tcp: arrive", f.c.id, int64(s.kind), int64(len(s.b)))
	taken := f.to.take(f, s)
	if !taken && f.from.state != forgotten {
		f.unanswered = true
		f.stop()
		return
	}
	f.queue = f.queue[1:]
	f.schedule()
	if units := s.units(); taken && units > 0 {
		f.delivered += units
		f.acknowledge(0)
	}
	f.c.settle()
}

// stop waits with the first segment until it can arrive: the sender sends it again.
func (f *flow) stop() {
	f.stopped = true
	f.stall()
	if !f.unanswered && !f.link.blocked() {
		f.retryIn(f.n.retryAfter(f.link, 0))
	}
}

// retryIn sends again what is stopped, after d.
func (f *flow) retryIn(d int64) {
	cancel(&f.retry)
	f.retry = f.n.k.After(d, func() {
		f.retry = nil
		if f.stopped && !f.link.blocked() {
			f.relaunch()
		}
	})
}

// stall starts the time after which the sender gives up, if it waits for an acknowledgement or for room.
func (f *flow) stall() {
	f.stoppedAt = f.n.k.Now()
	if f.giveUp == nil && (f.acked < f.sent || f.crowded()) {
		f.giveUp = f.n.k.After(int64(f.n.opt.GiveUp), func() {
			f.giveUp = nil
			f.from.fail(kernel.ETIMEDOUT)
		})
	}
}

// acknowledge tells the sender, one latency later, what has arrived and what was read.
func (f *flow) acknowledge(after int64) {
	if f.ack == nil && !f.ackLost && !f.ackParked {
		f.ack = f.n.k.After(after+f.n.latencyNow(f.back), f.acknowledged)
	}
}

func (f *flow) acknowledged() {
	f.ack = nil
	switch {
	case f.back.held || f.c.held:
		f.ackParked = true
		return
	case f.back.blocked():
		f.ackLost = true
		f.stall()
		return
	}
	f.acked, f.credited = f.delivered, f.consumed
	cancel(&f.giveUp)
	if f.stopped {
		f.stall()
	}
	f.c.settle()
}

// healed goes on with what was stopped by the state of link l, which is good now.
func (f *flow) healed(l *link) {
	now := f.n.k.Now()
	if f.stopped && (f.link == l || f.unanswered) {
		f.retryIn(f.n.retryAfter(l, now-f.stoppedAt))
	}
	if f.ackLost && f.back == l && !f.to.host.down {
		f.ackLost = false
		after := f.n.retryAfter(l, now-f.stoppedAt)
		if f.to.state != forgotten {
			f.acknowledge(after)
			return
		}
		f.n.k.After(after, func() { // what the sender repeats meets a host that knows nothing of it
			if !f.to.host.down {
				f.to.out().send(segment{kind: rst})
			}
		})
	}
}

// released goes on with what was parked, if neither link nor connection hold it any more.
func (f *flow) released() {
	if f.parked && !f.link.held && !f.c.held {
		f.relaunch()
	}
	if f.ackParked && !f.back.held && !f.c.held {
		f.ackParked = false
		f.acknowledge(0)
	}
}

// abandon forgets what has not left the sender. What is on the wire still arrives.
func (f *flow) abandon() {
	now := f.n.k.Now()
	keep := 0
	for keep < len(f.queue) && !f.stopped && f.queue[keep].depart <= now && !f.queue[keep].lost {
		keep++
	}
	f.queue = f.queue[:keep:keep]
	f.stopped, f.unanswered = false, false
	cancel(&f.retry)
	cancel(&f.giveUp)
	f.schedule()
}

// read moves arrived bytes to dst.
func (f *flow) read(dst []byte) int {
	done := 0
	for done < len(dst) && len(f.unread) > 0 {
		n := copy(dst[done:], f.unread[0])
		done += n
		if f.unread[0] = f.unread[0][n:]; len(f.unread[0]) == 0 {
			f.unread[0] = nil
			f.unread = f.unread[1:]
		}
	}
	f.consumed += int64(done)
	if f.crowded() {
		f.acknowledge(0)
	}
	return done
}
