package oracle

import (
	"fmt"
	"strconv"

	"trialog/checker/history"
)

func (r *record) name() string { return strconv.Quote(r.value) }

func (r *record) about() *About { return &About{Offset: r.offset, Value: r.value} }

// denied turns denials into anomalies: stale if the record came back, else lost, unless a power cut may take it.
func (j *judge) denied(l *log, denials []denial) {
	for _, d := range denials {
		d.r.denied = true
		a := Anomaly{Time: d.op.Call, About: d.r.about(), Witnesses: j.witnesses(d.r.first().op, d.op)}
		loss := j.gone(l, d.r, d.r.offset, d.op.Call, ended(d.op))
		back := d.r.since(ended(d.op))
		switch {
		case loss != nil:
			d.r.lost = true
			a.Documented = true
			a.Witnesses = append(a.Witnesses, faultWitness(*loss.fault))
		case d.r.reused:
			continue // offset-reused says it already
		}
		text := ""
		switch {
		case d.how.says == outOfRange:
			a.Class = OutOfRange
			text = fmt.Sprintf(" for offset %d", d.op.Invoke.Offset)
		case back != nil && loss == nil:
			a.Class = StaleRead
			a.Witnesses = append(a.Witnesses, j.witnesses(back)...)
			text = "; " + back.Name() + " read it again later"
		case l.keys != nil && d.how.says == skipped:
			a.Class = CompactedAway
			text = fmt.Sprintf("; nothing of key %q had been sent after it", KeyOf(d.r.value))
		case d.r.acked:
			a.Class = LostAcked
		default:
			a.Class = LostRead
		}
		j.report(a, l.id, "%s was %s at offset %d by %s; later %s %s%s", d.r.name(), d.r.how(), d.r.offset,
			d.r.first().op.Name(), d.op.Name(), d.how, text)
	}
}

// how the first witness knew of the record.
func (r *record) how() string {
	if r.first().op.Invoke.F == history.Produce {
		return "acknowledged"
	}
	return "read"
}

// since is an operation that was invoked after t and saw the record.
func (r *record) since(t int64) *history.Operation {
	for _, e := range r.evidence {
		if e.op.Call > t {
			return e.op
		}
	}
	return nil
}

// scanOffsets finds offsets that showed two values.
func (j *judge) scanOffsets(l *log) {
	for _, at := range l.at {
		var old *record
		for _, r := range at {
			if r.write.op == nil {
				continue // a phantom says enough
			}
			if old != nil {
				j.replaced(l, old, r)
			}
			old = r
		}
	}
}

func (j *judge) replaced(l *log, old, r *record) {
	a := Anomaly{Class: OffsetReused, Time: r.first().ret, About: old.about(), Witnesses: j.witnesses(old.first().op, r.first().op)}
	seen := r.first().ret
	if loss := j.gone(l, old, old.offset, seen, seen); loss != nil {
		old.lost = true
		a.Documented = true
		a.Witnesses = append(a.Witnesses, faultWitness(*loss.fault))
	} else {
		old.reused, r.reused = true, true
	}
	j.report(a, l.id, "offset %d showed %s to %s and %s to %s", r.offset, old.name(), old.first().op.Name(), r.name(), r.first().op.Name())
}

// scanReads checks each answer by itself.
func (j *judge) scanReads(l *log) {
	for _, op := range l.ops {
		done := op.Complete
		if done == nil {
			continue
		}
		if done.Corrupt != "" {
			a := Anomaly{Class: CorruptRead, Time: done.Time, Witnesses: j.witnesses(op)}
			if r := l.expected(op); r != nil {
				a.About = r.about()
				a.Witnesses = append(a.Witnesses, j.witnesses(r.first().op)...)
			}
			j.report(a, l.id, "%s was served bytes that fail their checks: %s", op.Name(), done.Corrupt)
		}
		if op.Invoke.F == history.Fetch && len(done.Records) > 0 {
			j.scanAnswer(l, op)
		}
	}
}

// expected is the record that a corrupt answer should have held next, if another operation showed it.
func (l *log) expected(op *history.Operation) *record {
	next := op.Invoke.Offset
	if n := len(op.Complete.Records); n > 0 {
		next = op.Complete.Records[n-1].Offset + 1
	}
	if rank := l.rank(next); rank < len(l.at) && l.offsets[rank] == next && l.at[rank][0].first().op != op {
		return l.at[rank][0]
	}
	return nil
}

func (j *judge) scanAnswer(l *log, op *history.Operation) {
	done := op.Complete
	last := op.Invoke.Offset - 1
	for i, r := range l.shows[op] {
		rec := &done.Records[i]
		if rec.Offset <= last {
			j.report(Anomaly{Class: CorruptRead, Time: done.Time, About: &About{rec.Offset, rec.Value}, Witnesses: j.witnesses(op)}, l.id,
				"%s was served a record at offset %d where it expected %d or above", op.Name(), rec.Offset, last+1)
		}
		last = max(last, rec.Offset)
		if w := r.write.op; w == nil || done.Time < w.Call {
			j.scanValue(l, op, rec)
		}
	}
	if op.Outcome == history.OK && done.HW >= 0 && last >= done.HW {
		j.report(Anomaly{Class: UncommittedRead, Time: done.Time, About: &About{Offset: last}, Witnesses: j.witnesses(op)}, l.id,
			"%s was served offset %d by an answer whose high watermark is %d", op.Name(), last, done.HW)
	}
}

// scanValue says what is wrong with a record that was read.
func (j *judge) scanValue(l *log, op *history.Operation, rec *history.Rec) {
	w, sent := j.g.writes[rec.Value]
	class, why := Phantom, ""
	switch {
	case !sent:
		why = "and nobody sent that"
	case w.op.Invoke.Partition != l.id.partition || w.op.Invoke.Topic != l.id.topic:
		why = fmt.Sprintf("and that was sent to %s-%d", w.op.Invoke.Topic, w.op.Invoke.Partition)
	case w.op.Outcome == history.Fail:
		why = "and its produce " + w.op.Name() + " definitely failed"
	case op.Complete.Time < w.op.Call:
		class, why = FutureRead, "before "+w.op.Name()+" sent it"
	default:
		return
	}
	a := Anomaly{Class: class, Time: op.Complete.Time, About: &About{rec.Offset, rec.Value}, Witnesses: j.witnesses(op)}
	if sent {
		a.Witnesses = append(a.Witnesses, j.witnesses(w.op)...)
	}
	j.report(a, l.id, "%s read %q at offset %d %s", op.Name(), rec.Value, rec.Offset, why)
}

// scanProducerIDs finds a (producer id, epoch) that was handed out twice.
func (j *judge) scanProducerIDs() {
	type key struct {
		pid   int64
		epoch int16
	}
	first := map[key]*history.Operation{}
	for i := range j.g.operations {
		op := &j.g.operations[i]
		if op.Invoke.F != history.InitProducerID || op.Outcome != history.OK {
			continue
		}
		k := key{op.Complete.PID, op.Complete.PEpoch}
		if a := first[k]; a != nil {
			j.report(Anomaly{Class: PIDReused, Time: op.Return, Witnesses: j.witnesses(a, op)}, tp{},
				"producer id %d epoch %d was handed to %s and again to %s", k.pid, k.epoch, a.Name(), op.Name())
			continue
		}
		first[k] = op
	}
}
