package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/client"
)

func init() { commands = append(commands, consumeCommand) }

type consumeFlags struct {
	clusterFlags
	partition   int32
	offset      string
	beginning   bool
	separator   string
	maxMessages int64
	exitAtEnd   bool
	committed   bool
}

func consumeCommand() *cobra.Command {
	var f consumeFlags
	c := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "print records, one a line",
		Long: `Print the values of TOPIC's records to stdout, one a line, those of each partition in order. It begins at the
end, as Kafka's console consumer does, unless told otherwise, and waits for more until it is stopped, unless --exit-at-end
or --max-messages ends it.

Exit codes: 0 done; 1 no answer of the cluster within --timeout, an offset that does not exist, damaged records; 3 usage.`,
		Example: `  trialog consume orders --offset earliest --exit-at-end --key-separator :`,
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().Int32Var(&f.partition, "partition", -1, "read this partition only")
	c.Flags().StringVar(&f.offset, "offset", "latest", "where to begin: earliest, latest or a number (in each partition)")
	c.Flags().BoolVar(&f.beginning, "from-beginning", false, "the same as --offset earliest")
	c.MarkFlagsMutuallyExclusive("offset", "from-beginning")
	c.Flags().StringVar(&f.separator, "key-separator", "", "print keys too, and this behind them")
	c.Flags().Int64Var(&f.maxMessages, "max-messages", -1, "end after so many; -1: no limit")
	c.Flags().BoolVar(&f.exitAtEnd, "exit-at-end", false, "end where the partitions ended when it began")
	c.Flags().BoolVar(&f.committed, "read-committed", false, "leave out records of open transactions")
	return f.command(c, func(cl *client.Client, args []string) error { return runConsume(c, cl, args[0], f) })
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
	r := &reader{f: f, c: c, out: bufio.NewWriter(c.OutOrStdout()), ends: map[int32]int64{}, progress: newProgress(os.Stdout, "records")}
	defer r.progress.end()
	r.consumer = cl.NewConsumer(client.FetchConfig{ReadCommitted: f.committed})
	if err := r.assign(c.Context(), cl, topic, from); err != nil {
		return err
	}
	return r.read(c.Context(), topic)
}

// parseOffset gives client.Earliest and client.Latest for the words.
func parseOffset(text string) (int64, error) {
	switch text {
	case "earliest":
		return client.Earliest, nil
	case "latest":
		return client.Latest, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("consume: --offset %q is not earliest, latest or an offset", text)
	}
	return n, nil
}

// reader prints what a consumer brings.
type reader struct {
	f        consumeFlags
	c        *cobra.Command
	out      *bufio.Writer
	consumer *client.Consumer
	ends     map[int32]int64 // with --exit-at-end: partitions still to read, and how far
	printed  int64
	progress *progress
}

// assign finds the partitions and where to begin and end in them.
func (r *reader) assign(ctx context.Context, cl *client.Client, topic string, from int64) error {
	cluster, err := cl.Metadata(ctx, topic)
	if err != nil {
		return outcome(err)
	}
	found := false
	for _, t := range cluster.Topics {
		for _, p := range t.Partitions {
			if r.f.partition >= 0 && r.f.partition != p.Partition {
				continue
			}
			found = true
			if err := r.begin(ctx, cl, client.Position{Topic: topic, Partition: p.Partition, Offset: from}); err != nil {
				return outcome(err)
			}
		}
	}
	if !found {
		return fmt.Errorf("consume: topic %s has no partition %d", topic, r.f.partition)
	}
	return nil
}

func (r *reader) begin(ctx context.Context, cl *client.Client, p client.Position) error {
	if r.f.exitAtEnd {
		end, err := cl.ListOffset(ctx, p.Topic, p.Partition, client.Latest)
		if err != nil {
			return err
		}
		r.ends[p.Partition] = end.Offset
	}
	if p.Offset < 0 {
		at, err := cl.ListOffset(ctx, p.Topic, p.Partition, p.Offset)
		if err != nil {
			return err
		}
		p.Offset = at.Offset
	}
	if end, limited := r.ends[p.Partition]; limited && p.Offset >= end {
		delete(r.ends, p.Partition)
		return nil
	}
	r.consumer.Assign(p)
	return nil
}

// read polls until it is done. Errors of the moment are tried again for as long as --timeout.
func (r *reader) read(ctx context.Context, topic string) error {
	answered := time.Now()
	for !r.done() {
		results := r.consumer.Poll(ctx)
		for i := range results {
			f := &results[i]
			err := r.print(f)
			switch {
			case err != nil:
				r.out.Flush()
				return cli.Exit(cli.Failed, err)
			case f.Err == nil:
				answered = time.Now()
			case fatal(f.Err) || time.Since(answered) > r.f.timeout:
				r.out.Flush()
				return outcome(f.Err)
			}
			if end, limited := r.ends[f.Partition]; limited && f.Next >= end {
				delete(r.ends, f.Partition)
				r.consumer.Unassign(topic, f.Partition)
			}
		}
		if err := r.out.Flush(); err != nil {
			return cli.Exit(cli.Failed, fmt.Errorf("consume: stdout: %w", err))
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
		r.progress.show(r.printed)
		if r.f.json {
			cli.PrintJSON(r.out, consumedJSON(f, rec))
			continue
		}
		if r.f.separator != "" {
			r.out.Write(rec.Key)
			r.out.WriteString(r.f.separator)
		}
		r.out.Write(rec.Value)
		r.out.WriteByte('\n')
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
