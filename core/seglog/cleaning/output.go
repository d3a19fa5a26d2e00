package cleaning

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"slices"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/compact"
	"trialog/core/seglog/layout"
)

// indexBuffer is what is held of each index before it is written, in bytes.
const indexBuffer = 16 << 10

// output is the files of a segment that is being written, under their .cleaned names.
type output struct {
	dir      string
	base     kafka.Offset
	interval int64
	log      *os.File
	offsets  *indexFile
	times    *indexFile
	suffixes []string // of the files that are there
	size     int64    // written to the log

	sinceIndex int64
	largest    layout.TimeEntry // so far
	noted      int64            // the timestamp of the last time entry
	aborts     []kafka.Offset   // of markers that stay
}

// indexFile is an index that is written as it grows.
type indexFile struct {
	file *os.File
	w    *bufio.Writer
}

// create makes the files; what an earlier attempt left is written over.
func create(dir string, base kafka.Offset, interval int32) (*output, error) {
	o := &output{
		dir: dir, base: base, interval: int64(interval), noted: kafka.NoTimestamp, largest: layout.TimeEntry{Timestamp: kafka.NoTimestamp},
	}
	var err error
	if o.log, err = o.open(layout.LogSuffix); err == nil {
		if o.offsets, err = o.openIndex(layout.IndexSuffix); err == nil {
			o.times, err = o.openIndex(layout.TimeIndexSuffix)
		}
	}
	if err != nil {
		o.discard()
		return nil, err
	}
	return o, nil
}

func (o *output) path(suffix string) string {
	return filepath.Join(o.dir, layout.FileName(o.base, suffix+layout.CleanedSuffix))
}

func (o *output) open(suffix string) (*os.File, error) {
	f, err := os.OpenFile(o.path(suffix), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err == nil {
		o.suffixes = append([]string{suffix}, o.suffixes...) // the log is made first and named last
	}
	return f, err
}

func (o *output) openIndex(suffix string) (*indexFile, error) {
	f, err := o.open(suffix)
	if err != nil {
		return nil, err
	}
	return &indexFile{file: f, w: bufio.NewWriterSize(f, indexBuffer)}, nil
}

// note takes the batch that will lie ahead bytes behind what is written into the indexes: at most one entry for interval
// bytes, decided before the batch, as when it was appended.
func (o *output) note(h *record.Header, ahead int64, batch []byte) error {
	pos, last := o.size+ahead, uint32(h.LastOffset()-o.base)
	if pos+int64(len(batch)) > math.MaxInt32 {
		return compact.ErrTooLarge
	}
	if h.MaxTimestamp > o.largest.Timestamp {
		o.largest = layout.TimeEntry{Timestamp: h.MaxTimestamp, Last: last}
	}
	if o.sinceIndex > o.interval {
		if _, err := o.offsets.w.Write(layout.AppendOffsetEntries(nil, []layout.OffsetEntry{{Last: last, Pos: uint32(pos)}})); err != nil {
			return err
		}
		if err := o.noteTime(); err != nil {
			return err
		}
		o.sinceIndex = 0
	}
	o.sinceIndex += int64(len(batch))
	if h.IsControl() && h.Count > 0 {
		if it := record.NewRecords(batch); it.Next() {
			if kind, err := record.ParseControl(it.Record()); err == nil && kind == record.ControlAbort {
				o.aborts = append(o.aborts, h.LastOffset())
			}
		}
	}
	return nil
}

func (o *output) noteTime() error {
	if o.largest.Timestamp < 0 || o.largest.Timestamp <= o.noted {
		return nil
	}
	o.noted = o.largest.Timestamp
	_, err := o.times.w.Write(layout.AppendTimeEntries(nil, []layout.TimeEntry{o.largest}))
	return err
}

func (o *output) write(b []byte) error {
	n, err := o.log.WriteAt(b, o.size)
	o.size += int64(n)
	return err
}

// finish makes everything durable but the names. bases are those of the segments that it replaces, whose aborted
// transactions stay known as long as their markers do.
func (o *output) finish(bases []kafka.Offset) error {
	if err := o.noteTime(); err != nil {
		return err
	}
	if err := o.finishTxns(bases); err != nil {
		return err
	}
	for _, x := range []*indexFile{o.offsets, o.times} {
		if err := x.w.Flush(); err != nil {
			return err
		}
		if err := x.file.Sync(); err != nil {
			return err
		}
	}
	if err := o.log.Sync(); err != nil {
		return err
	}
	kept := o.suffixes
	o.suffixes = nil // discard leaves them
	o.discard()
	o.suffixes = kept
	return nil
}

func (o *output) finishTxns(bases []kafka.Offset) error {
	var kept []layout.TxnEntry
	for _, base := range bases {
		b, err := layout.ReadIfThere(filepath.Join(o.dir, layout.FileName(base, layout.TxnIndexSuffix)))
		if err != nil {
			return err
		}
		rows, _ := layout.ParseTxnIndex(b) // of a damaged one, what can be read
		for _, r := range rows {
			if _, stays := slices.BinarySearch(o.aborts, r.Last); stays {
				kept = append(kept, r)
			}
		}
	}
	if len(kept) == 0 {
		return nil
	}
	if err := layout.WriteSynced(o.path(layout.TxnIndexSuffix), layout.AppendTxnEntries(nil, kept)); err != nil {
		return err
	}
	o.suffixes = append([]string{layout.TxnIndexSuffix}, o.suffixes...)
	return nil
}

// discard closes the files, and removes them unless they are finished.
func (o *output) discard() {
	if o.log != nil {
		o.log.Close()
	}
	for _, x := range []*indexFile{o.offsets, o.times} {
		if x != nil {
			x.file.Close()
		}
	}
	for _, suffix := range o.suffixes {
		_ = os.Remove(o.path(suffix)) // it would be written over, or removed when the log is opened
	}
	o.log, o.offsets, o.times, o.suffixes = nil, nil, nil, nil
}
