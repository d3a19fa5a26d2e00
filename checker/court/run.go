package court

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"trialog/checker/court/experiment"
	"trialog/checker/history"
	"trialog/checker/oracle"
	"trialog/checker/workload"
	"trialog/core/event"
	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
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
//	output.jsonl        the same, line by line, with the time of each
//	report.html         all of this for people, see checker/report
type Run struct {
	ID string `json:"id"`
	Identity
	Result      Result    `json:"result"`
	TraceHash   string    `json:"trace_hash,omitempty"` // sim only
	VirtualNs   int64     `json:"virtual_ns,omitempty"` // sim only
	Calls       int64     `json:"calls,omitempty"`      // sim only: system calls of all processes
	GuestSHA256 string    `json:"guest_sha256,omitempty"`
	Operations  int       `json:"operations"`
	NotFired    []string  `json:"not_fired,omitempty"` // steps of the plan that never struck
	Replay      string    `json:"replay"`              // the line that does the run again
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
	Said       []Said            `json:"-"` // the lines of Outputs, with their times, in order of time; empty in old runs
	Doubts     []string          `json:"-"` // why the run may decide nothing; the verdict takes them over
}

// Process is how one incarnation of a process ended.
type Process struct {
	Name string `json:"name"`
	End  string `json:"end"` // exit, kill, power cut, crash, end: see netsim/kernel
	Code int    `json:"code"`
	Time int64  `json:"time"` // ns since the start of the run
}

// Fault is one thing that was done to a process, a disk or a link.
type Fault struct {
	Time int64  `json:"time"` // ns since the start of the run
	Proc string `json:"proc"`
	Text string `json:"text"`
}

// newRun begins the record of a run. command is how the line that replays it begins.
func newRun(c *Case, id Identity, command string) *Run {
	where := id.World
	if id.Engine != "" {
		where += " --engine " + id.Engine
	}
	line := fmt.Sprintf("%s run %s --world %s --cell %s --seed %d", command, c.Experiment.File, where, c.Cell.Name, c.Seed)
	if len(id.RulesOff) > 0 {
		line += " --mutant " + strings.Join(id.RulesOff, ",")
	}
	return &Run{
		ID: id.ID(), Identity: id, Replay: line, Properties: c.Properties().String(), Source: c.Experiment.Text,
		Outputs: map[string][]byte{},
	}
}

// inexpressible ends a run that the world cannot make.
func (r *Run) inexpressible(steps []string) *Run {
	r.Verdict = &Verdict{Verdict: oracle.Verdict{Result: Unknown, Reasons: []string{notExpressible + ": " + steps[0]}}}
	r.Result = Unknown
	return r
}

// finish orders what the clients saw, hears the judges, and adds what only the world knows: how the processes ended and
// whether the plan did anything.
func (r *Run) finish(c *Case, ops []history.Op) (*Run, error) {
	ops = history.Merge(ops)
	r.Operations = countInvocations(ops)
	var b bytes.Buffer
	if err := history.WriteAll(&b, ops); err != nil {
		return nil, err
	}
	r.History = b.Bytes()
	if err := history.Check(ops); err != nil {
		return nil, fmt.Errorf("court: what the clients wrote is no history: %w", err)
	}
	events, err := event.ReadAll("events.jsonl", bytes.NewReader(r.Events))
	if err != nil {
		return nil, err
	}
	in := oracle.Input{History: ops, Events: events, Promises: c.Cell.Judge, TrueTime: r.World == simWorld}
	in.Promises.DocumentedLoss = c.Cell.Expect.Result == Documented
	if c.EveryJudge {
		in.Linear = oracle.LinearAlways
	}
	hurt := false
	for _, f := range r.Faults {
		of := oracle.ParseFault(f.Time, f.Proc, f.Text)
		in.Faults = append(in.Faults, of)
		hurt = hurt || !slices.Contains(harmless, nemesis.Verb(of.Verb))
	}
	if len(r.NotFired) > 0 && !hurt {
		r.Doubts = append(r.Doubts, "fault never fired: "+r.NotFired[0])
	}
	r.Verdict = &Verdict{Verdict: *oracle.Judge(in)}
	r.Verdict.Panics = r.panics()
	r.Verdict.doubt(slices.Concat(r.Doubts, r.deaths(), r.silent(c, ops))...)
	r.Result = r.Verdict.Result
	return r, nil
}

var harmless = []nemesis.Verb{nemesis.Start, nemesis.Resume, nemesis.Heal}

func countInvocations(ops []history.Op) int {
	n := 0
	for i := range ops {
		if ops[i].Type == history.Invoke {
			n++
		}
	}
	return n
}

// exited is the End of a process that ended by itself.
const exited = kernel.ReasonExit

// silent lists who left nothing to judge: a broker without events, because then what only they can show was not looked
// at, and each client that got nothing done of what its role is for.
func (r *Run) silent(c *Case, ops []history.Op) []string {
	var list []string
	if len(r.Events) == 0 {
		list = append(list, "the broker wrote no event")
	}
	did := map[string]bool{} // by client and operation
	for i := range ops {
		op := &ops[i]
		if op.Type == history.OK || op.Type == history.Invoke && op.F == history.Produce && op.Acks == 0 {
			did[op.Proc+" "+string(op.F)] = true
		}
	}
	purpose := map[string]history.F{workload.Producer: history.Produce, workload.Reader: history.Fetch, workload.Admin: history.Metadata}
	for i := range c.Experiment.Clients {
		client := &c.Experiment.Clients[i]
		if f := purpose[client.Role]; !did[client.Name+" "+string(f)] {
			list = append(list, fmt.Sprintf("%s got nothing done: it is a %s, and no %s of it succeeded", client.Name, client.Role, f))
		}
	}
	return list
}

// deaths lists the processes that crashed, or ended by themselves with an exit code that says they failed. A broker whose
// last log directory has failed has to end, as Kafka's does: that is no surprise on a disk that was made to fail.
func (r *Run) deaths() []string {
	var list []string
	for _, p := range r.Processes {
		last := lastLine(r.Outputs[p.Name+".stderr"])
		switch {
		case p.End == kernel.ReasonCrash:
			list = append(list, fmt.Sprintf("%s crashed: %s", p.Name, last))
		case p.End == exited && p.Code == 1 && r.diskFailed(p):
		case p.End == exited && p.Code != 0:
			list = append(list, fmt.Sprintf("%s ended by itself with code %d: %s", p.Name, p.Code, last))
		}
	}
	return list
}

// diskFailed reports that the disk of a process had a fault before it ended.
func (r *Run) diskFailed(p Process) bool {
	return slices.ContainsFunc(r.Faults, func(f Fault) bool {
		return f.Proc == p.Name && f.Time <= p.Time && strings.Contains(" "+f.Text, " "+string(nemesis.Disk)+" ") &&
			!strings.HasSuffix(f.Text, " "+nemesis.HealDisk)
	})
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// panics finds the Go panics and fatal errors in what processes wrote to stderr, in the order of their names.
func (r *Run) panics() []string {
	var list []string
	for _, name := range r.OutputNames() {
		proc, isStderr := strings.CutSuffix(name, ".stderr")
		if !isStderr {
			continue
		}
		for line := range bytes.Lines(r.Outputs[name]) {
			if bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) {
				list = append(list, proc+": "+string(bytes.TrimSpace(line)))
			}
		}
	}
	return list
}

// Case gives what is needed to do a stored run again.
func (r *Run) Case() (*Case, error) {
	e, err := experiment.Parse(filepath.Join(r.Dir, "experiment.txtar"), r.Source)
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
