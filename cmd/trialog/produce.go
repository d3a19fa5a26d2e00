//go:build !guest

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/cmd/trialog/console"
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
	cli.ClusterFlags
	topic       string
	partition   int32
	separator   string
	properties  []string
	timestamp   int64
	acks        acksFlag
	idempotent  bool
	retries     int
	compression string
}

func produceCommand() *cobra.Command {
	f := produceFlags{acks: -1}
	c := &cobra.Command{
		Use:   "produce [TOPIC]",
		Short: "append each line of stdin as a record",
		Long: `Append each line of stdin as a record to TOPIC. Lines with a key go to the partition that Kafka's default
partitioner chooses; lines without one to a partition for each batch in turn.

With --property name=value a line is read as kafka-console-producer reads it: [headers delimiter] [key separator] value.
  parse.key=false          key.separator=TAB             ignore.error=false: a part that is missing is an error
  parse.headers=false      headers.delimiter=TAB         null.marker: this text is null
  headers.separator=,      headers.key.separator=:

Exit codes: 0 every record was acknowledged (with --acks 0: sent); 1 a record was not appended; 2 the outcome of a
record is unknown; 3 usage. Nothing more is read after the first failure.`,
		Example: `  trialog topic create greetings
  printf 'k1:hello\nk2:world\n' | trialog produce greetings --key-separator :
  printf 'source:test|k1=hello\n' | trialog produce greetings --property parse.headers=true --property 'headers.delimiter=|' \
      --property parse.key=true --property key.separator==`,
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&f.topic, "topic", "", "the topic, as kafka-console-producer is told it")
	c.Flags().Int32Var(&f.partition, "partition", -1, "send everything to this partition")
	c.Flags().StringVar(&f.separator, "key-separator", "", "what stands between key and value: parse.key and key.separator in one")
	propertyFlags(c, &f.properties, "how a line is read, name=value; repeat for more", "reader-property")
	c.Flags().Int64Var(&f.timestamp, "timestamp", 0, "ms since 1970 of every record; 0: when it is sent")
	c.Flags().Var(&f.acks, "acks", "all, 1 or 0")
	c.Flags().BoolVar(&f.idempotent, "idempotent", false, "let the broker recognise retries (default: with --acks all)")
	c.Flags().IntVar(&f.retries, "retries", -1, "attempts after the first; -1: until an outcome or 30s")
	c.Flags().StringVar(&f.compression, "compression", "none", "of batches: none, gzip, snappy, lz4 or zstd")
	c.Flags().StringVar(&f.compression, "compression-codec", "none", "the same as --compression, under Kafka's name")
	c.MarkFlagsMutuallyExclusive("compression", "compression-codec")
	return f.Command(c, func(cl *client.Client, args []string) error {
		if !c.Flags().Changed("idempotent") {
			f.idempotent = f.acks == -1
		}
		topic, err := topicOf(args, f.topic)
		if err != nil {
			return err
		}
		return runProduce(c, cl, topic, f)
	})
}

// format is how lines become records.
func (f *produceFlags) format() (*console.LineFormat, error) {
	if f.separator != "" {
		f.properties = append(f.properties, "parse.key=true", "key.separator="+f.separator)
	}
	p, err := console.ParseProperties(f.properties)
	if err != nil {
		return nil, fmt.Errorf("produce: %w", err)
	}
	format, err := console.NewLineFormat(p)
	if err != nil {
		return nil, fmt.Errorf("produce: %w", err)
	}
	return format, nil
}

func runProduce(c *cobra.Command, cl *client.Client, topic string, f produceFlags) error {
	format, err := f.format()
	if err != nil {
		return err
	}
	if f.timestamp < 0 {
		return fmt.Errorf("produce: --timestamp %d is negative", f.timestamp)
	}
	producer, err := cl.NewProducer(client.ProducerConfig{Acks: int16(f.acks), Idempotent: f.idempotent, Retries: f.retries, Compression: f.compression})
	if err != nil {
		return err
	}
	cluster, err := cl.Metadata(c.Context(), topic)
	if err != nil {
		return cli.Outcome(err)
	}
	partitions := int32(0)
	for _, t := range cluster.Topics {
		partitions = int32(len(t.Partitions))
	}
	if f.partition >= partitions || partitions == 0 || f.partition < -1 {
		return fmt.Errorf("produce: topic %s has %d partitions, none is %d", topic, partitions, f.partition)
	}
	s := &sender{f: f, c: c, format: format, topic: topic, partitions: partitions, producer: producer, progress: cli.NewProgress(os.Stdin, "records")}
	err = s.lines(c.Context(), c.InOrStdin())
	s.wait.Wait()
	s.progress.End()
	if s.failure != nil {
		return cli.Outcome(s.failure)
	}
	return err
}

// sender makes batches of lines and watches how they end.
type sender struct {
	f          produceFlags
	c          *cobra.Command
	format     *console.LineFormat
	read       int64 // lines
	topic      string
	partitions int32
	producer   *client.Producer
	turn       int32 // partition of the next batch without keys

	wait     sync.WaitGroup
	mu       sync.Mutex
	sent     int64
	failure  error // the worst so far: unknown before failed
	progress *cli.Progress
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

// batch sends lines: one batch to each partition that they belong to. Lines before a bad one are sent.
func (s *sender) batch(ctx context.Context, lines []string) (bad error) {
	byPartition := make([][]client.Record, s.partitions)
	for _, line := range lines {
		s.read++
		r, err := s.format.Parse(s.read, line)
		if err != nil {
			bad = fmt.Errorf("produce: %w", err)
			break
		}
		r.Timestamp = s.f.timestamp
		partition := s.turn
		if r.Key != nil {
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
	return bad
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
	if s.f.JSON {
		cli.PrintJSON(s.c.OutOrStdout(), producedJSON(s.topic, partition, records, r))
	}
	if r.Err == nil {
		s.sent += int64(records)
		s.progress.Show(s.sent)
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

// propertyFlags adds --property, and the name that Kafka's tools gave it in 4.2 (KIP-1147).
func propertyFlags(c *cobra.Command, to *[]string, usage, newer string) {
	c.Flags().StringArrayVar(to, "property", nil, usage)
	c.Flags().StringArrayVar(to, newer, nil, "the same as --property")
	c.MarkFlagsMutuallyExclusive("property", newer)
}

// topicOf is the topic that a command is about: its argument, or --topic.
func topicOf(args []string, flag string) (string, error) {
	switch {
	case len(args) == 1 && flag == "":
		return args[0], nil
	case len(args) == 0 && flag != "":
		return flag, nil
	}
	return "", errors.New("the topic is needed, once: as an argument or as --topic")
}
