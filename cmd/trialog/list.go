//go:build !guest

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"trialog/checker/court"
	"trialog/checker/court/experiment"
)

func init() { commands = append(commands, listCommand) }

func listCommand() *cobra.Command {
	var f courtFlags
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
			last := lastRuns(runs)
			if f.json {
				return printJSON(c.OutOrStdout(), listJSON(all, last))
			}
			return printList(c.OutOrStdout(), all, last)
		},
	}
	f.add(c, "json")
	c.Flags().StringVar(&runs, "runs", "runs", "directory of stored runs")
	return c
}

type cellKey struct{ experiment, cell string }

// lastRuns finds the newest stored run of each cell with every rule on. Runs that cannot be read are passed over.
func lastRuns(dir string) map[cellKey]court.Stored {
	last := map[cellKey]court.Stored{}
	stored, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, at := range stored {
		r, err := court.ReadSummary(at)
		if err != nil || len(r.RulesOff) > 0 {
			continue
		}
		key := cellKey{r.Experiment, r.Cell}
		if have, ok := last[key]; !ok || r.Written.After(have.Written) {
			last[key] = r
		}
	}
	return last
}

func printList(w io.Writer, all []*experiment.Experiment, last map[cellKey]court.Stored) error {
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n  %s\n", e.Name, e.Question)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, c := range e.Cells {
			verdict := "no stored run"
			if r, ok := last[cellKey{e.Name, c.Name}]; ok {
				verdict = fmt.Sprintf("%s (%s, seed %d)", r.Result, r.World, r.Seed)
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

func listJSON(all []*experiment.Experiment, last map[cellKey]court.Stored) []listedExperiment {
	var out []listedExperiment
	for _, e := range all {
		le := listedExperiment{Name: e.Name, Question: e.Question, Answer: e.Answer}
		for _, c := range e.Cells {
			r := last[cellKey{e.Name, c.Name}]
			le.Cells = append(le.Cells, listedCell{c.Name, c.Claims, c.Expect.String(), string(r.Result), r.Dir})
		}
		for _, m := range e.Mutants {
			le.Mutants = append(le.Mutants, m.Rule)
		}
		out = append(out, le)
	}
	return out
}
