package courtcmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"trialog/checker/court"
	"trialog/checker/court/experiment"
	"trialog/cmd/trialog/cli"
)

func trialCommand(f courtFlags) *cobra.Command {
	var seeds int
	c := &cobra.Command{
		Use:   "trial [EXPERIMENT...]",
		Short: "put the broker on trial: real processes, the simulated OS, every safety rule switched off in turn",
		RunE: func(c *cobra.Command, args []string) error {
			if seeds < 0 {
				return fmt.Errorf("trial: --seeds %d is negative", seeds)
			}
			return withTrial(c, &f, args, func(ctx context.Context, t *court.Trial, e *experiment.Experiment, rep *court.Report) error {
				r, err := f.realWorld()
				if err != nil {
					return err
				}
				if err := t.Cells(ctx, r, e, 1, rep); err != nil {
					return err
				}
				if err := t.Cells(ctx, t.Sim, e, seeds, rep); err != nil {
					return err
				}
				if err := t.Mutants(ctx, e, rep); err != nil {
					return err
				}
				return rep.Write(t.Runs)
			})
		},
	}
	f.add(c, "guest", "engine", "json")
	c.Flags().IntVar(&seeds, "seeds", 0, "seeds of each cell (default: what the experiment says)")
	return c
}

func matrixCommand(f courtFlags) *cobra.Command {
	c := &cobra.Command{
		Use:   "matrix [EXPERIMENT...]",
		Short: "every mutant before every judge, and the sound program under the same seed",
		RunE: func(c *cobra.Command, args []string) error {
			return withTrial(c, &f, args, func(ctx context.Context, t *court.Trial, e *experiment.Experiment, rep *court.Report) error {
				return t.Matrix(ctx, e, rep)
			})
		},
	}
	f.add(c, "guest", "engine", "json")
	return c
}

// withTrial opens the simulated OS, does what the command is for with each experiment, and prints the report.
func withTrial(c *cobra.Command, f *courtFlags, names []string,
	do func(context.Context, *court.Trial, *experiment.Experiment, *court.Report) error) error {
	ctx, cancel := interruptible(c)
	defer cancel()
	all, err := f.experiments(names)
	if err != nil {
		return err
	}
	s, err := f.sim(ctx, c)
	if err != nil {
		return err
	}
	defer s.Close(context.WithoutCancel(ctx))
	t := &court.Trial{Sim: s, Runs: "runs", Progress: court.NewProgress(os.Stderr)}
	rep := &court.Report{}
	for _, e := range all {
		if err := do(ctx, t, e, rep); err != nil {
			return err
		}
	}
	if f.json {
		err = cli.PrintJSON(c.OutOrStdout(), rep)
	} else {
		_, err = fmt.Fprint(c.OutOrStdout(), rep)
	}
	if err != nil {
		return err
	}
	return exitAs(rep.Result())
}

// experiments are those named, or all.
func (f *courtFlags) experiments(names []string) ([]*experiment.Experiment, error) {
	if len(names) == 0 {
		all, err := experiment.LoadAll(f.root)
		for _, e := range all {
			if err == nil {
				err = checkMutants(e)
			}
		}
		return all, err
	}
	var all []*experiment.Experiment
	for _, name := range names {
		e, err := f.experiment(name)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
