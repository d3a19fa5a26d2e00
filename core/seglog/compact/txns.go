package compact

import (
	"cmp"
	"fmt"
	"slices"

	"trialog/core/kafka"
	"trialog/core/record"
)

// Txns finds out which transactions of a range were aborted. It is shown the batches of [from, to) in order, of data the
// headers only; to is at most the HW, so that no marker is taken for decided that may still be cut off.
//
// Batches below from are never taken for aborted: an earlier round, which ended there, has removed those.
type Txns struct {
	from kafka.Offset
	open []openTxn                         // transactions without a marker so far, by producer
	past map[kafka.ProducerID]kafka.Offset // offset after the last marker
	cut  map[kafka.ProducerID][]span
}

type openTxn struct {
	id    kafka.ProducerID
	first kafka.Offset
}

// span is the range of one aborted transaction: [first, marker).
type span struct{ first, marker kafka.Offset }

// NewTxns begins at from.
func NewTxns(from kafka.Offset) *Txns {
	return &Txns{from: from, past: map[kafka.ProducerID]kafka.Offset{}, cut: map[kafka.ProducerID][]span{}}
}

// Note takes in the next batch. batch may be nil unless it is a control batch.
func (t *Txns) Note(h *record.Header, batch []byte) error {
	if !h.IsTransactional() || h.LastOffset() < t.from {
		return nil
	}
	id := h.ProducerID
	i, open := slices.BinarySearchFunc(t.open, id, func(o openTxn, id kafka.ProducerID) int { return cmp.Compare(o.id, id) })
	if !h.IsControl() {
		if !open {
			t.open = slices.Insert(t.open, i, openTxn{id: id, first: h.BaseOffset})
		}
		return nil
	}
	kind, ok, err := marker(batch)
	if err != nil || !ok {
		return err
	}
	if kind == record.ControlAbort {
		t.cut[id] = append(t.cut[id], span{first: max(t.from, t.past[id]), marker: h.BaseOffset})
	}
	if kind == record.ControlAbort || kind == record.ControlCommit {
		if open {
			t.open = slices.Delete(t.open, i, i+1)
		}
		t.past[id] = h.NextOffset()
	}
	return nil
}

// Open reports transactions whose marker was not seen, and the smallest of their first offsets: nothing from there on may
// be cleaned.
func (t *Txns) Open() (first kafka.Offset, open bool) {
	first = kafka.Offset(1<<63 - 1)
	for _, o := range t.open {
		first = min(first, o.first)
	}
	return first, len(t.open) > 0
}

// Aborted reports a batch of an aborted transaction.
func (t *Txns) Aborted(h *record.Header) bool {
	if t == nil || !h.IsTransactional() || h.IsControl() {
		return false
	}
	for _, s := range t.cut[h.ProducerID] {
		if s.first <= h.BaseOffset && h.BaseOffset < s.marker {
			return true
		}
	}
	return false
}

// marker is the kind of a control batch; not ok if it was emptied.
func marker(batch []byte) (kind record.ControlType, ok bool, err error) {
	it := record.NewRecords(batch)
	if !it.Next() {
		return 0, false, wrap(it.Err())
	}
	kind, err = record.ParseControl(it.Record())
	return kind, true, wrap(err)
}

// wrap marks damage inside a batch.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}
