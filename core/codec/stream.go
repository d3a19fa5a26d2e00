package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"trialog/core/record"
)

// ErrTooLarge: more uncompressed bytes than the caller allows. What wraps it says how many.
var ErrTooLarge = errors.New("codec: too large uncompressed")

// Stream is an io.Reader of what the records of one batch decompress to. Read gives at most the bytes that Open was
// told, then an error that is ErrTooLarge if there are more; any other error but io.EOF means that the bytes are not a
// stream of this codec. It is not safe for concurrent use.
type Stream struct {
	codec record.Codec
	max   int64 // uncompressed bytes
	left  int64 // of max
	err   error // the end of the stream, once there is one
	from  io.Reader
	isBig bool

	window [record.ScanWindow]byte

	src    bytes.Reader // the payload; a stream keeps no byte of it after Close
	whole  bytes.Reader // what was decompressed in one piece
	gzip   gzipReader
	snappy snappyReader
	lz4    lz4Reader
	zstd   *zstd.Decoder
}

// pools holds streams that are not open, by codec: what a decoder has allocated serves the next batch.
var pools [record.Zstd + 1]sync.Pool

// Open starts to read payload, the records of a batch as they lie behind its header, which are compressed with c and may
// be max bytes uncompressed. It waits while too many streams are open. payload must not change before Close.
//
// A payload that is no stream of this codec is an error of the first Read. c is one of the five codecs; none is read as it lies.
func Open(c record.Codec, payload []byte, max int64) *Stream {
	slots() <- struct{}{}
	s, _ := pools[c].Get().(*Stream)
	if s == nil {
		s = &Stream{codec: c}
		s.snappy.hold = s.hold
	}
	s.max, s.left, s.err = max, max, nil
	s.src.Reset(payload)
	if err := s.start(payload); err != nil {
		s.err = s.fault(err)
	}
	return s
}

// start makes the decoder ready.
func (s *Stream) start(payload []byte) error {
	switch s.codec {
	case record.Gzip:
		s.from = &s.gzip
		return s.gzip.Reset(&s.src)
	case record.Snappy:
		s.from = &s.snappy
		return s.snappy.reset(payload, s.max)
	case record.LZ4:
		s.from = &s.lz4
		return s.lz4.reset(payload)
	case record.Zstd:
		return s.startZstd(payload)
	}
	s.from = &s.src
	return nil
}

func (s *Stream) startZstd(payload []byte) error {
	var first zstd.Header
	if err := first.Decode(payload); err == nil && first.WindowSize > windowMax {
		return s.wholeZstd(payload)
	}
	if s.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(windowMax))
		if err != nil {
			panic("codec: zstd refuses its options: " + err.Error())
		}
		s.zstd = d
	}
	s.from = s.zstd
	return s.zstd.Reset(&s.src)
}

// zstdWindowMax is the largest window that Kafka's clients read, and write at the highest levels.
const zstdWindowMax = 128 << 20

// wholeZstd decompresses in one piece: then the memory is that of the content, not that of the window which the frame
// claims to need.
func (s *Stream) wholeZstd(payload []byte) error {
	s.hold()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindowMax), zstd.WithDecoderMaxMemory(uint64(max(s.max+1, zstdWindowMax))))
	if err != nil {
		panic("codec: zstd refuses its options: " + err.Error())
	}
	defer d.Close()
	content, err := d.DecodeAll(payload, nil)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return ErrTooLarge
	}
	s.whole.Reset(content)
	s.from = &s.whole
	return err
}

// Window is memory to scan the records through; it is the stream's, until Close.
func (s *Stream) Window() []byte { return s.window[:] }

// hold waits until this is the only stream with a large buffer.
func (s *Stream) hold() {
	if !s.isBig {
		big <- struct{}{}
		s.isBig = true
	}
}

// Read is io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if s.err != nil || len(p) == 0 {
		return 0, s.err
	}
	if s.left < int64(len(p)) {
		p = p[:s.left+1] // one more shows whether there are more
	}
	n, err := s.from.Read(p)
	switch {
	case int64(n) > s.left:
		n, s.err = int(s.left), s.fault(ErrTooLarge)
	case err == io.EOF:
		s.err = io.EOF
	case err != nil:
		s.err = s.fault(err)
	}
	s.left -= int64(n)
	if n > 0 {
		return n, nil // the error comes with the next call
	}
	return 0, s.err
}

// fault names the codec and the bound in an error.
func (s *Stream) fault(err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return fmt.Errorf("%w: over %d bytes of %s", ErrTooLarge, s.max, s.codec)
	case err == io.EOF:
		err = io.ErrUnexpectedEOF // of a decoder that was not at its end
	}
	return fmt.Errorf("codec: %s: %w", s.codec, err)
}

// Close gives the stream back. It must be called once, and the stream not used after it.
func (s *Stream) Close() {
	s.src.Reset(nil)
	s.whole.Reset(nil)
	s.snappy.reset(nil, 0)
	s.lz4.reset(nil)
	s.from = nil
	if s.isBig {
		s.isBig = false
		s.snappy.buf = nil // it may be large
		<-big
	}
	if s.zstd != nil {
		_ = s.zstd.Reset(nil)
	}
	pools[s.codec].Put(s)
	<-slots()
}
