package serve

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"trialog/core/wire"
)

// stageMax is the most bytes of one response that lie in memory: record bytes
// come from their files a piece at a time, so a reader that stalls in a 50 MiB
// response holds this much.
const stageMax = 256 << 10

// sendStallMax is how long a peer may take no piece (stageMax bytes) of an answer
// that lies in memory whole.
const sendStallMax = 30 * time.Second

// Region is a range of file bytes that is sent as it is; seglog.Slice is one.
type Region interface {
	io.ReaderAt
	Send(off int64, send func(f *os.File, pos int64, n int) (int, error)) (int, error)
}

// Sink is the sending side of a connection. It gathers memory and file bytes into
// one staging buffer and writes that, so that a small response is one system
// call; large regions bypass it where the system can (sink_native.go).
type Sink struct {
	conn     net.Conn
	pool     *wire.Pool
	stage    *wire.Buffer // nil between responses
	progress *atomic.Int64
	direct   direct
	stallMax time.Duration
}

// NewSink sends to conn. progress counts the writes that were taken, for whoever
// looks for stalled peers; nil is allowed.
func NewSink(conn net.Conn, pool *wire.Pool, progress *atomic.Int64) *Sink {
	if progress == nil {
		progress = new(atomic.Int64)
	}
	s := &Sink{conn: conn, pool: pool, progress: progress, stallMax: sendStallMax}
	s.direct.open(conn)
	return s
}

// WriteAll writes b past the staging buffer. It must not follow Begin.
func (s *Sink) WriteAll(b []byte) error { return s.writeAll(b, 0) }

// writeAll is WriteAll; a peer may take so long for each piece, 0: as long as it
// likes.
func (s *Sink) writeAll(b []byte, patience time.Duration) error {
	if patience > 0 {
		defer func() { _ = s.conn.SetWriteDeadline(time.Time{}) }()
	}
	for len(b) > 0 {
		if patience > 0 {
			_ = s.conn.SetWriteDeadline(time.Now().Add(patience))
		}
		n, err := s.conn.Write(b[:min(len(b), stageMax)])
		if err != nil {
			return err
		}
		s.progress.Add(1)
		b = b[n:]
	}
	return nil
}

// Begin prepares for a response of size bytes, which Write, CopyRegion and End
// then send.
func (s *Sink) Begin(size int) {
	s.stage = s.pool.Get(min(size, stageMax))
	s.stage.B = s.stage.B[:0]
}

// Write stages b.
func (s *Sink) Write(b []byte) error {
	for len(b) > 0 {
		if s.room() == 0 {
			if err := s.flush(false); err != nil {
				return err
			}
		}
		n := min(len(b), s.room())
		s.stage.B = append(s.stage.B, b[:n]...)
		b = b[n:]
	}
	return nil
}

func (s *Sink) room() int { return min(cap(s.stage.B), stageMax) - len(s.stage.B) }

// CopyRegion sends the first size bytes of r. Fewer bytes in r are an error: the
// frame's size is out, so the connection must end (L21).
func (s *Sink) CopyRegion(r Region, size int) error {
	if size >= directMin && s.direct.usable() {
		if err := s.flush(true); err != nil {
			return err
		}
		return s.direct.send(r, size, s.progress)
	}
	for off := 0; off < size; {
		if s.room() == 0 {
			if err := s.flush(false); err != nil {
				return err
			}
		}
		from := len(s.stage.B)
		n, err := r.ReadAt(s.stage.B[from:from+min(size-off, s.room())], int64(off))
		if n == 0 {
			return fmt.Errorf("serve: region ends at byte %d of %d: %w", off, size, err)
		}
		s.stage.B = s.stage.B[:from+n]
		off += n
	}
	return nil
}

// flush writes what is staged; more says that bytes of the same response follow
// directly.
func (s *Sink) flush(more bool) error {
	b := s.stage.B
	s.stage.B = b[:0]
	if len(b) == 0 {
		return nil
	}
	if more && s.direct.usable() {
		return s.direct.writeMore(b)
	}
	return s.WriteAll(b)
}

// End writes the rest of the response.
func (s *Sink) End() error {
	err := s.flush(false)
	s.Abort()
	return err
}

// Abort gives the staging buffer back, after an error.
func (s *Sink) Abort() {
	s.pool.Put(s.stage)
	s.stage = nil
}
