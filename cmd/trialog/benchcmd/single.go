package benchcmd

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/record"
)

// loadFlags describe the records.
type loadFlags struct {
	batchKiB, recordBytes, depth int
	acks                         int16
	compression                  string
	compressible                 bool
}

func (f *loadFlags) add(c *cobra.Command, depth int) {
	c.Flags().IntVar(&f.batchKiB, "batch-kib", 64, "KiB of a batch")
	c.Flags().IntVar(&f.recordBytes, "record-bytes", 100, "bytes of a record")
	c.Flags().IntVar(&f.depth, "depth", depth, "requests in flight")
	c.Flags().StringVar(&f.compression, "compression", "none", "of batches: none, gzip, snappy, lz4 or zstd")
	c.Flags().BoolVar(&f.compressible, "compressible", false, "records are text that repeats itself, and not noise")
}

func (f *loadFlags) load(topic string) (load, error) {
	codec, err := record.ParseCodec(f.compression)
	if err != nil {
		return load{}, fmt.Errorf("bench: --compression %w", err)
	}
	if f.batchKiB < 1 || f.batchKiB > 64<<10 || f.recordBytes < 1 || f.depth < 1 || f.acks < -1 || f.acks > 1 {
		return load{}, fmt.Errorf("bench: --batch-kib, --record-bytes and --depth must be positive, --acks -1 or 1")
	}
	batch, records := makeBatch(f.batchKiB<<10, f.recordBytes, f.compressible)
	return load{topic: topic, batch: batch, records: records, codec: codec, acks: f.acks, depth: f.depth}, nil
}

func produceCommand() *cobra.Command {
	var rounds roundFlags
	var on targetFlags
	var f loadFlags
	c := &cobra.Command{
		Use:   "produce",
		Short: "measure producing to one partition",
		Example: `  trialog bench produce --batch-kib 16
  trialog bench produce -b localhost:9092 --pid $(pidof java)`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return single(c, &rounds, &on, &f, func(t *target, l load, progress func(int64)) (result, error) {
				return produce(t, l, rounds.bound(), progress)
			})
		},
	}
	rounds.add(c, 3)
	on.add(c)
	f.add(c, 5)
	c.Flags().Int16Var(&f.acks, "acks", -1, "-1 (all) or 1")
	return c
}

func fetchCommand() *cobra.Command {
	var rounds roundFlags
	var on targetFlags
	var f loadFlags
	var fetchKiB int
	c := &cobra.Command{
		Use:     "fetch",
		Short:   "measure a consumer that catches up with one partition",
		Example: `  trialog bench fetch --fetch-kib 8192 --depth 4`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.acks = -1
			return single(c, &rounds, &on, &f, func(t *target, l load, progress func(int64)) (result, error) {
				return fillAndFetch(t, l, fetchKiB<<10, rounds.bound(), progress)
			})
		},
	}
	rounds.add(c, 3)
	on.add(c)
	f.add(c, 4)
	c.Flags().IntVar(&fetchKiB, "fetch-kib", 8192, "KiB of a fetch")
	return c
}

// fillBytes is how much a consumer finds to catch up with; it reads that again and again.
const fillBytes = 256 << 20

// fillAndFetch fills the topic and measures reading it. Batches are stored uncompressed, so that sizes are known.
func fillAndFetch(t *target, l load, fetchBytes int, until bound, progress func(int64)) (result, error) {
	if l.codec != record.Uncompressed {
		return result{}, fmt.Errorf("bench: fetch measures uncompressed batches")
	}
	perFetch := int64(fetchBytes / len(l.batch))
	if perFetch == 0 {
		return result{}, fmt.Errorf("bench: a fetch of %d bytes holds no batch of %d", fetchBytes, len(l.batch))
	}
	depth := l.depth
	l.depth = 5
	filled, err := produce(t, l, bound{time: time.Minute, bytes: fillBytes}, func(int64) {})
	if err != nil {
		return filled, err
	}
	l.depth = depth
	return fetch(t, l, filled.requests, perFetch, until, progress)
}

// single measures one thing, round by round.
func single(c *cobra.Command, rounds *roundFlags, on *targetFlags, f *loadFlags, measure func(*target, load, func(int64)) (result, error)) error {
	if err := rounds.check(); err != nil {
		return err
	}
	l, err := f.load("trialog-bench")
	if err != nil {
		return err
	}
	t, err := on.open(rounds.dir)
	if err != nil {
		return cli.Exit(cli.Failed, err)
	}
	defer t.stop()
	progress := cli.NewProgressOnTerminal()
	defer progress.End()
	var all []result
	for round := range rounds.rounds {
		err := withTopic(c.Context(), t, one(l.topic), func() error {
			r, err := measure(t, l, shown(progress, fmt.Sprintf("round %d of %d", round+1, rounds.rounds)))
			all = append(all, r)
			return err
		})
		if err != nil {
			return cli.Exit(cli.Failed, err)
		}
	}
	progress.End()
	m := median(all)
	if rounds.json {
		return cli.PrintJSON(c.OutOrStdout(), figuresOf(c.Name(), t.name, m))
	}
	printSingle(c.OutOrStdout(), m, rounds.rounds)
	return nil
}

// printSingle is for people.
func printSingle(w io.Writer, m measure, rounds int) {
	t := newTable("throughput", "records/s", "broker CPU", "client CPU", "p50", "p99", "p99.9")
	t.row(fmt.Sprintf("%.0f MiB/s", m.mib), fmt.Sprintf("%.0f", m.records), cpuText(m.broker), cpuText(m.client),
		latencyText(m.p50), latencyText(m.p99), latencyText(m.p999))
	t.print(w)
	fmt.Fprintf(w, "median of %d rounds; CPU is in seconds for each GiB; times are from sending a request to its response\n", rounds)
}
