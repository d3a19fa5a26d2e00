package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// replay is the producer state as the batches give it.
type replay struct {
	state        *producers.State
	coordinators map[kafka.ProducerID]int32 // epochs of the coordinators that wrote the last markers
	// floor is where it begins to be complete: what was compacted away or deleted below it nobody can replay.
	floor  kafka.Offset
	broken bool // a batch was missed: nothing can be compared any more
	// ended is the aborted transaction that the last batch has ended; First is -1 when its data is not there.
	ended *layout.TxnEntry
}

// take takes in a sound batch that follows those before it.
func (r *replay) take(h *record.Header, batch []byte) {
	r.ended = nil
	if !h.HasProducerID() {
		return
	}
	if h.IsControl() {
		r.marker(h, batch)
	}
	r.state.Update(h)
}

func (r *replay) marker(h *record.Header, batch []byte) {
	it := record.NewRecords(batch)
	if !it.Next() {
		return
	}
	kind, err := record.ParseControl(it.Record())
	if err != nil || kind != record.ControlAbort && kind != record.ControlCommit {
		return
	}
	if m, ok := ParseMarker(it.Record().Value); ok {
		r.coordinators[h.ProducerID] = m.CoordinatorEpoch
	}
	if kind == record.ControlAbort {
		r.ended = &layout.TxnEntry{Producer: h.ProducerID, First: kafka.NoOffset, Last: h.LastOffset(), LastStable: h.LastOffset() + 1}
		for _, p := range r.state.Producers() {
			switch {
			case p.ID == h.ProducerID:
				r.ended.First = p.TxnFirstOffset
			case p.TxnFirstOffset >= 0:
				r.ended.LastStable = min(r.ended.LastStable, p.TxnFirstOffset)
			}
		}
	}
}

// compareSnapshots compares the snapshots up to the offset to, now that the state is that of everything below.
func (p *partition) compareSnapshots(to kafka.Offset) error {
	for len(p.snapshots) > 0 && p.snapshots[0] <= to {
		at := p.snapshots[0]
		p.snapshots = p.snapshots[1:]
		path := p.file(at, layout.SnapshotSuffix)
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		level := p.level(max(at-1, 0))
		state, err := producers.ParseSnapshot(producers.AllRules(), at, b)
		if err != nil {
			p.r.add(level, path, NoPos, "%v; the state can be made from the batches", err)
			continue
		}
		if at < p.bases[0] {
			p.r.add(Note, path, NoPos, "the log begins at %d, behind it", p.bases[0])
			continue
		}
		if p.replay.broken {
			continue
		}
		for _, have := range state.Producers() {
			if why := p.replay.differs(&have); why != "" {
				p.r.add(level, path, NoPos, "%s", why)
			}
		}
	}
	return nil
}

// differs says how an entry of a snapshot differs from the replay; "" when it does not, or nobody can tell.
func (r *replay) differs(have *producers.Producer) string {
	last, any := have.Last()
	if any && last.LastOffset < r.floor || !any && r.floor > 0 || have.TxnFirstOffset >= 0 && have.TxnFirstOffset < r.floor {
		return ""
	}
	want, ok := r.state.Producer(have.ID)
	if !ok {
		return fmt.Sprintf("producer %d, but no batch below has it", have.ID)
	}
	wantLast, _ := want.Last()
	switch coordinator, known := r.coordinators[have.ID]; {
	case have.Epoch != want.Epoch:
		return fmt.Sprintf("producer %d: epoch %d, but the batches say %d", have.ID, have.Epoch, want.Epoch)
	case have.TxnFirstOffset != want.TxnFirstOffset:
		return fmt.Sprintf("producer %d: transaction from %d, but the batches say %d", have.ID, have.TxnFirstOffset, want.TxnFirstOffset)
	case last.LastOffset != wantLast.LastOffset || last.LastSeq != wantLast.LastSeq || last.OffsetDelta != wantLast.OffsetDelta:
		return fmt.Sprintf("producer %d: last batch %d..%d with sequence %d, but the batches say %d..%d with %d", have.ID, last.FirstOffset(),
			last.LastOffset, last.LastSeq, wantLast.FirstOffset(), wantLast.LastOffset, wantLast.LastSeq)
	case have.LastTimestamp != want.LastTimestamp:
		return fmt.Sprintf("producer %d: timestamp %d, but the batches say %d", have.ID, have.LastTimestamp, want.LastTimestamp)
	case known && have.CoordinatorEpoch >= 0 && have.CoordinatorEpoch != coordinator:
		return fmt.Sprintf("producer %d: coordinator epoch %d, but its last marker has %d", have.ID, have.CoordinatorEpoch, coordinator)
	}
	return ""
}
