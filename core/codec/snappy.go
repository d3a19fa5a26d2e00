package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
)

// xerial is the head of snappy-java's framing: magic, version 1, compatible with version 1. Chunks follow: a size i32
// and a raw snappy block of that size.
const xerial = "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"

const (
	xerialMagic = 8        // bytes of magic
	xerialChunk = 32 << 10 // uncompressed bytes of a chunk as snappy-java writes it
)

// snappyReader decompresses chunk by chunk; a raw block is one chunk.
type snappyReader struct {
	rest []byte // chunks to come
	raw  bool   // rest is one block without a size
	left int64  // uncompressed bytes that are still allowed
	buf  []byte // the current chunk; its memory is used again
	at   int    // position in buf
	hold func() // called before buf grows beyond windowMax
}

func (r *snappyReader) reset(payload []byte, max int64) error {
	r.rest, r.raw, r.left, r.buf, r.at = payload, true, max, r.buf[:0], 0
	if len(payload) < xerialMagic || string(payload[:xerialMagic]) != xerial[:xerialMagic] {
		return nil
	}
	r.raw = false
	if len(payload) < len(xerial) {
		return io.ErrUnexpectedEOF
	}
	if compatible := binary.BigEndian.Uint32(payload[xerialMagic+4:]); compatible != 1 {
		return fmt.Errorf("framing for readers of version %d", compatible)
	}
	r.rest = payload[len(xerial):]
	return nil
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for r.at == len(r.buf) {
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.buf[r.at:])
	r.at += n
	return n, nil
}

// next decompresses the next chunk.
func (r *snappyReader) next() error {
	block := r.rest
	if !r.raw {
		if len(block) < 4 {
			return io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(block))
		if block = block[4:]; n > int64(len(block)) {
			return fmt.Errorf("chunk of %d bytes, %d left", n, len(block))
		}
		block = block[:n]
	}
	r.rest = r.after(block)
	size, err := blockSize(block)
	if err != nil {
		return err
	}
	if int64(size) > r.left {
		return ErrTooLarge
	}
	r.left -= int64(size)
	if size > windowMax {
		r.hold()
	}
	if r.at = 0; cap(r.buf) < size {
		r.buf = make([]byte, max(size, xerialChunk))
	}
	r.buf, err = s2.Decode(r.buf[:0:cap(r.buf)], block)
	return err
}

// after is what follows block in rest.
func (r *snappyReader) after(block []byte) []byte {
	if r.raw {
		return nil
	}
	return r.rest[4+len(block):]
}

var (
	errLyingLength = errors.New("the block's length is more than it can decompress to")
	errNotSnappy   = errors.New("the block is s2, which snappy cannot read")
)

// blockSize is what a raw block decompresses to. A length that the block cannot reach (an element of three bytes copies
// 64 at most) is refused before anything is allocated for it, and so are the elements that s2 has added to snappy: this
// library would read them, other clients would not.
func blockSize(block []byte) (int, error) {
	size, n := binary.Uvarint(block)
	if n <= 0 || n > 5 || size > 1<<32-1 {
		return 0, s2.ErrCorrupt
	}
	elements := block[n:]
	if size > uint64(len(elements))*22 {
		return 0, errLyingLength
	}
	return int(size), onlySnappy(elements)
}

// onlySnappy looks for a copy with offset 0, which begins what s2 has added. Elements that are cut short are the
// decoder's to find.
func onlySnappy(b []byte) error {
	for i := 0; i < len(b); {
		switch tag := b[i]; tag & 3 {
		case 0: // literal
			n := int(tag >> 2)
			if extra := n - 59; extra > 0 { // its size follows in so many bytes
				if i+extra >= len(b) {
					return nil
				}
				n = 0
				for k := extra; k > 0; k-- {
					n = n<<8 | int(b[i+k])
				}
				i += extra
			}
			if n >= len(b) {
				return nil
			}
			i += 2 + n
		case 1: // copy, offset of 11 bits
			if i+1 < len(b) && tag>>5 == 0 && b[i+1] == 0 {
				return errNotSnappy
			}
			i += 2
		case 2: // copy, offset of 16 bits
			if i+2 < len(b) && b[i+1] == 0 && b[i+2] == 0 {
				return errNotSnappy
			}
			i += 3
		case 3: // copy, offset of 32 bits
			if i+4 < len(b) && b[i+1] == 0 && b[i+2] == 0 && b[i+3] == 0 && b[i+4] == 0 {
				return errNotSnappy
			}
			i += 5
		}
	}
	return nil
}

// snappyWriter makes chunks of xerialChunk bytes, as snappy-java does.
type snappyWriter struct {
	chunk []byte // waiting
	out   []byte // a compressed chunk
}

func (w *snappyWriter) begin(to *sink) { w.chunk = w.chunk[:0]; to.append([]byte(xerial)) }

func (w *snappyWriter) write(to *sink, p []byte) {
	for len(p) > 0 {
		n := min(len(p), xerialChunk-len(w.chunk))
		w.chunk, p = append(w.chunk, p[:n]...), p[n:]
		if len(w.chunk) == xerialChunk {
			w.flush(to)
		}
	}
}

func (w *snappyWriter) flush(to *sink) {
	if len(w.chunk) == 0 {
		return
	}
	w.out = s2.EncodeSnappy(w.out[:cap(w.out)], w.chunk)
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(w.out)))
	to.append(size[:])
	to.append(w.out)
	w.chunk = w.chunk[:0]
}
