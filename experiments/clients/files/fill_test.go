package files

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// codecs are those of the protocol; a topic is named after each.
var codecs = map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}

// codecNames are the same in order.
var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// start is the timestamp of the first record: far enough back that no clock disagrees, and not so far that retention acts.
var start = time.Now().Add(-time.Hour).Truncate(time.Second)

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return cl
}

// topic makes a topic of small segments and index intervals, so that little data has many of both.
func topic(t *testing.T, addr, name string, partitions int32, settings ...string) {
	all := map[string]*string{}
	for _, s := range append([]string{"internal.segment.bytes=20000", "index.interval.bytes=512"}, settings...) {
		k, v, _ := strings.Cut(s, "=")
		all[k] = &v
	}
	made, err := kadm.NewClient(client(t, addr)).CreateTopic(context.Background(), partitions, 1, all, name)
	require.NoError(t, err)
	require.NoError(t, made.Err)
}

// record is the i-th record of a topic: with and without key, value and headers.
func record(topic string, partition int32, i int) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: partition, Timestamp: start.Add(time.Duration(i*7%1000+i) * time.Millisecond)}
	if i%11 != 3 {
		r.Key = fmt.Appendf(nil, "k%d", i%97)
	}
	if i%13 != 5 {
		r.Value = fmt.Appendf(nil, "%d:%s", i, strings.Repeat("äb\x00c", i%17))
	}
	if i%23 == 0 { // no text in UTF-8: what is printed of it is a matter of convention, too
		r.Value = make([]byte, 40)
		rand.New(rand.NewSource(int64(i))).Read(r.Value)
		r.Value = append(r.Value, "\xed\xa0\x80\xe0\x80\x80\xf0\x9f\x92\xf4\x90\x80\x80\xc0\xaf\xf5\xe2\x82"...)
	}
	for h := range i % 3 {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: fmt.Sprintf("h%d", h), Value: []byte{byte(i)}})
	}
	return r
}

// fill produces n records to a partition, in batches of a few.
func fill(t *testing.T, addr, topic string, partition int32, n int, codec kgo.CompressionCodec) {
	cl := client(t, addr, kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(0))
	rnd := rand.New(rand.NewSource(int64(n)))
	for i := 0; i < n; {
		var some []*kgo.Record
		for range min(1+rnd.Intn(20), n-i) {
			some = append(some, record(topic, partition, i))
			i++
		}
		require.NoError(t, cl.ProduceSync(context.Background(), some...).FirstErr())
	}
}

// fillTransactions commits and aborts in turn, two transactions side by side, and leaves the markers in several segments.
// With keyed every record has a key.
func fillTransactions(t *testing.T, addr, topic string, rounds int, keyed bool) {
	ctx := context.Background()
	one := client(t, addr, kgo.TransactionalID(topic+"-one"))
	two := client(t, addr, kgo.TransactionalID(topic+"-two"), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	for i := range rounds {
		for _, cl := range []*kgo.Client{one, two} {
			require.NoError(t, cl.BeginTransaction())
			for j := range 10 {
				r := record(topic, 0, 10*i+j)
				if keyed && r.Key == nil {
					r.Key = []byte("key")
				}
				require.NoError(t, cl.ProduceSync(ctx, r).FirstErr())
			}
		}
		require.NoError(t, one.EndTransaction(ctx, kgo.TransactionEndTry(i%3 != 1)))
		require.NoError(t, two.EndTransaction(ctx, kgo.TransactionEndTry(i%2 == 0)))
	}
}

// fillKeyed writes few keys many times, with tombstones: there is much for a cleaner to do.
func fillKeyed(t *testing.T, addr, topic string, n int, codec kgo.CompressionCodec) {
	cl := client(t, addr, kgo.ProducerBatchCompression(codec))
	for i := 0; i < n; i += 10 {
		var some []*kgo.Record
		for j := i; j < i+10; j++ {
			r := record(topic, 0, j)
			r.Key = fmt.Appendf(nil, "key-%d", j*j%41)
			if j%29 == 0 {
				r.Value = nil
			}
			some = append(some, r)
		}
		require.NoError(t, cl.ProduceSync(context.Background(), some...).FirstErr())
	}
}

// commitOffsets makes a group write to __consumer_offsets.
func commitOffsets(t *testing.T, addr, topic string) {
	admin := kadm.NewClient(client(t, addr))
	for i := range 30 {
		var offsets kadm.Offsets
		offsets.AddOffset(topic, 0, int64(i), -1)
		require.NoError(t, admin.CommitAllOffsets(context.Background(), "group", offsets))
	}
}
