package oracle

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/checker/history"
	"trialog/checker/history/historytest"
	"trialog/core/event"
)

// rapidSource lets rapid choose, and shrink, what a simulation does.
type rapidSource struct{ t *rapid.T }

func (s rapidSource) Intn(n int) int { return rapid.IntRange(0, n-1).Draw(s.t, "n") }

// TestValid: what a correct log shows convicts nobody, with every layer asked.
func TestValid(t *testing.T) {
	check := func(t require.TestingT, src historytest.Source, n int) {
		ops := historytest.Simulate(src, historytest.Spec{Producers: 4, Readers: 3, Ops: n, BatchMax: 3})
		v := Judge(Input{History: ops, Linear: LinearAlways})
		require.Empty(t, v.Anomalies, "%s%s", v, printed(t, ops))
		for _, why := range v.Reasons {
			require.True(t, why == "nothing was acknowledged" || strings.HasPrefix(why, "too many unknown"), why)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapidSource{t}, 40) })
	rng := rand.New(rand.NewSource(1))
	for range 300 {
		check(t, rng, 200)
	}
}

func printed(t require.TestingT, ops []history.Op) string {
	pairs, err := history.Pair(ops)
	require.NoError(t, err)
	var b strings.Builder
	for i := range pairs {
		fmt.Fprintf(&b, "\n[%d] %s", pairs[i].Call, pairs[i].String())
	}
	return b.String()
}

// TestMutationScore edits one answer of a correct history and asks the judges. An edit that linear, whose verdict is
// that of a brute-force twin on small histories, still explains is no lie; every other one must be convicted. The scans
// alone convict nine of ten; what is left to linear are ends that no append explains yet, or that cut a batch in two.
func TestMutationScore(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	type score struct{ lies, oracle int }
	scores := make([]score, len(historytest.Mutations))
	seen := map[string]int{}
	for range 400 {
		ops := historytest.Simulate(rng, historytest.Spec{Producers: 4, Readers: 3, Ops: 30, BatchMax: 3})
		for i, m := range historytest.Mutations {
			bad := historytest.Clone(ops)
			if !m.Apply(rng, bad) {
				continue
			}
			lie := linearAlone(t, bad) != "valid"
			v := Judge(Input{History: bad, Linear: LinearNever})
			if v.Result == Invalid {
				seen[v.Class]++
				for _, a := range v.Anomalies {
					require.True(t, lie || beyondLinear[a.Class], "%s convicts what linear explains: %s%s", m.Name, v, printed(t, bad))
				}
			}
			if !lie {
				continue
			}
			scores[i].lies++
			if v.Result == Invalid {
				scores[i].oracle++
			} else if both := Judge(Input{History: bad}); both.Result != Invalid {
				t.Fatalf("%s: nobody convicts %s%s", m.Name, both, printed(t, bad))
			}
		}
	}
	lies, convicted := 0, 0
	for i, m := range historytest.Mutations {
		s := scores[i]
		lies, convicted = lies+s.lies, convicted+s.oracle
		t.Logf("%-55s lies %4d   convicted by the scans %4d, by linear behind them %3d", m.Name, s.lies, s.oracle, s.lies-s.oracle)
		require.Greater(t, s.lies, 20, m.Name)
	}
	t.Logf("mutation score: %d of %d, scans alone %d; classes %v", lies, lies, convicted, seen)
	require.Greater(t, float64(convicted)/float64(lies), 0.9)
}

// beyondLinear are classes about more than one order of one log: what one producer sent, in which order.
var beyondLinear = map[string]bool{Reordered: true, Gap: true, Duplicate: true, PIDReused: true}

// TestNeverThrows: a history that cannot be judged is unknown.
func TestNeverThrows(t *testing.T) {
	v := Judge(Input{})
	require.Equal(t, Unknown, v.Result)
	v = Judge(Input{History: []history.Op{{Proc: "c1", Type: history.OK, F: history.Produce, Topic: "t"}}})
	require.Equal(t, Unknown, v.Result)
	require.Contains(t, v.Reasons[0], "history: line 1: c1/0 operation 0 completes (ok) and was never invoked")

	below := event.Event{Kind: event.Recover, Proc: "b1", Topic: "t", Next: -1}
	require.NotPanics(t, func() { Judge(Input{Events: []event.Event{below}, TrueTime: true}) })

	rng := rand.New(rand.NewSource(5))
	for range 300 {
		ops := historytest.Simulate(rng, historytest.Spec{Producers: 3, Readers: 2, Ops: 20, BatchMax: 3})
		for range 3 {
			historytest.Mutations[rng.Intn(len(historytest.Mutations))].Apply(rng, ops)
		}
		require.NotPanics(t, func() { Judge(Input{History: ops, Linear: LinearAlways}) })
	}
}

// TestDeletedTopic: a topic that was deleted, and perhaps made again, is not judged; others are.
func TestDeletedTopic(t *testing.T) {
	for _, s := range corpus(t) {
		if s.name != "lost-acked.bad" {
			continue
		}
		in := history.Op{Proc: "c9", Time: 20e6, Type: history.Invoke, F: history.DeleteTopic, Topic: "t"}
		ok := in
		ok.Type, ok.Time = history.OK, 21e6
		v := Judge(Input{History: history.Merge(s.in.History, []history.Op{in, ok})})
		require.Equal(t, Unknown, v.Result)
		require.Contains(t, v.Reasons[0], "topic t may have been deleted")
		in.Topic, ok.Topic = "other", "other"
		require.Equal(t, Invalid, Judge(Input{History: history.Merge(s.in.History, []history.Op{in, ok})}).Result)
	}
}

func TestAssertsAreNoConviction(t *testing.T) {
	for _, s := range corpus(t) {
		if s.name != "lost-flushed.sound" {
			continue
		}
		s.in.Events = append(s.in.Events, assertEvent)
		v := Judge(s.in)
		require.Equal(t, Valid, v.Result)
		require.Len(t, v.Asserts, 1)
		require.Contains(t, v.String(), "assertion of the broker")
	}
}

func TestPromises(t *testing.T) {
	p, err := ParsePromises("documented-loss, retention,holes,compacted,stale-reads,flush-first")
	require.NoError(t, err)
	require.Equal(t, Promises{true, true, true, true, true, true}, p)
	_, err = ParsePromises("holes,gaps")
	require.ErrorContains(t, err, "oracle: unknown promise gaps")

	// Each promise that widens turns its own bad histories into valid ones, and no others.
	forgives := map[string][]string{
		"retention":   {"lost-acked.log-start.bad"},
		"holes":       {"gap.hole.bad"},
		"compacted":   {"gap.hole.bad"},
		"stale-reads": {"out-of-range-after-ack.bad", "stale-read.bad"},
	}
	for name, want := range forgives {
		p, err := ParsePromises(name)
		require.NoError(t, err)
		var got []string
		for _, s := range corpus(t) {
			if s.kind != "bad" || s.in.Promises.FlushFirst || s.in.Promises.Compacted {
				continue
			}
			s.in.Promises = p
			if v := Judge(s.in); v.Result == Valid {
				got = append(got, s.name)
			}
		}
		require.Equal(t, want, got, name)
	}
}

// TestRenumbered: compaction that moves records to other offsets is convicted, on a compacted topic too.
func TestRenumbered(t *testing.T) {
	const text = `{"time":1,"proc":"c1","id":1,"type":"invoke","f":"produce","topic":"t","partition":0,"values":["k1:a"],"acks":-1}
{"time":2,"proc":"c1","id":1,"type":"ok","f":"produce","topic":"t","partition":0,"offset":0}
{"time":3,"proc":"c1","id":2,"type":"invoke","f":"produce","topic":"t","partition":0,"values":["k1:b"],"acks":-1}
{"time":4,"proc":"c1","id":2,"type":"ok","f":"produce","topic":"t","partition":0,"offset":1}
{"time":5,"proc":"c5","id":1,"type":"invoke","f":"fetch","topic":"t","partition":0,"offset":0,"final":true}
{"time":6,"proc":"c5","id":1,"type":"ok","f":"fetch","topic":"t","partition":0,"offset":0,"records":[[0,"k1:b"]],"hw":2,"log_start":0,"final":true}
`
	ops, err := history.Read(strings.NewReader(text))
	require.NoError(t, err)
	v := Judge(Input{History: ops, Promises: Promises{Compacted: true, Holes: true}})
	require.Equal(t, Invalid, v.Result, v)
	require.Equal(t, OffsetReused, v.Class, v)
}

// BenchmarkJudge is what one run costs its court: pairing, scans and linear.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{500, 5000, 50000} {
		b.Run(fmt.Sprintf("ops=%d", n), func(b *testing.B) {
			ops := historytest.Simulate(rand.New(rand.NewSource(7)), historytest.Spec{Producers: 4, Readers: 3, Ops: n, BatchMax: 4})
			b.ReportAllocs()
			for b.Loop() {
				Judge(Input{History: ops, Linear: LinearNever})
			}
			b.ReportMetric(float64(len(ops))/2/(b.Elapsed().Seconds()/float64(b.N)), "ops/s")
		})
	}
}

// TestAboutIsInTheSentence: readers that follow an anomaly to its record land where its sentence sends them, and every
// anomaly that a client saw in a record says which.
func TestAboutIsInTheSentence(t *testing.T) {
	ofNoRecord := []string{PIDReused, EndOffsetBack, TwoLeaders, AppendMisfits, LostFlushed, NotLinearizable, CorruptRead}
	for _, s := range corpus(t) {
		for _, a := range Judge(s.in).Anomalies {
			switch {
			case a.About == nil:
				require.Contains(t, ofNoRecord, a.Class, s.name)
			case a.Class != CorruptRead:
				require.Regexp(t, fmt.Sprintf(`\b%d\b|"%s"`, a.About.Offset, a.About.Value), a.Text, s.name)
			}
		}
	}
}
