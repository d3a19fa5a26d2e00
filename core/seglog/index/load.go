package index

import (
	"errors"
	"os"
	"sync"

	"trialog/core/seglog/layout"
)

func isDamage(err error) bool { return errors.Is(err, ErrDamaged) }

// chunkSize is how much of a file is read at a time: whole entries of both kinds.
const chunkSize = 4096 * layout.TimeEntrySize

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// load is the state with its sample: the file is read and checked if nobody has done so.
func (c *column[T]) load() (*state[T], error) {
	st := c.state.Load()
	if st.sampled {
		return st, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if st = c.state.Load(); st.sampled {
			return st, nil
		}
		fresh, err := c.sampleOf(st)
		if err != nil {
			return nil, err
		}
		if c.state.CompareAndSwap(st, fresh) { // else the writer has written meanwhile
			return fresh, nil
		}
	}
}

// sampleOf reads the file of a state that has no sample.
func (c *column[T]) sampleOf(st *state[T]) (*state[T], error) {
	file, err := st.file.Acquire()
	if err != nil {
		return nil, absent(st.file.Path(), err)
	}
	defer st.file.Release()
	size := int64(st.written) * int64(c.kind.size)
	if st.written == unread {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		size = info.Size()
	}
	r := reading[T]{kind: c.kind, path: st.file.Path(), trust: c.place.Trust}
	r.end, r.size = c.owner.RelativeEnd() // after the state: every entry that it knows of is of a batch below
	if size%int64(c.kind.size) != 0 {
		if !r.trust {
			return nil, damaged(r.path, "%d bytes are no whole entries", size)
		}
		size -= size % int64(c.kind.size)
	}
	if err := r.file(file, size); err != nil {
		return nil, err
	}
	if st.written == unread && !r.trust && !c.kind.needed(r.n, r.size) {
		return nil, damaged(r.path, "it is empty")
	}
	if st.written != unread && r.n != st.written {
		return nil, damaged(r.path, "%d entries, want %d", r.n, st.written)
	}
	fresh := *st
	fresh.written, fresh.sampled, fresh.sample, fresh.final = r.n, true, r.sample, r.last
	fresh.stale = r.zeros > 0
	return &fresh, nil
}

// reading checks the entries of a file, one after the other.
type reading[T comparable] struct {
	kind      *kind[T]
	path      string
	trust     bool
	want      func(T) bool // nil: all
	end, size int64        // of the segment

	n, zeros int
	last     T
	sample   []T
}

// resumeWhile takes over the entries at the start of the file that are good, and for which want is true. The rest goes.
func (c *column[T]) resumeWhile(want func(T) bool) (last T, ok bool, err error) {
	st := c.state.Load()
	file, err := st.file.Acquire()
	if err != nil {
		return last, false, ignoreDamage(absent(st.file.Path(), err))
	}
	defer st.file.Release()
	info, err := file.Stat()
	if err != nil {
		return last, false, err
	}
	r := reading[T]{kind: c.kind, path: st.file.Path(), want: want}
	r.end, r.size = c.owner.RelativeEnd()
	if err := r.file(file, info.Size()/int64(c.kind.size)*int64(c.kind.size)); err != nil && !isDamage(err) {
		return last, false, err
	}
	c.state.Store(&state[T]{file: st.file, written: r.n, sampled: true, sample: r.sample, final: r.last})
	return r.last, r.n > 0, c.shorten(r.n)
}

// file takes the first size bytes of a file, until one of its entries cannot be right, or is not wanted.
func (r *reading[T]) file(file *os.File, size int64) error {
	buf := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buf)
	for at := int64(0); at < size; at += chunkSize {
		b := buf[:min(chunkSize, size-at)]
		if err := readAll(r.path, file, b, at); err != nil {
			return err
		}
		if err := r.take(b); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading[T]) take(b []byte) error {
	var zero T
	for ; len(b) > 0; b = b[r.kind.size:] {
		e := r.kind.decode(b)
		switch {
		case r.trust:
		case e == zero:
			r.zeros++
			continue
		case r.zeros > 0:
			return damaged(r.path, "zeros before entry %d", r.n+r.zeros)
		case !r.kind.fits(e, r.end, r.size):
			return damaged(r.path, "entry %d is %+v, but the segment ends at offset %d, byte %d", r.n, e, r.end, r.size)
		case r.n > 0 && !r.kind.next(r.last, e):
			return damaged(r.path, "entry %d is %+v after %+v", r.n, e, r.last)
		case r.want != nil && !r.want(e):
			return damaged(r.path, "entry %d is not wanted", r.n)
		}
		if r.n%Every == 0 {
			r.sample = append(r.sample, e)
		}
		r.n, r.last = r.n+1, e
	}
	return nil
}
