package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/seglog/layout"
)

// Truncate cuts everything at and above to: a follower's affair. The visible end drops before the file is cut
// (redpanda a1097d435d), and slices that reach into what is cut fail with ErrTruncated. The end offset becomes to, or the
// base offset of the batch that holds it. Below the start offset nothing can be kept: that is TruncateFully(to).
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
	next, pos, err := keep.endBefore(to)
	if err != nil {
		return err
	}
	if next < l.StartOffset() {
		return l.truncateFully(l.StartOffset()) // the batch that holds the start goes, and nothing is left
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
	w := takeWindow(s.file)
	defer w.put()
	pos, err := s.locate(w, to, 0, size)
	if err != nil || pos == size {
		return to, size, err
	}
	h, err := s.headerAt(w, pos, size)
	return min(h.BaseOffset, to), pos, err
}

// cutTo makes the segment end at next, pos and active again: first for readers, then on disk.
func (s *segment) cutTo(next kafka.Offset, pos int64, interval int32) error {
	if _, _, err := s.indexes(); err != nil {
		return err
	}
	s.cache.remove(s)
	s.clean.Store(false)
	s.seal.Store(nil)
	s.publish(next, pos)
	s.cutMu.Lock()
	s.cutMin.Store(min(s.cutMin.Load(), pos))
	s.cuts.Add(1)
	err := s.file.Truncate(pos)
	s.cutMu.Unlock()
	if err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	s.loadMu.Lock()
	defer s.loadMu.Unlock()
	s.loaded.Store(true)
	offsets, times := s.offsets.load(), s.times.load()
	for len(offsets) > 0 && int64(offsets[len(offsets)-1].Pos) >= pos {
		offsets = offsets[:len(offsets)-1]
	}
	for len(times) > 0 && s.base+int64(times[len(times)-1].Last) >= next {
		times = times[:len(times)-1]
	}
	s.offsets.set(offsets)
	s.times.set(times)
	s.largest.Store(kafka.NoTimestamp)
	return s.findEnd(interval)
}

// drop removes the files of a segment that is no longer in the list: it was cut off, so slices of it are void.
func (s *segment) drop() error {
	s.void()
	s.cache.remove(s)
	s.release()
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
	l.producers = producers.New(l.cfg.ProducerRules)
	r := &recovery{l: l, segs: *l.segments.Load(), files: files}
	if err := r.loadProducers(end); err != nil {
		return err
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
		// Before the new file is made: it may have the same name.
		if err := os.Rename(s.path(layout.LogSuffix), s.path(layout.LogSuffix+layout.DeletedSuffix)); err != nil {
			return err
		}
		if err := s.removeFiles(); err != nil {
			return err
		}
	}
	fresh, err := createSegment(l.dir, start, &l.cache)
	if err != nil {
		return err
	}
	l.setSegments([]*segment{fresh})
	l.start.Store(start)
	l.hw.Store(start)
	l.flush.to.Store(start)
	for _, s := range old {
		s.cache.remove(s)
		s.release()
	}
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
// offset. kafka.ErrOffsetOutOfRange: before is negative or above the HW.
func (l *Log) DeleteRecords(before kafka.Offset) (kafka.Offset, error) {
	if before < 0 || before > l.HighWatermark() {
		return l.StartOffset(), kafka.ErrOffsetOutOfRange
	}
	if err := l.moveStart(before); err != nil {
		return l.StartOffset(), err
	}
	_, err := l.deletePrefix(func(*segment, int64) bool { return false })
	return l.StartOffset(), err
}

// moveStart raises the start offset; a lower one does nothing.
func (l *Log) moveStart(to kafka.Offset) error {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
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

// Retain applies retention.ms and retention.bytes at the wall time nowMs, under cleanup.policy delete: whole segments
// below the HW, oldest first. The active segment is rolled first if its turn has come, so that an idle partition empties
// too. It returns how many segments were deleted; their files are renamed to .deleted and removed by RemoveDeleted.
func (l *Log) Retain(nowMs int64) (int, error) {
	set := l.settings.Load()
	if !set.CleanupDelete {
		return l.deletePrefix(func(*segment, int64) bool { return false })
	}
	expired := func(s *segment, total int64) bool {
		if set.RetentionBytes >= 0 && total-s.size() >= set.RetentionBytes {
			return true
		}
		if set.RetentionMs < 0 {
			return false
		}
		ts, err := s.largestTimestamp() // a segment that cannot be read is kept
		return err == nil && ts >= 0 && nowMs-ts > set.RetentionMs
	}
	if active := l.active(); active.size() > 0 && active.next() <= l.HighWatermark() && set.RetentionMs >= 0 && expired(active, 0) {
		if err := l.rollIdle(active, kafka.Now{WallMs: nowMs}); err != nil {
			return 0, err
		}
	}
	return l.deletePrefix(expired)
}

// rollIdle seals the active segment, if it is still that one, and waits until it is on disk.
func (l *Log) rollIdle(idle *segment, now kafka.Now) error {
	l.appendMu.Lock()
	err := l.usable()
	if err == nil && l.active() == idle && idle.size() > 0 {
		if _, err = l.roll(idle.next(), now); err != nil {
			err = l.fail(fmt.Errorf("seglog: roll %s at %d: %w", l.cfg.Partition, idle.next(), err))
		}
	}
	l.appendMu.Unlock()
	if err != nil {
		return err
	}
	return l.flushTo(0, true)
}

// deletePrefix deletes sealed segments from the oldest on as long as they are below the start offset or expired says so.
// Segments that reach above the HW stay (KAFKA-5634), and so do those whose flush has not ended.
func (l *Log) deletePrefix(expired func(s *segment, total int64) bool) (int, error) {
	total, n := l.Size(), 0
	for {
		segs := *l.segments.Load()
		s := segs[0]
		if len(segs) == 1 || !s.clean.Load() || s.next() > l.HighWatermark() {
			return n, nil
		}
		if s.next() > l.StartOffset() && !expired(s, total) {
			return n, nil
		}
		size := s.size()
		if err := l.moveStart(segs[1].base); err != nil {
			return n, err
		}
		if !l.deleteFirst(s) {
			continue
		}
		// One name at a time, each durable before the next: a power cut must not bring back a segment with a hole after it.
		err := l.markDeleted(s)
		if err != nil {
			err = l.fail(fmt.Errorf("seglog: delete segment %d of %s: %w", s.base, l.cfg.Partition, err))
		}
		l.background.Done()
		if err != nil {
			return n, err
		}
		total -= size
		n++
	}
}

// deleteFirst takes s out of the list if it is still the first of several and the log is open. Then Close waits until
// the caller has renamed the files and says background.Done: a log that is closed touches its directory no more, since
// that may belong to the next topic of the name by then.
func (l *Log) deleteFirst(s *segment) bool {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	segs := *l.segments.Load()
	if l.closed.Load() || len(segs) < 2 || segs[0] != s {
		return false
	}
	l.background.Add(1)
	l.setSegments(segs[1:])
	return true
}

func (l *Log) markDeleted(s *segment) error {
	s.cache.remove(s)
	s.release()
	if err := l.setAside(s, segmentSuffixes); err != nil {
		return err
	}
	return syncDir(l.dir, l.cfg.Rules)
}

// setAside renames files of a segment to .deleted, which RemoveDeleted removes.
func (l *Log) setAside(s *segment, suffixes []string) error {
	for _, suffix := range suffixes {
		from, to := s.path(suffix), s.path(suffix+layout.DeletedSuffix)
		err := os.Rename(from, to)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		l.deletedMu.Lock()
		l.deleted = append(l.deleted, to)
		l.deletedMu.Unlock()
		stepped()
	}
	return nil
}

// RemoveDeleted removes the files of deleted segments. Slices that are open stay readable.
func (l *Log) RemoveDeleted() error {
	l.deletedMu.Lock()
	paths := l.deleted
	l.deleted = nil
	l.deletedMu.Unlock()
	for _, path := range paths {
		if err := layout.RemoveIfThere(path); err != nil {
			return fmt.Errorf("seglog: remove deleted files of %s: %w", l.cfg.Partition, err)
		}
	}
	return nil
}
