package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trialog/checker/history"
)

// sweep walks one log in the order of time. It holds what every later answer must agree with, and asks each operation,
// at its invocation, whether its answer does. Each record is taken out when it is denied, so the work is linear in
// records and answers.
type sweep struct {
	j   *judge
	l   *log
	now []*record // by rank of the offset: the record established there, nil if none
	top int       // every rank at or above it is nil
	low int       // every rank below it is nil
	end seenEnd   // the highest end offset that an answer gave
	// floor: retention removed what is below (Promises.Retention).
	floor    int64
	maxStart int64 // highest log start in the whole history
	denials  []denial
}

// seenEnd is an end offset and the operation that saw it.
type seenEnd struct {
	offset int64
	op     *history.Operation
}

// denial is one record that one operation did not show although it had to.
type denial struct {
	r   *record
	op  *history.Operation
	how saying
}

// saying is what an operation said against an established record.
type saying struct {
	says   string // with one %d if it has an offset
	offset int64
}

func (s saying) String() string {
	if !strings.Contains(s.says, "%d") {
		return s.says
	}
	return fmt.Sprintf(s.says, s.offset)
}

const (
	outOfRange = "got OFFSET_OUT_OF_RANGE"
	skipped    = "skipped it"
	saysEnd    = "was told that the log ends at %d"
	saysStart  = "was told that the log starts at %d"
	saysHW     = "was told that the high watermark is %d"
	saysEmpty  = "found nothing at %d"
	saysAppend = "appended at %d"
	saysStop   = "ended the final read at %d"
)

// moment is a point of the sweep. Calls sort before establishments of the same time: they overlap.
type moment struct {
	time   int64
	learns bool // an operation returned: its answer is established; otherwise an operation is invoked
	op     *history.Operation
}

// sweep finds denials, inversions and ends that go back in l.
func (j *judge) sweep(l *log) {
	s := &sweep{j: j, l: l, now: make([]*record, len(l.offsets))}
	moments := make([]moment, 0, 2*len(l.ops))
	for _, op := range l.ops {
		moments = append(moments, moment{op.Call, false, op})
		if op.Complete != nil {
			moments = append(moments, moment{op.Complete.Time, true, op})
			s.maxStart = max(s.maxStart, op.Complete.LogStart)
			if isEarliest(op) && op.Outcome == history.OK {
				s.maxStart = max(s.maxStart, op.Complete.Offset)
			}
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.time, b.time), boolCompare(a.learns, b.learns))
	})
	for _, m := range moments {
		switch {
		case m.learns:
			s.learn(m.op)
		case m.op.Invoke.F == history.Produce:
			s.checkAppend(m.op)
		case m.op.Complete != nil && m.op.Invoke.F == history.Fetch:
			s.checkFetch(m.op)
		case m.op.Outcome == history.OK && m.op.Invoke.F == history.ListOffsets:
			s.checkListOffsets(m.op)
		}
	}
	j.denied(l, s.denials)
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func isEarliest(op *history.Operation) bool {
	return op.Invoke.F == history.ListOffsets && op.Invoke.Offset == history.Earliest
}

// learn establishes what op's answer showed.
func (s *sweep) learn(op *history.Operation) {
	done := op.Complete
	switch op.Invoke.F {
	case history.Produce:
		s.establish(s.l.shows[op])
	case history.Fetch:
		s.establish(s.l.shows[op])
		if op.Outcome == history.OK {
			s.learnEnd(done.HW, op)
			s.learnStart(done.LogStart)
		}
	case history.ListOffsets:
		if op.Outcome != history.OK {
			break
		}
		if isEarliest(op) {
			s.learnStart(done.Offset)
		} else {
			s.learnEnd(done.Offset, op)
		}
	}
}

func (s *sweep) establish(records []*record) {
	for _, r := range records {
		if r.write.op != nil && r.offset >= s.floor {
			s.now[r.rank] = r
			s.top, s.low = max(s.top, r.rank+1), min(s.low, r.rank)
		}
	}
}

func (s *sweep) learnEnd(end int64, op *history.Operation) {
	if end > s.end.offset || s.end.op == nil && end >= 0 {
		s.end = seenEnd{end, op}
	}
}

func (s *sweep) learnStart(start int64) {
	if s.j.in.Promises.Retention {
		s.floor = max(s.floor, start)
		for ; s.low < len(s.now) && s.l.offsets[s.low] < s.floor; s.low++ {
			s.now[s.low] = nil
		}
	}
}

// highest is the established record with the highest offset, nil if there is none.
func (s *sweep) highest() *record {
	for s.top > 0 && s.now[s.top-1] == nil {
		s.top--
	}
	if s.top == 0 {
		return nil
	}
	return s.now[s.top-1]
}

// checkEnd: op says that the log ended at end. It denies every established record from there on, or else the end that
// somebody saw before.
// later is when op's client knew.
func (s *sweep) checkEnd(op *history.Operation, end, later int64, how saying) {
	denied := false
	for r := s.highest(); r != nil && r.offset >= end; r = s.highest() {
		s.deny(s.top-1, op, how)
		denied = true
	}
	if s.end.op == nil || end >= s.end.offset {
		return
	}
	before := s.end
	s.end = seenEnd{} // what op knows of the end is learned when it returns
	if denied {
		return
	}
	a := Anomaly{
		Class: EndOffsetBack, Time: op.Call,
		Witnesses: s.j.witnesses(before.op, op),
	}
	for i := range s.l.losses {
		if l := &s.l.losses[i]; end >= l.from && later > l.cut && s.j.before(evidence{before.op, ended(before.op)}, l) {
			a.Documented = true
			a.Witnesses = append(a.Witnesses, faultWitness(*l.fault))
			break
		}
	}
	s.j.report(a, s.l.id, "%s had seen the log end at %d; later %s %s", before.op.Name(), before.offset, op.Name(), how)
}

func (s *sweep) deny(rank int, op *history.Operation, how saying) {
	s.denials = append(s.denials, denial{s.now[rank], op, how})
	s.now[rank] = nil
}

func (s *sweep) checkListOffsets(op *history.Operation) {
	switch {
	case isEarliest(op):
		s.checkStart(op, op.Complete.Offset)
	case !s.mayBeStale(op):
		s.checkEnd(op, op.Complete.Offset, op.Complete.Time, saying{saysEnd, op.Complete.Offset})
	}
}

// mayBeStale: a leader that was deposed without knowing it may have answered. Not the final read: by then all is healed.
func (s *sweep) mayBeStale(op *history.Operation) bool {
	return s.j.in.Promises.StaleReads && !op.Invoke.Final
}

// checkStart: unless retention is allowed, nothing removes records from the start of a log.
func (s *sweep) checkStart(op *history.Operation, start int64) {
	if s.j.in.Promises.Retention {
		return
	}
	for ; s.low < len(s.now) && s.l.offsets[s.low] < start; s.low++ {
		if s.now[s.low] != nil {
			s.deny(s.low, op, saying{saysStart, start})
		}
	}
}

func (s *sweep) checkFetch(op *history.Operation) {
	in, done, stale := &op.Invoke, op.Complete, s.mayBeStale(op)
	if done.Error == "OFFSET_OUT_OF_RANGE" {
		if excused := s.j.in.Promises.Retention && in.Offset < s.maxStart; !excused && !stale {
			s.checkEnd(op, in.Offset-1, done.Time, saying{says: outOfRange})
		}
		return
	}
	next := s.checkSlice(op)
	if op.Outcome != history.OK {
		return
	}
	s.checkStart(op, done.LogStart)
	switch {
	case stale || done.Corrupt != "":
	case done.HW >= 0:
		// What lies at or above the high watermark and was served is uncommitted-read, not lost.
		s.checkEnd(op, max(done.HW, next), done.Time, saying{saysHW, done.HW})
	case len(done.Records) == 0:
		s.checkEnd(op, in.Offset, done.Time, saying{saysEmpty, in.Offset})
	case op == s.l.stop:
		s.checkEnd(op, next, done.Time, saying{saysStop, next})
	}
}

// checkSlice holds the records of an answer against what is established between the offset asked for and the last one,
// and returns the offset after the last one, 0 if there is none.
func (s *sweep) checkSlice(op *history.Operation) (end int64) {
	next := max(op.Invoke.Offset, op.Complete.LogStart)
	for _, rec := range op.Complete.Records {
		if rec.Offset > next {
			s.checkHole(op, next, rec.Offset)
		}
		next = max(next, rec.Offset+1)
		end = next
	}
	return end
}

// checkHole: the answer has nothing in [from, to) and something after it.
func (s *sweep) checkHole(op *history.Operation, from, to int64) {
	denied := false
	for rank := s.l.rank(from); rank < len(s.now) && s.l.offsets[rank] < to; rank++ {
		switch r := s.now[rank]; {
		case r == nil:
		case s.l.keys != nil && s.l.superseded(r, ended(op)):
			s.now[rank] = nil // compacted, or about to be
		default:
			s.deny(rank, op, saying{says: skipped})
			denied = true
		}
	}
	if denied || s.j.in.Promises.Holes {
		return
	}
	s.j.report(Anomaly{Class: Gap, Time: op.Call, About: &About{Offset: from}, Witnesses: s.j.witnesses(op)}, s.l.id,
		"%s was served a slice with a hole: nothing from offset %d to %d, and a record at %d", op.Name(), from, to-1, to)
}

// checkAppend: a batch that was appended after op's invocation stands above everything established before.
func (s *sweep) checkAppend(op *history.Operation) {
	base, ok := s.l.base(op)
	if !ok {
		return
	}
	mine := s.l.of[op]
	high := s.highest()
	if high != nil && high.write.op == op {
		return // read before it was sent: future-read
	}
	if high == nil || high.offset < base {
		s.checkAppendEnd(op, base, mine)
		return
	}
	if s.j.misplaced[op] = true; anyReused(mine) {
		return
	}
	later := mine[0].first().ret
	if loss := s.j.gone(s.l, high, base, op.Call, later); loss != nil {
		for r := high; r != nil && r.offset >= base && s.j.takes(loss, r, op.Call, later); r = s.highest() {
			r.lost = true
			s.now[s.top-1] = nil
		}
		s.end = seenEnd{}
		s.j.report(s.inversion(op, high, loss), s.l.id,
			"%s was at offset %d; after %s, %s landed at %d", high.name(), high.offset, loss.fault.Text, mine[0].name(), base)
		return
	}
	s.j.report(s.inversion(op, high, nil), s.l.id, "%s was at offset %d before %s was sent, and that landed at %d",
		high.name(), high.offset, mine[0].name(), base)
}

// checkAppendEnd: the batch stands above all records, and must stand above every end offset that was told before.
func (s *sweep) checkAppendEnd(op *history.Operation, base int64, mine []*record) {
	s.checkEnd(op, base, mine[0].first().ret, saying{saysAppend, base})
}

func (s *sweep) inversion(op *history.Operation, high *record, loss *loss) Anomaly {
	a := Anomaly{Class: Inversion, Time: op.Call, About: high.about(), Witnesses: s.j.witnesses(high.first().op, op)}
	if producer(high.write.op) == producer(op) {
		a.Class = Reordered
	}
	if loss != nil {
		a.Documented = true
		a.Witnesses = append(a.Witnesses, faultWitness(*loss.fault))
	}
	return a
}

func anyReused(records []*record) bool {
	return slices.ContainsFunc(records, func(r *record) bool { return r.reused })
}

// client is a logical client: it sends in order.
type client struct {
	proc    string
	process int
}

func producer(op *history.Operation) client { return client{op.Invoke.Proc, op.Invoke.Process} }
