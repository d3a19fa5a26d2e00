package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"trialog/checker/history"
)

// batch is one append whose offset is known.
type batch struct {
	op        *history.Operation
	base, end int64 // offsets base..end-1
	call, ret int64 // ns, when it became visible
	early     *history.Operation
	late      *history.Operation // the operations that set call and ret
}

// read is an operation that saw the end of the log somewhere in [lo, hi].
type read struct {
	op        *history.Operation
	lo, hi    int64
	call, ret int64
}

// loose is an append whose offset nobody saw. It can only be told apart from one that never happened when an offset
// exists that nobody saw.
type loose struct {
	op        *history.Operation
	n         int64 // records
	must      bool  // acknowledged without an offset: it happened by ret
	call, ret int64
}

// problem is one partition's history, resolved.
type problem struct {
	o       Options
	batches []batch // by base
	reads   []read
	loose   []loose
	start   int64 // the end of the log when the history begins
	last    int64 // no operation saw anything at or above it
	capped  bool  // there may be more copies than the model has

	scheduled bool // calls and returns are positions in a legal order, not times
}

const unbounded = math.MaxInt64

// resolver builds a problem.
type resolver struct {
	p      *problem
	ops    []*history.Operation
	writer map[string]*history.Operation
	of     map[*history.Operation][]int // batches of an operation, as indexes into p.batches
}

func illegal(witness []*history.Operation, format string, args ...any) *Verdict {
	return &Verdict{Result: Illegal, Text: fmt.Sprintf(format, args...), Witness: witness}
}

// mayCopy reports that the broker may hold several copies of the batch.
func mayCopy(op *history.Operation) bool {
	return !op.Invoke.Idempotent && (op.Retried() || op.Complete == nil)
}

func resolve(ops []*history.Operation, writer map[string]*history.Operation, o Options) (*problem, *Verdict) {
	r := &resolver{p: &problem{o: o}, ops: ops, writer: writer, of: make(map[*history.Operation][]int, len(ops))}
	for _, op := range ops {
		if op.Invoke.F == history.Produce && op.Outcome == history.OK && op.Complete.Offset >= 0 {
			r.place(op, op.Complete.Offset, op.Return, op)
		}
	}
	for _, op := range ops {
		if op.Complete == nil {
			continue
		}
		var bad *Verdict
		switch op.Invoke.F {
		case history.Fetch:
			bad = r.fetch(op)
		case history.ListOffsets:
			r.latest(op)
		}
		if bad != nil {
			return nil, bad
		}
	}
	if bad := r.overlaps(); bad != nil {
		return nil, bad
	}
	r.bounds()
	r.loosen()
	return r.p, nil
}

// place notes that a batch of op stands at base and was visible by ret, as seen by witness.
func (r *resolver) place(op *history.Operation, base, ret int64, witness *history.Operation) {
	for _, i := range r.of[op] {
		if b := &r.p.batches[i]; b.base == base {
			if ret < b.ret {
				b.ret, b.late = ret, witness
			}
			return
		}
	}
	r.of[op] = append(r.of[op], len(r.p.batches))
	r.p.batches = append(r.p.batches, batch{
		op: op, base: base, end: base + int64(len(op.Invoke.Values)), call: op.Call, ret: ret, early: op, late: witness,
	})
}

// fetch checks the records of an answer, places their batches, and notes what end the answer saw.
func (r *resolver) fetch(op *history.Operation) *Verdict {
	done := op.Complete
	if done.Error == "OFFSET_OUT_OF_RANGE" {
		if !r.p.o.Retention {
			r.read(op, 0, op.Invoke.Offset-1)
		}
		return nil
	}
	next := max(op.Invoke.Offset, done.LogStart)
	var w *history.Operation // who sent the record before
	i := 0                   // and which of its values that was
	for _, rec := range done.Records {
		if rec.Offset < next || rec.Offset > next && !r.p.o.Holes {
			return illegal([]*history.Operation{op}, "%s asked for offset %d and was served offset %d where the log has %d",
				op.Name(), op.Invoke.Offset, rec.Offset, next)
		}
		if w != nil && rec.Offset == next && i+1 < len(w.Invoke.Values) && w.Invoke.Values[i+1] == rec.Value {
			i++ // more of a batch that has its place
		} else {
			var bad *Verdict
			if w, i, bad = r.record(op, rec); bad != nil {
				return bad
			}
		}
		next = rec.Offset + 1
	}
	lo, hi := int64(0), int64(unbounded)
	if len(done.Records) > 0 {
		lo = next
	}
	if op.Outcome == history.OK && done.Corrupt == "" {
		switch {
		case done.HW >= 0 && done.HW < lo:
			return illegal([]*history.Operation{op}, "%s was served offset %d above the high watermark %d", op.Name(), lo-1, done.HW)
		case done.HW >= 0:
			lo, hi = done.HW, done.HW
		case len(done.Records) == 0:
			hi = op.Invoke.Offset
		}
	}
	r.read(op, lo, hi)
	return nil
}

// record places the batch that a record belongs to, and returns who sent it and which of its values it is.
func (r *resolver) record(op *history.Operation, rec history.Rec) (w *history.Operation, i int, bad *Verdict) {
	w = r.writer[rec.Value]
	if w == nil || w.Invoke.Topic != op.Invoke.Topic || w.Invoke.Partition != op.Invoke.Partition {
		return nil, 0, illegal([]*history.Operation{op}, "%s read %q, which nobody sent to this partition", op.Name(), rec.Value)
	}
	if w.Outcome == history.Fail {
		return nil, 0, illegal([]*history.Operation{w, op}, "%s read %q, whose produce definitely failed", op.Name(), rec.Value)
	}
	i = slices.Index(w.Invoke.Values, rec.Value)
	base := rec.Offset - int64(i)
	at := r.of[w]
	if len(at) > 0 && !mayCopy(w) && r.p.batches[at[0]].base != base {
		b := &r.p.batches[at[0]]
		return nil, 0, illegal([]*history.Operation{w, b.late, op}, "%q stands at offset %d for %s and its batch at %d for %s",
			rec.Value, rec.Offset, op.Name(), b.base, b.late.Name())
	}
	ret := op.Complete.Time
	if len(at) == 0 && !mayCopy(w) {
		ret = min(ret, w.Return)
	}
	r.place(w, base, ret, op)
	return w, i, nil
}

func (r *resolver) latest(op *history.Operation) {
	if op.Outcome == history.OK && op.Invoke.Offset != history.Earliest {
		r.read(op, op.Complete.Offset, op.Complete.Offset)
	}
}

func (r *resolver) read(op *history.Operation, lo, hi int64) {
	if r.p.o.StaleReads && !op.Invoke.Final {
		hi = unbounded
	}
	if lo > 0 || hi < unbounded {
		r.p.reads = append(r.p.reads, read{op, lo, hi, op.Call, op.Complete.Time})
	}
}

// overlaps sorts the batches and refuses two at one offset.
func (r *resolver) overlaps() *Verdict {
	bs := r.p.batches
	slices.SortStableFunc(bs, func(a, b batch) int { return cmp.Compare(a.base, b.base) })
	for i := 1; i < len(bs); i++ {
		a, b := &bs[i-1], &bs[i]
		if b.base < a.end {
			return illegal([]*history.Operation{a.op, a.late, b.op, b.late}, "%s stands at offsets %d to %d and %s at %d to %d",
				a.op.Name(), a.base, a.end-1, b.op.Name(), b.base, b.end-1)
		}
	}
	return nil
}

// bounds finds where the history begins and ends.
func (r *resolver) bounds() {
	p := r.p
	p.start = unbounded
	if len(p.batches) > 0 {
		p.start, p.last = p.batches[0].base, p.batches[len(p.batches)-1].end
	}
	for i := range p.reads {
		p.start = min(p.start, max(p.reads[i].hi, 0))
		p.last = max(p.last, p.reads[i].lo)
	}
	if p.start == unbounded {
		p.start = 0
	}
}

// copiesMax is how many unseen copies of one retried batch the model holds.
const copiesMax = 4

// loosen keeps the appends that nobody saw, if there are offsets that nobody saw.
func (r *resolver) loosen() {
	p := r.p
	holes := p.last - p.start
	for i := range p.batches {
		holes -= p.batches[i].end - p.batches[i].base
	}
	for _, op := range r.ops {
		if op.Invoke.F != history.Produce || op.Outcome == history.Fail {
			continue
		}
		n := int64(len(op.Invoke.Values))
		seen := len(r.of[op]) > 0
		if op.Outcome == history.OK && !seen {
			p.loose = append(p.loose, loose{op, n, true, op.Call, op.Return})
		}
		if holes <= 0 || p.o.Holes {
			continue
		}
		if op.Outcome != history.OK && !seen {
			p.loose = append(p.loose, loose{op, n, false, op.Call, history.Forever})
		}
		if mayCopy(op) {
			for range min(holes/n, copiesMax) {
				p.loose = append(p.loose, loose{op, n, false, op.Call, history.Forever})
			}
			p.capped = p.capped || holes/n > copiesMax
		}
	}
}

// free reports that no batch of known offset stands in [from, to).
func (p *problem) free(from, to int64) bool {
	i := sort.Search(len(p.batches), func(i int) bool { return p.batches[i].end > from })
	return i == len(p.batches) || p.batches[i].base >= to
}
