package oracle

import (
	"sort"

	"trialog/checker/history"
	"trialog/core/event"
)

// scanTimes compares operations with events, where one true clock stamped both: what was acknowledged had been
// appended, and under flush-first what was acknowledged or served had been fsynced.
func (s *eventScan) scanTimes(l *log) {
	appended := map[[2]int64]int64{} // base and next of a batch -> when it was first appended
	for _, e := range s.appends[l.id] {
		k := [2]int64{e.Base, e.Next}
		if _, ok := appended[k]; !ok {
			appended[k] = e.Time
		}
	}
	for _, op := range l.ops {
		if !op.Acked() || op.Complete.Offset < 0 {
			continue
		}
		base := op.Complete.Offset
		if t, ok := appended[[2]int64{base, base + int64(len(op.Invoke.Values))}]; !ok || t > op.Return {
			s.j.report(Anomaly{Class: AckNoAppend, Time: op.Return, Witnesses: s.j.witnesses(op)}, l.id,
				"%s was acknowledged at offset %d, and no broker had appended that", op.Name(), base)
		}
	}
	if s.j.in.Promises.FlushFirst {
		s.scanFlushes(l)
	}
}

// scanFlushes: the durable end at the time of an answer lies above what it acknowledged or served.
func (s *eventScan) scanFlushes(l *log) {
	var ends []event.Event // flushes that raised the durable end: rising in time and Next
	for _, e := range s.flushes[l.id] {
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
		a := Anomaly{Class: ReadNoFlush, Time: e.ret, Witnesses: s.j.witnesses(e.op)}
		what := "served"
		if e.op.Invoke.F == history.Produce {
			a.Class, what = AckNoFlush, "acknowledged"
		}
		s.j.report(a, l.id, "%s at offset %d was %s to %s before it was fsynced", r.name(), r.offset, what, e.op.Name())
	}
}
