// Package index is the offset index and the time index of one segment, of which only a sample is held in memory.
//
// It owns the files .index and .timeindex (layout has their entries): how entries get into them, how one is found, what is
// believed of them. It never reads a batch: whoever finds a position with it looks whether the batch named is there, and
// has the index rebuilt if not. Caller: seglog.
//
// Every 512th entry is in memory, and of the active segment the last ones, up to 128, that are not written yet: so a lookup
// is a search in the sample and one pread of at most 6 KiB. The index of the active segment is written as it goes, since all
// of it in memory would be 5 MiB for each partition; it is not fsynced before the segment is sealed, because recovery makes
// it anew for whatever is not known to be durable.
//
// Nothing is read before it is needed. Then all of the file is read once, in pieces, and every entry is held against the
// one before it, the size of the log, and its end (rule index-sanity-check; KAFKA-10207); a tail of zeros is what Kafka
// preallocates and not part of the index. ErrDamaged, or a missing file, means: rebuild.
//
// Readers take no lock but for that one reading. One goroutine at a time may change an index.
package index

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/openfiles"
)

// Every is how far apart the entries of the sample are.
const Every = 512

// ErrDamaged: the files are not an index of this segment, or not there.
var ErrDamaged = errors.New("index is damaged")

// Owner is the segment: where it ends, as an offset relative to its base, and its size in bytes.
type Owner interface {
	RelativeEnd() (end, size int64)
}

// Place is where an index lies, and what is believed of it.
type Place struct {
	Files *openfiles.Cache
	Dir   string
	Base  kafka.Offset
	Trust bool // the files are believed whatever they say: rule index-sanity-check is off
}

// Scratch is what a lookup reads into; Preads counts them.
type Scratch struct {
	buf    [Every * layout.TimeEntrySize]byte
	Preads int
}

// Index is both files of one segment.
type Index struct {
	offsets column[layout.OffsetEntry]
	times   column[layout.TimeEntry]
}

// Open is the index of a segment that is sealed: nothing is read yet.
func Open(owner Owner, at Place) *Index {
	x := &Index{}
	x.offsets.init(owner, at, &offsetKind, "", unread)
	x.times.init(owner, at, &timeKind, "", unread)
	return x
}

// Empty is one without entries; what the files hold is discarded.
func Empty(owner Owner, at Place) (*Index, error) {
	x := empty(owner, at, "")
	return x, x.Discard()
}

func empty(owner Owner, at Place, suffix string) *Index {
	x := &Index{}
	x.offsets.init(owner, at, &offsetKind, suffix, 0)
	x.times.init(owner, at, &timeKind, suffix, 0)
	return x
}

// Resume is the index of a segment that is to be appended to, as a clean stop has left it. Only the last entries are read.
// ok is false when there are none, or they are not the end of an index; then nothing may be done with it.
func Resume(owner Owner, at Place) (x *Index, offset layout.OffsetEntry, time layout.TimeEntry, ok bool, err error) {
	x = Open(owner, at)
	if offset, ok, err = x.offsets.resume(); !ok || err != nil {
		return x, offset, time, false, err
	}
	time, ok, err = x.times.resume()
	return x, offset, time, ok, err
}

// ResumeBelow is the index of a segment that was being appended to when its process died, as far as its files are good and
// below the relative offset end: up to the last time entry, since more may be missing behind that. The entry returned is
// the last one of the offset index. ok is false when nothing of it can be used.
func ResumeBelow(owner Owner, at Place, end int64) (x *Index, offset layout.OffsetEntry, time layout.TimeEntry, ok bool, err error) {
	x = Open(owner, at)
	time, ok, err = x.times.resumeWhile(func(e layout.TimeEntry) bool { return int64(e.Last) < end })
	if !ok || err != nil {
		return x, offset, time, false, err
	}
	offset, ok, err = x.offsets.resumeWhile(func(e layout.OffsetEntry) bool { return e.Last <= time.Last })
	return x, offset, time, ok, err
}

// AddOffset appends an entry. An error is of the file system.
func (x *Index) AddOffset(e layout.OffsetEntry) error { return x.offsets.add(e) }

// AddTime appends an entry.
func (x *Index) AddTime(e layout.TimeEntry) error { return x.times.add(e) }

// Offset is the last entry whose batch ends at or below the relative offset rel; found is false when there is none.
func (x *Index) Offset(rel int64, sc *Scratch) (e layout.OffsetEntry, found bool, err error) {
	return x.offsets.floor(rel, sc)
}

// Time is the last entry with a timestamp at or below ts (ms).
func (x *Index) Time(ts int64, sc *Scratch) (e layout.TimeEntry, found bool, err error) {
	return x.times.floor(ts, sc)
}

// LastOffset is the last entry.
func (x *Index) LastOffset() (e layout.OffsetEntry, found bool, err error) { return x.offsets.last() }

// LastTime is the last entry: the largest timestamp of a segment that is sealed.
func (x *Index) LastTime() (e layout.TimeEntry, found bool, err error) { return x.times.last() }

// Entries is how many there are in each file; of a segment that was never looked into it is 0.
func (x *Index) Entries() (offsets, times int) { return x.offsets.len(), x.times.len() }

// Sampled is how many entries are held in memory.
func (x *Index) Sampled() int { return x.offsets.sampled() + x.times.sampled() }

// Load reads both files, if nobody has done so: what is damaged is known then.
func (x *Index) Load() error {
	if _, err := x.offsets.load(); err != nil {
		return err
	}
	_, err := x.times.load()
	return err
}

// Cut drops what lies at or after the position pos, or the relative offset end, durably.
func (x *Index) Cut(end, pos int64) error {
	if err := x.offsets.cut(func(e layout.OffsetEntry) bool { return int64(e.Pos) < pos }); err != nil {
		return err
	}
	return x.times.cut(func(e layout.TimeEntry) bool { return int64(e.Last) < end })
}

// Seal writes what is not written, and fsyncs both files.
func (x *Index) Seal() error {
	if err := x.offsets.seal(); err != nil {
		return err
	}
	return x.times.seal()
}

// Rebuild replaces both files by what fill adds to a new index: durable but for their names before anybody sees them.
func (x *Index) Rebuild(owner Owner, at Place, fill func(*Index) error) error {
	fresh := empty(owner, at, layout.TmpSuffix)
	defer fresh.Forget()
	if err := fill(fresh); err != nil {
		return err
	}
	if err := fresh.Seal(); err != nil {
		return err
	}
	if err := x.offsets.replace(&fresh.offsets); err != nil {
		return err
	}
	return x.times.replace(&fresh.times)
}

// Discard makes it an index without entries: durably, since entries that come back after a power cut would be taken for
// those of other batches at the same offsets.
func (x *Index) Discard() error {
	if err := x.offsets.discard(); err != nil {
		return err
	}
	return x.times.discard()
}

// Blank has the index know nothing, so that lookups find the start of the segment: correct and slow. It is what is left
// when a damaged index cannot be rebuilt.
func (x *Index) Blank() {
	x.offsets.blank()
	x.times.blank()
}

// Forget ends the use of the files, which may be removed then.
func (x *Index) Forget() {
	x.offsets.state.Load().file.Forget()
	x.times.state.Load().file.Forget()
}

// kind is what the two files differ in.
type kind[T any] struct {
	suffix string
	size   int
	decode func([]byte) T
	encode func([]byte, []T) []byte
	key    func(T) int64                      // what is looked for; increases
	next   func(before, e T) bool             // e may follow
	fits   func(e T, end, size int64) bool    // e may be in a segment that ends there
	needed func(entries int, size int64) bool // so many entries may be all
}

var offsetKind = kind[layout.OffsetEntry]{
	suffix: layout.IndexSuffix, size: layout.OffsetEntrySize, decode: layout.OffsetEntryAt, encode: layout.AppendOffsetEntries,
	key:  func(e layout.OffsetEntry) int64 { return int64(e.Last) },
	next: func(before, e layout.OffsetEntry) bool { return e.Last > before.Last && e.Pos > before.Pos },
	fits: func(e layout.OffsetEntry, end, size int64) bool {
		return int64(e.Last) < end && int64(e.Pos) < size && e.Pos > 0
	},
	needed: func(int, int64) bool { return true },
}

var timeKind = kind[layout.TimeEntry]{
	suffix: layout.TimeIndexSuffix, size: layout.TimeEntrySize, decode: layout.TimeEntryAt, encode: layout.AppendTimeEntries,
	key:  func(e layout.TimeEntry) int64 { return e.Timestamp },
	next: func(before, e layout.TimeEntry) bool { return e.Timestamp > before.Timestamp && e.Last > before.Last },
	fits: func(e layout.TimeEntry, end, _ int64) bool { return e.Timestamp >= 0 && int64(e.Last) < end },
	// A segment that is sealed has an entry unless no batch has a timestamp: then it is rebuilt once, which is rare.
	needed: func(entries int, size int64) bool { return entries > 0 || size == 0 },
}

// damaged is ErrDamaged with its place.
func damaged(path string, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrDamaged, path, fmt.Sprintf(format, args...))
}

// readAll fills b from off on; a file that is shorter, or not there, is damaged.
func readAll(path string, file *os.File, b []byte, off int64) error {
	n, err := file.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return damaged(path, "it ends before %d", off+int64(len(b)))
	}
	return fmt.Errorf("seglog: read %s at %d: %w", path, off, err)
}

// absent turns the error for a file that is not there into ErrDamaged.
func absent(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damaged(path, "it is missing")
	}
	return err
}
