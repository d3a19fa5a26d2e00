package franz

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	killRecords    = 100_000
	killTimes      = 20
	killPartitions = 4
)

// An idempotent producer with acks=all writes while its broker is killed with -9 and started again, 20 times. Every
// record is acknowledged; every acknowledged record is there, once, in order.
func TestKillNineLosesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	rng := seeded(t)
	b := startBroker(t)
	adm := b.createTopic(ctx, t, "kills", killPartitions)

	acks := &acked{}
	acks.change = sync.NewCond(&acks.mu)
	defer context.AfterFunc(ctx, acks.change.Broadcast)()
	go produceAll(ctx, b.client(t,
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(16<<10), kgo.MaxBufferedRecords(2000),
		kgo.StopProducerOnDataLossDetected(),
	), acks)

	for n, moment := range moments(rng) {
		at := acks.wait(ctx, moment)
		time.Sleep(time.Duration(rng.Int64N(int64(3 * time.Millisecond)))) // somewhere inside the next requests
		t.Logf("kill %d at %d acknowledged", n+1, at)
		b.Kill()
		b.Restart()
	}
	acks.wait(ctx, killRecords)
	require.NoError(t, ctx.Err(), "not all records were acknowledged in time: %d", acks.count)
	require.Empty(t, acks.errors)

	got := b.readAll(ctx, t, adm, "kills")
	for p := range int32(killPartitions) {
		require.Equal(t, killRecords/killPartitions, len(got[p]), "records in partition %d", p)
		for i, r := range got[p] {
			want := i*killPartitions + int(p)
			require.Equal(t, value(want), string(r.Value), "partition %d, record %d at offset %d", p, i, r.Offset)
			require.Equal(t, int64(i), r.Offset, "partition %d", p)
			require.Equal(t, acks.offsets[want], r.Offset, "the offset that was acknowledged")
		}
	}
}

func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("TRIALOG_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "TRIALOG_SEED")
		seed = n
	}
	t.Logf("TRIALOG_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// moments draws when to kill: after so many acknowledged records, rising.
func moments(rng *rand.Rand) []int {
	var all []int
	for range killTimes {
		all = append(all, 1+rng.IntN(killRecords*95/100))
	}
	slices.Sort(all)
	return all
}

func value(i int) string { return fmt.Sprintf("%d-%0100d", i, i) }

// produceAll produces record i to partition i mod killPartitions.
func produceAll(ctx context.Context, c *kgo.Client, acks *acked) {
	for i := range killRecords {
		r := &kgo.Record{Topic: "kills", Partition: int32(i % killPartitions), Value: []byte(value(i))}
		c.Produce(ctx, r, func(r *kgo.Record, err error) { acks.add(i, r, err) })
	}
}

// acked collects how produces ended.
type acked struct {
	mu      sync.Mutex
	change  *sync.Cond
	count   int
	offsets [killRecords]int64
	errors  []error
}

func (a *acked) add(i int, r *kgo.Record, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	a.offsets[i] = r.Offset
	if err != nil && len(a.errors) < 10 {
		a.errors = append(a.errors, fmt.Errorf("record %d: %w", i, err))
	}
	a.change.Broadcast()
}

// wait returns when n records have ended, at least one more than when it returned last, or ctx ended.
func (a *acked) wait(ctx context.Context, n int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n = min(max(n, a.count+1), killRecords)
	for a.count < n && ctx.Err() == nil {
		a.change.Wait()
	}
	return a.count
}
