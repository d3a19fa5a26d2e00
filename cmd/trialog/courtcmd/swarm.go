package courtcmd

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"trialog/checker/court"
)

func swarmCommand(f courtFlags) *cobra.Command {
	var seeds, world string
	var jobs int
	c := &cobra.Command{
		Use:   "swarm EXPERIMENT",
		Short: "run many seeds of a cell, on all cores",
		Long: `Run many seeds of one cell, on all cores. Runs that are not as the cell expects are kept under runs, with the
line that replays each. With --mutant the search ends at the first conviction.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if jobs < 0 {
				return fmt.Errorf("swarm: --jobs %d is negative", jobs)
			}
			one, err := f.load(args[0])
			if err != nil {
				return err
			}
			span, err := court.ParseSeeds(seeds)
			if err != nil {
				return err
			}
			return runSwarm(c, f, world, one, span, jobs)
		},
	}
	f.add(c, "guest", "engine", "cell", "mutant", "json")
	c.Flags().StringVar(&world, "world", "sim", "sim or real")
	c.Flags().StringVar(&seeds, "seeds", "1..20", "A..B, both included")
	c.Flags().IntVar(&jobs, "jobs", 0, "simulated worlds at the same time (default: one for each core)")
	return c
}

func runSwarm(c *cobra.Command, f courtFlags, world string, one *court.Case, span court.Seeds, jobs int) error {
	ctx, cancel := interruptible(c)
	defer cancel()
	w, closeWorld, err := f.world(ctx, c, world)
	if err != nil {
		return err
	}
	defer closeWorld()
	if s, ok := w.(*court.Sim); ok && jobs > 0 {
		s.Parallel = jobs
	}
	t := court.Trial{Sim: w, Runs: "runs", Progress: court.NewProgress(os.Stderr)}
	out := json.NewEncoder(c.OutOrStdout())
	rep, err := t.Swarm(ctx, w, one, span, func(r *court.Run) error {
		if !f.json {
			return nil
		}
		return out.Encode(r)
	})
	if err != nil {
		return err
	}
	if !f.json {
		fmt.Fprint(c.OutOrStdout(), rep)
	}
	return exitAs(rep.Result())
}
