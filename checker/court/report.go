package court

import (
	"fmt"
	"strings"

	"trialog/checker/court/experiment"
)

// Report is what a trial found.
type Report struct {
	Cells   []CellRow
	Mutants []MutantRow
	Failed  []*Run // runs that were not as expected, in order
	// EveryJudge: the rows of mutants show each judge.
	EveryJudge bool
}

// CellRow is one cell in one world.
type CellRow struct {
	World    string
	Cell     *experiment.Cell
	RulesOff []string
	Tally    Tally
}

// MutantRow is one rule switched off.
type MutantRow struct {
	Rule   string
	Expect experiment.Expectation
	Tried  int  // runs until it was convicted, or in vain
	Panics int  // of these, in which a process panicked
	Run    *Run // that convicts; nil: none did
	Sound  *Run // the sound program under the same seed; Matrix only
}

// Result of the whole trial: Invalid if anything is, else Unknown if anything is, else Valid.
func (rep *Report) Result() Result {
	worst := Valid
	for i := range rep.Cells {
		switch r, _ := rep.Cells[i].Tally.Judge(rep.Cells[i].Cell.Expect); r {
		case Invalid:
			return Invalid
		case Unknown:
			worst = Unknown
		}
	}
	for i := range rep.Mutants {
		if rep.Mutants[i].Run == nil {
			return Invalid
		}
	}
	return worst
}

// String is the report as people read it: cells, mutants, and what failed, with the lines that replay it.
func (rep *Report) String() string {
	var b strings.Builder
	cells := [][]string{{"WORLD", "CELL", "RUNS", "VERDICT", "PANICS"}}
	for i := range rep.Cells {
		cells = append(cells, rep.Cells[i].columns())
	}
	mutants := [][]string{{"MUTANT", "CONVICTED AT", "RUNS", "JUDGE", "PANICS"}}
	if rep.EveryJudge {
		mutants = [][]string{{"MUTANT", "CONVICTED AT", "RUNS", "ORACLE", "LINEAR", "PANICS", "SOUND PROGRAM"}}
	}
	for i := range rep.Mutants {
		mutants = append(mutants, rep.Mutants[i].columns(rep.EveryJudge))
	}
	if len(rep.Cells) > 0 {
		writeTable(&b, cells)
	}
	if len(rep.Mutants) > 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		writeTable(&b, mutants)
	}
	for _, r := range rep.Failed {
		fmt.Fprintf(&b, "\n%s %s seed %d: %s\n  kept in %s; again with: %s\n", r.World, r.Cell, r.Seed, r.Verdict.brief(), r.Dir, r.Replay)
	}
	return b.String()
}

func (row *CellRow) columns() []string {
	t := &row.Tally
	cols := []string{row.World, row.Cell.Name, fmt.Sprint(t.Runs - t.NotExpressed), "", fmt.Sprint(t.Panics)}
	result, reason := t.Judge(row.Cell.Expect)
	switch {
	case reason == notExpressible:
		cols[2], cols[4] = "-", "-"
		cols[3] = notExpressible
	case result != Valid:
		cols[3] = strings.ToUpper(string(result)) + ": " + reason
	case row.Cell.Expect.Result == Documented:
		cols[3] = fmt.Sprintf("documented loss in %d runs, %d records", t.Count[Documented], t.RecordsLost)
	default:
		cols[3] = string(Valid)
	}
	return cols
}

func (row *MutantRow) columns(everyJudge bool) []string {
	at, judge, oracle, linear, sound := "NEVER", "-", "-", "-", "-"
	if r := row.Run; r != nil {
		at = fmt.Sprintf("%s seed %d", r.Cell, r.Seed)
		judge = fmt.Sprintf("%s: %s", r.Verdict.Judge, r.Verdict.Class)
		oracle, linear = r.Verdict.classOf("oracle"), r.Verdict.classOf("linear")
	}
	if row.Sound != nil {
		sound = string(row.Sound.Result)
	}
	tried, panics := fmt.Sprint(row.Tried), fmt.Sprint(row.Panics)
	if everyJudge {
		return []string{row.Rule, at, tried, oracle, linear, panics, sound}
	}
	return []string{row.Rule, at, tried, judge, panics}
}

// writeTable aligns columns; numbers stand at the right of theirs.
func writeTable(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	number := make([]bool, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	for i, head := range rows[0] {
		number[i] = head == "RUNS" || head == "PANICS"
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			w := width[i]
			if !number[i] {
				w = -w
			}
			fmt.Fprintf(&line, "%*s", w, cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}
