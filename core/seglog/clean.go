package seglog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/seglog/cleaning"
	"trialog/core/seglog/compact"
	"trialog/core/seglog/layout"
)

// CleanedTo is the first dirty offset of a compacted log, for cleaner-offset-checkpoint: -1 if it was never cleaned.
func (l *Log) CleanedTo() kafka.Offset { return l.cleanedTo.Load() }

// Dirt is what there is to clean of the log at the wall time nowMs, whatever its settings are but for the lags. An error is
// of the file system.
func (l *Log) Dirt(nowMs int64) (compact.Dirt, error) {
	return lookAgain(l, func() (compact.Dirt, error) { return l.dirt(*l.segments.Load(), nowMs) })
}

func (l *Log) dirt(segs []*segment, nowMs int64) (compact.Dirt, error) {
	set := l.settings.Load()
	c := compact.Log{
		Start: l.StartOffset(), End: segs[len(segs)-1].next(), HW: l.HighWatermark(), Undecided: l.FirstUndecided(), CleanedTo: l.CleanedTo(),
		MinLagMs: set.MinCompactionLagMs, MaxLagMs: set.MaxCompactionLagMs, AboveHW: !l.cfg.Rules.CompactBelowHW,
	}
	for _, s := range segs {
		d, err := s.described(set)
		if err != nil {
			return compact.Dirt{}, err
		}
		c.Segments = append(c.Segments, d)
	}
	return compact.Measure(c, nowMs), nil
}

// described is a segment for the choice; its times only where the settings ask for them.
func (s *segment) described(set *config.Topic) (compact.Segment, error) {
	d := compact.Segment{Base: s.base, Size: s.size(), FirstMs: kafka.NoTimestamp, LargestMs: kafka.NoTimestamp}
	var err error
	if set.MinCompactionLagMs > 0 {
		if d.LargestMs, err = s.largestTimestamp(); err != nil {
			return d, err
		}
	}
	if set.MaxCompactionLagMs == math.MaxInt64 || d.Size == 0 {
		return d, nil
	}
	f, err := s.acquire()
	if err != nil {
		return d, err
	}
	defer s.release()
	w := takeWindow(f)
	defer w.put()
	h, err := s.headerAt(w, 0, d.Size)
	d.FirstMs = h.MaxTimestamp
	return d, err
}

// Clean compacts the dirty part of the log with a worker, whatever its dirty ratio is. It returns what was dirty and what
// was done; where the next round begins is CleanedTo then. Nothing to do is no error. Appends, reads, retention and
// truncation go on meanwhile; a round that finds its segments changed ends with an error and is made again next time, as is
// one that runs out of space. compact.ErrUnreadable: the log has a damaged batch and cannot be cleaned. ErrFailed: as for
// an append, the log has stopped.
func (l *Log) Clean(w *cleaning.Worker, nowMs int64) (compact.Dirt, compact.Stats, error) {
	l.cleanMu.Lock()
	defer l.cleanMu.Unlock()
	if err := l.usable(); err != nil {
		return compact.Dirt{}, compact.Stats{}, err
	}
	if l.cfg.Rules.CompactBelowHW {
		if err := l.flushTo(0, true); err != nil { // so that all that is replaced is durable
			return compact.Dirt{}, compact.Stats{}, err
		}
	}
	l.appendMu.Lock()
	segs, before, truncations := *l.segments.Load(), l.CleanedTo(), l.truncations
	l.appendMu.Unlock()
	d, err := l.dirt(segs, nowMs)
	if err != nil || d.Dirty == 0 {
		return d, compact.Stats{}, l.sayCleaning(err)
	}
	if l.cfg.SaveRecoveryPoint != nil { // should the policy change, recovery accepts the holes that are made now only below it
		if err := l.cfg.SaveRecoveryPoint(l.FlushedTo()); err != nil {
			return d, compact.Stats{}, l.sayCleaning(err)
		}
	}
	from := l.cleanedFrom(segs)
	end, stats, err := w.Run(l.task(from, d, nowMs))
	switch {
	case err == nil:
		l.cleaned(before, end, truncations)
	case l.cutSince(from):
		err = fmt.Errorf("%w: %w", errMoved, err) // what was read was of two times
	}
	return d, stats, l.sayCleaning(err)
}

// cleaned raises the first dirty offset, unless a truncation has come meanwhile: what is there now may not be what was read,
// even where nothing had to be replaced.
func (l *Log) cleaned(before, end kafka.Offset, truncations int) {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if l.truncations == truncations {
		l.cleanedTo.CompareAndSwap(before, end)
	}
}

func (l *Log) sayCleaning(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("seglog: clean %s: %w", l.cfg.Partition, err)
}

func (l *Log) cleanedFrom(segs []*segment) []cleanedFrom {
	from := make([]cleanedFrom, len(segs))
	for i, s := range segs {
		cuts := s.cuts.Load() // before the bounds, as for a read
		next, size := s.bounds()
		from[i] = cleanedFrom{segment: s, next: next, size: size, cuts: cuts}
	}
	return from
}

// cutSince reports that the log was truncated.
func (l *Log) cutSince(from []cleanedFrom) bool {
	for _, s := range from {
		if s.cuts != s.segment.cuts.Load() {
			return true
		}
	}
	return false
}

func (l *Log) task(from []cleanedFrom, d compact.Dirt, nowMs int64) *cleaning.Task {
	set := l.settings.Load()
	t := &cleaning.Task{
		Dir: l.dir, First: d.First, Bound: d.Bound, HW: l.HighWatermark(), NowMs: nowMs, DeleteRetentionMs: set.DeleteRetentionMs,
		Group:         compact.Limits{SegmentBytes: int64(set.SegmentBytes), IndexBytes: int64(set.SegmentIndexBytes)},
		IndexInterval: set.IndexIntervalBytes, Newest: l.newest(),
		Rules:   compact.Rules{KeepLogEnd: l.cfg.Rules.CompactKeepsLogEnd, DeleteHorizon: l.cfg.Rules.CompactDeleteHorizon},
		Stopped: l.stopped,
	}
	for _, s := range from {
		t.Segments = append(t.Segments, s.source())
	}
	if !l.cfg.Rules.CompactBelowHW {
		t.KeysTo = from[len(from)-1].next
	}
	t.Replace = func(r cleaning.Replacement) error { return l.replace(from[r.From:r.From+r.Count], r, nowMs) }
	return t
}

// stopped is an error when the log is to be closed.
func (l *Log) stopped() error {
	if l.closing.Load() {
		return fmt.Errorf("%w: %s", ErrClosed, l.cfg.Partition)
	}
	return nil
}

func (s cleanedFrom) source() cleaning.Segment {
	size := func(suffix string) int64 {
		info, err := os.Stat(s.path(suffix))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return cleaning.Segment{
		Segment: compact.Segment{Base: s.base, Size: s.size, IndexSize: size(layout.IndexSuffix), TimeSize: size(layout.TimeIndexSuffix)},
		Next:    s.next,
		Open: func() (io.ReaderAt, func(), error) {
			f, err := s.acquire()
			if errors.Is(err, errGone) {
				err = errMoved
			}
			return f, s.release, err
		},
	}
}

// newest is what must stay of each producer.
func (l *Log) newest() []compact.Newest {
	var all []compact.Newest
	for _, p := range l.Producers() {
		n := compact.Newest{ID: p.ID, Epoch: p.Epoch, LastOffset: kafka.NoOffset}
		if b, ok := p.Last(); ok {
			n.LastOffset = b.LastOffset
		}
		all = append(all, n)
	}
	return all
}

// Uncleanable reports an error of Clean that another attempt will meet again.
func Uncleanable(err error) bool {
	return !errors.Is(err, errMoved) &&
		(errors.Is(err, compact.ErrUnreadable) || errors.Is(err, compact.ErrNoRoom) || errors.Is(err, compact.ErrTooLarge))
}
