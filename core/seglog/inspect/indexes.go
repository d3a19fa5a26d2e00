package inspect

import (
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// indexes walks the three index files of a segment beside its batches. What is wrong is kept until the end of the segment
// is known, since that says whether a recovery would make them anew.
type indexes struct {
	p      *partition
	base   kafka.Offset
	active bool
	padded bool  // it has room for more: nobody closed it, as happens to KRaft's log at every stop
	size   int64 // of the batches so far

	offsets []layout.OffsetEntry
	at      int // the next of them
	times   []layout.TimeEntry
	timeAt  int
	txns    []layout.TxnEntry
	txnAt   int

	missing map[string]bool // by suffix
	bad     map[string]bool // given up

	largest   int64 // timestamp
	largestAt kafka.Offset
	found     []func(Level)
}

// openIndexes reads the files; they are parsed row by row here, and not as a whole as an engine would, so that the row that
// is wrong can be named.
func (p *partition) openIndexes(base kafka.Offset, active bool) (*indexes, error) {
	ix := &indexes{p: p, base: base, active: active, missing: map[string]bool{}, bad: map[string]bool{}, largest: kafka.NoTimestamp}
	for _, suffix := range []string{layout.IndexSuffix, layout.TimeIndexSuffix, layout.TxnIndexSuffix} {
		b, err := p.readIfListed(base, suffix)
		if err != nil {
			return nil, err
		}
		ix.missing[suffix] = b == nil
		ix.load(suffix, b)
	}
	return ix, nil
}

func (ix *indexes) load(suffix string, b []byte) {
	switch suffix {
	case layout.IndexSuffix:
		b = ix.trim(suffix, b, layout.OffsetEntrySize)
		for ; len(b) >= layout.OffsetEntrySize; b = b[layout.OffsetEntrySize:] {
			ix.offsets = append(ix.offsets, layout.OffsetEntryAt(b))
		}
	case layout.TimeIndexSuffix:
		b = ix.trim(suffix, b, layout.TimeEntrySize)
		for ; len(b) >= layout.TimeEntrySize; b = b[layout.TimeEntrySize:] {
			ix.times = append(ix.times, layout.TimeEntryAt(b))
		}
	case layout.TxnIndexSuffix:
		rows, err := layout.ParseTxnIndex(b)
		if err != nil {
			ix.fail(suffix, NoPos, "%v", err)
		}
		ix.txns = rows
	}
}

// trim takes the zeros away that Kafka preallocates in the index of the active segment, and never in a sealed one.
func (ix *indexes) trim(suffix string, b []byte, entry int) []byte {
	if rest := len(b) % entry; rest != 0 {
		ix.fail(suffix, int64(len(b)-rest), "%d bytes after the last whole entry", rest)
		b = b[:len(b)-rest]
	}
	if ix.active {
		trimmed := layout.TrimZeroEntries(b, entry)
		ix.padded = ix.padded || len(trimmed) < len(b)
		return trimmed
	}
	return b
}

func (ix *indexes) path(suffix string) string { return ix.p.file(ix.base, suffix) }

func (ix *indexes) fail(suffix string, pos int64, format string, args ...any) {
	ix.found = append(ix.found, func(l Level) { ix.p.r.add(l, ix.path(suffix), pos, format, args...) })
}

// giveUp fails and looks at no further entry of that index.
func (ix *indexes) giveUp(suffix string, pos int64, format string, args ...any) {
	ix.fail(suffix, pos, format, args...)
	ix.bad[suffix] = true
}

// batch takes in the next batch of the segment.
func (ix *indexes) batch(h *record.Header, pos int64) {
	if h.MaxTimestamp > ix.largest {
		ix.largest, ix.largestAt = h.MaxTimestamp, h.LastOffset()
	}
	ix.size = pos + int64(h.Size())
	ix.offsetEntries(h, pos)
	ix.timeEntries(h)
	ix.txnEntries(h)
}

// offsetEntries looks at the entries up to pos: each names the beginning of a batch, and the batch's last offset.
func (ix *indexes) offsetEntries(h *record.Header, pos int64) {
	for ; ix.at < len(ix.offsets) && !ix.bad[layout.IndexSuffix]; ix.at++ {
		e, where := ix.offsets[ix.at], int64(ix.at)*layout.OffsetEntrySize
		last := ix.base + int64(e.Last)
		switch {
		case ix.at > 0 && (e.Last <= ix.offsets[ix.at-1].Last || e.Pos <= ix.offsets[ix.at-1].Pos):
			ix.giveUp(layout.IndexSuffix, where, "offset %d, position %d does not follow the entry before it", last, e.Pos)
		case int64(e.Pos) > pos:
			return
		case int64(e.Pos) < pos:
			ix.fail(layout.IndexSuffix, where, "position %d is not where a batch begins", e.Pos)
		case last != h.LastOffset():
			ix.fail(layout.IndexSuffix, where, "offset %d, but the batch at position %d ends at %d", last, e.Pos, h.LastOffset())
		}
	}
}

// timeEntries looks at the entries up to the batch: each has the largest timestamp so far, and the last offset of the first
// batch that has it.
func (ix *indexes) timeEntries(h *record.Header) {
	for ; ix.timeAt < len(ix.times) && !ix.bad[layout.TimeIndexSuffix]; ix.timeAt++ {
		e, where := ix.times[ix.timeAt], int64(ix.timeAt)*layout.TimeEntrySize
		last := ix.base + int64(e.Last)
		switch {
		case ix.timeAt > 0 && (e.Timestamp <= ix.times[ix.timeAt-1].Timestamp || e.Last <= ix.times[ix.timeAt-1].Last):
			ix.giveUp(layout.TimeIndexSuffix, where, "timestamp %d, offset %d does not follow the entry before it", e.Timestamp, last)
		case last > h.LastOffset():
			return
		case last < h.LastOffset():
			ix.fail(layout.TimeIndexSuffix, where, "offset %d is not where a batch ends", last)
		case last != ix.largestAt || e.Timestamp != ix.largest:
			ix.fail(layout.TimeIndexSuffix, where, "timestamp %d at offset %d, but the largest so far is %d, at %d", e.Timestamp, last,
				ix.largest, ix.largestAt)
		}
	}
}

// txnEntries compares an aborted transaction that ended with this batch, if one did. Of what compaction has been over, the
// data may be gone, and only the marker can be compared.
func (ix *indexes) txnEntries(h *record.Header) {
	ended := ix.p.replay.ended
	ix.p.replay.ended = nil
	if ix.bad[layout.TxnIndexSuffix] || ix.missing[layout.TxnIndexSuffix] && ended == nil {
		return
	}
	where := int64(ix.txnAt) * layout.TxnEntrySize
	var e *layout.TxnEntry
	if ix.txnAt < len(ix.txns) && ix.txns[ix.txnAt].Last <= h.LastOffset() {
		e = &ix.txns[ix.txnAt]
		ix.txnAt++
	}
	switch {
	case ix.p.replay.broken:
	case e == nil && ended == nil:
	case ended == nil:
		ix.fail(layout.TxnIndexSuffix, where, "producer %d aborted at %d, but there is no such marker", e.Producer, e.Last)
	case e == nil:
		if ended.First >= 0 && ended.Last >= ix.p.replay.floor {
			ix.fail(layout.TxnIndexSuffix, where, "the transaction of producer %d from %d to its abort at %d is missing", ended.Producer, ended.First, ended.Last)
		}
	case ended.First < 0 || ended.First < ix.p.replay.floor || e.First < ix.p.replay.floor:
		if e.Producer != ended.Producer || e.Last != ended.Last {
			ix.fail(layout.TxnIndexSuffix, where, "producer %d aborted at %d, but the marker is at %d and of producer %d", e.Producer, e.Last, ended.Last, ended.Producer)
		}
	case *e != *ended:
		ix.fail(layout.TxnIndexSuffix, where, "producer %d, %d to %d, last stable %d, but the batches say producer %d, %d to %d, last stable %d",
			e.Producer, e.First, e.Last, e.LastStable, ended.Producer, ended.First, ended.Last, ended.LastStable)
	}
}

// end looks at what is left, and reports everything.
func (ix *indexes) end(l Level) {
	if !ix.bad[layout.IndexSuffix] && ix.at < len(ix.offsets) {
		ix.fail(layout.IndexSuffix, int64(ix.at)*layout.OffsetEntrySize, "position %d is behind the last batch, which ends at %d", ix.offsets[ix.at].Pos, ix.size)
	}
	if !ix.bad[layout.TimeIndexSuffix] && ix.timeAt < len(ix.times) {
		ix.fail(layout.TimeIndexSuffix, int64(ix.timeAt)*layout.TimeEntrySize, "offset %d is behind the last batch", ix.base+int64(ix.times[ix.timeAt].Last))
	}
	if ix.txnAt < len(ix.txns) && !ix.bad[layout.TxnIndexSuffix] {
		ix.fail(layout.TxnIndexSuffix, int64(ix.txnAt)*layout.TxnEntrySize, "offset %d is behind the last batch", ix.txns[ix.txnAt].Last)
	}
	ix.complete()
	for _, report := range ix.found {
		report(l)
	}
}

// complete looks for what must be there: both files of a segment that is sealed, and its largest timestamp. The active one
// gets them at a clean stop, if it holds enough to have entries.
func (ix *indexes) complete() {
	if ix.active && (ix.padded || !ix.p.clean) {
		return
	}
	if !ix.active {
		for _, suffix := range []string{layout.IndexSuffix, layout.TimeIndexSuffix} {
			if ix.missing[suffix] && ix.size > 0 {
				ix.fail(suffix, NoPos, "it is missing; it can be made from the batches")
			}
		}
	}
	n := len(ix.times)
	if !ix.missing[layout.TimeIndexSuffix] && !ix.bad[layout.TimeIndexSuffix] && ix.largest >= 0 && (n == 0 || ix.times[n-1].Timestamp != ix.largest) {
		ix.fail(layout.TimeIndexSuffix, int64(n)*layout.TimeEntrySize, "the last entry should have the largest timestamp, %d at %d", ix.largest, ix.largestAt)
	}
}
