package broker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"trialog/core/broker/partition"
	"trialog/core/kafka"
	"trialog/core/record"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func add(req *kmsg.FetchRequest, topic string, parts ...kmsg.FetchRequestTopicPartition) {
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.Partitions = topic, parts
	req.Topics = append(req.Topics, rt)
}

func fetchPartition(p int32, offset int64, maxBytes int32) kmsg.FetchRequestTopicPartition {
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = p, offset, maxBytes
	return rp
}

func newFetch(version int16, maxBytes int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.MinBytes = version, maxBytes, 1
	return req
}

// Every served version returns the records, its offsets and nothing else.
func TestFetchVersions(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	id := c.create("t", 1)
	c.produce(-1, "t", 0, batch("a", "b"))
	c.produce(-1, "t", 0, batch("c"))
	for version := int16(4); version <= 17; version++ {
		req := newFetch(version, 1<<20)
		add(req, "t", fetchPartition(0, 1, 1<<20))
		req.Topics[0].TopicID = id
		resp := ask[*kmsg.FetchResponse](c, req)
		require.Zero(t, resp.SessionID)
		p := resp.Topics[0].Partitions[0]
		require.Equal(t, []string{"0=a", "1=b", "2=c"}, values(t, p.RecordBatches), "the batch that holds the offset comes whole (F02)")
		require.EqualValues(t, 3, p.HighWatermark)
		require.EqualValues(t, 3, p.LastStableOffset)
		require.EqualValues(t, -1, p.PreferredReadReplica)
		if version >= 5 {
			require.EqualValues(t, 0, p.LogStartOffset)
		}
	}
}

func TestFetchErrors(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	id := c.create("t", 1)
	c.produce(-1, "t", 0, batch("a"))
	epoch := in.table.TopicNamed("t").Partition(0).Epoch()
	for _, tc := range []struct {
		name   string
		change func(*kmsg.FetchRequest)
		want   kafka.ErrorCode
	}{
		{"unknown topic", func(r *kmsg.FetchRequest) { r.Topics[0].Topic = "u" }, kafka.ErrUnknownTopicOrPartition},
		{"unknown partition", func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].Partition = 9 }, kafka.ErrUnknownTopicOrPartition},
		{"unknown id", func(r *kmsg.FetchRequest) { r.Version, r.Topics[0].TopicID = 13, [16]byte{9} }, kafka.ErrUnknownTopicID},
		{"zero id", func(r *kmsg.FetchRequest) { r.Version, r.Topics[0].TopicID = 17, [16]byte{} }, kafka.ErrUnknownTopicID},
		{"known id, unknown partition", func(r *kmsg.FetchRequest) {
			r.Version, r.Topics[0].TopicID, r.Topics[0].Partitions[0].Partition = 13, id, 9
		}, kafka.ErrUnknownTopicOrPartition},
		{"below the start", func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].FetchOffset = -1 }, kafka.ErrOffsetOutOfRange},
		{"above the end", func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].FetchOffset = 2 }, kafka.ErrOffsetOutOfRange},
		{"fenced epoch", func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch - 1 }, kafka.ErrFencedLeaderEpoch},
		{"future epoch", func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch + 1 }, kafka.ErrUnknownLeaderEpoch},
		{"a follower", func(r *kmsg.FetchRequest) { r.ReplicaID = 2 }, kafka.ErrNotLeaderOrFollower},
		{"a follower, v15", func(r *kmsg.FetchRequest) { r.Version, r.Topics[0].TopicID, r.ReplicaState.ID = 15, id, 2 }, kafka.ErrNotLeaderOrFollower},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := newFetch(12, 1<<20)
			req.MaxWaitMillis, req.MinBytes = 1<<30, 1<<20 // an error is answered at once
			add(req, "t", fetchPartition(0, 0, 1<<20))
			tc.change(req)
			if tc.want == kafka.ErrFencedLeaderEpoch && epoch == 0 {
				t.Skip("the first epoch has none before it")
			}
			p := ask[*kmsg.FetchResponse](c, req).Topics[0].Partitions[0]
			require.Equal(t, tc.want, kafka.ErrorCode(p.ErrorCode))
			require.Empty(t, p.RecordBatches)
			require.EqualValues(t, -1, p.HighWatermark)
		})
	}
}

// A reader that tells the epoch of its last record learns where that epoch ends
// here (KIP-595).
func TestFetchDiverging(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1)
	c.produce(-1, "t", 0, batch("a", "b"))
	first := in.table.TopicNamed("t").Partition(0).Epoch()
	in.end()
	in = start(t, dir)
	c = in.dial()
	c.produce(-1, "t", 0, batch("c", "d"))
	require.Greater(t, in.table.TopicNamed("t").Partition(0).Epoch(), first)
	ask4 := func(epoch int32, offset int64) kmsg.FetchResponseTopicPartition {
		req := newFetch(12, 1<<20)
		req.MaxWaitMillis, req.MinBytes = 1<<30, 1<<20
		rp := fetchPartition(0, offset, 1<<20)
		rp.LastFetchedEpoch = epoch
		add(req, "t", rp)
		return ask[*kmsg.FetchResponse](c, req).Topics[0].Partitions[0]
	}
	got := ask4(first, 4)
	require.Zero(t, got.ErrorCode)
	require.Empty(t, got.RecordBatches)
	require.Equal(t, first, got.DivergingEpoch.Epoch)
	require.EqualValues(t, 2, got.DivergingEpoch.EndOffset)
	require.EqualValues(t, kafka.ErrOffsetOutOfRange, ask4(first+100, 4).ErrorCode)
}

// F01, F14: the first partition with data gives its first batch whole, whatever
// the limits say; the others take what is left of them.
func TestFetchLimits(t *testing.T) {
	in := start(t, t.TempDir(), "fetch.max.bytes=1000000")
	c := in.dial()
	c.create("t", 3)
	big := strings.Repeat("x", 300<<10)
	for p := range int32(3) {
		c.produce(-1, "t", p, batch(big))
		c.produce(-1, "t", p, batch(big))
	}
	batchSize := len(batch(big))
	sizes := func(req *kmsg.FetchRequest) []int {
		var out []int
		for _, topic := range ask[*kmsg.FetchResponse](c, req).Topics {
			for _, p := range topic.Partitions {
				require.Zero(t, p.ErrorCode)
				out = append(out, len(p.RecordBatches))
			}
		}
		return out
	}
	req := newFetch(11, 64<<10)
	add(req, "t", fetchPartition(0, 0, 1<<10), fetchPartition(1, 0, 1<<10))
	require.Equal(t, []int{batchSize, 0}, sizes(req))

	req = newFetch(11, 64<<10)
	add(req, "t", fetchPartition(0, 2, 1<<10), fetchPartition(1, 0, 1<<10), fetchPartition(2, 0, 1<<10))
	require.Equal(t, []int{0, batchSize, 0}, sizes(req), "the first one with data")

	req = newFetch(11, 1<<30)
	add(req, "t", fetchPartition(0, 0, 1<<30), fetchPartition(1, 0, 1<<30), fetchPartition(2, 0, 1<<30))
	got := sizes(req)
	require.Equal(t, 2*batchSize, got[0])
	require.LessOrEqual(t, got[0]+got[1]+got[2], 1000000, "fetch.max.bytes holds")

	req = newFetch(11, 1<<20)
	for range 3 { // one topic in several entries, and a partition twice
		add(req, "t", fetchPartition(1, 0, int32(batchSize)))
	}
	require.Equal(t, []int{batchSize, batchSize, batchSize}, sizes(req))
}

// F09: what wakes a parked fetch.
func TestParkedFetch(t *testing.T) {
	in := start(t, t.TempDir())
	admin := in.dial()
	park := func(topic string, change func(*kmsg.FetchRequest)) *client {
		c := in.dial()
		req := fetchRequest(topic, 0, 0)
		req.MaxWaitMillis = 1 << 30
		if change != nil {
			change(req)
		}
		c.send(req)
		eventually(t, "parked", func() bool { return in.watching(topic) > 0 })
		return c
	}
	first := func(c *client) kmsg.FetchResponseTopicPartition {
		return c.read().(*kmsg.FetchResponse).Topics[0].Partitions[0]
	}
	t.Run("HW moves", func(t *testing.T) {
		admin.create("hw", 1)
		c := park("hw", nil)
		admin.produce(1, "hw", 0, batch("x"))
		require.Equal(t, []string{"0=x"}, values(t, first(c).RecordBatches))
	})
	t.Run("an append that is not durable waits", func(t *testing.T) {
		admin.create("slow", 1, "flush.ms", "3600000")
		c := park("slow", nil)
		req := produceRequest(9, -1, "slow", 0, batch("x"))
		req.TimeoutMillis = 1
		require.EqualValues(t, 7, ask[*kmsg.ProduceResponse](admin, req).Topics[0].Partitions[0].ErrorCode)
		require.Equal(t, 1, in.watching("slow"))
		require.NoError(t, c.conn.Close())
		eventually(t, "a closed connection leaves no waiter", func() bool { return in.watching("slow") == 0 })
	})
	t.Run("min bytes", func(t *testing.T) {
		admin.create("min", 1)
		c := park("min", func(r *kmsg.FetchRequest) { r.MinBytes = 150 })
		admin.produce(1, "min", 0, batch("x"))
		eventually(t, "parked again", func() bool { return in.watching("min") == 1 })
		admin.produce(1, "min", 0, batch("y"))
		admin.produce(1, "min", 0, batch("z"))
		require.GreaterOrEqual(t, len(values(t, first(c).RecordBatches)), 2)
	})
	t.Run("topic deletion", func(t *testing.T) {
		admin.create("gone", 1)
		c := park("gone", nil)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TopicNames = 5, []string{"gone"}
		require.Zero(t, ask[*kmsg.DeleteTopicsResponse](admin, req).Topics[0].ErrorCode)
		require.EqualValues(t, 3, first(c).ErrorCode)
	})
	t.Run("max wait", func(t *testing.T) {
		admin.create("late", 1)
		admin.produce(1, "late", 0, batch("x"))
		began := time.Now()
		c := park("late", func(r *kmsg.FetchRequest) { r.MinBytes, r.MaxWaitMillis = 1<<20, 50 })
		require.Equal(t, []string{"0=x"}, values(t, first(c).RecordBatches), "what exists")
		require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
	})
	t.Run("later segments", func(t *testing.T) {
		admin.create("old", 1, "internal.segment.bytes", "200")
		for i := range 10 {
			admin.produce(1, "old", 0, batch(fmt.Sprint("some bytes ", i)))
		}
		req := fetchRequest("old", 0, 0)
		req.MaxWaitMillis, req.MinBytes = 1<<30, 1<<20
		got := ask[*kmsg.FetchResponse](admin, req).Topics[0].Partitions[0]
		require.NotEmpty(t, got.RecordBatches, "more would come from a later segment only: no use to wait")
	})
	t.Run("stop", func(t *testing.T) {
		admin.create("stop", 1)
		c := park("stop", nil)
		go in.end()
		require.Zero(t, first(c).ErrorCode)
	})
}

func (in *instance) watching(topic string) int {
	if p := in.table.TopicNamed(topic).Partition(0); p != nil {
		return p.Watching()
	}
	return 0
}

// W09: a long poll holds up its own connection only.
func TestFetchHoldsNobodyElse(t *testing.T) {
	in := start(t, t.TempDir())
	c, other := in.dial(), in.dial()
	other.create("t", 1)
	req := fetchRequest("t", 0, 0)
	req.MaxWaitMillis = 1 << 30
	c.send(req)
	c.send(kmsg.NewPtrApiVersionsRequest())
	c.send(produceRequest(9, 1, "t", 0, batch("mine")))
	require.Equal(t, []string{"0=mine"}, values(t, c.read().(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches))
	require.NotEmpty(t, c.read().(*kmsg.ApiVersionsResponse).ApiKeys)
	require.Zero(t, c.read().(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset)
}

// A fetch that reads much gives the same bytes as many small ones, through
// staging and sendfile, across segments.
func TestFetchLarge(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 2, "internal.segment.bytes", "1000000")
	var want []string
	for i := range 60 {
		v := strings.Repeat(fmt.Sprint(i), 20<<10)
		c.produce(1, "t", int32(i%2), batch(v, "tail"))
		if i%2 == 0 {
			want = append(want, fmt.Sprintf("%d=%s", i, v), fmt.Sprintf("%d=tail", i+1))
		}
	}
	got := c.readAll("t", 0)
	require.Equal(t, len(want), len(got))
	for i := range want {
		require.True(t, want[i] == got[i], "record %d", i)
	}
	eventually(t, "memory is back", func() bool { return in.server.HeldBytes() == 0 })
}

func TestListOffsets(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1)
	at := func(ts int64) []byte {
		return batchOf(func(b *record.Builder) { b.Append(ts, nil, nil) })
	}
	for _, ts := range []int64{2, 8, 4, 6} {
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, "t", 0, at(ts))))
	}
	for _, tc := range []struct{ query, offset, timestamp int64 }{
		{-1, 4, -1}, {-2, 0, -1}, {-3, 1, 8}, {-4, 0, -1}, {-5, -1, -1},
		{0, 0, 2}, {2, 0, 2}, {3, 1, 8}, {5, 1, 8}, {8, 1, 8}, {9, -1, -1},
	} {
		got := c.listOffset("t", 0, tc.query)
		require.Zero(t, got.ErrorCode)
		require.Equal(t, [2]int64{tc.offset, tc.timestamp}, [2]int64{got.Offset, got.Timestamp}, "timestamp %d", tc.query)
	}
	require.EqualValues(t, kafka.ErrUnsupportedVersion, c.listOffset("t", 0, -6).ErrorCode)
	require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, c.listOffset("u", 0, -1).ErrorCode)
	for version := int16(1); version <= 9; version++ {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version, req.ReplicaID = version, -1
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = "t"
		for _, ts := range []int64{-1, -3} {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Timestamp, rp.CurrentLeaderEpoch = ts, -1
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
		for _, p := range ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions {
			require.Equal(t, kafka.ErrInvalidRequest, kafka.ErrorCode(p.ErrorCode), "a partition twice")
		}
		req.Topics[0].Partitions = req.Topics[0].Partitions[1:]
		p := ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]
		if version < 7 {
			require.EqualValues(t, kafka.ErrUnsupportedVersion, p.ErrorCode)
		} else {
			require.EqualValues(t, 1, p.Offset)
		}
	}
	require.EqualValues(t, 4, in.table.TopicNamed("t").Partition(0).Progress(partition.HW))
}
