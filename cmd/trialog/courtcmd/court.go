package courtcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"trialog/checker/court"
	"trialog/checker/court/experiment"
	"trialog/cmd/trialog/cli"
	"trialog/core/broker"
	"trialog/core/config"
	"trialog/netsim/engine"
)

// courtFlags are what the commands of the court have in common.
type courtFlags struct {
	source string // of this program

	root   string
	guest  string
	engine string
	cell   string
	rules  string
	out    string
	json   bool
}

func (f *courtFlags) add(c *cobra.Command, names ...string) {
	fs := c.Flags()
	fs.StringVar(&f.root, "experiments", experimentsDir(), "directory of the experiments")
	for _, name := range names {
		switch name {
		case "guest":
			fs.StringVar(&f.guest, "guest", "", "the program for the simulated OS (default: this program's file name and .guest or .wasm)")
		case "engine":
			fs.StringVar(&f.engine, "engine", engine.Auto, engineUsage)
		case "cell":
			fs.StringVar(&f.cell, "cell", "", "the cell (default: the first)")
		case "mutant":
			fs.StringVar(&f.rules, "mutant", "", "safety rules to switch off: room.rule, separated by commas")
		case "out":
			fs.StringVar(&f.out, "out", "", "directory for what a run leaves (default: runs/ID)")
		case "json":
			fs.BoolVar(&f.json, "json", false, "print JSON")
		default:
			panic("cmd: no court flag " + name)
		}
	}
}

// experimentsDir is where experiments are looked for by name: here, or beside the directory of this program.
func experimentsDir() string {
	const dir = "experiments"
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if exe, err := os.Executable(); err == nil {
		if at := filepath.Join(filepath.Dir(filepath.Dir(exe)), dir); isDir(at) {
			return at
		}
	}
	return dir
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// load reads the experiment and finds the cell and the rules that the flags name.
func (f *courtFlags) load(name string) (*court.Case, error) {
	e, err := f.experiment(name)
	if err != nil {
		return nil, err
	}
	c := &court.Case{Experiment: e, Cell: &e.Cells[0]}
	if f.cell != "" {
		if c.Cell, err = e.Cell(f.cell); err != nil {
			return nil, err
		}
	}
	c.RulesOff, err = knownRules(f.rules)
	return c, err
}

// experiment reads one, and refuses mutants of rules that no room has.
func (f *courtFlags) experiment(name string) (*experiment.Experiment, error) {
	if strings.TrimSpace(name) == "" {
		return nil, errors.New("the experiment's name is empty: trialog list names the experiments")
	}
	e, err := experiment.Load(f.root, name)
	if err != nil {
		return nil, err
	}
	return e, checkMutants(e)
}

func checkMutants(e *experiment.Experiment) error {
	for _, m := range e.Mutants {
		if _, err := knownRules(m.Rule); err != nil {
			return fmt.Errorf("%s:%d: %w", e.File, m.Line, err)
		}
	}
	return nil
}

// knownRules reads a list of rules and refuses those that no room has.
func knownRules(list string) ([]string, error) {
	names, err := config.ParseRulesOff(list)
	if err != nil {
		return nil, err
	}
	if list != "" && len(names) == 0 {
		return nil, fmt.Errorf("--mutant %q names no safety rule", list)
	}
	var known []string
	for _, d := range broker.RuleDocs() {
		known = append(known, d.FullName())
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("no safety rule is called %q; they are %s", n, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// builtFrom is the hash of the source that this program was built from.
func (f *courtFlags) builtFrom() (string, error) {
	hash := strings.TrimPrefix(f.source, court.SourceMark)
	if hash == "" || hash == "unknown" {
		return "", errors.New("this program does not know its source, so it cannot tell whether the guest is of the same: build both with make build")
	}
	return hash, nil
}

const engineUsage = "what runs guests: native (linux/amd64 code), wasm (everywhere, slower), or auto: native where it can"

// sim opens the simulated OS with a guest of the same source as this program, and says on stderr which engine was chosen
// where that was left open.
func (f *courtFlags) sim(ctx context.Context, c *cobra.Command) (*court.Sim, error) {
	if err := engine.Check(f.engine); err != nil {
		return nil, err
	}
	hash, err := f.builtFrom()
	if err != nil {
		return nil, err
	}
	return f.openSim(ctx, c, f.engine, hash)
}

func (f *courtFlags) openSim(ctx context.Context, c *cobra.Command, name, source string) (*court.Sim, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s, err := court.NewSim(ctx, court.SimOptions{Engine: name, Guest: f.guest, Program: exe, Source: source, Command: os.Args[0]})
	if err != nil {
		return nil, err
	}
	if name == engine.Auto {
		fmt.Fprintln(c.ErrOrStderr(), s.Engine())
	}
	return s, nil
}

// world opens the named world; close it after use.
func (f *courtFlags) world(ctx context.Context, c *cobra.Command, name string) (w court.World, closeWorld func(), err error) {
	switch name {
	case "sim":
		s, err := f.sim(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		return s, func() { s.Close(context.WithoutCancel(ctx)) }, nil
	case "real":
		if cmp.Or(f.engine, engine.Auto) != engine.Auto {
			return nil, nil, fmt.Errorf("--engine %s: real processes run on no engine", f.engine)
		}
		r, err := f.realWorld()
		return r, func() {}, err
	}
	return nil, nil, fmt.Errorf("no world %q: it is sim or real", name)
}

func (f *courtFlags) realWorld() (*court.Real, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &court.Real{Binary: exe, Command: os.Args[0], Source: strings.TrimPrefix(f.source, court.SourceMark), Scale: court.RealScale}, nil
}

// interruptible ends the context when somebody asks to stop, so that no process and no temporary directory is left.
func interruptible(c *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// runDir is where a run goes.
func (f *courtFlags) runDir(r *court.Run) string {
	if f.out != "" {
		return f.out
	}
	return filepath.Join("runs", r.ID)
}

// exitAs ends the command with the code of a result.
func exitAs(r court.Result) error {
	if code := court.ExitCode(r); code != cli.OK {
		return cli.Exit(code, nil)
	}
	return nil
}
