package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

type saramaDriver struct{ hello Hello }

// Sarama is IBM's sarama, as go.mod in directory root has it.
func Sarama(root string) (Driver, error) {
	version, err := moduleVersion(root, "github.com/IBM/sarama")
	return saramaDriver{Hello{Client: "sarama", Version: version, Codecs: Codecs, Idempotent: true, Reads: true, Stamps: true}}, err
}

func (d saramaDriver) Hello() Hello { return d.hello }
func (d saramaDriver) Close() error { return nil }

func (d saramaDriver) Do(ctx context.Context, job Job) (Answer, error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion // a cap: what is spoken is negotiated
	client, err := sarama.NewClient([]string{job.Bootstrap}, config)
	if err != nil {
		return Answer{}, err
	}
	defer client.Close()
	if job.Op == "produce" {
		return saramaProduce(ctx, client, job)
	}
	return saramaConsume(ctx, client, job)
}

func saramaProduce(ctx context.Context, client sarama.Client, job Job) (Answer, error) {
	config := client.Config()
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1 // sarama's condition for Idempotent
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Producer.Compression = map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP,
		"snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}[job.Codec]
	if err := config.Validate(); err != nil {
		return Answer{}, err
	}
	p, err := sarama.NewAsyncProducerFromClient(client)
	if err != nil {
		return Answer{}, err
	}
	go func() {
		defer p.AsyncClose()
		for i := range job.Records {
			select {
			case p.Input() <- saramaMessage(job, i):
			case <-ctx.Done():
				return
			}
		}
	}()
	all := tallies(job)
	successes, errs := p.Successes(), p.Errors()
	var failed error
	for successes != nil || errs != nil {
		select {
		case m, ok := <-successes:
			if !ok {
				successes = nil
				continue
			}
			all[m.Partition].Acked(m.Offset)
		case e, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			failed = e
		}
	}
	return answer(all), failed
}

func saramaMessage(job Job, i int) *sarama.ProducerMessage {
	m := &sarama.ProducerMessage{
		Topic: job.Topic, Partition: int32(i % job.Partitions), Timestamp: stamp(job, i),
		Key:     sarama.StringEncoder(key(i)),
		Headers: []sarama.RecordHeader{{Key: []byte("topic"), Value: []byte(job.Topic)}},
	}
	if v, ok := value(i); ok {
		m.Value = sarama.StringEncoder(v)
	}
	return m
}

func saramaConsume(ctx context.Context, client sarama.Client, job Job) (Answer, error) {
	client.Config().Consumer.MaxWaitTime = 100 * time.Millisecond
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return Answer{}, err
	}
	defer consumer.Close()
	all := tallies(job)
	done := make(chan error, len(all))
	for p, t := range all {
		go func() { done <- saramaRead(ctx, client, consumer, job.Topic, int32(p), t) }()
	}
	for range all {
		err = errors.Join(err, <-done)
	}
	return answer(all), err
}

func saramaRead(ctx context.Context, client sarama.Client, consumer sarama.Consumer, topic string, p int32, t *Tally) error {
	end, err := client.GetOffset(topic, p, sarama.OffsetNewest)
	if err != nil || end == 0 {
		return err
	}
	from, err := consumer.ConsumePartition(topic, p, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	for t.Last < end-1 {
		select {
		case m := <-from.Messages():
			t.Add(m.Offset, m.Timestamp.UnixMilli(), m.Key, m.Value, saramaHeader(m))
		case <-ctx.Done():
			return fmt.Errorf("partition %d is read to %d of %d: %w", p, t.Last+1, end, ctx.Err())
		}
	}
	return from.Close()
}

func saramaHeader(m *sarama.ConsumerMessage) string {
	if len(m.Headers) != 1 || string(m.Headers[0].Key) != "topic" {
		return fmt.Sprint(m.Headers)
	}
	return string(m.Headers[0].Value)
}
