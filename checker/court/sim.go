package court

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"trialog/checker/court/experiment"
	"trialog/checker/history"
	"trialog/core/event"
	"trialog/netsim/engine"
	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
	"trialog/netsim/world"
)

// Names of the worlds.
const (
	simWorld  = "sim"
	realWorld = "real"
)

// Streams of a process beside stdout and stderr, and the environment variables that name their descriptors.
const (
	historySink, historyEnv = "history", "TRIALOG_HISTORY_FD"
	eventsSink, eventsEnv   = "events", "TRIALOG_EVENTS_FD"
)

// SimOptions say what a simulated operating system runs.
type SimOptions struct {
	Engine  string // of the guests: engine.Native, engine.Wasm, or engine.Auto for the best that can be had
	Guest   string // the guest's file; empty: the one beside Program that is for the engine
	Program string // file of the program that the guest is a twin of
	Source  string // source hash that the guest must have been built from; empty accepts any
	Command string // how a line that replays a run begins: bin/trialog
}

// Sim is the simulated operating system. One case is one execution, bit for bit.
type Sim struct {
	Record   io.Writer // when set, receives the trace of every run as text
	Parallel int       // runs at the same time; 0: one for each core
	// Watch, when set, is shown each life of a broker, see world.ProcSpec.
	Watch func(*kernel.Proc)

	opt     SimOptions
	chosen  engine.Choice
	file    string
	engine  *engine.Engine
	program world.Program
	source  string
	digest  string
}

// gcPercent is GOGC of a program that simulates, unless the environment sets one: what a run leaves behind is garbage at
// once, and collecting it less often is a tenth of a run's cost. The target for memory has room for it.
const gcPercent = 400

// NewSim prepares a guest and the engine that runs it. It makes this program's garbage collector lazier.
func NewSim(ctx context.Context, opt SimOptions) (*Sim, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s := &Sim{opt: opt, file: opt.Guest}
	var err error
	if opt.Guest != "" {
		s.chosen, err = engine.For(opt.Engine, opt.Guest)
	} else {
		s.chosen, s.file, err = engine.Beside(opt.Engine, opt.Program)
	}
	if err != nil {
		return nil, fmt.Errorf("court: %w", err)
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, fmt.Errorf("court: guest: %w (make build makes it; --guest FILE names another)", err)
	}
	sum := sha256.Sum256(text)
	s.source, s.digest = SourceOf(text), hex.EncodeToString(sum[:])
	if opt.Source != "" && s.source != opt.Source {
		return nil, fmt.Errorf("court: guest %s was built from source %s, this program from %s: run make build",
			s.file, short(s.source), short(opt.Source))
	}
	if s.engine, err = engine.Open(ctx, s.chosen.Name); err != nil {
		return nil, fmt.Errorf("court: engine %s: %w", s.chosen.Name, err)
	}
	if s.program, err = s.engine.Load(ctx, s.file); err != nil {
		s.engine.Close(ctx)
		return nil, fmt.Errorf("court: guest: %w", err)
	}
	return s, nil
}

// short is a hash as people read it.
func short(hash string) string {
	if hash == "" {
		return "unknown"
	}
	return hash[:min(12, len(hash))]
}

// Close releases the guest; no run may be going on.
func (s *Sim) Close(ctx context.Context) error { return s.engine.Close(ctx) }

// Source is the hash of the source that the guest was built from.
func (s *Sim) Source() string { return s.source }

// File is the guest's.
func (s *Sim) File() string { return s.file }

// Engine is the engine of the guest, and why it was chosen.
func (s *Sim) Engine() engine.Choice { return s.chosen }

// Name implements World.
func (s *Sim) Name() string { return simWorld }

// Workers implements World: a simulated world keeps one core busy.
func (s *Sim) Workers() int {
	if s.Parallel > 0 {
		return s.Parallel
	}
	return runtime.NumCPU()
}

// Run implements World.
func (s *Sim) Run(ctx context.Context, c *Case) (*Run, error) {
	run := newRun(c, c.identity(s.Name(), s.chosen.Name, s.source), s.opt.Command)
	run.GuestSHA256 = s.digest
	if s.opt.Guest != "" {
		run.Replay += " --guest " + s.opt.Guest
	}
	plan, err := c.Plan(s.Name())
	if err != nil {
		return nil, err
	}
	run.Plan = plan.String()
	if missing := plan.Inexpressible("plan.txt", nemesis.Sim); len(missing) > 0 {
		return run.inexpressible(missing), nil
	}
	res, err := world.Run(ctx, s.spec(c, run, plan))
	if err != nil {
		return nil, err
	}
	return run.fromSim(c, res)
}

// spec describes the case's world: broker b1 and the clients, each on a host of its name.
func (s *Sim) spec(c *Case, run *Run, plan *nemesis.Plan) world.Spec {
	spec := world.Spec{
		Seed: c.Stream("world").Uint64(), Program: s.program, Plan: plan, Limit: c.Experiment.Limit, Record: s.Record,
	}
	spec.Procs = append(spec.Procs, world.ProcSpec{
		Name: "b1", Args: []string{"broker", "--config", "/etc/server.properties", "--stop-on-eof"},
		Files: map[string][]byte{"/etc/server.properties": []byte(run.Properties)},
		Sinks: []world.Sink{{Name: eventsSink, Env: eventsEnv}},
		Watch: s.Watch,
	})
	for i := range c.Experiment.Clients {
		client := &c.Experiment.Clients[i]
		spec.Procs = append(spec.Procs, world.ProcSpec{
			Name: client.Name, Args: c.clientArgs(client, "b1:9092", asItIs), Start: client.Start,
			Sinks: []world.Sink{{Name: historySink, Env: historyEnv}},
		})
		spec.WaitFor = append(spec.WaitFor, client.Name)
	}
	return spec
}

func asItIs(d time.Duration) time.Duration { return d }

// fromSim takes over what a world returned, and judges it.
func (r *Run) fromSim(c *Case, res *world.Result) (*Run, error) {
	r.TraceHash, r.VirtualNs, r.Calls = res.TraceHash, res.Virtual.Nanoseconds(), res.Calls
	var ops []history.Op
	var events []byte
	for _, l := range res.Lines {
		switch l.Stream {
		case historySink:
			op, err := history.Parse([]byte(l.Text))
			if err != nil {
				return nil, fmt.Errorf("court: %s wrote no history: %w", l.Proc, err)
			}
			op.Time, op.Proc = l.At.Nanoseconds(), l.Proc
			ops = append(ops, op)
		case eventsSink:
			e, err := event.Parse([]byte(l.Text))
			if err != nil {
				return nil, fmt.Errorf("court: %s wrote no event: %w", l.Proc, err)
			}
			e.Time, e.Proc = l.At.Nanoseconds(), l.Proc
			events = e.AppendTo(events)
		default:
			name := l.Proc + "." + l.Stream
			r.Outputs[name] = append(append(r.Outputs[name], l.Text...), '\n')
			r.Said = append(r.Said, Said{l.At.Nanoseconds(), l.Proc, l.Stream, l.Text})
		}
	}
	for _, f := range res.Faults {
		r.Faults = append(r.Faults, Fault{Time: f.At.Nanoseconds(), Proc: f.Target, Text: f.Text})
	}
	for _, p := range res.Procs {
		for _, x := range p.Exits {
			r.Processes = append(r.Processes, Process{Name: p.Name, End: x.Reason, Code: x.Code, Time: x.At})
		}
	}
	r.Events, r.NotFired = events, res.NotFired
	if res.TimedOut {
		r.Doubts = append(r.Doubts, fmt.Sprintf("not drained: the run reached its limit of %v", c.Experiment.Limit))
	}
	return r.finish(c, ops)
}

// clientArgs are the arguments of a client process. fit turns a time of the experiment into one of the world.
func (c *Case) clientArgs(client *experiment.Client, bootstrap string, fit func(time.Duration) time.Duration) []string {
	args := []string{
		"client", "--role", client.Role, "--name", client.Name, "--bootstrap", bootstrap,
		"--seed", fmt.Sprint(c.Stream("workload " + client.Name).Uint64()),
		"--start", fit(client.Start).String(), "--work", fit(c.Experiment.Work).String(),
		"--request-timeout", fit(c.Experiment.RequestTimeout).String(),
		"--delivery-timeout", fit(c.Experiment.DeliveryTimeout).String(),
	}
	return slices.Concat(args, c.Experiment.Flags, client.Flags, c.Cell.FlagsOf(client.Name))
}
