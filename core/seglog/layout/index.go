package layout

import (
	"bytes"
	"encoding/binary"
)

// Sizes of index entries, and how far apart they are when nothing else is said (index.interval.bytes).
const (
	OffsetEntrySize      = 8
	TimeEntrySize        = 12
	DefaultIndexInterval = 4096
)

// OffsetEntry says that the batch with this last offset (relative to the base of the segment) begins at Pos.
type OffsetEntry struct{ Last, Pos uint32 }

// TimeEntry says that up to the batch with this last offset (relative to the base) no timestamp (ms) is larger.
type TimeEntry struct {
	Timestamp int64
	Last      uint32
}

// AppendOffsetEntries appends entries as they lie in an .index.
func AppendOffsetEntries(b []byte, rows []OffsetEntry) []byte {
	for _, r := range rows {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, r.Last), r.Pos)
	}
	return b
}

// AppendTimeEntries appends entries as they lie in a .timeindex.
func AppendTimeEntries(b []byte, rows []TimeEntry) []byte {
	for _, r := range rows {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, uint64(r.Timestamp)), r.Last)
	}
	return b
}

// OffsetEntryAt decodes the first entry of b, which must hold one.
func OffsetEntryAt(b []byte) OffsetEntry {
	return OffsetEntry{Last: binary.BigEndian.Uint32(b), Pos: binary.BigEndian.Uint32(b[4:])}
}

// TimeEntryAt decodes the first entry of b, which must hold one.
func TimeEntryAt(b []byte) TimeEntry {
	return TimeEntry{Timestamp: int64(binary.BigEndian.Uint64(b)), Last: binary.BigEndian.Uint32(b[8:])}
}

// ParseOffsetIndex reads the entries of a segment of size bytes; ok is false if they cannot be right. A tail of zeros is
// what Kafka preallocates; it is not part of the index.
func ParseOffsetIndex(b []byte, size int64) (rows []OffsetEntry, ok bool) {
	b = TrimZeroEntries(b, OffsetEntrySize)
	if len(b)%OffsetEntrySize != 0 {
		return nil, false
	}
	for ; len(b) > 0; b = b[OffsetEntrySize:] {
		r := OffsetEntryAt(b)
		if int64(r.Pos) >= size || r.Last > 1<<31-1 {
			return nil, false
		}
		if n := len(rows); n > 0 && (r.Last <= rows[n-1].Last || r.Pos <= rows[n-1].Pos) {
			return nil, false
		}
		rows = append(rows, r)
	}
	return rows, true
}

// ParseTimeIndex is the same for a segment that ends at the relative offset end.
func ParseTimeIndex(b []byte, end int64) (rows []TimeEntry, ok bool) {
	b = TrimZeroEntries(b, TimeEntrySize)
	if len(b)%TimeEntrySize != 0 {
		return nil, false
	}
	for ; len(b) > 0; b = b[TimeEntrySize:] {
		r := TimeEntryAt(b)
		if r.Timestamp < 0 || int64(r.Last) >= end {
			return nil, false
		}
		if n := len(rows); n > 0 && (r.Timestamp <= rows[n-1].Timestamp || r.Last <= rows[n-1].Last) {
			return nil, false
		}
		rows = append(rows, r)
	}
	return rows, true
}

// TrimZeroEntries cuts entries of zeros off the end.
func TrimZeroEntries(b []byte, size int) []byte {
	for len(b) >= size && len(b)%size == 0 && allZero(b[len(b)-size:]) {
		b = b[:len(b)-size]
	}
	return b
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
