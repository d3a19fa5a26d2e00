package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"trialog/core/broker/meter"
	"trialog/core/wire"
)

// pipelineMax bounds the requests of one connection that are handled but not
// answered. Kafka's clients keep 5 in flight; Kafka itself handles one at a time.
const pipelineMax = 32

// conn is one connection. Its reader goroutine runs serve; its writer goroutine,
// started by the first answer that has to wait, runs write.
type conn struct {
	server  *Server
	net     net.Conn
	session Session
	sink    *Sink
	frames  *wire.FrameReader

	queue       chan queued // answers that wait for their turn
	outstanding atomic.Int32
	large       atomic.Int32  // large answers that were queued and have not left
	hurry       chan struct{} // wakes the writer's wait when one was queued
	writer      bool          // the writer goroutine was started; the reader's own
	written     chan struct{} // closed when the writer ended
	waiting     atomic.Bool   // the writer waits for a Pending, not for the peer

	gone     chan struct{} // closed when the connection is of no more use
	goneOnce sync.Once
	ending   chan struct{} // closed when nothing more is read: impatient answers leave
	endOnce  sync.Once

	progress atomic.Int64 // frames read and pieces written, for the idle sweep
	swept    int64        // progress at the last sweep; the sweep's own
	quiet    int          // sweeps without progress; the sweep's own
}

// queued is an answer with the way of its request so far.
type queued struct {
	Answer
	timing meter.Timing
}

func newConn(s *Server, nc net.Conn, listener string) *conn {
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		host = nc.RemoteAddr().String()
	}
	c := &conn{
		server: s, net: nc,
		session: Session{Principal: "User:ANONYMOUS", Listener: listener, Host: host},
		queue:   make(chan queued, pipelineMax),
		hurry:   make(chan struct{}, 1),
		written: make(chan struct{}),
		gone:    make(chan struct{}),
		ending:  make(chan struct{}),
	}
	c.sink = NewSink(nc, &s.pool, &c.progress)
	if s.limits.CopyRegions {
		c.sink.direct = direct{}
	}
	c.frames = wire.NewFrameReader(nc, s.limits.FrameMax, &s.pool, s.budget, c.gone)
	c.frames.Patience = c.patience
	return c
}

// cut makes the connection useless at once: whoever reads, writes or waits on it
// comes back.
func (c *conn) cut() {
	c.goneOnce.Do(func() {
		close(c.gone)
		_ = c.net.Close()
	})
}

// end stops reading: what was asked is answered, then the connection closes.
func (c *conn) end() {
	c.endOnce.Do(func() {
		close(c.ending)
		_ = c.net.SetReadDeadline(time.Unix(1, 0))
	})
}

// patience bounds reads to a time from now; 0 lifts the bound. The bound that end
// set stays.
func (c *conn) patience(d time.Duration) {
	var deadline time.Time
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	_ = c.net.SetReadDeadline(deadline)
	if c.isEnding() {
		_ = c.net.SetReadDeadline(time.Unix(1, 0))
	}
}

func (c *conn) isEnding() bool {
	select {
	case <-c.ending:
		return true
	default:
		return false
	}
}

// serve reads and handles requests until the connection ends.
func (c *conn) serve() {
	err := c.read()
	if c.isEnding() || isProtocol(err) {
		c.end()
	} else {
		c.cut() // the peer is gone: nobody reads the answers
	}
	close(c.queue)
	if c.writer {
		<-c.written
	}
	c.cut()
	c.server.closed(c, err)
}

// protocolError is what a peer did wrong; it loses the connection, but what it
// asked before is answered.
type protocolError struct{ error }

func (e protocolError) Unwrap() error { return e.error }

func isProtocol(err error) bool {
	var p protocolError
	return errors.As(err, &p)
}

func (c *conn) read() error {
	rq := Request{Session: &c.session, Log: c.server.log, pool: &c.server.pool, gone: c.gone}
	var frame wire.Frame
	for !c.isEnding() {
		if err := c.frames.WaitFrame(); err != nil {
			return err
		}
		if err := c.frames.Next(&frame); err != nil {
			if errors.Is(err, wire.ErrMalformed) {
				err = protocolError{err}
			}
			return err
		}
		c.progress.Add(1)
		rq.frame, rq.due = &frame, 0
		answer, err := c.handle(&rq)
		if rq.frame != nil {
			frame.Release()
		} else { // the handler took it
			frame = wire.Frame{}
		}
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		if err := c.answer(answer, rq.timing); err != nil {
			return err
		}
	}
	return nil
}

// handle parses the header and calls the handler, bounded by
// queued.max.requests over all connections.
func (c *conn) handle(rq *Request) (Answer, error) {
	header, body, err := wire.ParseRequestHeader(rq.frame.Buf.B)
	if err != nil {
		return nil, protocolError{err}
	}
	if c.session.ClientID != string(header.ClientID) {
		c.session.ClientID = string(header.ClientID)
	}
	row := c.server.row(header.Key)
	rq.timing = meter.Timing{API: c.server.meter.API(header.Key)}
	rq.timing.Received = c.clock(&rq.timing)
	rq.timing.API.Request(header.Version)
	select {
	case c.server.slots <- struct{}{}:
	case <-c.gone:
		return nil, net.ErrClosed
	}
	defer func() { <-c.server.slots }()
	rq.Header, rq.Body, rq.Now = header, body, c.server.now()
	answer, err := row.Handle(rq)
	c.handled(&rq.timing, rq.Now.MonoNs, answer == nil)
	if err != nil {
		return nil, protocolError{err}
	}
	return answer, nil
}

// clock is the monotonic clock for times that are measured; 0 when nobody measures.
func (c *conn) clock(t *meter.Timing) int64 {
	if t.API == nil {
		return 0
	}
	return c.server.now().MonoNs
}

// handled notes that a handler which began at a time has returned; without an answer that is the end of the request.
func (c *conn) handled(t *meter.Timing, began int64, last bool) {
	if t.API == nil {
		return
	}
	t.Handled = c.clock(t)
	t.API.Queue.Observe(began - t.Received)
	t.API.Local.Observe(t.Handled - began)
	if last {
		t.Sent(t.Handled, t.Handled, t.Handled)
	}
}

// answer sends an answer, or queues it behind those that wait.
func (c *conn) answer(a Answer, timing meter.Timing) error {
	_, waits := a.(Pending)
	if !waits && c.outstanding.Load() == 0 {
		err := a.Send(c.sink)
		timing.Sent(timing.Handled, timing.Handled, c.clock(&timing))
		return err
	}
	if !c.writer {
		c.writer = true
		go c.write()
	}
	c.outstanding.Add(1)
	if isLarge(a) {
		c.large.Add(1)
		select {
		case c.hurry <- struct{}{}:
		default: // a wake-up that nobody took yet will do
		}
	}
	select {
	case c.queue <- queued{a, timing}:
		return nil
	case <-c.gone:
		a.Drop()
		return net.ErrClosed
	}
}

// write sends queued answers in order.
func (c *conn) write() {
	defer close(c.written)
	waker := NewWaker()
	for a := range c.queue {
		turn := c.clock(&a.timing)
		if p, ok := a.Answer.(Pending); ok && !c.await(p, a.timing.API, waker) {
			a.Drop()
			continue
		}
		ready := c.clock(&a.timing)
		if isLarge(a.Answer) {
			c.large.Add(-1)
		}
		select {
		case <-c.gone:
			a.Drop()
			continue
		default:
		}
		if err := a.Send(c.sink); err != nil {
			c.cut()
			continue
		}
		c.outstanding.Add(-1)
		a.timing.Sent(turn, ready, c.clock(&a.timing))
	}
}

// await waits until p can be answered and resolves it; false when the connection
// is gone. Who is impatient does not let large answers wait behind it: they hold
// memory, and the peer may be long gone.
func (c *conn) await(p Pending, api *meter.API, waker *Waker) bool {
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	if api != nil {
		api.Delayed.Add(1)
		defer api.Delayed.Add(-1)
	}
	ending, hurry := c.ending, c.hurry
	if !p.Impatient() {
		ending, hurry = nil, nil
	}
	for {
		if p.Arm(waker) {
			p.Disarm()
			p.Resolve(Ready)
			return true
		}
		if hurry != nil && c.large.Load() > 0 {
			p.Disarm()
			p.Resolve(Ending)
			return true
		}
		timer := time.NewTimer(time.Duration(p.Deadline() - c.server.now().MonoNs))
		why := Ready
		select {
		case <-waker.C():
		case <-hurry:
		case <-timer.C:
			why = Expired
		case <-ending:
			why = Ending
		case <-c.gone:
			timer.Stop()
			p.Disarm()
			return false
		}
		timer.Stop()
		p.Disarm()
		if why != Ready {
			p.Resolve(why)
			return true
		}
	}
}

// sweep notes whether anything moved since the last sweep, and cuts the
// connection after quietMax sweeps without. A connection whose answer waits for
// data is not idle (KAFKA-12427).
func (c *conn) sweep(quietMax int) {
	if now := c.progress.Load(); now != c.swept || c.waiting.Load() {
		c.swept, c.quiet = now, 0
		return
	}
	if c.quiet++; c.quiet >= quietMax {
		c.cut()
	}
}

// isQuiet reports ends of a connection that are nobody's fault.
func isQuiet(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded)
}
