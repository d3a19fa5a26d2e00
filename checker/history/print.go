package history

import (
	"fmt"
	"strings"
)

// Seconds prints a time of a history: seconds with six digits, "never" for Forever.
func Seconds(ns int64) string {
	if ns == Forever {
		return "never"
	}
	return fmt.Sprintf("%.6fs", float64(ns)/1e9)
}

// Name is where an operation comes from: process, logical client and id, "c1/0#12".
func (o *Operation) Name() string {
	return fmt.Sprintf("%s/%d#%d", o.Invoke.Proc, o.Invoke.Process, o.Invoke.ID)
}

// String is the operation on one line: when, who, what, and how it ended.
//
//	[1.200000s..1.204000s] c1/0#12 produce t-0 [a b] acks=all pid=4/0 seq=7 -> ok offset 5
//	[1.300000s..1.302000s] c5/0#3 fetch t-0 from 0 -> ok [0:a 1:b] hw=2 start=0
func (o *Operation) String() string {
	end := Forever
	if o.Complete != nil {
		end = o.Complete.Time
	}
	return fmt.Sprintf("[%s..%s] %s %s -> %s", Seconds(o.Call), Seconds(end), o.Name(), o.ask(), o.answer())
}

func (o *Operation) ask() string {
	in := &o.Invoke
	what := string(in.F)
	if in.Topic != "" {
		what += fmt.Sprintf(" %s-%d", in.Topic, in.Partition)
	}
	switch in.F {
	case Produce:
		acks := fmt.Sprint(in.Acks)
		if in.Acks == -1 {
			acks = "all"
		}
		what += fmt.Sprintf(" %s acks=%s", list(in.Values), acks)
		if in.Idempotent {
			what += fmt.Sprintf(" pid=%d/%d seq=%d", in.PID, in.PEpoch, in.Seq)
		}
	case Fetch:
		what += fmt.Sprintf(" from %d", in.Offset)
	case ListOffsets:
		what += map[bool]string{true: " earliest", false: " latest"}[in.Offset == Earliest]
	}
	if in.Final {
		what += " final"
	}
	return what
}

func (o *Operation) answer() string {
	done := o.Complete
	if done == nil {
		return "open"
	}
	text := string(done.Type)
	switch {
	case done.Type == OK && (done.F == Produce || done.F == ListOffsets):
		text += fmt.Sprintf(" offset %d", done.Offset)
	case done.Type == OK && done.F == InitProducerID:
		text += fmt.Sprintf(" pid=%d/%d", done.PID, done.PEpoch)
	case done.F == Fetch && (done.Type == OK || len(done.Records) > 0):
		text += " " + records(done.Records)
		if done.HW >= 0 {
			text += fmt.Sprintf(" hw=%d", done.HW)
		}
		if done.LogStart >= 0 {
			text += fmt.Sprintf(" start=%d", done.LogStart)
		}
	}
	if o.Retried() {
		text += " retried"
	}
	if done.Error != "" {
		text += " " + done.Error
	}
	if done.Corrupt != "" {
		text += " corrupt: " + done.Corrupt
	}
	return text
}

// listMax is how many values of one operation are printed; the middle is left out.
const listMax = 6

func list(values []string) string {
	if n := len(values); n > listMax {
		return fmt.Sprintf("[%s .. %s: %d values]", values[0], values[n-1], n)
	}
	return "[" + strings.Join(values, " ") + "]"
}

func records(recs []Rec) string {
	if n := len(recs); n > listMax {
		return fmt.Sprintf("[%d:%s .. %d:%s, %d records]", recs[0].Offset, recs[0].Value, recs[n-1].Offset, recs[n-1].Value, n)
	}
	parts := make([]string, len(recs))
	for i, r := range recs {
		parts[i] = fmt.Sprintf("%d:%s", r.Offset, r.Value)
	}
	return "[" + strings.Join(parts, " ") + "]"
}
