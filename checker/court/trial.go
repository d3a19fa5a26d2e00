package court

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"trialog/checker/court/experiment"
)

// Trial puts experiments on trial: every cell in every world, and every mutant until it is convicted.
type Trial struct {
	Sim      World
	Real     World  // nil: not tried
	RealRuns int    // of each cell, in the real world
	Runs     string // where directories of failing and convicting runs go
	Command  string // how a line that replays a run begins
	Progress *Progress
	// EveryJudge lets each judge speak about mutants, not only the first that convicts.
	EveryJudge bool
}

// firstSeed of a trial.
const firstSeed = 1

// Cells tries every cell of an experiment in a world. seeds overrides how many a cell asks for, if positive.
func (t *Trial) Cells(ctx context.Context, w World, e *experiment.Experiment, seeds int, rep *Report) error {
	for i := range e.Cells {
		cell := &e.Cells[i]
		n := cell.Seeds
		if seeds > 0 {
			n = seeds
		}
		one := &Case{Experiment: e, Cell: cell}
		if err := t.many(ctx, w, one, Seeds{firstSeed, firstSeed + uint64(n) - 1}, rep, func(*Run) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// Swarm runs many seeds of one case's cell and rules. With rules off it ends at the first conviction.
func (t *Trial) Swarm(ctx context.Context, w World, one *Case, seeds Seeds, each func(*Run) error) (*Report, error) {
	rep := &Report{}
	return rep, t.many(ctx, w, one, seeds, rep, each)
}

// many adds a row to the report, and keeps the runs that are not as expected.
func (t *Trial) many(ctx context.Context, w World, one *Case, seeds Seeds, rep *Report, each func(*Run) error) error {
	row := CellRow{Experiment: one.Experiment.Name, World: w.Name(), Cell: one.Cell, RulesOff: one.RulesOff}
	t.Progress.Begin(w.Name()+" "+one.Cell.Name, seeds.Len())
	defer t.Progress.End()
	var failed error
	err := Swarm(ctx, w, seeds.Cases(one.Experiment, one.Cell, one.RulesOff), func(c *Case, r *Run) bool {
		t.Progress.Done(r.Result)
		row.Tally.Add(r.Verdict)
		if unexpected(one.Cell.Expect, r.Verdict) {
			rep.Failed = append(rep.Failed, r)
			failed = t.keep(r)
		}
		if failed == nil {
			failed = each(r)
		}
		convicted := len(one.RulesOff) > 0 && r.Result == Invalid
		return failed == nil && !convicted && !r.Verdict.NotExpressible()
	})
	rep.Cells = append(rep.Cells, row)
	return errors.Join(err, failed)
}

// unexpected reports a run that a cell's expectation does not allow.
func unexpected(x experiment.Expectation, v *Verdict) bool {
	var one Tally
	one.Add(v)
	x.Percent = 0
	result, _ := one.Judge(x)
	return result != Valid
}

// Mutants searches every mutant of an experiment for a conviction, in the simulator.
func (t *Trial) Mutants(ctx context.Context, e *experiment.Experiment, rep *Report) error {
	for i := range e.Mutants {
		row, err := t.mutant(ctx, e, &e.Mutants[i])
		if err != nil {
			return err
		}
		if row.Run != nil {
			if err := t.control(ctx, e, &row, rep); err != nil {
				return err
			}
		}
		rep.Mutants = append(rep.Mutants, row)
	}
	return nil
}

// Matrix is Mutants with every judge speaking.
func (t *Trial) Matrix(ctx context.Context, e *experiment.Experiment, rep *Report) error {
	rep.EveryJudge = true
	each := *t
	each.EveryJudge = true
	return each.Mutants(ctx, e, rep)
}

func (t *Trial) mutant(ctx context.Context, e *experiment.Experiment, m *experiment.Mutant) (MutantRow, error) {
	row := MutantRow{Experiment: e.Name, Rule: m.Rule, Expect: m.Expect}
	t.Progress.Begin("without "+m.Rule, m.Expect.Within)
	defer t.Progress.End()
	err := Swarm(ctx, t.Sim, t.search(e, m), func(c *Case, r *Run) bool {
		t.Progress.Done(r.Result)
		row.Tried++
		if len(r.Verdict.Panics) > 0 {
			row.Panics++
		}
		if Convicts(m.Expect, r.Verdict) {
			row.Run, row.Cell = r, c.Cell
		}
		return row.Run == nil
	})
	if err != nil {
		return row, err
	}
	if row.Run != nil {
		return row, t.keep(row.Run)
	}
	return row, nil
}

// control runs the sound program where a mutant was convicted.
func (t *Trial) control(ctx context.Context, e *experiment.Experiment, row *MutantRow, rep *Report) (err error) {
	row.Sound, err = t.Sim.Run(ctx, &Case{Experiment: e, Cell: row.Cell, Seed: row.Run.Seed, EveryJudge: t.EveryJudge})
	if err != nil || !unexpected(row.Cell.Expect, row.Sound.Verdict) {
		return err
	}
	rep.Failed = append(rep.Failed, row.Sound)
	return t.keep(row.Sound)
}

// search spreads the seeds that a mutant is granted over its cells, the likeliest first.
func (t *Trial) search(e *experiment.Experiment, m *experiment.Mutant) iter.Seq[*Case] {
	each := max(1, m.Expect.Within/len(m.Cells))
	return func(yield func(*Case) bool) {
		for _, name := range m.Cells {
			cell, err := e.Cell(name)
			if err != nil {
				panic(fmt.Sprintf("court: mutant %s: %v", m.Rule, err)) // the parser has looked
			}
			for c := range (Seeds{firstSeed, firstSeed + uint64(each) - 1}).Cases(e, cell, []string{m.Rule}) {
				c.EveryJudge = t.EveryJudge
				if !yield(c) {
					return
				}
			}
		}
	}
}

// keep stores the directory of a run.
func (t *Trial) keep(r *Run) error { return r.WriteDir(filepath.Join(t.Runs, r.ID)) }
