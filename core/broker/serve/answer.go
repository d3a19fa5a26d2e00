package serve

import (
	"sync"
	"time"

	"trialog/core/wire"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Answer is a response that is ready to leave. Exactly one of Send and Drop is
// called, once; either gives back what the answer holds.
type Answer interface {
	// Send writes the whole frame. An error ends the connection.
	Send(to *Sink) error
	// Drop gives the answer up: its connection is gone.
	Drop()
}

// Pending is an answer that waits for something: data, a flush, replicas. It is
// resolved, and then is a ready Answer.
//
// The connection calls, from one goroutine: Arm; if that is false, it waits for
// the waker, the deadline or the end, then Disarm, and again, until it calls
// Resolve.
type Pending interface {
	Answer
	// Arm asks for wake-ups and then reports whether the wait is over already. What
	// happens after it looked must reach the waker.
	Arm(w *Waker) bool
	// Disarm takes back what Arm asked for.
	Disarm()
	// Deadline is when the wait ends, on the monotonic clock in ns.
	Deadline() int64
	// Resolve builds the answer from what is there now.
	Resolve(why Reason)
	// Impatient reports that the answer should leave at once when the connection or
	// the broker ends, although what it waits for has not come.
	Impatient() bool
}

// Reason is why a wait ended.
type Reason uint8

// Reasons.
const (
	Ready   Reason = iota + 1 // Arm said so
	Expired                   // the deadline passed
	Ending                    // the connection or the broker ends
)

// Waker wakes the connection whose head answer armed it. It belongs to one
// connection and may be called from any goroutine; it never blocks.
type Waker struct{ c chan struct{} }

// NewWaker makes a waker.
func NewWaker() *Waker { return &Waker{c: make(chan struct{}, 1)} }

// Wake ends the wait. A wake-up that nobody waits for is harmless.
func (w *Waker) Wake() {
	select {
	case w.c <- struct{}{}:
	default:
	}
}

// C carries the wake-ups.
func (w *Waker) C() <-chan struct{} { return w.c }

// frameAnswer is a response that was encoded whole.
type frameAnswer struct {
	bytes []byte
	buf   *wire.Buffer // of bytes; nil when they outgrew it
	pool  *wire.Pool
	frame wire.Frame // of a large answer: what counts for its memory
}

var frameAnswers = sync.Pool{New: func() any { return new(frameAnswer) }}

// Reply encodes a response now; its version must be the request's (kmsg's
// ResponseKind sees to that), or 0 for the ApiVersions downgrade. A large one
// counts against the request memory until it has left; the error is Charge's.
func (rq *Request) Reply(resp kmsg.Response) (Answer, error) {
	rq.timing.API.Answer(resp)
	return rq.ReplyFrame(func(b []byte) []byte {
		return wire.AppendResponse(b, rq.Header.CorrelationID, resp)
	})
}

// ReplyFrame is Reply with the frame that appendFrame appends.
func (rq *Request) ReplyFrame(appendFrame func([]byte) []byte) (Answer, error) {
	a := frameAnswers.Get().(*frameAnswer)
	a.pool = rq.pool
	a.buf = rq.pool.Get(0)
	a.bytes = appendFrame(a.buf.B)
	if cap(a.bytes) != cap(a.buf.B) { // it outgrew the buffer
		rq.pool.Put(a.buf)
		a.buf = nil
	}
	if cap(a.bytes) < chargeStep || rq.frame == nil {
		return a, nil
	}
	a.frame = rq.TakeFrame()
	if !a.frame.Keep(int64(cap(a.bytes)), rq.gone) {
		a.Drop()
		return nil, rq.noMemory()
	}
	return a, nil
}

// Send gives a peer that does not read a large answer some time for each piece of
// it, and then gives it up: its memory is everybody's.
func (a *frameAnswer) Send(to *Sink) error {
	var patience time.Duration
	if isLarge(a) {
		patience = to.stallMax
	}
	err := to.writeAll(a.bytes, patience)
	a.Drop()
	return err
}

// isLarge reports an answer that holds request memory until it has left.
func isLarge(a Answer) bool {
	f, ok := a.(*frameAnswer)
	return ok && cap(f.bytes) >= chargeStep
}

func (a *frameAnswer) Drop() {
	a.pool.Put(a.buf)
	a.frame.Release()
	*a = frameAnswer{}
	frameAnswers.Put(a)
}
