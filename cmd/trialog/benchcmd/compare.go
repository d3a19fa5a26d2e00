package benchcmd

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
)

// row is one line of the comparison: the work, and what is aimed at, as multiples of Kafka's figures of the same run. A
// target of 0 is none.
type row struct {
	name            string
	batch           int
	fetch           bool
	speed, cpu, p99 float64
}

// trickle is the row of single records; its figures are others.
var trickle = paced{perSecond: 5000, recordBytes: 1000}

// rows are those that one broker, one raw client and no group can do.
var rows = []row{
	{"produce, 16 KiB batches, acks=all", 16 << 10, false, 3, 0.35, 0},
	{"produce, 64 KiB batches, acks=all", 64 << 10, false, 1.8, 0.55, 0.5},
	{"produce, 1 MiB batches, acks=all", 1 << 20, false, 1.2, 0, 0},
	{"fetch catch-up, 8 MiB fetches, depth 4", 64 << 10, true, 1.1, 0, 0},
}

func compareCommand() *cobra.Command {
	var f roundFlags
	var jars string
	var warmMiB int64
	c := &cobra.Command{
		Use:   "compare",
		Short: "measure a real Kafka and this broker in turn",
		Long: `Start a real Kafka from the jars of a directory, and this broker, both in fresh directories, and measure the same
work on them in turn: one raw client, one connection, one partition. Kafka is warmed up first: cold, it is several times
slower.`,
		Example: `  trialog bench compare --kafka-jars experiments/clients/.deps/java/jars`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := compare(c, &f, jars, warmMiB<<20); err != nil {
				return cli.Exit(cli.Failed, err)
			}
			return nil
		},
	}
	f.add(c, 3)
	c.Flags().StringVar(&jars, "kafka-jars", "", "directory of Kafka's jars")
	c.MarkFlagRequired("kafka-jars")
	c.Flags().Int64Var(&warmMiB, "warm-mib", 4096, "MiB that Kafka is warmed up with")
	return c
}

// idle is what a broker costs that nobody uses.
type idle struct {
	ready   time.Duration
	cpu     float64 // s, until it was ready
	kib     int64   // resident
	threads int64
}

func idleOf(t *target) idle {
	return idle{ready: t.ready, cpu: t.cpu(), kib: t.status("VmRSS"), threads: t.status("Threads")}
}

func compare(c *cobra.Command, f *roundFlags, jars string, warm int64) error {
	kafka, err := startKafka(f.dir, jars)
	if err != nil {
		return err
	}
	defer kafka.stop()
	ours, err := startTrialog(f.dir, "trialog")
	if err != nil {
		return err
	}
	defer ours.stop()
	idles := [2]idle{idleOf(kafka), idleOf(ours)}
	targets := [2]*target{kafka, ours}

	progress := cli.NewProgressOnTerminal()
	defer progress.End()
	if err := warmUp(c, kafka, warm, shown(progress, "of Kafka's warm-up")); err != nil {
		return err
	}
	results := make([][2][]result, len(rows))
	var tails, perfs [2][]result
	for round := range f.rounds {
		for i := range rows {
			for side, t := range targets {
				r, err := rows[i].measure(c, t, f.bound(), shown(progress, fmt.Sprintf("round %d of %d: %s, %s", round+1, f.rounds, rows[i].name, t.name)))
				if err != nil {
					return fmt.Errorf("%s, %s: %w", rows[i].name, t.name, err)
				}
				results[i][side] = append(results[i][side], r)
			}
		}
		for side, t := range targets {
			r, err := measureTail(c, t, f.time, shown(progress, fmt.Sprintf("round %d of %d: single records, %s", round+1, f.rounds, t.name)))
			if err != nil {
				return fmt.Errorf("single records, %s: %w", t.name, err)
			}
			tails[side] = append(tails[side], r)
			progress.What("Kafka's perf producer, " + t.name)
			if r, err = perf(c.Context(), t, jars); err != nil {
				return err
			}
			perfs[side] = append(perfs[side], r)
		}
	}
	progress.End()
	if f.json {
		for i := range rows {
			for side, t := range targets {
				cli.PrintJSON(c.OutOrStdout(), figuresOf(rows[i].name, t.name, median(results[i][side])))
			}
		}
		for side, t := range targets {
			cli.PrintJSON(c.OutOrStdout(), figuresOf("single records, end to end", t.name, median(tails[side])))
			cli.PrintJSON(c.OutOrStdout(), figuresOf("Kafka's perf producer", t.name, median(perfs[side])))
		}
		return nil
	}
	printCompare(c.OutOrStdout(), results, tails, perfs, idles, f.rounds)
	return nil
}

// warmUp lets a virtual machine compile what is about to be measured: most of the volume is produced, some is fetched.
func warmUp(c *cobra.Command, t *target, bytes int64, progress func(int64)) error {
	const piece = 1 << 30 // so much lies on the disk at one time
	for done := int64(0); done < bytes; done += piece {
		if _, err := measureTail(c, t, 2*time.Second, func(int64) { progress(done) }); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
		for _, r := range []row{rows[0], rows[1], rows[3]} {
			part := min(piece, bytes-done)
			if r.batch == rows[0].batch {
				part /= 8
			}
			if _, err := r.measure(c, t, bound{time.Minute, part}, func(n int64) { progress(done + n) }); err != nil {
				return fmt.Errorf("warm-up: %w", err)
			}
		}
	}
	return nil
}

func (w *row) measure(c *cobra.Command, t *target, until bound, progress func(int64)) (r result, err error) {
	batch, records := makeBatch(w.batch, 1000, false)
	l := load{topic: "compare", batch: batch, records: records, acks: -1, depth: 5}
	err = withTopic(c.Context(), t, one(l.topic), func() error {
		if w.fetch {
			l.depth = 4
			r, err = fillAndFetch(t, l, 8<<20, until, progress)
		} else {
			r, err = produce(t, l, until, progress)
		}
		return err
	})
	return r, err
}

func measureTail(c *cobra.Command, t *target, duration time.Duration, progress func(int64)) (r result, err error) {
	err = withTopic(c.Context(), t, one("compare-single"), func() error {
		r, err = trickle.tail(t, "compare-single", duration, progress)
		return err
	})
	return r, err
}

// aim says whether a ratio is what was aimed at; 0 is no aim.
func aim(ratio, target float64, least bool) string {
	if target == 0 {
		return ""
	}
	sign, met := "<=", ratio <= target
	if least {
		sign, met = ">=", ratio >= target
	}
	word := "missed"
	if met {
		word = "met"
	}
	return fmt.Sprintf("%s %.2fx %s", sign, target, word)
}

func printCompare(w io.Writer, results [][2][]result, tails, perfs [2][]result, idles [2]idle, rounds int) {
	t := newTable("", "Kafka", "Trialog", "ratio", "target")
	line := func(name string, kafka, ours float64, format string, target float64, least bool) {
		if kafka < 0 || ours < 0 {
			return
		}
		ratio, shown := 0.0, ""
		if kafka > 0 {
			ratio = ours / kafka
			shown = fmt.Sprintf("%.2fx", ratio)
		}
		t.row("  "+name, fmt.Sprintf(format, kafka), fmt.Sprintf(format, ours), shown, aim(ratio, target, least))
	}
	for i, r := range rows {
		kafka, ours := median(results[i][0]), median(results[i][1])
		t.row(r.name)
		line("throughput, MiB/s", kafka.mib, ours.mib, "%.0f", r.speed, true)
		line("broker CPU, s/GiB", kafka.broker, ours.broker, "%.2f", r.cpu, false)
		line("p50, ms", ms(kafka.p50), ms(ours.p50), "%.2f", 0, false)
		line("p99, ms", ms(kafka.p99), ms(ours.p99), "%.2f", r.p99, false)
	}
	t.row(fmt.Sprintf("%d records/s of 1 kB, one a request, acks=all, end to end", trickle.perSecond))
	kafka, ours := median(tails[0]), median(tails[1])
	line("p50, ms", ms(kafka.p50), ms(ours.p50), "%.2f", 0, false)
	line("p99, ms", ms(kafka.p99), ms(ours.p99), "%.2f", 0.5, false)
	line("broker CPU, s/GiB", kafka.broker, ours.broker, "%.1f", 0.35, false)
	t.row(fmt.Sprintf("Kafka's perf producer: %d-byte records, %d partitions, %d KiB batches", perfBytes, perfPartitions, perfBatch>>10))
	kafka, ours = median(perfs[0]), median(perfs[1])
	line("records/s", kafka.records, ours.records, "%.0f", 1, true)
	line("broker CPU, s/GiB", kafka.broker, ours.broker, "%.2f", 0.5, false)
	t.row("start and idle")
	line("start to ready, s", idles[0].ready.Seconds(), idles[1].ready.Seconds(), "%.2f", 0, false)
	line("CPU until ready, s", idles[0].cpu, idles[1].cpu, "%.2f", 0, false)
	line("resident, MiB", float64(idles[0].kib)/1024, float64(idles[1].kib)/1024, "%.0f", 0, false)
	line("threads", float64(idles[0].threads), float64(idles[1].threads), "%.0f", 0, false)
	t.print(w)
	fmt.Fprintf(w, "\nmedians of %d rounds in turn; one raw client, one connection, one partition, 1000-byte records; client and brokers\nshare this machine. Trialog aims at < 0.1 s to ready and < 40 MiB resident.\n", rounds)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
