package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"

	"trialog/core/record"
)

// readAhead is how much one read of a .log takes in.
const readAhead = 1 << 20

// Batches walks the batches of one .log file, in the order of the file, sound or not: as far as lengths lead.
//
//	b, err := inspect.OpenBatches(path)
//	defer b.Close()
//	for b.Next() { b.Pos(); b.Header(); b.Bytes(); b.Sound() }
//	err = b.Err()            // of the file system
//	pos, why := b.Tail()     // where it ended before the file does
type Batches struct {
	file *os.File
	size int64
	buf  []byte
	at   int64 // file position of buf
	have int

	pos, next int64
	head      record.Header
	err       error
	why       error
}

// OpenBatches opens a .log file. A file that grows meanwhile is read up to the size that it has now.
func OpenBatches(path string) (*Batches, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("inspect: %w", err)
	}
	return &Batches{file: f, size: info.Size(), buf: make([]byte, min(readAhead, max(info.Size(), record.HeaderSize)))}, nil
}

// Next moves to the next whole batch.
func (b *Batches) Next() bool {
	if b.err != nil || b.why != nil || b.next >= b.size {
		return false
	}
	b.pos = b.next
	head := b.at64(b.pos, record.HeaderSize)
	if b.err != nil {
		return false
	}
	h, err := record.ParseHeader(head)
	switch left := b.size - b.pos; {
	case err != nil:
		b.why = err
	case int64(h.Size()) > left:
		b.why = fmt.Errorf("a batch of %d bytes, but the file has %d more", h.Size(), left)
	}
	if b.why != nil {
		return false
	}
	b.head = h
	b.next = b.pos + int64(h.Size())
	b.at64(b.pos, h.Size())
	return b.err == nil
}

// at64 is the bytes from pos on, n of them or as many as the file has.
func (b *Batches) at64(pos int64, n int) []byte {
	if pos < b.at || pos+int64(n) > b.at+int64(b.have) {
		if n > len(b.buf) {
			b.buf = make([]byte, n)
		}
		got, err := b.file.ReadAt(b.buf[:min(int64(len(b.buf)), b.size-pos)], pos)
		if err != nil && !errors.Is(err, io.EOF) {
			b.err = fmt.Errorf("inspect: %w", err)
			return nil
		}
		b.at, b.have = pos, got
	}
	from := int(pos - b.at)
	return b.buf[from:min(from+n, b.have)]
}

// Pos is where the batch begins in the file.
func (b *Batches) Pos() int64 { return b.pos }

// Header is the header of the batch.
func (b *Batches) Header() *record.Header { return &b.head }

// Bytes is the batch, valid until Next.
func (b *Batches) Bytes() []byte { return b.at64(b.pos, b.head.Size()) }

// Sound is whether the batch's CRC is that of its bytes.
func (b *Batches) Sound() bool { return record.Checksum(b.Bytes()) == b.head.CRC }

// Size is the size of the file in bytes.
func (b *Batches) Size() int64 { return b.size }

// Err is what the file system refused.
func (b *Batches) Err() error { return b.err }

// Tail is where the walk ended; why is nil when that is the end of the file.
func (b *Batches) Tail() (pos int64, why error) { return b.next, b.why }

// Close closes the file.
func (b *Batches) Close() error { return b.file.Close() }
