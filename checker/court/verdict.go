package court

import (
	"fmt"
	"slices"
	"strings"

	"trialog/checker/court/experiment"
	"trialog/checker/oracle"
)

// Result is the outcome of one run.
type Result = oracle.Result

// The four results. Documented is loss that the configuration is documented to allow, counted apart from Invalid.
const (
	Valid      = oracle.Valid
	Invalid    = oracle.Invalid
	Documented = oracle.DocumentedLoss
	Unknown    = oracle.Unknown
)

// Results in the order of every table.
var Results = []Result{Valid, Documented, Invalid, Unknown}

// Verdict is what the judges found in one run, with what the court itself knows.
type Verdict struct {
	oracle.Verdict
	Panics []string `json:"panics,omitempty"` // processes of the program that panicked: a column of its own
}

const notExpressible = "not expressible"

// NotExpressible reports that the world could not run the plan.
func (v *Verdict) NotExpressible() bool {
	return slices.ContainsFunc(v.Reasons, func(r string) bool { return strings.HasPrefix(r, notExpressible) })
}

// classOf is the first class that a judge convicts for; "-" if it does not.
func (v *Verdict) classOf(judge string) string {
	for _, a := range v.Anomalies {
		if a.Judge == judge && !a.Documented {
			return a.Class
		}
	}
	return "-"
}

// doubt adds reasons why the run decides nothing. An anomaly stays one, whatever else is unknown.
func (v *Verdict) doubt(reasons ...string) {
	v.Reasons = counted(append(v.Reasons, reasons...))
	if len(v.Reasons) > 0 && v.Result != Invalid {
		v.Result = Unknown
	}
}

// counted lists equal reasons once, with their number, in the order of the first of each.
func counted(reasons []string) []string {
	times := map[string]int{}
	var list []string
	for _, r := range reasons {
		if times[r]++; times[r] == 1 {
			list = append(list, r)
		}
	}
	for i, r := range list {
		if times[r] > 1 {
			list[i] = fmt.Sprintf("%s (%d times)", r, times[r])
		}
	}
	return list
}

// String is the verdict as people read it, with its witnesses.
func (v *Verdict) String() string {
	text := strings.TrimRight(v.Verdict.String(), "\n")
	for _, p := range v.Panics {
		text += "\n  panic: " + p
	}
	return text
}

// brief is the verdict in one line.
func (v *Verdict) brief() string {
	line, _, _ := strings.Cut(v.Verdict.String(), "\n")
	for _, more := range [][]string{v.Panics, v.Reasons} {
		if len(more) > 0 {
			line += "; " + more[0]
		}
	}
	return line
}

// ExitCode of a command that ends with this result.
func ExitCode(r Result) int {
	switch r {
	case Valid, Documented:
		return 0
	case Invalid:
		return 1
	}
	return 2
}

// Convicts reports whether a verdict is the conviction that is expected of a mutant.
func Convicts(x experiment.Expectation, v *Verdict) bool {
	if x.Result != Invalid || v.Result != Invalid {
		return false
	}
	return len(x.Classes) == 0 || slices.ContainsFunc(v.Anomalies, func(a oracle.Anomaly) bool {
		return !a.Documented && slices.Contains(x.Classes, a.Class)
	})
}

// Tally counts the results of many runs of one cell. The zero value is ready to use.
type Tally struct {
	Runs         int
	Count        map[Result]int
	Panics       int // runs in which a process of the program panicked
	NotExpressed int // runs that the world could not express; these are counted nowhere else
	RecordsLost  int // documented loss, summed over the runs
}

// Add counts one verdict.
func (t *Tally) Add(v *Verdict) {
	t.Runs++
	if v.NotExpressible() {
		t.NotExpressed++
		return
	}
	if t.Count == nil {
		t.Count = map[Result]int{}
	}
	t.Count[v.Result]++
	t.RecordsLost += v.Lost
	if len(v.Panics) > 0 {
		t.Panics++
	}
}

// Judge says what the tally amounts to under the expectation: Valid if it is met, otherwise Invalid or Unknown with the
// reason. Runs that could not be expressed do not count; a tally of nothing else is met.
func (t *Tally) Judge(x experiment.Expectation) (Result, string) {
	runs := t.Runs - t.NotExpressed
	switch {
	case runs == 0 && t.NotExpressed > 0:
		return Valid, notExpressible
	case runs == 0:
		return Unknown, "no run"
	case t.Count[Invalid] > 0:
		return Invalid, fmt.Sprintf("%d of %d runs invalid", t.Count[Invalid], runs)
	case t.Count[Documented] > 0 && x.Result != Documented:
		return Invalid, fmt.Sprintf("%d of %d runs lost records where no loss is documented", t.Count[Documented], runs)
	case t.Count[Unknown] > 0:
		return Unknown, fmt.Sprintf("%d of %d runs undecided", t.Count[Unknown], runs)
	case x.Result == Documented && t.Count[Documented]*100 < x.Percent*runs:
		return Unknown, fmt.Sprintf("loss in %d of %d runs, expected in at least %d%%", t.Count[Documented], runs, x.Percent)
	}
	return Valid, ""
}
