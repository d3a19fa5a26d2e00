package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type franz struct{ hello Hello }

// Franz is franz-go, as go.mod in directory root has it.
func Franz(root string) (Driver, error) {
	version, err := moduleVersion(root, "github.com/twmb/franz-go")
	return franz{Hello{Client: "franz-go", Version: version, Codecs: Codecs, Idempotent: true, Reads: true, Stamps: true}}, err
}

func (f franz) Hello() Hello { return f.hello }
func (f franz) Close() error { return nil }

func (f franz) Do(ctx context.Context, job Job) (Answer, error) {
	if job.Op == "produce" {
		return f.produce(ctx, job)
	}
	all := tallies(job)
	err := FranzRead(ctx, job, func(r *kgo.Record) {
		all[r.Partition].Add(r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value, franzHeader(r))
	})
	return answer(all), err
}

func franzHeader(r *kgo.Record) string {
	if len(r.Headers) != 1 || r.Headers[0].Key != "topic" {
		return fmt.Sprint(r.Headers)
	}
	return string(r.Headers[0].Value)
}

func (franz) produce(ctx context.Context, job Job) (Answer, error) {
	codec := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}[job.Codec]
	c, err := kgo.NewClient(kgo.SeedBrokers(job.Bootstrap), kgo.DefaultProduceTopic(job.Topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec))
	if err != nil {
		return Answer{}, err
	}
	defer c.Close()
	var mu sync.Mutex
	all := tallies(job)
	var failed error
	for i := range job.Records {
		r := record(job, i)
		c.Produce(ctx, r, func(r *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = errors.Join(failed, err)
				return
			}
			all[r.Partition].Acked(r.Offset)
		})
	}
	err = c.Flush(ctx)
	mu.Lock()
	defer mu.Unlock()
	return answer(all), errors.Join(failed, err)
}

func record(job Job, i int) *kgo.Record {
	r := kgo.KeySliceRecord([]byte(key(i)), valueBytes(i))
	r.Partition = int32(i % job.Partitions)
	r.Timestamp = stamp(job, i)
	r.Headers = []kgo.RecordHeader{{Key: "topic", Value: []byte(job.Topic)}}
	return r
}

// FranzRead gives every record of the topic, from the first offset of each partition to the end that it has now.
func FranzRead(ctx context.Context, job Job, each func(*kgo.Record)) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(job.Bootstrap))
	if err != nil {
		return err
	}
	defer c.Close()
	ends, err := kadm.NewClient(c).ListEndOffsets(ctx, job.Topic)
	if err = errors.Join(err, ends.Error()); err != nil {
		return err
	}
	from := map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			from[o.Partition] = kgo.NewOffset().AtStart()
		}
	})
	left := len(from)
	c.AddConsumePartitions(map[string]map[int32]kgo.Offset{job.Topic: from})
	for left > 0 {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("%d partitions are not at their end: %w", left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			each(r)
			if end, _ := ends.Lookup(job.Topic, r.Partition); r.Offset == end.Offset-1 {
				left--
			}
		})
	}
	return nil
}
