package report

import (
	"trialog/checker/history"
	"trialog/checker/oracle"
	"trialog/core/event"
)

// Input is a run as its directory holds it. Times are ns since the start of the run.
type Input struct {
	Experiment, Question string
	Cell, World, Engine  string
	Seed                 uint64
	Expect               string // verdict that the cell expects of the sound program
	Compacted            bool   // the topic is compacted: of each key the newest record stays
	RulesOff             []Rule // safety rules that were off; none: the sound program
	Identity             []Fact // what decides the run, row by row
	Verdict              *oracle.Verdict
	Panics               []string // processes of the program that panicked

	History []history.Op    // merged
	Events  []event.Event   // with Time and Proc
	Faults  []oracle.Fault  // in order of time
	Ends    []End           // how each life of each process ended
	Output  []Line          // what processes wrote to stdout and stderr, in order
	Clients map[string]Role // by process; may be empty

	NotFired   []string // steps of the plan that never struck
	Plan       string
	Properties string // of the broker
	Replay     string // the line that does the run again
}

// Rule is a safety rule that was switched off.
type Rule struct{ Name, Doc, Source string }

// Role is what a client process was for: producer, reader, admin.
type Role = string

// Fact is a row of the identity table.
type Fact struct{ Name, Value string }

// End is the end of one life of a process.
type End struct {
	Proc string
	How  string // exit, kill, power cut, crash, end
	Code int
	Time int64
}

// Line is one line that a process wrote.
type Line struct {
	Time   int64 // NoTime: nobody knows
	Proc   string
	Stream string // stdout or stderr
	Text   string
}

// NoTime is the Time of a line that nobody stamped.
const NoTime int64 = -1

// Bounds of a report. Beyond them the page leaves out what says least, and says so.
const (
	OperationsMax = 20_000   // operations: witnesses and those that did not succeed stay, of the others the first
	RecordsMax    = 40_000   // records: of those that were acknowledged and read the first, of each partition an equal share
	OutputMax     = 4_000    // lines of output: half from the beginning of the run, half from its end
	lineMax       = 2_000    // bytes of one line of output
	valueMax      = 200      // bytes of the value of a record
	storiesMax    = 40       // anomalies told
	textMax       = 64 << 10 // bytes of plan and properties
)

// crashed reports an end that the process did not choose.
func (e *End) crashed() bool { return e.How != "exit" && e.How != "end" }
