package seglog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"trialog/core/epochs"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog/index"
	"trialog/core/seglog/layout"
)

// loadEpochs reads the leader-epoch checkpoint. A missing or bad one is rebuilt from the batches (KAFKA-16541), and so is one
// that begins above the log start: a crash may take back a start that was raised, but not the epochs that went with it.
func (r *recovery) loadEpochs() error {
	text, err := layout.ReadIfThere(filepath.Join(r.l.dir, layout.EpochFile))
	if err != nil {
		return err
	}
	cache, err := epochs.ParseCheckpoint(text)
	if text == nil || err != nil {
		r.rebuild, r.dirty = true, true
		return nil
	}
	r.l.epochs = cache
	if all := cache.Entries(); !r.start.Clean && len(all) > 0 && all[0].Start > max(r.start.LogStart, r.segs[0].base) {
		r.rebuild, r.dirty = true, true
	}
	return nil
}

// trust takes the files of a clean stop as they are: only the headers after the last index entry are looked at, to find
// the end. Like Kafka, it does not look for damage: that is what the marker stands for.
func (r *recovery) trust() error {
	r.first = len(r.segs) - 1
	active := r.segs[r.first]
	if err := active.resumeIndex(); err != nil {
		return err
	}
	read, err := active.findEnd(r.l.cfg.Settings.IndexIntervalBytes)
	if errors.Is(err, errTooFar) {
		r.distrust(active)
		return nil
	}
	if err != nil {
		return err
	}
	r.read = read
	r.next = active.next()
	r.from = r.next
	if r.rebuild {
		if err := r.epochsBelow(r.next); err != nil {
			return err
		}
	}
	return r.loadProducers(r.next)
}

// lookFar looks for segments with offsets too far from their base, which old versions wrote, so that they are split. Few need
// to be looked into: the next one begins as far away.
func (r *recovery) lookFar() error {
	for i, s := range r.segs[:len(r.segs)-1] {
		if r.segs[i+1].base-s.base <= 1<<31 {
			continue
		}
		end, err := endOf(s.path(layout.LogSuffix), s.base)
		if err != nil {
			return err
		}
		if end-s.base > 1<<31 {
			r.distrust(s)
		}
	}
	return nil
}

// distrust has everything from the segment on scanned.
func (r *recovery) distrust(s *segment) {
	r.start.Clean, r.start.RecoveryPoint = false, min(r.start.RecoveryPoint, s.base)
}

// resumeIndex takes over the index files of a clean stop, or begins a new index.
func (s *segment) resumeIndex() error {
	x, offset, time, ok, err := index.Resume(s, s.place())
	if err != nil {
		return err
	}
	s.index.Forget()
	s.index = x
	if !ok {
		return s.resetIndex()
	}
	s.largest.Store(time.Timestamp)
	s.largestAt = s.base + int64(time.Last)
	if !s.env.rules.IndexSanityCheck {
		return nil
	}
	return s.onFile(func(f *os.File) error {
		w := takeWindow(f)
		defer w.put()
		h, err := s.headerAt(w, int64(offset.Pos), s.size())
		if w.err == nil && (err != nil || h.LastOffset()-s.base != int64(offset.Last)) {
			return s.resetIndex()
		}
		return w.err
	})
}

// findEnd walks the headers from the last index entry on and publishes the end; it returns how many bytes it read. Bytes
// after the last whole batch stay.
func (s *segment) findEnd(interval int32) (read int64, err error) {
	err = s.onFile(func(f *os.File) error {
		w := takeWindow(f)
		defer w.put()
		defer func() { read = w.bytes }()
		pos, err := s.lastIndexed()
		if err != nil {
			return err
		}
		size, next := s.size(), s.base
		for pos < size {
			h, err := s.headerAt(w, pos, size)
			if err != nil {
				break
			}
			if h.LastOffset()-s.base > 1<<31-1 {
				return errTooFar
			}
			if err := s.note(&h, pos, interval); err != nil {
				return err
			}
			next, pos = h.NextOffset(), pos+int64(h.Size())
		}
		if w.err != nil {
			return w.err
		}
		s.publish(next, size)
		return nil
	})
	return read, err
}

// lastIndexed is the position of the last index entry; the state of the index becomes what it was when that was made.
func (s *segment) lastIndexed() (int64, error) {
	s.sinceIndex = 0
	s.firstTs = largestUnknown
	offset, knownOffset, err := s.index.LastOffset()
	if err != nil {
		return 0, err
	}
	time, knownTime, err := s.index.LastTime()
	if err != nil {
		return 0, err
	}
	if !knownOffset || !knownTime {
		return 0, s.resetIndex()
	}
	s.largest.Store(time.Timestamp)
	s.largestAt = s.base + int64(time.Last)
	return int64(offset.Pos), nil
}

// resume finds the place from which on a segment has to be read: not far below the recovery point, as the index files say
// if they can be believed so far. They are written after the batches, so they may lack entries at the end, but none in
// between: below its last time entry an index is whole.
func (r *recovery) resume(s *segment) (pos int64, err error) {
	r.next = s.base
	if r.start.RecoveryPoint <= s.base || r.suspect {
		return 0, nil
	}
	// Of aborted transactions nothing may be missing: a damaged index of them is made anew from all markers.
	aborted, err := layout.ReadIfThere(s.path(layout.TxnIndexSuffix))
	if err != nil {
		return 0, err
	}
	if _, bad := layout.ParseTxnIndex(aborted); bad != nil {
		return 0, nil
	}
	x, offset, time, ok, err := index.ResumeBelow(s, s.place(), r.start.RecoveryPoint-s.base)
	if err != nil || !ok {
		return 0, err
	}
	err = s.onFile(func(f *os.File) error {
		w := takeWindow(f)
		defer w.put()
		h, err := s.headerAt(w, int64(offset.Pos), s.size())
		if err != nil || h.LastOffset()-s.base != int64(offset.Last) {
			return w.err
		}
		s.index.Forget()
		s.index = x
		s.largest.Store(time.Timestamp)
		s.largestAt = s.base + int64(time.Last)
		s.sinceIndex = 0
		r.next, pos = h.BaseOffset, int64(offset.Pos)
		return nil
	})
	if pos == 0 {
		x.Forget()
	}
	return pos, err
}

// epochsBelow rebuilds the epoch cache from the headers of all batches below end.
func (r *recovery) epochsBelow(end kafka.Offset) error {
	r.l.epochs.Clear()
	return r.headers(r.segs[0].base, end, func(h *record.Header) {
		if h.LeaderEpoch >= 0 {
			r.l.epochs.Assign(h.LeaderEpoch, h.BaseOffset)
		}
	})
}

// loadProducers is the producer state at end: the newest snapshot at or below it that can be read, and the batches from
// there on. Bad snapshots are removed (KAFKA-9892).
func (r *recovery) loadProducers(end kafka.Offset) error {
	if !r.l.cfg.Rules.RecoverProducerState {
		return nil
	}
	from := r.segs[0].base
	for _, at := range slices.Backward(r.files.snapshots) {
		if at > end || at < from {
			continue
		}
		path := filepath.Join(r.l.dir, layout.FileName(at, layout.SnapshotSuffix))
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		state, err := producers.ParseSnapshot(r.l.cfg.ProducerRules, at, b)
		if err == nil {
			r.l.producers, from = state, at
			break
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return r.headers(from, end, func(h *record.Header) { r.l.producers.Update(h) })
}

// headers calls fn for the batches of [from, end) in segments that are not scanned.
func (r *recovery) headers(from, end kafka.Offset, fn func(*record.Header)) error {
	for i := find(r.segs, from); from < end && i < len(r.segs) && r.segs[i].base < end; i++ {
		s := r.segs[i]
		if err := s.withIndex(func() error { return s.headers(from, end, fn) }); err != nil {
			return err
		}
	}
	return nil
}

// headers calls fn for the batches of [from, end), as far as there are whole ones. Errors are of reading, and of lookups.
func (s *segment) headers(from, end kafka.Offset, fn func(*record.Header)) error {
	f, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	w := takeWindow(f)
	defer w.put()
	size := s.size()
	pos, err := s.locate(w, from, 0, size)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	for err == nil && pos < size {
		var h record.Header
		if h, err = s.headerAt(w, pos, size); err == nil {
			if h.BaseOffset >= end {
				break
			}
			fn(&h)
			pos += int64(h.Size())
		}
	}
	return w.err
}

// writeAgain writes the bytes of [from, to) as they are: after a failed fsync the kernel takes their pages for written,
// although they may not be on disk.
func (s *segment) writeAgain(from, to int64) error {
	return s.onFile(func(f *os.File) error {
		buf := make([]byte, scanWindow)
		for at := from; at < to; at += int64(len(buf)) {
			b := buf[:min(int64(len(buf)), to-at)]
			if _, err := f.ReadAt(b, at); err != nil {
				return err
			}
			if _, err := f.WriteAt(b, at); err != nil {
				return err
			}
		}
		return nil
	})
}

// split moves the batches of segs[i] from pos on, which are too far from its base, to a segment of their own. A crash leaves
// them in both: then the second copy is complete, and cutting the first is all that is left to do.
func (r *recovery) split(i int, pos int64) error {
	s := r.segs[i]
	base, next, size, err := s.tailFrom(pos)
	if err != nil {
		return err
	}
	if i+1 < len(r.segs) && r.segs[i+1].base <= base {
		if r.segs[i+1].base < base {
			return fmt.Errorf("%s: segment %d overlaps the batch at %d", s.path(layout.LogSuffix), r.segs[i+1].base, pos)
		}
		return s.shrink(pos)
	}
	path := filepath.Join(s.dir, layout.FileName(base, layout.LogSuffix))
	if err := s.copyTail(path, pos); err != nil {
		return err
	}
	if err := syncDir(s.dir, AllRules()); err != nil {
		return err
	}
	if i+1 < len(r.segs) {
		next = min(next, r.segs[i+1].base)
	}
	fresh := newSegment(&r.l.env, s.dir, base, next, size-pos)
	r.segs = slices.Insert(r.segs, i+1, fresh)
	return s.shrink(pos)
}

// tailFrom is the base offset of the batch at pos, what the end offset of a segment that begins with it may be, and the
// size of the file.
func (s *segment) tailFrom(pos int64) (base, next kafka.Offset, size int64, err error) {
	err = s.onFile(func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		size = info.Size()
		w := takeWindow(f)
		defer w.put()
		h, err := s.headerAt(w, pos, size)
		base, next = h.BaseOffset, h.BaseOffset+1<<31
		return err
	})
	return base, next, size, err
}

// copyTail copies what lies from pos on to a new file, which has its name only when it is complete and durable.
func (s *segment) copyTail(path string, pos int64) error {
	return s.onFile(func(f *os.File) error {
		to, err := os.OpenFile(path+layout.TmpSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		defer to.Close()
		if _, err := io.Copy(to, io.NewSectionReader(f, pos, 1<<62)); err != nil {
			return err
		}
		if err := to.Sync(); err != nil {
			return err
		}
		return os.Rename(path+layout.TmpSuffix, path)
	})
}
