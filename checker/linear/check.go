package linear

import (
	"cmp"
	"slices"

	"trialog/checker/history"
)

// Result of checking.
type Result string

const (
	OK      Result = "valid"
	Illegal Result = "invalid"
	Unknown Result = "unknown" // the search was given up at its bound
)

// MemoryMax bounds what one search remembers, in bytes.
const MemoryMax = 256 << 20

// Options bound the search and widen the model. The zero value is the strict model of one replica.
type Options struct {
	MemoryMax  int64 // bytes, 0: MemoryMax
	Holes      bool  // offsets may hold no record
	StaleReads bool  // several replicas: end offsets and empty reads are lower bounds, except in the final read
	Retention  bool  // the log start may move
}

// Verdict on one partition.
type Verdict struct {
	Topic     string
	Partition int32
	Result    Result
	Text      string               // why: one sentence, if not OK
	Witness   []*history.Operation // two or more operations it rests on, if Illegal; in order of invocation
}

// Check judges every partition of a history, in order of topic and partition. ops is what history.Pair returned.
func Check(ops []history.Operation, o Options) []Verdict {
	if o.MemoryMax == 0 {
		o.MemoryMax = MemoryMax
	}
	type tp struct {
		topic     string
		partition int32
	}
	parts := map[tp][]*history.Operation{}
	writer := make(map[string]*history.Operation, len(ops))
	for i := range ops {
		op := &ops[i]
		switch op.Invoke.F {
		case history.Produce:
			for _, v := range op.Invoke.Values {
				writer[v] = op
			}
		case history.Fetch, history.ListOffsets:
		default:
			continue
		}
		k := tp{op.Invoke.Topic, op.Invoke.Partition}
		parts[k] = append(parts[k], op)
	}
	var out []Verdict
	for k, part := range parts {
		v := checkPartition(part, writer, o)
		v.Topic, v.Partition = k.topic, k.partition
		slices.SortStableFunc(v.Witness, func(a, b *history.Operation) int { return cmp.Compare(a.Call, b.Call) })
		v.Witness = slices.Compact(v.Witness)
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

func checkPartition(ops []*history.Operation, writer map[string]*history.Operation, o Options) Verdict {
	p, bad := resolve(ops, writer, o)
	if bad != nil {
		return *bad
	}
	if bad := p.tighten(); bad != nil {
		return *bad
	}
	p.schedule()
	return p.search()
}
