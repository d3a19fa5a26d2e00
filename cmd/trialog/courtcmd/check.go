package courtcmd

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"trialog/checker/history"
	"trialog/checker/oracle"
	"trialog/cmd/trialog/cli"
	"trialog/core/event"
)

type checkFlags struct {
	promises string
	faults   string
	trueTime bool
	json     bool
}

func checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check HISTORY [EVENTS]",
		Short: "judge any history, of any log",
		Long: `Judge a history: JSON lines as checker/history/SCHEMA.md describes them, from this broker or any other log.
Events of brokers (core/event) sharpen the verdict. A stored run has history.jsonl, events.jsonl and faults.jsonl.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return runCheck(c, f, args) },
	}
	fs := c.Flags()
	fs.StringVar(&f.promises, "promises", "", "what to forgive or demand: documented-loss, retention, holes, compacted, stale-reads, flush-first")
	fs.StringVar(&f.promises, "allow", "", "the same as --promises")
	fs.StringVar(&f.faults, "faults", "", "file with the faults that were injected, as a run directory has it")
	fs.BoolVar(&f.trueTime, "true-time", false, "one clock stamped history, events and faults (a simulated run)")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	return c
}

func runCheck(c *cobra.Command, f checkFlags, files []string) error {
	in, err := f.input(files)
	if err != nil {
		return err
	}
	v := oracle.Judge(in)
	if f.json {
		err = cli.PrintJSON(c.OutOrStdout(), v)
	} else {
		_, err = fmt.Fprint(c.OutOrStdout(), v)
	}
	if err != nil {
		return err
	}
	return exitAs(v.Result)
}

func (f *checkFlags) input(files []string) (oracle.Input, error) {
	in := oracle.Input{TrueTime: f.trueTime}
	var err error
	if in.Promises, err = oracle.ParsePromises(f.promises); err != nil {
		return in, err
	}
	if in.History, err = readHistory(files[0]); err != nil {
		return in, err
	}
	if len(files) > 1 {
		if in.Events, err = readEvents(files[1]); err != nil {
			return in, err
		}
	}
	if f.faults != "" {
		in.Faults, err = readFaults(f.faults)
	}
	return in, err
}

func readHistory(file string) ([]history.Op, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer r.Close()
	ops, err := history.Read(r)
	if err != nil {
		return nil, fmt.Errorf("check: %s: %w", file, err)
	}
	return ops, nil
}

func readEvents(file string) ([]event.Event, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer r.Close()
	return event.ReadAll(file, r)
}

func readFaults(file string) ([]oracle.Fault, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer r.Close()
	return oracle.ReadFaults(file, r)
}
