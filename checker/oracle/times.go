package oracle

import (
	"slices"
	"sort"

	"trialog/checker/history"
	"trialog/core/event"
)

// scanTimes compares operations with events, where one true clock stamped both: what was acknowledged had been
// appended, and under flush-first what was acknowledged or served had been fsynced.
func (s *eventScan) scanTimes(l *log) {
	appended := map[[2]int64]*event.Event{} // base and next of a batch -> when it was first appended
	for _, e := range s.of(l.id).appends {
		k := [2]int64{e.Base, e.Next}
		if appended[k] == nil {
			appended[k] = e
		}
	}
	for _, op := range l.ops {
		if !op.Acked() || op.Complete.Offset < 0 {
			continue
		}
		base := op.Complete.Offset
		e := appended[[2]int64{base, base + int64(len(op.Invoke.Values))}]
		if e != nil && e.Time <= op.Return || s.recoveredMore(l, op) {
			continue
		}
		a := Anomaly{Class: AckNoAppend, Time: op.Return, About: &About{base, op.Invoke.Values[0]}, Witnesses: s.j.witnesses(op)}
		if e != nil {
			a.Witnesses = append(a.Witnesses, eventWitness(e))
		}
		s.j.report(a, l.id, "%s was acknowledged at offset %d, and no broker had appended that", op.Name(), base)
	}
	if s.j.in.Promises.FlushFirst {
		s.scanFlushes(l)
	}
}

// recoveredMore: the broker died after it wrote the batch and before it said so, and found the batch when it came back.
func (s *eventScan) recoveredMore(l *log, op *history.Operation) bool {
	next := op.Complete.Offset + int64(len(op.Invoke.Values))
	return slices.ContainsFunc(s.of(l.id).recovers, func(e *event.Event) bool {
		return op.Call < e.Time && e.Time <= op.Return && e.Next >= next
	})
}

// scanFlushes: the durable end at the time of an answer lies above what it acknowledged or served.
func (s *eventScan) scanFlushes(l *log) {
	var ends []*event.Event // flushes that raised the durable end: rising in time and Next
	for _, e := range s.of(l.id).flushes {
		if n := len(ends); n == 0 || e.Next > ends[n-1].Next {
			ends = append(ends, e)
		}
	}
	for _, r := range l.records {
		e := r.first()
		i := sort.Search(len(ends), func(i int) bool { return ends[i].Next > r.offset })
		if r.write.op == nil || i < len(ends) && ends[i].Time <= e.ret {
			continue
		}
		a := Anomaly{Class: ReadNoFlush, Time: e.ret, About: r.about(), Witnesses: s.j.witnesses(e.op)}
		if i < len(ends) {
			a.Witnesses = append(a.Witnesses, eventWitness(ends[i]))
		}
		what := "served"
		if e.op.Invoke.F == history.Produce {
			a.Class, what = AckNoFlush, "acknowledged"
		}
		s.j.report(a, l.id, "%s at offset %d was %s to %s before it was fsynced", r.name(), r.offset, what, e.op.Name())
	}
}
