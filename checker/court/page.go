package court

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trialog/checker/history"
	"trialog/checker/oracle"
	"trialog/checker/report"
	"trialog/core/broker"
	"trialog/core/event"
	"trialog/netsim/kernel"
)

// ReportFile is the name of a run's report in its directory.
const ReportFile = "report.html"

// Said is one line that a process wrote to stdout or stderr.
type Said struct {
	Time   int64  `json:"time"` // ns since the start of the run
	Proc   string `json:"proc"`
	Stream string `json:"stream"`
	Text   string `json:"text"`
}

// WriteReport makes the run's report anew in its directory, from what the run holds.
func (r *Run) WriteReport() error {
	text, err := r.Report()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.Dir, ReportFile), text, 0o644); err != nil {
		return fmt.Errorf("court: report: %w", err)
	}
	return nil
}

// Report is the run as one HTML file, see checker/report.
func (r *Run) Report() ([]byte, error) {
	in, err := r.reportInput()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := report.Write(&b, in); err != nil {
		return nil, fmt.Errorf("court: %w", err)
	}
	return b.Bytes(), nil
}

// reportInput is what the report is made from.
func (r *Run) reportInput() (*report.Input, error) {
	ops, err := history.Read(bytes.NewReader(r.History))
	if err != nil {
		return nil, fmt.Errorf("court: %s: %w", filepath.Join(r.Dir, "history.jsonl"), err)
	}
	events, err := event.ReadAll(filepath.Join(r.Dir, "events.jsonl"), bytes.NewReader(r.Events))
	if err != nil {
		return nil, fmt.Errorf("court: %w", err)
	}
	in := &report.Input{
		Experiment: r.Experiment, Cell: r.Cell, World: r.World, Engine: r.Engine, Seed: r.Seed,
		RulesOff: ruleDocs(r.RulesOff), Identity: r.facts(), Verdict: &r.Verdict.Verdict, Panics: r.Verdict.Panics,
		History: ops, Events: events, Output: r.said(), Clients: map[string]string{},
		NotFired: r.NotFired, Plan: r.Plan, Properties: r.Properties, Replay: r.Replay,
	}
	for _, f := range r.Faults {
		in.Faults = append(in.Faults, oracle.ParseFault(f.Time, f.Proc, f.Text))
	}
	for _, p := range r.Processes {
		in.Ends = append(in.Ends, report.End{Proc: p.Name, How: p.End, Code: p.Code, Time: p.Time})
	}
	if c, err := r.Case(); err == nil { // the experiment explains the run; it is judged already
		in.Question, in.Expect = c.Experiment.Question, c.Cell.Expect.String()
		in.Compacted = c.Cell.Judge.Compacted
		for _, client := range c.Experiment.Clients {
			in.Clients[client.Name] = client.Role
		}
	}
	return in, nil
}

// facts are the rows of the identity table.
func (r *Run) facts() []report.Fact {
	all := []report.Fact{
		{Name: "run", Value: r.ID}, {Name: "experiment", Value: r.Experiment}, {Name: "experiment, SHA-256", Value: r.Digest},
		{Name: "cell", Value: r.Cell}, {Name: "world", Value: r.World}, {Name: "engine", Value: r.Engine},
		{Name: "seed", Value: fmt.Sprint(r.Seed)}, {Name: "rules off", Value: cmp.Or(strings.Join(r.RulesOff, ", "), "none")},
		{Name: "source of the program", Value: r.Guest}, {Name: "guest, SHA-256", Value: r.GuestSHA256},
		{Name: "trace version", Value: fmt.Sprint(r.TraceVersion)}, {Name: "trace hash", Value: r.TraceHash}, {Name: "started", Value: r.Started},
	}
	if r.VirtualNs > 0 {
		all = append(all, report.Fact{Name: "virtual time", Value: time.Duration(r.VirtualNs).String()})
	}
	if r.Calls > 0 {
		all = append(all, report.Fact{Name: "system calls", Value: fmt.Sprint(r.Calls)})
	}
	return slices.DeleteFunc(all, func(f report.Fact) bool { return f.Value == "" })
}

// ruleDocs explains rules; one that this program does not know any more has its name alone.
func ruleDocs(names []string) []report.Rule {
	docs := broker.RuleDocs()
	var out []report.Rule
	for _, name := range names {
		rule := report.Rule{Name: name, Doc: "this program knows no such rule"}
		for _, d := range docs {
			if d.FullName() == name {
				rule.Doc, rule.Source = d.Doc, d.Source
			}
		}
		out = append(out, rule)
	}
	return out
}

// said is the output of all processes. Runs that were stored without the times of lines have those that the lines
// themselves begin with.
func (r *Run) said() []report.Line {
	var out []report.Line
	for _, s := range r.Said {
		out = append(out, report.Line(s))
	}
	if len(out) > 0 {
		return out
	}
	start := time.Unix(0, kernel.Epoch)
	if t, err := time.Parse(time.RFC3339Nano, r.Started); err == nil {
		start = t
	}
	for _, name := range r.OutputNames() {
		proc, stream, _ := strings.Cut(name, ".")
		for line := range bytes.Lines(r.Outputs[name]) {
			text := strings.TrimRight(string(line), "\n")
			out = append(out, report.Line{Time: stampOf(text, start), Proc: proc, Stream: stream, Text: text})
		}
	}
	return out
}

// stampOf reads the time that a log line begins with, as ns since the start.
func stampOf(text string, start time.Time) int64 {
	stamp, ok := strings.CutPrefix(text, "time=")
	stamp, _, _ = strings.Cut(stamp, " ")
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if !ok || err != nil || t.Before(start) {
		return report.NoTime
	}
	return t.Sub(start).Nanoseconds()
}
