// Package world assembles simulated hosts, runs guests on them under a fault plan, and returns everything they wrote
// and the trace.
//
// It owns: the life of processes across kills, stops, power cuts and restarts, and the execution of plans. It never
// decides what a run means: that is for its callers. Roles in a plan (anything that is no process name) are opaque and
// resolved by a callback.
//
// Everything in a [Result] but Wall is a function of the [Spec].
package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"trialog/netsim/disk"
	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
	"trialog/netsim/tcp"
)

// Spec says what to simulate.
type Spec struct {
	Seed    uint64
	Program Program // for processes that name none
	Procs   []ProcSpec
	Plan    *nemesis.Plan // nil: no faults
	// Resolve turns a role of the plan into process names; nil knows no roles.
	Resolve func(role string) ([]string, error)
	// Limit ends the world at this virtual time at the latest.
	Limit time.Duration
	// WaitFor names processes; when all of them have ended, and the plan is over, the world ends. With none the
	// world runs to its limit or until every process has ended.
	WaitFor []string
	// Grace is how long after that the other processes may go on after they were asked to stop. 0: they are not asked.
	Grace time.Duration
	Net   tcp.Options
	Disk  disk.Options
	// Record, when set, receives the trace as text.
	Record io.Writer
	// Silence is how long, in real time, a guest may compute without a system call before the run is a harness error. 0:
	// kernel.SilenceMax.
	Silence time.Duration
}

// ProcSpec is one process on a host of its own, which has the process's name.
type ProcSpec struct {
	Name    string
	Program Program  // nil: the world's
	Args    []string // without the program's name
	Env     []string
	Files   map[string][]byte // on the disk from the start, durable
	Start   time.Duration
	Sinks   []Sink
	// Prepare, when set, is shown the disk before anything runs; what it makes there should be durable.
	Prepare func(*disk.FS) error
	// Watch, when set, is shown the process at the beginning of each life, and may set traps. Its host's FS is the disk.
	Watch func(*kernel.Proc)
}

// Sink is a descriptor whose writes are reported with virtual time and never touch the disk. Its number is in the
// environment variable Env.
type Sink struct {
	Name string // the stream in Result.Lines
	Env  string
}

// Line is one line that a process wrote.
type Line struct {
	At     time.Duration // virtual time of the write that ended the line
	Proc   string
	Stream string // stdout, stderr or a sink's name
	Text   string
}

// Fault is one thing the plan did, or undid.
type Fault struct {
	At     time.Duration
	Verb   string
	Target string // process, or "a->b" for a link; "" for all
	Text   string // as a line of a plan
}

// ProcResult is what became of a process.
type ProcResult struct {
	Name  string
	Exits []kernel.Exit
	Calls int64 // of all its lives
	// Running: it was alive when the world ended.
	Running bool
}

// Result of a world.
type Result struct {
	TraceHash   string
	TraceEvents uint64
	Virtual     time.Duration
	Calls       int64
	Procs       []ProcResult
	Lines       []Line
	Faults      []Fault
	// NotFired lists the steps of the plan that never struck (a trap whose call never came, an unknown role).
	NotFired []string
	// TimedOut: the limit came before what the world waited for.
	TimedOut bool
	// Disks gives read access to the final disks, by process name.
	Disks map[string]*disk.FS
}

// firstSink is the descriptor of the first sink.
const firstSink = 10

// node is a host with the process that lives on it, one life after another.
type node struct {
	spec    ProcSpec
	host    *kernel.Host
	disk    *disk.FS
	proc    *kernel.Proc // the current or last life; nil before the first
	stdin   *kernel.Stdin
	lives   int
	cutOff  bool // its host has no power
	again   bool // start as soon as the current life has ended
	exits   []kernel.Exit
	calls   int64
	strikes []*strike
}

func (n *node) alive() bool { return n.proc != nil && n.proc.Alive() }

type world struct {
	spec    Spec
	k       *kernel.Kernel
	net     *tcp.Network
	nodes   []*node
	faults  []Fault
	missed  []string
	pending int // steps and undos still to come
	err     error
	program Program // of the first process; all are of its kind
}

// Run simulates. The error is a harness error: a bad spec, a silent guest, an engine that failed, a cancelled context.
func Run(ctx context.Context, spec Spec) (*Result, error) {
	w, err := build(spec)
	if err != nil {
		return nil, err
	}
	leave, err := w.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	defer w.k.Close()
	limit := spec.Limit.Nanoseconds()
	w.k.After(limit, func() {})
	timedOut, stopping, steps := false, int64(-1), 0
	err = w.k.Run(func() bool {
		if steps++; steps%4096 == 0 && ctx.Err() != nil {
			w.err = ctx.Err()
		}
		switch {
		case w.err != nil:
			return true
		case stopping >= 0:
			return w.allDead() || w.k.Now() >= stopping
		case w.over():
			if spec.Grace <= 0 {
				return true
			}
			stopping = w.k.Now() + spec.Grace.Nanoseconds()
			w.k.After(spec.Grace.Nanoseconds(), func() {})
			w.stopAll()
			return false
		case w.k.Now() >= limit:
			timedOut = true
			return true
		}
		return false
	})
	if err == nil {
		err = w.err
	}
	if err != nil && !errors.Is(err, kernel.ErrIdle) {
		return nil, err
	}
	if err := w.k.Trace().Flush(); err != nil {
		return nil, err
	}
	return w.result(timedOut || err != nil), nil
}

func build(spec Spec) (*world, error) {
	if spec.Limit <= 0 {
		return nil, errors.New("world: the spec has no time limit")
	}
	if len(spec.Procs) > tcp.HostsMax {
		return nil, fmt.Errorf("world: %d processes, at most %d have a place in the network", len(spec.Procs), tcp.HostsMax)
	}
	w := &world{spec: spec}
	for i := range spec.Procs {
		if err := w.checkProc(i); err != nil {
			return nil, err
		}
	}
	_, oneThread := w.program.(Threaded)
	w.k = kernel.New(kernel.Options{Seed: spec.Seed, Record: spec.Record, Silence: spec.Silence, OneThread: oneThread})
	w.net = tcp.New(w.k, spec.Net)
	w.k.Net = w.net
	for i := range w.nodes {
		w.addHost(i)
	}
	for _, n := range w.nodes {
		if err := w.install(n); err != nil {
			return nil, err
		}
		if err := seedFiles(n.disk, n.spec.Files); err != nil {
			return nil, err
		}
		if n.spec.Prepare != nil {
			if err := n.spec.Prepare(n.disk); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range spec.WaitFor {
		if w.node(name) == nil {
			return nil, fmt.Errorf("world: told to wait for %q, which is no process", name)
		}
	}
	if spec.Plan != nil {
		if err := w.check(spec.Plan); err != nil {
			return nil, err
		}
		w.schedule(spec.Plan)
	}
	return w, nil
}

// checkProc makes the node of a process, if that has what it needs.
func (w *world) checkProc(i int) error {
	ps := w.spec.Procs[i]
	if ps.Name == "" || slices.ContainsFunc(w.nodes, func(n *node) bool { return strings.EqualFold(n.spec.Name, ps.Name) }) {
		return fmt.Errorf("world: process %d has no name of its own: %q", i, ps.Name)
	}
	if strings.ContainsAny(ps.Name, " \t\r\n#") {
		return fmt.Errorf("world: process %d: %q is no name for a host", i, ps.Name)
	}
	if ps.Program == nil {
		ps.Program = w.spec.Program
	}
	if ps.Program == nil {
		return fmt.Errorf("world: process %s has no program", ps.Name)
	}
	w.nodes = append(w.nodes, &node{spec: ps})
	return w.sameKind(ps.Name, ps.Program)
}

// addHost gives a node its machine, and schedules its first life.
func (w *world) addHost(i int) {
	n := w.nodes[i]
	n.disk = disk.New(w.k, n.spec.Name, w.spec.Disk)
	n.host = &kernel.Host{Name: n.spec.Name, IP: [4]byte{10, 0, byte((i + 1) >> 8), byte(i + 1)}, FS: n.disk}
	w.net.AddHost(n.host)
	w.k.After(n.spec.Start.Nanoseconds(), func() { w.start(n) })
}

func (w *world) node(name string) *node {
	for _, n := range w.nodes {
		if n.spec.Name == name {
			return n
		}
	}
	return nil
}

// start begins a life of the node's process; it does nothing if one is running.
func (w *world) start(n *node) {
	if n.alive() {
		return
	}
	if n.cutOff {
		n.cutOff = false
		w.net.HostUp(n.spec.Name)
	}
	args := append([]string{n.spec.Name}, n.spec.Args...)
	env := append([]string(nil), n.spec.Env...)
	for i, s := range n.spec.Sinks {
		env = append(env, s.Env+"="+strconv.Itoa(firstSink+i))
	}
	p := w.k.Spawn(n.host, n.spec.Name, strconv.Itoa(n.lives), n.spec.Program.Main(args, env), func(p *kernel.Proc) { w.ended(n, p) })
	n.lives++
	n.proc, n.stdin, n.again = p, w.k.NewStdin(), false
	p.Install(0, n.stdin)
	p.Install(1, w.k.NewSink("stdout"))
	p.Install(2, w.k.NewSink("stderr"))
	root, e := n.disk.Open(p, "/", kernel.OpenRead|kernel.OpenDir)
	if e != kernel.OK {
		panic("world: cannot open the root directory: " + e.String())
	}
	p.Install(3, root)
	for i, s := range n.spec.Sinks {
		p.Install(firstSink+i, w.k.NewSink(s.Name))
	}
	if n.spec.Watch != nil {
		n.spec.Watch(p)
	}
}

// ended is told by the kernel when a life is over.
func (w *world) ended(n *node, p *kernel.Proc) {
	n.exits = append(n.exits, *p.Exited())
	n.calls += p.CallNumber()
	if n.again {
		w.k.After(0, func() { w.start(n) })
	}
}

// over is true when nothing is left to wait for.
func (w *world) over() bool {
	if w.pending > 0 {
		return false
	}
	if len(w.spec.WaitFor) == 0 {
		return w.allDead()
	}
	for _, name := range w.spec.WaitFor {
		if n := w.node(name); n.proc == nil || n.alive() || n.again {
			return false
		}
	}
	return true
}

func (w *world) allDead() bool {
	for _, n := range w.nodes {
		if n.proc == nil || n.alive() || n.again {
			return false
		}
	}
	return true
}

func (w *world) stopAll() {
	for _, n := range w.nodes {
		if n.alive() {
			n.proc.Resume()
			n.stdin.End()
		}
	}
}

func (w *world) result(timedOut bool) *Result {
	r := &Result{
		TraceHash: w.k.Trace().Sum(), TraceEvents: w.k.Trace().Len(), Virtual: time.Duration(w.k.Now()),
		Calls: w.k.Calls(), Faults: w.faults, TimedOut: timedOut, Disks: map[string]*disk.FS{},
		NotFired: w.missed, Lines: lines(w.k.Outputs()),
	}
	for _, n := range w.nodes {
		calls := n.calls
		if n.alive() {
			calls += n.proc.CallNumber()
		}
		r.Procs = append(r.Procs, ProcResult{Name: n.spec.Name, Exits: n.exits, Calls: calls, Running: n.alive()})
		r.Disks[n.spec.Name] = n.disk
		for _, s := range n.strikes {
			r.NotFired = append(r.NotFired, s.step.String())
		}
	}
	return r
}

// Exit returns the last exit of the named process, or nil if it never ended by itself or by a fault.
func (r *Result) Exit(name string) *kernel.Exit {
	for i := range r.Procs {
		if p := &r.Procs[i]; p.Name == name && len(p.Exits) > 0 {
			return &p.Exits[len(p.Exits)-1]
		}
	}
	return nil
}

// Text joins the lines of one process's stream.
func (r *Result) Text(proc, stream string) string {
	var b strings.Builder
	for _, l := range r.Lines {
		if l.Proc == proc && l.Stream == stream {
			b.WriteString(l.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// lines cuts what processes wrote into lines, in the order in which the lines ended. An unfinished last line of a
// life comes before what the next life writes to that stream, or at the end.
func lines(outputs []kernel.Output) []Line {
	type open struct {
		proc, life, stream string
		at                 int64
		text               []byte
	}
	var list []Line
	end := func(p *open) {
		list = append(list, Line{At: time.Duration(p.at), Proc: p.proc, Stream: p.stream, Text: string(p.text)})
		p.text = p.text[:0]
	}
	var parts []*open
	part := func(o *kernel.Output) *open {
		for _, p := range parts {
			if p.proc == o.Proc && p.stream == o.Stream {
				return p
			}
		}
		parts = append(parts, &open{proc: o.Proc, stream: o.Stream})
		return parts[len(parts)-1]
	}
	for i := range outputs {
		o := &outputs[i]
		p := part(o)
		if p.life != o.Life && len(p.text) > 0 {
			end(p)
		}
		p.at, p.life = o.At, o.Life
		for rest := o.Data; ; {
			text, after, found := bytes.Cut(rest, []byte{'\n'})
			p.text = append(p.text, text...)
			if !found {
				break
			}
			end(p)
			rest = after
		}
	}
	for _, p := range parts {
		if len(p.text) > 0 {
			end(p)
		}
	}
	return list
}
