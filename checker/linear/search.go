package linear

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"trialog/checker/history"
)

// step is the input of one operation of the model. Exactly one of its pointers is set.
type step struct {
	append *batch
	read   *read
	loose  *loose
}

func (s step) op() *history.Operation {
	switch {
	case s.append != nil:
		return s.append.op
	case s.read != nil:
		return s.read.op
	default:
		return s.loose.op
	}
}

// apply is the sequential specification: the end of the log before and after.
func (p *problem) apply(end int64, s step) (int64, bool) {
	switch {
	case s.append != nil:
		b := s.append
		return b.end, end == b.base || p.jumps(end, b.base)
	case s.read != nil:
		r := s.read
		if end >= r.lo && end <= r.hi {
			return end, true
		}
		return r.lo, p.jumps(end, r.lo)
	}
	l := s.loose
	switch {
	case !l.must && end >= p.last:
		return end, true // it did not happen, or nobody can tell
	case p.free(end, end+l.n):
		return end + l.n, true // it fills a hole
	}
	return end, false
}

// jumps reports that the end may move from one offset to another over offsets that hold no record.
func (p *problem) jumps(from, to int64) bool { return p.o.Holes && from < to && p.free(from, to) }

// windowMin is the least number of operations between two cuts.
const windowMin = 256

// search cuts the history where nothing is in flight and runs porcupine on each piece.
func (p *problem) search() Verdict {
	steps, end := p.steps(), p.start
	for len(steps) > 0 {
		n := p.window(steps)
		v := p.searchWindow(steps[:n], end)
		if v.Result != OK {
			return v
		}
		end = p.after(end, steps[:n])
		steps = steps[n:]
	}
	return Verdict{Result: OK}
}

// after is the end after a window: all its appends have happened, whatever their order, and with holes its reads may
// have moved it further. Nothing else moves the end in a history that is cut.
func (p *problem) after(end int64, ops []porcupine.Operation) int64 {
	for i := range ops {
		switch s := ops[i].Input.(step); {
		case s.append != nil:
			end = max(end, s.append.end)
		case s.read != nil && p.o.Holes:
			end = max(end, s.read.lo)
		}
	}
	return end
}

// steps are the operations in the order of their calls.
func (p *problem) steps() []porcupine.Operation {
	out := make([]porcupine.Operation, 0, len(p.batches)+len(p.reads)+len(p.loose))
	add := func(s step, call, ret int64) {
		out = append(out, porcupine.Operation{ClientId: len(out), Input: s, Call: call, Return: ret})
	}
	for i := range p.batches {
		add(step{append: &p.batches[i]}, p.batches[i].call, p.batches[i].ret)
	}
	for i := range p.reads {
		add(step{read: &p.reads[i]}, p.reads[i].call, p.reads[i].ret)
	}
	for i := range p.loose {
		add(step{loose: &p.loose[i]}, p.loose[i].call, p.loose[i].ret)
	}
	slices.SortStableFunc(out, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return out
}

// window is the length of the next piece.
func (p *problem) window(steps []porcupine.Operation) int {
	if len(p.loose) > 0 {
		return len(steps)
	}
	busy := int64(-1)
	for i, s := range steps {
		if i >= windowMin && s.Call > busy {
			return i
		}
		busy = max(busy, s.Return)
	}
	return len(steps)
}

// searchWindow runs porcupine. The bound counts steps, not time, so that the verdict depends on the history alone.
func (p *problem) searchWindow(ops []porcupine.Operation, start int64) Verdict {
	const entry = 160 // bytes of a cached state beside its bitset
	limit := p.o.MemoryMax / int64(len(ops)/8+entry)
	count := int64(0)
	model := porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, _ any) (bool, any) {
			if count >= limit {
				return false, state
			}
			end, ok := p.apply(state.(int64), input.(step))
			if ok {
				count++
			}
			return ok, end
		},
		Hash: func(state any) uint64 { return uint64(state.(int64)) * 0x9e3779b97f4a7c15 },
	}
	result, info := porcupine.CheckOperationsVerbose(model, ops, 0)
	switch {
	case result == porcupine.Ok:
		return Verdict{Result: OK}
	case count >= limit:
		return Verdict{Result: Unknown, Text: fmt.Sprintf("%d operations with %d of unknown outcome and offset need more than %d MiB",
			len(ops), len(p.loose), p.o.MemoryMax>>20)}
	case p.capped:
		return Verdict{Result: Unknown, Text: "batches that were sent again may have left more copies than the model holds"}
	}
	return explain(ops, info)
}

// explain names the operation that the longest partial order could not place, and what that order placed last.
func explain(ops []porcupine.Operation, info porcupine.LinearizationInfo) Verdict {
	var best []porcupine.Operation
	for _, part := range info.PartialLinearizationsOperations() {
		for _, order := range part {
			if len(order) > len(best) {
				best = order
			}
		}
	}
	placed := map[int]bool{}
	for _, op := range best {
		placed[op.ClientId] = true
	}
	var stuck *porcupine.Operation
	for i := range ops {
		if op := &ops[i]; !placed[op.ClientId] && (stuck == nil || op.Return < stuck.Return) {
			stuck = op
		}
	}
	if stuck == nil {
		return *illegal(nil, "no order explains the operations")
	}
	op := stuck.Input.(step).op()
	witness := []*history.Operation{op}
	text := fmt.Sprintf("no order of the log explains %s", op.String())
	if len(best) > 0 {
		last := best[len(best)-1].Input.(step).op()
		witness = append(witness, last)
		text += "; the longest order that can be found ends with " + last.Name()
	}
	return Verdict{Result: Illegal, Text: text, Witness: witness}
}
