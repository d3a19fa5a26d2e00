package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trialog/checker/oracle"
	"trialog/core/event"
)

// lives finds when each process was alive: a broker from its start events to its ends, a client from its first operation.
func (b *builder) lives() {
	starts := make([][]int64, len(b.data.Procs))
	for i := range b.events {
		if e := &b.events[i]; e.Kind == event.Start {
			starts[b.proc[e.Proc]] = append(starts[b.proc[e.Proc]], e.Time)
		}
	}
	for i := range b.operations {
		op := &b.operations[i]
		if p := b.proc[op.Invoke.Proc]; len(starts[p]) == 0 {
			starts[p] = []int64{op.Call}
		}
	}
	ends := make([][]End, len(b.data.Procs))
	for _, e := range b.in.Ends {
		ends[b.proc[e.Proc]] = append(ends[b.proc[e.Proc]], e)
	}
	for p := range b.data.Procs {
		slices.SortStableFunc(ends[p], func(x, y End) int { return cmp.Compare(x.Time, y.Time) })
		b.data.Procs[p].Life = append(b.data.Procs[p].Life, joinLives(starts[p], ends[p], b.data.End)...)
	}
}

// joinLives pairs each start with the first end behind it, or with the end of the run. A life that ended before it said
// that it had started begins where the one before it ended.
func joinLives(starts []int64, ends []End, last int64) []Life {
	var out []Life
	free := int64(0) // nobody lived from here on, as far as is known
	for len(starts) > 0 || len(ends) > 0 {
		var l Life
		switch {
		case len(starts) > 0 && (len(ends) == 0 || starts[0] <= ends[0].Time):
			l.From, starts = starts[0], starts[1:]
		default:
			l.From = free
		}
		l.To = last
		if len(ends) > 0 {
			l.To, l.How, l.Crash = ends[0].Time, ends[0].How, ends[0].crashed()
			ends = ends[1:]
		}
		for len(starts) > 0 && starts[0] < l.To { // an end was not recorded
			starts = starts[1:]
		}
		free = l.To
		out = append(out, l)
	}
	return out
}

// bandKinds says what a verb does for as long as it lasts. What takes a process down is seen in its lives.
var bandKinds = map[string]string{
	"pause": "pause", "partition": "network", "cut": "network", "link": "network", "conn": "network", "disk": "disk", "clock": "clock",
}

// bands finds the stretches in which a process was down or a fault was in force.
func (b *builder) bands() {
	for p := range b.data.Procs {
		life := b.data.Procs[p].Life
		for i := 0; b.data.Procs[p].Kind == broker && i < len(life); i++ {
			to := b.data.End
			if i+1 < len(life) {
				to = life[i+1].From
			}
			if life[i].How != "" && to > life[i].To && life[i].To < b.data.End {
				text := b.data.Procs[p].Name + " is down after " + article(life[i].How)
				b.data.Bands = append(b.data.Bands, Band{life[i].To, to, p, "down", text})
			}
		}
	}
	for i, f := range b.in.Faults {
		kind := bandKinds[f.Verb]
		if kind == "" || strings.HasSuffix(f.Text, " ends") || strings.HasPrefix(f.Text, "disk "+f.Target+" heal") {
			continue
		}
		b.data.Bands = append(b.data.Bands, Band{f.Time, b.over(f, b.in.Faults[i+1:]), b.procOf(f.Target), kind, f.Text})
	}
	slices.SortStableFunc(b.data.Bands, func(x, y Band) int { return cmp.Compare(x.From, y.From) })
}

// article puts an end into a sentence.
func article(how string) string {
	switch how {
	case "exit":
		return "a stop"
	case "end":
		return "the end"
	}
	return "a " + how
}

// over is when a fault was undone, as the faults behind it tell.
func (b *builder) over(f oracle.Fault, later []oracle.Fault) int64 {
	for _, g := range later {
		undone := g.Verb == f.Verb && g.Target == f.Target && strings.HasSuffix(g.Text, " ends")
		switch bandKinds[f.Verb] {
		case "pause":
			undone = undone || g.Target == f.Target && (g.Verb == "resume" || g.Verb == "kill" || g.Verb == "powercut" || g.Verb == "restart")
		case "network":
			undone = undone || g.Verb == "heal" && (g.Text == "heal" || g.Target == f.Target) || f.Verb == "conn" && f.Text == g.Text
		case "disk":
			undone = undone || g.Verb == "disk" && g.Target == f.Target && strings.Contains(g.Text, " heal")
		}
		if undone {
			return g.Time
		}
	}
	return b.data.End
}

// rare are the kinds of events that are shown one by one; the others come with every batch.
var rare = map[event.Kind]bool{
	event.Start: true, event.Stop: true, event.Leader: true, event.Truncate: true, event.Recover: true, event.Assert: true,
	event.RulesOff: true,
}

// marks lists faults and rare events in order of time.
func (b *builder) marks() {
	for _, f := range b.in.Faults {
		b.data.Marks = append(b.data.Marks, Mark{f.Time, b.procOf(f.Target), "fault", f.Text})
	}
	for i := range b.events {
		if e := &b.events[i]; rare[e.Kind] && !internal(e.Topic) {
			b.data.Marks = append(b.data.Marks, Mark{e.Time, b.procOf(e.Proc), e.Kind.String(), eventText(e)})
		}
	}
	for _, e := range b.in.Ends {
		if e.How == "exit" || e.How == "crash" { // of the others a fault speaks
			text := "ended by itself"
			if e.How == "crash" {
				text = "crashed"
			} else if e.Code != 0 {
				text += fmt.Sprintf(", with code %d", e.Code)
			}
			b.data.Marks = append(b.data.Marks, Mark{e.Time, b.procOf(e.Proc), "end", text})
		}
	}
	slices.SortStableFunc(b.data.Marks, func(x, y Mark) int { return cmp.Compare(x.Time, y.Time) })
}

// internal topics are the broker's own.
func internal(topic string) bool { return strings.HasPrefix(topic, "__") }
