package seglog

import (
	"fmt"
	"os"

	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/txnindex"
)

// Truncate cuts everything at and above to: a follower's affair. The visible end drops before the file is cut
// (redpanda a1097d435d), and slices that reach into what is cut fail with ErrTruncated. The end offset becomes to, or the
// base offset of the batch that holds it, or, if to lies in a gap that compaction left, where the batch before it ends: what
// a restart would find, too. Below the start offset nothing can be kept: that is TruncateFully(to).
func (l *Log) Truncate(to kafka.Offset) error {
	if to < 0 {
		panic(fmt.Sprintf("seglog: truncate %s to %d", l.cfg.Partition, to))
	}
	if to < l.StartOffset() {
		return l.TruncateFully(to)
	}
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	return l.exclusive(func() error {
		if err := l.usable(); err != nil {
			return err
		}
		if err := l.truncate(to); err != nil {
			return l.fail(fmt.Errorf("seglog: truncate %s to %d: %w", l.cfg.Partition, to, err))
		}
		return nil
	})
}

func (l *Log) truncate(to kafka.Offset) error {
	if to >= l.EndOffset() {
		return l.cutEpochs(to)
	}
	segs := *l.segments.Load()
	i := find(segs, to)
	keep := segs[i]
	var next kafka.Offset
	var pos int64
	err := keep.withIndex(func() (err error) {
		next, pos, err = keep.endBefore(to)
		return err
	})
	if err != nil {
		return err
	}
	if next < l.StartOffset() {
		return l.truncateFully(l.StartOffset()) // the batch that holds the start goes, or it lay in a gap: nothing is left
	}
	if err := l.lowerRecoveryPoint(next); err != nil {
		return err
	}
	l.setSegments(segs[: i+1 : i+1])
	// As in recovery the last segment goes first, and all are gone before the file is cut: what stops in between leaves no
	// hole, which a compacted log would keep.
	for j := len(segs) - 1; j > i; j-- {
		if err := segs[j].drop(); err != nil {
			return err
		}
	}
	if i+1 < len(segs) {
		if err := syncDir(l.dir, l.cfg.Rules); err != nil {
			return err
		}
	}
	if err := keep.cutTo(next, pos, l.settings.Load().IndexIntervalBytes); err != nil {
		return err
	}
	l.hw.Store(min(l.hw.Load(), next))
	if err := l.rebuildProducers(next); err != nil {
		return err
	}
	if err := syncDir(l.dir, l.cfg.Rules); err != nil {
		return err
	}
	if err := l.cutEpochs(next); err != nil {
		return err
	}
	l.emit(event.Event{Kind: event.Truncate, Next: next})
	return nil
}

// lowerRecoveryPoint makes sure that nobody trusts what is about to be cut and written anew.
func (l *Log) lowerRecoveryPoint(to kafka.Offset) error {
	l.truncations++
	l.cleanedTo.Store(min(l.cleanedTo.Load(), to))
	if to >= l.flush.to.Load() {
		return nil
	}
	l.flush.to.Store(to)
	if l.cfg.SaveRecoveryPoint == nil {
		return nil
	}
	return l.cfg.SaveRecoveryPoint(to)
}

func (l *Log) cutEpochs(end kafka.Offset) error {
	l.epochMu.Lock()
	changed := l.epochs.TruncateFromEnd(end)
	l.epochMu.Unlock()
	if !changed {
		return nil
	}
	return l.saveEpochs()
}

// endBefore is where the segment ends when everything at and above to is cut: an offset and a position.
func (s *segment) endBefore(to kafka.Offset) (kafka.Offset, int64, error) {
	next, size := s.bounds()
	if to >= next {
		return next, size, nil
	}
	f, err := s.acquire()
	if err != nil {
		return to, 0, err
	}
	defer s.release()
	w := takeWindow(f)
	defer w.put()
	pos, err := s.locate(w, to, 0, size)
	if err != nil {
		return to, size, err
	}
	next, err = s.endAt(w, to, pos)
	return next, pos, err
}

// endAt is the offset after the last batch before pos, where the batch lies that holds to or follows it; the base of the
// segment if there is none. There may be a gap between the two, even if to is the base offset of the one at pos.
func (s *segment) endAt(w *window, to kafka.Offset, pos int64) (kafka.Offset, error) {
	next := s.base
	if pos == 0 {
		return next, nil
	}
	e, found, err := s.index.Offset(to-1-s.base, &w.scratch) // what ends below to lies before pos
	if err != nil {
		return next, s.lookupError(err)
	}
	for at := int64(e.Pos); at < pos; {
		h, err := s.headerAt(w, at, pos)
		if found && w.err == nil && (err != nil || h.LastOffset()-s.base != int64(e.Last)) && s.env.rules.IndexSanityCheck {
			return next, s.misplaced(e, h)
		}
		if found = false; err != nil {
			return next, err
		}
		next, at = h.NextOffset(), at+int64(h.Size())
	}
	return next, nil
}

// cutTo makes the segment end at next, pos and active again: first for readers, then on disk.
func (s *segment) cutTo(next kafka.Offset, pos int64, interval int32) error {
	if err := s.pin(); err != nil {
		return err
	}
	if err := s.withIndex(func() error { return s.lookupError(s.index.Load()) }); err != nil {
		return err
	}
	s.clean.Store(false)
	s.seal.Store(nil)
	s.publish(next, pos)
	err := s.onFile(func(f *os.File) error {
		s.cutMu.Lock()
		defer s.cutMu.Unlock()
		s.cutMin.Store(min(s.cutMin.Load(), pos))
		s.cuts.Add(1)
		return f.Truncate(pos)
	})
	if err != nil {
		return err
	}
	if err := s.sync(); err != nil {
		return err
	}
	if err := s.withIndex(func() error { return s.lookupError(s.index.Cut(next-s.base, pos)) }); err != nil {
		return err
	}
	if err := txnindex.Cut(s.path(layout.TxnIndexSuffix), next); err != nil {
		return err
	}
	_, err = s.findEnd(interval)
	return err
}

// drop removes the files of a segment that is no longer in the list: it was cut off, so slices of it are void.
func (s *segment) drop() error {
	s.void()
	s.forget()
	return s.removeFiles()
}

// void has all slices fail: the file is not cut, but it is not the log's any more.
func (s *segment) void() {
	s.cutMu.Lock()
	defer s.cutMu.Unlock()
	s.cutMin.Store(0)
	s.cuts.Add(1)
}

func (s *segment) removeFiles() error {
	for _, suffix := range segmentSuffixes {
		if err := layout.RemoveIfThere(s.path(suffix)); err != nil {
			return err
		}
	}
	return nil
}

// segmentSuffixes are the files of one segment. The snapshot holds what is below the segment, and is of no use without
// something below.
var segmentSuffixes = []string{layout.LogSuffix, layout.IndexSuffix, layout.TimeIndexSuffix, layout.TxnIndexSuffix, layout.SnapshotSuffix}

// rebuildProducers finds the producer state at end again after a truncation.
func (l *Log) rebuildProducers(end kafka.Offset) error {
	files, err := listFiles(l.dir)
	if err != nil {
		return err
	}
	r := &recovery{l: l, segs: *l.segments.Load(), files: files}
	if !l.producers.TruncateTo(end) {
		l.producers = producers.New(l.cfg.ProducerRules)
		if err := r.loadProducers(end); err != nil {
			return err
		}
	}
	l.publishUndecided()
	return files.removeSnapshots(l.dir, r.segs, end)
}

// TruncateFully deletes everything and starts the log anew at start: a follower whose log ends below the leader's start.
func (l *Log) TruncateFully(start kafka.Offset) error {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	return l.exclusive(func() error {
		if err := l.usable(); err != nil {
			return err
		}
		if err := l.truncateFully(start); err != nil {
			return l.fail(fmt.Errorf("seglog: truncate %s fully to %d: %w", l.cfg.Partition, start, err))
		}
		return nil
	})
}

func (l *Log) truncateFully(start kafka.Offset) error {
	if err := l.lowerRecoveryPoint(min(start, l.StartOffset())); err != nil {
		return err
	}
	old := *l.segments.Load()
	for i := len(old) - 1; i >= 0; i-- {
		s := old[i]
		s.void()
		s.forget()
		// Before the new file is made: it may have the same name.
		if err := os.Rename(s.path(layout.LogSuffix), s.path(layout.LogSuffix+layout.DeletedSuffix)); err != nil {
			return err
		}
		if err := s.removeFiles(); err != nil {
			return err
		}
	}
	fresh, err := createSegment(&l.env, l.dir, start)
	if err != nil {
		return err
	}
	l.setSegments([]*segment{fresh})
	l.start.Store(start)
	l.hw.Store(start)
	l.flush.to.Store(start)
	// No snapshot holds what comes now, whatever offset it is named after. Listing removes the .deleted files.
	files, err := listFiles(l.dir)
	if err == nil {
		err = files.removeSnapshots(l.dir, nil, kafka.NoOffset)
	}
	if err == nil {
		err = syncDir(l.dir, l.cfg.Rules)
	}
	if err != nil {
		return err
	}
	l.producers.Clear()
	l.publishUndecided()
	l.epochMu.Lock()
	changed := l.epochs.Clear()
	l.epochMu.Unlock()
	if changed {
		err = l.saveEpochs()
	}
	l.emit(event.Event{Kind: event.Truncate, Next: start})
	return err
}

// DeleteRecords moves the start offset up to before, and deletes segments that lie wholly below it. It returns the start
// offset. kafka.ErrOffsetOutOfRange: before is negative or above the HW. nowMs is for the removal of their files.
func (l *Log) DeleteRecords(before kafka.Offset, nowMs int64) (kafka.Offset, error) {
	if before < 0 || before > l.HighWatermark() {
		return l.StartOffset(), kafka.ErrOffsetOutOfRange
	}
	if err := l.moveStart(before); err != nil {
		return l.StartOffset(), err
	}
	_, err := l.deletePrefix(nowMs, nothing)
	return l.StartOffset(), err
}

// moveStart raises the start offset to one that is below the HW still: a truncation may have come between. A lower one does
// nothing.
func (l *Log) moveStart(to kafka.Offset) error {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if to > min(l.HighWatermark(), l.EndOffset()) {
		return kafka.ErrOffsetOutOfRange
	}
	return l.raiseStart(to)
}

// raiseStart raises the start offset. The append lock is held.
func (l *Log) raiseStart(to kafka.Offset) error {
	if to <= l.StartOffset() {
		return nil
	}
	l.start.Store(to)
	l.epochMu.Lock()
	changed := l.epochs.TruncateFromStart(to)
	l.epochMu.Unlock()
	if !changed {
		return nil
	}
	return l.saveEpochs()
}
