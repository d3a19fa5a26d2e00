// Package experiment reads experiment files: one question, the cluster and workload that it is put to, the cells it is
// tried in, what is expected there, and the broken variants that the judges must convict.
//
// It owns the format of experiment.txtar (see [Parse]) and where plans of cells come from. It never runs anything.
package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trialog/checker/oracle"
)

// Experiment is one experiment file.
type Experiment struct {
	Name     string // of the directory: 001-acked-records-survive-a-crash
	File     string // as given, for messages
	Question string
	Answer   string
	Text     []byte // of the file
	Digest   string // SHA-256 of the text, in hexadecimal

	Broker Properties    // server.properties of every broker
	Work   time.Duration // clients begin nothing new after this time
	Limit  time.Duration // the run is over then, drained or not
	Flags  []string      // of every client, before its own
	// RequestTimeout and DeliveryTimeout are those of every client.
	RequestTimeout, DeliveryTimeout time.Duration
	Clients                         []Client
	Cells                           []Cell
	Mutants                         []Mutant
}

// allClients stands for every client of the workload.
const allClients = "all"

// ClientFlags are flags that a cell adds for one client, or for all.
type ClientFlags struct {
	Client string
	Flags  []string
	Line   int
}

// FlagsOf are the flags that the cell adds for a client.
func (c *Cell) FlagsOf(client string) (flags []string) {
	for _, f := range c.Flags {
		if f.Client == client || f.Client == allClients {
			flags = append(flags, f.Flags...)
		}
	}
	return flags
}

// Client is one client process of the workload.
type Client struct {
	Name  string
	Role  string
	Start time.Duration // after the start of the run
	Flags []string      // for `trialog client`, beside those that the court adds
}

// Guarantees are Kafka's four: order within a partition; committed means on every in-sync replica; what is committed is
// durable while one of them lives; only what is committed is visible.
var Guarantees = []string{"order", "committed", "durable", "visible"}

// Cell is one condition of an experiment, with what is expected there.
type Cell struct {
	Name       string
	Plan       PlanSource
	PlanReal   PlanSource      // in the real world, where it cannot express Plan; Line 0 if there is none
	Properties Properties      // over those of the experiment
	Flags      []ClientFlags   // beside those of the workload
	Seeds      int             // how many seeds a trial gives it
	Claims     []string        // of Guarantees
	Judge      oracle.Promises // what the judges hold it to, or forgive
	Expect     Expectation
	Line       int
}

// PlanSource says where the plan of a cell comes from: written down, or generated for each seed.
type PlanSource struct {
	Literal  string   // the text of the plan; empty if generated
	Generate []string // the generator's words, as key=value
	Line     int      // of the plan's first line, for messages
}

// Mutant is a safety rule switched off, with the cells that should bring it to light.
type Mutant struct {
	Rule   string // room.rule
	Cells  []string
	Expect Expectation
	Line   int
}

// Property is one line of a properties file.
type Property struct{ Key, Value string }

// Properties are the lines of a properties file, in their order; a key occurs once.
type Properties []Property

// With gives the properties with others laid over them: known keys take the new value, new keys follow at the end.
func (p Properties) With(over ...Property) Properties {
	out := slices.Clone(p)
	for _, o := range over {
		if i := slices.IndexFunc(out, func(have Property) bool { return have.Key == o.Key }); i >= 0 {
			out[i].Value = o.Value
		} else {
			out = append(out, o)
		}
	}
	return out
}

// String is the text of the file.
func (p Properties) String() string {
	var b strings.Builder
	for _, line := range p {
		fmt.Fprintf(&b, "%s=%s\n", line.Key, line.Value)
	}
	return b.String()
}

// Cell finds a cell by name; an unknown name is an error that lists the known ones.
func (e *Experiment) Cell(name string) (*Cell, error) {
	var names []string
	for i := range e.Cells {
		if e.Cells[i].Name == name {
			return &e.Cells[i], nil
		}
		names = append(names, e.Cells[i].Name)
	}
	return nil, fmt.Errorf("experiment: %s has no cell %q; its cells are %s", e.Name, name, strings.Join(names, ", "))
}

// FileName of an experiment inside its directory.
const FileName = "experiment.txtar"

// Load reads an experiment. name is its directory, its file, or the name (or an unambiguous beginning of the name, such
// as 001) of a directory inside root.
func Load(root, name string) (*Experiment, error) {
	file, err := locate(root, name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("experiment: experiment %s: %w", name, err)
	}
	e, err := Parse(file, text)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("experiment: experiment %s: %w", name, err)
	}
	e.Name = filepath.Base(dir)
	return e, nil
}

func locate(root, name string) (string, error) {
	for _, at := range []string{name, filepath.Join(root, name)} {
		switch info, err := os.Stat(at); {
		case err != nil:
		case !info.IsDir():
			return at, nil
		default:
			return filepath.Join(at, FileName), nil
		}
	}
	found, _ := filepath.Glob(filepath.Join(root, name+"*", FileName))
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("experiment: no experiment %q: it is no file or directory, and %s has none of that name", name, root)
	}
	return "", fmt.Errorf("experiment: experiment %q is ambiguous: %s", name, strings.Join(found, ", "))
}

// LoadAll reads every experiment in root, in the order of their names.
func LoadAll(root string) ([]*Experiment, error) {
	files, err := filepath.Glob(filepath.Join(root, "*", FileName))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("experiment: no experiments in %s", root)
	}
	slices.Sort(files)
	var all []*Experiment
	for _, file := range files {
		e, err := Load(root, file)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
