package main

import (
	"bytes"
	"fmt"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog"
)

// lookups asks the log for each of its batches by offset, and for each record by timestamp, and compares the answers with
// what a look at all batches gives.
func lookups(l *seglog.Log, batches [][]byte) (bad []string) {
	start, end := l.StartOffset(), l.EndOffset()
	found, err := l.MaxTimestamp(end)
	records := recordsOf(batches, start)
	if want := largest(records); err != nil || found.Offset != want.Offset || found.Timestamp != want.Timestamp {
		bad = append(bad, fmt.Sprintf("the largest timestamp is %d at %d: found %+v %v", want.Timestamp, want.Offset, found, err))
	}
	for _, raw := range batches {
		h, err := record.ParseHeader(raw)
		if err != nil {
			return append(bad, err.Error())
		}
		if text := readsAs(l, max(h.BaseOffset, start), end, raw); text != "" {
			bad = append(bad, text)
		}
		if text := readsAs(l, max(h.LastOffset(), start), end, raw); text != "" {
			bad = append(bad, text)
		}
	}
	for _, r := range records {
		want := firstAt(records, r.Timestamp)
		found, err := l.OffsetForTimestamp(r.Timestamp, end)
		if err != nil || found.Offset != want.Offset || found.Timestamp != want.Timestamp {
			bad = append(bad, fmt.Sprintf("timestamp %d is at %d: found %+v %v", r.Timestamp, want.Offset, found, err))
		}
	}
	return bad
}

// readsAs reads at an offset; "" if the batch comes first.
func readsAs(l *seglog.Log, offset, end kafka.Offset, batch []byte) string {
	s, err := l.Read(offset, len(batch), end, true)
	if err != nil {
		return fmt.Sprintf("read at %d: %v", offset, err)
	}
	defer s.Close()
	have := make([]byte, s.Len())
	if _, err := s.ReadAt(have, 0); err != nil {
		return fmt.Sprintf("read at %d: %v", offset, err)
	}
	if !bytes.HasPrefix(have, batch) {
		return fmt.Sprintf("read at %d finds another batch", offset)
	}
	return ""
}

// recordsOf are offsets and timestamps of all records from start on.
func recordsOf(batches [][]byte, start kafka.Offset) (out []record.Record) {
	for _, raw := range batches {
		it := record.NewRecords(raw)
		for it.Next() {
			if r := it.Record(); r.Offset >= start {
				out = append(out, record.Record{Offset: r.Offset, Timestamp: r.Timestamp})
			}
		}
	}
	return out
}

func largest(records []record.Record) record.Record {
	best := record.Record{Offset: kafka.NoOffset, Timestamp: kafka.NoTimestamp}
	for _, r := range records {
		if r.Timestamp > best.Timestamp {
			best = r
		}
	}
	return best
}

func firstAt(records []record.Record, ts int64) record.Record {
	for _, r := range records {
		if r.Timestamp >= ts {
			return r
		}
	}
	return record.Record{Offset: kafka.NoOffset, Timestamp: kafka.NoTimestamp}
}
