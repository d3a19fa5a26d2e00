package logcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog/inspect"
	"trialog/core/seglog/layout"
)

// index prints an .index, and compares it with the .log beside it.
func (d *dumper) index(path string) error {
	base, b, err := readIndex(path)
	if err != nil {
		return err
	}
	entries := len(b) / layout.OffsetEntrySize
	if entries == 0 {
		return d.say("%s is empty.", path)
	}
	if d.sanity {
		if last := layout.OffsetEntryAt(b[(entries-1)*layout.OffsetEntrySize:]); len(b)%layout.OffsetEntrySize != 0 || int32(last.Last) < 0 {
			return fmt.Errorf("dump: %s: %d bytes, last offset %d: the index is not sane", path, len(b), base+int64(int32(last.Last)))
		}
		return d.say("%s passed sanity check.", path)
	}
	log, err := openBeside(path)
	if err != nil {
		return err
	}
	defer log.close()
	for i := range entries {
		e := layout.OffsetEntryAt(b[i*layout.OffsetEntrySize:])
		offset := base + int64(int32(e.Last))
		if e.Last == 0 && i > 0 {
			return nil // the zeros of an index that is not closed
		}
		last, err := log.lastOffsetAt(int64(e.Pos))
		if err != nil {
			return fmt.Errorf("dump: %s: entry %d, position %d: %w", path, i, e.Pos, err)
		}
		if last != offset {
			d.errs.add("Mismatches in :"+path, "  Index offset: %d, log offset: %d", offset, last)
		}
		if !d.verify {
			if err := d.emit(offsetRow{path, "offset", offset, int64(e.Pos)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// timeIndex prints a .timeindex, and compares it with the .log beside it.
func (d *dumper) timeIndex(path string) error {
	base, b, err := readIndex(path)
	if err != nil {
		return err
	}
	entries := len(b) / layout.TimeEntrySize
	at := func(i int) layout.TimeEntry { return layout.TimeEntryAt(b[i*layout.TimeEntrySize:]) }
	if d.sanity {
		if len(b)%layout.TimeEntrySize != 0 || entries > 0 && (int32(at(entries-1).Last) < 0 || at(entries-1).Timestamp < at(0).Timestamp) {
			return fmt.Errorf("dump: %s: %d bytes: the time index is not sane", path, len(b))
		}
		return d.say("%s passed sanity check.", path)
	}
	log, err := openBeside(path)
	if err != nil {
		return err
	}
	defer log.close()
	before := kafka.NoTimestamp
	for i := range entries {
		e := at(i)
		offset := base + int64(int32(e.Last))
		if e.Last == 0 && i > 0 {
			return nil
		}
		h, found, err := log.find(offset)
		switch {
		case err != nil:
			return fmt.Errorf("dump: %s: %w", path, err)
		case !found:
			d.errs.add("The following indexed offsets are not found in the log.", "Indexed offset: %d, found log offset: -1", offset)
		case h.LastOffset() != offset:
			d.errs.add("The following indexed offsets are not found in the log.", "Indexed offset: %d, found log offset: %d", offset, h.LastOffset())
		case h.MaxTimestamp != e.Timestamp:
			d.errs.add("Found timestamp mismatch in :"+path, "  Index timestamp: %d, log timestamp: %d", e.Timestamp, h.MaxTimestamp)
		}
		if before >= e.Timestamp {
			d.errs.add("Found out of order timestamp in :"+path, "  Index timestamp: %d, Previously indexed timestamp: %d", e.Timestamp, before)
		}
		before = e.Timestamp
		if !d.verify {
			if err := d.emit(timeRow{path, "time", e.Timestamp, offset}); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshot prints the producers of a .snapshot.
func (d *dumper) snapshot(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	entries, err := producers.SnapshotEntries(b)
	if err != nil {
		d.errs.add("Corrupt snapshot "+path, "  %v", err)
	}
	for _, e := range entries {
		if err := d.emit(producerRowOf(path, e)); err != nil {
			return err
		}
	}
	return nil
}

// txnIndex prints the aborted transactions of a .txnindex.
func (d *dumper) txnIndex(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rows, err := layout.ParseTxnIndex(b)
	if err != nil {
		d.errs.add("Corrupt transaction index "+path, "  %v", err)
	}
	for _, e := range rows {
		if err := d.emit(txnRowOf(path, e)); err != nil {
			return err
		}
	}
	return nil
}

// text prints a checkpoint, partition.metadata, meta.properties or the marker as it is.
func (d *dumper) text(path string) error {
	switch filepath.Base(path) {
	case layout.EpochFile, layout.PartitionFile, layout.CleanMarker, layout.PropertiesFile, layout.HWFile, layout.RecoveryPointFile,
		layout.LogStartFile, layout.CleanerFile, "quorum-state":
	default:
		d.errs.add("Ignoring unknown file "+path, "  its name says nothing")
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if err := d.emit(textRow{path, filepath.Base(path), strings.TrimRight(line, "\n")}); err != nil {
			return err
		}
	}
	return nil
}

// say prints a sentence where rows would be; programs are told by the exit code, and by rows that are not there.
func (d *dumper) say(format string, args ...any) error {
	if d.json {
		return nil
	}
	_, err := fmt.Fprintf(d.out, format+"\n", args...)
	return err
}

// readIndex reads an index file; its name has the base offset of the segment.
func readIndex(path string) (kafka.Offset, []byte, error) {
	base, _, ok := layout.ParseFileName(filepath.Base(path))
	if !ok {
		return 0, nil, fmt.Errorf("dump: %s: no name of an index", path)
	}
	b, err := os.ReadFile(path)
	return base, b, err
}

// besideLog is the .log that an index belongs to: headers of its batches, wherever they begin.
type besideLog struct {
	file *os.File
	walk *inspect.Batches // forward only
	more bool
}

func openBeside(index string) (*besideLog, error) {
	path := strings.TrimSuffix(index, filepath.Ext(index)) + layout.LogSuffix
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	w, err := inspect.OpenBatches(path)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &besideLog{file: f, walk: w, more: w.Next()}, nil
}

func (l *besideLog) close() {
	l.file.Close()
	l.walk.Close()
}

// lastOffsetAt is that of the batch which begins at pos.
func (l *besideLog) lastOffsetAt(pos int64) (kafka.Offset, error) {
	var b [record.HeaderSize]byte
	if _, err := l.file.ReadAt(b[:], pos); err != nil {
		return 0, err
	}
	h, err := record.ParseHeader(b[:])
	return h.LastOffset(), err
}

// find is the first batch that ends at offset or later. Offsets are asked for in order; for one that is not, nothing may be
// found.
func (l *besideLog) find(offset kafka.Offset) (*record.Header, bool, error) {
	for l.more && l.walk.Header().LastOffset() < offset {
		l.more = l.walk.Next()
	}
	if l.walk.Err() != nil || !l.more {
		return nil, false, l.walk.Err()
	}
	return l.walk.Header(), true, nil
}
