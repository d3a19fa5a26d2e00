package franz

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// What an administrator does.
func TestAdmin(t *testing.T) {
	ctx := bounded(t)
	b := startBroker(t)
	adm := b.createTopic(ctx, t, "orders", 3)

	versions, err := adm.ApiVersions(ctx)
	require.NoError(t, err)
	versions.Each(func(v kadm.BrokerApiVersions) { assert.NoError(t, v.Err) })

	_, err = adm.CreateTopic(ctx, 1, 1, nil, "orders")
	assert.ErrorIs(t, err, kerr.TopicAlreadyExists)
	_, err = adm.CreateTopic(ctx, 1, 1, nil, "no/slash")
	assert.ErrorIs(t, err, kerr.InvalidTopicException)
	_, err = adm.CreateTopic(ctx, -1, -1, nil, "by-default")
	require.NoError(t, err)

	topics, err := adm.ListTopics(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"by-default", "orders"}, topics.Names())
	assert.Len(t, topics["orders"].Partitions, 3)
	assert.Len(t, topics["by-default"].Partitions, 4)
	assert.NotZero(t, topics["orders"].ID)
	for _, p := range topics["orders"].Partitions {
		assert.Equal(t, int32(1), p.Leader)
		assert.Equal(t, []int32{1}, p.ISR)
	}

	deleted, err := adm.DeleteTopics(ctx, "by-default", "nothing")
	require.NoError(t, err)
	assert.NoError(t, deleted["by-default"].Err)
	assert.ErrorIs(t, deleted["nothing"].Err, kerr.UnknownTopicOrPartition)
	topics, err = kadm.NewClient(b.client(t)).ListTopics(ctx) // NB: the first client keeps what it has heard for a while
	require.NoError(t, err)
	assert.Equal(t, []string{"orders"}, topics.Names())
}

// The offsets that a partition has, by position and by time.
func TestListOffsets(t *testing.T) {
	ctx := bounded(t)
	b := startBroker(t)
	adm := b.createTopic(ctx, t, "t", 1)
	c := b.client(t, kgo.DefaultProduceTopic("t"))
	for _, at := range []int64{1000, 2000, 3000} {
		r := kgo.StringRecord(fmt.Sprint(at))
		r.Timestamp = time.UnixMilli(at)
		require.NoError(t, c.ProduceSync(ctx, r).FirstErr())
	}
	offset := func(listed kadm.ListedOffsets, err error) int64 {
		require.NoError(t, err)
		require.NoError(t, listed.Error())
		o, ok := listed.Lookup("t", 0)
		require.True(t, ok)
		return o.Offset
	}
	assert.Equal(t, int64(0), offset(adm.ListStartOffsets(ctx, "t")))
	assert.Equal(t, int64(3), offset(adm.ListEndOffsets(ctx, "t")))
	assert.Equal(t, int64(3), offset(adm.ListCommittedOffsets(ctx, "t")))
	assert.Equal(t, int64(1), offset(adm.ListOffsetsAfterMilli(ctx, 1500, "t")))
	assert.Equal(t, int64(2), offset(adm.ListMaxTimestampOffsets(ctx, "t")))
}

// Every codec of franz-go (snappy is its default) and every acks, read back under read_committed.
func TestProduceConsume(t *testing.T) {
	for _, x := range []struct {
		name string
		opts []kgo.Opt
	}{
		{"default", nil},
		{"gzip", []kgo.Opt{kgo.ProducerBatchCompression(kgo.GzipCompression())}},
		{"lz4", []kgo.Opt{kgo.ProducerBatchCompression(kgo.Lz4Compression())}},
		{"zstd", []kgo.Opt{kgo.ProducerBatchCompression(kgo.ZstdCompression())}},
		{"none", []kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression())}},
		{"acks-1", []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()}},
		{"acks-all", []kgo.Opt{kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DisableIdempotentWrite()}},
	} {
		t.Run(x.name, func(t *testing.T) {
			ctx := bounded(t)
			b := startBroker(t)
			adm := b.createTopic(ctx, t, "t", 2)
			c := b.client(t, append(x.opts, kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
			const n = 500
			var records []*kgo.Record
			for i := range n {
				records = append(records, &kgo.Record{
					Partition: int32(i % 2), Key: fmt.Append(nil, "k", i), Value: []byte(value(i)),
					Headers: []kgo.RecordHeader{{Key: "h", Value: fmt.Append(nil, i)}},
				})
			}
			require.NoError(t, c.ProduceSync(ctx, records...).FirstErr())
			got := b.readAll(ctx, t, adm, "t", kgo.FetchIsolationLevel(kgo.ReadCommitted()))
			for p := range int32(2) {
				require.Equal(t, n/2, len(got[p]))
				for j, r := range got[p] {
					i := 2*j + int(p)
					require.Equal(t, int64(j), r.Offset)
					require.Equal(t, fmt.Sprint("k", i), string(r.Key))
					require.Equal(t, value(i), string(r.Value))
					require.Equal(t, fmt.Sprint(i), string(r.Headers[0].Value))
				}
			}
		})
	}
}

// A consumer at the end of a partition gets what comes next.
func TestConsumerWaitsForMore(t *testing.T) {
	ctx := bounded(t)
	b := startBroker(t)
	b.createTopic(ctx, t, "t", 1)
	consumer := b.client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	producer := b.client(t, kgo.DefaultProduceTopic("t"))
	for i := range 5 {
		require.NoError(t, producer.ProduceSync(ctx, kgo.StringRecord(value(i))).FirstErr())
		fetches := consumer.PollFetches(ctx)
		require.Empty(t, fetches.Errors())
		require.Equal(t, value(i), string(fetches.Records()[0].Value))
	}
}
