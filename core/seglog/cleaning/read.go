package cleaning

import (
	"errors"
	"fmt"
	"io"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/compact"
)

// errStop ends a walk without an error.
var errStop = errors.New("stop")

// batches calls fn for each batch of a segment. h and batch are valid only during the call. Batches are checked: whole, in
// order, with the right CRC. An error of fn other than errStop is returned.
func (r *round) batches(s *Segment, fn func(h *record.Header, batch []byte) error) error {
	file, release, err := s.Open()
	if err != nil {
		return err
	}
	defer release()
	if cap(r.in) == 0 {
		r.in = make([]byte, max(r.limits.BufferBytes, record.HeaderSize))
	}
	next := s.Base
	for pos := int64(0); pos < s.Size; {
		n, err := r.fill(file, pos, s.Size)
		if err != nil {
			return err
		}
		done, err := r.piece(r.in[:n], &next, fn)
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("segment %d: %w", s.Base, err)
		}
		if pos += int64(done); done == 0 {
			if err := r.grow(r.in[:n], s, pos); err != nil {
				return err
			}
			continue
		}
		if err := r.pace(done); err != nil {
			return err
		}
	}
	return nil
}

// fill reads as much as the buffer takes.
func (r *round) fill(file io.ReaderAt, pos, size int64) (int, error) {
	r.in = r.in[:cap(r.in)]
	want := r.in[:min(int64(len(r.in)), size-pos)]
	n, err := file.ReadAt(want, pos)
	if n == len(want) {
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, fmt.Errorf("read at %d: %w", pos, err)
}

// piece walks the whole batches of a piece of the file, and returns how many bytes they have.
func (r *round) piece(buf []byte, next *kafka.Offset, fn func(h *record.Header, batch []byte) error) (int, error) {
	it := record.NewBatches(buf)
	for it.Next() {
		h, err := record.Validate(it.Batch())
		if err == nil && h.BaseOffset < *next {
			err = fmt.Errorf("base offset %d, want %d at least", h.BaseOffset, *next)
		}
		if err != nil {
			return 0, fmt.Errorf("%w at %d: %w", compact.ErrUnreadable, *next, err)
		}
		*next = h.NextOffset()
		if err := fn(&h, it.Batch()); err != nil {
			return 0, err
		}
	}
	if err := it.Err(); err != nil {
		return 0, fmt.Errorf("%w at %d: %w", compact.ErrUnreadable, *next, err)
	}
	return it.Position(), nil
}

// grow makes the buffer as large as the batch at pos, of which it holds the beginning: if that can be one.
func (r *round) grow(have []byte, s *Segment, pos int64) error {
	h, err := record.ParseHeader(have)
	if err == nil && int64(h.Size()) > s.Size-pos {
		err = fmt.Errorf("a batch of %d bytes, %d are left", h.Size(), s.Size-pos)
	}
	if err != nil {
		return fmt.Errorf("segment %d: %w at position %d: %w", s.Base, compact.ErrUnreadable, pos, err)
	}
	r.in = make([]byte, h.Size())
	return nil
}
