package court

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/court/experiment"
)

var rewrite = flag.Bool("rewrite", false, "rewrite golden files")

// golden compares text with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *rewrite {
		write(t, "testdata/"+name, got)
	}
	want, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func convicting(rule string) func(*Case) *Verdict {
	return func(c *Case) *Verdict {
		switch {
		case len(c.RulesOff) == 0 && c.Cell.Name == "cut" && c.Seed%2 == 0:
			v := verdict(Documented, "lost-acked")
			v.Lost = 3
			return v
		case len(c.RulesOff) == 1 && c.RulesOff[0] == rule && c.Seed == 5:
			v := verdict(Invalid, "lost-acked")
			v.Judge, v.Class, v.Anomalies[0].Judge = "oracle", "lost-acked", "oracle"
			return v
		case len(c.RulesOff) == 1 && c.Seed == 3:
			v := verdict(Unknown)
			v.Panics = []string{"b1: panic: x"}
			return v
		}
		return verdict(Valid)
	}
}

func TestTrialReport(t *testing.T) {
	c := someCase(t)
	dir := t.TempDir()
	sim := &fake{workers: 2, answer: convicting("seglog.fsync-directory")}
	real := &fake{workers: 1, answer: func(c *Case) *Verdict {
		if c.Cell.Name == "kill" {
			return verdict(Valid)
		}
		v := verdict(Unknown)
		v.Reasons = []string{notExpressible + ": plan.txt:1: powercut b1"}
		return v
	}}
	trial := Trial{Sim: sim, Runs: dir}
	rep := &Report{}
	require.NoError(t, trial.Cells(t.Context(), real, c.Experiment, 1, rep))
	rep.Cells[0].World, rep.Cells[1].World = "real", "real"
	require.NoError(t, trial.Cells(t.Context(), sim, c.Experiment, 0, rep))
	require.NoError(t, trial.Cells(t.Context(), sim, c.Experiment, 10, rep))
	require.NoError(t, trial.Mutants(t.Context(), c.Experiment, rep))
	require.Equal(t, Unknown, rep.Result(), "one seed cannot show the documented loss")
	golden(t, "trial.txt", rep.String())
	golden(t, "trial.json", strings.ReplaceAll(string(pretty(rep)), dir, "RUNS"))
	require.NoError(t, rep.Write(dir))
	cells, _, err := ReadTrial(dir)
	require.NoError(t, err)
	require.Len(t, cells, 6)
	require.Equal(t, "documented loss in 5 runs, 15 records", cells[5].Verdict)
	require.NoError(t, os.Remove(filepath.Join(dir, trialFile)))
	rep.Cells = append(rep.Cells[:3:3], rep.Cells[4:]...)
	require.Equal(t, Valid, rep.Result())

	stored, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, stored, 1, "the convicting run is kept, the others are not")
	run, err := ReadDir(dir + "/" + stored[0].Name())
	require.NoError(t, err)
	require.Equal(t, uint64(5), run.Seed)
}

func TestMatrixReport(t *testing.T) {
	c := someCase(t)
	c.Experiment.Mutants = append(c.Experiment.Mutants, c.Experiment.Mutants[0])
	c.Experiment.Mutants[1].Rule = "replica.visible-after-flush"
	trial := Trial{Sim: &fake{workers: 2, answer: convicting("seglog.fsync-directory")}, Runs: t.TempDir()}
	rep := &Report{}
	require.NoError(t, trial.Matrix(t.Context(), c.Experiment, rep))
	require.Equal(t, Invalid, rep.Result(), "one mutant got away")
	golden(t, "matrix.txt", rep.String())
}

// A conviction is the mutant's only if the sound program is acquitted under the same seed.
func TestAConvictionOfTheSoundProgramIsNoMutants(t *testing.T) {
	for sound, want := range map[Result]Result{Valid: Valid, Invalid: Invalid, Unknown: Unknown} {
		for name, search := range map[string]func(*Trial, *experiment.Experiment, *Report) error{
			"mutants": func(tr *Trial, e *experiment.Experiment, rep *Report) error { return tr.Mutants(t.Context(), e, rep) },
			"matrix":  func(tr *Trial, e *experiment.Experiment, rep *Report) error { return tr.Matrix(t.Context(), e, rep) },
		} {
			c := someCase(t)
			trial := Trial{Runs: t.TempDir(), Sim: &fake{workers: 2, answer: func(c *Case) *Verdict {
				if len(c.RulesOff) > 0 && c.Seed == 5 {
					return verdict(Invalid, "lost-acked")
				}
				return verdict(sound)
			}}}
			rep := &Report{}
			require.NoError(t, search(&trial, c.Experiment, rep))
			require.Equal(t, want, rep.Result(), "%s, sound program %s", name, sound)
			require.Equal(t, sound != Valid, len(rep.Failed) == 1)
		}
	}
}

// What was not run is not passed.
func TestNothingRunIsUnknown(t *testing.T) {
	c := someCase(t)
	none := verdict(Unknown)
	none.Reasons = []string{notExpressible + ": powercut"}
	rep := &Report{}
	require.Equal(t, Unknown, rep.Result())
	require.Equal(t, "nothing was run\n", rep.String())
	row := CellRow{Experiment: "001-small", World: "real", Cell: c.Cell}
	row.Tally.Add(none)
	rep.Cells = append(rep.Cells, row)
	require.Equal(t, Unknown, rep.Result(), "no cell could be expressed")
	row.Tally = Tally{}
	row.Tally.Add(verdict(Valid))
	rep.Cells = append(rep.Cells, row)
	require.Equal(t, Valid, rep.Result(), "one of two could")
}

func TestFailingRunsAreKeptWithTheLineThatReplaysThem(t *testing.T) {
	c := someCase(t)
	trial := Trial{Runs: t.TempDir()}
	w := &fake{workers: 2, answer: func(c *Case) *Verdict {
		if c.Seed == 4 {
			v := verdict(Invalid, "lost")
			v.Judge, v.Class = "oracle", "lost"
			return v
		}
		return verdict(Valid)
	}}
	n := 0
	rep, err := trial.Swarm(t.Context(), w, c, Seeds{1, 6}, func(*Run) error { n++; return nil })
	require.NoError(t, err)
	require.Equal(t, 6, n, "a failing run does not end the search where no mutant is hunted")
	require.Len(t, rep.Failed, 1)
	require.Equal(t, "trialog run x --world sim --engine wasm --cell kill --seed 4", rep.Failed[0].Replay)
	golden(t, "failed.txt", strings.ReplaceAll(rep.String(), trial.Runs, "RUNS"))

	c.RulesOff = []string{"a.b"}
	rep, err = trial.Swarm(t.Context(), w, c, Seeds{1, 6}, func(*Run) error { return nil })
	require.NoError(t, err)
	require.Equal(t, 4, rep.Cells[0].Tally.Runs, "the first conviction of a mutant ends its search")
	require.Equal(t, "trialog run x --world sim --engine wasm --cell kill --seed 4 --mutant a.b", rep.Failed[0].Replay)
}
