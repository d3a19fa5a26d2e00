package court

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"trialog/checker/court/actor"
	"trialog/checker/court/experiment"
	"trialog/checker/history"
	"trialog/core/event"
	"trialog/netsim/nemesis"
)

// Real runs the broker and the clients as processes of the operating system, on real sockets and a real directory. It
// expresses what can be done to a process with signals; every other step of a plan makes the case not expressible.
type Real struct {
	Binary  string  // the program
	Command string  // how a line that replays a run begins
	Source  string  // hash of the source that the program was built from
	Scale   float64 // times of plan and workload are multiplied by it
}

// RealScale keeps a run of the experiments below fifteen seconds.
const RealScale = 0.4

// stopWithin is how long a broker may take to stop when asked, and after the last fault to be drained, in real time.
const stopWithin = 15 * time.Second

// Name implements World.
func (w *Real) Name() string { return realWorld }

// Workers implements World: real runs disturb each other, so there is one at a time.
func (w *Real) Workers() int { return 1 }

// Run implements World.
func (w *Real) Run(ctx context.Context, c *Case) (*Run, error) {
	run := newRun(c, c.identity(w.Name(), "", w.Source), w.Command)
	run.Started = time.Now().UTC().Format(time.RFC3339Nano)
	run.ID = run.Identity.ID()
	plan, err := c.Plan(w.Name())
	if err != nil {
		return nil, err
	}
	plan = w.fit(plan)
	run.Plan = plan.String()
	if missing := plan.Inexpressible("plan.txt", nemesis.Real); len(missing) > 0 {
		return run.inexpressible(missing), nil
	}
	dir, err := os.MkdirTemp("", "trialog-real-*")
	if err != nil {
		return nil, fmt.Errorf("court: real: %w", err)
	}
	defer os.RemoveAll(dir)
	s, err := w.stage(c, run, dir)
	if err != nil {
		return nil, err
	}
	defer s.killAll()
	ctx, cancel := context.WithTimeout(ctx, w.shrink(c.Experiment.Limit)+2*stopWithin)
	defer cancel()
	if err := s.play(ctx, plan); err != nil {
		return nil, err
	}
	return s.collect(c, run)
}

func (w *Real) shrink(d time.Duration) time.Duration {
	return time.Duration(float64(d) * w.Scale).Round(time.Millisecond)
}

// fit shrinks the times of a plan.
func (w *Real) fit(p *nemesis.Plan) *nemesis.Plan {
	out := &nemesis.Plan{Budget: p.Budget}
	for _, s := range p.Steps {
		s.At, s.For = w.shrink(s.At), w.shrink(s.For)
		out.Steps = append(out.Steps, s)
	}
	return out
}

// stage is one real run: its processes, and what is due when.
type stage struct {
	start     time.Time
	startMono int64 // the same moment on the clock that clients stamp with, ns
	broker    *actor.Actor
	clients   []*actor.Actor
	delays    []time.Duration // of the clients
	faults    []Fault
	doubts    []string
}

func (w *Real) stage(c *Case, run *Run, dir string) (*stage, error) {
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("court: real: no free port: %w", err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	run.Properties = c.Properties().With(
		experiment.Property{Key: "listeners", Value: "PLAINTEXT://" + address},
		experiment.Property{Key: "log.dirs", Value: filepath.Join(dir, "data")},
	).String()
	config := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(config, []byte(run.Properties), 0o644); err != nil {
		return nil, fmt.Errorf("court: real: %w", err)
	}
	s := &stage{start: time.Now()}
	if s.startMono, err = monotonicNs(); err != nil {
		return nil, err
	}
	s.broker = actor.New("b1", w.Binary, []string{"broker", "--config", config, "--stop-on-eof"}, eventsEnv, s.start, stopWithin)
	for i := range c.Experiment.Clients {
		client := &c.Experiment.Clients[i]
		args := c.clientArgs(client, address, w.shrink)
		s.clients = append(s.clients, actor.New(client.Name, w.Binary, args, historyEnv, s.start, stopWithin))
		s.delays = append(s.delays, w.shrink(client.Start))
	}
	return s, nil
}

// monotonicNs reads the clock that client processes stamp their operations with.
func monotonicNs() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("court: real: clock_gettime: %w", err)
	}
	return ts.Nano(), nil
}

// freePort asks the system for a port that nobody listens on. Somebody else may take it before the broker does; then
// the broker says so and the run is unknown.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// action is something that is due at a time of the run.
type action struct {
	at time.Duration
	do func() error
}

// play starts everything, does what the plan says, and waits for the clients.
func (s *stage) play(ctx context.Context, plan *nemesis.Plan) error {
	actions := []action{{0, s.broker.Launch}}
	for i, c := range s.clients {
		actions = append(actions, action{s.delays[i], c.Launch})
	}
	for i := range plan.Steps {
		step := &plan.Steps[i]
		actions = append(actions, action{step.At, func() error { return s.do(step) }})
		if step.For > 0 {
			actions = append(actions, action{step.At + step.For, func() error { return s.undo(step) }})
		}
	}
	slices.SortStableFunc(actions, func(a, b action) int { return int(a.at - b.at) })
	for _, a := range actions {
		if err := sleepUntil(ctx, s.start.Add(a.at)); err != nil {
			return err
		}
		switch err := a.do(); {
		case errors.Is(err, actor.ErrStuck):
			s.doubts = append(s.doubts, err.Error())
			return nil
		case err != nil:
			return err
		}
	}
	for _, c := range s.clients {
		select {
		case <-c.Done():
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return ctx.Err()
			}
			s.doubts = append(s.doubts, "not drained: "+c.Name+" was still at work at the limit of the run")
			return nil
		}
	}
	return nil
}

func sleepUntil(ctx context.Context, at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stage) note(text string) {
	s.faults = append(s.faults, Fault{Time: time.Since(s.start).Nanoseconds(), Proc: s.broker.Name, Text: text})
}

// do carries out a step on the broker, the only process that plans of a single broker aim at.
func (s *stage) do(step *nemesis.Step) error {
	if len(step.Targets) != 1 || step.Targets[0] != s.broker.Name {
		return fmt.Errorf("court: real: %s: the only target is %s", step, s.broker.Name)
	}
	s.note(string(step.Verb) + " " + s.broker.Name)
	switch step.Verb {
	case nemesis.Kill:
		return s.broker.Kill()
	case nemesis.Stop:
		return s.broker.Terminate()
	case nemesis.Start:
		return s.broker.Relaunch()
	case nemesis.Restart:
		return errors.Join(s.broker.Kill(), s.broker.Relaunch())
	case nemesis.Pause:
		return s.broker.Pause()
	case nemesis.Resume:
		return s.broker.Resume()
	}
	return fmt.Errorf("court: real: %s: not expressible", step)
}

func (s *stage) undo(step *nemesis.Step) error {
	s.note(string(step.Verb) + " " + s.broker.Name + " ends")
	if step.Verb == nemesis.Pause {
		return s.broker.Resume()
	}
	return s.broker.Relaunch()
}

func (s *stage) killAll() {
	for _, a := range append([]*actor.Actor{s.broker}, s.clients...) {
		_ = a.Kill()
	}
}

// collect stops the broker, takes over what the processes wrote, and judges it.
func (s *stage) collect(c *Case, run *Run) (*Run, error) {
	_ = s.broker.Resume()
	if err := s.broker.Terminate(); err != nil {
		return nil, err
	}
	if !s.broker.Ended(stopWithin) {
		s.doubts = append(s.doubts, fmt.Sprintf("b1 did not stop within %v of being asked", stopWithin))
	}
	s.killAll()
	var ops []history.Op
	for _, a := range append([]*actor.Actor{s.broker}, s.clients...) {
		a.Wait()
		run.Outputs[a.Name+".stdout"], run.Outputs[a.Name+".stderr"] = a.Stdout.Bytes(), a.Stderr.Bytes()
		run.hear(a)
		for _, e := range a.Ends() {
			run.Processes = append(run.Processes, Process{Name: a.Name, End: e.How, Code: e.Code, Time: e.At})
		}
		for _, l := range a.Lines() {
			if a == s.broker {
				e, err := event.Parse(l.Text)
				if err != nil {
					return nil, fmt.Errorf("court: %s wrote no event: %w", a.Name, err)
				}
				e.Time, e.Proc = l.At, a.Name
				run.Events = e.AppendTo(run.Events)
				continue
			}
			op, err := history.Parse(bytes.TrimSuffix(l.Text, []byte("\n")))
			if err != nil {
				return nil, fmt.Errorf("court: %s wrote no history: %w", a.Name, err)
			}
			op.Time, op.Proc = op.Time-s.startMono, a.Name
			ops = append(ops, op)
		}
	}
	slices.SortStableFunc(run.Said, func(a, b Said) int { return cmp.Compare(a.Time, b.Time) })
	run.Faults, run.Doubts = s.faults, s.doubts
	return run.finish(c, ops)
}

// hear takes over the lines that an actor wrote to its standard streams.
func (r *Run) hear(a *actor.Actor) {
	for _, l := range a.Stdout.Lines() {
		r.Said = append(r.Said, Said{l.At, a.Name, "stdout", string(l.Text)})
	}
	for _, l := range a.Stderr.Lines() {
		r.Said = append(r.Said, Said{l.At, a.Name, "stderr", string(l.Text)})
	}
}
