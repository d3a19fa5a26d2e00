package court

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Result is the outcome of one run.
type Result string

// The four results. Documented is loss that the configuration is documented to allow, counted apart from Invalid.
const (
	Valid      Result = "valid"
	Invalid    Result = "invalid"
	Documented Result = "documented-loss"
	Unknown    Result = "unknown"
)

// Results in the order of every table.
var Results = []Result{Valid, Documented, Invalid, Unknown}

// Expectation is what many seeds of one cell, or of one mutant, must show.
type Expectation struct {
	Result  Result
	Classes []string // of the anomaly: Documented has one; Invalid any of these, or any at all if empty
	Percent int      // Documented: in at least this share of the seeds, the others being valid
	Within  int      // Invalid: at the latest in the run of this count
}

// String is the text that parses to the expectation.
func (x Expectation) String() string {
	switch x.Result {
	case Documented:
		return fmt.Sprintf("%s %s in >= %d%% of seeds", x.Result, x.Classes[0], x.Percent)
	case Invalid:
		words := []string{string(x.Result)}
		if len(x.Classes) > 0 {
			words = append(words, strings.Join(x.Classes, ","))
		}
		return fmt.Sprintf("%s within %d seeds", strings.Join(words, " "), x.Within)
	}
	return string(x.Result)
}

// ParseExpectation reads `valid`, `documented-loss CLASS in >= N% of seeds` or `invalid [CLASS,CLASS] within N seeds`.
func ParseExpectation(text string) (Expectation, error) {
	bad := fmt.Errorf("%q is no expectation: want `valid`, `documented-loss CLASS in >= N%% of seeds` or `invalid [CLASS,...] within N seeds`", text)
	words := strings.Fields(text)
	if len(words) == 0 {
		return Expectation{}, bad
	}
	x := Expectation{Result: Result(words[0])}
	rest := words[1:]
	var number, tail string
	switch {
	case x.Result == Valid && len(rest) == 0:
		return x, nil
	case x.Result == Documented && len(rest) == 6:
		x.Classes = rest[:1]
		number, tail = strings.TrimSuffix(rest[3], "%"), strings.Join(append([]string{rest[1], rest[2]}, rest[4:]...), " ")
		if tail != "in >= of seeds" || !strings.HasSuffix(rest[3], "%") {
			return x, bad
		}
	case x.Result == Invalid && (len(rest) == 3 || len(rest) == 4):
		if len(rest) == 4 {
			x.Classes = strings.Split(rest[0], ",")
		}
		from := len(rest) - 3
		number = rest[from+1]
		if rest[from] != "within" || rest[from+2] != "seeds" {
			return x, bad
		}
	default:
		return x, bad
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || x.Result == Documented && n > 100 {
		return x, bad
	}
	if x.Result == Documented {
		x.Percent = n
	} else {
		x.Within = n
	}
	return x, nil
}

// Convicts reports whether a verdict is the conviction that is expected of a mutant.
func (x Expectation) Convicts(v *Verdict) bool {
	if x.Result != Invalid || v.Result != Invalid {
		return false
	}
	return len(x.Classes) == 0 || slices.ContainsFunc(v.Findings, func(f Finding) bool {
		return f.Result == Invalid && slices.Contains(x.Classes, f.Class)
	})
}

// Tally counts the results of many runs of one cell. The zero value is ready to use.
type Tally struct {
	Runs          int
	Count         map[Result]int
	Panics        int // runs in which a process of the program panicked
	NotExpressed  int // runs that the world could not express; these are counted nowhere else
	RecordsLost   int // documented loss, summed over the runs
	classMismatch int // documented loss of another class than expected
}

// Add counts one verdict against the expectation.
func (t *Tally) Add(x Expectation, v *Verdict) {
	t.Runs++
	if v.NotExpressible() {
		t.NotExpressed++
		return
	}
	if t.Count == nil {
		t.Count = map[Result]int{}
	}
	t.Count[v.Result]++
	t.RecordsLost += v.RecordsLost
	if len(v.Panics) > 0 {
		t.Panics++
	}
	if v.Result == Documented && x.Result == Documented && !v.Has(x.Classes[0]) {
		t.classMismatch++
	}
}

// Judge says what the tally amounts to under the expectation: Valid if it is met, otherwise Invalid or Unknown with the
// reason. Runs that could not be expressed do not count; a tally of nothing else is met.
func (t *Tally) Judge(x Expectation) (Result, string) {
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
	case t.classMismatch > 0:
		return Invalid, fmt.Sprintf("%d of %d runs without %s among their findings", t.classMismatch, runs, x.Classes[0])
	case t.Count[Unknown] > 0:
		return Unknown, fmt.Sprintf("%d of %d runs undecided", t.Count[Unknown], runs)
	case x.Result == Documented && t.Count[Documented]*100 < x.Percent*runs:
		return Unknown, fmt.Sprintf("loss in %d of %d runs, expected in at least %d%%", t.Count[Documented], runs, x.Percent)
	}
	return Valid, ""
}
