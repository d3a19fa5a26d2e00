package seglog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/index"
	"trialog/core/seglog/layout"
)

// windowSize is how much one pread of a header walk takes in: an index interval, and the header after it.
const windowSize = layout.DefaultIndexInterval + 256

// window reads headers through a buffer: one pread for all that lie close together.
type window struct {
	file *os.File
	buf  []byte
	at   int64 // file position of buf
	have int
	err  error // the first read error

	scratch index.Scratch
	preads  int   // of the log file
	bytes   int64 // that they read
}

var windows = sync.Pool{New: func() any { return &window{buf: make([]byte, windowSize)} }}

// takeWindow borrows a window from the pool; put gives it back.
func takeWindow(f *os.File) *window {
	w := windows.Get().(*window)
	w.reset(f)
	return w
}

// reset begins anew with another file.
func (w *window) reset(f *os.File) {
	w.file, w.at, w.have, w.err, w.preads, w.bytes, w.scratch.Preads = f, 0, 0, nil, 0, 0, 0
}

func (w *window) put() {
	w.file = nil
	windows.Put(w)
}

// view is the n bytes at pos, n <= len(buf). size is where the readable part of the file ends.
func (w *window) view(pos int64, n int, size int64) ([]byte, error) {
	if pos < w.at || pos+int64(n) > w.at+int64(w.have) {
		w.at, w.have = pos, int(min(int64(len(w.buf)), size-pos))
		got, err := w.file.ReadAt(w.buf[:w.have], pos)
		w.preads++
		w.bytes += int64(got)
		if got < w.have {
			w.have = 0
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			w.err = fmt.Errorf("seglog: read %s at %d: %w", w.file.Name(), pos, err)
			return nil, w.err
		}
	}
	o := int(pos - w.at)
	return w.buf[o : o+n], nil
}

// headerAt is the header at pos of a segment with size readable bytes. The error is ErrCorrupt, with the reason, when
// there is no batch that could be whole.
func (s *segment) headerAt(w *window, pos, size int64) (record.Header, error) {
	if size-pos < record.HeaderSize {
		return record.Header{}, s.corrupt(pos, fmt.Sprintf("%d bytes, no header", size-pos))
	}
	b, err := w.view(pos, record.HeaderSize, size)
	if err != nil {
		return record.Header{}, err
	}
	h, err := record.ParseHeader(b)
	if err != nil {
		return h, s.corrupt(pos, err.Error())
	}
	switch {
	case int64(h.Size()) > size-pos:
		return h, s.corrupt(pos, fmt.Sprintf("batch of %d bytes, %d are there", h.Size(), size-pos))
	case h.BaseOffset < 0 || h.LastOffsetDelta < 0 || h.LastOffset() < h.BaseOffset || h.Count < 0 || h.Count > h.LastOffsetDelta+1:
		return h, s.corrupt(pos, "offsets or count: "+h.String())
	}
	return h, nil
}

func (s *segment) corrupt(pos int64, why string) error {
	return fmt.Errorf("%w: %s at %d: %s", ErrCorrupt, layout.FileName(s.base, layout.LogSuffix), pos, why)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crcFrom is where the part of a batch begins that its CRC covers: the attributes.
const crcFrom = 21

// checkCRC compares the CRC of the batch at pos with its bytes, whatever its size, through the window.
func (s *segment) checkCRC(w *window, h *record.Header, pos, size int64) error {
	crc := uint32(0)
	for at, end := pos+crcFrom, pos+int64(h.Size()); at < end; {
		n := int(min(int64(len(w.buf)), end-at))
		if w.at <= at && at < w.at+int64(w.have) {
			n = int(min(int64(n), w.at+int64(w.have)-at)) // what is buffered first
		}
		b, err := w.view(at, n, size)
		if err != nil {
			return err
		}
		crc = crc32.Update(crc, castagnoli, b)
		at += int64(n)
	}
	if crc != h.CRC {
		return s.corrupt(pos, fmt.Sprintf("crc %08x, its bytes have %08x", h.CRC, crc))
	}
	return nil
}

// Walk calls fn for each batch from the one that holds from (or the start offset, if that is higher) on, up to maxOffset
// or the end offset. h and batch are valid only during the call. The CRC is checked (record.Validate). An error of fn ends the walk and is returned.
func (l *Log) Walk(from, maxOffset kafka.Offset, fn func(h *record.Header, batch []byte) error) error {
	const chunk = 256 << 10
	var buf []byte
	for from < min(maxOffset, l.EndOffset()) {
		slice, err := l.Read(from, chunk, maxOffset, true)
		if start := l.StartOffset(); from < start {
			slice.Close()
			from = start // it moves while the walk goes on
			continue
		}
		if err != nil {
			return err
		}
		if slice.Len() == 0 {
			return nil
		}
		buf = slices.Grow(buf[:0], slice.Len())[:slice.Len()]
		_, err = slice.ReadAt(buf, 0)
		slice.Close()
		if err != nil {
			return err
		}
		next, err := walkChunk(buf, from, fn)
		if err != nil {
			return fmt.Errorf("seglog: walk %s: %w", l.cfg.Partition, err)
		}
		if next <= from {
			return fmt.Errorf("%w: walk %s: no batch at %d", ErrCorrupt, l.cfg.Partition, from)
		}
		from = next
	}
	return nil
}

func walkChunk(buf []byte, from kafka.Offset, fn func(h *record.Header, batch []byte) error) (kafka.Offset, error) {
	it := record.NewBatches(buf)
	for it.Next() {
		h, err := record.Validate(it.Batch())
		if err != nil {
			return from, fmt.Errorf("%w: at %d: %w", ErrCorrupt, from, err)
		}
		if err := fn(&h, it.Batch()); err != nil {
			return from, err
		}
		from = h.NextOffset()
	}
	if err := it.Err(); err != nil {
		return from, fmt.Errorf("%w: at %d: %w", ErrCorrupt, from, err)
	}
	return from, nil
}

// Found is a record found by its timestamp.
type Found struct {
	Offset    kafka.Offset // -1: there is none
	Timestamp int64        // ms; -1: there is none
	Epoch     kafka.LeaderEpoch
}

var notFound = Found{Offset: kafka.NoOffset, Timestamp: kafka.NoTimestamp, Epoch: kafka.NoLeaderEpoch}

// OffsetForTimestamp finds the first record from the start offset on and below maxOffset whose timestamp is at or after
// ts (ListOffsets). In a compressed batch the answer is its first offset with its largest timestamp: never too late.
func (l *Log) OffsetForTimestamp(ts int64, maxOffset kafka.Offset) (Found, error) {
	return lookAgain(l, func() (Found, error) { return l.offsetForTimestamp(ts, maxOffset) })
}

func (l *Log) offsetForTimestamp(ts int64, maxOffset kafka.Offset) (Found, error) {
	for _, s := range *l.segments.Load() {
		if s.next() <= l.StartOffset() {
			continue
		}
		largest, err := s.largestTimestamp()
		if err != nil {
			return notFound, err
		}
		if largest < ts {
			continue
		}
		// An entry (t, o) with t <= ts says that before the batch that holds o all were smaller than t.
		w := takeWindow(nil)
		e, known, err := s.index.Time(ts, &w.scratch)
		w.put()
		if err != nil {
			return notFound, s.lookupError(err)
		}
		found, err := l.findFrom(s.base+int64(e.Last), min(maxOffset, s.next()), ts, s.doubt(e, known))
		if err != nil || found.Offset != kafka.NoOffset {
			return found, err
		}
	}
	return notFound, nil
}

// doubt gives a check of a time entry: the batch that it names must have its timestamp. nil: nothing to check.
func (s *segment) doubt(e layout.TimeEntry, known bool) func(h *record.Header) error {
	if !known || !s.env.rules.IndexSanityCheck {
		return nil
	}
	return func(h *record.Header) error {
		if at := s.base + int64(e.Last); h.BaseOffset > at || h.LastOffset() < at || h.MaxTimestamp == e.Timestamp {
			return nil // the start offset may have moved beyond it
		}
		return s.lookupError(fmt.Errorf("%w: %s: entry %+v, but there is %s", index.ErrDamaged, s.path(layout.TimeIndexSuffix), e, h))
	}
}

// errStop ends a walk that has found what it looked for.
var errStop = errors.New("stop")

// findFrom finds the first record with a timestamp of ts or more. check, unless it is nil, is asked about the first batch.
func (l *Log) findFrom(from, maxOffset kafka.Offset, ts int64, check func(*record.Header) error) (Found, error) {
	start := l.StartOffset()
	found := notFound
	err := l.Walk(max(from, start), maxOffset, func(h *record.Header, batch []byte) error {
		if check != nil {
			if err := check(h); err != nil {
				return err
			}
			check = nil
		}
		if h.MaxTimestamp < ts {
			return nil
		}
		if found = firstAt(h, batch, start, ts); found.Offset == kafka.NoOffset || found.Offset >= maxOffset {
			found = notFound
			return nil
		}
		return errStop
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return found, err
}

// searchMax bounds what a compressed batch is decompressed to in a search by time, which nothing holds in memory. The
// default of trialog.uncompressed.batch.max.bytes is the same; a larger batch answers with its first offset.
const searchMax = 100 << 20

// firstAt is the first record of a batch at or after ts, and not below start. Of a batch that cannot be read it is the
// first record that the batch may hold, so that a consumer that seeks there misses nothing.
func firstAt(h *record.Header, batch []byte, start kafka.Offset, ts int64) Found {
	offset, timestamp, found, err := codec.FirstAt(batch, searchMax, start, ts)
	switch {
	case found:
		return Found{Offset: offset, Timestamp: timestamp, Epoch: h.LeaderEpoch}
	case err == nil:
		return notFound
	}
	return Found{Offset: max(h.BaseOffset, start), Timestamp: h.MaxTimestamp, Epoch: h.LeaderEpoch}
}

// MaxTimestamp finds the first record below maxOffset with the largest timestamp (ListOffsets -3, KIP-734).
func (l *Log) MaxTimestamp(maxOffset kafka.Offset) (Found, error) {
	return lookAgain(l, func() (Found, error) { return l.maxTimestamp(maxOffset) })
}

func (l *Log) maxTimestamp(maxOffset kafka.Offset) (Found, error) {
	best, at := kafka.NoTimestamp, kafka.NoOffset
	start := l.StartOffset()
	for _, s := range *l.segments.Load() {
		next := s.next()
		largest, err := s.largestTimestamp()
		if err != nil {
			return notFound, err
		}
		if next <= start || largest <= best {
			continue
		}
		e, known, err := s.index.LastTime()
		if err != nil {
			return notFound, s.lookupError(err)
		}
		from := s.base
		if known = known && next <= maxOffset; known {
			from += int64(e.Last) // all before that batch have smaller timestamps
		}
		ts, o, err := l.largestIn(max(from, start), min(maxOffset, next), s.doubt(e, known))
		if err != nil {
			return notFound, err
		}
		if known && ts < largest { // compaction has emptied the batch that the index means
			if ts, o, err = l.largestIn(max(s.base, start), next, nil); err != nil {
				return notFound, err
			}
		}
		if ts > best {
			best, at = ts, o
		}
	}
	if best < 0 {
		return notFound, nil
	}
	return l.findFrom(max(at, start), maxOffset, best, nil)
}

// largestIn is the largest timestamp of the records of a range, and the base offset of the first batch that has it.
func (l *Log) largestIn(from, to kafka.Offset, check func(*record.Header) error) (ts int64, at kafka.Offset, err error) {
	ts, at = kafka.NoTimestamp, kafka.NoOffset
	err = l.Walk(from, to, func(h *record.Header, _ []byte) error {
		if check != nil {
			if err := check(h); err != nil {
				return err
			}
			check = nil
		}
		if h.MaxTimestamp > ts && h.Count > 0 {
			ts, at = h.MaxTimestamp, h.BaseOffset
		}
		return nil
	})
	return ts, at, err
}
