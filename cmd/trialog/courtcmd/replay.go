package courtcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"trialog/checker/court"
	"trialog/cmd/trialog/cli"
	"trialog/netsim/engine"
)

func replayCommand(f courtFlags) *cobra.Command {
	var until string
	c := &cobra.Command{
		Use:   "replay RUN_DIR",
		Short: "do a stored run again and compare",
		Long: `Do a stored run again. In the simulated OS the trace must be the same to the last bit; where it is not, the first
difference is named; so is a stored file that is not what the run gave. --until prints what happened up to a time (4.5s) or up to the first line that contains the text
given ("truncate", "c2-17", "kill b1").`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runReplay(c, f, args[0], until) },
	}
	f.add(c, "guest")
	c.Flags().StringVar(&until, "until", "", "print the run up to this time or text")
	return c
}

func runReplay(c *cobra.Command, f courtFlags, dir, until string) error {
	stored, err := court.ReadDir(dir)
	if err != nil {
		return err
	}
	again, err := stored.Case()
	if err != nil {
		return err
	}
	ctx, cancel := interruptible(c)
	defer cancel()
	w, closeWorld, err := f.replayWorld(ctx, c, stored)
	if err != nil {
		return err
	}
	defer closeWorld()
	now, err := w.Run(ctx, again)
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	if until != "" {
		if err := printUntil(out, now, until); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s %s %s seed %d: %s\n", now.Experiment, now.World, now.Cell, now.Seed, now.Verdict)
	s, simulated := w.(*court.Sim)
	if !simulated {
		fmt.Fprintln(out, "a real run: nothing to compare it with")
		return exitAs(now.Result)
	}
	if now.TraceHash == stored.TraceHash {
		if what := court.Altered(stored, now); what != "" {
			return cli.Exit(cli.Usage, fmt.Errorf("replay: trace %s as stored, but %s", now.TraceHash, what))
		}
		fmt.Fprintf(out, "trace %s, as stored\n", now.TraceHash)
		return exitAs(now.Result)
	}
	why, err := diverged(ctx, s, again, stored, now)
	return cli.Exit(cli.Usage, errors.Join(errors.New(why), err))
}

// replayWorld opens the world of a stored run, with the engine that made it; another guest than the stored one is a
// warning.
func (f *courtFlags) replayWorld(ctx context.Context, c *cobra.Command, stored *court.Run) (court.World, func(), error) {
	if stored.World != "sim" {
		return f.world(ctx, c, stored.World)
	}
	s, err := f.openSim(ctx, c, cmp.Or(stored.Engine, engine.Wasm), "") // before there were two, it was wasm
	if err != nil {
		return nil, nil, err
	}
	if s.Source() != stored.Guest {
		fmt.Fprintf(c.ErrOrStderr(), "warning: %s is built from another source than the stored run's guest; the run may differ\n", s.File())
	}
	if stored.TraceVersion != court.TraceVersion {
		fmt.Fprintf(c.ErrOrStderr(), "warning: the trace of the stored run is of version %d, this simulator's of %d: they differ in any case\n",
			stored.TraceVersion, court.TraceVersion)
	}
	return s, func() { s.Close(context.WithoutCancel(ctx)) }, nil
}

func printUntil(w io.Writer, r *court.Run, until string) error {
	all, err := r.Timeline()
	if err != nil {
		return err
	}
	part, err := court.Until(all, until)
	if err != nil {
		return err
	}
	for _, m := range part {
		if _, err := fmt.Fprintln(w, m); err != nil {
			return err
		}
	}
	return nil
}

// diverged says how a replay differs from the stored run, and whether two replays differ from each other.
func diverged(ctx context.Context, s *court.Sim, c *court.Case, stored, now *court.Run) (string, error) {
	what := fmt.Sprintf("replay: trace %s, stored %s", now.TraceHash, stored.TraceHash)
	diff, err := court.Difference(stored, now)
	if err != nil {
		return what, err
	}
	if diff == "" {
		diff = "clients, events and faults are the same; the difference is below them"
	}
	what += "\n" + diff
	var traces [2]*os.File
	for i := range traces {
		if traces[i], err = os.CreateTemp("", "trialog-trace-*"); err != nil {
			return what, err
		}
		defer os.Remove(traces[i].Name())
		defer traces[i].Close()
		s.Record = traces[i]
		if _, err := s.Run(ctx, c); err != nil {
			return what, err
		}
		if _, err := traces[i].Seek(0, io.SeekStart); err != nil {
			return what, err
		}
	}
	diff, err = court.FirstDifference(traces[0], traces[1])
	switch {
	case err != nil:
		return what, err
	case diff == "":
		return what + "\ntwo replays agree: the guest or the simulator is not the stored run's", nil
	}
	return what + "\ntwo replays differ, which must never be: " + diff, nil
}
