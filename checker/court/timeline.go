package court

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"trialog/checker/history"
	"trialog/core/event"
)

// Moment is one thing that a stored run tells: an operation at its end, an event, or a fault.
type Moment struct {
	Time int64  // ns since the start of the run
	Proc string // empty for a fault that has no process
	Kind string // op, event, fault
	Text string
}

// String is one line of a timeline.
func (m Moment) String() string {
	mark := map[string]string{"op": " ", "event": "·", "fault": "*"}[m.Kind]
	return fmt.Sprintf("%12.6fs %s %-3s %s", time.Duration(m.Time).Seconds(), mark, m.Proc, m.Text)
}

// Timeline merges what clients saw, what brokers did and what was done to them, in order of time.
func (r *Run) Timeline() ([]Moment, error) {
	ops, err := history.Read(bytes.NewReader(r.History))
	if err != nil {
		return nil, err
	}
	operations, err := history.Pair(ops)
	if err != nil {
		return nil, err
	}
	events, err := event.ReadAll("events.jsonl", bytes.NewReader(r.Events))
	if err != nil {
		return nil, err
	}
	var all []Moment
	for _, f := range r.Faults {
		all = append(all, Moment{f.Time, f.Proc, "fault", f.Text})
	}
	for i := range events {
		e := events[i]
		m := Moment{Time: e.Time, Proc: e.Proc, Kind: "event"}
		e.Time, e.Proc = 0, ""
		m.Text = e.String()
		all = append(all, m)
	}
	for i := range operations {
		o := &operations[i]
		at := o.Call
		if o.Complete != nil {
			at = o.Complete.Time
		}
		all = append(all, Moment{at, o.Invoke.Proc, "op", o.String()})
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return int(a.Time - b.Time) })
	return all, nil
}

// Until cuts a timeline behind a time (4.5s) or behind the first moment whose text contains the words.
func Until(all []Moment, until string) ([]Moment, error) {
	if d, err := time.ParseDuration(until); err == nil {
		n := slices.IndexFunc(all, func(m Moment) bool { return m.Time > d.Nanoseconds() })
		if n < 0 {
			n = len(all)
		}
		return all[:n], nil
	}
	n := slices.IndexFunc(all, func(m Moment) bool { return strings.Contains(m.Text, until) })
	if n < 0 {
		return nil, fmt.Errorf("court: nothing in the run says %q, and it is no duration", until)
	}
	return all[:n+1], nil
}

// Difference tells where two runs begin to differ in what they stored; empty if they do not.
func Difference(stored, now *Run) (string, error) {
	a, err := stored.Timeline()
	if err != nil {
		return "", err
	}
	b, err := now.Timeline()
	if err != nil {
		return "", err
	}
	for i := range max(len(a), len(b)) {
		x, y := "nothing", "nothing"
		if i < len(a) {
			x = a[i].String()
		}
		if i < len(b) {
			y = b[i].String()
		}
		if x != y {
			return fmt.Sprintf("stored: %s\nnow:    %s", x, y), nil
		}
	}
	return "", nil
}

// FirstDifference compares two recorded traces line by line; empty if they are equal.
func FirstDifference(a, b io.Reader) (string, error) {
	ra, rb := bufio.NewReader(a), bufio.NewReader(b)
	for n := 1; ; n++ {
		x, errA := ra.ReadString('\n')
		y, errB := rb.ReadString('\n')
		if x != y {
			return fmt.Sprintf("event %d\nfirst:  %ssecond: %s", n, ended(x), ended(y)), nil
		}
		if errA == io.EOF && errB == io.EOF {
			return "", nil
		}
		if errA != nil && errA != io.EOF {
			return "", errA
		}
		if errB != nil && errB != io.EOF {
			return "", errB
		}
	}
}

func ended(line string) string { return strings.TrimRight(line, "\n") + "\n" }

// Altered names the first file of a stored run that is not what now gave, a run with the same trace, and its first line
// that differs; empty if there is none.
func Altered(stored, now *Run) string {
	for _, f := range []struct {
		name         string
		stored, want []byte
	}{
		{"server.properties", []byte(stored.Properties), []byte(now.Properties)},
		{"plan.txt", []byte(stored.Plan), []byte(now.Plan)},
		{"history.jsonl", stored.History, now.History},
		{"events.jsonl", stored.Events, now.Events},
		{"faults.jsonl", jsonLines(stored.Faults), jsonLines(now.Faults)},
	} {
		if n, x, y := firstOther(f.stored, f.want); n > 0 {
			return fmt.Sprintf("%s:%d was altered\nstored: %s\nnow:    %s", f.name, n, x, y)
		}
	}
	return ""
}

// firstOther is the first line, from 1, that two texts do not share; 0 if they are equal.
func firstOther(a, b []byte) (n int, x, y string) {
	for n = 1; len(a) > 0 || len(b) > 0; n++ {
		var lineA, lineB []byte
		lineA, a = cutLine(a)
		lineB, b = cutLine(b)
		if !bytes.Equal(lineA, lineB) {
			return n, shown(lineA), shown(lineB)
		}
	}
	return 0, "", ""
}

// cutLine splits off the first line with its newline.
func cutLine(text []byte) (line, rest []byte) {
	n := bytes.IndexByte(text, '\n') + 1
	if n == 0 {
		n = len(text)
	}
	return text[:n], text[n:]
}

func shown(line []byte) string {
	text, whole := strings.CutSuffix(string(line), "\n")
	switch {
	case len(line) == 0:
		return "nothing"
	case !whole:
		return text + " without its newline"
	}
	return text
}
