package court

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Run is what one run was and gave. Its directory holds
//
//	run.json            the identity, the trace hash, the line that replays it, how each process ended
//	verdict.json        the verdict, with the witnesses of each finding
//	experiment.txtar    the experiment, so that a run can be replayed without its source tree
//	server.properties   of the broker
//	plan.txt            the fault plan, expanded
//	history.jsonl       what the clients saw, see checker/history
//	events.jsonl        what the broker did, see core/event
//	faults.jsonl        what was done to the processes
//	out/PROC.STREAM     stdout and stderr of every process
type Run struct {
	ID string `json:"id"`
	Identity
	Result      Result    `json:"result"`
	TraceHash   string    `json:"trace_hash,omitempty"` // sim only
	VirtualNs   int64     `json:"virtual_ns,omitempty"` // sim only
	Calls       int64     `json:"calls,omitempty"`      // sim only: system calls of all processes
	GuestSHA256 string    `json:"guest_sha256,omitempty"`
	Operations  int       `json:"operations"`
	Replay      string    `json:"replay"` // the line that does the run again
	Dir         string    `json:"dir,omitempty"`
	Processes   []Process `json:"processes"`

	Verdict    *Verdict          `json:"-"`
	Properties string            `json:"-"`
	Plan       string            `json:"-"`
	Source     []byte            `json:"-"` // text of the experiment
	History    []byte            `json:"-"` // JSON lines
	Events     []byte            `json:"-"` // JSON lines
	Faults     []Fault           `json:"-"`
	Outputs    map[string][]byte `json:"-"` // by PROC.STREAM
}

// Process is how one incarnation of a process ended.
type Process struct {
	Name string `json:"name"`
	End  string `json:"end"` // exit, kill, power cut, stop, end
	Code int    `json:"code"`
	Time int64  `json:"time"` // ns since the start of the run
}

// Fault is one thing that was done to a process, a disk or a link.
type Fault struct {
	Time int64  `json:"time"` // ns since the start of the run
	Proc string `json:"proc"`
	Text string `json:"text"`
}

// WriteDir stores the run in dir, which is made; what an earlier run left there is overwritten.
func (r *Run) WriteDir(dir string) error {
	files := map[string][]byte{
		"experiment.txtar": r.Source, "server.properties": []byte(r.Properties), "plan.txt": []byte(r.Plan),
		"history.jsonl": r.History, "events.jsonl": r.Events, "faults.jsonl": jsonLines(r.Faults),
	}
	for name, text := range r.Outputs {
		files[filepath.Join("out", name)] = text
	}
	r.Dir = dir
	files["run.json"] = pretty(r)
	files["verdict.json"] = pretty(r.Verdict)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("court: run directory: %w", err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("court: run directory: %w", err)
		}
	}
	return nil
}

// dirReader reads the files of a run directory and keeps the first error.
type dirReader struct {
	dir string
	err error
}

func (d *dirReader) text(name string) []byte {
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("court: %s is no run directory: %w", d.dir, err)
	}
	return text
}

func (d *dirReader) decode(name string, text []byte, into any) {
	if d.err != nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		d.err = fmt.Errorf("court: %s: %w", filepath.Join(d.dir, name), err)
	}
}

// ReadDir loads a run that WriteDir stored.
func ReadDir(dir string) (*Run, error) {
	d := &dirReader{dir: dir}
	r := &Run{Verdict: &Verdict{}, Outputs: map[string][]byte{}}
	d.decode("run.json", d.text("run.json"), r)
	d.decode("verdict.json", d.text("verdict.json"), r.Verdict)
	r.Source, r.Properties, r.Plan = d.text("experiment.txtar"), string(d.text("server.properties")), string(d.text("plan.txt"))
	r.History, r.Events = d.text("history.jsonl"), d.text("events.jsonl")
	for line := range bytes.Lines(d.text("faults.jsonl")) {
		var f Fault
		d.decode("faults.jsonl", line, &f)
		r.Faults = append(r.Faults, f)
	}
	out, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("court: %s is no run directory: %w", dir, err)
	}
	for _, f := range out {
		r.Outputs[f.Name()] = d.text(filepath.Join("out", f.Name()))
	}
	r.Dir = dir
	return r, d.err
}

// Case gives what is needed to do a stored run again.
func (r *Run) Case() (*Case, error) {
	e, err := Parse(filepath.Join(r.Dir, "experiment.txtar"), r.Source)
	if err != nil {
		return nil, err
	}
	e.Name = r.Experiment
	cell, err := e.Cell(r.Cell)
	if err != nil {
		return nil, err
	}
	return &Case{Experiment: e, Cell: cell, RulesOff: r.RulesOff, Seed: r.Seed}, nil
}

// OutputNames lists the captured outputs in order.
func (r *Run) OutputNames() []string {
	var names []string
	for name := range r.Outputs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func pretty(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("court: encode %T: %v", v, err))
	}
	return b.Bytes()
}

func jsonLines[T any](list []T) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			panic(fmt.Sprintf("court: encode %T: %v", v, err))
		}
	}
	return b.Bytes()
}
