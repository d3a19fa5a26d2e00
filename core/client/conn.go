package client

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/kafka"
)

const (
	// connInFlightMax bounds the requests on one connection that wait for their responses; another caller waits for
	// a place as long as its own timeout.
	connInFlightMax = 64
	// responseBytesMax bounds a response frame: the largest fetch this client asks for, and room for its frame.
	responseBytesMax = 64 << 20
	// readBufferBytes lets one read call bring a whole small response.
	readBufferBytes = 16 << 10
)

var (
	errTimedOut = errors.New("no response in time")
	errClosed   = errors.New("client closed")

	errUnmentioned = errors.New("the answer does not mention it")
)

// transportError is a request that got no response. sent says whether a byte of it may have left.
type transportError struct {
	sent bool
	name string
	code kafka.ErrorCode // UNSUPPORTED_VERSION when the two sides share no version; else NONE
	err  error
}

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// in makes it the end of an operation with one attempt.
func (e *transportError) in(op, target string) *Error {
	if e.sent {
		return lost(op, target, e.name, e.err)
	}
	failed := unsent(op, target, e.name, e.err)
	failed.Code = e.code
	return failed
}

// call is one request under way. It ends once: with its response, or when the connection breaks, which its own timer
// does after its timeout.
type call struct {
	req   kmsg.Request
	corr  int32
	end   func(kmsg.Response, *transportError) // must not block
	timer *time.Timer
}

// conn is one connection to one broker. Requests are written in the order of start, responses come in that order.
// It breaks as a whole: on a timeout, on any I/O error, on a response that it cannot match or decode.
type conn struct {
	addr        string
	nc          net.Conn
	formatter   *kmsg.RequestFormatter
	dialTimeout time.Duration
	versions    brokerVersions // set by negotiate, before others use the connection
	slots       chan struct{}  // one token for each request in flight
	down        chan struct{}  // closed when it breaks

	writing sync.Mutex // held from the number of a request to its last byte, so that the two orders agree
	corr    int32
	buf     []byte

	mu      sync.Mutex
	flight  []*call         // oldest first
	failure *transportError // why it broke; nil while it works
}

// dial connects and negotiates versions within timeout each. A refused or timed-out dial is a transportError that was
// not sent; so is a failed negotiation, since no request of the caller has left.
func dial(addr, clientID string, timeout time.Duration) (*conn, *transportError) {
	nc, err := (&net.Dialer{Timeout: timeout}).Dial("tcp", addr)
	if err != nil {
		return nil, &transportError{name: NameDialFailed, err: err}
	}
	c := &conn{
		addr: addr, nc: nc, dialTimeout: timeout,
		formatter: kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)),
		slots:     make(chan struct{}, connInFlightMax),
		down:      make(chan struct{}),
	}
	go c.readResponses()
	if err := c.negotiate(); err != nil {
		c.fail(NameConnectionLost, err)
		return nil, &transportError{name: NameNotSent, err: fmt.Errorf("%s: %w", addr, err)}
	}
	return c, nil
}

// broken reports that no request can be sent any more.
func (c *conn) broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure != nil
}

// start writes req, whose version is set, and returns without waiting for the response: end is called with it, from
// another goroutine or before start returns. After an error end is not called. When the timeout passes the connection
// breaks, since a late response to an abandoned request must not be taken for another's.
func (c *conn) start(req kmsg.Request, timeout time.Duration, end func(kmsg.Response, *transportError)) *transportError {
	if err := c.takeSlot(timeout); err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.corr++
	c.buf = c.formatter.AppendRequest(c.buf[:0], req, c.corr)
	if err := c.enqueue(&call{req: req, corr: c.corr, end: end}, timeout); err != nil {
		return err
	}
	c.write()
	return nil
}

// write sends the buffer. A write that blocks ends when a timer breaks the connection.
func (c *conn) write() {
	if _, err := c.nc.Write(c.buf); err != nil {
		c.fail(NameConnectionLost, fmt.Errorf("%s: write: %w", c.addr, err))
	}
}

// send writes a request that the broker does not answer: a produce with acks=0.
func (c *conn) send(req kmsg.Request, timeout time.Duration) *transportError {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.stopped(); err != nil {
		return err
	}
	c.corr++
	c.buf = c.formatter.AppendRequest(c.buf[:0], req, c.corr)
	timer := time.AfterFunc(timeout, func() { c.failLate(req) })
	c.write()
	timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

func (c *conn) takeSlot(timeout time.Duration) *transportError {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-c.down:
		return c.stopped()
	case <-timer.C:
		return &transportError{name: NameNotSent, err: fmt.Errorf("%s: %d requests wait for responses", c.addr, connInFlightMax)}
	}
}

// enqueue makes cl the youngest request in flight, unless the connection is broken.
func (c *conn) enqueue(cl *call, timeout time.Duration) *transportError {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return c.failure.before()
	}
	cl.timer = time.AfterFunc(timeout, func() { c.failLate(cl.req) })
	c.flight = append(c.flight, cl)
	return nil
}

// failLate breaks the connection because nobody answered req in time.
func (c *conn) failLate(req kmsg.Request) {
	c.fail(NameTimedOut, fmt.Errorf("%s: %s: %w", c.addr, kmsg.NameForKey(req.Key()), errTimedOut))
}

// stopped is why nothing can be sent; nil while the connection works.
func (c *conn) stopped() *transportError {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return c.failure.before()
	}
	return nil
}

// before is the failure as a request meets it that comes after it: nothing of that request was sent.
func (e *transportError) before() *transportError {
	return &transportError{name: NameNotSent, err: e.err}
}

// roundTrip sends req in its version and waits.
func (c *conn) roundTrip(req kmsg.Request, timeout time.Duration) (kmsg.Response, *transportError) {
	type ending struct {
		resp kmsg.Response
		err  *transportError
	}
	ended := make(chan ending, 1)
	err := c.start(req, timeout, func(resp kmsg.Response, err *transportError) { ended <- ending{resp, err} })
	if err != nil {
		return nil, err
	}
	e := <-ended
	return e.resp, e.err
}

// fail breaks the connection: all that is in flight ends as sent and unanswered. The first failure counts.
func (c *conn) fail(name string, err error) {
	c.mu.Lock()
	if c.failure != nil {
		c.mu.Unlock()
		return
	}
	failure := &transportError{sent: true, name: name, err: err}
	c.failure = failure
	c.nc.Close()
	close(c.down)
	flight := c.flight
	c.flight = nil
	c.mu.Unlock()
	for _, cl := range flight {
		cl.timer.Stop()
		cl.end(nil, failure)
	}
}

// readResponses runs until the connection breaks.
func (c *conn) readResponses() {
	r := bufio.NewReaderSize(c.nc, readBufferBytes)
	for {
		frame, err := readFrame(r)
		if err == nil {
			err = c.answer(frame)
		}
		if err != nil {
			c.fail(NameConnectionLost, fmt.Errorf("%s: read: %w", c.addr, err))
			return
		}
	}
}

// readFrame reads one response without its size prefix, into a buffer of its own: the response aliases it.
func readFrame(r *bufio.Reader) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(prefix[:]))
	if size < 4 || size > responseBytesMax {
		return nil, fmt.Errorf("response of %d bytes, want 4 to %d", size, responseBytesMax)
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// answer gives a response to the oldest request in flight.
func (c *conn) answer(frame []byte) error {
	corr := int32(binary.BigEndian.Uint32(frame))
	cl, err := c.oldest(corr)
	if err != nil {
		return err
	}
	resp, err := decode(cl.req, frame[4:])
	if err != nil {
		return fmt.Errorf("response to %s %d: %w", kmsg.NameForKey(cl.req.Key()), cl.req.GetVersion(), err)
	}
	if !c.dequeue(cl) {
		return errClosed // it broke meanwhile, and cl has ended with it
	}
	cl.timer.Stop()
	<-c.slots
	cl.end(resp, nil)
	return nil
}

// oldest is the request that a response with this number must belong to.
func (c *conn) oldest(corr int32) (*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.flight) == 0 || c.flight[0].corr != corr {
		return nil, fmt.Errorf("response %d, which is not to the oldest of %d requests in flight", corr, len(c.flight))
	}
	return c.flight[0], nil
}

// dequeue takes the oldest request out of flight; false if the connection broke.
func (c *conn) dequeue(cl *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.flight) == 0 || c.flight[0] != cl {
		return false
	}
	c.flight = c.flight[1:]
	return true
}

// decode reads the response to req: header tags of flexible versions, then the body. The response of ApiVersions has
// no header tags in any version, and its refusal comes in version 0 (KIP-511).
func decode(req kmsg.Request, body []byte) (kmsg.Response, error) {
	resp := req.ResponseKind()
	if req.Key() == int16(kmsg.ApiVersions) {
		if len(body) >= 2 && kafka.ErrorCode(binary.BigEndian.Uint16(body)) == kafka.ErrUnsupportedVersion {
			resp.SetVersion(0)
		}
	} else if req.IsFlexible() {
		tagged, err := skipHeaderTags(body)
		if err != nil {
			return nil, err
		}
		body = tagged
	}
	return resp, resp.ReadFrom(body)
}

// skipHeaderTags skips the tag section of a response header.
func skipHeaderTags(b []byte) ([]byte, error) {
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b, v = nil, 0
			return v
		}
		b = b[n:]
		return v
	}
	if len(b) == 0 {
		return nil, errors.New("no header tags")
	}
	for count := next(); count > 0; count-- {
		next()
		size := next()
		if size > uint64(len(b)) || len(b) == 0 {
			return nil, errors.New("header tags reach past the end")
		}
		b = b[size:]
	}
	return b, nil
}
