package benchcmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
)

// row is one line of the comparison: the work, and what is aimed at, as multiples of Kafka's figures and of the limit's of
// the same run. A target of 0 is none.
type row struct {
	name            string
	batch           int
	fetch           bool
	speed, cpu, p99 float64 // of Kafka's
	limit, limitCPU float64 // of the limit's
}

// rows are those that one broker, one raw client and no group can do.
var rows = []row{
	{"produce, 16 KiB batches, acks=all", 16 << 10, false, 3, 0.35, 0, 0, 0},
	{"produce, 64 KiB batches, acks=all", 64 << 10, false, 1.8, 0.55, 0.5, 0, 0},
	{"produce, 1 MiB batches, acks=all", 1 << 20, false, 1.2, 0, 0, 0.8, 0},
	{"fetch catch-up, 8 MiB fetches, depth 4", 64 << 10, true, 1.1, 0, 0, 0.9, 1.1},
}

// The row of single records; its figures are others.
const trickleBytes = 1000

// trickleRates are tried from the first on until Kafka sustains one: a broker that is overloaded shows how long its queue
// is, and nothing else.
var trickleRates = []int{5000, 3000, 2000, 1000, 500, 200}

func compareCommand() *cobra.Command {
	var f roundFlags
	var jars string
	var warmMiB int64
	c := &cobra.Command{
		Use:   "compare",
		Short: "measure a real Kafka and this broker in turn",
		Long: `Start a real Kafka from the jars of a directory, and this broker, both in fresh directories, and measure the same
work on them in turn: one raw client, one connection, one partition. Kafka is warmed up first: cold, it is several times
slower. The limit is a third process, the least that any server could do with the same bytes: receive, checksum and write
what is produced, send what is fetched from its file by sendfile.`,
		Example: `  trialog bench compare --kafka-jars bin/kafka`,
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

// The sides of the comparison.
const (
	sideKafka = iota
	sideLimit
	sideOurs
	sides
)

// comparison is everything that is measured. Rows that the limit cannot do have no rounds of it.
type comparison struct {
	targets     [sides]*target
	rounds      int
	rate        int // of single records
	sustained   bool
	rows        [][sides][]result
	tail, perf  [sides][]result
	kafka, ours idle
	load        [2]string // of the machine, before and after
}

func compare(c *cobra.Command, f *roundFlags, jars string, warm int64) error {
	progress := cli.NewProgressOnTerminal()
	defer progress.End()
	m := comparison{rounds: f.rounds, rows: make([][sides][]result, len(rows))}
	m.load[0] = machineLoad()
	for side, start := range [sides]func() (*target, error){
		func() (*target, error) { return startKafka(f.dir, jars) },
		func() (*target, error) { return startRaw(f.dir) },
		func() (*target, error) { return startTrialog(f.dir, "trialog") },
	} {
		progress.Say("starting " + [sides]string{"Kafka", "the limit", "Trialog"}[side])
		t, err := start()
		if err != nil {
			return err
		}
		defer t.stop()
		m.targets[side] = t
	}
	m.kafka, m.ours = idleOf(m.targets[sideKafka]), idleOf(m.targets[sideOurs])
	if err := warmUp(c, m.targets[sideKafka], warm, shown(progress, "of Kafka's warm-up")); err != nil {
		return err
	}
	if err := m.chooseRate(c, progress); err != nil {
		return err
	}
	for round := range f.rounds {
		if err := m.round(c, f, round, jars, progress); err != nil {
			return err
		}
	}
	progress.End()
	m.load[1] = machineLoad()
	if f.json {
		m.printJSON(c.OutOrStdout())
	} else {
		m.print(c.OutOrStdout())
	}
	return nil
}

// chooseRate finds a rate of single records that Kafka sustains on this machine.
func (m *comparison) chooseRate(c *cobra.Command, progress *cli.Progress) error {
	for _, m.rate = range trickleRates {
		for try := 0; try < 2 && !m.sustained; try++ {
			what := fmt.Sprintf("does Kafka sustain %d single records a second?", m.rate)
			r, err := measureTail(c, m.targets[sideKafka], m.rate, 3*time.Second, shown(progress, what))
			if err != nil {
				return fmt.Errorf("%s %w", what, err)
			}
			m.sustained = sustains(&r)
		}
		if m.sustained {
			return nil
		}
	}
	return nil
}

// sustains reports that work at a rate was no queue that grows: nine tenths of the records came soon.
func sustains(r *result) bool { return r.quantile(0.9) < 20*time.Millisecond }

// round measures everything once. The sides take turns in being the first.
func (m *comparison) round(c *cobra.Command, f *roundFlags, round int, jars string, progress *cli.Progress) error {
	shown := func(what string, t *target) func(int64) {
		return shown(progress, fmt.Sprintf("round %d of %d: %s, %s", round+1, f.rounds, what, t.name))
	}
	for i := range rows {
		for turn := range sides {
			side := (turn + round) % sides
			t := m.targets[side]
			r, err := rows[i].measure(c, t, f.bound(), shown(rows[i].name, t))
			if err != nil {
				return fmt.Errorf("%s, %s: %w", rows[i].name, t.name, err)
			}
			m.rows[i][side] = append(m.rows[i][side], r)
		}
	}
	for turn := range sides {
		side := (turn + round) % sides
		if side == sideLimit {
			continue
		}
		t := m.targets[side]
		r, err := measureTail(c, t, m.rate, f.time, shown("single records", t))
		if err != nil {
			return fmt.Errorf("single records, %s: %w", t.name, err)
		}
		m.tail[side] = append(m.tail[side], r)
		progress.Say(fmt.Sprintf("round %d of %d: Kafka's perf producer, %s", round+1, f.rounds, t.name))
		if r, err = perf(c.Context(), t, jars); err != nil {
			return err
		}
		m.perf[side] = append(m.perf[side], r)
	}
	return nil
}

// warmUp lets a virtual machine compile what is about to be measured: most of the volume is produced, some is fetched.
func warmUp(c *cobra.Command, t *target, bytes int64, progress func(int64)) error {
	const piece = 1 << 30 // so much lies on the disk at one time
	for done := int64(0); done < bytes; done += piece {
		if _, err := measureTail(c, t, trickleRates[0], 2*time.Second, func(int64) { progress(done) }); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
		for _, r := range []row{rows[0], rows[1], rows[3]} {
			part := min(piece, bytes-done)
			if r.batch == rows[0].batch {
				part /= 8
			}
			if _, err := r.measure(c, t, bound{time: time.Minute, bytes: part}, func(n int64) { progress(done + n) }); err != nil {
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
			until.bytes *= 4 // no disk is in the way
			r, err = fillAndFetch(t, l, 8<<20, until, progress)
		} else {
			r, err = produce(t, l, until, progress)
		}
		return err
	})
	return r, err
}

func measureTail(c *cobra.Command, t *target, rate int, duration time.Duration, progress func(int64)) (r result, err error) {
	err = withTopic(c.Context(), t, one("compare-single"), func() error {
		w := paced{perSecond: rate, recordBytes: trickleBytes}
		r, err = w.tail(t, "compare-single", duration, progress)
		return err
	})
	return r, err
}
