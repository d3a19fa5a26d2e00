package linear

import (
	"fmt"
	"slices"
	"strings"

	"trialog/checker/history"
)

// brute is the obvious twin: it holds the whole log, tries every order of the operations, and lets each operation of
// unknown outcome happen or not, and each retried batch of a producer without sequence numbers happen again, a few times.
type brute struct {
	items []bruteItem
	dead  map[string]bool
	seen  int64 // no operation shows anything at or above it, so that what need not happen there does not
}

type bruteItem struct {
	op        *history.Operation
	call, ret int64
	optional  bool
	copied    bool
	again     bool // the item before it is the same: it comes first
}

func newBrute(ops []history.Operation) *brute {
	b := &brute{dead: map[string]bool{}}
	for i := range ops {
		op := &ops[i]
		if op.Invoke.F == history.InitProducerID {
			continue
		}
		if op.Complete != nil {
			b.seen = max(b.seen, op.Complete.Offset+int64(len(op.Invoke.Values)), op.Complete.HW)
			for _, rec := range op.Complete.Records {
				b.seen = max(b.seen, rec.Offset+1)
			}
		}
		if op.Invoke.F != history.Produce {
			if op.Complete != nil {
				b.items = append(b.items, bruteItem{op: op, call: op.Call, ret: op.Complete.Time})
			}
			continue
		}
		switch op.Outcome {
		case history.OK:
			b.items = append(b.items, bruteItem{op: op, call: op.Call, ret: op.Return})
		case history.Info, history.Open:
			b.items = append(b.items, bruteItem{op: op, call: op.Call, ret: history.Forever, optional: true})
		case history.Fail:
			continue
		}
		for i := range max(copiesMax, copiesSeen(ops, op.Invoke.Values[0])) {
			if !mayCopy(op) {
				break
			}
			b.items = append(b.items, bruteItem{op: op, call: op.Call, ret: history.Forever, optional: true, copied: true, again: i > 0})
		}
	}
	return b
}

// copiesSeen is at how many offsets readers saw the value.
func copiesSeen(ops []history.Operation, value string) int {
	at := map[int64]bool{}
	for i := range ops {
		if ops[i].Complete == nil {
			continue
		}
		for _, rec := range ops[i].Complete.Records {
			if rec.Value == value {
				at[rec.Offset] = true
			}
		}
	}
	return len(at)
}

func (b *brute) legal() bool { return b.search(0, nil) }

func (b *brute) search(done uint64, log []string) bool {
	bound, left := history.Forever, false
	for i := range b.items {
		if done&(1<<i) == 0 && !b.items[i].optional {
			bound, left = min(bound, b.items[i].ret), true
		}
	}
	if !left {
		return true
	}
	key := fmt.Sprint(done, log)
	if b.dead[key] {
		return false
	}
	for i := range b.items {
		it := &b.items[i]
		if done&(1<<i) != 0 || it.call > bound || it.again && done&(1<<(i-1)) == 0 || it.optional && int64(len(log)) >= b.seen {
			continue
		}
		if next, ok := it.apply(log); ok && b.search(done|1<<i, next) {
			return true
		}
	}
	b.dead[key] = true
	return false
}

// apply is the specification in its plainest form.
func (it *bruteItem) apply(log []string) ([]string, bool) {
	in, done := &it.op.Invoke, it.op.Complete
	end := int64(len(log))
	switch {
	case in.F == history.Produce:
		if it.op.Outcome == history.OK && !it.copied && done.Offset >= 0 && done.Offset != end {
			return nil, false
		}
		return slices.Concat(log, in.Values), true
	case in.F == history.ListOffsets:
		return log, it.op.Outcome != history.OK || done.Offset == end
	case done.Error == "OFFSET_OUT_OF_RANGE":
		return log, in.Offset > end
	}
	o := in.Offset
	for _, rec := range done.Records {
		if rec.Offset != o || o >= end || log[o] != rec.Value {
			return nil, false
		}
		o++
	}
	if it.op.Outcome != history.OK {
		return log, true
	}
	if done.HW >= 0 {
		return log, done.HW == end
	}
	return log, len(done.Records) > 0 || end <= in.Offset
}

func show(ops []history.Operation) string {
	var b strings.Builder
	for i := range ops {
		fmt.Fprintf(&b, "\n[%d..%d] %s", ops[i].Call, ended(&ops[i]), ops[i].String())
	}
	return b.String()
}

func ended(op *history.Operation) int64 {
	if op.Complete == nil {
		return -1
	}
	return op.Complete.Time
}
