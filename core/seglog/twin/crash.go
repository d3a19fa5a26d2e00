package twin

import (
	"fmt"
	"slices"

	"trialog/core/epochs"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
)

// Real is what is asked of the log under test; seglog.Log has it.
type Real interface {
	StartOffset() kafka.Offset
	EndOffset() kafka.Offset
	HighWatermark() kafka.Offset
	FlushedTo() kafka.Offset
	SegmentBases() []kafka.Offset
	Epochs() []epochs.Entry
	Producers() []producers.Producer
	Walk(from, maxOffset kafka.Offset, fn func(h *record.Header, batch []byte) error) error
}

// Outcome is everything that can be seen of a log. It may be carried from one process to another (encoding/json).
type Outcome struct {
	Start, End, HW, Flushed kafka.Offset
	Segments                []kafka.Offset
	Epochs                  []Epoch
	Producers               []Producer
	Batches                 [][]byte // from the one that holds Start on
}

// Observe looks at a log through its readers' eyes: every batch is read, and its CRC checked.
func Observe(l Real) (Outcome, error) {
	o := Outcome{Start: l.StartOffset(), End: l.EndOffset(), HW: l.HighWatermark(), Flushed: l.FlushedTo(), Segments: l.SegmentBases()}
	for _, e := range l.Epochs() {
		o.Epochs = append(o.Epochs, Epoch(e))
	}
	for _, p := range l.Producers() {
		o.Producers = append(o.Producers, Producer{
			ID: p.ID, Epoch: p.Epoch, TxnFirst: p.TxnFirstOffset, Timestamp: p.LastTimestamp, Batches: slices.Clone(p.Batches()),
		})
	}
	err := l.Walk(o.Start, o.End, func(_ *record.Header, batch []byte) error {
		o.Batches = append(o.Batches, slices.Clone(batch))
		return nil
	})
	return o, err
}

// String is one line of numbers.
func (o Outcome) String() string {
	return fmt.Sprintf("[%d,%d) hw=%d flushed=%d segments=%v epochs=%v %d batches", o.Start, o.End, o.HW, o.Flushed, o.Segments,
		o.Epochs, len(o.Batches))
}

// Check compares a running log, or one that was opened after a clean stop, with the twin: all has to be equal. (The real
// one may have flushed more than was asked for.)
func (l *Log) Check(o Outcome) error {
	switch {
	case o.Start != l.start || o.End != l.end || o.HW != l.hw:
		return fmt.Errorf("%v, want [%d,%d) hw=%d", o, l.start, l.end, l.hw)
	case o.Flushed < l.flushed || o.Flushed > l.end:
		return fmt.Errorf("%v, want flushed in [%d,%d]", o, l.flushed, l.end)
	case !slices.Equal(o.Segments, l.segments):
		return fmt.Errorf("%v, want segments %v", o, l.segments)
	case !slices.Equal(o.Epochs, l.epochs):
		return fmt.Errorf("%v, want epochs %v", o, l.epochs)
	case !slices.EqualFunc(o.Producers, l.producers, equalProducers):
		return fmt.Errorf("producers %v, want %v", o.Producers, l.producers)
	}
	return l.checkBatches(o)
}

func equalProducers(a, b Producer) bool {
	return a.ID == b.ID && a.Epoch == b.Epoch && a.TxnFirst == b.TxnFirst && a.Timestamp == b.Timestamp && slices.Equal(a.Batches, b.Batches)
}

// Allowed is what a crash may leave.
type Allowed struct {
	states []*Log // one of them, or a prefix of it
	floor  kafka.Offset
	start  [2]kafka.Offset // from, to

	compaction *Compaction // that was running
}

// Crashed is what a crash now, between two operations, may leave after a recovery.
func (l *Log) Crashed() Allowed {
	return Allowed{states: []*Log{l}, floor: l.flushed, start: [2]kafka.Offset{l.savedStart, l.start}}
}

// Between is what a crash in the middle of an operation may leave: before is a clone made before it, after the twin that
// did it.
func Between(before, after *Log) Allowed {
	return Allowed{
		states: append(rolled(before, after), before, after),
		floor:  min(before.flushed, after.flushed, after.floor),
		start:  [2]kafka.Offset{min(before.savedStart, after.savedStart), max(before.start, after.start)},
	}
}

// rolled is the state in between where a step rolls first and then takes segments away, as retention does.
func rolled(before, after *Log) []*Log {
	last := after.segments[len(after.segments)-1]
	if before.end != after.end || last != after.end || slices.Contains(before.segments, last) {
		return nil
	}
	half := before.Clone()
	half.segments = append(half.segments, last)
	return []*Log{half}
}

// Check is nil when the crash may have left this; an error says what forbids it.
func (a Allowed) Check(o Outcome) error {
	switch {
	case o.Start < a.start[0] || o.Start > a.start[1]:
		return fmt.Errorf("C3: %v: want a start in %v", o, a.start)
	case o.Start > o.HW || o.HW > o.End || o.Flushed != o.End:
		return fmt.Errorf("C4: %v", o)
	case o.End < a.floor:
		return fmt.Errorf("C1: %v: want an end of %d at least", o, a.floor)
	}
	var why error
	for _, s := range a.states {
		err := s.survives(o, &a)
		if err == nil {
			return nil
		}
		why = err
	}
	return why
}

// survives is C2 and C5 to C7 for one state that the log was in.
func (l *Log) survives(o Outcome, a *Allowed) error {
	if len(o.Segments) == 0 || o.Segments[0] > o.Start || !slices.IsSorted(o.Segments) || o.Segments[len(o.Segments)-1] > o.End {
		return fmt.Errorf("C7: %v", o)
	}
	if o.Start == o.End && len(o.Batches) == 0 && (o.End >= l.end || o.Segments[0] == o.Start) {
		return o.endsEpochs() // all there was lies below the start
	}
	for _, base := range o.Segments {
		if !slices.Contains(l.segments, base) {
			return fmt.Errorf("C7: %v: segment %d, want some of %v", o, base, l.segments)
		}
	}
	if !l.endsAt(o.End, o.Start) {
		return fmt.Errorf("C2: %v: no batch ends there", o)
	}
	if err := l.content(o, a.compaction); err != nil {
		return err
	}
	for _, raw := range o.Batches {
		b := mustParse(raw)
		if at := max(b.Base, o.Start); at >= a.start[1] && epochAt(o.Epochs, at) != b.Epoch {
			return fmt.Errorf("C5: %v: epoch %d at %d", o, b.Epoch, at)
		}
	}
	if err := o.endsEpochs(); err != nil {
		return err
	}
	if err := l.after(o).checkProducers(o.Producers, o.Segments[0], o.End); err != nil {
		return fmt.Errorf("C6: %w", err)
	}
	return nil
}

// content is C2, or C8 when a compaction was running.
func (l *Log) content(o Outcome, c *Compaction) error {
	if c == nil {
		if err := l.checkBatches(o); err != nil {
			return fmt.Errorf("C2: %w", err)
		}
		return nil
	}
	if err := l.checkCleaned(*c, o); err != nil {
		return fmt.Errorf("C8: %w", err)
	}
	return nil
}

// after is the log with the batches that are left.
func (l *Log) after(o Outcome) *Log {
	c := *l
	c.batches = nil
	for _, raw := range o.Batches {
		c.batches = append(c.batches, mustParse(raw))
	}
	return &c
}

// endsEpochs is the second half of C5. The epoch that holds the start offset is kept even when nothing is left of it.
func (o *Outcome) endsEpochs() error {
	if n := len(o.Epochs); n > 0 && o.Epochs[n-1].Start >= o.End && o.Epochs[n-1].Start > o.Start {
		return fmt.Errorf("C5: %v", o)
	}
	return nil
}

func epochAt(entries []Epoch, offset kafka.Offset) kafka.LeaderEpoch {
	found := kafka.NoLeaderEpoch
	for _, e := range entries {
		if e.Start <= offset {
			found = e.Epoch
		}
	}
	return found
}

// endsAt: a batch ends there, or a segment begins, or nothing is left.
func (l *Log) endsAt(end, start kafka.Offset) bool {
	return end == start || end == l.end || slices.Contains(l.segments, end) ||
		slices.ContainsFunc(l.batches, func(b Batch) bool { return b.Next == end })
}

// checkBatches compares the batches of [o.Start, o.End).
func (l *Log) checkBatches(o Outcome) error {
	var want []Batch
	for _, b := range l.batches {
		if b.Next > o.Start && b.Base < o.End {
			want = append(want, b)
		}
	}
	for i, raw := range o.Batches {
		have, err := parse(raw)
		if err != nil {
			return fmt.Errorf("%v: batch %d: %w", o, i, err)
		}
		if i >= len(want) {
			return fmt.Errorf("%v: batch [%d,%d) is too much", o, have.Base, have.Next)
		}
		if w := want[i]; string(w.Raw) != string(have.Raw) {
			return fmt.Errorf("%v: batch [%d,%d) e%d differs from what was written as [%d,%d) e%d", o, have.Base, have.Next, have.Epoch,
				w.Base, w.Next, w.Epoch)
		}
	}
	if n := len(o.Batches); n < len(want) {
		return fmt.Errorf("%v: batch [%d,%d) is missing", o, want[n].Base, want[n].Next)
	}
	return nil
}

// AdoptBelow says which batches lie wholly below the start after a compaction: nobody reads them, but they have their size,
// and Adopt knows only what they were.
func (l *Log) AdoptBelow(batches [][]byte) {
	l.begin()
	var all []Batch
	for _, raw := range batches {
		all = append(all, mustParse(raw))
	}
	l.batches = append(all, slices.DeleteFunc(l.batches, func(b Batch) bool { return b.Next <= l.start })...)
}

// Adopt goes on from what a log has become, which Check or Allowed.Check approved: after a recovery, or a compaction.
func (l *Log) Adopt(o Outcome) {
	l.begin()
	l.start, l.end, l.hw, l.flushed, l.savedStart = o.Start, o.End, o.HW, o.Flushed, min(l.savedStart, o.Start)
	l.segments = slices.Clone(o.Segments)
	l.epochs = slices.Clone(o.Epochs)
	l.producers = cloneProducers(o.Producers)
	below := slices.DeleteFunc(l.batches, func(b Batch) bool { return b.Next > o.Start || b.Base < o.Segments[0] })
	l.batches = slices.Clone(below)
	for _, raw := range o.Batches {
		l.batches = append(l.batches, mustParse(raw))
	}
	l.sent = slices.DeleteFunc(l.sent, func(s sent) bool { return s.batch.LastOffset >= o.End })
}
