package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"trialog/core/kafka"
)

var ctx = context.Background()

func produce(p *Producer, partition int32, values ...string) Result {
	return p.Produce(ctx, Batch{Topic: "t", Partition: partition, Records: texts(values...)})
}

func fated(fates ...fate) func(int) fate {
	return func(n int) fate {
		if n < len(fates) {
			return fates[n]
		}
		return serve
	}
}

// One attempt of a plain producer: each fate has one outcome.
func TestPlainProduceOutcomes(t *testing.T) {
	for _, c := range []struct {
		name    string
		fate    fate
		outcome Outcome
		error   string
		in      []string
	}{
		{"served", serve, OK, "", []string{"v"}},
		{"connection breaks before the append", dropBefore, Unknown, NameConnectionLost, nil},
		{"connection breaks after the append", dropAfter, Unknown, NameConnectionLost, []string{"v"}},
		{"no answer", silent, Unknown, NameTimedOut, []string{"v"}},
		{"indefinite answer", notLeader, Unknown, "NOT_LEADER_OR_FOLLOWER", nil},
		{"definite answer", notEnough, Failed, "NOT_ENOUGH_REPLICAS", nil},
		{"definite answer, never retried", tooLarge, Failed, "MESSAGE_TOO_LARGE", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, 1)
			f.fates = fated(c.fate)
			p, err := f.client().NewProducer(ProducerConfig{Acks: kafka.AcksAll})
			require.NoError(t, err)
			r := produce(p, 0, "v")
			assert.Equal(t, c.outcome, r.Outcome)
			assert.Equal(t, c.error, NameOf(r.Err))
			assert.Equal(t, c.outcome, OutcomeOf(r.Err), "the error and the result agree")
			assert.Equal(t, 1, r.Attempts)
			assert.Equal(t, c.in, f.values(0))
		})
	}
}

func TestRefusedDialIsADefiniteFailure(t *testing.T) {
	f := newFake(t, 1)
	c := f.client()
	f.stop()
	p, err := c.NewProducer(ProducerConfig{Acks: kafka.AcksAll})
	require.NoError(t, err)
	r := produce(p, 0, "v")
	assert.Equal(t, Failed, r.Outcome)
	assert.Equal(t, NameDialFailed, NameOf(r.Err))
	assert.Contains(t, r.Err.Error(), f.addr())
}

// Several brokers are asked one after the other: an attempt that may have left is not undone by one that did not.
func TestAnUnknownAskOutlastsARefusedDial(t *testing.T) {
	f, gone := newFake(t, 1), newFake(t, 1)
	gone.stop()
	f.override = func(req kmsg.Request) kmsg.Response {
		if req.Key() == int16(kmsg.InitProducerID) {
			for _, nc := range f.conns {
				nc.Close() // the id is given, the answer is lost
			}
		}
		return nil
	}
	c, err := New(Config{Bootstrap: []string{f.addr(), gone.addr()}, RequestTimeout: 300 * time.Millisecond})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.InitProducerID(ctx)
	assert.Equal(t, Unknown, OutcomeOf(err), "%v", err)
}

func TestNoAcksIsNeverAcknowledged(t *testing.T) {
	f := newFake(t, 1)
	p, err := f.client().NewProducer(ProducerConfig{Acks: kafka.AcksNone})
	require.NoError(t, err)
	r := produce(p, 0, "v")
	assert.Equal(t, Unknown, r.Outcome)
	assert.NoError(t, r.Err)
	assert.Equal(t, int64(-1), r.BaseOffset)
	require.Eventually(t, func() bool { return len(f.values(0)) == 1 }, 10*time.Second, time.Millisecond)
}

// An answer that proves nothing stays in the outcome, whatever a later attempt says.
func TestAnUnknownAttemptOutlastsADefiniteOne(t *testing.T) {
	f := newFake(t, 1)
	f.fates = fated(dropAfter, tooLarge)
	p, err := f.client().NewProducer(ProducerConfig{Acks: kafka.AcksAll, Retries: 5})
	require.NoError(t, err)
	r := produce(p, 0, "v")
	assert.Equal(t, Unknown, r.Outcome)
	assert.Equal(t, "MESSAGE_TOO_LARGE", NameOf(r.Err))
	assert.True(t, r.Retried)
	assert.Equal(t, 2, r.Attempts)
}

func TestIdempotentRetryKeepsItsOffset(t *testing.T) {
	for _, lost := range []fate{dropAfter, silent, dropBefore, notLeader, notEnough} {
		f := newFake(t, 1)
		f.fates = fated(serve, lost)
		p, err := f.client().NewProducer(ProducerConfig{Acks: kafka.AcksAll, Idempotent: true, Retries: -1})
		require.NoError(t, err)
		require.Equal(t, OK, produce(p, 0, "a", "b").Outcome)
		r := produce(p, 0, "c")
		assert.Equal(t, OK, r.Outcome)
		assert.Equal(t, int64(2), r.BaseOffset)
		assert.Equal(t, int32(2), r.Sequence)
		assert.Equal(t, 2, r.Attempts)
		assert.Equal(t, []string{"a", "b", "c"}, f.values(0))
	}
}

// A broker that lost what it knew of the producer answers OUT_OF_ORDER_SEQUENCE_NUMBER: the batch is in doubt, and the
// producer goes on under a fresh id.
func TestOutOfOrderSequenceTakesAFreshID(t *testing.T) {
	f := newFake(t, 2)
	var inits []ProducerIdentity
	p, err := f.client().NewProducer(ProducerConfig{
		Acks: kafka.AcksAll, Idempotent: true, Retries: -1,
		OnInit: func() func(ProducerIdentity, error) {
			return func(id ProducerIdentity, err error) {
				assert.NoError(t, err)
				inits = append(inits, id)
			}
		},
	})
	require.NoError(t, err)
	require.Equal(t, OK, produce(p, 0, "a").Outcome)
	require.Equal(t, OK, produce(p, 0, "b").Outcome)
	f.mu.Lock()
	f.logs[0].nextSeq = map[int64]int32{} // wants 0 again
	f.mu.Unlock()
	r := produce(p, 0, "c")
	assert.Equal(t, Unknown, r.Outcome)
	assert.Equal(t, "OUT_OF_ORDER_SEQUENCE_NUMBER", NameOf(r.Err))
	assert.Equal(t, 1, r.Attempts, "the same answer awaits another attempt")
	r = produce(p, 0, "d")
	assert.Equal(t, OK, r.Outcome)
	assert.Equal(t, int32(0), r.Sequence)
	assert.Equal(t, ProducerIdentity{ID: 1001}, r.Identity)
	r = produce(p, 1, "e")
	assert.Equal(t, ProducerIdentity{ID: 1001}, r.Identity, "other partitions go on under the fresh id too")
	assert.Equal(t, []ProducerIdentity{{ID: 1000}, {ID: 1001}}, inits)
}

// What certainly was not appended gives its sequence numbers back, and costs no id.
func TestDefiniteFailureReusesItsSequence(t *testing.T) {
	f := newFake(t, 1)
	f.fates = fated(serve, tooLarge)
	p, err := f.client().NewProducer(ProducerConfig{Acks: kafka.AcksAll, Idempotent: true, Retries: -1, MaxInFlight: 1})
	require.NoError(t, err)
	require.Equal(t, OK, produce(p, 0, "a").Outcome)
	require.Equal(t, Failed, produce(p, 0, "b").Outcome)
	r := produce(p, 0, "c")
	assert.Equal(t, OK, r.Outcome)
	assert.Equal(t, int32(1), r.Sequence)
	assert.Equal(t, int64(1000), r.Identity.ID)
}

func TestBeganComesBeforeTheRequest(t *testing.T) {
	f := newFake(t, 1)
	p, err := f.client().NewProducer(ProducerConfig{Acks: kafka.AcksAll, Idempotent: true, Retries: -1})
	require.NoError(t, err)
	calls := 0
	r := p.Produce(ctx, Batch{Topic: "t", Records: texts("v"), Began: func(id ProducerIdentity, seq int32) {
		calls++
		assert.Empty(t, f.values(0))
		assert.Equal(t, ProducerIdentity{ID: 1000}, id)
		assert.Zero(t, seq)
	}})
	assert.Equal(t, OK, r.Outcome)
	assert.Equal(t, 1, calls)
}

func TestProducerConfigIsChecked(t *testing.T) {
	c, err := New(Config{Bootstrap: []string{"localhost:1"}})
	require.NoError(t, err)
	for _, bad := range []ProducerConfig{
		{Acks: 2}, {Acks: 1, Idempotent: true}, {Acks: -1, Idempotent: true, MaxInFlight: 6},
		{Retries: 1, MaxInFlight: 2}, {Retries: -2}, {MaxInFlight: -1}, {DeliveryTimeout: -1}, {Compression: "lzo"}, {Compression: "uncompressed"},
	} {
		_, err := c.NewProducer(bad)
		assert.Error(t, err, "%+v", bad)
	}
	p, err := c.NewProducer(ProducerConfig{})
	require.NoError(t, err)
	assert.Equal(t, Failed, p.Produce(ctx, Batch{Topic: "t"}).Outcome, "no records")
}

// A broker that no longer leads makes the client ask who does.
func TestLeaderMoves(t *testing.T) {
	old, now := newFake(t, 1), newFake(t, 1)
	old.fates = func(int) fate { return notLeader }
	moved := false
	old.override = func(req kmsg.Request) kmsg.Response {
		if r, ok := req.(*kmsg.MetadataRequest); ok && moved {
			return now.metadata(r)
		}
		if req.Key() == 0 {
			moved = true
		}
		return nil
	}
	p, err := old.client().NewProducer(ProducerConfig{Acks: kafka.AcksAll, Idempotent: true, Retries: -1})
	require.NoError(t, err)
	r := produce(p, 0, "v")
	assert.Equal(t, OK, r.Outcome)
	assert.Equal(t, 2, r.Attempts)
	assert.Equal(t, []string{"v"}, now.values(0))
}

// Between two attempts there is a pause: an attempt may not follow the failure of the last at once.
func TestRetriesPause(t *testing.T) {
	f := newFake(t, 1)
	f.fates = func(int) fate { return notEnough }
	c := f.client()
	c.cfg.RetryBackoff, c.cfg.RetryBackoffMax = 50*time.Millisecond, time.Second
	p, err := c.NewProducer(ProducerConfig{Acks: kafka.AcksAll, Retries: -1, DeliveryTimeout: 300 * time.Millisecond})
	require.NoError(t, err)
	r := produce(p, 0, "v")
	assert.Equal(t, Failed, r.Outcome)
	assert.LessOrEqual(t, r.Attempts, 3, "50 + 100 + 200 ms do not fit into 300")
	assert.Equal(t, r.Attempts, f.produces)
}

// Whatever happens to the requests of a pipelining producer: what is OK is in the log once, where the answer says, in
// the order of the sends; what Failed is not; what is Unknown is there at most once. An idempotent producer that may
// retry without end gets everything through, unless an answer forbids it; and afterwards the producer still works.
func TestPipelinedProducerUnderFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := ProducerConfig{Acks: kafka.AcksAll, MaxInFlight: 3, DeliveryTimeout: 20 * time.Second}
		if cfg.Idempotent = rapid.Bool().Draw(rt, "idempotent"); cfg.Idempotent {
			cfg.MaxInFlight = rapid.IntRange(1, 5).Draw(rt, "in flight")
			cfg.Retries = rapid.SampledFrom([]int{-1, -1, 1, 2}).Draw(rt, "retries")
		}
		kinds := []fate{serve, serve, serve, dropBefore, dropAfter, notLeader, notEnough, silent}
		forbids := rapid.Bool().Draw(rt, "forbids")
		if forbids {
			kinds = append(kinds, tooLarge)
		}
		fates := rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 24).Draw(rt, "fates")
		f := newFake(t, 2)
		defer f.stop()
		f.fates = fated(fates...)
		c := f.client()
		c.cfg.RequestTimeout = 100 * time.Millisecond
		defer c.Close()
		p, err := c.NewProducer(cfg)
		require.NoError(rt, err)
		sends := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 16).Draw(rt, "sends")
		results := sendAll(p, sends)
		for partition := range int32(2) {
			checkLog(rt, cfg.Idempotent, f.values(partition), partition, sends, results)
		}
		for i, r := range results {
			if cfg.Retries == -1 && !forbids && r.Outcome != OK {
				rt.Fatalf("batch %d is %s: %v", i, r.Outcome, r.Err)
			}
		}
		f.mu.Lock()
		f.fates = nil
		f.mu.Unlock()
		c.cfg.RequestTimeout = 20 * time.Second
		for partition := range int32(2) {
			if r := produce(p, partition, "last"); r.Outcome != OK {
				rt.Fatalf("afterwards: %v", r.Err)
			}
		}
	})
}

// sendAll sends batches without waiting; the number says partition and size.
func sendAll(p *Producer, sends []int) []Result {
	results := make([]Result, len(sends))
	var wg sync.WaitGroup
	for i, s := range sends {
		wg.Add(1)
		b := Batch{Topic: "t", Partition: int32(s % 2)}
		for j := range s/2 + 1 {
			b.Records = append(b.Records, texts(fmt.Sprintf("%d.%d", i, j))...)
		}
		p.Send(ctx, b, func(r Result) {
			results[i] = r
			wg.Done()
		})
	}
	wg.Wait()
	return results
}

func checkLog(t *rapid.T, idempotent bool, log []string, partition int32, sends []int, results []Result) {
	last := -1
	for i, s := range sends {
		if int32(s%2) != partition {
			continue
		}
		first := fmt.Sprintf("%d.0", i)
		at := slices.Index(log, first)
		switch r := results[i]; {
		case r.Outcome == OK && (at < 0 || int64(at) != r.BaseOffset):
			t.Fatalf("batch %d is OK at %d, the log has it at %d: %v", i, r.BaseOffset, at, log)
		case r.Outcome == Failed && at >= 0:
			t.Fatalf("batch %d failed and is in the log at %d: %v", i, at, log)
		case r.Outcome != OK && r.Err == nil:
			t.Fatalf("batch %d is %s without an error", i, r.Outcome)
		}
		if at < 0 {
			continue
		}
		if again := slices.Index(log[at+1:], first); again >= 0 {
			t.Fatalf("batch %d is in the log twice: %v", i, log)
		}
		for j := range s/2 + 1 {
			if log[at+j] != fmt.Sprintf("%d.%d", i, j) {
				t.Fatalf("batch %d is torn: %v", i, log)
			}
		}
		if idempotent && at < last {
			t.Fatalf("batch %d overtook an older one: %v", i, log)
		}
		if results[i].Outcome == OK {
			last = at // one in doubt may land late, from a connection that was given up, and binds nobody
		}
	}
}

// The deadline of a batch is not what went wrong with it: the last error seen is, and only what certainly was not
// appended has failed.
func TestDeadlineKeepsTheLastError(t *testing.T) {
	storage := func(resp *kmsg.ProduceResponse) {
		resp.Topics[0].Partitions[0].ErrorCode = int16(kafka.ErrKafkaStorageError)
	}
	for _, c := range []struct {
		name    string
		answers bool // KAFKA_STORAGE_ERROR before the deadline
		outcome Outcome
		error   string
	}{
		{"answered and then late", true, Unknown, "KAFKA_STORAGE_ERROR"},
		{"never sent", false, Failed, NameNotSent},
	} {
		f := newFake(t, 1)
		client := f.client()
		p, err := client.NewProducer(ProducerConfig{Acks: kafka.AcksAll, Retries: -1})
		require.NoError(t, err)
		_, lerr := client.leaderOf(ctx, "produce", kafka.TopicPartition{Topic: "t"})
		require.Nil(t, lerr)
		f.override = func(req kmsg.Request) kmsg.Response {
			r, ok := req.(*kmsg.ProduceRequest)
			if !ok {
				return nil
			}
			resp, _ := f.produce(r)
			storage(resp.(*kmsg.ProduceResponse))
			return resp
		}
		var got Result
		l := p.lane(kafka.TopicPartition{Topic: "t"})
		b := &batch{records: texts("v"), deadline: time.Now().Add(time.Minute), done: func(r Result) { got = r }}
		l.queue, l.running = []*batch{b}, true
		if c.answers {
			l.fill()
			l.await()
			l.machine.Resume()
		}
		b.deadline = time.Now()
		l.run(nil)
		assert.Equal(t, c.outcome, got.Outcome, c.name)
		assert.Equal(t, c.error, NameOf(got.Err), c.name)
		assert.Contains(t, got.Err.Error(), "no outcome within 30s", c.name)
	}
}

func TestWhatABatchIsTold(t *testing.T) {
	cut := lost("produce", "t-0", NameConnectionLost, errors.New("EOF"))
	dial := unsent("produce", "t-0", NameDialFailed, errors.New("refused"))
	late := unsent("produce", "t-0", NameNotSent, errors.New("no outcome within 1s"))
	moved := answered("produce", "t-0", kafka.ErrNotLeaderOrFollower, nil)
	for _, c := range []struct {
		last, err *Error
		want      string
	}{
		{nil, late, "client: produce t-0: NOT_SENT: no outcome within 1s (failed)"},
		{cut, moved, "client: produce t-0: NOT_LEADER_OR_FOLLOWER (unknown)"},
		{moved, late, "client: produce t-0: NOT_LEADER_OR_FOLLOWER: no outcome within 1s (unknown)"},
		{cut, dial, "client: produce t-0: CONNECTION_LOST: EOF; refused (unknown)"},
		{dial, dial, "client: produce t-0: DIAL_FAILED: refused (failed)"},
		{dial, late, "client: produce t-0: DIAL_FAILED: refused; no outcome within 1s (failed)"},
	} {
		b := batch{last: c.last}
		assert.Equal(t, c.want, b.told(c.err).Error())
	}
}
