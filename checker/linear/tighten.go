package linear

import (
	"cmp"
	"slices"

	"trialog/checker/history"
)

// tighten narrows the interval of each batch to the times at which it can have become visible:
//
//   - a read that saw the end at lo or above returned after every batch that begins below lo was visible;
//   - a read that saw the end at hi or below began before any batch that ends above hi was visible;
//   - batches become visible in the order of their offsets.
//
// These bounds are necessary in any case, and sufficient when every append is resolved and every read saw the end of a
// batch. A batch without any time left convicts. Linear after sorting.
func (p *problem) tighten() *Verdict {
	p.latest()
	p.earliest()
	for i := range p.batches {
		b := &p.batches[i]
		if b.call <= b.ret {
			continue
		}
		return illegal([]*history.Operation{b.op, b.early, b.late},
			"the batch of %s at offset %d cannot be visible before %s (%s), and must be by %s (%s)",
			b.op.Name(), b.base, history.Seconds(b.call), b.early.Name(), history.Seconds(b.ret), b.late.Name())
	}
	return nil
}

// latest lowers the return times: from the last batch down, by reads with lo above the batch's base.
func (p *problem) latest() {
	reads := slices.Clone(p.reads)
	slices.SortStableFunc(reads, func(a, b read) int { return cmp.Compare(b.lo, a.lo) })
	by, ret := (*history.Operation)(nil), history.Forever
	r := 0
	for i := len(p.batches) - 1; i >= 0; i-- {
		b := &p.batches[i]
		for ; r < len(reads) && reads[r].lo > b.base; r++ {
			if reads[r].ret < ret {
				by, ret = reads[r].op, reads[r].ret
			}
		}
		if ret < b.ret {
			b.ret, b.late = ret, by
		}
		if b.ret < ret {
			by, ret = b.late, b.ret
		}
	}
}

// earliest raises the call times: from the first batch up, by reads with hi below the batch's end.
func (p *problem) earliest() {
	reads := slices.Clone(p.reads)
	slices.SortStableFunc(reads, func(a, b read) int { return cmp.Compare(a.hi, b.hi) })
	by, call := (*history.Operation)(nil), int64(-1)
	r := 0
	for i := range p.batches {
		b := &p.batches[i]
		for ; r < len(reads) && reads[r].hi < b.end; r++ {
			if reads[r].call > call {
				by, call = reads[r].op, reads[r].call
			}
		}
		if call > b.call {
			b.call, b.early = call, by
		}
		if b.call > call {
			by, call = b.early, b.call
		}
	}
}
