package oracle

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/history"
	"trialog/checker/history/historytest"
	"trialog/core/event"
)

// typicalRun is what one run leaves: the lines of its clients and of its broker, as their processes write them.
func typicalRun(b *testing.B) (ops, events [][]byte) {
	b.Helper()
	all, marks := historytest.Typical()
	for i := range all {
		ops = append(ops, history.Append(nil, &all[i]))
	}
	var did []event.Event
	for p, done := range marks {
		for _, m := range done {
			e := event.Event{Time: m.Time, Proc: "b1", Node: 1, Topic: "t", Partition: int32(p), Base: m.Base, Next: m.Next, Offset: m.Next,
				ProducerID: -1, ProducerEpoch: -1, BaseSeq: -1, LastSeq: -1}
			for _, e.Kind = range []event.Kind{event.Append, event.Flush, event.HW} {
				did = append(did, e)
			}
		}
	}
	slices.SortStableFunc(did, func(a, b event.Event) int { return int(a.Time - b.Time) })
	for i := range did {
		line := did[i].AppendTo(nil)
		events = append(events, line[:len(line)-1])
	}
	return ops, events
}

// BenchmarkRun is what one run costs its court: all of it, from the lines of the processes to the verdict, and judging
// alone.
func BenchmarkRun(b *testing.B) {
	lines, did := typicalRun(b)
	bench := func(name string, do func() Input) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.Equal(b, Valid, Judge(do()).Result)
			}
		})
	}
	whole := func() Input {
		in, err := collect(lines, did)
		require.NoError(b, err)
		return in
	}
	bench("all", whole)
	in := whole()
	bench("judge", func() Input { return in })
	bench("scans", func() Input { scans := in; scans.Linear = LinearNever; return scans })
}

// collect does as the court does with the lines of a simulated run.
func collect(lines, did [][]byte) (Input, error) {
	in := Input{TrueTime: true, Promises: Promises{FlushFirst: true}}
	for _, line := range lines {
		op, err := history.Parse(line)
		if err != nil {
			return in, err
		}
		in.History = append(in.History, op)
	}
	var events []byte
	for _, line := range did {
		e, err := event.Parse(line)
		if err != nil {
			return in, err
		}
		events = e.AppendTo(events)
	}
	in.History = history.Merge(in.History)
	if err := history.WriteAll(&bytes.Buffer{}, in.History); err != nil {
		return in, err
	}
	if err := history.Check(in.History); err != nil {
		return in, err
	}
	var err error
	in.Events, err = event.ReadAll("events.jsonl", bytes.NewReader(events))
	return in, err
}
