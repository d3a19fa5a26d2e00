package seglog

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// segment is one .log file with its indexes. The last segment of a log is active, all others are sealed.
type segment struct {
	base kafka.Offset
	dir  string
	file *os.File
	refs atomic.Int32 // the log's own and one for each slice; the file is closed at 0

	// end is (next offset - base) << 32 | size: what readers see, in one word (KAFKA-9835). Offsets relative to the base
	// stay below 2^31, so both halves fit.
	end atomic.Uint64

	// cuts counts truncations of the file, cutMin is the lowest position that was cut to. cutMu keeps a truncation from
	// running beside a Slice.Send.
	cutMu  sync.RWMutex
	cuts   atomic.Uint32
	cutMin atomic.Int64

	offsets column[layout.OffsetEntry]
	times   column[layout.TimeEntry]
	gone    atomic.Bool // another segment has its name: files may be read no more by name
	loaded  atomic.Bool // the columns are complete; a sealed segment loads them when they are needed
	loadMu  sync.Mutex
	cache   *indexCache

	largest atomic.Int64 // largest timestamp (ms) so far, or -1; largestUnknown before the columns were loaded once

	// The rest belongs to the append lock, or to Open.
	largestAt  kafka.Offset // last offset of the batch that holds it
	firstTs    int64        // largest timestamp of the first batch, or -1
	createdMs  int64        // wall time of the first append by this process; 0 before
	sinceIndex int64        // bytes since the last index entry

	// seal is what a sealed segment still has to put on disk; the flush takes it.
	seal atomic.Pointer[seal]
	// clean: sealed, and everything of it is durable.
	clean atomic.Bool
}

// seal is what a roll leaves to the flush: the index files, and the producer snapshot at the end of the segment.
type seal struct {
	snapshotAt kafka.Offset
	snapshot   []byte // nil: none
}

// column is a list with one writer, who appends, and readers without a lock.
type column[T any] struct{ data atomic.Pointer[columnData[T]] }

type columnData[T any] struct {
	rows []T
	n    atomic.Int64 // rows[:n] are written and never change
}

func (c *column[T]) load() []T {
	d := c.data.Load()
	if d == nil {
		return nil
	}
	return d.rows[:d.n.Load()]
}

func (c *column[T]) append(v T) {
	d := c.data.Load()
	rows := c.load()
	if d == nil || len(rows) == len(d.rows) {
		grown := &columnData[T]{rows: make([]T, max(16, 2*len(rows)))}
		copy(grown.rows, rows)
		grown.n.Store(int64(len(rows)))
		c.data.Store(grown)
		d = grown
	}
	d.rows[len(rows)] = v
	d.n.Add(1)
}

// set replaces the rows. Readers keep what they have loaded.
func (c *column[T]) set(rows []T) {
	d := &columnData[T]{rows: append([]T(nil), rows...)}
	d.n.Store(int64(len(rows)))
	c.data.Store(d)
}

// newSegment is the segment of an open file of the given size, whose next offset is given. It is not loaded.
func newSegment(dir string, base, next kafka.Offset, size int64, file *os.File, cache *indexCache) *segment {
	s := &segment{base: base, dir: dir, file: file, cache: cache, firstTs: kafka.NoTimestamp}
	s.refs.Store(1)
	s.largest.Store(largestUnknown)
	s.cutMin.Store(1 << 62)
	s.publish(next, size)
	return s
}

// createSegment makes the file of a new, empty segment. A file that is there already is taken only if it is empty (S6).
func createSegment(dir string, base kafka.Offset, cache *indexCache) (*segment, error) {
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
	s := newSegment(dir, base, base, 0, f, cache)
	s.largest.Store(kafka.NoTimestamp)
	s.loaded.Store(true)
	return s, nil
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

func (s *segment) path(suffix string) string {
	return filepath.Join(s.dir, layout.FileName(s.base, suffix))
}

// acquire takes a reference to the open file; false if it is closed.
func (s *segment) acquire() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (s *segment) release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		s.file.Close()
	case n < 0:
		panic(fmt.Sprintf("seglog: segment %d released too often", s.base))
	}
}

// note takes a batch that lies at pos into the indexes: at most one entry for interval bytes, decided before the batch.
func (s *segment) note(h *record.Header, pos int64, interval int32) {
	if pos == 0 {
		s.firstTs = h.MaxTimestamp
	}
	if h.MaxTimestamp > s.largest.Load() {
		s.largest.Store(h.MaxTimestamp)
		s.largestAt = h.LastOffset()
	}
	if s.sinceIndex > int64(interval) {
		s.offsets.append(layout.OffsetEntry{Last: uint32(h.LastOffset() - s.base), Pos: uint32(pos)})
		s.noteTime()
		s.sinceIndex = 0
	}
	s.sinceIndex += int64(h.Size())
}

// noteTime adds the largest timestamp so far to the time index, unless it is there already.
func (s *segment) noteTime() {
	ts := s.largest.Load()
	if rows := s.times.load(); ts >= 0 && (len(rows) == 0 || ts > rows[len(rows)-1].Timestamp) {
		s.times.append(layout.TimeEntry{Timestamp: ts, Last: uint32(s.largestAt - s.base)})
	}
}

// lookup is the position of a batch at or before the one that holds offset.
func lookup(rows []layout.OffsetEntry, rel uint32) int64 {
	i := sort.Search(len(rows), func(i int) bool { return rows[i].Last > rel })
	if i == 0 {
		return 0
	}
	return int64(rows[i-1].Pos)
}

// indexFull reports that no further entry fits into segment.index.bytes.
func (s *segment) indexFull(indexBytes int32) bool {
	return len(s.offsets.load()) >= int(indexBytes)/layout.OffsetEntrySize || len(s.times.load()) >= int(indexBytes)/layout.TimeEntrySize
}

// indexes are the complete rows; those of a sealed segment are read from its files, or rebuilt from its batches when the
// files are missing, torn, or padded with zeros (KAFKA-10207, KAFKA-13603).
func (s *segment) indexes() ([]layout.OffsetEntry, []layout.TimeEntry, error) {
	if !s.loaded.Load() {
		loaded, err := s.loadIndexes()
		if err != nil {
			return nil, nil, err
		}
		if loaded {
			s.cache.add(s)
		}
	}
	return s.offsets.load(), s.times.load(), nil
}

// loadIndexes reports whether it was this call that loaded them.
func (s *segment) loadIndexes() (bool, error) {
	s.loadMu.Lock()
	defer s.loadMu.Unlock()
	if s.loaded.Load() {
		return false, nil
	}
	if !s.acquire() {
		return false, errGone
	}
	defer s.release()
	offsets, times, ok, err := s.readIndexFiles()
	if s.gone.Load() {
		return false, errGone
	}
	if err != nil {
		return false, err
	}
	largest := kafka.NoTimestamp
	if !ok {
		if offsets, times, largest, err = s.scanIndexes(); err != nil {
			return false, err
		}
	} else if n := len(times); n > 0 {
		largest = times[n-1].Timestamp
	}
	s.offsets.set(offsets)
	s.times.set(times)
	s.largest.Store(largest)
	s.loaded.Store(true)
	return true, nil
}

// largestUnknown stands for the largest timestamp of a segment whose indexes were never loaded.
const largestUnknown = -1 << 63

// largestTimestamp is the largest timestamp (ms) of the segment, or -1.
func (s *segment) largestTimestamp() (int64, error) {
	if s.largest.Load() == largestUnknown {
		if _, _, err := s.indexes(); err != nil {
			return kafka.NoTimestamp, err
		}
	}
	return s.largest.Load(), nil
}

// scanIndexes makes the rows from the headers of the whole segment. It ends without an error where they end.
func (s *segment) scanIndexes() ([]layout.OffsetEntry, []layout.TimeEntry, int64, error) {
	var fresh segment // takes the notes, so that nobody sees them half made
	fresh.base = s.base
	fresh.largest.Store(kafka.NoTimestamp)
	w := takeWindow(s.file)
	defer w.put()
	size := s.size()
	for pos := int64(0); pos < size; {
		h, err := s.headerAt(w, pos, size)
		if err != nil {
			break
		}
		fresh.note(&h, pos, layout.DefaultIndexInterval)
		pos += int64(h.Size())
	}
	fresh.noteTime()
	return fresh.offsets.load(), fresh.times.load(), fresh.largest.Load(), w.err
}

// indexCacheMax is how many sealed segments of one log keep their indexes in memory: 2 MiB each at 1 GiB a segment.
const indexCacheMax = 16

// indexCache knows which sealed segments have their indexes in memory, oldest first.
type indexCache struct {
	mu   sync.Mutex
	segs []*segment
}

func (c *indexCache) add(s *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.segs = append(c.segs, s)
	for len(c.segs) > indexCacheMax {
		old := c.segs[0]
		c.segs = append(c.segs[:0], c.segs[1:]...)
		old.unload()
	}
}

// remove forgets a segment that is gone, or active again.
func (c *indexCache) remove(s *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, have := range c.segs {
		if have == s {
			c.segs = append(c.segs[:i], c.segs[i+1:]...)
			return
		}
	}
}

// unload gives the memory back. A reader between loaded and load sees an empty index, which is correct and slow.
func (s *segment) unload() {
	s.loadMu.Lock()
	defer s.loadMu.Unlock()
	s.loaded.Store(false)
	s.offsets.set(nil)
	s.times.set(nil)
}
