package seglog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"trialog/core/epochs"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// scanWindow is how much one pread of a recovery takes in.
const scanWindow = 256 << 10

// Open opens the log in the directory dir, which is made if it does not exist, and recovers it. When it returns, all
// that the log holds is durable, unless start.Clean said so already.
//
// After an unclean stop the log ends before the first batch that is not whole, does not follow the one before it, or has
// a wrong CRC; what comes after it is cut off, later segments included: a hole is never kept, since a log with a hole
// would be taken for complete.
func Open(dir string, cfg Config, start Start) (*Log, error) {
	l := &Log{cfg: cfg, dir: dir, topicID: cfg.TopicID, epochs: &epochs.Cache{}, producers: producers.New(cfg.ProducerRules)}
	l.flush.done = sync.NewCond(&l.flush.mu)
	l.SetSettings(cfg.Settings)
	l.cleanedTo.Store(start.CleanedTo)
	r := &recovery{l: l, start: start}
	if err := r.run(); err != nil {
		for _, s := range r.segs {
			s.release()
		}
		return nil, fmt.Errorf("seglog: open %s: %w", dir, err)
	}
	return l, nil
}

// recovery opens a log.
type recovery struct {
	l     *Log
	start Start
	segs  []*segment
	files listing

	first   int  // segs[first:] are read
	rebuild bool // the epochs have to be found in the batches
	dirty   bool // the epochs differ from the file
	next    kafka.Offset
	epoch   kafka.LeaderEpoch

	read, cut int64 // bytes
	dropped   int   // segments
	why       error // of the cut; nil: nothing was cut
	fresh     bool
}

func (r *recovery) run() error {
	var err error
	if r.fresh, err = r.l.prepareDir(); err != nil {
		return err
	}
	if err = finishSwaps(r.l.dir, r.l.cfg.Rules); err != nil {
		return err
	}
	if r.files, err = listFiles(r.l.dir); err != nil {
		return err
	}
	if err = r.openSegments(); err != nil {
		return err
	}
	if err = r.loadEpochs(); err != nil {
		return err
	}
	if r.start.Clean || r.fresh {
		err = r.trust()
	} else {
		err = r.scan()
	}
	if err == nil {
		err = r.adopt()
	}
	return err
}

// openSegments opens all .log files; an empty directory gets its first segment.
func (r *recovery) openSegments() error {
	l := r.l
	for i, base := range r.files.logs {
		f, err := os.OpenFile(filepath.Join(l.dir, layout.FileName(base, layout.LogSuffix)), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.Size() > 1<<31-1 {
			err = fmt.Errorf("%s: %d bytes, more than a segment can have", f.Name(), info.Size())
		}
		next := base + 1<<31 // of the last one it is not known yet
		if i+1 < len(r.files.logs) {
			next = min(next, r.files.logs[i+1])
		}
		if err != nil {
			f.Close()
			return err
		}
		s := newSegment(l.dir, base, next, info.Size(), f, &l.cache)
		s.clean.Store(true)
		r.segs = append(r.segs, s)
	}
	if len(r.segs) > 0 {
		return nil
	}
	s, err := createSegment(l.dir, r.start.LogStart, &l.cache)
	if err != nil {
		return err
	}
	r.segs = append(r.segs, s)
	return syncDir(l.dir, AllRules())
}

// loadEpochs reads the leader-epoch checkpoint. A missing or bad one is rebuilt from the batches (KAFKA-16541).
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
	return nil
}

// trust takes the files of a clean stop as they are: only the headers after the last index entry are looked at, to find
// the end. Like Kafka, it does not look for damage: that is what the marker stands for.
func (r *recovery) trust() error {
	r.first = len(r.segs) - 1
	active := r.segs[r.first]
	if _, _, err := active.indexes(); err != nil {
		return err
	}
	r.l.cache.remove(active)
	if err := active.findEnd(r.l.cfg.Settings.IndexIntervalBytes); err != nil {
		return err
	}
	r.next = active.next()
	if r.rebuild {
		if err := r.epochsBelow(r.next); err != nil {
			return err
		}
	}
	return r.loadProducers(r.next)
}

// findEnd walks the headers from the last index entry on and publishes the end. Bytes after the last whole batch stay.
func (s *segment) findEnd(interval int32) error {
	w := takeWindow(s.file)
	defer w.put()
	size := s.size()
	pos := s.lastIndexed(w)
	if h, err := s.headerAt(w, 0, size); err == nil {
		s.firstTs = h.MaxTimestamp
	}
	next := s.base
	for pos < size {
		h, err := s.headerAt(w, pos, size)
		if err != nil {
			break
		}
		s.note(&h, pos, interval)
		next, pos = h.NextOffset(), pos+int64(h.Size())
	}
	if w.err != nil {
		return w.err
	}
	s.publish(next, size)
	return nil
}

// lastIndexed is the position of the last index entry; the state of the index becomes what it was when that was made. An
// entry that does not fit the batch that it names voids the whole index.
func (s *segment) lastIndexed(w *window) int64 {
	s.sinceIndex = 0
	offsets, times := s.offsets.load(), s.times.load()
	n, m := len(offsets), len(times)
	if n > 0 && m > 0 {
		pos := int64(offsets[n-1].Pos)
		if h, err := s.headerAt(w, pos, s.size()); err == nil && h.LastOffset()-s.base == int64(offsets[n-1].Last) {
			s.largest.Store(times[m-1].Timestamp)
			s.largestAt = s.base + int64(times[m-1].Last)
			return pos
		}
	}
	s.offsets.set(nil)
	s.times.set(nil)
	s.largest.Store(kafka.NoTimestamp)
	return 0
}

// scan reads and checks everything from the recovery point on, the last segment in any case, and cuts the log where it
// ends.
func (r *recovery) scan() error {
	l := r.l
	r.first = len(r.segs) - 1
	for r.first > 0 && r.segs[r.first].base > r.start.RecoveryPoint {
		r.first--
	}
	r.next = r.segs[r.first].base
	if r.rebuild {
		if err := r.epochsBelow(r.next); err != nil {
			return err
		}
	} else {
		r.dirty = l.epochs.TruncateFromEnd(r.next) // what starts here or later is found again in the batches
	}
	r.epoch = l.epochs.LatestEpoch()
	if err := r.loadProducers(r.next); err != nil {
		return err
	}
	w := &window{buf: make([]byte, scanWindow)}
	defer l.recovering(0)
	for i := r.first; i < len(r.segs); i++ {
		s := r.segs[i]
		l.recovering(len(r.segs) - i)
		if s.base < r.next || s.base > r.next && !l.cfg.Settings.CleanupCompact {
			r.why = s.corrupt(0, fmt.Sprintf("the segment before it ends at %d", r.next))
			return r.cutAt(i-1, r.segs[i-1].size())
		}
		r.next = s.base // compaction leaves gaps between segments, and empty ones
		pos, err := r.scanSegment(w, s)
		if errors.Is(err, ErrCorrupt) {
			r.why = err
			return r.cutAt(i, pos)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recovering tells who asked how many segments are to be read yet.
func (l *Log) recovering(segments int) {
	if l.cfg.Recovering != nil {
		l.cfg.Recovering(segments)
	}
}

// scanSegment checks every batch, and rebuilds indexes, epochs and producer state from them. It returns where the good
// part ends.
func (r *recovery) scanSegment(w *window, s *segment) (int64, error) {
	interval := r.l.cfg.Settings.IndexIntervalBytes
	size := s.size()
	w.file, w.at, w.have, w.err = s.file, 0, 0, nil
	s.largest.Store(kafka.NoTimestamp)
	s.clean.Store(false)
	s.seal.Store(&seal{})
	s.loaded.Store(true)
	pos := int64(0)
	var err error
	for pos < size {
		var h record.Header
		if h, err = r.checkBatch(w, s, pos, size); err != nil {
			break
		}
		s.note(&h, pos, interval)
		r.l.producers.Update(&h)
		r.dirty = h.LeaderEpoch >= 0 && r.l.epochs.Assign(h.LeaderEpoch, h.BaseOffset) || r.dirty
		r.next, r.epoch = h.NextOffset(), h.LeaderEpoch
		pos += int64(h.Size())
	}
	s.noteTime()
	s.publish(r.next, pos)
	r.read += pos
	return pos, err
}

// checkBatch is the header of the batch at pos, or ErrCorrupt: it is not whole, does not follow, or its CRC is wrong.
func (r *recovery) checkBatch(w *window, s *segment, pos, size int64) (record.Header, error) {
	h, err := s.headerAt(w, pos, size)
	switch {
	case err != nil:
		return h, err
	case h.BaseOffset < r.next || h.BaseOffset > r.next && !r.l.cfg.Settings.CleanupCompact:
		return h, s.corrupt(pos, fmt.Sprintf("base offset %d, want %d", h.BaseOffset, r.next))
	case h.LastOffset()-s.base > 1<<31-1:
		return h, s.corrupt(pos, fmt.Sprintf("offset %d is too far from the base", h.LastOffset()))
	case h.LeaderEpoch < r.epoch:
		return h, s.corrupt(pos, fmt.Sprintf("leader epoch %d after %d", h.LeaderEpoch, r.epoch))
	case r.l.cfg.Rules.RecoverChecksCRC:
		return h, s.checkCRC(w, &h, pos, size)
	}
	return h, nil
}

// cutAt ends the log at pos of segs[i]: later segments go first, the last one first, so that a crash in between leaves a
// log that is cut again at the same place.
func (r *recovery) cutAt(i int, pos int64) error {
	l := r.l
	for j := len(r.segs) - 1; j > i; j-- {
		s := r.segs[j]
		r.segs = r.segs[:j]
		r.cut += s.size()
		r.dropped++
		if err := s.drop(); err != nil {
			return err
		}
	}
	if r.dropped > 0 {
		if err := syncDir(l.dir, l.cfg.Rules); err != nil {
			return err
		}
	}
	s := r.segs[i]
	info, err := s.file.Stat()
	if err != nil || info.Size() == pos {
		return err
	}
	r.cut += info.Size() - pos
	if !l.cfg.Rules.RecoverCutsTornTail {
		s.publish(r.next, info.Size())
		return nil
	}
	if err := s.file.Truncate(pos); err != nil {
		return err
	}
	return s.file.Sync()
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
	from := r.segs[0].base
	for i := len(r.files.snapshots) - 1; i >= 0; i-- {
		at := r.files.snapshots[i]
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
		w := takeWindow(s.file)
		size := s.size()
		pos, err := s.locate(w, from, 0, size)
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
		failed := w.err
		w.put()
		if failed != nil {
			return failed
		}
	}
	return nil
}

// adopt makes the recovered files the log's, and durable what was not known to be.
func (r *recovery) adopt() error {
	l, segs := r.l, r.segs
	active := segs[len(segs)-1]
	active.clean.Store(false)
	active.seal.Store(nil)
	l.setSegments(segs)
	l.read, l.cut = r.read, r.losses()
	l.start.Store(max(r.start.LogStart, segs[0].base))
	l.publishUndecided()
	l.flush.to.Store(segs[r.first].base)
	if r.start.Clean {
		l.flush.to.Store(r.next)
	} else {
		l.dirDirty.Store(true) // the names may be as new as the bytes
	}
	l.emit(event.Event{Kind: event.Recover, Next: r.next, Text: r.report()})
	if r.start.LogStart > r.next {
		return l.TruncateFully(r.start.LogStart) // what is left was deleted long ago
	}
	if l.epochs.TruncateFromStart(l.StartOffset()) || r.dirty {
		if err := l.saveEpochs(); err != nil {
			return err
		}
	}
	if err := r.files.removeSnapshots(l.dir, segs, r.next); err != nil {
		return err
	}
	l.hw.Store(min(max(r.start.HighWatermark, l.StartOffset()), r.next))
	return l.Flush(r.next)
}

// report is the text of the recover event.
func (r *recovery) report() string {
	switch {
	case r.fresh:
		return "new"
	case r.start.Clean:
		return "clean"
	}
	text := fmt.Sprintf("unclean: read %d segments, %d bytes", len(r.segs)-r.first, r.read)
	if losses := r.losses(); losses != "" {
		text += "; " + losses
	}
	return text
}

// losses is what was cut off and why.
func (r *recovery) losses() string {
	if r.why == nil {
		return ""
	}
	text := fmt.Sprintf("cut %d bytes, %d segments: %v", r.cut, r.dropped, r.why)
	if !r.l.cfg.Rules.RecoverCutsTornTail {
		text += " (the torn tail stays)"
	}
	return text
}
