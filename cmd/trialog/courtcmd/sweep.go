package courtcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trialog/checker/sweep"
	"trialog/cmd/trialog/cli"
	"trialog/core/seglog"
	"trialog/netsim/engine"
)

type sweepFlags struct {
	engine  string
	subject string
	scripts []string
	off     []string
	short   bool
	mutants bool
	json    bool
	show    int
	again   int
}

// sweepCommand crashes the storage engine at every write.
func sweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep",
		Short: "crash the storage engine at every write, with every loss",
		Long: `Run each script of checker/sweep once in the simulated operating system, stop the machine at every call that changes the
disk, lose what is not durable in every pattern, recover, and hold what is served against what was promised.
Exit code 1: something was served, or not served, against the contract.`,
		Example: `  trialog sweep                            # all of it
  trialog sweep --script roll --rule-off fsync-directory   # an engine that must be convicted
  trialog sweep --mutants                  # each rule switched off in turn, until its first violation`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runSweep(c, f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.engine, "engine", engine.Auto, engineUsage)
	fs.StringVar(&f.subject, "subject", "", "the program to crash (default: sweep.guest or sweep.wasm beside this program)")
	fs.StringSliceVar(&f.scripts, "script", nil, "scripts by name (default: all)")
	fs.StringSliceVar(&f.off, "rule-off", nil, "safety rules of seglog to switch off; stops at the first violation of each script")
	fs.BoolVar(&f.short, "short", false, "fewer seeded losses, and fewer recoveries are crashed")
	fs.IntVar(&f.again, "recoveries", 0, "how many recoveries of each script are crashed, of those that differ (default: 12, or 1 with --short)")
	fs.BoolVar(&f.mutants, "mutants", false, "switch off each rule that a script must convict")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.IntVar(&f.show, "show", 3, "how many violations of each script are shown")
	return c
}

func runSweep(c *cobra.Command, f sweepFlags) error {
	ctx, cancel := interruptible(c)
	defer cancel()
	opt := sweep.Options{Scripts: f.scripts, Short: f.short, Recoveries: f.again, First: len(f.off) > 0}
	for _, rule := range f.off {
		rule = strings.TrimPrefix(rule, "seglog.")
		if rules := seglog.AllRules(); !rules.Off(rule) {
			return fmt.Errorf("sweep: seglog has no rule %q", rule)
		}
		opt.RulesOff = append(opt.RulesOff, rule)
	}
	e, file, err := f.open(ctx, c)
	if err != nil {
		return err
	}
	defer e.Close(context.WithoutCancel(ctx))
	if opt.Program, err = e.Load(ctx, file); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if f.mutants {
		return f.runMutants(ctx, c, opt)
	}
	if !f.json {
		opt.Progress = func(n sweep.Count) { f.print(c, n) }
	}
	r, err := sweep.Run(ctx, opt)
	if err != nil {
		return err
	}
	total := r.Total()
	if f.json {
		err = cli.PrintJSON(c.OutOrStdout(), r)
	} else {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n%d crash points, %d images in all, every one judged; %d that differ were recovered; none skipped\n",
			total, total.Points, total.Images, total.Recovered)
	}
	if err == nil && len(total.Violations) > 0 {
		err = cli.Exit(cli.Failed, nil)
	}
	return err
}

func (f *sweepFlags) print(c *cobra.Command, n sweep.Count) {
	fmt.Fprintln(c.OutOrStdout(), n)
	for _, v := range n.Violations[:min(len(n.Violations), f.show)] {
		fmt.Fprint(c.OutOrStdout(), v)
	}
}

func (f *sweepFlags) runMutants(ctx context.Context, c *cobra.Command, opt sweep.Options) error {
	escaped := 0
	var convicted []string
	err := sweep.Mutants(ctx, opt, func(m sweep.Mutant) {
		fmt.Fprintln(c.OutOrStdout(), m)
		if len(m.Count.Violations) == 0 {
			escaped++
			return
		}
		convicted = append(convicted, m.Rule)
		if f.show > 0 {
			fmt.Fprint(c.OutOrStdout(), m.Count.Violations[0])
		}
	})
	if err != nil {
		return err
	}
	for _, d := range seglog.RuleDocs {
		if !slices.Contains(convicted, d.Name) {
			fmt.Fprintf(c.OutOrStdout(), "%-30s has a scripted case in seglog\n", d.Name)
		}
	}
	if escaped > 0 {
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}

// open chooses the engine and finds the subject.
func (f *sweepFlags) open(ctx context.Context, c *cobra.Command) (*engine.Engine, string, error) {
	if err := engine.Check(f.engine); err != nil {
		return nil, "", err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	chosen, file, err := engine.Beside(f.engine, filepath.Join(filepath.Dir(exe), "sweep"))
	if f.subject != "" {
		file = f.subject
		chosen, err = engine.For(f.engine, file)
	}
	if err != nil {
		return nil, "", fmt.Errorf("sweep: %w", err)
	}
	if f.engine == engine.Auto {
		fmt.Fprintln(c.ErrOrStderr(), chosen)
	}
	if _, err := os.Stat(file); err != nil {
		return nil, "", fmt.Errorf("sweep: %w: make crash-sweep builds it", err)
	}
	e, err := engine.Open(ctx, chosen.Name)
	if err != nil {
		return nil, "", fmt.Errorf("sweep: %w", err)
	}
	return e, file, nil
}
