// Package historytest makes histories for the tests of the judges: valid ones, by simulating a one-partition log and its
// clients step by step, and broken ones, by editing what a client saw. It is used by tests only.
//
// Randomness comes from a Source, so that a property test can shrink a history.
package historytest

import (
	"cmp"
	"fmt"

	"trialog/checker/history"
)

// Source draws a number in [0, n).
type Source interface{ Intn(n int) int }

// Spec sizes a simulation.
type Spec struct {
	Producers int // every second one is idempotent, every third plain one retries
	Readers   int
	Ops       int // operations of the clients, without the final read
	BatchMax  int // values in one batch
	ReadMax   int // records in one answer; 0: 4
	Calm      bool
	Cuts      int // power cuts: each loses a part of what is not flushed
}

// Mark is what the simulated broker, or fate, did: append and flush (Next), cut, recover (Next).
type Mark struct {
	Time       int64
	Kind       string
	Base, Next int64
}

// attempt is one copy of a request on its way to the log.
type attempt struct {
	values []string
	pid    int64
	seq    int32
}

// batch is one batch in the log.
type batch struct {
	*attempt
	base int64
}

// client is one logical client with at most one operation in flight.
type client struct {
	process  int
	reader   bool
	idem     bool
	retries  bool
	pid      int64
	seq      int32
	id       int64
	position int64
	// The operation in flight.
	op      *history.Op
	sent    *attempt // not at the log yet
	waiting bool     // at the log, and must wait until end is visible
	base    int64
	end     int64
	ready   bool // the answer can be given
	retried bool
}

// world is the simulated log.
type world struct {
	src     Source
	spec    Spec
	time    int64
	log     []string
	batches []batch
	high    int64 // high watermark
	flushed int64 // durable end
	cuts    int   // still to come
	marks   []Mark
	nextPID int64
	value   int
	lastSeq map[int64]int32 // producer id -> next sequence
	strays  []*attempt      // still on their way though the client gave up
	clients []*client
	ops     []history.Op
}

// Simulate runs a log until spec.Ops operations were invoked, then reads it back. With Calm there is no unknown outcome,
// failure or retry. The history is correct by construction.
func Simulate(src Source, spec Spec) []history.Op {
	ops, _ := SimulateCuts(src, spec)
	return ops
}

// SimulateCuts is Simulate with what the broker did. With Cuts the history is correct under Kafka's bargain: only what
// was not flushed is lost, by power cuts alone.
func SimulateCuts(src Source, spec Spec) ([]history.Op, []Mark) {
	w := &world{src: src, spec: spec, lastSeq: map[int64]int32{}, cuts: spec.Cuts}
	for i := range spec.Producers + spec.Readers {
		c := &client{process: i, reader: i >= spec.Producers, pid: -1}
		c.idem = i%2 == 0
		c.retries = c.idem || i%3 == 0
		w.clients = append(w.clients, c)
	}
	w.begin()
	for invoked := 0; invoked < spec.Ops; {
		invoked += w.step(true)
	}
	w.drain()
	w.readBack()
	for i := range w.ops {
		w.ops[i].Index = int64(i)
	}
	return w.ops, w.marks
}

func (w *world) chance(percent int) bool { return !w.spec.Calm && w.src.Intn(100) < percent }

func (w *world) tick() int64 {
	w.time += int64(w.src.Intn(3)) // equal times happen
	return w.time
}

func (w *world) emit(op history.Op) {
	op.Time = w.tick()
	w.ops = append(w.ops, op)
}

// begin is a first look at the empty log, so that judges know where it starts.
func (w *world) begin() {
	op := history.Op{Proc: "c0", ID: 0, Type: history.Invoke, F: history.ListOffsets, Topic: "t", Offset: history.Latest}
	w.emit(op)
	op.Type, op.Offset = history.OK, 0
	w.emit(op)
	w.time++
}

// step lets one client, one stray request or the high watermark advance; it returns 1 if an operation was invoked.
func (w *world) step(invoke bool) int {
	if w.spec.Cuts > 0 && w.src.Intn(30) == 0 {
		w.flushed = w.high
		w.mark("flush", 0, w.flushed)
	}
	if w.cuts > 0 && invoke && w.src.Intn(max(2, 4*w.spec.Ops/w.spec.Cuts)) == 0 {
		w.cut()
	}
	if len(w.strays) > 0 && w.src.Intn(6) == 0 {
		w.landStray(w.src.Intn(len(w.strays)))
		return 0
	}
	c := w.clients[w.src.Intn(len(w.clients))]
	switch {
	case c.op == nil && invoke:
		w.invoke(c)
		return 1
	case c.op == nil:
	case c.reader:
		w.answerRead(c)
	case c.sent != nil:
		w.deliver(c)
	case c.waiting:
		w.high = max(w.high, c.end)
		c.waiting, c.ready = false, true
	case c.ready:
		w.acknowledge(c)
	}
	return 0
}

func (w *world) invoke(c *client) {
	c.id++
	op := history.Op{
		Proc: fmt.Sprintf("c%d", c.process), ID: c.id, Type: history.Invoke, Topic: "t",
		PID: history.NoOffset, PEpoch: -1, Seq: -1, HW: -1, LogStart: -1,
	}
	if c.reader {
		op.F, op.Offset = history.Fetch, c.position
		switch w.src.Intn(8) {
		case 0:
			op.F, op.Offset = history.ListOffsets, history.Latest
		case 1:
			op.Offset = int64(w.src.Intn(int(w.high) + 1))
		case 2:
			op.Offset = w.high + int64(w.src.Intn(3))
		}
		c.op = &op
		w.emit(op)
		return
	}
	op.F, op.Acks, op.Offset = history.Produce, -1, history.NoOffset
	for range 1 + w.src.Intn(max(1, w.spec.BatchMax)) {
		op.Values = append(op.Values, fmt.Sprintf("v%d", w.value))
		w.value++
	}
	if c.idem {
		if c.pid < 0 {
			w.initProducer(c)
		}
		op.Idempotent, op.PID, op.PEpoch, op.Seq = true, c.pid, 0, c.seq
		c.seq += int32(len(op.Values))
		op.ID = c.id
	}
	c.op = &op
	c.retried, c.waiting, c.ready = false, false, false
	c.sent = &attempt{values: op.Values, pid: c.pid, seq: op.Seq}
	w.emit(op)
}

func (w *world) initProducer(c *client) {
	op := history.Op{Proc: fmt.Sprintf("c%d", c.process), ID: c.id, Type: history.Invoke, F: history.InitProducerID}
	w.emit(op)
	c.pid, c.seq = w.nextPID, 0
	w.nextPID++
	op.Type, op.PID = history.OK, c.pid
	w.emit(op)
	c.id++
}

// land appends an attempt, unless its producer's sequence says otherwise; ok is false if it was refused.
func (w *world) land(a *attempt) (base int64, ok bool) {
	if a.pid >= 0 {
		for _, b := range w.batches {
			if b.values[0] == a.values[0] {
				return b.base, true
			}
		}
		if next, known := w.lastSeq[a.pid]; known && next != a.seq {
			return 0, false
		}
		w.lastSeq[a.pid] = a.seq + int32(len(a.values))
	}
	base = int64(len(w.log))
	w.log = append(w.log, a.values...)
	w.batches = append(w.batches, batch{a, base})
	w.mark("append", base, int64(len(w.log)))
	return base, true
}

func (w *world) landStray(i int) {
	a := w.strays[i]
	w.strays = append(w.strays[:i], w.strays[i+1:]...)
	w.land(a)
}

// deliver brings the request to the log, loses it, or makes the client send it again.
func (w *world) deliver(c *client) {
	switch {
	case w.chance(6): // refused before anything was written
		if !c.retried {
			w.complete(c, history.Fail, history.NoOffset, "MESSAGE_TOO_LARGE")
			c.pid = -1
			return
		}
	case w.chance(10): // the request is slow: the client gives up or sends it again
		w.strays = append(w.strays, c.sent)
		w.again(c)
		return
	}
	base, ok := w.land(c.sent)
	if !ok {
		w.complete(c, history.Info, history.NoOffset, "OUT_OF_ORDER_SEQUENCE_NUMBER")
		c.pid = -1
		return
	}
	if w.chance(10) { // written, and the answer is lost
		w.again(c)
		return
	}
	c.base, c.end, c.sent, c.waiting = base, base+int64(len(c.op.Values)), nil, true
}

// again sends the request once more, or gives up with an unknown outcome.
func (w *world) again(c *client) {
	if c.retries && w.src.Intn(2) == 0 {
		again := *c.sent
		c.sent, c.retried = &again, true
		return
	}
	w.complete(c, history.Info, history.NoOffset, history.ErrTimeout)
	c.pid = -1 // as a client that lost track of its sequence does
}

func (w *world) acknowledge(c *client) {
	if w.chance(8) {
		w.complete(c, history.Info, history.NoOffset, history.ErrConnection)
		c.pid = -1
		return
	}
	w.complete(c, history.OK, c.base, "")
}

func (w *world) complete(c *client, t history.Type, offset int64, err string) {
	op := *c.op
	op.Type, op.Offset, op.Error, op.Retried, op.Values = t, offset, err, c.retried, nil
	if t != history.Info || !w.chance(5) { // else the client dies and nobody writes the completion
		w.emit(op)
	}
	c.op, c.sent, c.waiting, c.ready = nil, nil, false, false
}

// answerRead answers with what is visible now.
func (w *world) answerRead(c *client) {
	op := *c.op
	c.op = nil
	op.Type = history.OK
	if op.F == history.ListOffsets {
		op.Offset = w.high
		w.emit(op)
		return
	}
	if op.Offset > int64(len(w.log)) {
		op.Type, op.Error = history.Fail, "OFFSET_OUT_OF_RANGE"
		c.position = 0
		w.emit(op)
		return
	}
	w.slice(&op, 1+w.src.Intn(w.readMax()))
	c.position = op.Offset + int64(len(op.Records))
	w.emit(op)
	if w.chance(20) {
		last := &w.ops[len(w.ops)-1]
		last.HW, last.LogStart = -1, -1 // a client that does not say
	}
}

func (w *world) readMax() int { return cmp.Or(w.spec.ReadMax, 4) }

func (w *world) slice(op *history.Op, most int) {
	op.HW, op.LogStart, op.Records = w.high, 0, []history.Rec{}
	for o := op.Offset; o < w.high && len(op.Records) < most; o++ {
		op.Records = append(op.Records, history.Rec{Offset: o, Value: w.log[o]})
	}
}

// drain lets everything in flight end, and the high watermark reach the end of the log.
func (w *world) drain() {
	for len(w.strays) > 0 {
		w.landStray(0)
	}
	for busy := true; busy; {
		busy = false
		for _, c := range w.clients {
			busy = busy || c.op != nil
		}
		if busy {
			w.step(false)
		}
	}
	for len(w.strays) > 0 {
		w.landStray(0)
	}
	w.high = int64(len(w.log))
	w.time++
}

// readBack is the final read, in answers of a few records.
func (w *world) readBack() {
	for id, position := int64(1), int64(0); ; id++ {
		op := history.Op{Proc: "final", ID: id, Type: history.Invoke, F: history.Fetch, Topic: "t", Offset: position, Final: true}
		w.emit(op)
		op.Type = history.OK
		w.slice(&op, w.readMax())
		w.emit(op)
		if len(op.Records) == 0 {
			return
		}
		position += int64(len(op.Records))
	}
}
