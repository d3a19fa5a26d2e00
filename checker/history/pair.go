package history

import (
	"fmt"
	"slices"
	"sort"
)

// Outcomes of an Operation, beyond the completion types: Open means that no completion was written.
const Open Type = "open"

// Operation is one client operation, both ends together.
type Operation struct {
	Invoke   Op
	Complete *Op   // nil if open
	Call     int64 // ns, time of the invocation
	Return   int64 // ns, time of the completion; Forever if its effect may come later (info and open)
	Outcome  Type  // OK, Fail, Info or Open
}

// Acked reports that the broker acknowledged a produce: judges hold it to INV-ACK.
func (o *Operation) Acked() bool {
	return o.Invoke.F == Produce && o.Outcome == OK && o.Invoke.Acks != 0
}

// Retried reports that the request may have been sent more than once.
func (o *Operation) Retried() bool {
	return o.Invoke.Retried || o.Complete != nil && o.Complete.Retried
}

// Offset is the base offset of an acknowledged produce, the answer of list-offsets, the offset a fetch asked for;
// NoOffset if unknown.
func (o *Operation) Offset() int64 {
	switch {
	case o.Invoke.F == Fetch:
		return o.Invoke.Offset
	case o.Outcome == OK:
		return o.Complete.Offset
	}
	return NoOffset
}

type opKey struct {
	proc    string
	process int
	id      int64
}

func (k opKey) String() string { return fmt.Sprintf("%s/%d operation %d", k.proc, k.process, k.id) }

func (op *Op) key() opKey { return opKey{op.Proc, op.Process, op.ID} }

// Check refuses an impossible history; the *LineError counts lines from 1 in the order of ops.
func Check(ops []Op) error {
	_, err := pair(ops)
	return err
}

// Pair joins the two ends of each operation, in the order of the invocations. Its errors are those of Check.
func Pair(ops []Op) ([]Operation, error) { return pair(ops) }

func pair(ops []Op) ([]Operation, error) {
	out := make([]Operation, 0, len(ops)/2+1)
	at := make(map[opKey]int, len(ops)/2+1)
	last := map[string]int64{}
	values := make(map[string]int, len(ops))
	for i := range ops {
		op := &ops[i]
		line := i + 1
		if t, ok := last[op.Proc]; ok && op.Time < t {
			return nil, bad(line, "time goes back in %s: %d ns after %d ns", op.Proc, op.Time, t)
		}
		last[op.Proc] = op.Time
		j, known := at[op.key()]
		if op.Type == Invoke {
			if known {
				return nil, bad(line, "%s is invoked twice", op.key())
			}
			if err := uniqueValues(values, op, line); err != nil {
				return nil, err
			}
			at[op.key()] = len(out)
			out = append(out, Operation{Invoke: *op, Call: op.Time, Return: Forever, Outcome: Open})
			continue
		}
		if !known {
			return nil, bad(line, "%s completes (%s) and was never invoked", op.key(), op.Type)
		}
		if err := complete(&out[j], op, line); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func uniqueValues(seen map[string]int, op *Op, line int) error {
	if op.F != Produce {
		return nil
	}
	for _, v := range op.Values {
		if first, ok := seen[v]; ok {
			return bad(line, "value %q is produced again, first on line %d; values must be unique", v, first)
		}
		seen[v] = line
	}
	return nil
}

func complete(o *Operation, op *Op, line int) error {
	in := &o.Invoke
	switch {
	case o.Complete != nil:
		return bad(line, "%s completes twice", op.key())
	case op.F != in.F || op.Topic != in.Topic || op.Partition != in.Partition:
		return bad(line, "%s completes as %s %s-%d but was invoked as %s %s-%d", op.key(),
			op.F, op.Topic, op.Partition, in.F, in.Topic, in.Partition)
	case op.F == Fetch && op.Offset != in.Offset:
		return bad(line, "%s asked for offset %d and completes for offset %d", op.key(), in.Offset, op.Offset)
	}
	o.Complete, o.Outcome = op, op.Type
	if op.Type == OK || op.Type == Fail {
		o.Return = op.Time
	}
	return nil
}

// Merge joins the lines of several processes into one history by time and numbers them. Lines of equal time keep the
// order of the arguments, lines of one argument keep theirs.
func Merge(parts ...[]Op) []Op {
	all := slices.Concat(parts...)
	if byTime := func(i, j int) bool { return all[i].Time < all[j].Time }; !sort.SliceIsSorted(all, byTime) {
		sort.SliceStable(all, byTime)
	}
	for i := range all {
		all[i].Index = int64(i)
	}
	return all
}
