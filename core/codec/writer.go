package codec

import (
	"fmt"
	"io"
	"sync"

	"trialog/core/record"
)

// Kafka's levels (KIP-390). Those of lz4 are lz4-java's: 9 is its fast compressor, all others its high one.
const (
	GzipLevelDefault = -1
	LZ4LevelDefault  = 9
	ZstdLevelDefault = 3
)

// DefaultLevel is Kafka's default of a codec; 0 for one without levels.
func DefaultLevel(c record.Codec) int {
	switch c {
	case record.Gzip:
		return GzipLevelDefault
	case record.LZ4:
		return LZ4LevelDefault
	case record.Zstd:
		return ZstdLevelDefault
	}
	return 0
}

// Writer compresses the records of one batch. Create it, write, and Finish. It is not safe for concurrent use.
type Writer struct {
	codec record.Codec
	step  int // of the library, see steps
	to    sink

	gzip   *gzipWriter
	snappy snappyWriter
	lz4    lz4Writer
	zstd   zstdWriter
}

// sink is where compressed bytes go: behind what dst had, and not beyond max.
type sink struct {
	buf  []byte
	max  int // of len(buf)
	full bool
}

// append is Write for those who ask about full later.
func (s *sink) append(p []byte) {
	if s.full = s.full || len(s.buf)+len(p) > s.max; !s.full {
		s.buf = append(s.buf, p...)
	}
}

func (s *sink) Write(p []byte) (int, error) {
	if s.append(p); s.full {
		return 0, ErrTooLarge
	}
	return len(p), nil
}

// stepsMax is the number of levels that a library tells apart.
const stepsMax = 11

// writers holds writers that are not open, by codec and step.
var writers [record.Zstd + 1][stepsMax]sync.Pool

// step is Kafka's level as what the library has: the closest where it has fewer.
func step(c record.Codec, level int) int {
	switch c {
	case record.Gzip:
		return min(max(level, -1), 9) + 1
	case record.LZ4:
		if level == LZ4LevelDefault {
			return 0
		}
		return min(max(level, 1), 9)
	case record.Zstd:
		return zstdStep(level)
	}
	return 0
}

// Create starts to compress with c at Kafka's level of it. Compressed bytes are appended to dst, which Finish returns;
// dst may hold other bytes already, and with them at most max.
func Create(c record.Codec, level int, dst []byte, max int) *Writer {
	n := step(c, level)
	w, _ := writers[c][n].Get().(*Writer)
	if w == nil {
		w = &Writer{codec: c, step: n}
		w.lz4.high = n
	}
	w.to = sink{buf: dst, max: max}
	switch c {
	case record.Gzip:
		w.startGzip()
	case record.Snappy:
		w.snappy.begin(&w.to)
	case record.LZ4:
		w.lz4.begin(&w.to)
	case record.Zstd:
		w.zstd.begin(&w.to, w.step)
	}
	return w
}

func (w *Writer) startGzip() {
	if w.gzip != nil {
		w.gzip.Reset(&w.to)
		return
	}
	var err error
	if w.gzip, err = newGzipWriter(&w.to, w.step-1); err != nil {
		panic("codec: gzip refuses its level: " + err.Error())
	}
}

// Write compresses p. Its error is ErrTooLarge, and comes with Finish too.
func (w *Writer) Write(p []byte) (int, error) {
	switch w.codec {
	case record.Gzip:
		return w.gzip.Write(p)
	case record.Snappy:
		w.snappy.write(&w.to, p)
	case record.LZ4:
		w.lz4.write(&w.to, p)
	case record.Zstd:
		w.zstd.write(&w.to, p)
	default:
		return w.to.Write(p)
	}
	if w.to.full {
		return 0, ErrTooLarge
	}
	return len(p), nil
}

// Finish ends the stream and returns the bytes, and gives the writer back. The error is ErrTooLarge; the bytes are then
// those that dst had, in memory that may be used again.
func (w *Writer) Finish() ([]byte, error) {
	switch w.codec {
	case record.Gzip:
		_ = w.gzip.Close() // its error can only be the sink's
	case record.Snappy:
		w.snappy.flush(&w.to)
	case record.LZ4:
		w.lz4.end(&w.to)
	case record.Zstd:
		w.zstd.end(&w.to)
	}
	to := w.to
	w.to = sink{}
	w.giveBack()
	if to.full {
		return to.buf, fmt.Errorf("%w: over %d bytes compressed with %s", ErrTooLarge, to.max, w.codec)
	}
	return to.buf, nil
}

func (w *Writer) giveBack() { writers[w.codec][w.step].Put(w) }

var _ io.Writer = (*Writer)(nil)
