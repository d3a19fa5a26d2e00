package explorecmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"trialog/checker/explore"
	"trialog/cmd/trialog/cli"
)

// tableColumns is what stands above the rows of a table of searches.
const tableColumns = "when"

// row is a line of a table: a search and what it gave.
type row struct {
	text    string // of a line that is no row: as it stands
	when    string // ci: short enough to be repeated with every change; long
	found   found
	seconds string
	command string
}

// found is what must come out again. Depth is that of an exhausted search, the length of the counterexample otherwise.
type found struct {
	verdict  string // exhausted, or the invariant that is violated; "?" before the first time
	distinct uint64
	depth    int
}

func tableCommand() *cobra.Command {
	var fill, short bool
	c := &cobra.Command{
		Use:   "table FILE",
		Short: "repeat the searches of a table, and compare",
		Long: `A table has a search on each line: when it is repeated (ci or long), what came out (exhausted, or the invariant that is
violated), how many states, the depth or the number of steps, seconds, and the command. Every row is searched again and
must give the same; the seconds may differ. With --fill, rows with a ? in place of the outcome are searched instead, and
written down as soon as they are done: an interrupted table goes on where it was.`,
		Example: `  trialog explore table checker/worlds/bounds.txt --ci
  trialog explore table checker/worlds/bounds.txt --fill`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			t, err := readTable(args[0])
			if err != nil {
				return err
			}
			if fill {
				return t.fill(ctx, c.OutOrStdout())
			}
			return t.check(ctx, c.OutOrStdout(), short)
		},
	}
	c.Flags().BoolVar(&fill, "fill", false, "search the rows without an outcome, and write it down")
	c.Flags().BoolVar(&short, "ci", false, "only the rows that are marked ci")
	return c
}

// table is a file of rows.
type table struct {
	path string
	rows []row
}

func readTable(path string) (*table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &table{path: path}
	searches := false
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		r, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		t.rows = append(t.rows, r)
		searches = searches || r.command != ""
	}
	if !searches {
		return nil, fmt.Errorf("%s: no row: want at least one search", path)
	}
	return t, nil
}

func parseRow(line string) (row, error) {
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(words[0], "#") || words[0] == tableColumns {
		return row{text: line}, nil
	}
	if len(words) < 6 || words[0] != "ci" && words[0] != "long" {
		return row{}, fmt.Errorf("%q: want ci or long, outcome, states, depth, seconds and a command", line)
	}
	r := row{when: words[0], seconds: words[4], command: strings.Join(words[5:], " ")}
	r.found.verdict = words[1]
	if words[1] == "?" {
		return r, nil
	}
	var err error
	if r.found.distinct, err = strconv.ParseUint(words[2], 10, 64); err != nil {
		return row{}, fmt.Errorf("states %q: want a number", words[2])
	}
	if r.found.depth, err = strconv.Atoi(words[3]); err != nil {
		return row{}, fmt.Errorf("depth %q: want a number", words[3])
	}
	return r, nil
}

// String is the row as it stands in the file.
func (r *row) String() string {
	switch {
	case r.command == "":
		return r.text
	case r.found.verdict == "?":
		return fmt.Sprintf("%-5s %-14s %10s %6s %8s  %s", r.when, "?", "-", "-", "-", r.command)
	}
	return fmt.Sprintf("%-5s %-14s %10d %6d %8s  %s", r.when, r.found.verdict, r.found.distinct, r.found.depth, r.seconds,
		r.command)
}

// search does what the row says.
func (r *row) search(ctx context.Context) (found, string, error) {
	var out bytes.Buffer
	c := Command()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append(strings.Fields(r.command), "--json"))
	c.SetOut(&out)
	c.SetErr(io.Discard)
	if code, err := cli.CodeOf(c.ExecuteContext(ctx)); err != nil || code == cli.Usage {
		return found{}, "", fmt.Errorf("%s: %w", r.command, err)
	}
	var result explore.Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil || result.Verdict == "" {
		return found{}, "", fmt.Errorf("%s: not a search: a table has no walks, graphs or steps by hand", r.command)
	}
	f := found{verdict: "exhausted", distinct: result.Distinct, depth: result.Depth}
	switch result.Verdict {
	case explore.NotExhausted:
		return f, "", cli.Exit(cli.Unknown, fmt.Errorf("%s: not exhausted (%s)", r.command, result.Why))
	case explore.Violated:
		f.verdict, f.depth = result.Violations[0].Invariant, len(result.Violations[0].Steps)-1
	}
	return f, fmt.Sprintf("%.1f", result.Seconds), nil
}

// fill searches what has no outcome yet, and keeps each as soon as it is there. The file is read again before and after each
// search: somebody may write to it meanwhile, another fill or an editor, and nothing of that is lost.
func (t *table) fill(ctx context.Context, out io.Writer) error {
	for done := map[string]bool{}; ; {
		at := t.next(func(r *row) bool { return !done[r.command] })
		if at < 0 {
			return nil
		}
		r := t.rows[at]
		done[r.command] = true
		var err error
		if r.found, r.seconds, err = r.search(ctx); err != nil {
			return err
		}
		if t, err = readTable(t.path); err != nil {
			return err
		}
		same := func(have *row) bool { return have.command == r.command }
		for at := t.next(same); at >= 0; at = t.next(same) {
			t.rows[at].found, t.rows[at].seconds = r.found, r.seconds
		}
		if err := t.write(); err != nil {
			return err
		}
		fmt.Fprintln(out, &r)
	}
}

// next is the first row without an outcome of which this holds, or -1.
func (t *table) next(holds func(*row) bool) int {
	for i := range t.rows {
		if r := &t.rows[i]; r.command != "" && r.found.verdict == "?" && holds(r) {
			return i
		}
	}
	return -1
}

// write replaces the file at once, so that an interruption leaves either. A link stays one, and the file's mode is kept.
func (t *table) write() error {
	path, err := filepath.EvalSymlinks(t.path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := range t.rows {
		b.WriteString(t.rows[i].String() + "\n")
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	_, err = part.WriteString(b.String())
	if err = errors.Join(err, part.Chmod(info.Mode().Perm()), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		os.Remove(part.Name())
	}
	return err
}

// check repeats the searches.
func (t *table) check(ctx context.Context, out io.Writer, short bool) error {
	same, differ, left := 0, 0, 0
	for i := range t.rows {
		r := &t.rows[i]
		switch {
		case r.command == "":
			continue
		case short && r.when != "ci":
			left++
			continue
		case r.found.verdict == "?":
			return fmt.Errorf("%s: no outcome yet of %s: want trialog explore table --fill", t.path, r.command)
		}
		f, seconds, err := r.search(ctx)
		if err != nil {
			return err
		}
		again := *r
		again.found, again.seconds = f, seconds
		fmt.Fprintln(out, &again)
		if f == r.found {
			same++
		} else {
			differ++
			fmt.Fprintf(out, "      differs: the table says %s, %d states, %d\n", r.found.verdict, r.found.distinct, r.found.depth)
		}
	}
	fmt.Fprintf(out, "%d searches as in the table, %d differ, %d left for a long run\n", same, differ, left)
	if differ > 0 {
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}
