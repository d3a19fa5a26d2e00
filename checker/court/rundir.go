package court

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// WriteDir stores the run in dir, which is made; what an earlier run left there is overwritten.
func (r *Run) WriteDir(dir string) error {
	files := map[string][]byte{
		"experiment.txtar": r.Source, "server.properties": []byte(r.Properties), "plan.txt": []byte(r.Plan),
		"history.jsonl": r.History, "events.jsonl": r.Events, "faults.jsonl": jsonLines(r.Faults), "output.jsonl": jsonLines(r.Said),
	}
	for name, text := range r.Outputs {
		files[filepath.Join("out", name)] = text
	}
	if err := os.MkdirAll(filepath.Join(dir, "out"), 0o755); err != nil {
		return fmt.Errorf("court: run directory: %w", err)
	}
	r.Dir = dir
	files["run.json"] = pretty(r)
	files["verdict.json"] = pretty(r.Verdict)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("court: run directory: %w", err)
		}
	}
	return r.WriteReport()
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
	if said, err := os.ReadFile(filepath.Join(dir, "output.jsonl")); err == nil { // runs of old have none
		for line := range bytes.Lines(said) {
			var s Said
			d.decode("output.jsonl", line, &s)
			r.Said = append(r.Said, s)
		}
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

// Stored is a run directory in short.
type Stored struct {
	Run
	Written time.Time
}

// Brief is what the verdict rests on in a word or two: the class of a conviction, the reason of doubt; empty if there is
// nothing to say, or if the verdict cannot be read.
func (s *Stored) Brief() string {
	d := &dirReader{dir: s.Dir}
	v := &Verdict{}
	d.decode("verdict.json", d.text("verdict.json"), v)
	switch {
	case d.err != nil:
		return ""
	case v.Class != "":
		return v.Class
	case len(v.Reasons) > 0:
		return v.Reasons[0]
	}
	return ""
}

// ReadSummary reads run.json alone.
func ReadSummary(dir string) (Stored, error) {
	var s Stored
	file := filepath.Join(dir, "run.json")
	d := &dirReader{dir: dir}
	d.decode("run.json", d.text("run.json"), &s.Run)
	if d.err != nil {
		return s, d.err
	}
	info, err := os.Stat(file)
	if err != nil {
		return s, fmt.Errorf("court: %w", err)
	}
	s.Dir, s.Written = dir, info.ModTime()
	return s, nil
}

func pretty(v any) []byte { return encode(v, "  ") }

func compact(v any) []byte { return encode(v, "") }

// encode gives JSON with a newline at the end. What does not encode is a bug.
func encode(v any, indent string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("court: encode %T: %v", v, err))
	}
	return b.Bytes()
}

func jsonLines[T any](list []T) []byte {
	var all []byte
	for _, v := range list {
		all = append(all, compact(v)...)
	}
	return all
}
