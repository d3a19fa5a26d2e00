package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

// The lz4 frame format 1.5.1 as far as Kafka has it.
const (
	lz4Magic     = 0x184D2204
	lz4Stored    = 1 << 31 // of a block's size: the block is not compressed
	lz4ChunkSize = 64 << 10

	lz4Version         = 1 << 6 // flags: version 1
	lz4Independent     = 1 << 5
	lz4BlockChecksum   = 1 << 4
	lz4ContentSize     = 1 << 3
	lz4ContentChecksum = 1 << 2
	lz4Reserved        = 1<<1 | 1<<0 // bit 0 says that a dictionary is needed
)

// lz4Head is the head of a frame as Kafka writes it: blocks of 64 KiB, independent, no checksums but its own.
const lz4Head = "\x04\x22\x4d\x18\x60\x40\x82"

var errLZ4Rest = errors.New("bytes after the frame")

// lz4Reader decompresses one frame, block by block.
type lz4Reader struct {
	rest  []byte // blocks to come
	flags byte
	done  bool   // the end mark was read
	block []byte // memory for a block of the frame's largest size
	out   []byte // what is left of the current block: of block, or of the payload if it was stored
}

func (r *lz4Reader) reset(payload []byte) error {
	r.rest, r.out, r.done = payload, nil, false
	if payload == nil {
		return nil
	}
	if len(payload) < len(lz4Head) {
		return io.ErrUnexpectedEOF
	}
	if magic := binary.LittleEndian.Uint32(payload); magic != lz4Magic {
		return fmt.Errorf("magic %08x", magic)
	}
	r.flags = payload[4]
	size := 6
	if r.flags&lz4ContentSize != 0 {
		size += 8
	}
	switch kind := payload[5] >> 4; {
	case r.flags>>6 != lz4Version>>6 || r.flags&lz4Reserved != 0:
		return fmt.Errorf("frame flags %02x", r.flags)
	case r.flags&lz4Independent == 0:
		return errors.New("blocks that depend on others, which Kafka does not read")
	case payload[5]&0x8f != 0 || kind < 4 || kind > 7:
		return fmt.Errorf("block size flags %02x", payload[5])
	case len(payload) <= size:
		return io.ErrUnexpectedEOF
	default:
		r.sized(lz4ChunkSize << (2 * (kind - 4)))
	}
	if sum := byte(xxh32(payload[4:size]) >> 8); sum != payload[size] {
		return fmt.Errorf("header checksum %02x is not %02x", payload[size], sum)
	}
	r.rest = payload[size+1:]
	return nil
}

// sized makes room for blocks of this size.
func (r *lz4Reader) sized(n int) {
	if cap(r.block) < n {
		r.block = make([]byte, n)
	}
	r.block = r.block[:n]
}

func (r *lz4Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.done {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// next reads a block, or the end of the frame.
func (r *lz4Reader) next() error {
	field, err := r.take(4)
	if err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(field)
	if size == 0 {
		return r.end()
	}
	stored := size&lz4Stored != 0
	if size &^= lz4Stored; int64(size) > int64(len(r.block)) {
		return fmt.Errorf("block of %d bytes in a frame of blocks up to %d", size, len(r.block))
	}
	block, err := r.take(int(size))
	if err != nil {
		return err
	}
	if r.flags&lz4BlockChecksum != 0 {
		if field, err = r.take(4); err != nil {
			return err
		}
		if have, want := binary.LittleEndian.Uint32(field), xxh32(block); have != want {
			return fmt.Errorf("block checksum %08x is not %08x", have, want)
		}
	}
	if r.out = block; stored {
		return nil
	}
	n, err := lz4.UncompressBlock(block, r.block)
	r.out = r.block[:max(n, 0)]
	return err
}

// end reads what follows the end mark. The checksum of the content is not compared, as in Kafka: the CRC of the batch
// covers the same bytes.
func (r *lz4Reader) end() error {
	r.done = true
	if r.flags&lz4ContentChecksum != 0 {
		if _, err := r.take(4); err != nil {
			return err
		}
	}
	if len(r.rest) > 0 {
		return errLZ4Rest
	}
	return nil
}

func (r *lz4Reader) take(n int) ([]byte, error) {
	if n > len(r.rest) {
		return nil, io.ErrUnexpectedEOF
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

// lz4Writer makes a frame of blocks of 64 KiB.
type lz4Writer struct {
	high  int // level of the high compressor, 1 to 9; 0 is the fast one
	fast  lz4.Compressor
	best  *lz4.CompressorHC // nil until needed: it is large
	chunk []byte            // waiting
	out   []byte            // a compressed block
}

func (w *lz4Writer) begin(to *sink) {
	w.chunk = w.chunk[:0]
	to.append([]byte(lz4Head))
}

func (w *lz4Writer) write(to *sink, p []byte) {
	for len(p) > 0 {
		n := min(len(p), lz4ChunkSize-len(w.chunk))
		w.chunk, p = append(w.chunk, p[:n]...), p[n:]
		if len(w.chunk) == lz4ChunkSize {
			w.flush(to)
		}
	}
}

func (w *lz4Writer) flush(to *sink) {
	if len(w.chunk) == 0 {
		return
	}
	if w.out == nil {
		w.out = make([]byte, lz4ChunkSize)
	}
	// One byte less than the chunk: what does not become smaller is stored.
	n, err := w.compress(w.out[:len(w.chunk)-1])
	size, block := uint32(n), w.out[:n]
	if n == 0 || err != nil {
		size, block = uint32(len(w.chunk))|lz4Stored, w.chunk
	}
	var field [4]byte
	binary.LittleEndian.PutUint32(field[:], size)
	to.append(field[:])
	to.append(block)
	w.chunk = w.chunk[:0]
}

func (w *lz4Writer) compress(dst []byte) (int, error) {
	if w.high == 0 {
		return w.fast.CompressBlock(w.chunk, dst)
	}
	if w.best == nil {
		w.best = &lz4.CompressorHC{Level: lz4.CompressionLevel(1 << (8 + w.high))}
	}
	return w.best.CompressBlock(w.chunk, dst)
}

func (w *lz4Writer) end(to *sink) {
	w.flush(to)
	to.append([]byte{0, 0, 0, 0})
}
