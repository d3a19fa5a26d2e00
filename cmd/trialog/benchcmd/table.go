package benchcmd

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"trialog/cmd/trialog/cli"
)

// measure is the medians of rounds, each figure on its own.
type measure struct {
	mib, records   float64 // in a second
	broker, client float64 // processor seconds for each GiB; below 0: unknown
	cores          float64 // processor seconds of the broker in a second; below 0: unknown
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
		cores: of(func(r *result) float64 {
			if r.brokerCPU < 0 {
				return -1
			}
			return r.brokerCPU / r.elapsed.Seconds()
		}),
		p50: latency(0.5), p99: latency(0.99), p999: latency(0.999),
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

// machineLoad is what the system says of its load; others may be at work on the machine.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(text)); err == nil && len(words) > 2 {
		return strings.Join(words[:3], " ")
	}
	return "unknown"
}

func (m *comparison) printJSON(w io.Writer) {
	print := func(bench string, results *[sides][]result) {
		for side, t := range m.targets {
			if len(results[side]) > 0 {
				cli.PrintJSON(w, figuresOf(bench, t.name, median(results[side])))
			}
		}
	}
	for i := range rows {
		print(rows[i].name, &m.rows[i])
	}
	print(fmt.Sprintf("%d single records a second, end to end", m.rate), &m.tail)
	print("Kafka's perf producer", &m.perf)
}

// aim says whether a value is what was aimed at; 0 is no aim.
func aim(value, target float64, least bool, unit string) string {
	if target == 0 {
		return ""
	}
	sign, met := "<=", value <= target
	if least {
		sign, met = ">=", value >= target
	}
	word := "missed"
	if met {
		word = "met"
	}
	return fmt.Sprintf("%s %.4g%s %s", sign, target, unit, word)
}

// figure is one line of the table: the figures of the sides, below 0 where there is none, and what is aimed at.
type figure struct {
	name                 string
	format               string
	of                   [sides]float64
	least                bool    // more is better
	ofKafka, ofLimit, is float64 // targets: multiples, and a value by itself
}

func (f *figure) row() []string {
	cells := []string{"  " + f.name}
	for _, v := range f.of {
		if v < 0 {
			cells = append(cells, "")
		} else {
			cells = append(cells, fmt.Sprintf(f.format, v))
		}
	}
	ours := f.of[sideOurs]
	for _, to := range []struct{ other, target float64 }{{f.of[sideKafka], f.ofKafka}, {f.of[sideLimit], f.ofLimit}} {
		said, ratio := ratioText(ours, to.other), ours/to.other
		if said == "" || ours < 0 {
			cells = append(cells, "", "")
		} else {
			cells = append(cells, said, aim(ratio, to.target, f.least, "x"))
		}
	}
	if f.is > 0 {
		cells[len(cells)-3] = aim(ours, f.is, f.least, "")
	}
	return cells
}

func (m *comparison) print(w io.Writer) {
	t := newTable("", "Kafka", "limit", "Trialog", "of Kafka", "target", "of limit", "target")
	add := func(title string, figures ...figure) {
		t.row(title)
		for i := range figures {
			t.row(figures[i].row()...)
		}
	}
	for i, r := range rows {
		of := medians(&m.rows[i])
		add(r.name,
			figure{name: "throughput, MiB/s", format: "%.0f", of: each(of, func(m measure) float64 { return m.mib }), least: true, ofKafka: r.speed, ofLimit: r.limit},
			figure{name: "server CPU, s/GiB", format: "%.2f", of: each(of, func(m measure) float64 { return m.broker }), ofKafka: r.cpu, ofLimit: r.limitCPU},
			figure{name: "p50, ms", format: "%.2f", of: each(of, func(m measure) float64 { return ms(m.p50) })},
			figure{name: "p99, ms", format: "%.2f", of: each(of, func(m measure) float64 { return ms(m.p99) }), ofKafka: r.p99})
	}
	of := medians(&m.tail)
	add(fmt.Sprintf("%d records of 1 kB a second, one a request, acks=all, end to end", m.rate),
		figure{name: "p50, ms", format: "%.2f", of: each(of, func(m measure) float64 { return ms(m.p50) })},
		figure{name: "p99, ms", format: "%.2f", of: each(of, func(m measure) float64 { return ms(m.p99) }), ofKafka: 0.5},
		figure{name: "server CPU, cores", format: "%.3f", of: each(of, func(m measure) float64 { return m.cores }), ofKafka: 0.35})
	of = medians(&m.perf)
	add(fmt.Sprintf("Kafka's perf producer: %d-byte records, %d partitions, %d KiB batches", perfBytes, perfPartitions, perfBatch>>10),
		figure{name: "records/s", format: "%.0f", of: each(of, func(m measure) float64 { return m.records }), least: true, ofKafka: 1},
		figure{name: "server CPU, s/GiB", format: "%.2f", of: each(of, func(m measure) float64 { return m.broker }), ofKafka: 0.5})
	idles := func(value func(idle) float64) [sides]float64 {
		return [sides]float64{value(m.kafka), -1, value(m.ours)}
	}
	add("start and idle",
		figure{name: "start to first answer, s", format: "%.3f", of: idles(func(i idle) float64 { return i.ready.Seconds() }), is: 0.1},
		figure{name: "CPU until then, s", format: "%.2f", of: idles(func(i idle) float64 { return i.cpu })},
		figure{name: "resident, MiB", format: "%.0f", of: idles(func(i idle) float64 { return float64(i.kib) / 1024 }), is: 40},
		figure{name: "threads", format: "%.0f", of: idles(func(i idle) float64 { return float64(i.threads) })})
	t.print(w)
	m.explain(w)
}

func (m *comparison) explain(w io.Writer) {
	fmt.Fprintf(w, `
Medians of %d rounds in turn; one raw client, one connection, one partition, 1000-byte records. Limit: the least that any
server could do with the same bytes (receive, checksum, write; sendfile), through sockets that are set alike. The client
throws fetched records away in the kernel, from all three. Client and servers share %d processors; the load of the machine
(1, 5 and 15 minutes) was %s before and %s after.
`, m.rounds, runtime.NumCPU(), m.load[0], m.load[1])
	if !m.sustained {
		fmt.Fprintf(w, "Kafka sustained no rate of single records that was tried: its latencies there are those of an overload.\n")
	} else if m.rate != trickleRates[0] {
		fmt.Fprintf(w, "Kafka is overloaded by %d single records a second here: they are sent at the highest rate tried that it sustains.\n", trickleRates[0])
	}
}

// medians are those of all sides; nil where there are no rounds.
func medians(results *[sides][]result) (of [sides]*measure) {
	for side := range results {
		if len(results[side]) > 0 {
			m := median(results[side])
			of[side] = &m
		}
	}
	return of
}

// each is one value of every side, below 0 where there is none.
func each(of [sides]*measure, value func(measure) float64) (values [sides]float64) {
	for side, m := range of {
		if values[side] = -1; m != nil {
			values[side] = value(*m)
		}
	}
	return values
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
