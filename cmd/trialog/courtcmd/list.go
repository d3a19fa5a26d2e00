package courtcmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"trialog/checker/court"
	"trialog/checker/court/experiment"
	"trialog/cmd/trialog/cli"
)

func listCommand(f courtFlags) *cobra.Command {
	var runs string
	c := &cobra.Command{
		Use:   "list",
		Short: "list the experiments: question, cells, last verdict",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := experiment.LoadAll(f.root)
			if err != nil {
				return err
			}
			last := lastVerdicts(runs)
			if f.json {
				return cli.PrintJSON(c.OutOrStdout(), listJSON(all, last))
			}
			return printList(c.OutOrStdout(), all, last)
		},
	}
	f.add(c, "json")
	c.Flags().StringVar(&runs, "runs", "runs", "directory of stored runs")
	return c
}

type cellKey struct{ experiment, cell string }

// lastVerdict is the newest that is known of a cell with every rule on.
type lastVerdict struct {
	text string
	dir  string // of the run; empty for a trial
	at   time.Time
}

// lastVerdicts looks through stored runs and the last trial. What cannot be read is passed over.
func lastVerdicts(dir string) map[cellKey]lastVerdict {
	last := map[cellKey]lastVerdict{}
	note := func(experiment, cell string, v lastVerdict) {
		key := cellKey{experiment, cell}
		if !v.at.Before(last[key].at) {
			last[key] = v
		}
	}
	stored, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, at := range stored {
		if r, err := court.ReadSummary(at); err == nil && len(r.RulesOff) == 0 {
			note(r.Experiment, r.Cell, lastVerdict{fmt.Sprintf("%s (%s, seed %d)", r.Result, r.World, r.Seed), at, r.Written})
		}
	}
	cells, when, err := court.ReadTrial(dir)
	if err != nil {
		return last
	}
	for _, c := range cells {
		if c.Runs > 0 {
			note(c.Experiment, c.Cell, lastVerdict{fmt.Sprintf("%s (%s, %d runs)", c.Verdict, c.World, c.Runs), "", when})
		}
	}
	return last
}

func printList(w io.Writer, all []*experiment.Experiment, last map[cellKey]lastVerdict) error {
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n  %s\n", e.Name, e.Question)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, c := range e.Cells {
			verdict := "not tried"
			if v, ok := last[cellKey{e.Name, c.Name}]; ok {
				verdict = v.text
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", c.Name, strings.Join(c.Claims, " "), c.Expect, verdict)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "  %d mutants\n", len(e.Mutants))
	}
	return nil
}

type listedExperiment struct {
	Name     string       `json:"name"`
	Question string       `json:"question"`
	Answer   string       `json:"answer"`
	Cells    []listedCell `json:"cells"`
	Mutants  []string     `json:"mutants"`
}

type listedCell struct {
	Name   string   `json:"name"`
	Claims []string `json:"claims"`
	Expect string   `json:"expect"`
	Last   string   `json:"last,omitempty"`
	Dir    string   `json:"dir,omitempty"`
}

func listJSON(all []*experiment.Experiment, last map[cellKey]lastVerdict) []listedExperiment {
	var out []listedExperiment
	for _, e := range all {
		le := listedExperiment{Name: e.Name, Question: e.Question, Answer: e.Answer}
		for _, c := range e.Cells {
			v := last[cellKey{e.Name, c.Name}]
			le.Cells = append(le.Cells, listedCell{c.Name, c.Claims, c.Expect.String(), v.text, v.dir})
		}
		for _, m := range e.Mutants {
			le.Mutants = append(le.Mutants, m.Rule)
		}
		out = append(out, le)
	}
	return out
}
