package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trialog/checker/history"
	"trialog/checker/oracle"
	"trialog/core/event"
)

// Story is an anomaly told in the order of time: its witnesses, and between them what happened to the record and to the
// process that held it.
type Story struct {
	Class      string `json:"class"`
	Invariant  string `json:"invariant"`
	Means      string `json:"means"` // what the class is
	Judge      string `json:"judge"`
	Time       int64  `json:"time"`
	Text       string `json:"text"`
	Documented bool   `json:"documented,omitempty"`
	Part       int    `json:"part"`   // index in Parts; -1 none
	Record     int    `json:"record"` // index in the partition's records of the record it is about; -1 none
	Offset     int64  `json:"offset"` // of that record; -1 none
	Value      string `json:"value"`
	Steps      []Step `json:"steps"`
}

// Step is one moment of a story.
type Step struct {
	Role  string `json:"role"`
	Time  int64  `json:"time"`
	Title string `json:"title"`
	Text  string `json:"text"`
	Op    int    `json:"op"`   // index in Ops; -1 none
	Proc  int    `json:"proc"` // index in Procs; -1 none
}

// Roles of steps, for the page's colours and for whoever tests a story.
const (
	roleAck      = "ack"      // the record was acknowledged
	roleSent     = "sent"     // it was sent, and the answer is not an acknowledgement
	roleSeen     = "seen"     // somebody read it
	roleMissed   = "missed"   // an answer that denies it
	roleAppended = "appended" // the broker wrote it
	roleFlushed  = "flushed"  // it was on the disk
	roleCrash    = "crash"    // the process that held it died, or was stopped
	roleRecover  = "recover"  // the log came back
	roleAbsent   = "absent"   // something that should have happened and did not
	roleOther    = "other"
)

// stories tells the anomalies of the verdict, in its order.
func (b *builder) stories() {
	if b.in.Verdict == nil {
		return
	}
	for i := range b.in.Verdict.Anomalies {
		if len(b.data.Stories) == storiesMax {
			return
		}
		b.data.Stories = append(b.data.Stories, b.story(&b.in.Verdict.Anomalies[i]))
	}
}

func (b *builder) story(a *oracle.Anomaly) Story {
	s := Story{
		Class: a.Class, Invariant: a.Invariant, Judge: a.Judge, Time: a.Time, Text: a.Text, Documented: a.Documented,
		Part: -1, Record: -1, Offset: -1, Steps: []Step{},
	}
	if i := slices.IndexFunc(oracle.Classes, func(c oracle.ClassDoc) bool { return c.Class == a.Class }); i >= 0 {
		s.Means = strings.TrimPrefix(oracle.Classes[i].Doc, "(events) ")
	}
	t := teller{b: b, s: &s}
	if p, ok := b.part[tp{a.Topic, a.Partition}]; ok && a.Topic != "" {
		s.Part, t.l = p, b.logs[p]
	}
	t.about(a)
	for _, w := range a.Witnesses {
		t.witness(w)
	}
	t.context()
	slices.SortStableFunc(s.Steps, func(x, y Step) int { return cmp.Compare(x.Time, y.Time) })
	return s
}

// teller puts one story together.
type teller struct {
	b *builder
	s *Story
	l *log // nil: about no partition

	known, denied int64              // ns: the first witness knew; the last asked. 0: none
	acked         int64              // ns, when the record was acknowledged; 0: not
	batch         *history.Operation // that was acknowledged; nil: none
}

// about finds the record that the anomaly is about. Old verdicts do not name it: then it is the last one that the first
// witness acknowledged.
func (t *teller) about(a *oracle.Anomaly) {
	if t.l == nil {
		return
	}
	about := a.About
	for i := 0; about == nil && i < len(a.Witnesses); i++ {
		if at, ok := t.b.byText[a.Witnesses[i].Text]; ok && t.b.operations[at].Acked() {
			op := &t.b.operations[at]
			n := len(op.Invoke.Values) - 1
			about = &oracle.About{Offset: op.Complete.Offset + int64(n), Value: op.Invoke.Values[n]}
		}
	}
	if about == nil {
		return
	}
	t.s.Offset, t.s.Value = about.Offset, about.Value
	for _, r := range t.l.records {
		if r.offset == about.Offset && (about.Value == "" || r.value == about.Value) {
			t.s.Record, t.s.Value = r.id, r.value
			return
		}
	}
}

func (t *teller) add(s Step) { t.s.Steps = append(t.s.Steps, s) }

// witness adds a step for one line of evidence.
func (t *teller) witness(w oracle.Witness) {
	step := Step{Role: roleOther, Time: w.Time, Title: "Witness", Text: w.Text, Op: -1, Proc: -1}
	switch w.Kind {
	case "op":
		if i, ok := t.b.byText[w.Text]; ok {
			step = t.operation(i)
		}
	case "event":
		if e, err := event.Parse([]byte(w.Text)); err == nil {
			e.Time = w.Time
			step = t.event(&e)
		}
	case "fault":
		f := oracle.ParseFault(w.Time, "", w.Text)
		step = t.fault(&f)
	}
	t.add(step)
}

// operation is the step of an operation, seen from the record of the story.
func (t *teller) operation(i int) Step {
	op := &t.b.operations[i]
	_, text, _ := strings.Cut(op.String(), "] ")
	step := Step{Role: roleOther, Time: op.Call, Title: "Asked", Text: text, Op: i, Proc: t.b.proc[op.Invoke.Proc]}
	at := op.Call
	if op.Complete != nil {
		at = op.Complete.Time
	}
	has := t.l != nil && slices.ContainsFunc(t.l.runs(op), func(run [2]int) bool { return run[0] <= t.s.Record && t.s.Record <= run[1] })
	switch op.Invoke.F {
	case history.Produce:
		step.Role, step.Title = roleSent, "Sent"
		if op.Acked() {
			step.Role, step.Time, step.Title = roleAck, at, "Acknowledged"
			if !has && t.s.Record >= 0 {
				step.Title = "Another record acknowledged"
			}
		}
		if has && op.Acked() {
			t.acked, t.batch = at, op
		}
	case history.Fetch:
		step.Role, step.Title = roleMissed, "Read without it"
		if op.Complete != nil && op.Complete.Corrupt != "" {
			step.Title = "Read, and damaged"
		} else if has {
			step.Role, step.Time, step.Title = roleSeen, at, "Read"
		} else if t.s.Record < 0 {
			step.Role, step.Title = roleOther, "Read"
		}
	case history.ListOffsets:
		step.Title = "Asked where the log ends"
		if done := op.Complete; done != nil && done.Type == history.OK && t.s.Offset >= 0 && done.Offset <= t.s.Offset {
			step.Role = roleMissed
		}
	}
	if t.known == 0 || at < t.known {
		t.known = at
	}
	t.denied = max(t.denied, step.Time)
	return step
}

func (t *teller) event(e *event.Event) Step {
	step := Step{Role: roleOther, Time: e.Time, Title: "Broker", Text: e.Proc + ": " + eventText(e), Op: -1, Proc: t.b.procOf(e.Proc)}
	switch e.Kind {
	case event.Append:
		step.Role, step.Title = roleAppended, "Appended"
		if t.acked > 0 && e.Time > t.acked {
			step.Title = "Appended only now"
		}
	case event.Flush:
		step.Role, step.Title = roleFlushed, "On the disk"
	case event.Recover, event.Truncate:
		step.Role, step.Title = roleRecover, "The log came back"
		if t.s.Offset >= 0 && e.Next <= t.s.Offset {
			step.Title = "The log came back without it"
		}
	}
	return step
}

func (t *teller) fault(f *oracle.Fault) Step {
	step := Step{Role: roleOther, Time: f.Time, Title: "Fault", Text: f.Text, Op: -1, Proc: t.b.procOf(f.Target)}
	if struck[f.Verb] != "" {
		step.Role, step.Title = roleCrash, map[string]string{"powercut": "Power cut", "kill": "Crash", "restart": "Crash"}[f.Verb]
		if step.Title == "" {
			step.Title = "Stopped"
		}
		step.Text = struckText(f)
	}
	return step
}

// struck is what happened to a process that went down, in words.
var struck = map[string]string{
	"kill": "%s was killed", "restart": "%s was killed", "powercut": "the power of %s was cut", "stop": "%s was stopped",
}

func struckText(f *oracle.Fault) string { return fmt.Sprintf(struck[f.Verb], f.Target) }

// context adds what happened to the record, and to the process that held it, between the witnesses.
func (t *teller) context() {
	if t.l == nil || t.s.Offset < 0 || t.known == 0 {
		return
	}
	appended := t.appended()
	var crash *oracle.Fault
	if c := t.crash(); c != nil {
		crash = c
		t.once(t.fault(c))
	}
	if e := t.flushed(appended, crash); e != nil {
		t.once(t.event(e))
	}
	if crash == nil {
		return
	}
	for i := range t.l.recover {
		if e := &t.l.recover[i]; e.Time > crash.Time && e.Time <= t.denied {
			t.once(t.event(e))
			return
		}
	}
}

// once adds a step unless a witness says the same.
func (t *teller) once(s Step) {
	if !slices.ContainsFunc(t.s.Steps, func(x Step) bool { return x.Time == s.Time && x.Text == s.Text }) {
		t.add(s)
	}
}

// appended adds the append of the batch that was acknowledged, or that there was none, if events tell of appends at all.
func (t *teller) appended() *event.Event {
	if len(t.l.appends) == 0 || t.batch == nil {
		return nil
	}
	base := t.batch.Complete.Offset
	next := base + int64(len(t.batch.Invoke.Values))
	for i := range t.l.appends {
		if e := &t.l.appends[i]; e.Base == base && e.Next == next && e.Time >= t.batch.Call && !t.lostBefore(e.Time) {
			t.once(t.event(e))
			return e
		}
	}
	t.absent(t.acked, "Never appended", fmt.Sprintf("no broker wrote the batch at offsets %d to %d", base, next-1))
	return nil
}

// lostBefore reports that the log came back without the record between its acknowledgement and a time: what was appended
// there then is something else.
func (t *teller) lostBefore(at int64) bool {
	return slices.ContainsFunc(t.l.recover, func(e event.Event) bool {
		return t.acked < e.Time && e.Time < at && e.Next <= t.s.Offset
	})
}

func (t *teller) absent(at int64, title, text string) {
	t.once(Step{Role: roleAbsent, Time: at, Title: title, Text: text, Op: -1, Proc: -1})
}

// sent is when the record was sent; 0 if no acknowledgement is known.
func (t *teller) sent() int64 {
	if t.batch == nil {
		return 0
	}
	return t.batch.Call
}

// crash is what took the process down that held the record: the last one between the witnesses before the log came back
// without it, or just the last.
func (t *teller) crash() *oracle.Fault {
	until := t.denied
	for i := range t.l.recover {
		if e := &t.l.recover[i]; e.Time > t.known && e.Time <= t.denied && e.Next <= t.s.Offset {
			until = e.Time
			break
		}
	}
	var last *oracle.Fault
	for i := range t.b.in.Faults {
		f := &t.b.in.Faults[i]
		if struck[f.Verb] != "" && !strings.HasSuffix(f.Text, " ends") && t.sent() < f.Time && f.Time <= until && t.down(f) {
			last = f
		}
	}
	return last
}

// down reports that the fault ended a life of its target: a stop of what was down already struck nothing.
func (t *teller) down(f *oracle.Fault) bool {
	p := t.b.procOf(f.Target)
	return p < 0 || len(t.b.data.Procs[p].Life) == 0 || slices.ContainsFunc(t.b.data.Procs[p].Life, func(l Life) bool {
		return l.From <= f.Time && f.Time <= l.To
	})
}

// flushed is the first fsync that covered the record; without one before a power cut, that is a step of its own.
func (t *teller) flushed(appended *event.Event, crash *oracle.Fault) *event.Event {
	if appended == nil || len(t.l.flushes) == 0 {
		return nil
	}
	until := t.denied
	if crash != nil {
		until = crash.Time
	}
	for i := range t.l.flushes {
		if e := &t.l.flushes[i]; e.Next > t.s.Offset && e.Time >= appended.Time && e.Time <= until {
			return e
		}
	}
	if crash != nil && crash.Verb == "powercut" {
		t.absent(crash.Time, "Not on the disk", fmt.Sprintf("no fsync had covered offset %d when the power went", t.s.Offset))
	}
	return nil
}
