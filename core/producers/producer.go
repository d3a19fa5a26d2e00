package producers

import (
	"encoding/binary"
	"fmt"
	"strings"

	"trialog/core/kafka"
	"trialog/core/record"
)

// Window is how many batches of a producer are remembered: Kafka's clients keep at most five requests in flight.
const Window = 5

// Batch is what is remembered of an appended batch.
type Batch struct {
	FirstSeq, LastSeq kafka.Sequence // LastSeq < FirstSeq when the sequence wrapped inside the batch
	LastOffset        kafka.Offset
	OffsetDelta       int32 // last offset - first offset
	Timestamp         int64 // the batch's max timestamp, ms
}

// FirstOffset is the offset of the batch's first record.
func (b Batch) FirstOffset() kafka.Offset { return b.LastOffset - int64(b.OffsetDelta) }

// Producer is what is known of one producer id.
type Producer struct {
	ID               kafka.ProducerID
	Epoch            kafka.ProducerEpoch
	CoordinatorEpoch int32        // of the last end-of-transaction marker, or -1
	TxnFirstOffset   kafka.Offset // of the open transaction, or -1
	LastTimestamp    int64        // ms; what expiry looks at

	count   int8
	batches [Window]Batch // the first count, oldest first
}

// Batches is a view of the remembered batches, oldest first, valid until the next change.
func (p *Producer) Batches() []Batch { return p.batches[:p.count] }

// Last is the newest remembered batch; ok is false when there is none.
func (p *Producer) Last() (b Batch, ok bool) {
	if p.count == 0 {
		return Batch{}, false
	}
	return p.batches[p.count-1], true
}

// NextSequence is the sequence that is accepted next in this epoch: 0 when no batch is remembered.
func (p *Producer) NextSequence() kafka.Sequence {
	last, ok := p.Last()
	if !ok || last.LastSeq < 0 {
		return 0
	}
	return kafka.NextSequence(last.LastSeq, 1)
}

// String is "7/0 next 20: 0..9@100 10..19@110", with "txn from" when a transaction is open.
func (p *Producer) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d/%d next %d:", p.ID, p.Epoch, p.NextSequence())
	for _, b := range p.Batches() {
		fmt.Fprintf(&s, " %d..%d@%d", b.FirstSeq, b.LastSeq, b.FirstOffset())
	}
	if p.TxnFirstOffset >= 0 {
		fmt.Fprintf(&s, " txn from %d", p.TxnFirstOffset)
	}
	return s.String()
}

// find is the kept batch with exactly these sequences.
func (p *Producer) find(first, last kafka.Sequence) (Batch, bool) {
	for _, b := range p.Batches() {
		if b.FirstSeq == first && b.LastSeq == last {
			return b, true
		}
	}
	return Batch{}, false
}

// behind reports a sequence at or below the last one. Sequences wrap, so "below" is the nearer half of the circle.
func (p *Producer) behind(seq kafka.Sequence) bool {
	const half = 1 << 30
	_, ok := p.Last()
	return ok && uint32(seq-p.NextSequence())&uint32(kafka.MaxSequence) >= half
}

// setEpoch forgets the batches of another epoch.
func (p *Producer) setEpoch(epoch kafka.ProducerEpoch) {
	if p.Epoch != epoch {
		p.Epoch, p.count = epoch, 0
	}
}

// push remembers a batch and lets the oldest go when the window is full.
func (p *Producer) push(b Batch) {
	if p.count == Window {
		copy(p.batches[:], p.batches[1:])
		p.count--
	}
	p.batches[p.count] = b
	p.count++
}

// cut forgets the batches with a last offset at end or later, and reports whether there were any.
func (p *Producer) cut(end kafka.Offset) bool {
	kept := p.count
	for kept > 0 && p.batches[kept-1].LastOffset >= end {
		kept--
	}
	cut := kept < p.count
	p.count = kept
	return cut
}

func (p *Producer) appendTo(b []byte) []byte {
	b = binary.AppendVarint(b, p.ID)
	b = binary.AppendVarint(b, int64(p.Epoch))
	b = binary.AppendVarint(b, int64(p.CoordinatorEpoch))
	b = binary.AppendVarint(b, p.TxnFirstOffset)
	b = binary.AppendVarint(b, p.LastTimestamp)
	b = append(b, byte(p.count))
	for _, batch := range p.Batches() {
		b = binary.AppendVarint(b, int64(batch.FirstSeq))
		b = binary.AppendVarint(b, int64(batch.LastSeq))
		b = binary.AppendVarint(b, batch.LastOffset)
		b = binary.AppendVarint(b, int64(batch.OffsetDelta))
		b = binary.AppendVarint(b, batch.Timestamp)
	}
	return b
}

func batchOf(h *record.Header) Batch {
	return Batch{
		FirstSeq: h.BaseSequence, LastSeq: h.LastSequence(), LastOffset: h.LastOffset(), OffsetDelta: h.LastOffsetDelta,
		Timestamp: h.MaxTimestamp,
	}
}
