package twin

import (
	"fmt"
	"slices"

	"trialog/core/kafka"
	"trialog/core/record"
)

// Compaction is one pass of the cleaner: keys of [FirstDirty, Bound) are looked at, records below Bound are removed.
type Compaction struct {
	FirstDirty, Bound kafka.Offset
	NowMs             int64
}

// Bound is how far a compaction may go: not above the HW, an open transaction, or the active segment.
func (l *Log) Bound() kafka.Offset {
	bound := min(l.hw, l.segments[len(l.segments)-1])
	if first := l.FirstUndecided(); first >= 0 {
		bound = min(bound, first)
	}
	return bound
}

// CheckCompacted is nil if o is what a complete pass may make of the log; Adopt(o) goes on from there.
//
//	K1  the latest record of each key is there; a tombstone only until its delete horizon
//	K2  every record that is there was there, at its offset, in its batch, unchanged; above the bound nothing has changed
//	K3  of a key that the pass saw, nothing older than its latest record is left, and no tombstone after its horizon
//	K4  start, end, HW, producers, and the epoch of each batch are what they were; segments begin where some began
//
// What a transaction that was aborted wrote may go at once, its markers and empty batches may stay or go.
func (l *Log) CheckCompacted(c Compaction, o Outcome) error {
	if o.Start != l.start || o.End != l.end || o.HW != l.hw || !slices.EqualFunc(o.Producers, l.producers, equalProducers) {
		return fmt.Errorf("K4: %v: want [%d,%d) hw=%d, producers %v, have %v", o, l.start, l.end, l.hw, l.producers, o.Producers)
	}
	if err := l.checkCleaned(c, o); err != nil {
		return err
	}
	for _, raw := range o.Batches {
		b := mustParse(raw)
		for _, r := range b.records {
			if at, ok := l.latest(r.Key, c.FirstDirty, c.Bound); ok && at > r.Offset && !r.Keyless {
				return fmt.Errorf("K3: %v: the record at %d is older than the one at %d", o, r.Offset, at)
			}
			if r.Offset < c.Bound && r.Tombstone && l.horizonPassed(r.Offset, c.NowMs-1) {
				return fmt.Errorf("K3: %v: the tombstone at %d is past its horizon", o, r.Offset)
			}
		}
	}
	return nil
}

// Compacting is what a crash in the middle of a pass may leave: K1 and K2, and what holds after every crash.
func (l *Log) Compacting(c Compaction) Allowed {
	a := l.Crashed()
	a.compaction = &c
	return a
}

// checkCleaned is K1 and K2, and the segments of K4.
func (l *Log) checkCleaned(c Compaction, o Outcome) error {
	for _, base := range o.Segments {
		if !slices.Contains(l.segments, base) {
			return fmt.Errorf("K4: %v: segment %d, want some of %v", o, base, l.segments)
		}
	}
	kept := map[kafka.Offset]bool{}
	for _, raw := range o.Batches {
		b, err := parse(raw)
		if err != nil {
			return fmt.Errorf("K2: %v: %w", o, err)
		}
		if err := l.checkRewritten(&b, c.Bound); err != nil {
			return fmt.Errorf("K2: %v: %w", o, err)
		}
		for _, r := range b.records {
			kept[r.Offset] = true
		}
	}
	for i := range l.batches {
		b := &l.batches[i]
		for _, r := range b.records {
			if r.Offset < o.Start || r.Offset >= o.End || kept[r.Offset] || b.header.IsControl() && b.Base < c.Bound {
				continue
			}
			at, _ := l.latest(r.Key, l.start, c.Bound)
			if r.Offset >= c.Bound || at == r.Offset && !r.Keyless && !(r.Tombstone && l.horizonPassed(r.Offset, c.NowMs)) {
				return fmt.Errorf("K1: %v: the record at %d is missing, key %q", o, r.Offset, r.Key)
			}
		}
	}
	return nil
}

// checkRewritten compares a batch with the one that it was.
func (l *Log) checkRewritten(have *Batch, bound kafka.Offset) error {
	i := slices.IndexFunc(l.batches, func(b Batch) bool { return b.Base == have.Base })
	if i < 0 {
		return fmt.Errorf("batch [%d,%d) was never there", have.Base, have.Next)
	}
	was := &l.batches[i]
	if string(was.Raw) == string(have.Raw) {
		return nil
	}
	h, w := &have.header, &was.header
	if have.Base >= bound || have.Next != was.Next || have.Epoch != was.Epoch || h.ProducerID != w.ProducerID ||
		h.ProducerEpoch != w.ProducerEpoch || h.BaseSequence != w.BaseSequence || h.IsControl() != w.IsControl() ||
		h.IsTransactional() != w.IsTransactional() {
		return fmt.Errorf("batch %s became %s", w.String(), h.String())
	}
	for _, r := range have.records {
		if !slices.ContainsFunc(was.records, func(q Record) bool { return sameRecord(r, q) }) {
			return fmt.Errorf("record %+v is none of %+v", r, was.records)
		}
	}
	return nil
}

func sameRecord(a, b Record) bool {
	return a.Offset == b.Offset && a.Timestamp == b.Timestamp && string(a.Key) == string(b.Key) && string(a.Value) == string(b.Value) &&
		a.Tombstone == b.Tombstone && a.Keyless == b.Keyless
}

// latest is where the last record of a key in [from, to) lies that no aborted transaction wrote.
func (l *Log) latest(key []byte, from, to kafka.Offset) (at kafka.Offset, ok bool) {
	at = kafka.NoOffset
	for i := range l.batches {
		b := &l.batches[i]
		if b.header.IsControl() || b.header.IsTransactional() && l.aborted(b) {
			continue
		}
		for _, r := range b.records {
			if r.Offset >= from && r.Offset < to && !r.Keyless && string(r.Key) == string(key) {
				at, ok = r.Offset, true
			}
		}
	}
	return at, ok
}

// aborted: the next marker of the batch's producer says so.
func (l *Log) aborted(b *Batch) bool {
	for i := range l.batches {
		m := &l.batches[i]
		if m.Base < b.Base || !m.header.IsControl() || m.header.ProducerID != b.header.ProducerID || len(m.records) == 0 {
			continue
		}
		kind, err := record.ParseControl(&record.Record{Key: m.records[0].Key})
		return err == nil && kind == record.ControlAbort
	}
	return false
}

// horizonPassed: the batch of the record at offset has a delete horizon, and that is over.
func (l *Log) horizonPassed(offset kafka.Offset, nowMs int64) bool {
	i := slices.IndexFunc(l.batches, func(b Batch) bool { return b.Base <= offset && offset < b.Next })
	h := &l.batches[i].header
	return h.Attributes&record.HasDeleteHorizon != 0 && nowMs >= h.BaseTimestamp
}
