package courtcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trialog/netsim/engine"
	"trialog/netsim/guest"
	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
	"trialog/netsim/world"
)

type simFlags struct {
	engine string
	procs  []string
	seed   uint64
	plan   string
	limit  time.Duration
	trace  string
	json   bool
}

// simCommand runs any Go program in the simulated operating system.
func simCommand() *cobra.Command {
	var f simFlags
	c := &cobra.Command{
		Use:   "sim PROGRAM",
		Short: "run any Go program in the simulated operating system",
		Long: `Run a Go program in the simulated operating system. PROGRAM is a directory or .go file of any module,
which is built there, a package of the current module, or a .guest or .wasm file.
Each --proc starts one process on a host of that name: --proc "NAME: ARGS...".`,
		Example: `  trialog sim ./netsim/examples/counter --proc "a: serve :7000" --proc "b: add a:7000"`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return runSim(c, args[0], f) },
	}
	c.Flags().StringVar(&f.engine, "engine", engine.Auto, engineUsage)
	c.Flags().StringArrayVar(&f.procs, "proc", nil, `a process, "NAME: ARGS..."; repeat for more (default "a:")`)
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the seed: one seed is one execution")
	c.Flags().StringVar(&f.plan, "plan", "", "file with a fault plan")
	c.Flags().DurationVar(&f.limit, "limit", time.Minute, "virtual time at which the world ends")
	c.Flags().StringVar(&f.trace, "trace", "", "file to write the whole trace to")
	c.Flags().BoolVar(&f.json, "json", false, "print the result as JSON")
	return c
}

func runSim(c *cobra.Command, target string, f simFlags) error {
	spec, err := simSpec(f)
	if err != nil {
		return err
	}
	ctx, cancel := interruptible(c)
	defer cancel()
	tmp, err := os.MkdirTemp("", "trialog-sim-*")
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	defer os.RemoveAll(tmp)
	chosen, file, err := simGuest(ctx, f.engine, target, tmp)
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if f.engine == engine.Auto {
		fmt.Fprintln(c.ErrOrStderr(), chosen)
	}
	e, err := engine.Open(ctx, chosen.Name)
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	defer e.Close(context.WithoutCancel(ctx))
	if spec.Program, err = e.Load(ctx, file); err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if f.trace != "" {
		t, err := os.Create(f.trace)
		if err != nil {
			return fmt.Errorf("sim: trace: %w", err)
		}
		defer t.Close()
		spec.Record = t
	}
	res, err := world.Run(ctx, spec)
	if err != nil {
		return err
	}
	return printSim(c, res, f)
}

// simGuest finds a guest's file, or builds a package into tmp. What cannot be built for the engine that was chosen is
// built for wasm, if the choice was free.
func simGuest(ctx context.Context, name, target, tmp string) (engine.Choice, string, error) {
	if strings.HasSuffix(target, engine.Suffix(engine.Wasm)) || strings.HasSuffix(target, engine.Suffix(engine.Native)) {
		c, err := engine.For(name, target)
		return c, target, err
	}
	c, err := engine.Choose(name, nil)
	if err != nil {
		return c, "", err
	}
	file := filepath.Join(tmp, "guest")
	err = simBuild(ctx, c.Name, target, file)
	if err != nil && name == engine.Auto && c.Name != engine.Wasm {
		why, _, _ := strings.Cut(err.Error(), "\n")
		c = engine.Choice{Name: engine.Wasm, Why: why}
		err = simBuild(ctx, c.Name, target, file)
	}
	return c, file, err
}

func simBuild(ctx context.Context, name, target, file string) error {
	dir, pkg := programAt(target)
	return guest.Build(ctx, guest.Options{Engine: guest.Engine(name), Dir: dir, Package: pkg, Out: file})
}

// programAt says where and what to build: a directory or a file is built in its own module, whatever the current one is.
func programAt(target string) (dir, pkg string) {
	st, err := os.Stat(target)
	switch {
	case err != nil:
		return "", target // an import path
	case st.IsDir():
		return target, "."
	default:
		return filepath.Dir(target), filepath.Base(target)
	}
}

func simSpec(f simFlags) (world.Spec, error) {
	spec := world.Spec{Seed: f.seed, Limit: f.limit}
	if f.limit <= 0 {
		return spec, fmt.Errorf("sim: --limit %v is not positive", f.limit)
	}
	if len(f.procs) == 0 {
		f.procs = []string{"a:"}
	}
	for _, p := range f.procs {
		name, args, ok := strings.Cut(p, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return spec, fmt.Errorf(`sim: --proc %q is not "NAME: ARGS..."`, p)
		}
		spec.Procs = append(spec.Procs, world.ProcSpec{Name: name, Args: strings.Fields(args)})
	}
	if f.plan != "" {
		text, err := os.ReadFile(f.plan)
		if err != nil {
			return spec, fmt.Errorf("sim: plan: %w", err)
		}
		if spec.Plan, err = nemesis.Parse(f.plan, string(text)); err != nil {
			return spec, err
		}
		if bad := spec.Plan.Inexpressible(f.plan, nemesis.Sim); len(bad) > 0 {
			return spec, errors.New(strings.Join(bad, "\n"))
		}
	}
	return spec, nil
}

func printSim(c *cobra.Command, res *world.Result, f simFlags) error {
	out := c.OutOrStdout()
	if f.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(simJSON(res, f.seed))
	}
	marks := simMarks(res)
	showMarks := func(before time.Duration) {
		for ; len(marks) > 0 && marks[0].at < before; marks = marks[1:] {
			fmt.Fprintf(out, "%12s  %s\n", seconds(marks[0].at), marks[0].text)
		}
	}
	width := 0
	for _, p := range res.Procs {
		width = max(width, len(p.Name))
	}
	for _, l := range res.Lines {
		showMarks(l.At)
		fmt.Fprintf(out, "%12s  %-*s  %s\n", seconds(l.At), width, l.Proc, l.Text)
	}
	showMarks(math.MaxInt64)
	for _, s := range res.NotFired {
		fmt.Fprintln(out, "never struck:", s)
	}
	if res.TimedOut {
		fmt.Fprintf(out, "%s still ran when the world ended after %v (--limit)\n", strings.Join(running(res), ", "), f.limit)
	}
	fmt.Fprintf(out, "seed %d: %s of virtual time, %d system calls, trace %s\n", f.seed, seconds(res.Virtual), res.Calls, res.TraceHash)
	return nil
}

// running names the processes that had not ended: servers, as a rule.
func running(res *world.Result) []string {
	var names []string
	for _, p := range res.Procs {
		if p.Running {
			names = append(names, p.Name)
		}
	}
	return names
}

// simMark is a line of the report that no process wrote.
type simMark struct {
	at   time.Duration
	text string
}

// simMarks are the faults, and the ends that processes came to by themselves, in order of time.
func simMarks(res *world.Result) []simMark {
	var list []simMark
	for _, x := range res.Faults {
		list = append(list, simMark{x.At, "**  " + x.Text})
	}
	for _, p := range res.Procs {
		for _, x := range p.Exits {
			switch x.Reason {
			case kernel.ReasonExit:
				list = append(list, simMark{time.Duration(x.At), fmt.Sprintf("--  %s ended with code %d", p.Name, x.Code)})
			case kernel.ReasonCrash:
				list = append(list, simMark{time.Duration(x.At), fmt.Sprintf("--  %s crashed", p.Name)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b simMark) int { return cmp.Compare(a.at, b.at) })
	return list
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.6fs", d.Seconds()) }

type simResult struct {
	Seed      uint64        `json:"seed"`
	TraceHash string        `json:"trace_hash"`
	VirtualNs int64         `json:"virtual_ns"`
	Calls     int64         `json:"calls"`
	TimedOut  bool          `json:"timed_out"`
	Procs     []simProc     `json:"processes"`
	Lines     []world.Line  `json:"lines"`
	Faults    []world.Fault `json:"faults"`
	NotFired  []string      `json:"not_fired"`
}

type simProc struct {
	Name  string        `json:"name"`
	Calls int64         `json:"calls"`
	Exits []kernel.Exit `json:"exits"`
}

func simJSON(res *world.Result, seed uint64) simResult {
	r := simResult{Seed: seed, TraceHash: res.TraceHash, VirtualNs: res.Virtual.Nanoseconds(), Calls: res.Calls,
		TimedOut: res.TimedOut, Lines: res.Lines, Faults: res.Faults, NotFired: res.NotFired}
	for _, p := range res.Procs {
		r.Procs = append(r.Procs, simProc{p.Name, p.Calls, p.Exits})
	}
	return r
}
