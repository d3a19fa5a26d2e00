package cleaning

import (
	"fmt"
	"io"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/compact"
)

// Segment is a segment that is read.
type Segment struct {
	compact.Segment
	Next kafka.Offset // where the next one begins
	// Open gives the file, and what ends its use.
	Open func() (file io.ReaderAt, release func(), err error)
}

// Limits bound what a round uses.
type Limits struct {
	MapBytes    int64   // log.cleaner.dedupe.buffer.size, of one worker
	MapLoad     float64 // log.cleaner.io.buffer.load.factor
	BufferBytes int     // of each of the two buffers
	// Pace is called with the bytes that were read or written, after each piece. It may wait, and should look at stopped
	// then; an error ends the round. nil: nobody waits.
	Pace func(bytes int, stopped func() error) error
}

// Task is a log that is to be cleaned.
type Task struct {
	Dir string // of the partition
	// Segments are all of the log, in order; those from Bound on are only looked at for markers of transactions, which
	// count below HW.
	Segments          []Segment
	First, Bound      kafka.Offset // the dirty part
	KeysTo            kafka.Offset // keys are looked at up to there if it is above Bound: rule compact-below-hw off
	HW                kafka.Offset
	NowMs             int64
	DeleteRetentionMs int64
	Group             compact.Limits
	IndexInterval     int32
	Newest            []compact.Newest
	Rules             compact.Rules
	// Replace is called for each group of segments whose replacement is durable under its .cleaned names, in order. An
	// error ends the round. What it does with the files is its own affair.
	Replace func(Replacement) error
	// Stopped is an error when the round is to end soon; it is asked with each piece.
	Stopped func() error
}

// Replacement is the files that take the place of segments.
type Replacement struct {
	From, Count int          // Task.Segments[From : From+Count]
	Base        kafka.Offset // of the first of them: the name of the new files
	Size        int64
	Suffixes    []string // of its files, without .cleaned; that of the log is the last
}

// Worker runs rounds, one after the other, and keeps the memory for the next.
type Worker struct {
	limits  Limits
	offsets *compact.Map
	in, out []byte
}

// NewWorker is a worker within limits.
func NewWorker(limits Limits) *Worker { return &Worker{limits: limits} }

// Release gives the memory back until the next round.
func (w *Worker) Release() { w.offsets, w.in, w.out = nil, nil, nil }

// Run cleans a log. It returns the offset up to which the log is clean now: what is replaced stays replaced even if an
// error follows, but only without one the offset counts. Errors: compact.ErrUnreadable, those of the file system, of
// Limits.Pace and of Task.Replace.
func (w *Worker) Run(t *Task) (end kafka.Offset, stats compact.Stats, err error) {
	r := &round{Worker: w, Task: t}
	if err := r.prepare(); err != nil {
		return t.First, stats, err
	}
	err = r.build()
	if err == nil && r.dirty {
		err = r.rewrite()
	}
	stats = r.filter.Stats
	stats.MapBytes, stats.MapUsed, stats.Keys = r.offsets.Size(), r.offsets.Used(), int64(r.offsets.Len())
	r.shrink()
	stats.IOBuffer = r.most
	if err != nil {
		return t.First, stats, fmt.Errorf("cleaning: %s: %w", t.Dir, err)
	}
	return r.end(), stats, nil
}

// end is up to where the log is clean when the segments below are rewritten.
func (r *round) end() kafka.Offset { return min(r.offsets.End(), r.Bound) }

// round is one round of a worker.
type round struct {
	*Worker
	*Task
	filter *compact.Filter
	txns   *compact.Txns // nil until a transactional batch is met
	dirty  bool          // there is a batch in the dirty part
	tail   record.Header // the last batch of a group
	most   int64         // bytes of buffers
}

// prepare makes room for the keys of the dirty part: as many as it has offsets, or as fit.
func (r *round) prepare() error {
	need := max(r.Bound, r.KeysTo) - r.First
	if r.offsets == nil || r.offsets.Room() < need && r.offsets.Size() <= r.limits.MapBytes-compact.SlotSize {
		r.offsets = nil // before the next is made
		m, err := compact.NewMap(r.limits.MapBytes, r.limits.MapLoad, need)
		if err != nil {
			return fmt.Errorf("cleaning: %s: %w", r.Dir, err)
		}
		r.offsets = m
	}
	r.offsets.Reset(r.First)
	r.filter = compact.NewFilter(compact.Round{
		Map: r.offsets, NowMs: r.NowMs, DeleteRetentionMs: r.DeleteRetentionMs, Newest: r.Newest, Rules: r.Rules,
	})
	return nil
}

// build puts the keys of the dirty part into the map.
func (r *round) build() error {
	for i := range r.Segments {
		s := &r.Segments[i]
		if s.Next <= r.First || s.Base >= max(r.Bound, r.KeysTo) {
			continue
		}
		full := false
		err := r.batches(s, func(h *record.Header, batch []byte) error {
			if h.LastOffset() < r.First {
				return nil
			}
			if h.IsTransactional() && r.txns == nil {
				if err := r.decide(i, h.BaseOffset); err != nil {
					return err
				}
				if s.Base >= r.Bound {
					return errStop
				}
			}
			ok, err := r.filter.Put(h, batch)
			if err != nil {
				return err
			}
			if full = !ok; full {
				return errStop
			}
			r.dirty = true
			return nil
		})
		if err != nil {
			return err
		}
		if full {
			if r.offsets.End() == r.First {
				return fmt.Errorf("%w: a map of %d bytes has no room for the keys of the batch at %d", compact.ErrNoRoom, r.offsets.Size(), r.First)
			}
			return nil
		}
		if s.Base < r.Bound {
			r.offsets.Extend(min(s.Next, r.Bound)) // over a gap, too (KAFKA-8764)
		}
	}
	return nil
}

// scanBuffer is what is read at a time in search of markers, in bytes.
const scanBuffer = 64 << 10

// decide finds out which transactions of the dirty part were aborted. The first one begins in Segments[i] at from. The bound
// is lowered to what is decided.
func (r *round) decide(i int, from kafka.Offset) error {
	r.txns = compact.NewTxns(r.First)
	r.filter.Txns = r.txns
	scan := &Worker{limits: r.limits} // the buffer of this one holds the batch at hand
	scan.limits.BufferBytes = min(scan.limits.BufferBytes, scanBuffer)
	for ; i < len(r.Segments); i++ {
		s := &r.Segments[i]
		if _, open := r.txns.Open(); s.Base >= r.HW || s.Base >= r.Bound && !open {
			break
		}
		err := (&round{Worker: scan, Task: r.Task}).batches(s, func(h *record.Header, batch []byte) error {
			if h.LastOffset() < from {
				return nil
			}
			if h.LastOffset() >= r.HW {
				return errStop
			}
			return r.txns.Note(h, batch)
		})
		if err != nil {
			return err
		}
	}
	if first, open := r.txns.Open(); open {
		for j := len(r.Segments) - 1; j >= 0 && r.Bound > first; j-- {
			r.Bound = min(r.Bound, r.Segments[j].Base)
		}
		r.Bound = max(r.Bound, r.First)
	}
	return nil
}

// rewrite filters the segments below the end of the map, group by group.
func (r *round) rewrite() error {
	var segs []compact.Segment
	end := r.end()
	next := end
	for i := range r.Segments {
		if s := &r.Segments[i]; s.Base < end {
			segs = append(segs, s.Segment)
			next = max(next, s.Next)
		}
	}
	from := 0
	for _, n := range compact.Group(segs, next, r.Group) {
		if err := r.group(from, n); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// group writes what takes the place of some segments, and has them replaced, unless they stay as they are.
func (r *round) group(from, n int) error {
	before := r.filter.Stats
	out, err := create(r.Dir, r.Segments[from].Base, r.IndexInterval)
	if err != nil {
		return err
	}
	defer out.discard()
	r.tail = record.Header{}
	for i := from; i < from+n; i++ {
		if err := r.filterSegment(&r.Segments[i], out); err != nil {
			return err
		}
	}
	if err := r.keepTail(out); err != nil {
		return err
	}
	after := r.filter.Stats
	if n == 1 && before.Rebuilt == after.Rebuilt && before.Emptied == after.Emptied && before.Dropped == after.Dropped {
		return nil
	}
	var bases []kafka.Offset
	for _, s := range r.Segments[from : from+n] {
		bases = append(bases, s.Base)
	}
	if err := out.finish(bases); err != nil {
		return err
	}
	err = r.Replace(Replacement{From: from, Count: n, Base: out.base, Size: out.size, Suffixes: out.suffixes})
	if err == nil {
		out.suffixes = nil // there are no such names any more
	}
	return err
}

// keepTail sees to it that what takes the place of a group ends where the group did.
func (r *round) keepTail(out *output) error {
	if r.tail.Length == 0 {
		return nil // it ends with its last batch, or had none
	}
	var kept record.Header
	if r.out, kept = r.filter.Tail(r.out, &r.tail); len(r.out) == 0 {
		return nil
	}
	if err := out.note(&kept, 0, r.out); err != nil {
		return err
	}
	return r.write(out)
}

func (r *round) filterSegment(s *Segment, out *output) error {
	err := r.batches(s, func(h *record.Header, batch []byte) error {
		before := len(r.out)
		if before > 0 && before+len(batch) > r.limits.BufferBytes {
			if err := r.write(out); err != nil {
				return err
			}
			before = 0
		}
		var kept record.Header
		var err error
		if r.out, kept, err = r.filter.Batch(r.out, h, batch); err != nil {
			return err
		}
		if r.tail = (record.Header{}); len(r.out) == before {
			r.tail = *h
			return nil
		}
		return out.note(&kept, int64(before), r.out[before:])
	})
	if err != nil {
		return err
	}
	err = r.write(out)
	r.shrink()
	return err
}

// write puts what is buffered into the file.
func (r *round) write(out *output) error {
	n := len(r.out)
	err := out.write(r.out)
	r.out = r.out[:0]
	if err != nil {
		return err
	}
	return r.pace(n)
}

func (r *round) pace(n int) error {
	if err := r.Stopped(); err != nil || r.limits.Pace == nil || n == 0 {
		return err
	}
	return r.limits.Pace(n, r.Stopped)
}

// shrink gives back what a large batch needed.
func (r *round) shrink() {
	r.most = max(r.most, int64(cap(r.in)+cap(r.out))+r.filter.Buffers())
	if cap(r.in) > r.limits.BufferBytes {
		r.in = nil
	}
	if cap(r.out) > r.limits.BufferBytes {
		r.out = nil
	}
	r.out = r.out[:0]
	r.filter.Shrink(r.limits.BufferBytes)
}
