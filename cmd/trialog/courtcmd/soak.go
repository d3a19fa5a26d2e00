package courtcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"trialog/checker/soak"
	"trialog/cmd/trialog/cli"
)

// soakCommand lets a broker work for hours of virtual time.
func soakCommand(f courtFlags) *cobra.Command {
	var work time.Duration
	var seed uint64
	c := &cobra.Command{
		Use:   "soak",
		Short: "let a broker work for hours of virtual time, and watch its disk and descriptors",
		Long: `Let a broker work in the simulated operating system with retention, and again with compaction; it is killed and loses its
power once a minute in the first half. Exit code 1: a judge convicts it, or it holds on to disk space or descriptors.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runSoak(c, f, work, seed) },
	}
	f.add(c, "guest", "engine", "mutant")
	c.Flags().DurationVar(&work, "work", time.Hour, "virtual time for which the clients work")
	c.Flags().Uint64Var(&seed, "seed", 1, "the seed: one seed is one execution")
	c.Flags().Lookup("experiments").Hidden = true
	return c
}

func runSoak(c *cobra.Command, f courtFlags, work time.Duration, seed uint64) error {
	ctx, cancel := interruptible(c)
	defer cancel()
	off, err := knownRules(f.rules)
	if err != nil {
		return err
	}
	sim, err := f.sim(ctx, c)
	if err != nil {
		return err
	}
	defer sim.Close(context.WithoutCancel(ctx))
	cells, err := soak.Cells()
	if err != nil {
		return err
	}
	failed := false
	for _, cell := range cells {
		r, err := soak.Run(ctx, soak.Options{Sim: sim, Work: work, Seed: seed, RulesOff: off}, cell)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout(), r)
		failed = failed || r.Problem() != ""
	}
	if failed {
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}
