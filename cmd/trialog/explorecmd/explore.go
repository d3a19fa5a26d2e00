// Package explorecmd is the command that walks all states of a closed world.
package explorecmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"trialog/checker/explore"
	"trialog/cmd/trialog/cli"
)

// Bounds of flags: more workers than states to share help nobody, and bytes must fit into 64 bits.
const (
	mostWorkers = 1024
	mostMiB     = 1<<44 - 1
)

// flags are those of every world.
type flags struct {
	invariants []string
	mode       string
	noSymmetry bool
	workers    int
	maxStates  uint64
	maxMiB     uint64
	depth      int
	keepGoing  bool
	dive       bool
	walks      int
	seed       uint64
	json       bool
	graph      string
	byHand     bool
}

func (f *flags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.invariants, "invariant", nil, "only these invariants; all when absent")
	fs.StringVar(&f.mode, "mode", "64", "what stands for a state: 64 or 128 bits of a hash, or exact")
	fs.BoolVar(&f.noSymmetry, "no-symmetry", false, "tell states apart that differ in the names of replicas only")
	fs.IntVar(&f.workers, "workers", runtime.NumCPU(), "goroutines; the result is the same for any number")
	fs.Uint64Var(&f.maxStates, "max-states", 0, "stop after so many states; 0: no cap")
	fs.Uint64Var(&f.maxMiB, "max-memory", 0, "stop at so many MiB of heap; 0: no cap")
	fs.IntVar(&f.depth, "depth", 0, "levels of the search, or steps of a walk (default 50); 0: no cap")
	fs.BoolVar(&f.keepGoing, "keep-going", false, "go on after a violation, until each invariant has one")
	fs.BoolVar(&f.dive, "dive", false, "search depth first: finds what lies deep, not the shortest")
	fs.IntVar(&f.walks, "walks", 0, "take so many walks at random instead")
	fs.Uint64Var(&f.seed, "seed", 1, "of the walks")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.StringVar(&f.graph, "graph", "", "write all states and steps of a small world to this HTML file")
	fs.BoolVar(&f.byHand, "interactive", false, "step through the world by hand")
}

// Command is `trialog explore`; each world is a command of it.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "explore WORLD",
		Short: "walk all states of a closed world, or find the shortest way to break it",
		Long: `Walk every state of a closed world, breadth first. It ends in one of three ways: exhausted (all states within the
bounds were visited), violated (with a shortest counterexample), not exhausted (capped or interrupted; it claims nothing).

Exit codes: 0 exhausted, nothing violated; 1 violated; 2 not exhausted; 3 usage, an unknown world, a bound out of range.`,
		Example: `  trialog explore replication --brokers 3 --faults 1
  trialog explore replication --mutant replica.maximal-isr --faults 1
  trialog explore replication-atomic --variant kip320 --replicas 3 --log 2 --records 2 --epochs 2
  trialog explore replication-atomic --variant kip101 --replicas 2 --log 3 --records 3 --epochs 2 --leaderless --invariant acked`,
		RunE: func(c *cobra.Command, args []string) error {
			var worlds []string
			for _, w := range c.Commands() {
				if w.Name() != "table" {
					worlds = append(worlds, w.Name())
				}
			}
			if len(args) == 0 {
				return fmt.Errorf("explore: no world: want one of %s", strings.Join(worlds, ", "))
			}
			return fmt.Errorf("explore: world %q: want one of %s", args[0], strings.Join(worlds, ", "))
		},
	}
	c.AddCommand(atomicCommand(), controllerCommand(), producerCommand(), replicationCommand(), tableCommand())
	return c
}

// ways is in how many ways the flags ask for something else than a search in breadth.
func (f *flags) ways() int {
	n := 0
	for _, asked := range []bool{f.dive, f.walks > 0, f.graph != "", f.byHand} {
		if asked {
			n++
		}
	}
	return n
}

// subject is a world with its properties.
type subject[S any] struct {
	title      string
	world      explore.World[S]
	invariants []explore.Property[S]
	sometimes  []explore.Property[S]
	// faults is the budget of the world, and below makes the same world with a smaller one: those are searched first, so
	// that the smallest number of faults that breaks it is found.
	faults int
	below  func(faults int) (explore.World[S], error)
}

// run does what the flags ask for.
func (s *subject[S]) run(c *cobra.Command, f *flags) error {
	if err := s.choose(f.invariants); err != nil {
		return err
	}
	switch {
	case f.depth < 0 || f.walks < 0:
		return fmt.Errorf("explore: --depth %d, --walks %d: neither may be negative", f.depth, f.walks)
	case f.workers < 1 || f.workers > mostWorkers:
		return fmt.Errorf("explore: --workers %d: want 1 to %d", f.workers, mostWorkers)
	case f.maxMiB > mostMiB:
		return fmt.Errorf("explore: --max-memory %d: want at most %d", f.maxMiB, uint64(mostMiB))
	case f.ways() > 1:
		return errors.New("explore: want only one of --dive, --walks, --graph and --interactive")
	case f.byHand: // an interrupt ends these at once
		return s.byHand(c.InOrStdin(), c.OutOrStdout())
	case f.graph != "":
		return s.draw(c.OutOrStdout(), f)
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if f.walks > 0 {
		return s.walk(ctx, c.OutOrStdout(), f)
	}
	return s.search(ctx, c.OutOrStdout(), f)
}

// choose keeps the named invariants.
func (s *subject[S]) choose(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var chosen []explore.Property[S]
	var known []string
	for _, name := range names {
		found := false
		known = known[:0]
		for _, inv := range s.invariants {
			known = append(known, inv.Name)
			if inv.Name == name {
				chosen, found = append(chosen, inv), true
			}
		}
		if !found {
			return fmt.Errorf("explore: --invariant %q: want one of %s", name, strings.Join(known, ", "))
		}
	}
	s.invariants = chosen
	return nil
}

func (s *subject[S]) search(ctx context.Context, out io.Writer, f *flags) error {
	mode, err := explore.ParseMode(f.mode)
	if err != nil {
		return fmt.Errorf("explore: --%w", err)
	}
	o := explore.Options[S]{
		Invariants: s.invariants, Sometimes: s.sometimes, NoSymmetry: f.noSymmetry, Mode: mode, Workers: f.workers,
		MaxStates: f.maxStates, MaxBytes: f.maxMiB << 20, MaxDepth: f.depth, KeepGoing: f.keepGoing, Progress: progress(),
	}
	do := explore.Search[S]
	if f.dive {
		do = explore.Dive[S]
	}
	var r explore.Result
	var budgets []budget
	for n := range s.faults + 1 {
		w := s.world
		if n < s.faults {
			if w, err = s.below(n); err != nil {
				return err
			}
		}
		r = do(ctx, w, o)
		budgets = append(budgets, budget{n, r.Verdict, r.Distinct, r.Depth})
		if r.Verdict != explore.Exhausted {
			break
		}
	}
	endProgress()
	if f.json {
		err = cli.PrintJSON(out, struct {
			World string `json:"world"`
			explore.Result
			Budgets []budget `json:"budgets,omitempty"`
		}{s.title, r, budgets})
	} else {
		_, err = io.WriteString(out, s.title+"\n"+budgetsText(budgets)+Text(&r))
	}
	if err != nil {
		return err
	}
	switch r.Verdict {
	case explore.Violated:
		return cli.Exit(cli.Failed, nil)
	case explore.NotExhausted:
		return cli.Exit(cli.Unknown, nil)
	}
	return nil
}

// budget is what was found with so many faults.
type budget struct {
	Faults   int             `json:"faults"`
	Verdict  explore.Verdict `json:"verdict"`
	Distinct uint64          `json:"distinct"`
	Depth    int             `json:"depth"`
}

// budgetsText has a line for each budget of faults, if there are several.
func budgetsText(budgets []budget) string {
	if len(budgets) < 2 {
		return ""
	}
	var b strings.Builder
	verified := -1
	for _, r := range budgets {
		fmt.Fprintf(&b, "faults %d   %s, %d states, depth %d\n", r.Faults, r.Verdict, r.Distinct, r.Depth)
		if r.Verdict == explore.Exhausted {
			verified = r.Faults
		}
	}
	if verified >= 0 {
		fmt.Fprintf(&b, "verified up to %d faults\n", verified)
	}
	return b.String()
}

// Text is a result for people.
func Text(r *explore.Result) string {
	var b strings.Builder
	for i := range r.Violations {
		b.WriteString(r.Violations[i].Text() + "\n")
	}
	switch r.Verdict {
	case explore.Exhausted:
		fmt.Fprintf(&b, "exhausted: %d states, depth %d, no violation\n", r.Distinct, r.Depth)
	case explore.Violated:
		fmt.Fprintf(&b, "violated: %d states seen\n", r.Distinct)
	default:
		fmt.Fprintf(&b, "not exhausted (%s): %d states, depth %d complete\n", r.Why, r.Distinct, r.Depth)
	}
	fmt.Fprintf(&b, "%d successors made in %.1f s, %.0f a second; %d renamings; %.1f bytes a state\n", r.Generated, r.Seconds,
		float64(r.Generated)/max(r.Seconds, 1e-9), r.Perms, r.BytesPerState)
	if r.Mode != explore.Exact.String() {
		fmt.Fprintf(&b, "chance that a state was missed for the hash of another: %.1e (%s bits)\n", r.Collision, r.Mode)
	}
	table := func(title string, rows []explore.Count) {
		for i, row := range rows {
			if i > 0 {
				title = ""
			}
			note := ""
			if row.N == 0 {
				note = "  never"
			}
			fmt.Fprintf(&b, "%-10s %-38s %12d%s\n", title, row.Name, row.N, note)
		}
	}
	table("actions", r.Kinds)
	table("branches", r.Branches)
	for _, w := range r.Sometimes {
		if w.Found {
			fmt.Fprintf(&b, "sometimes  %-38s  at depth %d\n", w.Name, w.Depth)
		} else {
			fmt.Fprintf(&b, "sometimes  %-38s  NEVER: this run means little\n", w.Name)
		}
	}
	return b.String()
}

func (s *subject[S]) walk(ctx context.Context, out io.Writer, f *flags) error {
	o := explore.WalkOptions[S]{
		Invariants: s.invariants, Walks: f.walks, Depth: f.depth, Seed: f.seed, NoSymmetry: f.noSymmetry, Progress: progress(),
	}
	if o.Depth == 0 {
		o.Depth = 50
	}
	r := explore.Walk(ctx, s.world, o)
	endProgress()
	var err error
	if f.json {
		err = cli.PrintJSON(out, r)
	} else {
		text := s.title + "\n"
		if r.Violation != nil {
			text += r.Violation.Text() + "\n"
		}
		if r.Why != "" {
			text += r.Why + ": "
		}
		text += fmt.Sprintf("%d walks of up to %d steps: %d states met, of a number that walks cannot know; %d steps in %.1f s\n",
			r.Walks, o.Depth, r.Distinct, r.Generated, r.Seconds)
		_, err = io.WriteString(out, text)
	}
	if err != nil {
		return err
	}
	if r.Violation != nil {
		return cli.Exit(cli.Failed, nil)
	}
	return cli.Exit(cli.Unknown, nil) // walks prove nothing
}

// drawMost is how many states of a graph one can still look at.
const drawMost = 1500

func (s *subject[S]) draw(out io.Writer, f *flags) error {
	g, err := explore.Draw(s.world, s.title, s.invariants, f.noSymmetry, drawMost)
	if err != nil {
		return err
	}
	file, err := os.Create(f.graph)
	if err != nil {
		return err
	}
	if err := g.HTML(file); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %d states, %d steps\n", f.graph, len(g.Nodes), len(g.Edges))
	return err
}

// byHand lets a person choose each step.
func (s *subject[S]) byHand(in io.Reader, out io.Writer) error {
	path := []S{s.world.Init()[0]}
	lines := bufio.NewScanner(in)
	for {
		state := &path[len(path)-1]
		fmt.Fprintf(out, "\n%d  %s\n", len(path)-1, s.world.Show(state))
		for _, inv := range s.invariants {
			if !inv.Holds(state) {
				fmt.Fprintf(out, "   %s is violated: %s\n", inv.Name, inv.Doc)
			}
		}
		actions := s.world.Enabled(state, nil)
		for i, a := range actions {
			fmt.Fprintf(out, "%4d  %s\n", i+1, s.world.Describe(state, a))
		}
		fmt.Fprint(out, "number, u (undo) or q (quit): ")
		if !lines.Scan() {
			fmt.Fprintln(out)
			return lines.Err()
		}
		word := strings.TrimSpace(lines.Text())
		switch n, err := strconv.Atoi(word); {
		case word == "q":
			return nil
		case word == "u":
			path = path[:max(len(path)-1, 1)]
		case err != nil || n < 1 || n > len(actions):
			fmt.Fprintf(out, "%q: want 1 to %d, u or q\n", word, len(actions))
		default:
			var to S
			s.world.Step(state, actions[n-1], &to)
			path = append(path, to)
		}
	}
}

// progress prints to a terminal once a second.
func progress() func(explore.Progress) {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return nil
	}
	return func(p explore.Progress) {
		fmt.Fprintf(os.Stderr, "\r%s  depth %d  %d states  %d made  %d waiting  %d MiB\x1b[K", p.Elapsed.Round(time.Second), p.Depth,
			p.Distinct, p.Generated, p.Frontier, p.HeapBytes>>20)
	}
}

func endProgress() {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
