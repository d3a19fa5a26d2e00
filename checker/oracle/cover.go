package oracle

import (
	"cmp"
	"fmt"
	"slices"

	"trialog/checker/history"
)

// cover counts what the verdict rests on, and says when that is too little.
func (j *judge) cover() {
	c := &j.v.Coverage
	c.Operations = len(j.g.operations)
	c.Partitions = len(j.g.logs)
	finals := false
	for i := range j.g.operations {
		op := &j.g.operations[i]
		finals = finals || op.Invoke.Final
		if op.Invoke.F == history.Produce {
			c.Produces++
			if op.Outcome == history.Info || op.Outcome == history.Open {
				c.Unknown++
			}
		}
		if op.Acked() {
			c.Acked += len(op.Invoke.Values)
		}
	}
	for _, l := range j.g.logs {
		for _, r := range l.records {
			if r.read {
				c.Read++
			}
		}
		acked, why := l.drained(finals)
		if why == "" {
			c.Drained++
		} else if acked > 0 {
			j.v.Reasons = append(j.v.Reasons, fmt.Sprintf("%s-%d was not drained: it has %d acknowledged records and %s",
				l.id.topic, l.id.partition, acked, why))
		}
	}
	if c.Acked == 0 {
		j.v.Reasons = append(j.v.Reasons, "nothing was acknowledged")
	}
	if c.Produces >= UnknownShareMin && float64(c.Unknown) > UnknownShareMax*float64(c.Produces) {
		j.v.Reasons = append(j.v.Reasons, fmt.Sprintf("too many unknown outcomes: %d of %d produce operations", c.Unknown, c.Produces))
	}
}

// drained says what is missing for a complete final read, "" if nothing is. A history without any final operation is
// drained as far as its acknowledged records were read by somebody.
func (l *log) drained(finals bool) (acked int, why string) {
	unread := 0
	for _, op := range l.ops {
		if !op.Acked() {
			continue
		}
		acked += len(op.Invoke.Values)
		if !finals {
			unread += l.unread(op)
		}
	}
	switch {
	case finals:
		return acked, l.finalRead()
	case unread > 0:
		return acked, fmt.Sprintf("%d of them were never read (there is no final read)", unread)
	}
	return acked, ""
}

// unread is how many records of a produce nobody read.
func (l *log) unread(op *history.Operation) int {
	n := len(op.Invoke.Values)
	read := make([]bool, n)
	for _, r := range l.of[op] {
		if r.read && !read[r.write.index] {
			read[r.write.index] = true
			n--
		}
	}
	return n
}

// finalRead follows the final fetches from the start of the log to its end.
func (l *log) finalRead() string {
	var reads []*history.Operation
	end, known := int64(0), false
	for _, op := range l.ops {
		if !op.Invoke.Final || op.Outcome != history.OK || isEarliest(op) {
			continue
		}
		if op.Invoke.F == history.ListOffsets {
			end, known = max(end, op.Complete.Offset), true
			continue
		}
		reads = append(reads, op)
		if op.Complete.HW >= 0 {
			end, known = max(end, op.Complete.HW), true
		} else if len(op.Complete.Records) == 0 {
			end, known = max(end, op.Invoke.Offset), true
		}
	}
	if len(reads) == 0 {
		return "no final read"
	}
	slices.SortStableFunc(reads, func(a, b *history.Operation) int { return cmp.Compare(a.Invoke.Offset, b.Invoke.Offset) })
	next := max(0, reads[0].Complete.LogStart)
	for _, op := range reads {
		if op.Invoke.Offset > next && !l.holes {
			return fmt.Sprintf("the final read skips from offset %d to %d", next, op.Invoke.Offset)
		}
		next = max(next, op.Invoke.Offset)
		for _, rec := range op.Complete.Records {
			next = max(next, rec.Offset+1)
		}
	}
	switch {
	case !known && l.stop == nil:
		return fmt.Sprintf("the final read stops at offset %d without reaching an end", next)
	case next < end:
		return fmt.Sprintf("the final read stops at offset %d of %d", next, end)
	}
	return ""
}
