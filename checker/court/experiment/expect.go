package experiment

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"trialog/checker/oracle"
)

// Expectation is what many seeds of one cell, or of one mutant, must show.
type Expectation struct {
	Result  oracle.Result
	Classes []string // Documented: Unflushed. Invalid: any of these (see oracle.Classes), or any at all if empty
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

// Unflushed is the one class of documented loss: what follows from losing records that were never flushed. They are
// missing although acknowledged or read, their offsets are given to others, the end offset goes back.
const Unflushed = "unflushed"

var (
	documentedForm = regexp.MustCompile(`^documented-loss (\S+) in >= (\d+)% of seeds$`)
	invalidForm    = regexp.MustCompile(`^invalid(?: (\S+))? within (\d+) seeds$`)
)

// ParseExpectation reads `valid`, `documented-loss unflushed in >= N% of seeds` or `invalid [CLASS,CLASS] within N seeds`.
func ParseExpectation(text string) (Expectation, error) {
	text = strings.Join(strings.Fields(text), " ")
	if text == string(oracle.Valid) {
		return Expectation{Result: oracle.Valid}, nil
	}
	if m := documentedForm.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil && n >= 1 && n <= 100 && m[1] == Unflushed {
			return Expectation{Result: oracle.DocumentedLoss, Classes: m[1:2], Percent: n}, nil
		}
	}
	if m := invalidForm.FindStringSubmatch(text); m != nil {
		x := Expectation{Result: oracle.Invalid}
		if m[1] != "" {
			x.Classes = strings.Split(m[1], ",")
			for _, class := range x.Classes {
				if !slices.ContainsFunc(oracle.Classes, func(d oracle.ClassDoc) bool { return d.Class == class }) {
					return x, fmt.Errorf("%q names no class of anomaly: %s", text, class)
				}
			}
		}
		if n, err := strconv.Atoi(m[2]); err == nil && n >= 1 {
			x.Within = n
			return x, nil
		}
	}
	return Expectation{}, fmt.Errorf("%q is no expectation: want `valid`, `documented-loss unflushed in >= N%% of seeds` or `invalid [CLASS,...] within N seeds`", text)
}
