package oracle

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/checker/history"
	"trialog/checker/history/historytest"
	"trialog/core/event"
)

// cutInput makes the judges' input of a simulation with power cuts.
func cutInput(ops []history.Op, marks []historytest.Mark) Input {
	in := Input{History: ops, Promises: Promises{DocumentedLoss: true}, TrueTime: true}
	kinds := map[string]event.Kind{"append": event.Append, "flush": event.Flush, "recover": event.Recover}
	for _, m := range marks {
		if m.Kind == "cut" {
			in.Faults = append(in.Faults, ParseFault(m.Time, "", "powercut b1 lose=unsynced"))
			continue
		}
		in.Events = append(in.Events, event.Event{Time: m.Time, Proc: "b1", Kind: kinds[m.Kind], Topic: "t", Base: m.Base, Next: m.Next})
	}
	return in
}

var cutSpec = historytest.Spec{Producers: 4, Readers: 3, Ops: 40, BatchMax: 3, Cuts: 3}

// TestDocumentedLoss: a log that loses only what was not flushed, and only by power cuts, is never invalid; without the
// promise, or without the cuts, the same losses are.
func TestDocumentedLoss(t *testing.T) {
	counts := map[Result]int{}
	lost, bare, blamed := 0, 0, 0
	check := func(t require.TestingT, src historytest.Source) {
		in := cutInput(historytest.SimulateCuts(src, cutSpec))
		v := Judge(in)
		counts[v.Result]++
		require.NotEqual(t, Invalid, v.Result, "%s%s", v, printed(t, in.History))
		if lost += v.Lost; v.Lost == 0 {
			return
		}
		strict := in
		strict.Promises.DocumentedLoss = false
		require.Equal(t, Invalid, Judge(strict).Result)
		bare++
		uncut := in
		uncut.Faults = nil
		require.Equal(t, Invalid, Judge(uncut).Result, "a loss without a cut")
		blamed++
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapidSource{t}) })
	rng := rand.New(rand.NewSource(1))
	for range 2000 {
		check(t, rng)
	}
	t.Logf("%v, %d records lost", counts, lost)
	require.Greater(t, counts[DocumentedLoss], 500)
	require.Greater(t, counts[Valid], 50)
}

// TestLossIsNoExcuse: what a power cut does not do convicts in a run with documented loss as well.
func TestLossIsNoExcuse(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	for range 300 {
		ops, marks := historytest.SimulateCuts(rng, cutSpec)
		for _, i := range []int{0, 3} { // a hole in an answer, a value that nobody sent: no loss explains them
			m := historytest.Mutations[i]
			bad := historytest.Clone(ops)
			if m.Apply(rng, bad) {
				v := Judge(cutInput(bad, marks))
				require.Equal(t, Invalid, v.Result, "%s: %s%s", m.Name, v, printed(t, bad))
			}
		}
		flushed := cutInput(ops, marks)
		if v := Judge(flushed); v.Lost == 0 {
			continue
		}
		for i := range flushed.Events {
			if e := &flushed.Events[i]; e.Kind == event.Append {
				e.Kind = event.Flush
			}
		}
		require.Equal(t, Invalid, Judge(flushed).Result, "what was fsynced may not be lost")
	}
}
