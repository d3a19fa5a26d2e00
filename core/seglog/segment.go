package seglog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/index"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/openfiles"
)

// segment is one .log file with its indexes. The last segment of a log is active, all others are sealed.
type segment struct {
	env  *environment
	base kafka.Offset
	dir  string
	file *openfiles.File

	// end is (next offset - base) << 32 | size: what readers see, in one word (KAFKA-9835). Offsets relative to the base
	// stay below 2^31, so both halves fit.
	end atomic.Uint64

	// cuts counts truncations of the file, cutMin is the lowest position that was cut to. cutMu keeps a truncation from
	// running beside a Slice.Send.
	cutMu  sync.RWMutex
	cuts   atomic.Uint32
	cutMin atomic.Int64

	index   *index.Index
	repairs atomic.Uint32 // how often the index was made anew

	largest   atomic.Int64 // largest timestamp (ms) so far, or -1; largestUnknown before anybody asked
	confirmed atomic.Bool  // no batch of the sealed segment has a larger one than its time index says

	// txnDirty: the index of aborted transactions has entries that may not be durable. Unlike the other indexes it must be
	// before what lies below the recovery point is believed: nobody looks for markers there again.
	txnDirty atomic.Bool

	// pinned: the file stays open. It holds bytes that were not fsynced.
	pinned atomic.Bool

	// The rest belongs to the append lock, or to Open.
	largestAt  kafka.Offset // last offset of the batch that holds it
	firstTs    int64        // largest timestamp of the first batch, -1, or largestUnknown
	createdMs  int64        // wall time of the first append by this process; 0 before
	sinceIndex int64        // bytes since the last index entry

	// seal is what a sealed segment still has to put on disk; the flush takes it.
	seal atomic.Pointer[seal]
	// clean: sealed, and everything of it is durable.
	clean atomic.Bool
}

// environment is what the segments of one log share.
type environment struct {
	files *openfiles.Cache
	rules *Rules
}

// seal is what a roll leaves to the flush: the index files, and the producer snapshot at the end of the segment.
type seal struct {
	snapshotAt kafka.Offset
	snapshot   []byte // nil: none
}

// largestUnknown stands for a timestamp that nobody has looked for.
const largestUnknown = -1 << 63

// newSegment is the segment of a file of the given size, whose next offset is given. The file is not open, and nothing of
// the index is read.
func newSegment(env *environment, dir string, base, next kafka.Offset, size int64) *segment {
	s := &segment{env: env, base: base, dir: dir, firstTs: largestUnknown}
	s.file = env.files.File(dir, base, layout.LogSuffix)
	s.index = index.Open(s, s.place())
	s.largest.Store(largestUnknown)
	s.cutMin.Store(1 << 62)
	s.txnDirty.Store(true) // recovery may add some
	s.publish(next, size)
	return s
}

// createSegment makes the file of a new, empty segment, pinned. A file that is there already is taken only if it is empty
// (S6).
func createSegment(env *environment, dir string, base kafka.Offset) (*segment, error) {
	f, err := os.OpenFile(filepath.Join(dir, layout.FileName(base, layout.LogSuffix)), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != 0 {
		err = fmt.Errorf("%s: exists with %d bytes", f.Name(), info.Size())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s := newSegment(env, dir, base, base, 0)
	s.file = env.files.Adopt(dir, base, layout.LogSuffix, f)
	s.pinned.Store(true)
	if err := s.resetIndex(); err != nil {
		s.forget()
		return nil, err
	}
	return s, nil
}

func (s *segment) place() index.Place {
	return index.Place{Files: s.env.files, Dir: s.dir, Base: s.base, Trust: !s.env.rules.IndexSanityCheck}
}

// resetIndex makes the index one of nothing, to take notes from the start of the segment.
func (s *segment) resetIndex() error {
	s.largest.Store(kafka.NoTimestamp)
	s.firstTs, s.sinceIndex = largestUnknown, 0
	return s.index.Discard()
}

func (s *segment) publish(next kafka.Offset, size int64) {
	rel := next - s.base
	if rel < 0 || rel > 1<<31 || size < 0 || size > 1<<32-1 {
		panic(fmt.Sprintf("seglog: segment %d ends at %d with %d bytes", s.base, next, size))
	}
	s.end.Store(uint64(rel)<<32 | uint64(size))
}

func (s *segment) bounds() (next kafka.Offset, size int64) {
	e := s.end.Load()
	return s.base + int64(e>>32), int64(e & (1<<32 - 1))
}

func (s *segment) next() kafka.Offset { n, _ := s.bounds(); return n }
func (s *segment) size() int64        { _, n := s.bounds(); return n }

// RelativeEnd is what the index asks.
func (s *segment) RelativeEnd() (end, size int64) {
	next, size := s.bounds()
	return next - s.base, size
}

func (s *segment) path(suffix string) string {
	return filepath.Join(s.dir, layout.FileName(s.base, suffix))
}

// acquire opens the file if it is not open; the caller must release it. The error is errGone when the segment was deleted.
func (s *segment) acquire() (*os.File, error) {
	f, err := s.file.Acquire()
	if errors.Is(err, openfiles.ErrGone) {
		return nil, errGone
	}
	return f, err
}

func (s *segment) release() { s.file.Release() }

// pin has the file open until unpin; twice is once.
func (s *segment) pin() error {
	if !s.pinned.CompareAndSwap(false, true) {
		return nil
	}
	if _, err := s.file.Acquire(); err != nil {
		s.pinned.Store(false)
		return err
	}
	return nil
}

func (s *segment) unpin() {
	if s.pinned.CompareAndSwap(true, false) {
		s.file.Release()
	}
}

// forget ends all use of the files but that by open slices: the segment is no longer the log's.
func (s *segment) forget() {
	s.file.Forget()
	s.index.Forget()
	s.unpin()
}

// onFile calls fn with the open file.
func (s *segment) onFile(fn func(f *os.File) error) error {
	f, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	return fn(f)
}

// noteTimestamps takes a batch that lies at pos into what is known of timestamps, before readers see it.
func (s *segment) noteTimestamps(h *record.Header, pos int64) {
	if pos == 0 {
		s.firstTs = h.MaxTimestamp
	}
	if h.MaxTimestamp > s.largest.Load() {
		s.largest.Store(h.MaxTimestamp)
		s.largestAt = h.LastOffset()
	}
}

// noteIndex takes the batch into the indexes: at most one entry for interval bytes, decided before the batch.
func (s *segment) noteIndex(h *record.Header, pos int64, interval int32) error {
	if s.sinceIndex > int64(interval) {
		if err := s.index.AddOffset(layout.OffsetEntry{Last: uint32(h.LastOffset() - s.base), Pos: uint32(pos)}); err != nil {
			return err
		}
		if err := s.noteTime(); err != nil {
			return err
		}
		s.sinceIndex = 0
	}
	s.sinceIndex += int64(h.Size())
	return nil
}

func (s *segment) note(h *record.Header, pos int64, interval int32) error {
	s.noteTimestamps(h, pos)
	return s.noteIndex(h, pos, interval)
}

// noteTime adds the largest timestamp so far to the time index, unless it is there already.
func (s *segment) noteTime() error {
	ts := s.largest.Load()
	if ts < 0 {
		return nil
	}
	if last, found, err := s.index.LastTime(); err != nil || found && ts <= last.Timestamp {
		return err
	}
	return s.index.AddTime(layout.TimeEntry{Timestamp: ts, Last: uint32(s.largestAt - s.base)})
}

// indexFull reports that no further entry fits into segment.index.bytes.
func (s *segment) indexFull(indexBytes int32) bool {
	offsets, times := s.index.Entries()
	return offsets >= int(indexBytes)/layout.OffsetEntrySize || times >= int(indexBytes)/layout.TimeEntrySize
}

// largestTimestamp is the largest timestamp (ms) of the segment, or -1.
func (s *segment) largestTimestamp() (int64, error) {
	if ts := s.largest.Load(); ts != largestUnknown {
		return ts, nil
	}
	last, found, err := s.index.LastTime()
	if err != nil {
		return kafka.NoTimestamp, s.lookupError(err)
	}
	ts := kafka.NoTimestamp
	if found {
		ts = last.Timestamp
	}
	s.largest.CompareAndSwap(largestUnknown, ts)
	return s.largest.Load(), nil
}

// firstTimestamp is the largest timestamp of the first batch, or -1. The append lock is held.
func (s *segment) firstTimestamp() int64 {
	if s.firstTs == largestUnknown {
		s.firstTs = kafka.NoTimestamp
		_ = s.onFile(func(f *os.File) error {
			w := takeWindow(f)
			defer w.put()
			h, err := s.headerAt(w, 0, s.size())
			if err == nil {
				s.firstTs = h.MaxTimestamp
			}
			return err
		})
	}
	return s.firstTs
}

// damagedIndex is an index that has to be made anew, and how often that had been done before it was looked into.
type damagedIndex struct {
	seg  *segment
	seen uint32
	why  error
}

func (d *damagedIndex) Error() string { return d.why.Error() }

// lookupError sorts the errors of lookups: errGone when the segment was deleted meanwhile, damagedIndex when lookups cannot
// go on with this index.
func (s *segment) lookupError(err error) error {
	switch {
	case errors.Is(err, openfiles.ErrGone):
		return errGone
	case errors.Is(err, index.ErrDamaged):
		return &damagedIndex{seg: s, seen: s.repairs.Load(), why: err}
	}
	return err
}

// withIndex calls look, and again if the index had to be repaired. The caller is the only one who changes the segment.
func (s *segment) withIndex(look func() error) error {
	err := look()
	var damage *damagedIndex
	if !errors.As(err, &damage) {
		return err
	}
	if err := s.repair(); err != nil {
		return err
	}
	return look()
}

// repair makes both index files anew from the headers of the batches; when that cannot be written, lookups begin at the
// start of the segment from now on. Nobody else changes the segment meanwhile.
func (s *segment) repair() error {
	s.repairs.Add(1)
	largest := kafka.NoTimestamp
	err := s.index.Rebuild(s, s.place(), func(x *index.Index) (err error) {
		largest, err = s.fillIndex(x)
		return err
	})
	switch {
	case errors.Is(err, errGone) || errors.Is(err, errUnreadable):
		return err
	case err != nil:
		s.index.Blank()
	}
	s.largest.Store(largest)
	return nil
}

// errUnreadable: the log file itself could not be read.
var errUnreadable = errors.New("segment cannot be read")

// fillIndex makes the entries from the headers of the whole segment, and gives the largest timestamp. It ends without an
// error where the headers end.
func (s *segment) fillIndex(x *index.Index) (largest int64, err error) {
	f, err := s.acquire()
	if err != nil {
		return kafka.NoTimestamp, err
	}
	defer s.release()
	scratch := segment{base: s.base, index: x}
	scratch.largest.Store(kafka.NoTimestamp)
	w := takeWindow(f)
	defer w.put()
	size := s.size()
	for pos := int64(0); pos < size; {
		h, err := s.headerAt(w, pos, size)
		if err != nil {
			break
		}
		scratch.noteTimestamps(&h, pos)
		if err := scratch.noteIndex(&h, pos, layout.DefaultIndexInterval); err != nil {
			return scratch.largest.Load(), err
		}
		pos += int64(h.Size())
	}
	if w.err != nil {
		return kafka.NoTimestamp, fmt.Errorf("%w: %w", errUnreadable, w.err)
	}
	return scratch.largest.Load(), scratch.noteTime()
}
