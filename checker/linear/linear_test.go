package linear

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/checker/history"
	"trialog/checker/history/historytest"
)

// rapidSource lets rapid choose, and shrink, what a simulation does.
type rapidSource struct{ t *rapid.T }

func (s rapidSource) Intn(n int) int { return rapid.IntRange(0, n-1).Draw(s.t, "n") }

func pair(t require.TestingT, ops []history.Op) []history.Operation {
	pairs, err := history.Pair(ops)
	require.NoError(t, err)
	return pairs
}

// judge is the verdict on a history of one partition.
func judge(ops []history.Operation, o Options) Verdict {
	for _, v := range Check(ops, o) {
		if v.Result != OK {
			return v
		}
	}
	return Verdict{Result: OK}
}

func tiny(src historytest.Source) []history.Op {
	return historytest.Simulate(src, historytest.Spec{Producers: 4, Readers: 2, Ops: 3 + src.Intn(5), BatchMax: 2})
}

// TestValid: what a correct log shows is linearizable, whatever the clients' outcomes.
func TestValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := pair(t, historytest.Simulate(rapidSource{t}, historytest.Spec{Producers: 4, Readers: 3, Ops: 60, BatchMax: 3}))
		require.Equal(t, OK, judge(ops, Options{}).Result, "%s", show(ops))
	})
}

// TestTwin: on small histories, correct or edited, the verdict is that of the obvious checker, and so is the verdict of
// the search alone, without tighten.
func TestTwin(t *testing.T) {
	counts := map[Result]int{}
	check := func(t require.TestingT, src historytest.Source) {
		history := tiny(src)
		if m := src.Intn(len(historytest.Mutations) + 1); m < len(historytest.Mutations) {
			historytest.Mutations[m].Apply(src, history)
		}
		ops := pair(t, history)
		counts[compare(t, ops)]++
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapidSource{t}) })
	counts[compare(t, pair(t, manyCopies()))]++
	rng := rand.New(rand.NewSource(1))
	for range 10000 {
		check(t, rng)
	}
	require.Greater(t, counts[OK], 1000)
	require.Greater(t, counts[Illegal], 1000)
}

// manyCopies is a batch of an open operation that stands in the log six times: more often than the model guesses unseen
// copies, yet each copy was seen.
func manyCopies() []history.Op {
	op := func(time int64, proc string, id int64, typ history.Type, f history.F) history.Op {
		return history.Op{Time: time, Proc: proc, ID: id, Type: typ, F: f, Topic: "t", PID: -1, PEpoch: -1, Seq: -1,
			Offset: history.NoOffset, HW: -1, LogStart: -1}
	}
	send := op(1, "c1", 1, history.Invoke, history.Produce)
	send.Values, send.Acks = []string{"v"}, -1
	ask, answer := op(2, "c2", 1, history.Invoke, history.Fetch), op(3, "c2", 1, history.OK, history.Fetch)
	ask.Offset, answer.Offset, answer.HW, answer.LogStart = 0, 0, 6, 0
	for o := range int64(6) {
		answer.Records = append(answer.Records, history.Rec{Offset: o, Value: "v"})
	}
	return []history.Op{send, ask, answer}
}

func compare(t require.TestingT, ops []history.Operation) Result {
	want := Illegal
	if newBrute(ops).legal() {
		want = OK
	}
	v := judge(ops, Options{})
	require.Equal(t, want, v.Result, "%s\n%s", v.Text, show(ops))
	require.Equal(t, want, searchOnly(ops), "search alone: %s", show(ops))
	if want == Illegal {
		require.NotEmpty(t, v.Witness, v.Text)
	}
	return want
}

// searchOnly leaves tighten and schedule out.
func searchOnly(ops []history.Operation) Result {
	p := problemOf(ops)
	if p == nil {
		return Illegal
	}
	for _, b := range p.batches {
		if b.call > b.ret {
			return Illegal // porcupine needs intervals
		}
	}
	return p.search().Result
}

// problemOf resolves the history of one partition; nil if that convicts already.
func problemOf(ops []history.Operation) *problem {
	var part []*history.Operation
	writer := map[string]*history.Operation{}
	for i := range ops {
		op := &ops[i]
		for _, v := range op.Invoke.Values {
			writer[v] = op
		}
		if op.Invoke.F != history.InitProducerID {
			part = append(part, op)
		}
	}
	p, bad := resolve(part, writer, Options{MemoryMax: MemoryMax})
	if bad != nil {
		return nil
	}
	return p
}

// TestTwinExhaustive compares every history of two produce operations and one read over a small domain: each outcome,
// each answer, each way the three intervals can overlap.
func TestTwinExhaustive(t *testing.T) {
	type outcome struct {
		t history.Type
		o int64
	}
	outcomes := []outcome{{history.OK, 0}, {history.OK, 1}, {history.OK, -1}, {history.Info, 0}, {history.Fail, 0}}
	rec := func(o int64, v string) history.Rec { return history.Rec{Offset: o, Value: v} }
	slices := [][]history.Rec{{}, {rec(0, "a")}, {rec(0, "b")}, {rec(0, "a"), rec(1, "b")}, {rec(0, "b"), rec(1, "a")}, {rec(1, "a")}}
	counts := map[Result]int{}
	for _, order := range orders(3) {
		for _, a := range outcomes {
			for _, b := range outcomes {
				for _, s := range slices {
					for hw := int64(-1); hw <= 2; hw++ {
						ops := threeOps(order, history.Op{Type: a.t, Offset: a.o}, history.Op{Type: b.t, Offset: b.o},
							history.Op{Type: history.OK, Records: s, HW: hw})
						counts[compare(t, ops)]++
					}
				}
			}
		}
	}
	t.Logf("%v", counts)
	require.Equal(t, 90*25*24, counts[OK]+counts[Illegal])
	require.Greater(t, counts[OK], 1000)
}

// orders lists every order of n calls and n returns in which each call precedes its return; call i is i, return n+i.
func orders(n int) [][]int {
	var out [][]int
	var walk func(prefix []int, used uint)
	walk = func(prefix []int, used uint) {
		if len(prefix) == 2*n {
			out = append(out, append([]int(nil), prefix...))
			return
		}
		for i := range 2 * n {
			if used&(1<<i) != 0 || i >= n && used&(1<<(i-n)) == 0 {
				continue
			}
			walk(append(prefix, i), used|1<<i)
		}
	}
	walk(nil, 0)
	return out
}

func threeOps(order []int, done ...history.Op) []history.Operation {
	ops := make([]history.Operation, 1, 4)
	empty := history.Op{Type: history.OK, F: history.ListOffsets, Topic: "t", Offset: 0}
	ops[0] = history.Operation{Invoke: history.Op{F: history.ListOffsets, Topic: "t", Offset: history.Latest}, Complete: &empty, Call: -2, Return: -1, Outcome: history.OK}
	ops[0].Complete.Time = -1
	at := make([]int64, 6)
	for i, e := range order {
		at[e] = int64(i)
	}
	for i := range done {
		d := done[i]
		d.Topic, d.Time, d.F = "t", at[3+i], history.Produce
		in := history.Op{Proc: fmt.Sprint("c", i), Type: history.Invoke, F: history.Produce, Topic: "t", Time: at[i], Values: []string{string(rune('a' + i))}, Acks: -1}
		if i == 2 {
			d.F, in.F, in.Values = history.Fetch, history.Fetch, nil
		}
		op := history.Operation{Invoke: in, Complete: &d, Call: at[i], Return: d.Time, Outcome: d.Type}
		if d.Type == history.Info {
			op.Return = history.Forever
		}
		ops = append(ops, op)
	}
	return ops
}

// TestMemoryBound: a search that meets its bound answers unknown, never something else.
func TestMemoryBound(t *testing.T) {
	var ops []history.Op
	add := func(id, from, to int64, f history.F, v string, outcome history.Type, offset int64) {
		in := history.Op{Proc: "c" + v, ID: id, Time: from, Type: history.Invoke, F: f, Topic: "t", Offset: -1}
		if f == history.Produce {
			in.Values = []string{v}
		}
		done := in
		done.Type, done.Time, done.Offset = outcome, to, offset
		ops = append(ops, in, done)
	}
	for i := range int64(16) {
		add(i, i, 100+i, history.Produce, fmt.Sprint("u", i), history.Info, -1)
	}
	add(1, 200, 201, history.ListOffsets, "r", history.OK, 0)
	add(2, 202, 203, history.ListOffsets, "r", history.OK, 14)
	add(3, 204, 205, history.ListOffsets, "r", history.OK, 13) // a lie
	pairs := pair(t, history.Merge(ops))
	require.Equal(t, Illegal, judge(pairs, Options{}).Result)
	v := judge(pairs, Options{MemoryMax: 1 << 14})
	require.Equal(t, Unknown, v.Result)
	require.Contains(t, v.Text, "16 of unknown outcome")
}

// TestOptions: each option accepts what it is for, and nothing else of the table.
func TestOptions(t *testing.T) {
	op := func(proc string, id int64, from, to int64, f history.F, done history.Op) []history.Op {
		in := history.Op{Proc: proc, ID: id, Time: from, Type: history.Invoke, F: f, Topic: "t", Values: done.Values, Offset: -1}
		if f == history.Fetch {
			in.Offset, in.Final = done.Offset, done.Final
		}
		done.Proc, done.ID, done.Time, done.F, done.Topic, done.Values = proc, id, to, f, "t", nil
		return []history.Op{in, done}
	}
	produce := func(proc string, from int64, offset int64, v ...string) []history.Op {
		return op(proc, from, from, from+1, history.Produce, history.Op{Type: history.OK, Offset: offset, Values: v})
	}
	fetch := func(from, offset, hw, start int64, final bool, recs ...history.Rec) []history.Op {
		return op("r", from, from, from+1, history.Fetch, history.Op{Type: history.OK, Offset: offset, HW: hw, LogStart: start, Records: recs, Final: final})
	}
	a, c := history.Rec{Offset: 0, Value: "a"}, history.Rec{Offset: 2, Value: "c"}
	refused := op("r", 8, 8, 9, history.Fetch, history.Op{Type: history.Fail, Offset: 1, Error: "OFFSET_OUT_OF_RANGE", Final: true})
	cases := []struct {
		name  string
		parts [][]history.Op
		legal Options // the one option that accepts it; none: always legal
		none  bool
	}{
		{"plain", [][]history.Op{produce("p", 1, 0, "a"), fetch(5, 0, 1, 0, true, a)}, Options{}, false},
		{"a control record between", [][]history.Op{produce("p", 1, 0, "a"), produce("p", 3, 2, "c"), fetch(5, 0, 3, 0, true, a, c)}, Options{Holes: true}, false},
		{"a control record at the end", [][]history.Op{produce("p", 1, 0, "a"), fetch(5, 0, 2, 0, true, a), fetch(7, 2, 2, 0, true)}, Options{Holes: true}, false},
		{"a deposed leader's answer", [][]history.Op{produce("p", 1, 0, "a"), produce("p", 3, 1, "b"), fetch(5, 0, 1, 0, false, a)}, Options{StaleReads: true}, false},
		{"a stale final read", [][]history.Op{produce("p", 1, 0, "a"), produce("p", 3, 1, "b"), fetch(5, 0, 1, 0, true, a)}, Options{}, true},
		{"records removed", [][]history.Op{produce("p", 1, 0, "a"), produce("p", 3, 1, "b"), refused, fetch(10, 2, 2, 2, true)}, Options{Retention: true}, false},
	}
	for _, c := range cases {
		for _, o := range []Options{{}, {Holes: true}, {StaleReads: true}, {Retention: true}} {
			want := Illegal
			if !c.none && (c.legal == Options{} || o == c.legal) {
				want = OK
			}
			v := judge(pair(t, history.Merge(c.parts...)), o)
			require.Equal(t, want, v.Result, "%s with %+v: %s", c.name, o, v.Text)
		}
	}
}

// TestSchedule: a correct history whose appends are all resolved needs no search.
func TestSchedule(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	for range 50 {
		ops := pair(t, historytest.Simulate(rng, historytest.Spec{Producers: 4, Readers: 3, Ops: 200, BatchMax: 3}))
		p := problemOf(ops)
		require.Nil(t, p.tighten())
		require.True(t, p.schedule())
		require.Equal(t, OK, p.search().Result)
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{500, 5000, 50000} {
		for _, broken := range []bool{false, true} {
			b.Run(fmt.Sprintf("ops=%d/broken=%v", n, broken), func(b *testing.B) {
				rng := rand.New(rand.NewSource(7))
				h := historytest.Simulate(rng, historytest.Spec{Producers: 4, Readers: 3, Ops: n, BatchMax: 4})
				want := OK
				if broken {
					historytest.Mutations[0].Apply(rng, h[:len(h)/2])
					want = Illegal
				}
				ops := pair(b, h)
				b.ReportAllocs()
				start := time.Now()
				for b.Loop() {
					require.Equal(b, want, judge(ops, Options{}).Result)
				}
				b.ReportMetric(float64(len(ops)*b.N)/time.Since(start).Seconds(), "ops/s")
			})
		}
	}
}
