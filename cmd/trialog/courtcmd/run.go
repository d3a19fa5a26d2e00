package courtcmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"trialog/checker/court"
	"trialog/cmd/trialog/cli"
)

func runCommand(f courtFlags) *cobra.Command {
	var world string
	var seed uint64
	c := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "make one run of an experiment and judge it",
		Long: `Make one run of an experiment, judge it, and keep it in a directory.

EXPERIMENT is a directory, an experiment.txtar, or the name or number of a directory in experiments.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			one, err := f.load(args[0])
			if err != nil {
				return err
			}
			one.Seed = seed
			return runOne(c, f, world, one)
		},
	}
	f.add(c, "guest", "engine", "cell", "mutant", "out", "json")
	c.Flags().StringVar(&world, "world", "sim", "sim (the simulated OS) or real (processes, sockets, files)")
	c.Flags().Uint64Var(&seed, "seed", 1, "the seed: in the simulated OS one seed is one execution")
	return c
}

func runOne(c *cobra.Command, f courtFlags, world string, one *court.Case) error {
	ctx, cancel := interruptible(c)
	defer cancel()
	w, closeWorld, err := f.world(ctx, c, world)
	if err != nil {
		return err
	}
	defer closeWorld()
	r, err := w.Run(ctx, one)
	if err != nil {
		return err
	}
	if err := r.WriteDir(f.runDir(r)); err != nil {
		return err
	}
	if f.json {
		err = cli.PrintJSON(c.OutOrStdout(), r)
	} else {
		err = printRun(c, r)
	}
	if err != nil {
		return err
	}
	return exitAs(r.Result)
}

func printRun(c *cobra.Command, r *court.Run) error {
	w := c.OutOrStdout()
	fmt.Fprintf(w, "%s %s %s seed %d: %s\n", r.Experiment, r.World, r.Cell, r.Seed, r.Verdict)
	fmt.Fprintf(w, "%d operations; kept in %s\n", r.Operations, r.Dir)
	fmt.Fprintf(w, "report: %s\n", filepath.Join(r.Dir, court.ReportFile))
	if r.TraceHash != "" {
		fmt.Fprintf(w, "trace %s\n", r.TraceHash)
	}
	_, err := fmt.Fprintf(w, "again: %s\n", r.Replay)
	return err
}
