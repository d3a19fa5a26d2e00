package workload

import (
	"fmt"
	"io"
	"sync"

	"trialog/checker/history"
	"trialog/core/client"
)

// recorder writes the two lines of each operation of this process. The first failure to write is kept and ends the
// workload: a history with a hole must not be judged.
type recorder struct {
	w    *history.Writer
	name string

	mu     sync.Mutex
	nextID int64
	counts [3]int // by client.Outcome
	err    error
}

func newRecorder(w io.Writer, name string, now func() int64) *recorder {
	return &recorder{w: history.NewWriter(w, now), name: name}
}

// invoke writes the invocation of op and gives it an id.
func (r *recorder) invoke(op history.Op) history.Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Proc, op.ID, op.Type = r.name, r.nextID, history.Invoke
	r.nextID++
	r.write(&op)
	return op
}

// complete writes the completion of op, which is the invocation with the answer filled in. Its type follows from
// outcome and its error from err.
func (r *recorder) complete(op history.Op, outcome client.Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Type = typeOf(outcome)
	op.Values, op.Error = nil, client.NameOf(err)
	r.counts[outcome]++
	r.write(&op)
}

func (r *recorder) write(op *history.Op) {
	if err := r.w.Write(op); err != nil && r.err == nil {
		r.err = fmt.Errorf("%w: history: %w", ErrNotDrained, err)
	}
}

func (r *recorder) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// String counts the operations by outcome.
func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d ok, %d failed, %d unknown", r.counts[client.OK], r.counts[client.Failed], r.counts[client.Unknown])
}

func typeOf(o client.Outcome) history.Type {
	switch o {
	case client.OK:
		return history.OK
	case client.Failed:
		return history.Fail
	}
	return history.Info
}
