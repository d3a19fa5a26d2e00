package logcmd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/seglog/inspect"
	"trialog/core/seglog/layout"
)

// uncompressedMax bounds what one batch may grow to.
const uncompressedMax = 1 << 30

// log prints the batches of a .log, or of a snapshot of KRaft, which is made alike.
func (d *dumper) log(path string) error {
	title, err := logTitle(filepath.Base(path))
	if err != nil {
		return err
	}
	if !d.json {
		fmt.Fprintln(d.out, title)
	}
	b, err := inspect.OpenBatches(path)
	if err != nil {
		return err
	}
	defer b.Close()
	last := kafka.NoOffset
	for b.Next() && b.Pos()+int64(b.Header().Size()) <= d.maxBytes {
		r := batchRow{File: path, Kind: "batch", h: *b.Header(), Position: b.Pos(), Valid: b.Sound()}
		if err := d.emit(&r); err != nil {
			return err
		}
		if d.deep {
			if err := d.records(path, b, &last); err != nil {
				return err
			}
		}
	}
	if b.Err() != nil {
		return b.Err()
	}
	pos, why := b.Tail()
	if why == nil || d.maxBytes < b.Size() {
		return nil
	}
	if !d.json {
		fmt.Fprintf(d.out, "Found %d invalid bytes at the end of %s\n", b.Size()-pos, filepath.Base(path))
	}
	d.errs.add("Invalid bytes in "+path, "  at %d: %v", pos, why)
	return nil
}

func logTitle(name string) (string, error) {
	if base, _, ok := layout.ParseFileName(name); ok {
		return fmt.Sprintf("Log starting offset: %d", base), nil
	}
	if name == "bootstrap.checkpoint" {
		return "KRaft bootstrap snapshot", nil
	}
	offset, rest, _ := strings.Cut(name, "-")
	epoch, _, _ := strings.Cut(rest, ".")
	o, errO := strconv.ParseInt(offset, 10, 64)
	e, errE := strconv.ParseInt(epoch, 10, 32)
	if errO != nil || errE != nil {
		return "", fmt.Errorf("dump: %s: no name of a segment or snapshot", name)
	}
	return fmt.Sprintf("Snapshot end offset: %d, epoch: %d", o, e), nil
}

// records prints those of the batch. last is the offset of the record before, in the file.
func (d *dumper) records(path string, b *inspect.Batches, last *kafka.Offset) error {
	h := b.Header()
	it, err := codec.Records(b.Bytes(), uncompressedMax)
	if err != nil {
		return fmt.Errorf("dump: %s: batch at %d: %w", path, b.Pos(), err)
	}
	for it.Next() {
		rec := it.Record()
		if *last >= 0 && rec.Offset != *last+1 {
			d.errs.add("Non-consecutive offsets in "+path, "  %d is followed by %d", *last, rec.Offset)
		}
		*last = rec.Offset
		r := recordRow{File: path, Kind: "record", rec: rec, h: h, metadata: !d.bare, contents: d.contents}
		r.headers = rec.AppendHeaders(nil)
		if h.IsControl() {
			if r.control, err = controlText(rec); err != nil {
				return fmt.Errorf("dump: %s: control record %d: %w", path, rec.Offset, err)
			}
		}
		if err := d.emit(&r); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return fmt.Errorf("dump: %s: batch at %d: %w", path, b.Pos(), err)
	}
	return nil
}
