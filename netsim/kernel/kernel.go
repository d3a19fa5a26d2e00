package kernel

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"
)

// Epoch is the wall-clock time at the start of every world, in Unix nanoseconds: 2026-01-01T00:00:00Z.
const Epoch int64 = 1_767_225_600_000_000_000

// SilenceMax is how long, in real time, a guest may compute without one system call before the world is given up as
// a harness error. It never decides anything inside a world.
const SilenceMax = 60 * time.Second

// ErrIdle is returned by Run when nothing can ever happen again: no event, no timer, nobody runnable.
var ErrIdle = errors.New("kernel: every process waits for something that can no longer happen")

// Options of a kernel.
type Options struct {
	Seed uint64
	// Record, when set, receives every trace entry as a line of text.
	Record io.Writer
	// HandOver is the chance, one in this many calls, that a call gives the baton away although the caller could go
	// on. 0 means the default of 16.
	HandOver int
	// CallNsMin and CallNsMax bound the virtual time one call takes. 0 means the defaults, 200 and 1500.
	CallNsMin, CallNsMax int64
	// Silence overrides SilenceMax.
	Silence time.Duration
	// OneThread keeps every process on the goroutine that calls Run, and so on its OS thread if that is locked. Nobody
	// then watches for silence: the engine does, and calls Fail with a [SilentError]. The schedule is the same.
	OneThread bool
}

// SilentError is the harness error for a guest that made no system call for too long.
type SilentError struct {
	Proc string
	For  time.Duration // real time
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("kernel: harness: %s made no system call for %v of real time", e.Proc, e.For)
}

// Kernel is one simulated machine room.
type Kernel struct {
	// Net is set once, before the first process starts.
	Net Net

	opt      Options
	now      int64
	seq      uint64
	events   eventQueue
	procs    []*Proc
	outputs  []Output
	current  atomic.Pointer[Proc] // holds the baton; nil while the kernel itself works
	schedule *Rand
	trace    *Trace
	round    uint64 // grows whenever readiness may have changed
	calls    atomic.Int64
	failed   error       // what an engine reported
	left     atomic.Bool // Run has given up on a guest that still computes
}

// New returns a kernel at virtual time 0.
func New(opt Options) *Kernel {
	if opt.HandOver == 0 {
		opt.HandOver = 16
	}
	if opt.CallNsMax == 0 {
		opt.CallNsMin, opt.CallNsMax = 200, 1500
	}
	if opt.Silence == 0 {
		opt.Silence = SilenceMax
	}
	return &Kernel{
		opt:      opt,
		schedule: NewRand(opt.Seed, "schedule"),
		trace:    newTrace(opt.Record),
	}
}

// Now is the virtual time since the start of the world, in nanoseconds. Processes see it through their host's clock.
func (k *Kernel) Now() int64 { return k.now }

// Calls is the number of system calls so far, of all processes.
func (k *Kernel) Calls() int64 { return k.calls.Load() }

// Stream returns a new random stream for one owner and purpose; see [NewRand].
func (k *Kernel) Stream(owner, purpose string) *Rand { return NewRand(k.opt.Seed, owner, purpose) }

// Silence is how long, in real time, a guest of this kernel may compute without a system call.
func (k *Kernel) Silence() time.Duration { return k.opt.Silence }

// Trace gives the running hash.
func (k *Kernel) Trace() *Trace { return k.trace }

// Note adds an entry that is no system call (a delivery, a fault) to the trace.
func (k *Kernel) Note(who, what string, a, b, c int64) {
	k.trace.add(Entry{At: k.now, Who: who, What: what, A: a, B: b, C: c})
}

// Kick tells the kernel that the readiness of some file changed outside an event.
func (k *Kernel) Kick() { k.round++ }

// Event is something scheduled; it may be cancelled.
type Event struct {
	at  int64
	seq uint64
	fn  func()
}

// Cancel makes the event do nothing. Cancelling twice, or after it ran, is harmless.
func (e *Event) Cancel() { e.fn = nil }

// After schedules fn in d nanoseconds (at once for d <= 0, after what is due already). fn runs while no guest does.
func (k *Kernel) After(d int64, fn func()) *Event {
	if d < 0 {
		d = 0
	}
	k.seq++
	e := &Event{at: k.now + min(d, math.MaxInt64-k.now), seq: k.seq, fn: fn}
	heap.Push(&k.events, e)
	return e
}

type eventQueue []*Event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(*Event)) }
func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return e
}

// runDue runs every event whose time has come.
func (k *Kernel) runDue() {
	for len(k.events) > 0 && k.events[0].at <= k.now {
		e := heap.Pop(&k.events).(*Event)
		if e.fn == nil {
			continue
		}
		k.round++
		fn := e.fn
		e.fn = nil
		fn()
	}
}

// Run drives the world until done answers true, which is asked between any two steps of any process. It returns
// ErrIdle when nothing can happen any more, and a harness error when a guest stays silent for SilenceMax or its engine
// failed. Run must be called once; after it returns, call Close, from the same goroutine.
func (k *Kernel) Run(done func() bool) error {
	if k.opt.OneThread {
		return k.loop(done)
	}
	over, stop := make(chan error, 1), make(chan struct{})
	defer close(stop)
	go func() { over <- k.loop(done) }()
	select {
	case err := <-over:
		return err
	case err := <-k.watch(stop):
		k.left.Store(true)
		return err
	}
}

// loop is Run on the goroutine of all processes.
func (k *Kernel) loop(done func() bool) error {
	var runnable []*Proc
	for {
		k.runDue()
		if k.failed != nil || k.left.Load() {
			return k.failed
		}
		if done() {
			return nil
		}
		runnable = runnable[:0]
		next := int64(-1)
		for _, p := range k.procs {
			switch at := p.runnableAt(); {
			case at < 0:
			case at <= k.now:
				runnable = append(runnable, p)
			case next < 0 || at < next:
				next = at
			}
		}
		if len(runnable) == 0 {
			if len(k.events) > 0 && (next < 0 || k.events[0].at < next) {
				next = k.events[0].at
			}
			if next < 0 {
				return ErrIdle
			}
			k.now = next
			continue
		}
		p := runnable[0]
		if len(runnable) > 1 {
			p = runnable[k.schedule.Intn(len(runnable))]
		}
		k.current.Store(p)
		p.run()
		k.current.Store(nil)
	}
}

// watch tells when no call was made for too long. It only observes.
func (k *Kernel) watch(stop chan struct{}) <-chan error {
	silent := make(chan error, 1)
	step := k.opt.Silence / 6
	go func() {
		tick := time.NewTicker(step)
		defer tick.Stop()
		last, quiet := int64(-1), time.Duration(0)
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if n := k.calls.Load(); n != last {
				last, quiet = n, 0
			} else if quiet += step; quiet >= k.opt.Silence {
				name := "the world"
				if p := k.current.Load(); p != nil {
					name = p.Name
				}
				silent <- &SilentError{name, k.opt.Silence}
				return
			}
		}
	}()
	return silent
}

// Close ends every process that is still alive, so that their engines can let go of them. A guest that Run gave up on
// for its silence is left behind.
func (k *Kernel) Close() {
	if k.left.Load() || k.current.Load() != nil {
		return
	}
	if k.opt.OneThread {
		k.killAll()
		return
	}
	over := make(chan struct{})
	go func() { // the caller's thread may be locked, and then it cannot go on with coroutines made elsewhere
		defer close(over)
		k.killAll()
	}()
	<-over
}

func (k *Kernel) killAll() {
	for _, p := range k.procs {
		k.Kill(p, ReasonEnd)
	}
}

// Procs lists all processes in the order they were spawned, dead ones included.
func (k *Kernel) Procs() []*Proc { return k.procs }

// Output is what a process wrote to a standard stream or sink with one call.
type Output struct {
	At     int64 // virtual ns: when the call was made
	Proc   string
	Life   string // the incarnation given to Spawn
	Stream string
	Data   []byte
}

// Outputs lists everything written so far, in order.
func (k *Kernel) Outputs() []Output { return k.outputs }
