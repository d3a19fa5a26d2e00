package storage

import (
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"trialog/cmd/trialog/cli"
)

// line is one figure, for programs.
type line struct {
	What    string  `json:"what"`
	MiB     float64 `json:"mib"`
	Kafka   float64 `json:"kafka_s"`
	Trialog float64 `json:"trialog_s"`
	Kept    *kept   `json:"kept,omitempty"`
}

// kept is what compaction left, in bytes of .log files.
type kept struct {
	Kafka   int64 `json:"kafka"`
	Trialog int64 `json:"trialog"`
}

func median(all []figures, i int) time.Duration {
	var one []time.Duration
	for _, f := range all {
		one = append(one, f[i])
	}
	slices.Sort(one)
	return one[len(one)/2]
}

func (f *flags) print(w io.Writer, results [2][]figures, after [2]int64, made *logs) error {
	info, err := os.Stat(made.segment)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if !f.json {
		fmt.Fprintln(t, "\tMiB\tKafka\tTrialog\tratio")
	}
	for i, what := range names {
		l := line{What: what, MiB: float64(made.bytes) / (1 << 20), Kafka: median(results[0], i).Seconds(), Trialog: median(results[1], i).Seconds()}
		switch i {
		case unclean, clean:
			l.MiB *= 2 // both topics
		case dumpRecords, dumpBatches:
			l.MiB = float64(info.Size()) / (1 << 20)
		case compaction:
			l.Kept = &kept{after[0], after[1]}
		}
		if f.json {
			if err := cli.PrintJSON(w, l); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(t, "%s\t%.0f\t%.2f s\t%.2f s\t%.2fx\n", what, l.MiB, l.Kafka, l.Trialog, l.Trialog/l.Kafka)
	}
	if !f.json {
		fmt.Fprintf(t, "left by the compaction, MiB\t\t%.1f\t%.1f\t\n", float64(after[0])/(1<<20), float64(after[1])/(1<<20))
	}
	return t.Flush()
}
