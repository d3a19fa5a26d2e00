// Command franzguest is an unmodified franz-go client in a small program: it produces records and reads them back. It is
// built for the simulator, where it runs beside a broker that does not know it; it runs natively too.
//
// It ends with one line, the same for the same seed of the simulator:
//
//	franz: acked 200 consumed 200 partitions 3 digest 5f0c2d81a9be0312 after 1.204s
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type options struct {
	bootstrap  string
	topic      string
	partitions int
	records    int
	pause      time.Duration
	timeout    time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.bootstrap, "bootstrap", "b1:9092", "brokers to begin with, host:port,...")
	flag.StringVar(&o.topic, "topic", "franz", "the topic; it is created if it does not exist")
	flag.IntVar(&o.partitions, "partitions", 3, "its partitions")
	flag.IntVar(&o.records, "records", 200, "how many records to produce")
	flag.DurationVar(&o.pause, "pause", 5*time.Millisecond, "between two records")
	flag.DurationVar(&o.timeout, "timeout", 2*time.Minute, "for everything")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), o.timeout)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "franz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	start := time.Now()
	seeds := kgo.SeedBrokers(strings.Split(o.bootstrap, ",")...)
	c, err := kgo.NewClient(seeds, kgo.DefaultProduceTopic(o.topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := create(ctx, kadm.NewClient(c), o); err != nil {
		return err
	}
	acked, err := produce(ctx, c, o)
	if err != nil {
		return err
	}
	from := map[int32]kgo.Offset{}
	for p := range o.partitions {
		from[int32(p)] = kgo.NewOffset().AtStart()
	}
	consumer, err := kgo.NewClient(seeds, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o.topic: from}))
	if err != nil {
		return err
	}
	defer consumer.Close()
	consumed, digest, err := consume(ctx, consumer, acked)
	if err != nil {
		return err
	}
	fmt.Printf("franz: acked %d consumed %d partitions %d digest %x after %v\n", acked, consumed, o.partitions, digest, time.Since(start).Round(time.Microsecond))
	return nil
}

// create tries until the broker is there.
func create(ctx context.Context, adm *kadm.Client, o options) error {
	for {
		_, err := adm.CreateTopic(ctx, int32(o.partitions), 1, nil, o.topic)
		if err == nil || errors.Is(err, kerr.TopicAlreadyExists) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("create %s: %w", o.topic, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// produce returns how many records were acknowledged: all, or an error.
func produce(ctx context.Context, c *kgo.Client, o options) (int, error) {
	results := make(chan error, o.records)
	for i := range o.records {
		c.Produce(ctx, kgo.KeyStringRecord(fmt.Sprint("key-", i), fmt.Sprint("value-", i)), func(_ *kgo.Record, err error) { results <- err })
		time.Sleep(o.pause)
	}
	for i := range o.records {
		if err := <-results; err != nil {
			return i, fmt.Errorf("produce: %w", err)
		}
	}
	return o.records, nil
}

// consume reads n records; the digest covers where each one was found.
func consume(ctx context.Context, c *kgo.Client, n int) (int, []byte, error) {
	digest, consumed := sha256.New(), 0
	for consumed < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return consumed, nil, fmt.Errorf("consume: after %d of %d: %w", consumed, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			consumed++
			fmt.Fprintln(digest, r.Partition, r.Offset, string(r.Key), string(r.Value))
		})
	}
	return consumed, digest.Sum(nil)[:8], nil
}
