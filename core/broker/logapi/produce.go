package logapi

import (
	"fmt"
	"sync"

	"trialog/core/broker/meter"
	"trialog/core/broker/partition"
	"trialog/core/broker/serve"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/wire"
)

// produceAnswer is a Produce request with its outcomes. It is reused.
type produceAnswer struct {
	req         wire.ProduceRequest
	correlation int32
	meter       *meter.API
	pool        *wire.Pool
	frame       wire.Frame // kept until the answer has left

	// What the answer waits for.
	kind     partition.Kind
	deadline int64
	waits    []produceWait
	watch    partition.Watch // of the first wait that is not over
}

// produceWait is a batch that was appended but may not be acknowledged yet.
type produceWait struct {
	partition *partition.Partition
	next      kafka.Offset
	entry     int // index into req.Partitions
}

// producePending is an answer that has to wait.
type producePending struct{ *produceAnswer }

var produceAnswers = sync.Pool{New: func() any { return new(produceAnswer) }}

// Produce appends the batches of a request, each partition on its own: one may be
// refused while others are written.
func (a *API) Produce(rq *serve.Request) (serve.Answer, error) {
	pa := produceAnswers.Get().(*produceAnswer)
	pa.pool, pa.correlation, pa.meter = rq.Pool(), rq.Header.CorrelationID, a.Meter.API(wire.KeyProduce)
	if err := pa.req.Parse(rq.Header.Version, rq.Body); err != nil {
		pa.Drop()
		return nil, err
	}
	pa.deadline = rq.Now.MonoNs + nsOfMs(pa.req.TimeoutMs)
	pa.kind = partition.Acked
	if pa.req.Acks == kafka.AcksAll {
		pa.kind = partition.HW
	}
	for i := range pa.req.Topics {
		a.produceTopic(rq, pa, &pa.req.Topics[i])
	}
	if pa.req.Acks == kafka.AcksNone {
		err := pa.firstError()
		pa.measure()
		pa.Drop()
		return nil, err
	}
	return pa.keep(rq)
}

// firstError is what ends the connection of a producer that asked for no
// answers: it then refreshes its metadata, as with Kafka.
func (pa *produceAnswer) firstError() error {
	for i := range pa.req.Partitions {
		if p := &pa.req.Partitions[i]; p.ErrorCode != 0 {
			return fmt.Errorf("broker: produce with acks=0 to partition %d: %w", p.Index, kafka.ErrorCode(p.ErrorCode))
		}
	}
	return nil
}

// keep makes the answer own its request's frame, waiting or not: it may be queued
// behind others, and names its topics by the bytes of the request.
func (pa *produceAnswer) keep(rq *serve.Request) (serve.Answer, error) {
	pa.frame = rq.TakeFrame()
	if n := len(pa.req.Partitions); n >= chargeFrom && !pa.frame.Charge(int64(n)*entryBytes, rq.Gone()) {
		pa.Drop()
		return nil, fmt.Errorf("broker: produce to %d partitions: %w", n, wire.ErrBudget)
	}
	if len(pa.waits) == 0 {
		return pa, nil
	}
	return producePending{pa}, nil
}

func (a *API) produceTopic(rq *serve.Request, pa *produceAnswer, t *wire.ProduceTopic) {
	topic := a.Table.Topic(t.Name)
	for i := t.First; i < t.First+t.Count; i++ {
		entry := &pa.req.Partitions[i]
		p, missing := topic.Find(entry.Index)
		records, bytes := a.sizeOf(entry.Records)
		no := a.producePartition(rq, pa, p, missing, i)
		code := no.code
		if p != nil && code != kafka.ErrInvalidRequiredAcks {
			a.Meter.Produced(topic.Meter, code, records, bytes)
		}
		entry.ErrorCode = int16(code)
		if code == kafka.ErrNone {
			continue
		}
		entry.ErrorMessage, entry.ErrorRecord = no.message, no.record
		if code == kafka.ErrKafkaStorageError && pa.req.Version < 4 {
			entry.ErrorCode = int16(kafka.ErrNotLeaderOrFollower) // older clients do not know 56
		}
	}
}

// sizeOf is what a batch counts for if it is appended; it is asked before, since an append writes into the batch.
func (a *API) sizeOf(batch []byte) (records int32, bytes int) {
	if a.Meter == nil {
		return 0, 0
	}
	h, err := record.ParseHeader(batch)
	if err != nil {
		return 0, 0
	}
	return h.Count, len(batch)
}

// measure counts the errors that are answered.
func (pa *produceAnswer) measure() {
	for i := range pa.req.Partitions {
		pa.meter.Error(pa.req.Partitions[i].ErrorCode)
	}
}

// producePartition appends one batch and notes what to wait for.
func (a *API) producePartition(rq *serve.Request, pa *produceAnswer, p *partition.Partition, missing kafka.ErrorCode, i int) refusal {
	entry := &pa.req.Partitions[i]
	switch {
	case pa.req.Acks < kafka.AcksAll || pa.req.Acks > kafka.AcksLeader:
		return refusal{code: kafka.ErrInvalidRequiredAcks, record: -1}
	case missing != kafka.ErrNone:
		return refusal{code: missing, record: -1}
	}
	settings := p.Settings()
	c := newChecker(settings, pa.req.Version, rq.Now)
	defer c.close()
	batch, no := c.check(entry.Records)
	if no.code != kafka.ErrNone {
		return no
	}
	entry.LogStartOffset = p.Log().StartOffset()
	if settings.LogAppendTime {
		record.SetLogAppendTime(batch, rq.Now.WallMs)
	}
	if !a.AckAfterAppend {
		return appendLate(rq, p, entry, batch)
	}
	out, err := p.Append(batch, rq.Now)
	if err != nil {
		return refusal{kafka.ErrKafkaStorageError, err.Error(), -1}
	}
	if out.Code != kafka.ErrNone {
		return refusal{code: out.Code, record: -1}
	}
	entry.BaseOffset = out.Base
	if settings.LogAppendTime {
		entry.LogAppendTime = out.Timestamp // of a duplicate, when the first copy came
	}
	if pa.req.Acks != kafka.AcksNone && p.Progress(pa.kind) < out.Next {
		pa.waits = append(pa.waits, produceWait{partition: p, next: out.Next, entry: i})
	}
	return refusal{}
}

// appendLate is what rule broker.ack-after-append forbids: the answer leaves with
// a predicted offset.
func appendLate(rq *serve.Request, p *partition.Partition, entry *wire.ProducePartition, batch []byte) refusal {
	out, err := p.AppendLate(batch, rq.Now)
	if err != nil {
		return refusal{kafka.ErrKafkaStorageError, err.Error(), -1}
	}
	entry.BaseOffset = out.Base
	if p.Settings().LogAppendTime {
		entry.LogAppendTime = rq.Now.WallMs
	}
	return refusal{}
}

// over reports that a wait has an outcome.
func (pa *produceAnswer) over(w *produceWait) bool {
	p := w.partition
	return p.Progress(pa.kind) >= w.next || p.State() != partition.Online || p.Epoch() == kafka.NoLeaderEpoch
}

// Arm waits for one partition at a time: all of them must be over.
func (pa producePending) Arm(waker *serve.Waker) bool {
	for i := range pa.waits {
		w := &pa.waits[i]
		if pa.over(w) {
			continue
		}
		w.partition.Watch(&pa.watch, pa.kind, w.next, waker)
		if !pa.over(w) {
			return false
		}
		pa.watch.Stop()
	}
	return true
}

// Disarm takes the watch back.
func (pa producePending) Disarm() { pa.watch.Stop() }

// Deadline is the request's timeout.
func (pa producePending) Deadline() int64 { return pa.deadline }

// Impatient is false: the batches are in the log, their answer is worth a flush.
func (pa producePending) Impatient() bool { return false }

// Resolve gives every wait its outcome. A batch that timed out is in the log all
// the same (P06, P12): its offset stays in the answer.
func (pa producePending) Resolve(serve.Reason) {
	for i := range pa.waits {
		w := &pa.waits[i]
		entry := &pa.req.Partitions[w.entry]
		switch {
		case w.partition.Progress(pa.kind) >= w.next:
		case w.partition.State() == partition.Failed:
			entry.ErrorCode = int16(kafka.ErrKafkaStorageError)
		case w.partition.State() == partition.Gone:
			entry.ErrorCode = int16(kafka.ErrUnknownTopicOrPartition)
		case w.partition.Epoch() == kafka.NoLeaderEpoch:
			entry.ErrorCode = int16(kafka.ErrNotLeaderOrFollower)
		default:
			entry.ErrorCode = int16(kafka.ErrRequestTimedOut)
		}
	}
}

// Send encodes and writes the response.
func (pa *produceAnswer) Send(to *serve.Sink) error {
	size := 64 + 64*len(pa.req.Partitions) // a guess: names and messages come on top
	pa.measure()
	buf := pa.pool.Get(size)
	b := wire.BeginResponse(buf.B[:0], wire.KeyProduce, pa.req.Version, pa.correlation)
	b = wire.AppendProduceResponse(b, &pa.req)
	wire.EndFrame(b, 0, 0)
	pool := pa.pool
	pa.Drop() // before a peer that may not read
	err := to.WriteAll(b)
	pool.Put(buf)
	return err
}

// Drop gives everything back.
func (pa *produceAnswer) Drop() {
	pa.frame.Release()
	for i := range pa.waits {
		pa.waits[i].partition = nil
	}
	for i := range pa.req.Partitions {
		pa.req.Partitions[i].Records, pa.req.Partitions[i].ErrorMessage = nil, ""
	}
	for i := range pa.req.Topics {
		pa.req.Topics[i].Name = nil
	}
	pa.waits = pa.waits[:0]
	if cap(pa.req.Partitions) > chargeFrom*16 {
		pa.req = wire.ProduceRequest{} // an unusually wide request does not stay in the pool
	}
	produceAnswers.Put(pa)
}

var _ serve.Pending = producePending{}
