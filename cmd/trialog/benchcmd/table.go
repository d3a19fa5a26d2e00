package benchcmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// measure is the medians of rounds, each figure on its own.
type measure struct {
	mib, records   float64 // in a second
	broker, client float64 // processor seconds for each GiB; below 0: unknown
	p50, p99, p999 time.Duration
}

// median needs one round at least.
func median(rounds []result) measure {
	of := func(value func(r *result) float64) float64 {
		var all []float64
		for i := range rounds {
			all = append(all, value(&rounds[i]))
		}
		slices.Sort(all)
		if n := len(all); n%2 == 0 {
			return (all[n/2-1] + all[n/2]) / 2
		}
		return all[len(all)/2]
	}
	latency := func(q float64) time.Duration {
		return time.Duration(of(func(r *result) float64 { return float64(r.quantile(q)) }))
	}
	return measure{
		mib:     of((*result).mibPerSec),
		records: of(func(r *result) float64 { return float64(r.records) / r.elapsed.Seconds() }),
		broker:  of(func(r *result) float64 { return r.perGiB(r.brokerCPU) }),
		client:  of(func(r *result) float64 { return r.perGiB(r.clientCPU) }),
		p50:     latency(0.5), p99: latency(0.99), p999: latency(0.999),
	}
}

// figures is a measure for programs. Nil is unknown.
type figures struct {
	Bench           string   `json:"bench"`
	Variant         string   `json:"variant"`
	MiBPerSec       float64  `json:"mib_per_sec"`
	RecordsPerSec   float64  `json:"records_per_sec,omitempty"`
	BrokerSecPerGiB *float64 `json:"broker_cpu_sec_per_gib"`
	ClientSecPerGiB *float64 `json:"client_cpu_sec_per_gib"`
	P50Ms           float64  `json:"p50_ms"`
	P99Ms           float64  `json:"p99_ms"`
	P999Ms          float64  `json:"p999_ms"`
}

func figuresOf(bench, variant string, m measure) figures {
	known := func(v float64) *float64 {
		if v < 0 {
			return nil
		}
		return &v
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return figures{bench, variant, m.mib, m.records, known(m.broker), known(m.client), ms(m.p50), ms(m.p99), ms(m.p999)}
}

func cpuText(v float64) string {
	if v < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", v)
}

// latencyText is "" for work without requests.
func latencyText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// ratioText is a over b; "" if either is unknown.
func ratioText(a, b float64) string {
	if a < 0 || b <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2fx", a/b)
}

// table is aligned text: the first column to the left, the others to the right.
type table struct{ rows [][]string }

func newTable(head ...string) *table { return &table{rows: [][]string{head}} }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// gap is an empty line.
func (t *table) gap() { t.rows = append(t.rows, nil) }

func (t *table) print(w io.Writer) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				line.WriteString(cell + pad)
			default:
				line.WriteString("  " + pad + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
