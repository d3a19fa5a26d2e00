package partition

import (
	"errors"
	"slices"
	"time"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/replica"
)

// ErrNotOnline: the partition failed or is gone; nothing was appended.
var ErrNotOnline = errors.New("broker: partition is not online")

// Appended is the outcome of an append.
type Appended struct {
	Code kafka.ErrorCode // of the producer's sequence; nothing was appended unless NONE
	Base kafka.Offset    // offset of the first record; of the first copy, when it is a duplicate
	Next kafka.Offset    // the answer is complete when progress reaches it

	// Timestamp is the largest timestamp (ms) of the batch; of the first copy, when it is a duplicate.
	Timestamp int64
}

// Append appends one batch that passed record.ValidateProduce, in place: its base
// offset and leader epoch are written into it. An error is KAFKA_STORAGE_ERROR
// for the client: the batch was not appended and never will be.
func (p *Partition) Append(batch []byte, now kafka.Now) (Appended, error) {
	p.order.Lock()
	defer p.order.Unlock()
	return p.append(batch, now)
}

func (p *Partition) append(batch []byte, now kafka.Now) (Appended, error) {
	if p.State() != Online {
		return Appended{}, ErrNotOnline
	}
	if p.Epoch() == kafka.NoLeaderEpoch {
		return Appended{Code: kafka.ErrNotLeaderOrFollower}, nil
	}
	a, err := p.log.Append(batch, p.Epoch(), now)
	if err != nil {
		p.fail(err)
		return Appended{}, err
	}
	if a.Code == kafka.ErrNone && !a.Duplicate {
		p.step(now, func(out []replica.Effect) []replica.Effect {
			return p.machine.Appended(now, a.Base, a.Next, out)
		})
	}
	return Appended{Code: a.Code, Base: a.Base, Next: a.Next, Timestamp: a.Timestamp}, nil
}

// lateQueue holds batches that were answered before they are appended: what rule
// broker.ack-after-append forbids. It is guarded by the partition's order lock.
type lateQueue struct {
	batches [][]byte
	next    kafka.Offset // the offset predicted for the next batch
	running bool
}

const (
	lateMax   = 256                   // batches that may lie in the queue
	latePause = 10 * time.Millisecond // how long they lie there
)

// AppendLate answers with the offset that the batch will probably get; it is
// appended soon, in the background.
func (p *Partition) AppendLate(batch []byte, now kafka.Now) (Appended, error) {
	h, err := record.ParseHeader(batch)
	if err != nil {
		return Appended{}, err
	}
	p.order.Lock()
	defer p.order.Unlock()
	if p.State() != Online {
		return Appended{}, ErrNotOnline
	}
	q := &p.late
	if len(q.batches) >= lateMax {
		q.drain(p)
	}
	if len(q.batches) == 0 {
		q.next = p.log.EndOffset()
	}
	q.batches = append(q.batches, slices.Clone(batch))
	a := Appended{Base: q.next, Next: q.next + kafka.Offset(h.LastOffsetDelta) + 1}
	q.next = a.Next
	if !q.running {
		q.running = true
		time.AfterFunc(latePause, func() {
			p.order.Lock()
			defer p.order.Unlock()
			q.running = false
			q.drain(p)
		})
	}
	return a, nil
}

// drain appends what lies in the queue; failures are nobody's business any more.
func (q *lateQueue) drain(p *Partition) {
	for _, batch := range q.batches {
		_, _ = p.append(batch, p.env.Now())
	}
	q.batches = nil
}
