package oracle

import (
	"strings"

	"trialog/checker/history"
)

// KeyOf is the key of a record on a compacted topic: what stands before the first colon of its value. A value without one
// is a key of its own, which nothing replaces.
func KeyOf(value string) string {
	key, _, _ := strings.Cut(value, ":")
	return key
}

// keyed is what a history says of one key of one log.
type keyed struct {
	records []*record // in order of offset
	unknown []int64   // ns, when produces were invoked that may have appended it nobody knows where
}

// byKey sorts a log by keys.
func (l *log) byKey() map[string]*keyed {
	keys := map[string]*keyed{}
	of := func(value string) *keyed {
		k := keys[KeyOf(value)]
		if k == nil {
			k = &keyed{}
			keys[KeyOf(value)] = k
		}
		return k
	}
	for _, r := range l.records {
		if r.write.op != nil {
			k := of(r.value)
			k.records = append(k.records, r)
		}
	}
	for _, op := range l.ops {
		if op.Invoke.F != history.Produce || op.Outcome == history.Fail || op.Acked() && op.Complete.Offset >= 0 {
			continue
		}
		for _, v := range op.Invoke.Values {
			k := of(v)
			k.unknown = append(k.unknown, op.Call)
		}
	}
	return keys
}

// superseded reports that compaction may have removed a record by the time t (ns): a later one of its key was there, or
// may have been. That this one was committed shows at the end: see scanKeys.
func (l *log) superseded(r *record, t int64) bool {
	k := l.keys[KeyOf(r.value)]
	for _, other := range k.records {
		if other.offset > r.offset && other.write.op.Call < t {
			return true
		}
	}
	for _, call := range k.unknown {
		if call < t {
			return true
		}
	}
	return false
}

// scanKeys: what the history knows as the latest record of a key is there in the final read. A record that nobody ever saw
// may have replaced it, but then that one is there, or the one which replaced it, and so on: one of them was read.
func (j *judge) scanKeys(l *log) {
	if l.keys == nil || l.finalRead() != "" {
		return
	}
	for _, op := range l.ops {
		if op.Invoke.F == history.Fetch && op.Invoke.Final && op.Complete != nil && op.Complete.Corrupt != "" {
			return // nobody read on from there
		}
	}
	for _, r := range l.records {
		k := l.keys[KeyOf(r.value)]
		if k == nil || k.records[len(k.records)-1] != r || r.reused || r.denied || r.readAtTheEnd() {
			continue
		}
		a := Anomaly{Class: CompactedAway, Time: r.first().ret, About: r.about(), Witnesses: j.witnesses(r.first().op, l.lastRead())}
		if loss := j.gone(l, r, r.offset, ended(l.lastRead()), ended(l.lastRead())); loss != nil {
			r.lost, a.Documented = true, true
			a.Witnesses = append(a.Witnesses, faultWitness(*loss.fault))
		}
		j.report(a, l.id, "%s was %s at offset %d by %s, nothing of key %q is above it, and it is not in the final read",
			r.name(), r.how(), r.offset, r.first().op.Name(), KeyOf(r.value))
	}
}

func (r *record) readAtTheEnd() bool {
	for _, e := range r.evidence {
		if e.op.Invoke.Final {
			return true
		}
	}
	return false
}

// lastRead is the last fetch of the final read.
func (l *log) lastRead() *history.Operation {
	for i := len(l.ops) - 1; i >= 0; i-- {
		if op := l.ops[i]; op.Invoke.F == history.Fetch && op.Invoke.Final && op.Outcome == history.OK {
			return op
		}
	}
	return nil
}
