package seglog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/index"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/txnindex"
)

// Read finds the batches from the one that holds offset on. The slice ends before the first batch that reaches
// maxOffset (or the end offset), at the end of the segment, or after maxBytes: then its last batch may be partial. With
// minOneBatch the first batch is whole even if it is larger than maxBytes; without, a first batch that does not fit is
// left out (KIP-74). An empty slice means that there is nothing to return below maxOffset. kafka.ErrOffsetOutOfRange:
// offset is below the start or above the end offset; ErrClosed; other errors are of the file system, or ErrCorrupt.
// The first batch may start below offset (and below the start offset, KAFKA-6975). The caller must Close the slice.
//
// It takes no lock, unless it meets a change of the list of segments or an index that has to be repaired. It costs one pread
// of the index and one of the log, and the same again when maxOffset lies inside the segment and far from offset; another
// of the log where index.interval.bytes is far above its default.
func (l *Log) Read(offset kafka.Offset, maxBytes int, maxOffset kafka.Offset, minOneBatch bool) (Slice, error) {
	return lookAgain(l, func() (Slice, error) { return l.readOnce(offset, maxBytes, maxOffset, minOneBatch) })
}

// lookAgain repeats look while it meets segments that are deleted meanwhile, and indexes that have to be repaired. The append
// lock must not be held.
func lookAgain[T any](l *Log, look func() (T, error)) (T, error) {
	var repaired *segment
	for {
		found, err := look()
		if err == nil {
			return found, nil
		}
		var damage *damagedIndex
		switch {
		case errors.As(err, &damage) && damage.seg != repaired:
			repaired = damage.seg
			err = l.repair(damage)
		case errors.Is(err, errGone):
			l.appendMu.Lock() // whoever replaces segments holds it until the new list is there
			err = l.usable()
			l.appendMu.Unlock()
		case damage != nil:
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if err != nil {
			return found, err
		}
	}
}

// repair has an index made anew, unless somebody has done so since.
func (l *Log) repair(d *damagedIndex) error {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	return l.exclusive(func() error {
		if l.closed.Load() {
			return ErrClosed
		}
		if d.seg.repairs.Load() != d.seen {
			return nil
		}
		if err := d.seg.repair(); err != nil && !errors.Is(err, errGone) {
			return err
		}
		return nil
	})
}

// errGone: the segment was deleted between finding and opening it.
var errGone = errors.New("segment is gone")

func (l *Log) readOnce(offset kafka.Offset, maxBytes int, maxOffset kafka.Offset, minOne bool) (Slice, error) {
	segs := *l.segments.Load()
	end := segs[len(segs)-1].next()
	if offset < l.StartOffset() || offset > end {
		return Slice{}, kafka.ErrOffsetOutOfRange
	}
	limit := min(maxOffset, end)
	if offset >= limit || maxBytes <= 0 && !minOne {
		return Slice{}, nil
	}
	// A segment may hold nothing at or above offset although the next begins later (compaction): go on there.
	for i := find(segs, offset); i < len(segs) && segs[i].base < limit; i++ {
		if slice, found, err := segs[i].read(offset, maxBytes, limit, minOne); found || err != nil {
			return slice, err
		}
	}
	return Slice{}, nil
}

// find is the index of the segment that holds offset if any does: the last one that begins at or below it.
func find(segs []*segment, offset kafka.Offset) int {
	i := sort.Search(len(segs), func(i int) bool { return segs[i].base > offset })
	return max(i-1, 0)
}

func (s *segment) read(offset kafka.Offset, maxBytes int, limit kafka.Offset, minOne bool) (slice Slice, found bool, err error) {
	f, err := s.acquire()
	if err != nil {
		return Slice{}, false, err
	}
	cuts := s.cuts.Load() // before the bounds: a cut in between voids the slice
	defer func() {
		if slice.seg == nil {
			s.release()
		}
		if err != nil && s.cuts.Load() != cuts {
			err = errGone // what was read is neither of before nor of after the cut
		}
	}()
	next, size := s.bounds()
	w := takeWindow(f)
	defer w.put()
	pos, err := s.locate(w, offset, 0, size)
	if err != nil || pos == size {
		return Slice{}, false, err
	}
	stop := size
	if limit < next {
		if stop, err = s.locate(w, limit, pos, size); err != nil {
			return Slice{}, false, err
		}
	}
	if pos >= stop {
		return Slice{}, true, nil
	}
	if stop-pos > int64(maxBytes) {
		h, err := s.headerAt(w, pos, size)
		switch {
		case err != nil:
			return Slice{}, false, err
		case h.Size() <= maxBytes:
			stop = pos + int64(maxBytes)
		case minOne:
			stop = pos + int64(h.Size())
		default:
			return Slice{}, true, nil
		}
	}
	return Slice{seg: s, file: f, pos: pos, n: int(stop - pos), cuts: cuts}, true, nil
}

// locate is the position of the first batch whose last offset is at or above offset, or size if there is none. Nothing
// before from is looked at.
func (s *segment) locate(w *window, offset kafka.Offset, from, size int64) (int64, error) {
	if offset <= s.base {
		return from, nil
	}
	e, found, err := s.index.Offset(offset-s.base, &w.scratch)
	if err != nil {
		return 0, s.lookupError(err)
	}
	doubtful := found && int64(e.Pos) > from && s.env.rules.IndexSanityCheck
	pos := max(from, int64(e.Pos))
	for pos < size {
		h, err := s.headerAt(w, pos, size)
		if doubtful && w.err == nil && (err != nil || h.LastOffset()-s.base != int64(e.Last)) {
			return 0, s.misplaced(e, h)
		}
		doubtful = false
		if err != nil {
			return 0, err
		}
		if h.LastOffset() >= offset {
			return pos, nil
		}
		pos += int64(h.Size())
		if h.NextOffset() == offset {
			return pos, nil // whatever is there is at or above offset: its header need not be read
		}
	}
	return size, nil
}

// misplaced is the error for an index entry that names another batch than the one that is there.
func (s *segment) misplaced(e layout.OffsetEntry, h record.Header) error {
	return s.lookupError(fmt.Errorf("%w: %s: entry %+v, but there is %s", index.ErrDamaged, s.path(layout.IndexSuffix), e, h.String()))
}

// Aborted is the aborted transactions that a reader of committed records in [from, to) has to skip (KIP-98).
// kafka.ErrOffsetOutOfRange: from is below the start offset by now, and what was aborted there is no longer known, so that
// records that were read from there must not be shown.
func (l *Log) Aborted(from, to kafka.Offset) ([]layout.TxnEntry, error) {
	return lookAgain(l, func() ([]layout.TxnEntry, error) { return l.abortedOnce(from, to) })
}

func (l *Log) abortedOnce(from, to kafka.Offset) (all []layout.TxnEntry, err error) {
	segs := *l.segments.Load()
	done := false
	for i := find(segs, from); i < len(segs) && !done; i++ {
		all, done, err = txnindex.Collect(all, segs[i].path(layout.TxnIndexSuffix), from, to)
		switch { // what was forgotten has given its names away, whatever was found under them
		case from < l.StartOffset():
			return nil, kafka.ErrOffsetOutOfRange
		case segs[i].file.Forgotten():
			return nil, errGone
		case err != nil:
			return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, segs[i].path(layout.TxnIndexSuffix), err)
		}
	}
	return all, nil
}

// Slice is a range of bytes of one segment file. It stays readable when the segment is deleted meanwhile; when the log
// is truncated into it, reading fails with ErrTruncated: a frame that was promised to a client must then be given up
// with its connection. The zero value is empty. It is used by one goroutine at a time.
type Slice struct {
	seg  *segment
	file *os.File // open as long as the slice is
	pos  int64
	n    int
	cuts uint32
}

// Len is the size in bytes.
func (s *Slice) Len() int { return s.n }

// void reports that the file was cut below the end of the slice after the slice was made.
func (s *Slice) void() bool {
	return s.seg.cuts.Load() != s.cuts && s.seg.cutMin.Load() < s.pos+int64(s.n)
}

// ReadAt reads up to len(p) bytes from off within the slice. It is an io.ReaderAt.
func (s *Slice) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(s.n) {
		return 0, fmt.Errorf("seglog: read at %d of a slice of %d bytes", off, s.n)
	}
	want := p[:min(int64(len(p)), int64(s.n)-off)]
	if len(want) > 0 {
		n, err := s.file.ReadAt(want, s.pos+off)
		if s.void() {
			return 0, ErrTruncated
		}
		if err != nil && n < len(want) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return n, fmt.Errorf("seglog: read %s at %d: %w", s.file.Name(), s.pos+off+int64(n), err)
		}
	}
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(want), nil
}

// Send lets send copy bytes from off on straight from the file (sendfile): n bytes at pos of f. It returns what send
// returns. send must not wait for the network (give it a non-blocking socket and come back), since a truncation waits
// for it.
func (s *Slice) Send(off int64, send func(f *os.File, pos int64, n int) (int, error)) (int, error) {
	if off < 0 || off > int64(s.n) {
		return 0, fmt.Errorf("seglog: send from %d of a slice of %d bytes", off, s.n)
	}
	if off == int64(s.n) {
		return 0, nil
	}
	s.seg.cutMu.RLock()
	defer s.seg.cutMu.RUnlock()
	if s.void() {
		return 0, ErrTruncated
	}
	return send(s.file, s.pos+off, s.n-int(off))
}

// EndsSegmentBefore reports that the slice reaches the end of its segment, and that records below end lie in later
// ones: whoever waits for more bytes before it answers would wait in vain (Kafka's DelayedFetch answers such a fetch
// at once).
func (s *Slice) EndsSegmentBefore(end kafka.Offset) bool {
	if s.seg == nil {
		return false
	}
	next, size := s.seg.bounds()
	return s.pos+int64(s.n) == size && next < end
}

// Close gives the file back. A slice that is closed is empty.
func (s *Slice) Close() {
	if s.seg != nil {
		s.seg.release()
	}
	*s = Slice{}
}
