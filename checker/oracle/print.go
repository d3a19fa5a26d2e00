package oracle

import (
	"fmt"
	"strings"

	"trialog/checker/history"
)

// String is the verdict as a reader of the terminal wants it: result, anomalies with their witnesses, reasons, coverage.
func (v *Verdict) String() string {
	var b strings.Builder
	b.WriteString(v.headline())
	for i := range v.Anomalies {
		b.WriteString("\n" + v.Anomalies[i].String())
	}
	for _, c := range Classes {
		if n := v.Counts[c.Class]; n > v.listed(c.Class) {
			fmt.Fprintf(&b, "\n  %d more of %s\n", n-v.listed(c.Class), c.Class)
		}
	}
	for _, r := range v.Reasons {
		fmt.Fprintf(&b, "\n  %s\n", r)
	}
	for _, a := range v.Asserts {
		fmt.Fprintf(&b, "\n  assertion of the broker: %s\n", a)
	}
	c := v.Coverage
	fmt.Fprintf(&b, "\n  operations %d   produce %d (%d unknown)   records acknowledged %d, read %d   partitions %d (%d drained)\n",
		c.Operations, c.Produces, c.Unknown, c.Acked, c.Read, c.Partitions, c.Drained)
	return b.String()
}

func (v *Verdict) headline() string {
	switch v.Result {
	case Invalid:
		return fmt.Sprintf("invalid: %s (%s)\n", v.Class, v.Judge)
	case DocumentedLoss:
		return fmt.Sprintf("documented loss: %d records that were acknowledged or read, and never fsynced, went with a power cut\n", v.Lost)
	default:
		return string(v.Result) + "\n"
	}
}

func (v *Verdict) listed(class string) int {
	n := 0
	for i := range v.Anomalies {
		if v.Anomalies[i].Class == class {
			n++
		}
	}
	return n
}

// String is the anomaly: one sentence, then a line for each witness in the order of time.
func (a *Anomaly) String() string {
	var b strings.Builder
	head := a.Class + " " + a.Invariant
	if a.Topic != "" {
		head += fmt.Sprintf(" %s-%d", a.Topic, a.Partition)
	}
	if a.Documented {
		head += " (documented)"
	}
	fmt.Fprintf(&b, "  %s at %s: %s\n", head, history.Seconds(a.Time), a.Text)
	for _, w := range a.Witnesses {
		fmt.Fprintf(&b, "    %-5s  %s\n", w.Kind, w.line())
	}
	return b.String()
}

func (w Witness) line() string {
	if w.Kind == "op" {
		return w.Text // has its times
	}
	return fmt.Sprintf("[%s] %s", history.Seconds(w.Time), w.Text)
}
