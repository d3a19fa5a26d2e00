package benchcmd

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"os"
	"time"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/client"
	"trialog/core/record"
)

// variant is one way to do the same work; the first of a group has everything on.
type variant struct {
	name string
	run  func(ctx context.Context, until bound, progress func(int64)) (result, error)
}

// group is variants that are compared with its first.
type group struct {
	name     string
	variants []variant
}

func whyCommand() *cobra.Command {
	var f roundFlags
	c := &cobra.Command{
		Use:   "why",
		Short: "turn one of the reasons for speed off at a time",
		Long: `Kafka's design is fast for a few reasons. Each is turned off alone, and what is left is measured beside the same work
with all of them on: 64 KiB batches of compressible records, acknowledged by all; a consumer that catches up with fetches
of 8 MiB; a file that is written in pieces of 64 KiB and is on the disk at the end. Variants take turns in every round.

A figure may say that a reason is none on this machine: within one host, compression saves no network; in a file system
that gathers writes in memory, their order matters little until they go to a disk with heads or small blocks.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			groups, stop, err := reasons(f.dir)
			if err != nil {
				return cli.Exit(cli.Failed, err)
			}
			defer stop()
			if err := why(c, &f, groups); err != nil {
				return cli.Exit(cli.Failed, err)
			}
			return nil
		},
	}
	f.add(c, 3)
	return c
}

// why measures all groups and prints the table.
func why(c *cobra.Command, f *roundFlags, groups []group) error {
	results := make([][][]result, len(groups))
	progress := cli.NewProgressOnTerminal()
	defer progress.End()
	for round := range f.rounds {
		for g := range groups {
			if results[g] == nil {
				results[g] = make([][]result, len(groups[g].variants))
			}
			for v := range groups[g].variants {
				what := fmt.Sprintf("round %d of %d: %s, %s", round+1, f.rounds, groups[g].name, groups[g].variants[v].name)
				r, err := groups[g].variants[v].run(c.Context(), f.bound(), shown(progress, what))
				if err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
				results[g][v] = append(results[g][v], r)
			}
		}
	}
	progress.End()
	if f.json {
		for g := range groups {
			for v := range groups[g].variants {
				cli.PrintJSON(c.OutOrStdout(), figuresOf(groups[g].name, groups[g].variants[v].name, median(results[g][v])))
			}
		}
		return nil
	}
	printWhy(c.OutOrStdout(), groups, results, f.rounds)
	return nil
}

func printWhy(w io.Writer, groups []group, results [][][]result, rounds int) {
	t := newTable("", "MiB/s", "of all on", "broker CPU", "of all on", "client CPU", "of all on", "p99")
	for g := range groups {
		if g > 0 {
			t.gap()
		}
		t.row(groups[g].name)
		all := median(results[g][0])
		for v := range groups[g].variants {
			m := median(results[g][v])
			t.row("  "+groups[g].variants[v].name, fmt.Sprintf("%.1f", m.mib), ratioText(m.mib, all.mib), cpuText(m.broker),
				ratioText(m.broker, all.broker), cpuText(m.client), ratioText(m.client, all.client), latencyText(m.p99))
		}
	}
	t.print(w)
	fmt.Fprintf(w, "\nmedians of %d rounds, variants in turn; MiB are uncompressed, CPU is in seconds for each GiB\n", rounds)
}

const (
	whyBatch  = 64 << 10
	whyRecord = 100
	whyFetch  = 8 << 20
	whyDepth  = 5
)

// reasons starts what is measured.
func reasons(dir string) ([]group, func(), error) {
	all, err := startTrialog(dir, "all on")
	if err != nil {
		return nil, nil, err
	}
	copying, err := startTrialog(dir, "copy", "trialog.sendfile.enable=false")
	if err != nil {
		all.stop()
		return nil, nil, err
	}
	file, err := newScratch(dir)
	if err != nil {
		all.stop()
		copying.stop()
		return nil, nil, err
	}
	stop := func() {
		all.stop()
		copying.stop()
		file.remove()
	}
	return []group{producing(all), fetching(all, copying), {"file: 64 KiB a write, on the disk at the end", []variant{
		{"all on (sequential writes)", file.sequential}, {"random writes", file.random},
	}}}, stop, nil
}

func producing(on *target) group {
	batch, records := makeBatch(whyBatch, whyRecord, true)
	alone, _ := makeBatch(1, whyRecord, true)
	full := load{topic: "why-produce", batch: batch, records: records, codec: record.LZ4, acks: -1, depth: whyDepth, compressEach: true}
	plain, single := full, full
	plain.codec, plain.compressEach = record.Uncompressed, false
	single.batch, single.records = alone, 1
	run := func(l load, settings ...client.ConfigPair) func(context.Context, bound, func(int64)) (result, error) {
		return func(ctx context.Context, until bound, progress func(int64)) (r result, err error) {
			err = withTopic(ctx, on, one(l.topic, settings...), func() error {
				r, err = produce(on, l, until, progress)
				return err
			})
			return r, err
		}
	}
	return group{"produce: 64 KiB batches of compressible records, lz4, acks=all", []variant{
		{"all on", run(full)}, {"batch of one", run(single)}, {"no compression", run(plain)},
		{"fsync each", run(full, client.ConfigPair{Name: "flush.messages", Value: "1"})},
	}}
}

func fetching(all, copying *target) group {
	batch, records := makeBatch(whyBatch, whyRecord, false)
	l := load{topic: "why-fetch", batch: batch, records: records, acks: -1, depth: 4}
	run := func(on *target) func(context.Context, bound, func(int64)) (result, error) {
		return func(ctx context.Context, until bound, progress func(int64)) (r result, err error) {
			err = withTopic(ctx, on, one(l.topic), func() error {
				r, err = fillAndFetch(on, l, whyFetch, until, progress)
				return err
			})
			return r, err
		}
	}
	return group{"fetch: catch-up, 8 MiB a fetch", []variant{{"all on (sendfile)", run(all)}, {"user-space copy", run(copying)}}}
}

// scratch is a file that is written in two orders. It has all its blocks before anything is measured, so that only the
// order differs.
type scratch struct {
	f    *os.File
	size int64
}

const scratchBytes = 256 << 20

func newScratch(dir string) (*scratch, error) {
	f, err := os.CreateTemp(dir, "trialog-bench-file-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	s := &scratch{f: f, size: scratchBytes}
	piece := make([]byte, 1<<20)
	for at := int64(0); at < s.size && err == nil; at += int64(len(piece)) {
		_, err = f.WriteAt(piece, at)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		s.remove()
		return nil, fmt.Errorf("bench: %w", err)
	}
	return s, nil
}

func (s *scratch) remove() {
	s.f.Close()
	os.Remove(s.f.Name())
}

func (s *scratch) sequential(_ context.Context, until bound, progress func(int64)) (result, error) {
	return s.write(until, progress, func(i int64) int64 { return i })
}

func (s *scratch) random(_ context.Context, until bound, progress func(int64)) (result, error) {
	order := rand.New(rand.NewSource(1)).Perm(int(s.size / whyBatch))
	return s.write(until, progress, func(i int64) int64 { return int64(order[i]) })
}

// write writes the file once, piece by piece in an order, and syncs it; the time of the sync is part of it. There is no
// broker: its processor time is that of the writer.
func (s *scratch) write(until bound, progress func(int64), place func(int64) int64) (result, error) {
	var r result
	piece := make([]byte, whyBatch)
	rand.New(rand.NewSource(2)).Read(piece)
	return measured(&target{}, &r, func() ([]time.Duration, error) {
		began := time.Now()
		for i := int64(0); i < s.size/whyBatch && r.bytes < until.bytes && time.Since(began) < until.time; i++ {
			if _, err := s.f.WriteAt(piece, place(i)*whyBatch); err != nil {
				return nil, err
			}
			r.requests++
			r.bytes += whyBatch
			progress(r.bytes)
		}
		return nil, s.f.Sync()
	})
}
