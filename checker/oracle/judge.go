package oracle

import (
	"cmp"
	"fmt"
	"slices"

	"trialog/checker/history"
	"trialog/checker/linear"
	"trialog/core/event"
)

// MaxShown is how many anomalies of one class a verdict lists; Counts has them all.
const MaxShown = 4

// UnknownShareMax is the share of produce operations with an unknown outcome above which a run that convicts nobody
// proves too little. With fewer than UnknownShareMin produce operations the share says nothing.
const (
	UnknownShareMax = 0.5
	UnknownShareMin = 20
)

// judge is one call of Judge.
type judge struct {
	in          Input
	g           *gathered
	v           *Verdict
	seen        map[string]int // listed anomalies by class, documented ones apart
	misplaced   map[*history.Operation]bool
	crashesOnly bool
}

// Judge judges one run. It never fails: a history that cannot be judged is Unknown, with the reason.
func Judge(in Input) *Verdict {
	j := &judge{
		in: in, v: &Verdict{}, seen: map[string]int{}, misplaced: map[*history.Operation]bool{}, crashesOnly: crashesOnly(in.Faults),
	}
	operations, err := history.Pair(in.History)
	if err != nil {
		j.v.Result = Unknown
		j.v.Reasons = []string{"the history cannot be read: " + err.Error()}
		return j.v
	}
	j.sortInput()
	j.g = gather(operations)
	for _, topic := range j.g.deleted {
		j.v.Reasons = append(j.v.Reasons, "topic "+topic+" may have been deleted: nothing that was in it is judged")
	}
	for _, l := range j.g.logs {
		l.holes = in.Promises.Holes
		if in.Promises.Compacted {
			l.keys = l.byKey()
		}
	}
	events := j.scanEvents()
	j.scanProducerIDs()
	for _, l := range j.g.logs {
		j.scanReads(l)
		j.scanOffsets(l)
		j.sweep(l)
		j.scanKeys(l)
		j.scanOrder(l)
		if in.TrueTime && len(in.Events) > 0 {
			events.scanTimes(l)
		}
	}
	j.cover()
	if in.Promises.Compacted { // linear knows no compaction
		in.Linear = LinearNever
	}
	if in.Linear == LinearAlways || in.Linear == LinearAfter && len(j.v.Counts) == 0 {
		j.linear()
	}
	j.conclude()
	return j.v
}

// sortInput puts events and faults in the order of time. Those of equal time keep their order.
func (j *judge) sortInput() {
	events, faults := j.in.Events, j.in.Faults
	if byTime := func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) }; !slices.IsSortedFunc(events, byTime) {
		j.in.Events = slices.Clone(events)
		slices.SortStableFunc(j.in.Events, byTime)
	}
	if byTime := func(a, b Fault) int { return cmp.Compare(a.Time, b.Time) }; !slices.IsSortedFunc(faults, byTime) {
		j.in.Faults = slices.Clone(faults)
		slices.SortStableFunc(j.in.Faults, byTime)
	}
}

// report adds an anomaly; format and args make its sentence.
func (j *judge) report(a Anomaly, id tp, format string, args ...any) {
	if j.v.Counts == nil {
		j.v.Counts = map[string]int{}
	}
	j.v.Counts[a.Class]++
	key := a.Class
	if a.Documented {
		key += " documented"
	}
	if j.seen[key]++; j.seen[key] > MaxShown {
		return
	}
	a.Invariant = Classes[rank[a.Class]].Invariant
	a.Topic, a.Partition = id.topic, id.partition
	a.Text = fmt.Sprintf(format, args...)
	if a.Judge == "" {
		a.Judge = JudgeOracle
	}
	j.v.Anomalies = append(j.v.Anomalies, a)
}

// Names of the judges, as verdicts and expectations spell them.
const (
	JudgeOracle = "oracle"
	JudgeLinear = "linear"
)

// linear runs the second layer. It knows of no power cut, so it says nothing of a partition that one took something from,
// though nobody may have seen what.
func (j *judge) linear() {
	p := j.in.Promises
	judged := map[tp]bool{}
	for _, l := range j.g.logs {
		judged[l.id] = len(l.losses) == 0
	}
	for _, v := range linear.Check(j.g.operations, linear.Options{Holes: p.Holes, StaleReads: p.StaleReads, Retention: p.Retention}) {
		if !judged[tp{v.Topic, v.Partition}] {
			continue
		}
		switch v.Result {
		case linear.Illegal:
			a := Anomaly{Class: NotLinearizable, Judge: JudgeLinear, Witnesses: j.witnesses(v.Witness...)}
			if len(v.Witness) > 0 {
				a.Time = v.Witness[len(v.Witness)-1].Call
			}
			j.report(a, tp{v.Topic, v.Partition}, "%s", v.Text)
		case linear.Unknown:
			j.v.Reasons = append(j.v.Reasons, fmt.Sprintf("linear gave up on %s-%d: %s", v.Topic, v.Partition, v.Text))
		}
	}
}

// conclude sorts the anomalies and names the verdict.
func (j *judge) conclude() {
	v := j.v
	slices.SortStableFunc(v.Anomalies, func(a, b Anomaly) int {
		return cmp.Or(boolCompare(a.Documented, b.Documented), cmp.Compare(rank[a.Class], rank[b.Class]), cmp.Compare(a.Time, b.Time))
	})
	for _, l := range j.g.logs {
		for _, r := range l.records {
			if r.lost {
				v.Lost++
			}
		}
	}
	switch {
	case len(v.Anomalies) > 0 && !v.Anomalies[0].Documented:
		v.Result, v.Judge, v.Class = Invalid, v.Anomalies[0].Judge, v.Anomalies[0].Class
	case len(v.Reasons) > 0:
		v.Result = Unknown
	case len(v.Anomalies) > 0:
		v.Result, v.Class = DocumentedLoss, v.Anomalies[0].Class
	default:
		v.Result = Valid
	}
}

// witnesses makes lines of evidence of operations, each once, in order of invocation.
func (j *judge) witnesses(ops ...*history.Operation) []Witness {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b *history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var out []Witness
	for _, op := range slices.Compact(ops) {
		out = append(out, Witness{Kind: "op", Time: op.Call, Text: op.String()})
	}
	return out
}

func eventWitness(e *event.Event) Witness {
	untimed := *e
	untimed.Time = 0 // the witness says it
	return Witness{Kind: "event", Time: e.Time, Text: untimed.String()}
}

func faultWitness(f Fault) Witness {
	return Witness{Kind: "fault", Time: f.Time, Text: f.Text}
}
