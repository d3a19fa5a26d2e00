package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/client/retry"
	"trialog/core/kafka"
	"trialog/core/record"
)

// pendingMax bounds the batches that a producer holds; Send waits for a place.
const pendingMax = 1024

// Record is one record, to send or as it was read.
type Record struct {
	Offset    int64 // as read; ignored by a producer
	Timestamp int64 // ms since 1970; 0 lets the producer stamp it
	Key       []byte
	Value     []byte
	Headers   []record.RecordHeader

	LeaderEpoch   int32 // as read: of the leader that appended it, -1 unknown; ignored by a producer
	LogAppendTime bool  // as read: Timestamp is the broker's, not the producer's; ignored by a producer
}

// ProducerIdentity is a producer id with its epoch (KIP-98).
type ProducerIdentity = retry.Identity

// NoIdentity is that of a producer that is not idempotent.
var NoIdentity = retry.NoIdentity

// ProducerConfig says how a producer sends. Names in brackets are Kafka's.
type ProducerConfig struct {
	Acks            int16         // -1 (all), 1 or 0 [acks]
	Idempotent      bool          // sequence numbers under a producer id [enable.idempotence]; needs Acks -1
	Retries         int           // attempts after the first; -1: as many as fit in DeliveryTimeout [retries]
	DeliveryTimeout time.Duration // from Send to the outcome [delivery.timeout.ms]; 0: 30 s. A dial that is under way may add its own timeout.
	MaxInFlight     int           // batches of one partition in flight [max.in.flight.requests.per.connection]; 0: 5 if idempotent, else 1

	// Compression is none (or ""), gzip, snappy, lz4 or zstd, at Kafka's default level [compression.type].
	Compression string

	// OnInit, if set, is called before every attempt to get a producer id; what it returns is called with its end.
	OnInit func() func(ProducerIdentity, error)
}

func (c ProducerConfig) withDefaults() (ProducerConfig, error) {
	if c.Acks < -1 || c.Acks > 1 {
		return c, fmt.Errorf("client: acks %d is not -1, 0 or 1", c.Acks)
	}
	if c.Retries < -1 {
		return c, fmt.Errorf("client: retries %d is below -1", c.Retries)
	}
	if c.DeliveryTimeout < 0 {
		return c, fmt.Errorf("client: delivery timeout %s is negative", c.DeliveryTimeout)
	}
	if c.DeliveryTimeout == 0 {
		c.DeliveryTimeout = 30 * time.Second
	}
	switch {
	case c.MaxInFlight < 0:
		return c, fmt.Errorf("client: %d batches in flight", c.MaxInFlight)
	case c.Idempotent && c.Acks != kafka.AcksAll:
		return c, fmt.Errorf("client: an idempotent producer needs acks -1, not %d", c.Acks)
	case c.Idempotent && c.MaxInFlight > retry.InFlightMax:
		return c, fmt.Errorf("client: an idempotent producer may have %d batches in flight, not %d", retry.InFlightMax, c.MaxInFlight)
	case !c.Idempotent && c.Retries != 0 && c.MaxInFlight > 1:
		return c, fmt.Errorf("client: retries with %d batches in flight would change their order", c.MaxInFlight)
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 1
		if c.Idempotent {
			c.MaxInFlight = retry.InFlightMax
		}
	}
	return c, nil
}

// Result is how a produce ended.
type Result struct {
	Outcome    Outcome
	BaseOffset int64            // of the first record; -1 if the broker did not say
	Identity   ProducerIdentity // NoIdentity if the batch was never given a sequence number
	Sequence   int32            // of the first record; -1 without one
	Attempts   int              // 0: it was given up before the first
	Retried    bool             // more than one attempt may have left the client
	Err        error            // an *Error; nil if OK, and nil with acks=0 (Unknown: nobody answers)
}

// Producer sends batches: each call of Send is one batch to one partition. The batches of one partition are appended
// in the order of the calls, or not at all. It is safe for concurrent use.
//
// After an OUT_OF_ORDER_SEQUENCE_NUMBER, and whatever else makes the next sequence number doubtful, the batch ends as
// Unknown (or Failed, if that is certain) and the producer continues under a fresh producer id.
type Producer struct {
	c     *Client
	cfg   ProducerConfig
	codec record.Codec
	slots chan struct{} // one token for each batch that has no outcome

	mu    sync.Mutex
	lanes map[kafka.TopicPartition]*lane

	initialising sync.Mutex // held while an id is asked for
	identity     ProducerIdentity
}

// NewProducer checks cfg. It does no I/O.
func (c *Client) NewProducer(cfg ProducerConfig) (*Producer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	codec, err := record.ParseCodec(cmp.Or(cfg.Compression, "none"))
	if err != nil {
		return nil, fmt.Errorf("client: compression %w", err)
	}
	return &Producer{
		c: c, cfg: cfg, codec: codec, identity: NoIdentity,
		slots: make(chan struct{}, pendingMax),
		lanes: make(map[kafka.TopicPartition]*lane),
	}, nil
}

// Batch is what one call sends to one partition. The producer does not copy keys and values: they must not change
// before the outcome is there.
type Batch struct {
	Topic     string
	Partition int32
	Records   []Record

	// Began, if set, is called once before the first byte of the first attempt may leave, with what the batch is sent
	// under (NoIdentity and -1 if the producer is not idempotent). A batch that ends without it was never sent.
	// NB: another failure may still move a batch that never left to another identity; Result has the last word.
	Began func(id ProducerIdentity, sequence int32)
}

// Produce sends one batch and waits for its outcome. ctx ends the wait for a place only: once accepted, a batch has its
// outcome within the delivery timeout.
func (p *Producer) Produce(ctx context.Context, b Batch) Result {
	end := make(chan Result, 1)
	queued, err := p.accept(ctx, b, func(r Result) { end <- r })
	if err != nil {
		return refused(b, err)
	}
	if l := p.lane(b.tp()); l.add(queued) {
		l.run(queued)
	}
	return <-end
}

// Send hands one batch over and returns; done is called once with the outcome, from another goroutine, and must not
// block. It waits while pendingMax batches have no outcome.
func (p *Producer) Send(ctx context.Context, b Batch, done func(Result)) {
	queued, err := p.accept(ctx, b, done)
	if err != nil {
		done(refused(b, err))
		return
	}
	if l := p.lane(b.tp()); l.add(queued) {
		go l.run(nil)
	}
}

// accept waits for a place.
func (p *Producer) accept(ctx context.Context, b Batch, done func(Result)) (*batch, error) {
	if len(b.Records) == 0 {
		return nil, errors.New("no records")
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := time.Now()
	return &batch{
		records: stamped(b.Records, now), began: b.Began, deadline: now.Add(p.cfg.DeliveryTimeout),
		done: func(r Result) { <-p.slots; done(r) },
	}, nil
}

// refused is the result of a batch that was not accepted.
func refused(b Batch, err error) Result {
	return Result{
		Outcome: Failed, BaseOffset: kafka.NoOffset, Identity: NoIdentity, Sequence: kafka.NoSequence,
		Err: unsent("produce", b.tp().String(), NameNotSent, err),
	}
}

func (b *Batch) tp() kafka.TopicPartition {
	return kafka.TopicPartition{Topic: b.Topic, Partition: b.Partition}
}

// stamped copies the records and gives those without a timestamp the present time, once for all attempts.
func stamped(records []Record, now time.Time) []Record {
	out := append([]Record(nil), records...)
	for i := range out {
		if out[i].Timestamp == 0 {
			out[i].Timestamp = now.UnixMilli()
		}
	}
	return out
}

func (p *Producer) lane(tp kafka.TopicPartition) *lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[tp]
	if l == nil {
		l = &lane{p: p, tp: tp, wake: make(chan struct{}, 1), answers: make(chan answer, p.cfg.MaxInFlight)}
		l.machine = retry.New[*batch](retry.Config{
			Idempotent: p.cfg.Idempotent, MaxInFlight: p.cfg.MaxInFlight, Retries: p.cfg.Retries, Rules: retry.AllRules(),
		})
		p.lanes[tp] = l
	}
	return l
}

// Init gets a producer id now instead of with the first batch. It retries until the delivery timeout or ctx ends.
func (p *Producer) Init(ctx context.Context) (ProducerIdentity, error) {
	if !p.cfg.Idempotent {
		return NoIdentity, unsent("init-producer-id", "producer", NameNotSent, errors.New("the producer is not idempotent"))
	}
	id, err := p.identify(ctx, time.Now().Add(p.cfg.DeliveryTimeout))
	if err != nil {
		return NoIdentity, err
	}
	return id, nil
}

// identify returns the producer's identity; without one, it asks for one until the deadline.
func (p *Producer) identify(ctx context.Context, deadline time.Time) (ProducerIdentity, *Error) {
	p.initialising.Lock()
	defer p.initialising.Unlock()
	if p.identity != NoIdentity {
		return p.identity, nil
	}
	for failed := 1; ; failed++ {
		var end func(ProducerIdentity, error)
		if p.cfg.OnInit != nil {
			end = p.cfg.OnInit()
		}
		id, err := p.c.InitProducerID(ctx)
		if end != nil {
			end(id, err)
		}
		if err == nil {
			p.identity = id
			return id, nil
		}
		d := p.c.cfg.backoff(failed)
		if time.Now().Add(d).After(deadline) || p.c.isClosed() || !pause(ctx, d) {
			return NoIdentity, unsent("produce", "init-producer-id", NameNotSent, err)
		}
	}
}

// retire makes the producer ask for a fresh id, unless it has done so since.
func (p *Producer) retire(id ProducerIdentity) {
	p.initialising.Lock()
	defer p.initialising.Unlock()
	if p.identity == id {
		p.identity = NoIdentity
	}
}

// InitProducerID asks any broker for a fresh producer id, once. An Unknown outcome costs an id that nobody uses.
func (c *Client) InitProducerID(ctx context.Context) (ProducerIdentity, error) {
	const op = "init-producer-id"
	req := kmsg.NewPtrInitProducerIDRequest()
	req.ProducerID, req.ProducerEpoch = kafka.NoProducerID, kafka.NoProducerEpoch
	answer, err := c.askAny(ctx, req)
	if err != nil {
		return NoIdentity, err.in(op, "any broker")
	}
	resp := answer.(*kmsg.InitProducerIDResponse)
	if code := kafka.ErrorCode(resp.ErrorCode); code != kafka.ErrNone {
		return NoIdentity, answered(op, "any broker", code, nil)
	}
	return ProducerIdentity{ID: resp.ProducerID, Epoch: resp.ProducerEpoch}, nil
}
