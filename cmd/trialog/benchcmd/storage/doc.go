// Package storage is `trialog bench storage`: what a real Kafka and this broker do with the same log directory, in one run.
// The segments are written once, and handed to both; each recovers them after an unclean stop, compacts them, and its tool
// dumps one of them.
package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
)

type flags struct {
	dir, jars   string
	mib, rounds int
	json        bool
}

// Command makes `trialog bench storage`.
func Command() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "storage",
		Short: "recovery, compaction and dump of the same segments: a real Kafka and this broker in turn",
		Long: `Write segments of 64 KiB batches with 1 KiB records once, and hand them to a real Kafka and to this broker in turn:

  recovery    the time from the start of a process, without marker and checkpoints, until every partition answers with its
              end; beside it the same start after a clean stop. Pages are in memory, four partitions, two threads each
  compaction  from the moment that the topic is given cleanup.policy=compact until the cleaner's checkpoint says that all
              but the active segment is clean; a quarter of the records has a key of its own
  dump        kafka-dump-log.sh and trialog log dump, each record of one segment, with the start of the process`,
		Example: `  trialog bench storage --kafka-jars experiments/clients/.deps/java/jars`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.mib < 8 || f.rounds < 1 {
				return fmt.Errorf("bench: --mib must be 8 at least, --rounds 1")
			}
			if err := f.run(c); err != nil {
				return cli.Exit(cli.Failed, err)
			}
			return nil
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.dir, "dir", "", "where the logs are kept, for the time being; the system's temporary directory by default")
	fs.StringVar(&f.jars, "kafka-jars", "", "directory of Kafka's jars")
	c.MarkFlagRequired("kafka-jars")
	fs.IntVar(&f.mib, "mib", 512, "MiB of records in each of the two topics")
	fs.IntVar(&f.rounds, "rounds", 3, "rounds; the median is printed")
	fs.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	return c
}

// figures are of one broker in one round, in the order of names.
type figures [5]time.Duration

var names = [...]string{"recovery of the unclean directory", "start after a clean stop", "compaction", "dump, each record", "dump, batches"}

const (
	unclean = iota
	clean
	compaction
	dumpRecords
	dumpBatches
)

func (f *flags) run(c *cobra.Command) error {
	root, err := os.MkdirTemp(f.dir, "trialog-storage-")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(root)
	made, err := makeLogs(filepath.Join(root, "made"), int64(f.mib)<<20)
	if err != nil {
		return err
	}
	var results [2][]figures
	var after [2]int64
	for round := range f.rounds {
		for side := range 2 {
			dir := filepath.Join(root, fmt.Sprint(round, "-", side))
			n := node(&kafkaNode{dir: dir, jars: f.jars})
			if side == 1 {
				n = &ownNode{dir: dir}
			}
			figures, kept, err := measure(c.Context(), n, made)
			if err != nil {
				return fmt.Errorf("bench: %s: %w", n.name(), err)
			}
			results[side], after[side] = append(results[side], figures), kept
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return f.print(c.OutOrStdout(), results, after, made)
}

// measure is one round of one broker.
func measure(ctx context.Context, n node, made *logs) (f figures, kept int64, err error) {
	if err := os.Mkdir(n.home(), 0o755); err != nil {
		return f, 0, err
	}
	defer n.kill()
	if _, err := n.start(); err != nil {
		return f, 0, err
	}
	if err := made.createTopics(ctx, n.addr()); err != nil {
		return f, 0, err
	}
	if err := n.stop(); err != nil {
		return f, 0, err
	}
	if err := made.handOver(n.data()); err != nil {
		return f, 0, err
	}
	if f[unclean], err = made.startAndAwait(ctx, n); err != nil {
		return f, 0, err
	}
	if f[compaction], err = made.compact(ctx, n); err != nil {
		return f, 0, err
	}
	if kept, err = sizeOf(filepath.Join(n.data(), compacted+"-0")); err != nil {
		return f, 0, err
	}
	if err := n.stop(); err != nil {
		return f, 0, err
	}
	if f[clean], err = made.startAndAwait(ctx, n); err != nil {
		return f, 0, err
	}
	if err := n.stop(); err != nil {
		return f, 0, err
	}
	if f[dumpRecords], err = timed(n.dump(made.segment, true)); err != nil {
		return f, 0, err
	}
	f[dumpBatches], err = timed(n.dump(made.segment, false))
	return f, kept, err
}
