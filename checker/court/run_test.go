package court

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/history"
	"trialog/core/event"
	"trialog/netsim/kernel"
)

// soundRun is a run that nothing is wrong with, and what its clients saw: c1 and c2 write, c3 reads.
func soundRun(c *Case) (*Run, []history.Op) {
	r := newRun(c, c.identity(simWorld, "wasm", "guest"), "trialog")
	r.Faults = []Fault{{Time: 9, Proc: "b1", Text: "kill b1"}}
	var ops []history.Op
	op := func(time int64, typ history.Type, op history.Op) {
		op.Time, op.Type, op.Topic, op.ID, op.HW, op.LogStart = time, typ, "t", time/2, -1, -1
		ops = append(ops, op)
	}
	for i, proc := range []string{"c1", "c2"} {
		at, value := int64(2*i), "v-"+proc
		op(at, history.Invoke, history.Op{Proc: proc, F: history.Produce, Values: []string{value}, Acks: -1})
		op(at+1, history.OK, history.Op{Proc: proc, F: history.Produce, Offset: int64(i)})
		e := event.Event{Kind: event.Append, Proc: "b1", Topic: "t", Time: at, Base: int64(i), Next: int64(i) + 1}
		r.Events = e.AppendTo(r.Events)
	}
	op(10, history.Invoke, history.Op{Proc: "c3", F: history.Fetch, Final: true})
	op(11, history.OK, history.Op{Proc: "c3", F: history.Fetch, Final: true,
		Records: []history.Rec{{Offset: 0, Value: "v-c1"}, {Offset: 1, Value: "v-c2"}}})
	return r, ops
}

// Each of these leaves a history without an anomaly, and none of them proves anything.
func TestARunThatProvesNothingIsUnknown(t *testing.T) {
	of := func(proc string) func(history.Op) bool { return func(op history.Op) bool { return op.Proc == proc } }
	for _, row := range []struct {
		name   string
		change func(r *Run, ops []history.Op) []history.Op
		want   string // the reason; none: valid
	}{
		{"sound", func(_ *Run, ops []history.Op) []history.Op { return ops }, ""},
		{"no operation", func(*Run, []history.Op) []history.Op { return nil }, "nothing was acknowledged"},
		{"no event", func(r *Run, ops []history.Op) []history.Op { r.Events = nil; return ops }, "the broker wrote no event"},
		{"idle producer", func(_ *Run, ops []history.Op) []history.Op {
			ops = slices.DeleteFunc(ops, of("c2"))
			ops[3].Records = ops[3].Records[:1]
			return ops
		}, "c2 got nothing done: it is a producer, and no produce of it succeeded"},
		{"idle reader", func(_ *Run, ops []history.Op) []history.Op { return slices.DeleteFunc(ops, of("c3")) },
			"c3 got nothing done: it is a reader, and no fetch of it succeeded"},
		{"crash", func(r *Run, ops []history.Op) []history.Op {
			r.Processes = append(r.Processes, Process{Name: "b1", End: kernel.ReasonCrash})
			r.Outputs["b1.stderr"] = []byte("wasm: unreachable\n")
			return ops
		}, "b1 crashed: wasm: unreachable"},
		{"failure", func(r *Run, ops []history.Op) []history.Op {
			r.Processes = append(r.Processes, Process{Name: "c1", End: exited, Code: 3})
			return ops
		}, "c1 ended by itself with code 3: "},
		{"disk failure", func(r *Run, ops []history.Op) []history.Op {
			r.Processes = append(r.Processes, Process{Name: "b1", End: exited, Code: 1, Time: 5})
			r.Faults = append(r.Faults, Fault{Time: 4, Proc: "b1", Text: "at 4ns disk b1 eio sync"})
			return ops
		}, ""},
		{"disk failure later", func(r *Run, ops []history.Op) []history.Op {
			r.Processes = append(r.Processes, Process{Name: "b1", End: exited, Code: 1, Time: 3})
			r.Faults = append(r.Faults, Fault{Time: 4, Proc: "b1", Text: "at 4ns disk b1 eio sync"})
			return ops
		}, "b1 ended by itself with code 1"},
		{"no fault", func(r *Run, ops []history.Op) []history.Op {
			r.Faults, r.NotFired = []Fault{{Proc: "b1", Text: "start b1"}}, []string{"at 1s kill b1 call 9"}
			return ops
		}, "fault never fired: at 1s kill b1 call 9"},
	} {
		c := someCase(t)
		r, ops := soundRun(c)
		r, err := r.finish(c, row.change(r, ops))
		require.NoError(t, err, row.name)
		if row.want == "" {
			require.Equal(t, Valid, r.Result, "%s: %s", row.name, r.Verdict)
			continue
		}
		require.Equal(t, Unknown, r.Result, "%s: %s", row.name, r.Verdict)
		require.Contains(t, strings.Join(r.Verdict.Reasons, "\n"), row.want, row.name)
	}
}
