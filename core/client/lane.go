package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/client/retry"
	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

// batch is one Send on its way to an outcome. What is sent next, and again, is decided by package retry.
type batch struct {
	records  []Record
	deadline time.Time
	began    func(ProducerIdentity, int32) // nil once called
	done     func(Result)

	bytes   []byte // encoded when it is numbered, the same for all attempts
	settled bool   // it has its outcome
	last    *Error // of an attempt that was followed by another; the last that says more than that nothing was sent
}

// answer is the end of one attempt. err is nil when the batch was appended.
type answer struct {
	b          *batch
	baseOffset int64
	err        *Error
}

// lane carries the batches of one producer to one partition, in order. One goroutine works on it while there are batches
// (a caller who waits for the outcome does so itself, which saves switches) and owns everything but the queue. After a failure it lets all that is in flight come home, pauses, and begins
// again at the oldest batch without outcome, so that a retry never overtakes or is overtaken.
type lane struct {
	p       *Producer
	tp      kafka.TopicPartition
	wake    chan struct{}
	answers chan answer

	mu      sync.Mutex
	queue   []*batch // that the machine does not know yet
	running bool

	machine *retry.Lane[*batch]
}

// add puts a batch at the end of the queue. It reports that nobody works on the lane: the caller must see to run.
func (l *lane) add(b *batch) (idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, b)
	if !l.running {
		l.running = true
		return true
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return false
}

// run works on the lane until it is empty, or until own has its outcome: then another goroutine takes over what is left.
func (l *lane) run(own *batch) {
	for {
		l.fill()
		switch {
		case l.stopIfEmpty():
			return
		case own != nil && own.settled:
			go l.run(nil)
			return
		case l.machine.InFlight() > 0:
			l.await()
		case l.machine.Home():
			l.machine.Resume()
			pause(context.Background(), l.p.c.cfg.backoff(max(l.machine.Failures(), 1)))
		}
	}
}

// await waits for the end of an attempt, or for a batch to send.
func (l *lane) await() {
	select {
	case a := <-l.answers:
		l.settle(a)
	case <-l.wake:
	}
}

func (l *lane) stopIfEmpty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = len(l.queue) > 0 || l.machine.Len() > 0
	return !l.running
}

// fill sends waiting batches, oldest first, while it may.
func (l *lane) fill() {
	for {
		l.takeQueue()
		b, ok := l.machine.Next()
		if !ok {
			return
		}
		l.machine.Begin(b)
		if err := l.send(b); err != nil {
			l.settle(answer{b: b, err: err})
		}
	}
}

func (l *lane) takeQueue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, b := range l.queue {
		l.machine.Add(b, len(b.records))
		l.queue[i] = nil
	}
	l.queue = l.queue[:0]
}

// send makes one attempt. An error means that there will be no answer.
func (l *lane) send(b *batch) *Error {
	if err := l.sequence(b); err != nil {
		return err
	}
	c := l.p.c
	at, err := c.leaderOf(context.Background(), "produce", l.tp)
	if err != nil {
		return err
	}
	conn, terr := c.connect(at.addr, forProduce)
	if terr != nil {
		c.stale(l.tp, at.generation)
		return terr.in("produce", l.tp.String())
	}
	timeout := min(c.cfg.RequestTimeout, time.Until(b.deadline))
	if timeout < time.Millisecond { // and nothing leaves after the deadline
		return unsent("produce", l.tp.String(), NameNotSent, fmt.Errorf("no outcome within %s", l.p.cfg.DeliveryTimeout))
	}
	req := l.request(b, timeout)
	if terr = conn.version(req); terr != nil {
		return terr.in("produce", l.tp.String())
	}
	if l.p.codec == record.Zstd && req.GetVersion() < 7 {
		return &Error{
			Op: "produce", Target: l.tp.String(), Outcome: Failed, Code: kafka.ErrUnsupportedCompressionType,
			Err: fmt.Errorf("zstd needs Produce 7, the broker serves %d", req.GetVersion()),
		}
	}
	if l.p.cfg.Acks == kafka.AcksNone {
		return l.sendUnanswered(b, conn, req, timeout)
	}
	terr = conn.start(req, timeout, func(resp kmsg.Response, terr *transportError) { l.answers <- l.ended(b, resp, terr, at) })
	if terr != nil {
		return terr.in("produce", l.tp.String())
	}
	l.machine.Left(b)
	return nil
}

// sendUnanswered ends a batch of acks=0: nobody will ever say what became of it.
func (l *lane) sendUnanswered(b *batch, conn *conn, req kmsg.Request, timeout time.Duration) *Error {
	if terr := conn.send(req, timeout); terr != nil {
		if terr.sent {
			l.machine.MayHaveLeft(b)
		}
		return terr.in("produce", l.tp.String())
	}
	b.resolve(l.machine.Unanswered(b), Unknown, kafka.NoOffset, nil)
	return nil
}

// sequence encodes a batch at its first attempt, under the producer's identity and the next sequence numbers.
func (l *lane) sequence(b *batch) *Error {
	identity, sequence := NoIdentity, kafka.NoSequence
	switch {
	case !l.p.cfg.Idempotent && b.bytes != nil || l.machine.Numbered(b):
		return nil
	case l.p.cfg.Idempotent:
		id, err := l.p.identify(context.Background(), b.deadline)
		if err != nil {
			return err
		}
		numbered := l.machine.Number(b, id)
		identity, sequence = numbered.Identity, numbered.Sequence
	}
	b.bytes = b.encode(identity, sequence)
	if l.p.codec != record.Uncompressed {
		b.bytes = codec.Compress(nil, b.bytes, l.p.codec, codec.DefaultLevel(l.p.codec))
	}
	if b.began != nil {
		b.began(identity, sequence)
		b.began = nil
	}
	return nil
}

func (b *batch) encode(id ProducerIdentity, sequence int32) []byte {
	const each = 24 // bytes of a record beside key, value and headers, at most but for gaps in time
	size := record.HeaderSize
	for i := range b.records {
		size += each + len(b.records[i].Key) + len(b.records[i].Value)
	}
	var w record.Builder
	w.Reset(make([]byte, 0, size))
	if sequence >= 0 {
		w.SetProducer(id.ID, id.Epoch, sequence)
	}
	for i := range b.records {
		r := &b.records[i]
		w.Append(r.Timestamp, r.Key, r.Value, r.Headers...)
	}
	return w.Finish()
}

func (l *lane) request(b *batch, timeout time.Duration) kmsg.Request {
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = l.tp.Partition, b.bytes
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = l.tp.Topic, []kmsg.ProduceRequestTopicPartition{part}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = l.p.cfg.Acks, int32(timeout.Milliseconds())
	req.Topics = []kmsg.ProduceRequestTopic{topic}
	return req
}

// ended turns the end of a request into an answer.
func (l *lane) ended(b *batch, resp kmsg.Response, terr *transportError, at leader) answer {
	target := l.tp.String()
	if terr != nil {
		l.p.c.stale(l.tp, at.generation)
		return answer{b: b, err: terr.in("produce", target)}
	}
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		for _, p := range t.Partitions {
			if t.Topic != l.tp.Topic || p.Partition != l.tp.Partition {
				continue
			}
			code := kafka.ErrorCode(p.ErrorCode)
			if code == kafka.ErrNone {
				return answer{b: b, baseOffset: p.BaseOffset}
			}
			if retry.Refreshes(code) {
				l.p.c.stale(l.tp, at.generation)
			}
			return answer{b: b, err: answered("produce", target, code, p.ErrorMessage)}
		}
	}
	return answer{b: b, err: lost("produce", target, NameConnectionLost, errUnmentioned)}
}

// settle does what the end of an attempt means for its batch, and for those behind it.
func (l *lane) settle(a answer) {
	b := a.b
	if a.err == nil {
		b.resolve(l.machine.Done(b), OK, a.baseOffset, nil)
		return
	}
	s := l.machine.Failed(b, retry.Failure{Outcome: a.err.Outcome, Code: a.err.Code, Late: l.late(b)})
	if s.Again {
		if b.last == nil || b.last.neverLeft() || !a.err.neverLeft() {
			b.last = a.err
		}
		return
	}
	for i, e := range s.Ended {
		e.Batch.Payload.resolve(e.Batch, e.Outcome, kafka.NoOffset, e.Batch.Payload.told(a.err))
		if i == 0 && s.Retired {
			l.p.retire(s.Identity)
		}
	}
}

// late reports that there is no time for another attempt, or no client.
func (l *lane) late(b *batch) bool {
	return l.p.c.isClosed() || time.Now().Add(l.p.c.cfg.backoff(l.machine.Failures()+1)).After(b.deadline)
}

// told is the error that the batch ends with after err: that nothing was sent at last, a refused dial or the deadline,
// hides nothing that an earlier attempt brought to light.
func (b *batch) told(err *Error) *Error {
	if b.last == nil || !err.neverLeft() || b.last.neverLeft() && err.name != NameNotSent {
		return err
	}
	told := *b.last
	told.Err = err.Err
	if b.last.Err != nil {
		told.Err = fmt.Errorf("%w; %w", b.last.Err, err.Err)
	}
	return &told
}

// resolve tells b its outcome; end is what the machine knows of it.
func (b *batch) resolve(end retry.Batch[*batch], outcome Outcome, baseOffset int64, err *Error) {
	b.settled = true
	r := Result{
		Outcome: outcome, BaseOffset: baseOffset, Identity: end.Identity, Sequence: end.Sequence,
		Attempts: end.Attempts, Retried: end.Left > 1,
	}
	if err != nil {
		final := *err
		final.Outcome = outcome
		r.Err = &final
	}
	b.done(r)
}
