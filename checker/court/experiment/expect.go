package experiment

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"trialog/checker/oracle"
)

// Expectation is what many seeds of one cell, or of one mutant, must show.
type Expectation struct {
	Result  oracle.Result
	Classes []string // of the anomaly: Documented has one; Invalid any of these, or any at all if empty
	Percent int      // Documented: in at least this share of the seeds, the others being valid
	Within  int      // Invalid: at the latest in the run of this count
}

// String is the text that parses to the expectation.
func (x Expectation) String() string {
	switch x.Result {
	case oracle.DocumentedLoss:
		return fmt.Sprintf("documented-loss %s in >= %d%% of seeds", x.Classes[0], x.Percent)
	case oracle.Invalid:
		words := []string{string(x.Result)}
		if len(x.Classes) > 0 {
			words = append(words, strings.Join(x.Classes, ","))
		}
		return fmt.Sprintf("%s within %d seeds", strings.Join(words, " "), x.Within)
	}
	return string(x.Result)
}

var (
	documentedForm = regexp.MustCompile(`^documented-loss (\S+) in >= (\d+)% of seeds$`)
	invalidForm    = regexp.MustCompile(`^invalid(?: (\S+))? within (\d+) seeds$`)
)

// ParseExpectation reads `valid`, `documented-loss CLASS in >= N% of seeds` or `invalid [CLASS,CLASS] within N seeds`.
func ParseExpectation(text string) (Expectation, error) {
	text = strings.Join(strings.Fields(text), " ")
	if text == string(oracle.Valid) {
		return Expectation{Result: oracle.Valid}, nil
	}
	if m := documentedForm.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil && n >= 1 && n <= 100 {
			return Expectation{Result: oracle.DocumentedLoss, Classes: m[1:2], Percent: n}, nil
		}
	}
	if m := invalidForm.FindStringSubmatch(text); m != nil {
		x := Expectation{Result: oracle.Invalid}
		if m[1] != "" {
			x.Classes = strings.Split(m[1], ",")
		}
		if n, err := strconv.Atoi(m[2]); err == nil && n >= 1 {
			x.Within = n
			return x, nil
		}
	}
	return Expectation{}, fmt.Errorf("%q is no expectation: want `valid`, `documented-loss CLASS in >= N%% of seeds` or `invalid [CLASS,...] within N seeds`", text)
}
