package index

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"trialog/core/seglog/layout"
	"trialog/core/seglog/openfiles"
)

// tailMax is how many entries wait in memory for the next write.
const tailMax = 128

// unread stands for the number of entries in a file that nobody has looked into.
const unread = -1

// column is one file of an index. The state is replaced, never changed, except that the tail grows.
type column[T comparable] struct {
	kind  *kind[T]
	owner Owner
	place Place
	state atomic.Pointer[state[T]]
	mu    sync.Mutex // one reading of the whole file at a time
}

type state[T comparable] struct {
	file    *openfiles.File
	written int  // entries in the file, or unread
	sampled bool // the sample is complete
	stale   bool // the file may hold more than was written
	sample  []T  // entries 0, Every, 2*Every, ...
	final   T    // the last entry of the file
	tail    *tail[T]
}

// tail is entries after those of the file. rows[:n] never change.
type tail[T comparable] struct {
	rows []T
	n    atomic.Int64
}

func (t *tail[T]) load() []T {
	if t == nil {
		return nil
	}
	return t.rows[:t.n.Load()]
}

func (c *column[T]) init(owner Owner, at Place, k *kind[T], suffix string, written int) {
	c.kind, c.owner, c.place = k, owner, at
	file := at.Files.File(at.Dir, at.Base, k.suffix+suffix)
	c.state.Store(&state[T]{file: file, written: written, sampled: written == 0, stale: written == 0})
}

func (c *column[T]) len() int {
	st := c.state.Load()
	return max(st.written, 0) + len(st.tail.load())
}

func (c *column[T]) sampled() int {
	st := c.state.Load()
	return len(st.sample) + len(st.tail.load())
}

// change replaces the state by what edit makes of it; a reader may have added the sample meanwhile.
func (c *column[T]) change(edit func(*state[T])) {
	for {
		old := c.state.Load()
		fresh := *old
		edit(&fresh)
		if c.state.CompareAndSwap(old, &fresh) {
			return
		}
	}
}

// add appends an entry. A full tail is written before the entry, not with it: whoever reads the file finds only entries of
// batches that are published.
func (c *column[T]) add(e T) error {
	t := c.state.Load().tail
	if n := len(t.load()); t == nil || n == len(t.rows) {
		if n >= tailMax {
			if err := c.write(); err != nil {
				return err
			}
			t = nil
		}
		grown := &tail[T]{rows: make([]T, min(max(8, 2*len(t.load())), tailMax))}
		grown.n.Store(int64(copy(grown.rows, t.load())))
		c.change(func(st *state[T]) { st.tail = grown })
		t = grown
	}
	t.rows[t.n.Load()] = e
	t.n.Add(1)
	return nil
}

// write moves the tail to the file.
func (c *column[T]) write() error {
	st := c.state.Load()
	rows := st.tail.load()
	file, err := st.file.AcquireWith(os.O_CREATE)
	if err != nil {
		return err
	}
	defer st.file.Release()
	if st.stale {
		if err := file.Truncate(int64(st.written * c.kind.size)); err != nil {
			return err
		}
	}
	if len(rows) > 0 {
		if _, err := file.WriteAt(c.kind.encode(nil, rows), int64(st.written*c.kind.size)); err != nil {
			return err
		}
	}
	c.change(func(st *state[T]) {
		for i, e := range rows {
			if st.sampled && (st.written+i)%Every == 0 {
				st.sample = append(st.sample, e)
			}
			st.final = e
		}
		st.written, st.stale, st.tail = st.written+len(rows), false, nil
	})
	return nil
}

// seal writes the tail, and fsyncs.
func (c *column[T]) seal() error {
	if c.state.Load().written == unread {
		return nil // it was sealed before
	}
	if err := c.write(); err != nil {
		return err
	}
	f := c.state.Load().file
	file, err := f.Acquire()
	if err != nil {
		return err
	}
	defer f.Release()
	return file.Sync()
}

// resume takes over a file that ends in a good entry.
func (c *column[T]) resume() (e T, ok bool, err error) {
	st := c.state.Load()
	file, err := st.file.Acquire()
	if err != nil {
		return e, false, ignoreDamage(absent(st.file.Path(), err))
	}
	defer st.file.Release()
	info, err := file.Stat()
	if err != nil {
		return e, false, err
	}
	n := int(info.Size()) / c.kind.size
	if info.Size()%int64(c.kind.size) != 0 || n == 0 {
		return e, false, nil
	}
	if e, err = c.at(st.file, file, n-1); err != nil {
		return e, false, ignoreDamage(err)
	}
	var zero T
	if e == zero && !c.place.Trust {
		return e, false, nil
	}
	c.state.Store(&state[T]{file: st.file, written: n, final: e})
	return e, true, nil
}

// ignoreDamage is for callers to whom a damaged index is an answer.
func ignoreDamage(err error) error {
	if isDamage(err) {
		return nil
	}
	return err
}

func (c *column[T]) at(f *openfiles.File, file *os.File, i int) (e T, err error) {
	var buf [layout.TimeEntrySize]byte
	b := buf[:c.kind.size]
	if err := readAll(f.Path(), file, b, int64(i*c.kind.size)); err != nil {
		return e, err
	}
	return c.kind.decode(b), nil
}

// last is the last entry. Of a file that nobody has looked into, only its last two are read, unless they look wrong.
func (c *column[T]) last() (e T, found bool, err error) {
	st := c.state.Load()
	if st.written == unread {
		if e, ok, err := c.peek(st); ok || err != nil {
			return e, ok, err
		}
		if st, err = c.load(); err != nil {
			return e, false, err
		}
	}
	if rows := st.tail.load(); len(rows) > 0 {
		return rows[len(rows)-1], true, nil
	}
	return st.final, st.written > 0, nil
}

func (c *column[T]) peek(st *state[T]) (e T, ok bool, err error) {
	file, err := st.file.Acquire()
	if err != nil {
		return e, false, absent(st.file.Path(), err)
	}
	defer st.file.Release()
	info, err := file.Stat()
	if err != nil {
		return e, false, err
	}
	size := int64(c.kind.size)
	n := int(info.Size() / size)
	if n < 2 || info.Size()%size != 0 {
		return e, false, nil // all of it is little, or wrong
	}
	if e, err = c.at(st.file, file, n-1); err != nil || c.place.Trust {
		return e, err == nil, err
	}
	before, err := c.at(st.file, file, n-2)
	end, logSize := c.owner.RelativeEnd()
	return e, err == nil && c.kind.next(before, e) && c.kind.fits(e, end, logSize), err
}

// floor is the last entry with a key at or below the given one.
func (c *column[T]) floor(key int64, sc *Scratch) (e T, found bool, err error) {
	st, err := c.load()
	if err != nil {
		return e, false, err
	}
	after := func(rows []T) int {
		return sort.Search(len(rows), func(i int) bool { return c.kind.key(rows[i]) > key })
	}
	if rows := st.tail.load(); len(rows) > 0 && c.kind.key(rows[0]) <= key {
		return rows[after(rows)-1], true, nil
	}
	if st.written > 0 && c.kind.key(st.final) <= key {
		return st.final, true, nil // where most readers are
	}
	i := after(st.sample)
	if i == 0 {
		return e, false, nil
	}
	block, err := c.block(st, i-1, sc)
	if err != nil {
		return e, false, err
	}
	n := sort.Search(len(block)/c.kind.size, func(i int) bool { return c.kind.key(c.kind.decode(block[i*c.kind.size:])) > key })
	if n == 0 {
		return e, false, damaged(st.file.Path(), "it has changed")
	}
	return c.kind.decode(block[(n-1)*c.kind.size:]), true, nil
}

// block reads the entries that a sample stands for.
func (c *column[T]) block(st *state[T], i int, sc *Scratch) ([]byte, error) {
	n := min(Every, st.written-i*Every) * c.kind.size
	file, err := st.file.Acquire()
	if err != nil {
		return nil, absent(st.file.Path(), err)
	}
	defer st.file.Release()
	sc.Preads++
	b := sc.buf[:n]
	if err := readAll(st.file.Path(), file, b, int64(i*Every*c.kind.size)); err != nil {
		return nil, err
	}
	if c.kind.decode(b) != st.sample[i] {
		return nil, damaged(st.file.Path(), "entry %d has changed", i*Every)
	}
	return b, nil
}

// cut keeps the entries, a prefix, for which keep is true.
func (c *column[T]) cut(keep func(T) bool) error {
	st, err := c.load()
	if err != nil {
		return err
	}
	kept := func(rows []T) int { return sort.Search(len(rows), func(i int) bool { return !keep(rows[i]) }) }
	rows := st.tail.load()
	if n := kept(rows); n > 0 || st.written == 0 || keep(st.final) {
		short := &tail[T]{rows: slices.Clone(rows[:n])}
		short.n.Store(int64(n))
		c.change(func(st *state[T]) { st.tail = short })
		if st.stale {
			return c.shorten(st.written)
		}
		return nil
	}
	count := 0
	var final T
	if i := kept(st.sample); i > 0 {
		b, err := c.block(st, i-1, &Scratch{})
		if err != nil {
			return err
		}
		n := sort.Search(len(b)/c.kind.size, func(i int) bool { return !keep(c.kind.decode(b[i*c.kind.size:])) })
		count, final = (i-1)*Every+n, c.kind.decode(b[(n-1)*c.kind.size:])
	}
	if err := c.shorten(count); err != nil {
		return err
	}
	samples := (count + Every - 1) / Every
	c.change(func(st *state[T]) {
		st.written, st.final, st.tail, st.sample = count, final, nil, slices.Clone(st.sample[:samples])
	})
	return nil
}

// shorten cuts the file behind so many entries, if there is one. It is durable: what is written from here on must never be
// found mixed with what was there.
func (c *column[T]) shorten(entries int) error {
	st := c.state.Load()
	file, err := st.file.Acquire()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer st.file.Release()
	size := int64(entries * c.kind.size)
	if info, err := file.Stat(); err != nil || info.Size() <= size {
		return err
	}
	if err := file.Truncate(size); err != nil {
		return err
	}
	return file.Sync()
}

func (c *column[T]) discard() error {
	c.blank()
	if err := c.shorten(0); err != nil {
		return err
	}
	c.change(func(st *state[T]) { st.stale = false })
	return nil
}

// replace takes over what was built under another name.
func (c *column[T]) replace(built *column[T]) error {
	st := *built.state.Load()
	c.state.Load().file.Forget()
	from := st.file.Path()
	st.file = c.place.Files.File(c.place.Dir, c.place.Base, c.kind.suffix)
	if err := os.Rename(from, st.file.Path()); err != nil {
		c.state.Store(&state[T]{file: st.file, written: unread})
		return err
	}
	c.state.Store(&st)
	return nil
}

// blank has the column know nothing.
func (c *column[T]) blank() {
	c.state.Store(&state[T]{file: c.state.Load().file, sampled: true, stale: true})
}
