package meter

import (
	"math/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/kafka"
)

// Every duration lies in a bucket whose middle is at most a sixteenth of it away, and buckets follow each other.
func TestBuckets(t *testing.T) {
	last := -1
	for ns := int64(0); ns < 1<<43; ns += 1 + ns/97 {
		b := bucketOf(ns)
		require.GreaterOrEqual(t, b, last, ns)
		require.LessOrEqual(t, b, last+1, ns)
		last = b
		require.InDelta(t, ns, middleOf(b), float64(ns)/16+0.5, ns)
	}
	require.Equal(t, 0, bucketOf(-5))
	require.Equal(t, buckets-1, bucketOf(1<<62))
}

// Quantiles beside those of the sorted durations.
func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var h Histogram
	var all []int64
	sum := int64(0)
	for range 10_000 {
		ns := int64(rng.ExpFloat64() * 1e6)
		h.Observe(ns)
		all = append(all, ns)
		sum += ns
	}
	slices.Sort(all)
	quantiles := []float64{0.5, 0.95, 0.99, 0.999}
	r := h.Read(quantiles, time.Unix(0, 0))
	require.Equal(t, int64(len(all)), r.Count)
	require.Equal(t, sum, r.Sum)
	for i, q := range quantiles {
		want := float64(all[int(q*float64(len(all)))])
		require.InEpsilon(t, want, r.Quantiles[i], 1.0/16, q)
	}
	require.Equal(t, []float64{0, 0}, new(Histogram).Read([]float64{0.5, 0.9}, time.Unix(0, 0)).Quantiles)
}

// What is old leaves the quantiles after one to two minutes of reading; count and sum keep it.
func TestHistogramForgets(t *testing.T) {
	var h Histogram
	read := func(sec int64) (float64, int64) {
		r := h.Read([]float64{1}, time.Unix(sec, 0))
		return r.Quantiles[0], r.Count
	}
	h.Observe(1 << 20)
	for _, row := range []struct {
		sec   int64
		old   bool
		count int64
	}{{1, true, 1}, {60, true, 2}, {61, true, 3}, {120, true, 4}, {121, false, 5}, {500, false, 6}} {
		longest, count := read(row.sec)
		require.Equal(t, row.old, longest > 8, "%d s", row.sec)
		require.Equal(t, row.count, count, "%d s", row.sec)
		h.Observe(8)
	}
}

// Counting from many goroutines while somebody reads loses nothing.
func TestHistogramLosesNothing(t *testing.T) {
	var h Histogram
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range int64(20_000) {
				h.Observe(i)
			}
		})
	}
	for sec := range int64(200) {
		h.Read([]float64{0.5}, time.Unix(61*sec, 0))
	}
	all.Wait()
	require.Equal(t, int64(80_000), h.Read(nil, time.Unix(0, 0)).Count)
}

func errorsOf(a *API) map[string]int64 {
	got := map[string]int64{}
	a.Errors(func(code kafka.ErrorCode, n int64) { got[code.String()] = n })
	return got
}

// Answer finds the codes wherever a response has them.
func TestAnswer(t *testing.T) {
	a := New().API(int16(kmsg.Metadata))
	a.Answer(&kmsg.MetadataResponse{Topics: []kmsg.MetadataResponseTopic{
		{ErrorCode: 3}, {Partitions: []kmsg.MetadataResponseTopicPartition{{ErrorCode: 5}, {ErrorCode: 5}}},
	}})
	a.Answer(&kmsg.FindCoordinatorResponse{ErrorCode: -1})
	require.Equal(t, map[string]int64{
		"UNKNOWN_TOPIC_OR_PARTITION": 1, "LEADER_NOT_AVAILABLE": 2, "NONE": 2, "UNKNOWN_SERVER_ERROR": 1,
	}, errorsOf(a))
}

func TestTopics(t *testing.T) {
	m := New()
	topic := m.NewTopic()
	m.Produced(topic, kafka.ErrNone, 3, 100)
	m.Produced(topic, kafka.ErrInvalidRecord, 3, 100)
	m.Produced(topic, kafka.ErrMessageTooLarge, 3, 100)
	m.Produced(m.NewTopic(), kafka.ErrUnknownTopicOrPartition, 0, 0)
	m.Fetched(topic, kafka.ErrNone, 50)
	m.Fetched(topic, kafka.ErrOffsetOutOfRange, 0)
	m.Fetched(topic, kafka.ErrCorruptMessage, 0)
	numbers := func(t *Topic) []int64 {
		return []int64{t.Messages.Load(), t.BytesIn.Load(), t.BytesOut.Load(), t.Produces.Load(), t.Fetches.Load(), t.FailedProduces.Load(), t.FailedFetches.Load()}
	}
	require.Equal(t, []int64{3, 100, 50, 3, 3, 1, 1}, numbers(topic))
	require.Equal(t, []int64{3, 100, 50, 4, 3, 1, 1}, numbers(&m.All))
}

// Nobody measures: everything may be called, nothing is allocated. With a Meter nothing is allocated either.
func TestNoMeterNoAllocation(t *testing.T) {
	for _, m := range []*Meter{nil, New()} {
		api, topic := m.API(0), m.NewTopic()
		require.Zero(t, testing.AllocsPerRun(100, func() {
			api.Request(9)
			api.Error(0)
			m.Produced(topic, 0, 1, 1)
			m.Fetched(topic, 0, 1)
			timing := Timing{API: api, Received: 1, Handled: 2}
			timing.Sent(3, 4, 5)
		}))
	}
	require.Nil(t, New().API(wireKeyUnknown))
}

const wireKeyUnknown = 74
