package oracle

import (
	"cmp"
	"math"
	"slices"

	"trialog/checker/history"
)

// scanOrder checks INV-ORD: each batch stands together and once, and each producer's batches stand in send order.
func (j *judge) scanOrder(l *log) {
	for _, op := range l.ops {
		if op.Invoke.F == history.Produce && len(l.of[op]) > 0 {
			j.scanBatch(l, op)
		}
	}
	j.scanSendOrder(l)
	j.scanSequences(l)
}

// scanBatch: a value has one offset, and a batch stands together.
func (j *judge) scanBatch(l *log, op *history.Operation) {
	if mayCopy(op) {
		return
	}
	mine := l.of[op]
	at := make([]*record, len(op.Invoke.Values))
	for _, r := range mine {
		if first := at[r.write.index]; first != nil {
			a := Anomaly{Class: Duplicate, Time: r.first().ret, About: r.about(), Witnesses: j.witnesses(op, first.first().op, r.first().op)}
			j.excusePair(l, &a, first, r)
			j.report(a, l.id, "%s was sent once and stands at offset %d and at %d", r.name(), first.offset, r.offset)
			return
		}
		at[r.write.index] = r
	}
	if anyReused(mine) {
		return
	}
	base := mine[0].offset - int64(mine[0].write.index)
	for i, r := range at {
		if r != nil && r.offset != base+int64(i) {
			a := Anomaly{Class: Reordered, Time: r.first().ret, About: r.about(), Witnesses: j.witnesses(op, mine[0].first().op, r.first().op)}
			j.excusePair(l, &a, mine[0], r)
			j.report(a, l.id, "%s was sent in one batch with %s at offset %d and stands at %d, not at %d",
				r.name(), mine[0].name(), mine[0].offset, r.offset, base+int64(i))
			return
		}
		if r == nil {
			if other := l.other(base + int64(i)); other != nil {
				a := Anomaly{
					Class: Gap, Time: other.first().ret, About: &About{base + int64(i), op.Invoke.Values[i]},
					Witnesses: j.witnesses(op, mine[0].first().op, other.first().op),
				}
				j.excusePair(l, &a, mine[0], other)
				j.report(a, l.id, "half a batch: %s is at offset %d, and where its neighbour %q belongs is %s",
					mine[0].name(), mine[0].offset, op.Invoke.Values[i], other.name())
				return
			}
		}
	}
}

// other is a genuine record at offset, nil if none was seen.
func (l *log) other(offset int64) *record {
	rank := l.rank(offset)
	if rank == len(l.offsets) || l.offsets[rank] != offset {
		return nil
	}
	for _, r := range l.at[rank] {
		if r.write.op != nil {
			return r
		}
	}
	return nil
}

// excusePair forgives an anomaly between two records if a power cut may have taken one before the other was seen.
func (j *judge) excusePair(l *log, a *Anomaly, x, y *record) {
	seen := y.first().ret
	loss, taken := j.gone(l, x, x.offset, seen, seen), x
	if loss == nil {
		seen = x.first().ret
		loss, taken = j.gone(l, y, y.offset, seen, seen), y
	}
	if loss != nil {
		taken.lost = true
		a.Documented = true
		a.Witnesses = append(a.Witnesses, faultWitness(*loss.fault))
	}
}

// scanSendOrder: what a client sent after an acknowledged batch stands above it. A batch of unknown outcome may land
// late, from a connection that its client has given up, so it binds nobody.
func (j *judge) scanSendOrder(l *log) {
	high := map[client]*history.Operation{}
	for _, op := range l.ops {
		base, ok := l.base(op)
		if op.Invoke.F != history.Produce || !ok || mayCopy(op) {
			continue
		}
		who := producer(op)
		if a := high[who]; a != nil && samePID(a, op) && base < baseOf(l, a) {
			j.reordered(l, a, op)
			continue
		}
		if op.Acked() {
			if a := high[who]; a == nil || baseOf(l, a) < base {
				high[who] = op
			}
		}
	}
}

func baseOf(l *log, op *history.Operation) int64 {
	b, _ := l.base(op)
	return b
}

func samePID(a, b *history.Operation) bool {
	x, y := &a.Invoke, &b.Invoke
	return x.Idempotent == y.Idempotent && (!x.Idempotent || x.PID == y.PID && x.PEpoch == y.PEpoch)
}

// reordered reports that b, sent after a, stands below it; unless the sweep has found b below something already.
func (j *judge) reordered(l *log, a, b *history.Operation) {
	if j.misplaced[b] || anyReused(l.of[a]) || anyReused(l.of[b]) {
		return
	}
	j.misplaced[b] = true
	x, y := l.of[a][0], l.of[b][0]
	an := Anomaly{Class: Reordered, Time: y.first().ret, About: y.about(), Witnesses: j.witnesses(a, b)}
	j.excusePair(l, &an, x, y)
	j.report(an, l.id, "%s sent %s before %s, and they stand at offsets %d and %d", a.Name(), x.name(), y.name(), x.offset, y.offset)
}

// scanSequences: the batches of one (producer id, epoch) stand in the order of their sequence numbers, and the broker
// takes none whose predecessor it has not got, unless it holds nothing of that producer.
func (j *judge) scanSequences(l *log) {
	type key struct {
		pid   int64
		epoch int16
	}
	last := map[key]*history.Operation{}
	var sent []*history.Operation
	for _, op := range l.ops {
		if _, ok := l.base(op); ok && op.Invoke.Idempotent {
			sent = append(sent, op)
		}
	}
	slices.SortStableFunc(sent, func(a, b *history.Operation) int { return cmp.Compare(baseOf(l, a), baseOf(l, b)) })
	for _, op := range sent {
		k := key{op.Invoke.PID, op.Invoke.PEpoch}
		if a := last[k]; a != nil {
			j.scanPair(l, a, op)
		}
		last[k] = op
	}
}

// scanPair: b is the next batch that was seen above a, of the same producer id and epoch.
func (j *judge) scanPair(l *log, a, b *history.Operation) {
	x, y := l.of[a], l.of[b]
	end := baseOf(l, a) + int64(len(a.Invoke.Values))
	want := nextSeq(a)
	switch {
	case b.Invoke.Seq == want:
	case seqBefore(b.Invoke.Seq, want):
		j.reordered(l, b, a)
	case l.known(end, baseOf(l, b)) && !anyReused(x) && !anyReused(y):
		an := Anomaly{Class: Gap, Time: y[0].first().ret, About: y[0].about(), Witnesses: j.witnesses(a, b)}
		j.excuseGap(l, &an, x[0], y[0])
		j.report(an, l.id, "producer id %d: after sequence %d at offset %d comes sequence %d at offset %d; %d was never appended",
			b.Invoke.PID, a.Invoke.Seq, x[0].offset, b.Invoke.Seq, y[0].offset, want)
	}
}

// excuseGap forgives a jump between two batches if a power cut may have taken one of them: then the other, or what stands
// between them, may be of another life of the log. What the broker took after it had recovered follows on what it held.
func (j *judge) excuseGap(l *log, a *Anomaly, x, y *record) {
	for i := range l.losses {
		if loss := &l.losses[i]; j.mayHaveTaken(loss, x) || j.mayHaveTaken(loss, y) {
			a.Documented = true
			a.Witnesses = append(a.Witnesses, faultWitness(*loss.fault))
			return
		}
	}
}

func (j *judge) mayHaveTaken(loss *loss, r *record) bool {
	return r.offset >= loss.from && j.before(r.first(), loss)
}

func nextSeq(op *history.Operation) int32 {
	return int32((int64(op.Invoke.Seq) + int64(len(op.Invoke.Values))) & math.MaxInt32) // wraps to 0 as in Kafka
}

// seqBefore compares sequence numbers that wrap.
func seqBefore(a, b int32) bool { return (b-a)&math.MaxInt32 < 1<<30 && a != b }
