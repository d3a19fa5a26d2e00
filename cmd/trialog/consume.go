//go:build !guest

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/cmd/trialog/console"
	"trialog/core/client"
)

func init() { commands = append(commands, consumeCommand) }

type consumeFlags struct {
	cli.ClusterFlags
	topic       string
	partition   int32
	offset      string
	properties  []string
	idle        int64
	beginning   bool
	separator   string
	maxMessages int64
	exitAtEnd   bool
	committed   bool
}

func consumeCommand() *cobra.Command {
	var f consumeFlags
	c := &cobra.Command{
		Use:   "consume [TOPIC]",
		Short: "print records, one a line",
		Long: `Print the values of TOPIC's records to stdout, one a line, those of each partition in order. It begins at the
end, as Kafka's console consumer does, unless told otherwise, and waits for more until it is stopped, unless --exit-at-end,
--max-messages or --timeout-ms ends it.

--offset timestamp:T begins at the first record of that time or later; T is ms since 1970, or 2026-01-31T12:00:00Z.

With --property name=value records are printed as kafka-console-consumer prints them, the parts in this order:
  print.timestamp=false    print.partition=false    print.offset=false    print.delivery=false    print.epoch=false
  print.headers=false      print.key=false          print.value=true
  key.separator=TAB        line.separator=NEWLINE   headers.separator=,   null.literal=null

Exit codes: 0 done; 1 no answer of the cluster within --timeout, an offset that does not exist, damaged records; 3 usage.`,
		Example: `  trialog consume orders --offset earliest --exit-at-end --key-separator :
  trialog consume orders --partition 0 --offset 42 --max-messages 1 --property print.headers=true --property print.offset=true`,
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&f.topic, "topic", "", "the topic, as kafka-console-consumer is told it")
	c.Flags().Int32Var(&f.partition, "partition", -1, "read this partition only")
	c.Flags().StringVar(&f.offset, "offset", "latest", "where to begin: earliest, latest, a number or timestamp:T (in each partition)")
	c.Flags().BoolVar(&f.beginning, "from-beginning", false, "the same as --offset earliest")
	c.MarkFlagsMutuallyExclusive("offset", "from-beginning")
	c.Flags().StringVar(&f.separator, "key-separator", "", "print keys too, and this behind them: print.key and key.separator in one")
	propertyFlags(c, &f.properties, "how a record is printed, name=value; repeat for more", "formatter-property")
	c.Flags().Int64Var(&f.idle, "timeout-ms", -1, "end when nothing came for so long; -1: wait")
	c.Flags().Int64Var(&f.maxMessages, "max-messages", -1, "end after so many; -1: no limit")
	c.Flags().BoolVar(&f.exitAtEnd, "exit-at-end", false, "end where the partitions ended when it began")
	c.Flags().BoolVar(&f.committed, "read-committed", false, "leave out records of open transactions")
	return f.Command(c, func(cl *client.Client, args []string) error {
		topic, err := topicOf(args, f.topic)
		if err != nil {
			return err
		}
		return runConsume(c, cl, topic, f)
	})
}

// format is how records are printed.
func (f *consumeFlags) format() (*console.RecordFormat, error) {
	if f.separator != "" {
		f.properties = append(f.properties, "print.key=true", "key.separator="+f.separator)
	}
	p, err := console.ParseProperties(f.properties)
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	format, err := console.NewRecordFormat(p)
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	return format, nil
}

func runConsume(c *cobra.Command, cl *client.Client, topic string, f consumeFlags) error {
	if f.maxMessages < -1 {
		return fmt.Errorf("consume: --max-messages %d is below -1", f.maxMessages)
	}
	if f.beginning {
		f.offset = "earliest"
	}
	from, err := parseOffset(f.offset)
	if err != nil {
		return err
	}
	format, err := f.format()
	if err != nil {
		return err
	}
	r := &reader{f: f, c: c, format: format, out: bufio.NewWriter(c.OutOrStdout()), ends: map[int32]int64{}, progress: cli.NewProgress(os.Stdout, "records")}
	defer r.progress.End()
	fetch := client.FetchConfig{ReadCommitted: f.committed}
	if idle := time.Duration(f.idle) * time.Millisecond; idle >= 0 && idle < 500*time.Millisecond {
		fetch.MaxWait = max(idle, time.Millisecond)
	}
	r.consumer = cl.NewConsumer(fetch)
	if err := r.assign(c.Context(), cl, topic, from); err != nil {
		return err
	}
	return r.read(c.Context(), topic)
}

// place is where to begin in a partition: an offset, client.Earliest or client.Latest; or, with byTime, ms since 1970.
type place struct {
	at     int64
	byTime bool
}

func parseOffset(text string) (place, error) {
	switch text {
	case "earliest":
		return place{at: client.Earliest}, nil
	case "latest":
		return place{at: client.Latest}, nil
	}
	if when, ok := strings.CutPrefix(text, "timestamp:"); ok {
		if t, err := time.Parse(time.RFC3339, when); err == nil {
			return place{t.UnixMilli(), true}, nil
		}
		if ms, err := strconv.ParseInt(when, 10, 64); err == nil && ms >= 0 {
			return place{ms, true}, nil
		}
		return place{}, fmt.Errorf("consume: --offset %q: %q is not ms since 1970 or a time like 2026-01-31T12:00:00Z", text, when)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return place{}, fmt.Errorf("consume: --offset %q is not earliest, latest, an offset or timestamp:T", text)
	}
	return place{at: n}, nil
}

// reader prints what a consumer brings.
type reader struct {
	f        consumeFlags
	format   *console.RecordFormat
	c        *cobra.Command
	out      *bufio.Writer
	consumer *client.Consumer
	ends     map[int32]int64 // with --exit-at-end: partitions still to read, and how far
	printed  int64
	progress *cli.Progress
}

// assign finds the partitions and where to begin and end in them.
func (r *reader) assign(ctx context.Context, cl *client.Client, topic string, from place) error {
	cluster, err := cl.Metadata(ctx, topic)
	if err != nil {
		return cli.Outcome(err)
	}
	found := false
	for _, t := range cluster.Topics {
		for _, p := range t.Partitions {
			if r.f.partition >= 0 && r.f.partition != p.Partition {
				continue
			}
			found = true
			if err := r.begin(ctx, cl, client.Position{Topic: topic, Partition: p.Partition, Offset: from.at}, from.byTime); err != nil {
				return cli.Outcome(err)
			}
		}
	}
	if !found {
		return fmt.Errorf("consume: topic %s has no partition %d", topic, r.f.partition)
	}
	return nil
}

func (r *reader) begin(ctx context.Context, cl *client.Client, p client.Position, byTime bool) error {
	if r.f.exitAtEnd {
		end, err := cl.ListOffset(ctx, p.Topic, p.Partition, client.Latest)
		if err != nil {
			return err
		}
		r.ends[p.Partition] = end.Offset
	}
	if p.Offset < 0 || byTime {
		at, err := cl.ListOffset(ctx, p.Topic, p.Partition, p.Offset)
		if err == nil && at.Offset < 0 { // no record is that late
			at, err = cl.ListOffset(ctx, p.Topic, p.Partition, client.Latest)
		}
		if err != nil {
			return err
		}
		p.Offset = at.Offset
	}
	if end, limited := r.ends[p.Partition]; limited && p.Offset == end { // behind it is an offset that does not exist: the fetch says so
		delete(r.ends, p.Partition)
		return nil
	}
	r.consumer.Assign(p)
	return nil
}

// read polls until it is done. Errors of the moment are tried again for as long as --timeout.
func (r *reader) read(ctx context.Context, topic string) error {
	answered, brought := time.Now(), time.Now()
	for !r.done() {
		results := r.consumer.Poll(ctx)
		for i := range results {
			f := &results[i]
			err := r.print(f)
			if len(f.Records) > 0 {
				brought = time.Now()
			}
			switch {
			case err != nil:
				r.out.Flush()
				return cli.Exit(cli.Failed, err)
			case f.Err == nil:
				answered = time.Now()
			case fatal(f.Err) || time.Since(answered) > r.f.Timeout:
				r.out.Flush()
				return cli.Outcome(f.Err)
			}
			if end, limited := r.ends[f.Partition]; limited && f.Next >= end {
				delete(r.ends, f.Partition)
				r.consumer.Unassign(topic, f.Partition)
			}
		}
		if err := r.out.Flush(); err != nil {
			return cli.Exit(cli.Failed, fmt.Errorf("consume: stdout: %w", err))
		}
		if silent := time.Since(brought); r.f.idle >= 0 && silent >= time.Duration(r.f.idle)*time.Millisecond {
			return nil
		}
	}
	return nil
}

func (r *reader) done() bool {
	return r.f.maxMessages >= 0 && r.printed >= r.f.maxMessages || r.f.exitAtEnd && len(r.ends) == 0
}

// fatal reports errors that no patience mends.
func fatal(err error) bool {
	switch client.NameOf(err) {
	case "OFFSET_OUT_OF_RANGE", "MESSAGE_TOO_LARGE", "TOPIC_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION":
		return true
	}
	return false
}

// print writes the records of one fetch; damage behind them is an error.
func (r *reader) print(f *client.Fetched) error {
	end, limited := r.ends[f.Partition]
	for i := range f.Records {
		rec := &f.Records[i]
		if r.f.maxMessages >= 0 && r.printed >= r.f.maxMessages || limited && rec.Offset >= end {
			return nil
		}
		r.printed++
		r.progress.Show(r.printed)
		if r.f.JSON {
			cli.PrintJSON(r.out, consumedJSON(f, rec))
			continue
		}
		r.format.Write(r.out, f.Partition, rec)
	}
	if f.Corrupt != "" {
		return fmt.Errorf("consume: %s-%d: damaged: %s", f.Topic, f.Partition, f.Corrupt)
	}
	return nil
}

type consumed struct {
	Topic     string          `json:"topic"`
	Partition int32           `json:"partition"`
	Offset    int64           `json:"offset"`
	Timestamp int64           `json:"timestamp"`
	Key       any             `json:"key"`
	Value     any             `json:"value"`
	Headers   []consumedEntry `json:"headers,omitempty"`
}

type consumedEntry struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func consumedJSON(f *client.Fetched, r *client.Record) consumed {
	v := consumed{
		Topic: f.Topic, Partition: f.Partition, Offset: r.Offset, Timestamp: r.Timestamp, Key: jsonBytes(r.Key), Value: jsonBytes(r.Value),
	}
	for _, h := range r.Headers {
		v.Headers = append(v.Headers, consumedEntry{h.Key, jsonBytes(h.Value)})
	}
	return v
}

// jsonBytes is null for null, a string for UTF-8, and {"base64": ...} for other bytes.
func jsonBytes(b []byte) any {
	switch {
	case b == nil:
		return nil
	case utf8.Valid(b):
		return string(b)
	}
	return map[string][]byte{"base64": b}
}
