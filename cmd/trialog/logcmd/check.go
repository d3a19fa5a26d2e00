package logcmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/seglog/inspect"
)

type checkFlags struct {
	deep, all, json bool
}

func checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check DIR...",
		Short: "hold a log directory, or one partition, to every invariant of its files",
		Long: `Check an entry of log.dirs, or the directory of one partition: the CRC of every batch, offsets and epochs in order,
indexes that point where they should, snapshots and transaction indexes that say what the batches say, checkpoints that fit.

Each line is a level, a file, a position in it, and a reason. Damage is what no crash explains: it lies below the recovery
point, or the directory was stopped cleanly. What a crash may leave behind is called recoverable, and the next start settles
it; of a running broker there is always some. Exit code 1 if there is damage.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.OutOrStdout(), args) },
	}
	fs := c.Flags()
	fs.BoolVar(&f.deep, "deep", false, "decompress every batch and parse its records, too")
	fs.BoolVar(&f.all, "all", false, "print notes, too: what is worth knowing and not wrong")
	fs.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	return c
}

func (f *checkFlags) run(w io.Writer, dirs []string) error {
	damaged := false
	for _, dir := range dirs {
		r, err := inspect.Check(dir, inspect.Options{Deep: f.deep})
		if printed := f.print(w, dir, r, err == nil); printed != nil {
			return printed
		}
		if err != nil {
			return err
		}
		damaged = damaged || r.Count(inspect.Damage) > 0
	}
	if damaged {
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}

// checked is the last line for programs.
type checked struct {
	Dir         string `json:"dir"`
	Partitions  int    `json:"partitions"`
	Files       int    `json:"files"`
	Batches     int64  `json:"batches"`
	Bytes       int64  `json:"bytes"`
	Damage      int    `json:"damage"`
	Recoverable int    `json:"recoverable"`
	Notes       int    `json:"notes"`
	// Incomplete: the check met an error of the file system, and what it did not come to may be anything.
	Incomplete bool `json:"incomplete,omitempty"`
}

func (f *checkFlags) print(w io.Writer, dir string, r *inspect.Report, complete bool) error {
	for _, finding := range r.Findings {
		if finding.Level == inspect.Note && !f.all {
			continue
		}
		var err error
		if f.json {
			err = cli.PrintJSON(w, finding)
		} else {
			_, err = fmt.Fprintln(w, finding)
		}
		if err != nil {
			return err
		}
	}
	sum := checked{
		dir, r.Partitions, r.Files, r.Batches, r.Bytes, r.Count(inspect.Damage), r.Count(inspect.Recoverable), r.Count(inspect.Note), !complete,
	}
	if f.json {
		return cli.PrintJSON(w, sum)
	}
	_, err := fmt.Fprintf(w, "%s: %d partitions, %d files, %d batches, %d bytes: %s\n", dir, sum.Partitions, sum.Files, sum.Batches, sum.Bytes, sum.verdict())
	return err
}

func (s *checked) verdict() string {
	word := "sound"
	if s.Incomplete {
		word = "not checked to the end"
	}
	if s.Damage+s.Recoverable+s.Notes == 0 {
		return word
	}
	if s.Damage > 0 {
		word = "damaged"
	} else if s.Recoverable > 0 && !s.Incomplete {
		word = "to be recovered"
	}
	return fmt.Sprintf("%s (%d damage, %d recoverable, %d notes)", word, s.Damage, s.Recoverable, s.Notes)
}
