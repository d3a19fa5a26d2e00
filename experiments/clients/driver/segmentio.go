package driver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

type segmentio struct{ hello Hello }

// Segmentio is segmentio's kafka-go, as go.mod in directory root has it.
func Segmentio(root string) (Driver, error) {
	version, err := moduleVersion(root, "github.com/segmentio/kafka-go")
	return segmentio{Hello{Client: "kafka-go", Version: version, Codecs: Codecs, Reads: true, Stamps: true}}, err
}

func (d segmentio) Hello() Hello { return d.hello }
func (d segmentio) Close() error { return nil }

func (d segmentio) Do(ctx context.Context, job Job) (Answer, error) {
	if job.Op == "produce" {
		return d.produce(ctx, job)
	}
	all := tallies(job)
	for p, t := range all {
		if err := segmentioRead(ctx, job, p, t); err != nil {
			return Answer{}, fmt.Errorf("partition %d, after offset %d: %w", p, t.Last, err)
		}
	}
	return answer(all), nil
}

func (segmentio) produce(ctx context.Context, job Job) (Answer, error) {
	var mu sync.Mutex
	all := tallies(job)
	var failed error
	transport := &kafka.Transport{} // NB: the shared one keeps a topic unknown for seconds
	defer transport.CloseIdleConnections()
	w := &kafka.Writer{
		Transport: transport, Addr: kafka.TCP(job.Bootstrap), Topic: job.Topic, RequiredAcks: kafka.RequireAll,
		BatchSize: 5000, BatchTimeout: 20 * time.Millisecond,
		Balancer: kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return m.WriterData.(int) }),
		Compression: map[string]kafka.Compression{"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4,
			"zstd": kafka.Zstd}[job.Codec],
		Completion: func(messages []kafka.Message, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			for _, m := range messages {
				all[m.WriterData.(int)].Acked(m.Offset)
			}
		},
	}
	const chunk = 15_000
	for i := 0; i < job.Records; i += chunk {
		var messages []kafka.Message
		for j := i; j < min(i+chunk, job.Records); j++ {
			messages = append(messages, kafka.Message{
				Key: []byte(key(j)), Value: valueBytes(j), Time: stamp(job, j), WriterData: j % job.Partitions,
				Headers: []kafka.Header{{Key: "topic", Value: []byte(job.Topic)}},
			})
		}
		if err := w.WriteMessages(ctx, messages...); err != nil {
			return Answer{}, err
		}
	}
	err := w.Close()
	mu.Lock()
	defer mu.Unlock()
	if failed == nil {
		failed = err
	}
	return answer(all), failed
}

func segmentioRead(ctx context.Context, job Job, partition int, t *Tally) error {
	conn, err := kafka.DialLeader(ctx, "tcp", job.Bootstrap, job.Topic, partition)
	if err != nil {
		return err
	}
	defer conn.Close()
	end, err := conn.ReadLastOffset()
	if err != nil {
		return err
	}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{job.Bootstrap}, Topic: job.Topic, Partition: partition,
		MinBytes: 1, MaxBytes: 10 << 20, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(kafka.FirstOffset); err != nil {
		return err
	}
	for t.Last < end-1 {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return err
		}
		header := fmt.Sprint(m.Headers)
		if len(m.Headers) == 1 && m.Headers[0].Key == "topic" {
			header = string(m.Headers[0].Value)
		}
		t.Add(m.Offset, m.Time.UnixMilli(), m.Key, m.Value, header)
	}
	return nil
}
