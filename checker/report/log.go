package report

import (
	"cmp"
	"slices"

	"trialog/checker/history"
	"trialog/checker/oracle"
	"trialog/core/event"
)

// State of a record on a log strip.
type State string

// The states, the worst last.
const (
	Read    State = "read"    // acknowledged, and read
	Acked   State = "acked"   // acknowledged, and never read
	Unacked State = "unacked" // read or appended, and never acknowledged
	Lost    State = "lost"    // acknowledged or read, and the final read passed its offset without it
	Reused  State = "reused"  // its offset showed another value, too
	Corrupt State = "corrupt" // a client was served bytes that fail their checks at its offset
)

// Partition is a log as clients and events showed it.
type Partition struct {
	Name    string   `json:"name"`
	Records []Record `json:"records"` // in order of offset; two at one offset in the order in which they showed
	Cuts    []Cut    `json:"cuts"`    // where it came back shorter than it had been, in order of time
	Drained bool     `json:"drained"` // somebody read it to its end when all was over: without that nothing is called lost
}

// Cut is a log that came back, or was cut, below a record that had been in it.
type Cut struct {
	Time int64 `json:"time"`
	Next int64 `json:"next"` // its end from then on
}

// Record is one value at one offset.
type Record struct {
	Offset int64  `json:"o"`
	Value  string `json:"v"` // empty: only an event speaks of it
	Writer int    `json:"w"` // index in Ops of the produce that sent it; -1 unknown
	State  State  `json:"s"`
	Gone   bool   `json:"g,omitempty"` // not in the final read, whatever else its state says
}

// log is a partition being put together.
type log struct {
	id      tp
	index   int
	records []*record
	byKey   map[key]*record
	ops     []int // indices of its operations
	appends []event.Event
	flushes []event.Event
	recover []event.Event // and truncations

	start, covered int64 // the final reads saw [start, covered)
	end            int64 // end of the log as the final reads were told; -1 unknown
	drained        bool
	newest         map[string]int64 // of a compacted topic: per key the highest offset in the final reads
}

type key struct {
	offset int64
	value  string
}

type record struct {
	offset                      int64
	value                       string
	writer                      int
	shown                       int64 // ns, when it first showed
	acked, read, final, corrupt bool
	id                          int // index in the strip; -1: left out of it
}

// show finds or makes the record.
func (l *log) show(offset int64, value string, at int64) *record {
	k := key{offset, value}
	r := l.byKey[k]
	if r == nil {
		r = &record{offset: offset, value: value, writer: -1, shown: at}
		l.byKey[k] = r
		l.records = append(l.records, r)
	}
	r.shown = min(r.shown, at)
	return r
}

// partitions builds the logs and the strips.
func (b *builder) partitions() {
	logs := map[tp]*log{}
	find := func(topic string, partition int32) *log {
		id := tp{topic, partition}
		if logs[id] == nil {
			logs[id] = &log{id: id, byKey: map[key]*record{}, end: -1}
			b.logs = append(b.logs, logs[id])
		}
		return logs[id]
	}
	for i := range b.operations {
		switch in := &b.operations[i].Invoke; in.F {
		case history.Produce, history.Fetch, history.ListOffsets:
			l := find(in.Topic, in.Partition)
			l.ops = append(l.ops, i)
		}
	}
	for _, e := range b.events {
		if e.Topic == "" || internal(e.Topic) {
			continue
		}
		switch l := find(e.Topic, e.Partition); e.Kind {
		case event.Append:
			l.appends = append(l.appends, e)
		case event.Flush:
			l.flushes = append(l.flushes, e)
		case event.Recover, event.Truncate:
			l.recover = append(l.recover, e)
		}
	}
	slices.SortFunc(b.logs, func(x, y *log) int {
		return cmp.Or(cmp.Compare(x.id.topic, y.id.topic), cmp.Compare(x.id.partition, y.id.partition))
	})
	writers := b.writers()
	for i, l := range b.logs {
		l.index, b.part[l.id] = i, i
		l.collect(b.operations, writers)
		if b.in.Compacted {
			l.sortKeys()
		}
		p := l.partition(RecordsMax / len(b.logs))
		b.data.RecsLeftOut += len(l.records) - len(p.Records)
		b.data.Parts = append(b.data.Parts, p)
	}
}

// sortKeys finds what stays of each key of a compacted topic.
func (l *log) sortKeys() {
	l.newest = map[string]int64{}
	for _, r := range l.records {
		if k := oracle.KeyOf(r.value); r.final && r.offset >= l.newest[k] {
			l.newest[k] = r.offset
		}
	}
}

// writers finds the operation that sent each value.
func (b *builder) writers() map[string]int {
	w := map[string]int{}
	for i := range b.operations {
		for _, v := range b.operations[i].Invoke.Values {
			w[v] = i
		}
	}
	return w
}

// collect finds the records of the log and numbers them.
func (l *log) collect(operations []history.Operation, writers map[string]int) {
	for _, i := range l.ops {
		op := &operations[i]
		switch done := op.Complete; {
		case done == nil:
		case op.Acked() && done.Offset >= 0:
			for j, v := range op.Invoke.Values {
				l.show(done.Offset+int64(j), v, done.Time).acked = true
			}
		case op.Invoke.F == history.Fetch:
			l.fetched(op)
		case op.Invoke.F == history.ListOffsets && op.Invoke.Final && op.Outcome == history.OK && op.Invoke.Offset == history.Latest:
			l.end = max(l.end, done.Offset)
		}
	}
	l.appendedOnly(operations)
	for _, r := range l.records {
		if w, ok := writers[r.value]; ok {
			r.writer = w
		}
	}
	slices.SortStableFunc(l.records, func(x, y *record) int {
		return cmp.Or(cmp.Compare(x.offset, y.offset), cmp.Compare(x.shown, y.shown))
	})
}

// fetched takes over what a fetch showed.
func (l *log) fetched(op *history.Operation) {
	done := op.Complete
	next := op.Invoke.Offset
	for _, rec := range done.Records {
		r := l.show(rec.Offset, rec.Value, done.Time)
		r.read = true
		r.final = r.final || op.Invoke.Final
		next = rec.Offset + 1
	}
	if done.Corrupt != "" {
		at := slices.IndexFunc(l.records, func(r *record) bool { return r.offset == next })
		if at < 0 {
			l.show(next, "", done.Time).corrupt = true
		} else {
			l.records[at].corrupt = true
		}
		return
	}
	if !op.Invoke.Final || op.Outcome != history.OK {
		return
	}
	l.covered = max(l.covered, next)
	l.start = max(l.start, done.LogStart)
	switch {
	case done.HW >= 0:
		l.end = max(l.end, done.HW)
	case len(done.Records) == 0:
		l.end = max(l.end, op.Invoke.Offset)
	}
	l.drained = true
}

// appendedOnly adds the offsets that a broker appended and no client ever saw.
func (l *log) appendedOnly(operations []history.Operation) {
	seen := map[int64]bool{}
	for _, r := range l.records {
		seen[r.offset] = true
	}
	type batch struct {
		pid   int64
		epoch int16
		seq   int32
	}
	sent := map[batch][]string{}
	for _, i := range l.ops {
		if in := &operations[i].Invoke; in.F == history.Produce && in.Idempotent {
			sent[batch{in.PID, in.PEpoch, in.Seq}] = in.Values
		}
	}
	for i := range l.appends {
		e := &l.appends[i]
		values := sent[batch{e.ProducerID, e.ProducerEpoch, e.BaseSeq}]
		for o := e.Base; o < e.Next && o-e.Base < batchMax; o++ {
			if seen[o] {
				continue
			}
			value := ""
			if int64(len(values)) == e.Next-e.Base {
				value = values[o-e.Base]
			}
			l.show(o, value, e.Time)
			seen[o] = true
		}
	}
}

// batchMax is how many offsets of one append event are looked at.
const batchMax = 10_000

// partition is the strip, with room for so many records: those that say least are left out of a longer one.
func (l *log) partition(room int) Partition {
	p := Partition{Name: l.id.String(), Records: []Record{}, Cuts: l.cuts(), Drained: l.drained}
	all := make([]Record, len(l.records))
	dull := max(0, room) // how many may say no more than that all went well
	for i := range all {
		if all[i] = l.record(i); all[i].State != Read {
			dull--
		}
	}
	for i, r := range l.records {
		if r.id = -1; len(p.Records) == room || all[i].State == Read && dull <= 0 {
			continue
		}
		if all[i].State == Read {
			dull--
		}
		r.id = len(p.Records)
		p.Records = append(p.Records, all[i])
	}
	return p
}

// record is the i-th record as the strip shows it.
func (l *log) record(i int) Record {
	r := l.records[i]
	out := Record{Offset: r.offset, Value: cut(r.value, valueMax), Writer: r.writer, State: r.state(), Gone: l.gone(r)}
	if out.Gone {
		out.State = Lost
	}
	if twice := func(j int) bool { return j >= 0 && j < len(l.records) && l.records[j].offset == r.offset }; twice(i-1) || twice(i+1) {
		out.State = Reused
	}
	if r.corrupt {
		out.State = Corrupt
	}
	return out
}

// cuts finds the recoveries and truncations that took something.
func (l *log) cuts() []Cut {
	out := []Cut{}
	end, a := int64(0), 0
	for i := range l.recover {
		e := &l.recover[i]
		for ; a < len(l.appends) && l.appends[a].Time <= e.Time; a++ {
			end = l.appends[a].Next
		}
		if e.Next < end {
			out = append(out, Cut{e.Time, e.Next})
			end = e.Next
		}
	}
	return out
}

// state by what clients knew of the record, without the final read.
func (r *record) state() State {
	switch {
	case r.acked && r.read:
		return Read
	case r.acked:
		return Acked
	}
	return Unacked
}

// gone reports that a client knew the record, and that the final reads of all readers passed its offset without it.
func (l *log) gone(r *record) bool {
	if !l.drained || r.final || !r.acked && !r.read || r.offset < l.start {
		return false
	}
	if newest, ok := l.newest[oracle.KeyOf(r.value)]; ok && newest > r.offset {
		return false // compaction takes it, sooner or later
	}
	return r.offset < l.covered || l.end >= 0 && r.offset >= l.end
}

// runs are the stretches of records that an operation wrote or saw.
func (l *log) runs(op *history.Operation) [][2]int {
	var out [][2]int
	add := func(offset int64, value string) {
		r := l.byKey[key{offset, value}]
		if r == nil || r.id < 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1][1] == r.id-1 {
			out[n-1][1] = r.id
			return
		}
		out = append(out, [2]int{r.id, r.id})
	}
	done := op.Complete
	switch {
	case op.Acked() && done.Offset >= 0:
		for i, v := range op.Invoke.Values {
			add(done.Offset+int64(i), v)
		}
	case op.Invoke.F == history.Fetch && done != nil:
		for _, rec := range done.Records {
			add(rec.Offset, rec.Value)
		}
	}
	return out
}
