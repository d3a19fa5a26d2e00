package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

// batch is one Send on its way to an outcome.
type batch struct {
	records  []Record
	deadline time.Time
	began    func(ProducerIdentity, int32) // nil once called
	done     func(Result)

	identity ProducerIdentity
	sequence int32  // -1 until the first attempt of an idempotent producer
	bytes    []byte // encoded at the first attempt, the same for all

	inFlight bool
	settled  bool // it has its outcome
	attempts int
	left     int    // attempts of which a byte may have left
	doubtful bool   // an attempt ended without a definite answer
	last     *Error // of an attempt that was followed by another; the last that says more than that nothing was sent
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
	queue   []*batch // without outcome, oldest first
	running bool

	inFlight int
	rewind   bool // a batch failed and will be sent again: send nothing before all are home
	failures int  // in a row
	identity ProducerIdentity
	next     int32 // sequence number of the next new batch under identity
	void     bool  // identity is given up: what was sent under it is settled by its next answer
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
		case l.inFlight > 0:
			l.await()
		case l.rewind:
			l.rewind = false
			pause(context.Background(), l.p.c.cfg.backoff(max(l.failures, 1)))
		}
	}
}

// await waits for the end of an attempt, or for a batch to send.
func (l *lane) await() {
	select {
	case a := <-l.answers:
		l.inFlight--
		a.b.inFlight = false
		l.settle(a)
	case <-l.wake:
	}
}

func (l *lane) stopIfEmpty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = len(l.queue) > 0
	return !l.running
}

// fill sends waiting batches, oldest first, while it may.
func (l *lane) fill() {
	for !l.rewind && l.inFlight < l.p.cfg.MaxInFlight {
		b := l.oldestWaiting()
		if b == nil || l.waitsForVoid() {
			return
		}
		b.attempts++
		if err := l.send(b); err != nil {
			l.settle(answer{b: b, err: err})
		}
	}
}

func (l *lane) oldestWaiting() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.queue {
		if !b.inFlight {
			return b
		}
	}
	return nil
}

// waitsForVoid reports that batches of a given-up identity are in flight: what follows comes after they are home.
func (l *lane) waitsForVoid() bool {
	if l.void && l.inFlight == 0 {
		l.void, l.identity = false, NoIdentity
	}
	return l.void
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
	b.left++
	b.inFlight = true
	l.inFlight++
	return nil
}

// sendUnanswered ends a batch of acks=0: nobody will ever say what became of it.
func (l *lane) sendUnanswered(b *batch, conn *conn, req kmsg.Request, timeout time.Duration) *Error {
	if terr := conn.send(req, timeout); terr != nil {
		if terr.sent {
			b.left++
		}
		return terr.in("produce", l.tp.String())
	}
	b.left++
	l.resolve(b, Unknown, kafka.NoOffset, nil)
	return nil
}

// sequence encodes a batch at its first attempt, under the producer's identity and the next sequence numbers.
func (l *lane) sequence(b *batch) *Error {
	if b.bytes != nil {
		return nil
	}
	if l.p.cfg.Idempotent {
		id, err := l.p.identify(context.Background(), b.deadline)
		if err != nil {
			return err
		}
		if id != l.identity && l.sequenced() == 0 {
			l.identity, l.next = id, 0
		}
		b.identity, b.sequence = l.identity, l.next
		l.next = advance(l.next, len(b.records))
	}
	b.bytes = b.encode()
	if l.p.codec != record.Uncompressed {
		b.bytes = codec.Compress(nil, b.bytes, l.p.codec, codec.DefaultLevel(l.p.codec))
	}
	if b.began != nil {
		b.began(b.identity, b.sequence)
		b.began = nil
	}
	return nil
}

// sequenced counts the batches that have a sequence number and no outcome.
func (l *lane) sequenced() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, b := range l.queue {
		if b.sequence >= 0 {
			n++
		}
	}
	return n
}

// advance is the sequence number n records after s: after MaxInt32 comes 0.
func advance(s int32, n int) int32 { return int32((int64(s) + int64(n)) & (1<<31 - 1)) }

func (b *batch) encode() []byte {
	const each = 24 // bytes of a record beside key, value and headers, at most but for gaps in time
	size := record.HeaderSize
	for i := range b.records {
		size += each + len(b.records[i].Key) + len(b.records[i].Value)
	}
	var w record.Builder
	w.Reset(make([]byte, 0, size))
	if b.sequence >= 0 {
		w.SetProducer(b.identity.ID, b.identity.Epoch, b.sequence)
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
			if refreshes(code) {
				l.p.c.stale(l.tp, at.generation)
			}
			return answer{b: b, err: answered("produce", target, code, p.ErrorMessage)}
		}
	}
	return answer{b: b, err: lost("produce", target, NameConnectionLost, errUnmentioned)}
}

// refreshes reports the answers that say that the cluster has changed.
func refreshes(code kafka.ErrorCode) bool {
	switch code {
	case kafka.ErrNotLeaderOrFollower, kafka.ErrLeaderNotAvailable, kafka.ErrUnknownTopicOrPartition, kafka.ErrUnknownTopicID,
		kafka.ErrInconsistentTopicID, kafka.ErrFencedLeaderEpoch, kafka.ErrUnknownLeaderEpoch, kafka.ErrKafkaStorageError:
		return true
	}
	return false
}

// settle decides what the end of an attempt means for its batch, and for those behind it.
func (l *lane) settle(a answer) {
	b := a.b
	switch {
	case a.err == nil:
		l.failures = 0
		l.resolve(b, OK, a.baseOffset, nil)
		return
	case !l.void && l.retries(b, a.err):
		b.doubtful = b.doubtful || a.err.Outcome == Unknown
		if b.last == nil || b.last.neverLeft() || !a.err.neverLeft() {
			b.last = a.err
		}
		l.rewind = true
		l.failures++
		return
	}
	outcome := a.err.Outcome
	if b.doubtful {
		outcome = Unknown
	}
	l.resolve(b, outcome, kafka.NoOffset, b.told(a.err))
	if b.sequence >= 0 && b.identity == l.identity {
		l.giveUp(b, a.err, outcome)
	}
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

// retries reports whether a batch may be sent again after err.
func (l *lane) retries(b *batch, err *Error) bool {
	cfg := &l.p.cfg
	if cfg.Retries >= 0 && b.attempts > cfg.Retries || l.p.c.isClosed() {
		return false
	}
	if time.Now().Add(l.p.c.cfg.backoff(l.failures + 1)).After(b.deadline) {
		return false
	}
	switch err.Code {
	case kafka.ErrNone: // a broken connection, no answer, no leader found
		return true
	case kafka.ErrOutOfOrderSequenceNumber: // natural behind a batch that failed
		return l.behindAnother(b)
	}
	return err.Code.Retriable()
}

// behindAnother reports that an older batch has a sequence number and no outcome.
func (l *lane) behindAnother(b *batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, older := range l.queue {
		if older == b {
			return false
		}
		if older.sequence >= 0 {
			return true
		}
	}
	return false
}

// giveUp keeps sequence numbers sound after b ended without success. If b certainly was not appended, the producer's
// standing is not in question and no numbers behind its own are given, its numbers are used again. Else the identity is given
// up: what waits to be sent again under it ends now, what is in flight ends with its answer.
func (l *lane) giveUp(b *batch, err *Error, outcome Outcome) {
	if outcome == Failed && !disowned(err.Code) && advance(b.sequence, len(b.records)) == l.next {
		l.next = b.sequence
		return
	}
	if l.void {
		return
	}
	l.void = true
	l.p.retire(l.identity)
	for _, other := range l.waitingSequenced() {
		if other.left == 0 {
			other.identity, other.sequence, other.bytes = NoIdentity, kafka.NoSequence, nil
			continue
		}
		l.resolve(other, Unknown, kafka.NoOffset, other.told(err))
	}
}

func (l *lane) waitingSequenced() []*batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	var waiting []*batch
	for _, b := range l.queue {
		if b.sequence >= 0 && !b.inFlight {
			waiting = append(waiting, b)
		}
	}
	return waiting
}

// disowned reports the answers that say that the broker no longer accepts this identity as we know it.
func disowned(code kafka.ErrorCode) bool {
	switch code {
	case kafka.ErrOutOfOrderSequenceNumber, kafka.ErrUnknownProducerID, kafka.ErrInvalidProducerEpoch, kafka.ErrProducerFenced:
		return true
	}
	return false
}

// resolve gives b its outcome.
func (l *lane) resolve(b *batch, outcome Outcome, baseOffset int64, err *Error) {
	b.settled = true
	l.mu.Lock()
	for i, q := range l.queue {
		if q == b {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			break
		}
	}
	l.mu.Unlock()
	r := Result{
		Outcome: outcome, BaseOffset: baseOffset, Identity: b.identity, Sequence: b.sequence,
		Attempts: b.attempts, Retried: b.left > 1,
	}
	if err != nil {
		final := *err
		final.Outcome = outcome
		r.Err = &final
	}
	b.done(r)
}
