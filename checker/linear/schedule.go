package linear

import (
	"cmp"
	"slices"
	"sort"
)

// schedule gives each operation one moment within its interval such that the model accepts them in that order, and
// replaces the intervals by positions in the order. It returns false, and changes nothing, if it finds none: then the
// search must look.
//
// After tighten each batch becomes visible as early as it can, and each read looks as early as its answer allows. This
// is always an order when every append is resolved and no answer lies within a batch.
func (p *problem) schedule() bool {
	if len(p.loose) > 0 {
		return false
	}
	visible := make([]int64, len(p.batches)) // ns; rising
	for i := range p.batches {
		visible[i] = p.batches[i].call
		if i > 0 {
			visible[i] = max(visible[i], visible[i-1])
		}
	}
	type look struct {
		read  int
		after int // batches visible by then
		time  int64
	}
	looks := make([]look, len(p.reads))
	for i := range p.reads {
		r := &p.reads[i]
		after := sort.Search(len(p.batches), func(k int) bool { return p.batches[k].base >= r.lo }) // all below lo
		t := r.call
		if after > 0 {
			t = max(t, visible[after-1])
		}
		for after < len(p.batches) && visible[after] <= t && p.batches[after].end <= r.hi {
			after++
		}
		if t > r.ret {
			return false
		}
		looks[i] = look{i, after, t}
	}
	slices.SortStableFunc(looks, func(a, b look) int { return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.time, b.time)) })
	var order []step
	next := 0
	for i := range len(p.batches) + 1 {
		for ; next < len(looks) && looks[next].after == i; next++ {
			order = append(order, step{read: &p.reads[looks[next].read]})
		}
		if i < len(p.batches) {
			order = append(order, step{append: &p.batches[i]})
		}
	}
	return p.accept(order)
}

// accept runs the model over an order; if it is legal, positions replace the intervals.
func (p *problem) accept(order []step) bool {
	end, ok := p.start, true
	for _, s := range order {
		if end, ok = p.apply(end, s); !ok {
			return false
		}
	}
	for i, s := range order {
		if at := int64(i); s.append != nil {
			s.append.call, s.append.ret = at, at
		} else {
			s.read.call, s.read.ret = at, at
		}
	}
	p.scheduled = true
	return true
}
