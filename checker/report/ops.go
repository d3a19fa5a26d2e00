package report

import (
	"cmp"
	"slices"
	"strings"

	"trialog/checker/history"
	"trialog/core/event"
)

// ops lists the operations, no more than OperationsMax, and gives the stories and records the indices in that list.
func (b *builder) ops() {
	witness := make([]bool, len(b.operations))
	for _, s := range b.data.Stories {
		for _, step := range s.Steps {
			if step.Op >= 0 {
				witness[step.Op] = true
			}
		}
	}
	index := b.kept(witness)
	for i := range b.operations {
		if index[i] < 0 {
			b.data.OpsLeftOut++
			continue
		}
		op := b.op(i)
		op.Witness = witness[i]
		b.data.Ops = append(b.data.Ops, op)
	}
	for s := range b.data.Stories {
		for i := range b.data.Stories[s].Steps {
			if at := &b.data.Stories[s].Steps[i].Op; *at >= 0 {
				*at = index[*at]
			}
		}
	}
	for p := range b.data.Parts {
		for i := range b.data.Parts[p].Records {
			if at := &b.data.Parts[p].Records[i].Writer; *at >= 0 {
				*at = index[*at]
			}
		}
	}
}

// kept gives each operation its index in the list; -1: left out. Witnesses and what did not succeed go first.
func (b *builder) kept(witness []bool) []int {
	index := make([]int, len(b.operations))
	room := OperationsMax
	take := func(want func(i int) bool) {
		for i := range index {
			if index[i] == 0 && room > 0 && want(i) {
				index[i] = 1
				room--
			}
		}
	}
	take(func(i int) bool { return witness[i] })
	take(func(i int) bool { return b.operations[i].Outcome != history.OK })
	take(func(int) bool { return true })
	n := 0
	for i := range index {
		if index[i] == 0 {
			index[i] = -1
			continue
		}
		index[i] = n
		n++
	}
	return index
}

func (b *builder) op(i int) Op {
	o := &b.operations[i]
	in := &o.Invoke
	_, text, _ := strings.Cut(o.String(), "] ") // the times stand in fields of their own
	op := Op{
		Proc: b.proc[in.Proc], F: string(in.F), Part: -1, Call: o.Call, Return: -1, Outcome: o.Outcome, Text: text, Final: in.Final,
	}
	if o.Complete != nil {
		op.Return = o.Complete.Time
	}
	if p, ok := b.part[tp{in.Topic, in.Partition}]; ok && in.F != history.Metadata && in.F != history.CreateTopic {
		op.Part = p
		op.Records = b.logs[p].runs(o)
	}
	return op
}

// output lists what processes said, in order of time; lines without a time keep their place behind the one before.
func (b *builder) output() {
	lines := slices.Clone(b.in.Output)
	at := int64(0)
	order := make([]int64, len(lines))
	sorted := make([]int, len(lines))
	for i := range lines {
		if lines[i].Time != NoTime {
			at = lines[i].Time
		}
		order[i], sorted[i] = at, i
	}
	slices.SortStableFunc(sorted, func(x, y int) int { return cmp.Compare(order[x], order[y]) })
	for n, i := range sorted {
		if left := len(sorted) - OutputMax; left > 0 && n >= OutputMax/2 && n < OutputMax/2+left {
			b.data.LinesLeftOut++
			continue
		}
		l := &lines[i]
		b.data.Output = append(b.data.Output, Said{l.Time, b.procOf(l.Proc), l.Stream, cut(l.Text, lineMax)})
	}
}

// cut shortens a text to n bytes, at a rune, and says so.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " …"
}

// eventText is an event in words.
func eventText(e *event.Event) string {
	c := *e
	c.Time, c.Proc = 0, ""
	part := tp{e.Topic, e.Partition}.String()
	switch e.Kind {
	case event.Start:
		return "started"
	case event.Stop:
		return "stopped cleanly"
	case event.RulesOff:
		return "safety rules off: " + cmp.Or(e.Text, "none")
	case event.Leader:
		return words(part, "leads in epoch", e.Epoch, "from offset", e.Next)
	case event.Append:
		return words(part, "appended offsets", e.Base, "to", e.Next-1)
	case event.Flush:
		return words(part, "is on the disk below offset", e.Next)
	case event.Truncate:
		return words(part, "was cut at offset", e.Next)
	case event.Recover:
		return words(part, "came back ending at offset", e.Next) + after(": ", e.Text)
	case event.HW:
		return words(part, "high watermark", e.Offset)
	}
	return c.String()
}

func after(sep, text string) string {
	if text == "" {
		return ""
	}
	return sep + text
}
