package sweep

import (
	"fmt"
	"strings"

	"trialog/checker/sweep/script"
)

// Count is what a sweep of one script came to.
type Count struct {
	Script     string
	Points     int // crash points, those in recoveries included
	Images     int // points times patterns: all of them were judged
	Recovered  int // images that differ
	Recoveries int // that were crashed themselves
	Ways       int // in which recoveries went
	Violations []Violation
}

// String is one line.
func (c Count) String() string {
	verdict := "0 violations"
	if n := len(c.Violations); n > 0 {
		verdict = fmt.Sprintf("%d VIOLATIONS", n)
	}
	return fmt.Sprintf("%-12s %6d crash points, %7d images, %6d differ, %d of %d ways to recover crashed: %s", c.Script, c.Points,
		c.Images, c.Recovered, c.Recoveries, c.Ways, verdict)
}

// Violation is an image that recovered to what the contract forbids.
type Violation struct {
	Script   string
	Where    string // the crash
	Why      string
	Image    string   // files and sizes
	Promises []string // the last steps before the crash
}

// String is an event list of less than 20 lines.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "script %s\n", v.Script)
	for _, p := range v.Promises {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	fmt.Fprintf(&b, "  CRASH %s\n", v.Where)
	if v.Image != "" {
		fmt.Fprintf(&b, "  on disk: %.400s\n", v.Image)
	}
	fmt.Fprintf(&b, "  VIOLATION %.900s\n", v.Why)
	return b.String()
}

// tail tells the last steps before a crash.
func tail(s *script.Script, lines []string) []string {
	const most = 10
	var out []string
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		st, err := stepOf(s, rest)
		switch {
		case word == ">" && err == nil:
			out = append(out, fmt.Sprintf("%d: %s: begun", st.Number, st.Text))
		case word == "<" && err == nil && len(out) > 0:
			out[len(out)-1] = fmt.Sprintf("%d: %s: done", st.Number, st.Text)
		case word == "x" && err == nil && len(out) > 0:
			out[len(out)-1] = fmt.Sprintf("%d: %s: %.200s", st.Number, st.Text, rest)
		}
	}
	if n := len(out); n > most {
		out = append([]string{fmt.Sprintf("(%d steps before)", n-most)}, out[n-most:]...)
	}
	return out
}

// Report is a whole sweep.
type Report struct{ Scripts []Count }

// Total sums up.
func (r *Report) Total() Count {
	t := Count{Script: "total"}
	for _, c := range r.Scripts {
		t.Points += c.Points
		t.Images += c.Images
		t.Recovered += c.Recovered
		t.Recoveries += c.Recoveries
		t.Ways += c.Ways
		t.Violations = append(t.Violations, c.Violations...)
	}
	return t
}
