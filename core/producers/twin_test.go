package producers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
	"trialog/core/record"
)

// batch is a header with these sequences at this offset.
func batch(id int64, epoch int16, first kafka.Sequence, count int32, offset, timestamp int64) record.Header {
	return record.Header{
		BaseOffset: offset, LastOffsetDelta: count - 1, Count: count, MaxTimestamp: timestamp,
		ProducerID: id, ProducerEpoch: epoch, BaseSequence: first,
	}
}

// twin is the obvious producer state: it keeps the whole log, and answers every question by reading it from the start.
type twin struct {
	log       []record.Header
	forgotten map[int64]int // batches of a producer before this index of the log are forgotten: it expired
	leo       int64
}

func newTwin() *twin { return &twin{forgotten: map[int64]int{}} }

func (w *twin) clone() *twin {
	c := &twin{log: slices.Clone(w.log), forgotten: map[int64]int{}, leo: w.leo}
	for id, n := range w.forgotten {
		c.forgotten[id] = n
	}
	return c
}

func (w *twin) append(h record.Header) {
	w.log = append(w.log, h)
	w.leo = h.NextOffset()
}

// history is what the log says of one producer.
type history struct {
	known     bool
	epoch     int16
	window    []record.Header
	timestamp int64
	txn       int64
}

func (w *twin) read(id int64) history {
	p := history{epoch: -1, txn: -1}
	for i, h := range w.log {
		if h.ProducerID != id || i < w.forgotten[id] {
			continue
		}
		if h.ProducerEpoch != p.epoch {
			p.window = nil
		}
		p.known, p.epoch, p.timestamp = true, h.ProducerEpoch, h.MaxTimestamp
		if h.IsControl() {
			p.txn = -1
			continue
		}
		p.window = append(p.window, h)
		if len(p.window) > 5 {
			p.window = p.window[1:]
		}
		if h.IsTransactional() && p.txn < 0 {
			p.txn = h.BaseOffset
		}
	}
	return p
}

// check is the rule as KIP-98 and KIP-360 tell it.
func (w *twin) check(h *record.Header) Outcome {
	p := w.read(h.ProducerID)
	next := int64(0)
	if n := len(p.window); n > 0 {
		next = (int64(p.window[n-1].LastSequence()) + 1) % (1 << 31)
	}
	switch {
	case h.ProducerID < 0 || !p.known:
		return Outcome{}
	case h.ProducerEpoch < p.epoch:
		return Outcome{Verdict: Refuse, Code: kafka.ErrInvalidProducerEpoch}
	case h.ProducerEpoch > p.epoch:
		next = 0
	default:
		for _, k := range p.window {
			if k.BaseSequence == h.BaseSequence && k.LastSequence() == h.LastSequence() {
				return Outcome{Verdict: Duplicate, BaseOffset: k.BaseOffset, LastOffset: k.LastOffset(), Timestamp: k.MaxTimestamp}
			}
		}
	}
	if int64(h.BaseSequence) != next {
		return Outcome{Verdict: Refuse, Code: kafka.ErrOutOfOrderSequenceNumber, Expected: kafka.Sequence(next)}
	}
	return Outcome{}
}

// same demands that the state says what the log says.
func same(t require.TestingT, s *State, w *twin, ids []int64) {
	known := 0
	var lastStable int64 = -1
	for _, id := range ids {
		p := w.read(id)
		got, ok := s.Producer(id)
		require.Equal(t, p.known, ok, "producer %d", id)
		if !ok {
			continue
		}
		known++
		require.Equal(t, []any{p.epoch, p.txn, p.timestamp, len(p.window)}, []any{got.Epoch, got.TxnFirstOffset, got.LastTimestamp, len(got.Batches())}, "%v", &got)
		for i, b := range got.Batches() {
			h := p.window[i]
			require.Equal(t, []any{h.BaseSequence, h.LastSequence(), h.BaseOffset, h.LastOffset()}, []any{b.FirstSeq, b.LastSeq, b.FirstOffset(), b.LastOffset}, "%v", &got)
		}
		if p.txn >= 0 && (lastStable < 0 || p.txn < lastStable) {
			lastStable = p.txn
		}
	}
	require.Equal(t, known, s.Len())
	require.True(t, slices.IsSortedFunc(s.Producers(), func(a, b Producer) int { return int(a.ID - b.ID) }), "P1")
	first, open := s.FirstUndecided()
	require.Equal(t, lastStable >= 0, open)
	if open {
		require.Equal(t, lastStable, first)
	}
}

// TestTwinExhaustive compares every history of four batches over the small domain around the wrap of sequences.
func TestTwinExhaustive(t *testing.T) {
	var batches []record.Header
	for _, epoch := range []int16{0, 1} {
		for _, first := range []kafka.Sequence{kafka.MaxSequence, 0, 1} {
			for _, count := range []int32{1, 2} {
				batches = append(batches, batch(7, epoch, first, count, 0, 0))
			}
		}
	}
	visited := 0
	var visit func(s *State, w *twin, depth int)
	visit = func(s *State, w *twin, depth int) {
		visited++
		for _, h := range batches {
			h.BaseOffset = w.leo
			before := string(s.AppendTo(nil))
			got, want := s.Check(&h), w.check(&h)
			if got != want || string(s.AppendTo(nil)) != before {
				require.Equal(t, want, got, "%v on\n%v", &h, s)
				require.Fail(t, "P3: Check changed the state")
			}
			if got.Verdict != Append || depth == 0 {
				continue
			}
			next := s.Clone()
			next.Update(&h)
			log := w.clone()
			log.append(h)
			visit(next, log, depth-1)
		}
	}
	visit(New(AllRules()), newTwin(), 4)
	t.Logf("%d states", visited)
}

// machine runs a partition with its producer state beside the twin.
type machine struct {
	s    *State
	w    *twin
	now  int64
	kept []saved
}

type saved struct {
	offset int64
	bytes  []byte
	twin   *twin
}

var machineIDs = []int64{1, 2, 5}

// draw makes a batch that is likely to be interesting: the next one, a retry, one after a gap.
func (m *machine) draw(t *rapid.T) record.Header {
	id := rapid.SampledFrom(machineIDs).Draw(t, "id")
	p := m.w.read(id)
	epoch := max(p.epoch, 0) + int16(rapid.SampledFrom([]int{0, 0, 0, 0, 1, -1}).Draw(t, "epoch"))
	count := rapid.Int32Range(1, 3).Draw(t, "count")
	first := rapid.SampledFrom([]kafka.Sequence{0, 1, kafka.MaxSequence - 2, kafka.MaxSequence}).Draw(t, "first")
	if n := len(p.window); n > 0 && rapid.IntRange(0, 5).Draw(t, "kind") > 0 {
		k := p.window[rapid.IntRange(0, n-1).Draw(t, "of")]
		first = k.BaseSequence
		if rapid.Bool().Draw(t, "next") {
			first = kafka.NextSequence(p.window[n-1].LastSequence(), 1)
		} else if rapid.Bool().Draw(t, "exact") {
			count = k.Count
		}
	}
	return batch(id, max(epoch, 0), first, count, m.w.leo, m.now)
}

func (m *machine) store(h record.Header) {
	m.s.Update(&h)
	m.w.append(h)
}

func (m *machine) produce(t *rapid.T) {
	h := m.draw(t)
	before := string(m.s.AppendTo(nil))
	got, want := m.s.Check(&h), m.w.check(&h)
	want.Timestamp = got.Timestamp // a snapshot keeps that of the last batch only loosely
	require.Equal(t, want, got, "%v on\n%v", &h, m.s)
	require.Equal(t, before, string(m.s.AppendTo(nil)), "P3")
	if got.Verdict == Append {
		m.store(h)
	}
}

// replicate takes in a batch as a follower does: without a question.
func (m *machine) replicate(t *rapid.T) {
	h := m.draw(t)
	m.s.Replicated(&h)
	m.w.append(h)
}

func (m *machine) transact(t *rapid.T) {
	h := m.draw(t)
	h.Attributes = record.Transactional
	if rapid.Bool().Draw(t, "end") {
		h.Attributes |= record.Control
		h.BaseSequence = kafka.NoSequence
	}
	m.store(h)
}

func (m *machine) plain(t *rapid.T) { m.store(batch(-1, -1, -1, 2, m.w.leo, m.now)) }

func (m *machine) expire(t *rapid.T) {
	m.now += rapid.Int64Range(0, 20).Draw(t, "pass")
	const expirationMs = 15
	want := 0
	for _, id := range machineIDs {
		if p := m.w.read(id); p.known && p.txn < 0 && m.now-p.timestamp >= expirationMs {
			m.w.forgotten[id] = len(m.w.log)
			want++
		}
	}
	require.Equal(t, want, m.s.Expire(m.now, expirationMs))
}

func (m *machine) snapshot(t *rapid.T) {
	m.kept = append(m.kept, saved{m.w.leo, m.s.AppendSnapshot(nil), m.w.clone()})
}

// rebuild loads the newest snapshot at or below end and replays the log from there.
func (m *machine) rebuild(t *rapid.T, end int64) {
	from := saved{0, New(AllRules()).AppendSnapshot(nil), newTwin()}
	m.kept = slices.DeleteFunc(m.kept, func(k saved) bool { return k.offset > end })
	if n := len(m.kept); n > 0 {
		from = m.kept[n-1]
	}
	s, err := ParseSnapshot(AllRules(), from.offset, from.bytes)
	require.NoError(t, err)
	log := m.w.log
	m.s, m.w = s, from.twin.clone()
	for _, h := range log {
		if h.BaseOffset >= from.offset && h.NextOffset() <= end {
			m.store(h)
		}
	}
}

func (m *machine) restart(t *rapid.T) { m.rebuild(t, m.w.leo) }

func (m *machine) truncate(t *rapid.T) {
	end := rapid.Int64Range(max(m.w.leo-12, 0), m.w.leo+1).Draw(t, "end")
	for _, h := range m.w.log { // truncation is at a batch boundary
		if h.BaseOffset < end && end < h.NextOffset() {
			end = h.BaseOffset
		}
	}
	if !m.s.TruncateTo(end) {
		for _, p := range m.s.Producers() {
			for _, b := range p.Batches() {
				require.Less(t, b.LastOffset, end)
			}
		}
		m.rebuild(t, end)
		return
	}
	m.w.log = slices.DeleteFunc(m.w.log, func(h record.Header) bool { return h.BaseOffset >= end })
	m.w.leo = min(m.w.leo, end)
	for id, n := range m.w.forgotten {
		m.w.forgotten[id] = min(n, len(m.w.log))
	}
	m.kept = slices.DeleteFunc(m.kept, func(k saved) bool { return k.offset > end })
}

func TestStateMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{s: New(AllRules()), w: newTwin()}
		t.Repeat(map[string]func(*rapid.T){
			"produce": m.produce, "produce again": m.produce, "replicate": m.replicate, "transact": m.transact, "plain": m.plain,
			"expire": m.expire, "snapshot": m.snapshot, "restart": m.restart, "truncate": m.truncate,
			"": func(t *rapid.T) {
				same(t, m.s, m.w, machineIDs)
				c := m.s.Clone()
				require.Equal(t, m.s.AppendTo(nil), c.AppendTo(nil))
				require.Equal(t, fmt.Sprint(m.s), c.String())
			},
		})
	})
}
