package court

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Verdict is what the judges found in one run.
type Verdict struct {
	Result      Result    `json:"result"`
	Reasons     []string  `json:"reasons,omitempty"` // why Unknown
	Findings    []Finding `json:"findings,omitempty"`
	Judges      []string  `json:"judges"` // those that were heard, in order
	RecordsLost int       `json:"records_lost,omitempty"`
	Panics      []string  `json:"panics,omitempty"` // processes of the program that panicked, with the first line
	Coverage    Coverage  `json:"coverage"`
}

// Coverage tells how much there was to judge.
type Coverage struct {
	Operations int `json:"operations"`
	OK         int `json:"ok"`
	Fail       int `json:"fail"`
	Unknown    int `json:"unknown"`
}

// Finding is one anomaly.
type Finding struct {
	Result    Result            `json:"result"` // Invalid or Documented
	Class     string            `json:"class"`
	Judge     string            `json:"judge"`
	Rule      string            `json:"rule"`
	Sentence  string            `json:"sentence"`
	Witnesses []json.RawMessage `json:"witnesses,omitempty"`
}

const notExpressible = "not expressible"

// NotExpressible reports that the world could not run the plan.
func (v *Verdict) NotExpressible() bool {
	return slices.ContainsFunc(v.Reasons, func(r string) bool { return strings.HasPrefix(r, notExpressible) })
}

// Has reports a finding of the class.
func (v *Verdict) Has(class string) bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Class == class })
}

// settle derives the result: one invalid finding makes the run invalid, whatever else is unknown; a run with a reason to
// doubt is unknown; loss that is documented is that; the rest is valid.
func (v *Verdict) settle() {
	found := func(want Result) bool {
		return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Result == want })
	}
	switch {
	case found(Invalid):
		v.Result = Invalid
	case len(v.Reasons) > 0:
		v.Result = Unknown
	case found(Documented):
		v.Result = Documented
	default:
		v.Result = Valid
	}
}

// String is the verdict as people read it, of one or more lines.
func (v *Verdict) String() string {
	var b strings.Builder
	b.WriteString(string(v.Result))
	if v.Result == Documented {
		fmt.Fprintf(&b, ": %d records lost", v.RecordsLost)
	}
	for _, r := range v.Reasons {
		fmt.Fprintf(&b, "\n  unknown: %s", r)
	}
	for _, p := range v.Panics {
		fmt.Fprintf(&b, "\n  panic: %s", p)
	}
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "\n  %s %s (%s, %s): %s", f.Result, f.Class, f.Judge, f.Rule, f.Sentence)
		for _, w := range f.Witnesses {
			fmt.Fprintf(&b, "\n      %s", w)
		}
	}
	return b.String()
}

// ExitCode of a command that ends with this result.
func (r Result) ExitCode() int {
	switch r {
	case Valid, Documented:
		return 0
	case Invalid:
		return 1
	}
	return 2
}
