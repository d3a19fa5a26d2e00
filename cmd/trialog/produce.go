package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/client"
	"trialog/core/kafka"
)

const (
	// batchLines and batchBytes bound one batch of `trialog produce`; a batch is sent as soon as no further line waits.
	batchLines = 500
	batchBytes = 256 << 10
	// lineBytesMax bounds one line: the broker's message.max.bytes is about 1 MiB.
	lineBytesMax = 8 << 20
)

func init() { commands = append(commands, produceCommand) }

type produceFlags struct {
	clusterFlags
	partition   int32
	separator   string
	acks        acksFlag
	idempotent  bool
	retries     int
	compression string
}

func produceCommand() *cobra.Command {
	f := produceFlags{acks: -1}
	c := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "append each line of stdin as a record",
		Long: `Append each line of stdin as a record to TOPIC. Lines with a key go to the partition that Kafka's default
partitioner chooses; lines without one to a partition for each batch in turn.

Exit codes: 0 every record was acknowledged (with --acks 0: sent); 1 a record was not appended; 2 the outcome of a
record is unknown; 3 usage. Nothing more is read after the first failure.`,
		Example: `  printf 'k1:hello\nk2:world\n' | trialog produce greetings --key-separator :`,
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().Int32Var(&f.partition, "partition", -1, "send everything to this partition")
	c.Flags().StringVar(&f.separator, "key-separator", "", "what stands between key and value; without it records have no key")
	c.Flags().Var(&f.acks, "acks", "all, 1 or 0")
	c.Flags().BoolVar(&f.idempotent, "idempotent", false, "let the broker recognise retries (default: with --acks all)")
	c.Flags().IntVar(&f.retries, "retries", -1, "attempts after the first; -1: until an outcome or 30s")
	c.Flags().StringVar(&f.compression, "compression", "none", "of batches: none, gzip, snappy, lz4 or zstd")
	return f.command(c, func(cl *client.Client, args []string) error {
		if !c.Flags().Changed("idempotent") {
			f.idempotent = f.acks == -1
		}
		return runProduce(c, cl, args[0], f)
	})
}

func runProduce(c *cobra.Command, cl *client.Client, topic string, f produceFlags) error {
	producer, err := cl.NewProducer(client.ProducerConfig{Acks: int16(f.acks), Idempotent: f.idempotent, Retries: f.retries, Compression: f.compression})
	if err != nil {
		return err
	}
	cluster, err := cl.Metadata(c.Context(), topic)
	if err != nil {
		return outcome(err)
	}
	partitions := int32(0)
	for _, t := range cluster.Topics {
		partitions = int32(len(t.Partitions))
	}
	if f.partition >= partitions || partitions == 0 || f.partition < -1 {
		return fmt.Errorf("produce: topic %s has %d partitions, none is %d", topic, partitions, f.partition)
	}
	s := &sender{f: f, c: c, topic: topic, partitions: partitions, producer: producer, progress: newProgress(os.Stdin, "records")}
	err = s.lines(c.Context(), c.InOrStdin())
	s.wait.Wait()
	s.progress.end()
	if s.failure != nil {
		return outcome(s.failure)
	}
	return err
}

// sender makes batches of lines and watches how they end.
type sender struct {
	f          produceFlags
	c          *cobra.Command
	topic      string
	partitions int32
	producer   *client.Producer
	turn       int32 // partition of the next batch without keys

	wait     sync.WaitGroup
	mu       sync.Mutex
	sent     int64
	failure  error // the worst so far: unknown before failed
	progress *progress
}

// lines sends everything that it reads. A batch ends when it is full, or when the reader would have to wait.
func (s *sender) lines(ctx context.Context, in io.Reader) error {
	lines, end := readLines(in)
	open := true
	for open && !s.failed() {
		var line string
		if line, open = <-lines; !open {
			break
		}
		pending := []string{line}
		for size := len(line); open && len(pending) < batchLines && size < batchBytes; {
			select {
			case line, open = <-lines:
				if open {
					pending, size = append(pending, line), size+len(line)
				}
				continue
			default:
			}
			break
		}
		if err := s.batch(ctx, pending); err != nil {
			return err
		}
	}
	if open {
		return nil // a failure ended it; what is left of stdin is not read
	}
	return <-end
}

// readLines reads ahead, at most one batch. The error comes after the lines.
func readLines(in io.Reader) (<-chan string, <-chan error) {
	lines, end := make(chan string, batchLines), make(chan error, 1)
	go func() {
		sc := bufio.NewScanner(in)
		sc.Buffer(make([]byte, 64<<10), lineBytesMax)
		n := 0
		for sc.Scan() {
			n++
			lines <- sc.Text()
		}
		if err := sc.Err(); err != nil {
			err = fmt.Errorf("produce: stdin: line %d: %w", n+1, err)
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("produce: stdin: line %d is longer than %d bytes", n+1, lineBytesMax)
			}
			end <- err
		}
		close(end)
		close(lines)
	}()
	return lines, end
}

// batch sends lines: one batch to each partition that they belong to.
func (s *sender) batch(ctx context.Context, lines []string) error {
	byPartition := make([][]client.Record, s.partitions)
	for _, line := range lines {
		r := client.Record{Value: []byte(line)}
		partition := s.turn
		if s.f.separator != "" {
			key, value, ok := strings.Cut(line, s.f.separator)
			if !ok {
				return fmt.Errorf("produce: no key separator %q in line %.40q", s.f.separator, line)
			}
			r.Key, r.Value = []byte(key), []byte(value)
			partition = (kafka.Murmur2(r.Key) & 0x7fffffff) % s.partitions
		}
		if s.f.partition >= 0 {
			partition = s.f.partition
		}
		byPartition[partition] = append(byPartition[partition], r)
	}
	s.turn = (s.turn + 1) % s.partitions
	for partition, records := range byPartition {
		if len(records) > 0 {
			s.send(ctx, int32(partition), records)
		}
	}
	return nil
}

func (s *sender) send(ctx context.Context, partition int32, records []client.Record) {
	s.wait.Add(1)
	s.producer.Send(ctx, client.Batch{Topic: s.topic, Partition: partition, Records: records}, func(r client.Result) {
		defer s.wait.Done()
		s.end(partition, len(records), r)
	})
}

// end takes the outcome of one batch.
func (s *sender) end(partition int32, records int, r client.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f.json {
		cli.PrintJSON(s.c.OutOrStdout(), producedJSON(s.topic, partition, records, r))
	}
	if r.Err == nil {
		s.sent += int64(records)
		s.progress.show(s.sent)
		return
	}
	if s.failure == nil || client.OutcomeOf(s.failure) == client.Failed && r.Outcome == client.Unknown {
		s.failure = r.Err
	}
}

func (s *sender) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure != nil
}

type produced struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Records   int    `json:"records"`
	Outcome   string `json:"outcome"`
	Offset    *int64 `json:"offset,omitempty"`
	Attempts  int    `json:"attempts"`
	Error     string `json:"error,omitempty"`
}

func producedJSON(topic string, partition int32, records int, r client.Result) produced {
	v := produced{Topic: topic, Partition: partition, Records: records, Outcome: r.Outcome.String(), Attempts: r.Attempts, Error: client.NameOf(r.Err)}
	if r.BaseOffset >= 0 {
		v.Offset = &r.BaseOffset
	}
	return v
}
