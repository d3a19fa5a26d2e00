package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrBudget says that the request memory of the whole process stayed used up for
// longer than a reader may wait. The connection is closed.
var ErrBudget = errors.New("request memory is used up")

const (
	// readAhead is the buffer that each connection keeps: a small request arrives
	// with its size in one read.
	readAhead = 4 << 10

	// firstGrant is the most memory that an announced size gets before its bytes
	// arrive (W01).
	firstGrant = 64 << 10

	// budgetWait bounds how long a reader waits for request memory.
	budgetWait = 10 * time.Second

	// A frame over firstGrant must arrive at stallBytes (or what is left of it) in
	// stallMax: a peer that stalls in the middle gives back the memory it holds.
	stallBytes = 1 << 20
	stallMax   = 30 * time.Second
)

// Frame is one request as it was read. Release it exactly once.
type Frame struct {
	Buf *Buffer // B is the frame without its size

	pool   *Pool
	budget *Budget
	held   int64
	asked  int64 // of held: by Charge
	over   bool  // it may go over the budget
}

// Release gives the memory back. Nothing that aliases the frame may be used
// afterwards. A second call does nothing.
func (f *Frame) Release() {
	if f.Buf == nil && f.held == 0 {
		return
	}
	f.pool.Put(f.Buf)
	if f.over {
		f.budget.releaseOver(f.held)
	} else {
		f.budget.Release(f.held)
	}
	f.Buf, f.held, f.asked, f.over = nil, 0, 0, false
}

// take adds bytes to what the frame holds of the budget.
func (f *Frame) take(bytes int64, done <-chan struct{}) (ok bool) {
	if f.held == 0 {
		ok = f.budget.Acquire(bytes, budgetWait, done)
	} else {
		ok, f.over = f.budget.acquireMore(bytes, f.over, budgetWait, done)
	}
	if ok {
		f.held += bytes
	}
	return ok
}

// Charge adds bytes of memory to what the frame holds, waiting for the budget;
// done ends the wait. False means that they were not to be had: not in time, or
// that this frame asked for more than one may.
func (f *Frame) Charge(bytes int64, done <-chan struct{}) bool {
	if f.budget == nil {
		return true // a frame of a test
	}
	if f.asked+bytes > f.budget.chargeMax() || !f.take(bytes, done) {
		return false
	}
	f.asked += bytes
	return true
}

// Keep gives back the frame's bytes and all memory that it holds but so much, which
// it charges where it holds less: for an answer that does not alias the frame and
// waits to be sent. False, which says what Charge's says, keeps everything.
func (f *Frame) Keep(bytes int64, done <-chan struct{}) bool {
	if f.budget == nil {
		return true
	}
	if f.held < bytes && !f.Charge(bytes-f.held, done) {
		return false
	}
	f.pool.Put(f.Buf)
	f.budget.Release(f.held - bytes)
	f.Buf, f.held = nil, bytes
	return true
}

// FrameReader reads request frames of one connection. One goroutine uses it.
type FrameReader struct {
	r      *bufio.Reader
	max    int
	pool   *Pool
	budget *Budget
	done   <-chan struct{}

	// Patience bounds the reads that follow it to that time from now; 0 lifts the
	// bound. It is called for large frames only. Nil is allowed.
	Patience func(time.Duration)
}

// NewFrameReader reads from r frames of at most max bytes
// (socket.request.max.bytes). Closing done ends waits for the budget.
func NewFrameReader(r io.Reader, max int, pool *Pool, budget *Budget, done <-chan struct{}) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, readAhead), max: max, pool: pool, budget: budget, done: done}
}

// WaitFrame blocks until the size of a frame is there. It is the only place where
// a connection is idle. io.EOF means that the peer closed between frames.
func (fr *FrameReader) WaitFrame() error {
	_, err := fr.r.Peek(4)
	if errors.Is(err, io.EOF) && fr.r.Buffered() > 0 {
		return fmt.Errorf("wire: frame size cut short: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// Next reads one frame into f. Key and version are checked before the body is
// read, so an unknown request costs nothing. Errors wrap ErrMalformed when the
// peer's bytes are at fault, and are those of the connection otherwise. After an
// error the connection is of no more use.
func (fr *FrameReader) Next(f *Frame) error {
	size, api, err := fr.begin()
	if err != nil {
		return err
	}
	*f = Frame{pool: fr.pool, budget: fr.budget}
	if err := fr.fill(f, size); err != nil {
		f.Release()
		return err
	}
	if api.FrameMax > 0 {
		extra := int64(size) * DecodeFactor
		if !f.take(extra, fr.done) {
			f.Release()
			return fmt.Errorf("wire: %s of %d bytes: %w", api.Name, size, ErrBudget)
		}
	}
	return nil
}

// begin reads the size and looks at key and version.
func (fr *FrameReader) begin() (int, API, error) {
	b, err := fr.r.Peek(4)
	if err != nil {
		return 0, API{}, cutShort("frame size", err)
	}
	size := int(int32(binary.BigEndian.Uint32(b)))
	switch {
	case size < 0:
		return 0, API{}, malformed("frame of negative size %d", size)
	case size < HeaderMin:
		return 0, API{}, malformed("frame of %d bytes has no header", size)
	case size > fr.max:
		return 0, API{}, malformed("frame of %d bytes is over socket.request.max.bytes=%d", size, fr.max)
	}
	b, err = fr.r.Peek(8)
	if err != nil {
		return 0, API{}, cutShort("header", err)
	}
	api, err := checkServed(int16(binary.BigEndian.Uint16(b[4:])), int16(binary.BigEndian.Uint16(b[6:])))
	if err != nil {
		return 0, API{}, err
	}
	if api.FrameMax > 0 && size > api.FrameMax {
		return 0, API{}, malformed("%s frame of %d bytes, at most %d are allowed", api.Name, size, api.FrameMax)
	}
	_, err = fr.r.Discard(4)
	return size, api, err
}

func cutShort(what string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("wire: reading %s: %w", what, err)
}

// fill reads size bytes. Memory that lies ready in the pool is taken whole;
// otherwise the buffer starts small and doubles as bytes arrive.
func (fr *FrameReader) fill(f *Frame, size int) error {
	if size > firstGrant && fr.Patience != nil {
		defer fr.Patience(0)
	}
	for have := 0; have < size; {
		if f.Buf == nil || have == len(f.Buf.B) {
			grant := max(min(size, firstGrant), min(size, 2*have))
			if err := fr.grow(f, have, grant, size); err != nil {
				return err
			}
		}
		if size > firstGrant && fr.Patience != nil {
			fr.Patience(stallMax)
		}
		n, err := io.ReadFull(fr.r, f.Buf.B[have:min(len(f.Buf.B), have+stallBytes)])
		have += n
		if err != nil {
			return cutShort(fmt.Sprintf("frame (%d of %d bytes)", have, size), err)
		}
	}
	return nil
}

// grow makes f.Buf hold grant bytes (size bytes if that is free) of which the
// first have are kept.
func (fr *FrameReader) grow(f *Frame, have, grant, size int) error {
	old := f.held
	var next *Buffer
	cost := int64(ClassBytes(size))
	if ClassBytes(grant) < ClassBytes(size) && fr.budget.TryAcquire(cost) {
		if next = fr.pool.tryGet(size); next == nil {
			fr.budget.Release(cost)
		} else {
			f.held += cost
		}
	}
	if next == nil {
		cost = int64(ClassBytes(grant))
		if !f.take(cost, fr.done) {
			return fmt.Errorf("wire: frame of %d bytes, %d read: %w", size, have, ErrBudget)
		}
		next = fr.pool.Get(grant)
	}
	if f.Buf != nil {
		copy(next.B, f.Buf.B[:have])
		fr.pool.Put(f.Buf)
		f.held -= old
		fr.budget.Release(old)
	}
	f.Buf = next
	return nil
}
