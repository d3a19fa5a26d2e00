package court

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	Experiment string
	World      string
	Cell       *experiment.Cell
	RulesOff   []string
	Tally      Tally
}

// MutantRow is one rule switched off.
type MutantRow struct {
	Experiment string
	Rule       string
	Expect     experiment.Expectation
	Tried      int  // runs until it was convicted, or in vain
	Panics     int  // of these, in which a process panicked
	Run        *Run // that convicts; nil: none did

	// Cell is Run's, and Sound the sound program in it under the same seed: it must be as the cell expects, or the rule
	// that is off is not the reason of the conviction. Both are nil without Run.
	Cell  *experiment.Cell
	Sound *Run
}

// Result of the whole trial: Invalid if anything is, else Unknown if anything is, or if nothing at all was run, else
// Valid. A mutant that nobody convicts is Invalid; so is one whose conviction falls on the sound program as well.
func (rep *Report) Result() Result {
	var all []Result
	for i := range rep.Cells {
		if t := &rep.Cells[i].Tally; t.Runs == 0 || t.Runs > t.NotExpressed {
			r, _ := t.Judge(rep.Cells[i].Cell.Expect)
			all = append(all, r)
		}
	}
	for i := range rep.Mutants {
		all = append(all, rep.Mutants[i].result())
	}
	switch {
	case slices.Contains(all, Invalid):
		return Invalid
	case len(all) == 0 || slices.Contains(all, Unknown):
		return Unknown
	}
	return Valid
}

// result of one mutant: Valid if it alone was convicted.
func (row *MutantRow) result() Result {
	switch {
	case row.Run == nil:
		return Invalid
	case !unexpected(row.Cell.Expect, row.Sound.Verdict):
		return Valid
	case row.Sound.Result == Unknown:
		return Unknown
	}
	return Invalid
}

// String is the report as people read it: cells, mutants, and what failed, with the lines that replay it.
func (rep *Report) String() string {
	var b strings.Builder
	cells := [][]string{{"EXP", "WORLD", "CELL", "RUNS", "VERDICT", "PANICS"}}
	for i := range rep.Cells {
		cells = append(cells, rep.Cells[i].columns())
	}
	mutants := [][]string{{"EXP", "MUTANT", "CONVICTED AT", "RUNS", "JUDGE", "PANICS"}}
	if rep.EveryJudge {
		mutants = [][]string{{"EXP", "MUTANT", "CONVICTED AT", "RUNS", "ORACLE", "LINEAR", "PANICS", "SOUND PROGRAM"}}
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
	if b.Len() == 0 {
		b.WriteString("nothing was run\n")
	}
	for _, r := range rep.Failed {
		fmt.Fprintf(&b, "\n%s %s seed %d: %s\n  kept in %s; again with: %s\n", r.World, r.Cell, r.Seed, r.Verdict.brief(), r.Dir, r.Replay)
	}
	return b.String()
}

func (row *CellRow) columns() []string {
	t := &row.Tally
	runs, panics := fmt.Sprint(t.Runs-t.NotExpressed), fmt.Sprint(t.Panics)
	if t.Runs == t.NotExpressed {
		runs, panics = "-", "-"
	}
	return []string{number(row.Experiment), row.World, row.Cell.Name, runs, row.verdict(), panics}
}

// verdict is what the row amounts to, in words; what is not as expected is in capitals.
func (row *CellRow) verdict() string {
	t := &row.Tally
	result, reason := t.Judge(row.Cell.Expect)
	switch {
	case reason == notExpressible:
		return notExpressible
	case result != Valid:
		return strings.ToUpper(string(result)) + ": " + reason
	case row.Cell.Expect.Result == Documented:
		return fmt.Sprintf("documented loss in %d runs, %d records", t.Count[Documented], t.RecordsLost)
	}
	return string(Valid)
}

// number is the short name of an experiment: 001.
func number(experiment string) string {
	short, _, _ := strings.Cut(experiment, "-")
	return short
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
		return []string{number(row.Experiment), row.Rule, at, tried, oracle, linear, panics, sound}
	}
	return []string{number(row.Experiment), row.Rule, at, tried, judge, panics}
}

// CellSummary is a row of a stored trial.
type CellSummary struct {
	Experiment string         `json:"experiment"`
	World      string         `json:"world"`
	Cell       string         `json:"cell"`
	RulesOff   []string       `json:"rules_off,omitempty"`
	Expect     string         `json:"expect"`
	Runs       int            `json:"runs"`
	Results    map[Result]int `json:"results"`
	Lost       int            `json:"records_lost,omitempty"`
	Panics     int            `json:"panics"`
	Verdict    string         `json:"verdict"`
}

type mutantJSON struct {
	Experiment string `json:"experiment"`
	Rule       string `json:"rule"`
	Expect     string `json:"expect"`
	Runs       int    `json:"runs"`
	Panics     int    `json:"panics"`
	Convicted  *Run   `json:"convicted"` // null: nobody convicted it
	Judge      string `json:"judge,omitempty"`
	Class      string `json:"class,omitempty"`
	Sound      Result `json:"sound,omitempty"`
}

// MarshalJSON is the report for programs.
func (rep *Report) MarshalJSON() ([]byte, error) {
	out := struct {
		Result  Result        `json:"result"`
		Cells   []CellSummary `json:"cells"`
		Mutants []mutantJSON  `json:"mutants"`
		Failed  []*Run        `json:"failed"`
	}{rep.Result(), []CellSummary{}, []mutantJSON{}, rep.Failed}
	for i := range rep.Cells {
		row := &rep.Cells[i]
		t := &row.Tally
		out.Cells = append(out.Cells, CellSummary{row.Experiment, row.World, row.Cell.Name, row.RulesOff, row.Cell.Expect.String(),
			t.Runs - t.NotExpressed, t.Count, t.RecordsLost, t.Panics, row.verdict()})
	}
	for i := range rep.Mutants {
		row := &rep.Mutants[i]
		m := mutantJSON{Experiment: row.Experiment, Rule: row.Rule, Expect: row.Expect.String(), Runs: row.Tried, Panics: row.Panics, Convicted: row.Run}
		if row.Run != nil {
			m.Judge, m.Class = row.Run.Verdict.Judge, row.Run.Verdict.Class
		}
		if row.Sound != nil {
			m.Sound = row.Sound.Result
		}
		out.Mutants = append(out.Mutants, m)
	}
	return compact(out), nil
}

// trialFile keeps the last trial beside the runs.
const trialFile = "trial.json"

// Write stores the report of a whole trial in the directory of the runs.
func (rep *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("court: report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, trialFile), pretty(rep), 0o644); err != nil {
		return fmt.Errorf("court: report: %w", err)
	}
	return nil
}

// ReadTrial reads the cells of the last trial that was stored in the directory of the runs, and when that was.
func ReadTrial(dir string) ([]CellSummary, time.Time, error) {
	file := filepath.Join(dir, trialFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("court: report: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("court: report: %w", err)
	}
	var stored struct {
		Cells []CellSummary `json:"cells"`
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, time.Time{}, fmt.Errorf("court: %s: %w", file, err)
	}
	return stored.Cells, info.ModTime(), nil
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
