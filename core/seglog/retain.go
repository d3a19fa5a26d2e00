package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/index"
	"trialog/core/seglog/layout"
)

// Retain applies retention.ms and retention.bytes at the wall time nowMs, under cleanup.policy delete: whole segments
// below the HW, oldest first. The active segment is rolled first if its turn has come, so that an idle partition empties
// too. It returns how many segments were deleted; their files are renamed to .deleted, and removed by RemoveDeleted once
// file.delete.delay.ms have passed. Under cleanup.policy compact alone, only what lies below the start offset goes.
func (l *Log) Retain(nowMs int64) (int, error) {
	set := l.settings.Load()
	if !set.CleanupDelete {
		return l.deletePrefix(nowMs, nothing)
	}
	expired := func(s *segment, total int64) bool {
		if set.RetentionBytes >= 0 && total-s.size() >= set.RetentionBytes {
			return true
		}
		if set.RetentionMs < 0 {
			return false
		}
		ts, err := lookAgain(l, func() (int64, error) { return s.youngest(nowMs - set.RetentionMs) }) // one that cannot be read is kept
		return err == nil && ts >= 0 && nowMs-ts > set.RetentionMs
	}
	if active := l.active(); active.size() > 0 && l.retainable(active) && set.RetentionMs >= 0 && expired(active, 0) {
		if err := l.rollIdle(active, kafka.Now{WallMs: nowMs}); err != nil {
			return 0, err
		}
	}
	return l.deletePrefix(nowMs, expired)
}

// nothing has no segment expire.
func nothing(*segment, int64) bool { return false }

// retainable reports that retention may delete the segment as far as the HW is concerned (KAFKA-5634).
func (l *Log) retainable(s *segment) bool {
	return s.next() <= l.HighWatermark() || !l.cfg.Rules.RetainBelowHW
}

// youngest is the largest timestamp of the segment. Before it says that this is below the given one, so that the segment may
// go, it looks whether the time index has its last entry: one that was cut short looks like a good one.
func (s *segment) youngest(below int64) (int64, error) {
	ts, err := s.largestTimestamp()
	if err != nil || ts < 0 || ts >= below || s.confirmed.Load() || !s.env.rules.IndexSanityCheck {
		return ts, err
	}
	w := takeWindow(nil)
	e, _, err := s.index.Time(ts, &w.scratch)
	w.put()
	if err != nil {
		return ts, s.lookupError(err)
	}
	younger := kafka.NoTimestamp
	err = s.headers(s.base+int64(e.Last), s.next(), func(h *record.Header) { younger = max(younger, h.MaxTimestamp) })
	if err == nil && younger > ts {
		return ts, s.lookupError(fmt.Errorf("%w: %s: its last entry is %+v, but there is a batch of %d ms", index.ErrDamaged, s.path(layout.TimeIndexSuffix), e, younger))
	}
	s.confirmed.Store(err == nil)
	return ts, err
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
// Segments that reach above the HW stay, and so do those whose flush has not ended.
func (l *Log) deletePrefix(nowMs int64, expired func(s *segment, total int64) bool) (int, error) {
	total, n := l.Size(), 0
	for {
		segs := *l.segments.Load()
		s := segs[0]
		if len(segs) == 1 || !s.clean.Load() || !l.retainable(s) {
			return n, nil
		}
		if s.next() > l.StartOffset() && !expired(s, total) {
			return n, nil
		}
		size := s.size()
		if first, err := l.deleteFirst(s); err != nil {
			return n, err
		} else if !first {
			continue
		}
		// One name at a time, each durable before the next: a power cut must not bring back a segment with a hole after it.
		err := l.markDeleted(s, nowMs)
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

// deleteFirst takes s out of the list, and raises the start offset, if s is still the first of several and was not cut
// meanwhile. Then Close waits until the caller has renamed the files and says background.Done: a log that is closed touches
// its directory no more, since that may belong to the next topic of the name by then.
func (l *Log) deleteFirst(s *segment) (bool, error) {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return false, err
	}
	segs := *l.segments.Load()
	if len(segs) < 2 || segs[0] != s || !s.clean.Load() {
		return false, nil
	}
	if err := l.raiseStart(segs[1].base); err != nil {
		return false, err
	}
	l.background.Add(1)
	l.setSegments(segs[1:])
	return true, nil
}

// deletedFile is a file that was renamed, and when it may be removed (ms, wall time).
type deletedFile struct {
	path  string
	dueMs int64
}

// markDeleted is the first step of a deletion: the files get a name that recovery does not take for a segment's.
func (l *Log) markDeleted(s *segment, nowMs int64) error {
	s.forget()
	if !l.cfg.Rules.TwoStepDeletion {
		return s.removeFiles()
	}
	if err := l.setAside(s, segmentSuffixes, nowMs); err != nil {
		return err
	}
	return syncDir(l.dir, l.cfg.Rules)
}

// setAside renames files of a segment to .deleted, which RemoveDeleted removes.
func (l *Log) setAside(s *segment, suffixes []string, nowMs int64) error {
	due := nowMs + l.settings.Load().FileDeleteDelayMs
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
		l.deleted = append(l.deleted, deletedFile{to, due})
		l.deletedMu.Unlock()
		stepped()
	}
	return nil
}

// RemoveDeleted is the second step: it removes the files of deleted segments whose time has come, and says when it comes for
// the next (ms, wall time), or 0. Slices that are open stay readable.
func (l *Log) RemoveDeleted(nowMs int64) (nextMs int64, err error) {
	l.deletedMu.Lock()
	defer l.deletedMu.Unlock()
	var left []deletedFile
	for _, f := range l.deleted {
		if nowMs >= f.dueMs && err == nil {
			if err = layout.RemoveIfThere(f.path); err == nil {
				continue
			}
			err = fmt.Errorf("seglog: remove deleted files of %s: %w", l.cfg.Partition, err)
		}
		left = append(left, f)
		nextMs = sooner(nextMs, f.dueMs)
	}
	l.deleted = left
	return nextMs, err
}

// sooner is the smaller of two times, of which 0 is none.
func sooner(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
