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
	"trialog/core/seglog/openfiles"
	"trialog/core/seglog/txnindex"
)

// scanWindow is how much one pread of a recovery takes in.
const scanWindow = 256 << 10

// Open opens the log in the directory dir, which is made if it does not exist, and recovers it. When it returns, all
// that the log holds is durable, unless start.Clean said so already.
//
// After an unclean stop what lies beyond the recovery point is read and checked: the log ends before the first batch that is
// not whole, does not follow the one before it, or has a wrong CRC; what comes after it is cut off, later segments included.
// A hole is kept only where compaction may have made it, since a log with another would be taken for complete; a compacted log
// is fsynced before each roll, so that the end of a segment is not lost while the next one is there. A segment
// with an offset that is too far from its base is split in two (KAFKA-6264). After a clean stop only the last index interval
// is read.
func Open(dir string, cfg Config, start Start) (*Log, error) {
	if cfg.Files == nil {
		cfg.Files = openfiles.New(openfiles.DefaultMax)
	}
	l := &Log{cfg: cfg, dir: dir, topicID: cfg.TopicID, epochs: &epochs.Cache{}, producers: producers.New(cfg.ProducerRules)}
	l.env = environment{files: cfg.Files, rules: &l.cfg.Rules}
	l.flush.done = sync.NewCond(&l.flush.mu)
	l.SetSettings(cfg.Settings)
	l.cleanedTo.Store(start.CleanedTo)
	r := &recovery{l: l, start: start}
	if err := r.run(); err != nil {
		for _, s := range r.segs {
			s.forget()
		}
		return nil, fmt.Errorf("seglog: open %s: %w", dir, err)
	}
	l.cleanedTo.Store(min(l.CleanedTo(), l.EndOffset())) // what comes after the end is new
	return l, nil
}

// recovery opens a log.
type recovery struct {
	l     *Log
	start Start
	segs  []*segment
	files listing

	first   int          // segs[first:] are read
	from    kafka.Offset // of the first batch that is read
	rebuild bool         // the epochs have to be found in the batches
	dirty   bool         // the epochs differ from the file
	suspect bool         // an fsync failed: what is read may not be on disk
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
	if r.suspect = r.files.fsyncFailed; r.suspect {
		r.start.Clean = false
	}
	if err = r.lookFar(); err != nil {
		return err
	}
	if r.start.Clean || r.fresh {
		err = r.trust()
	}
	if !r.start.Clean && !r.fresh {
		err = r.scan()
	}
	if err == nil {
		err = r.adopt()
	}
	return err
}

// openSegments makes the segments of all .log files; only the last one is opened. An empty directory gets its first one.
func (r *recovery) openSegments() error {
	l := r.l
	for i, base := range r.files.logs {
		path := filepath.Join(l.dir, layout.FileName(base, layout.LogSuffix))
		info, err := os.Stat(path)
		if err == nil && info.Size() > 1<<31-1 {
			err = fmt.Errorf("%s: %d bytes, more than a segment can have", path, info.Size())
		}
		if err != nil {
			return err
		}
		next := base + 1<<31 // of the last one it is not known yet
		if i+1 < len(r.files.logs) {
			next = min(next, r.files.logs[i+1])
		}
		s := newSegment(&l.env, l.dir, base, next, info.Size())
		s.clean.Store(true)
		r.segs = append(r.segs, s)
	}
	if n := len(r.segs); n > 0 {
		return r.segs[n-1].pin()
	}
	s, err := createSegment(&l.env, l.dir, r.start.LogStart)
	if err != nil {
		return err
	}
	r.segs = append(r.segs, s)
	return syncDir(l.dir, AllRules())
}

// scan reads and checks everything from the recovery point on, and cuts the log where it ends.
func (r *recovery) scan() error {
	l := r.l
	r.first = len(r.segs) - 1
	for r.first > 0 && r.segs[r.first].base > r.start.RecoveryPoint {
		r.first--
	}
	pos, err := r.resume(r.segs[r.first])
	if err != nil {
		return err
	}
	r.from = r.next
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
	defer l.recovering(0)
	return r.scanFrom(pos)
}

// scanFrom reads segs[first:], the first of them from pos on.
func (r *recovery) scanFrom(pos int64) error {
	w := &window{buf: make([]byte, scanWindow)}
	for i := r.first; i < len(r.segs); i++ { // there are more when one is split
		s := r.segs[i]
		r.l.recovering(len(r.segs) - i)
		if i > r.first && !r.follows(s.base) {
			r.why = s.corrupt(0, fmt.Sprintf("the segment before it ends at %d", r.next))
			if r.l.cfg.Rules.RecoverRemovesLaterSegments {
				return r.cutAt(i-1, r.segs[i-1].size())
			}
		}
		r.next = max(r.next, s.base) // compaction leaves gaps between segments, and empty ones
		end, err := r.scanSegment(w, s, pos)
		switch {
		case errors.Is(err, errTooFar):
			err = r.split(i, end)
		case errors.Is(err, ErrCorrupt):
			r.why = err
			if err = r.cutAt(i, end); err == nil && r.l.cfg.Rules.RecoverRemovesLaterSegments {
				return nil
			}
		}
		if err != nil {
			return err
		}
		pos = 0
	}
	return nil
}

// recovering tells who asked how many segments are to be read yet.
func (l *Log) recovering(segments int) {
	if l.cfg.Recovering != nil {
		l.cfg.Recovering(segments)
	}
}

// follows reports that a batch or segment may begin at base: where the one before it ends, or after a hole that compaction
// may have left. In a compacted log that may be anywhere: a follower has the holes of its leader. In others it is below the
// recovery point, or the cleaner's checkpoint: cleanup.policy may have been another.
func (r *recovery) follows(base kafka.Offset) bool {
	if base <= r.next {
		return base == r.next
	}
	return r.l.cfg.Settings.CleanupCompact || base <= r.start.RecoveryPoint || base <= r.start.CleanedTo
}

// scanSegment checks every batch from pos on, and rebuilds indexes, epochs and producer state from them. It returns where
// the good part ends.
func (r *recovery) scanSegment(w *window, s *segment, pos int64) (int64, error) {
	if err := s.pin(); err != nil {
		return pos, err
	}
	s.clean.Store(false)
	s.seal.Store(&seal{})
	if pos == 0 {
		if err := s.resetIndex(); err != nil {
			return 0, err
		}
	}
	if err := txnindex.Cut(s.path(layout.TxnIndexSuffix), r.next); err != nil { // it is made again from the markers
		return pos, err
	}
	from := pos
	err := s.onFile(func(f *os.File) (err error) {
		w.reset(f)
		pos, err = r.scanBatches(w, s, pos)
		return err
	})
	if noted := s.noteTime(); err == nil {
		err = noted
	}
	s.publish(r.next, pos)
	r.read += pos - from
	if r.suspect {
		if again := s.writeAgain(from, pos); again != nil {
			err = again
		}
	}
	return pos, err
}

func (r *recovery) scanBatches(w *window, s *segment, pos int64) (int64, error) {
	interval := r.l.cfg.Settings.IndexIntervalBytes
	size := s.size()
	for pos < size {
		h, err := r.checkBatch(w, s, pos, size)
		if err != nil {
			return pos, err
		}
		if err := s.note(&h, pos, interval); err != nil {
			return pos, err
		}
		if r.l.cfg.Rules.RecoverProducerState {
			if err := r.takeIn(w, s, &h, pos); err != nil {
				return pos, err
			}
		}
		r.dirty = h.LeaderEpoch >= 0 && r.l.epochs.Assign(h.LeaderEpoch, h.BaseOffset) || r.dirty
		r.next, r.epoch = h.NextOffset(), h.LeaderEpoch
		pos += int64(h.Size())
	}
	return pos, nil
}

// takeIn has the producer state follow a batch, and the index of aborted transactions.
func (r *recovery) takeIn(w *window, s *segment, h *record.Header, pos int64) error {
	var batch []byte
	if h.IsControl() && h.Size() <= len(w.buf) {
		var err error
		if batch, err = w.view(pos, h.Size(), s.size()); err != nil {
			return err
		}
	}
	if aborted := r.l.takeIn(h, batch, false); aborted != nil {
		return txnindex.Append(s.path(layout.TxnIndexSuffix), *aborted)
	}
	return nil
}

// errTooFar: the offset of a batch is too far from the base of its segment.
var errTooFar = errors.New("offset is too far from the base of its segment")

// checkBatch is the header of the batch at pos, or ErrCorrupt: it is not whole, does not follow, or its CRC is wrong.
func (r *recovery) checkBatch(w *window, s *segment, pos, size int64) (record.Header, error) {
	h, err := s.headerAt(w, pos, size)
	switch {
	case err != nil:
		return h, err
	case !r.follows(h.BaseOffset):
		return h, s.corrupt(pos, fmt.Sprintf("base offset %d, want %d", h.BaseOffset, r.next))
	case h.LeaderEpoch < r.epoch:
		return h, s.corrupt(pos, fmt.Sprintf("leader epoch %d after %d", h.LeaderEpoch, r.epoch))
	case r.l.cfg.Rules.RecoverChecksCRC:
		err = s.checkCRC(w, &h, pos, size)
	}
	if err == nil && h.LastOffset()-s.base > 1<<31-1 {
		err = fmt.Errorf("%w: %d at %d of %s", errTooFar, h.LastOffset(), pos, s.path(layout.LogSuffix))
	}
	return h, err
}

// cutAt ends the log at pos of segs[i]: later segments go first, the last one first, so that a crash in between leaves a
// log that is cut again at the same place.
func (r *recovery) cutAt(i int, pos int64) error {
	l := r.l
	for j := len(r.segs) - 1; j > i && l.cfg.Rules.RecoverRemovesLaterSegments; j-- {
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
	info, err := os.Stat(s.path(layout.LogSuffix))
	if err != nil || info.Size() == pos {
		return err
	}
	r.cut += info.Size() - pos
	if !l.cfg.Rules.RecoverCutsTornTail {
		s.publish(r.next, info.Size())
		return nil
	}
	return s.shrink(pos)
}

// shrink cuts the file, durably.
func (s *segment) shrink(size int64) error {
	if err := s.pin(); err != nil {
		return err
	}
	if err := s.onFile(func(f *os.File) error { return f.Truncate(size) }); err != nil {
		return err
	}
	return s.sync()
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
	l.flush.to.Store(r.from)
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
	if err := l.Flush(r.next); err != nil || !r.suspect {
		return err
	}
	return layout.RemoveIfThere(filepath.Join(l.dir, layout.FsyncFailedFile))
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
	if r.suspect {
		text += ", written again after a failed fsync"
	}
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
