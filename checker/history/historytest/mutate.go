package historytest

import (
	"slices"

	"trialog/checker/history"
)

// Mutation edits one answer of a history so that it lies. Apply returns false if the history offers nothing to edit. An
// edit may by chance yield another correct history.
type Mutation struct {
	Name  string
	Apply func(src Source, ops []history.Op) bool
}

// Mutations lists all edits.
var Mutations = []Mutation{
	{"drop a record from the middle of an answer", dropRecord},
	{"swap two records of an answer", swapRecords},
	{"repeat a value at the next offset of an answer", repeatRecord},
	{"replace a value by one that nobody sent", phantom},
	{"replace a value by another one that was sent", otherValue},
	{"shift the records of an answer by one offset", shiftRecords},
	{"acknowledge at another offset", moveAck},
	{"exchange two acknowledged offsets", swapAcks},
	{"call an acknowledged produce failed", failAck},
	{"lower the high watermark of an answer", lowerHW},
	{"raise the high watermark of an answer", raiseHW},
	{"lower a latest offset", lowerLatest},
	{"raise a latest offset", raiseLatest},
	{"end the final read early", cutFinal},
	{"refuse a read as out of range", refuse},
}

// Clone copies a history deeply enough for Mutation.Apply.
func Clone(ops []history.Op) []history.Op {
	out := slices.Clone(ops)
	for i := range out {
		out[i].Records = slices.Clone(out[i].Records)
	}
	return out
}

// pick draws one of the operations that ok accepts; the first look at the empty log is left alone.
func pick(src Source, ops []history.Op, ok func(*history.Op) bool) *history.Op {
	var found []*history.Op
	for i := 2; i < len(ops); i++ {
		if ok(&ops[i]) {
			found = append(found, &ops[i])
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[src.Intn(len(found))]
}

func fetched(n int) func(*history.Op) bool {
	return func(op *history.Op) bool {
		return op.F == history.Fetch && op.Type == history.OK && len(op.Records) >= n
	}
}

func acked(op *history.Op) bool {
	return op.F == history.Produce && op.Type == history.OK && op.Offset >= 0
}

func latest(op *history.Op) bool { return op.F == history.ListOffsets && op.Type == history.OK }

func dropRecord(src Source, ops []history.Op) bool {
	op := pick(src, ops, fetched(2))
	if op == nil {
		return false
	}
	i := src.Intn(len(op.Records) - 1)
	op.Records = slices.Delete(op.Records, i, i+1)
	return true
}

func swapRecords(src Source, ops []history.Op) bool {
	op := pick(src, ops, fetched(2))
	if op == nil {
		return false
	}
	i := src.Intn(len(op.Records) - 1)
	a, b := &op.Records[i], &op.Records[i+1]
	a.Value, b.Value = b.Value, a.Value
	return true
}

func repeatRecord(src Source, ops []history.Op) bool {
	op := pick(src, ops, fetched(2))
	if op == nil {
		return false
	}
	i := src.Intn(len(op.Records) - 1)
	op.Records[i+1].Value = op.Records[i].Value
	return true
}

func phantom(src Source, ops []history.Op) bool {
	op := pick(src, ops, fetched(1))
	if op == nil {
		return false
	}
	op.Records[src.Intn(len(op.Records))].Value = "nobody"
	return true
}

func otherValue(src Source, ops []history.Op) bool {
	op := pick(src, ops, fetched(1))
	sent := pick(src, ops, func(op *history.Op) bool { return op.F == history.Produce && op.Type == history.Invoke })
	if op == nil || sent == nil {
		return false
	}
	rec := &op.Records[src.Intn(len(op.Records))]
	v := sent.Values[src.Intn(len(sent.Values))]
	if rec.Value == v {
		return false
	}
	rec.Value = v
	return true
}

func shiftRecords(src Source, ops []history.Op) bool {
	op := pick(src, ops, fetched(1))
	if op == nil {
		return false
	}
	for i := range op.Records {
		op.Records[i].Offset++
	}
	return true
}

func moveAck(src Source, ops []history.Op) bool {
	op := pick(src, ops, acked)
	if op == nil {
		return false
	}
	by := int64(1 + src.Intn(2))
	if src.Intn(2) == 0 && op.Offset >= by {
		by = -by
	}
	op.Offset += by
	return true
}

func swapAcks(src Source, ops []history.Op) bool {
	a, b := pick(src, ops, acked), pick(src, ops, acked)
	if a == nil || a == b {
		return false
	}
	a.Offset, b.Offset = b.Offset, a.Offset
	return true
}

func failAck(src Source, ops []history.Op) bool {
	op := pick(src, ops, acked)
	if op == nil {
		return false
	}
	op.Type, op.Offset, op.Error = history.Fail, history.NoOffset, "MESSAGE_TOO_LARGE"
	return true
}

func lowerHW(src Source, ops []history.Op) bool {
	op := pick(src, ops, func(op *history.Op) bool { return fetched(0)(op) && op.HW > 0 })
	if op == nil {
		return false
	}
	op.HW = int64(src.Intn(int(op.HW)))
	op.Records = slices.DeleteFunc(op.Records, func(r history.Rec) bool { return r.Offset >= op.HW })
	return true
}

func raiseHW(src Source, ops []history.Op) bool {
	op := pick(src, ops, func(op *history.Op) bool { return fetched(0)(op) && op.HW >= 0 })
	if op == nil {
		return false
	}
	op.HW += int64(1 + src.Intn(2))
	return true
}

func lowerLatest(src Source, ops []history.Op) bool {
	op := pick(src, ops, func(op *history.Op) bool { return latest(op) && op.Offset > 0 })
	if op == nil {
		return false
	}
	op.Offset = int64(src.Intn(int(op.Offset)))
	return true
}

func raiseLatest(src Source, ops []history.Op) bool {
	op := pick(src, ops, latest)
	if op == nil {
		return false
	}
	op.Offset += int64(1 + src.Intn(2))
	return true
}

// cutFinal makes the final read lose the end of the log, as after a power cut.
func cutFinal(src Source, ops []history.Op) bool {
	op := pick(src, ops, func(op *history.Op) bool { return fetched(0)(op) && op.Final && op.HW > 0 })
	if op == nil {
		return false
	}
	end := int64(src.Intn(int(op.HW)))
	for i := range ops {
		if op := &ops[i]; op.Final && op.Type == history.OK {
			op.HW = end
			op.Records = slices.DeleteFunc(op.Records, func(r history.Rec) bool { return r.Offset >= end })
		}
	}
	return true
}

func refuse(src Source, ops []history.Op) bool {
	op := pick(src, ops, fetched(0))
	if op == nil {
		return false
	}
	op.Type, op.Records, op.HW, op.LogStart, op.Error = history.Fail, nil, -1, -1, "OFFSET_OUT_OF_RANGE"
	return true
}
