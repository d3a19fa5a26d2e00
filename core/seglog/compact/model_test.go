package compact

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

// entry is one record of the obvious model.
type entry struct {
	key, value string
	null       bool // the value
	keyless    bool
	aborted    bool
	timestamp  int64
	horizonMs  int64 // 0: none
}

// TestAgainstTheObvious: rounds with random bounds, maps and pauses over a growing log of random batches. After each the
// log is compared with what an obvious model has: the newest value of each key at its offset; nothing that should have
// gone below the end of the round; tombstones for as long as they must stay; offsets, times and producers as they were.
func TestAgainstTheObvious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, records: map[kafka.Offset]entry{}, heads: map[kafka.Offset]record.Header{}, last: map[kafka.ProducerID]kafka.Offset{}, now: start}
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			m.write(rapid.IntRange(0, 8).Draw(t, "batches"))
			m.now += rapid.Int64Range(0, retention).Draw(t, "pause")
			m.clean()
			m.check()
		}
	})
}

type model struct {
	t       *rapid.T
	log     []byte
	end     kafka.Offset
	cleaned kafka.Offset
	now     int64
	records map[kafka.Offset]entry // every record that is still there
	heads   map[kafka.Offset]record.Header
	last    map[kafka.ProducerID]kafka.Offset
	open    kafka.ProducerID // a transaction of it is open; 0: of nobody
}

// write appends n batches, and a marker when a transaction is open: all transactions are decided.
func (m *model) write(n int) {
	t := m.t
	var pending []kafka.Offset // of the open transaction
	for range n {
		m.end += rapid.SampledFrom([]int64{0, 0, 0, 3}).Draw(t, "gap")
		var words []string
		first := m.end
		id := rapid.SampledFrom([]kafka.ProducerID{-1, 7, 8, 9}).Draw(t, "producer")
		attributes := record.Attributes(0)
		c := rapid.SampledFrom(codecs).Draw(t, "codec")
		if id == 9 {
			attributes, m.open, c = record.Transactional, id, record.Uncompressed
		}
		for range rapid.IntRange(1, 4).Draw(t, "records") {
			e := entry{key: rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key"), timestamp: start - 1000 + int64(len(words))}
			word := e.key
			switch rapid.SampledFrom([]string{"value", "value", "value", "tombstone", "keyless"}).Draw(t, "kind") {
			case "value":
				e.value = fmt.Sprint(m.end)
				word += "=" + e.value
			case "keyless":
				e.keyless, e.key, e.value = true, "", "x"
				word = "=x"
			default:
				e.null = true
			}
			m.records[m.end] = e
			if attributes != 0 {
				pending = append(pending, m.end)
			}
			words = append(words, word)
			m.end++
		}
		m.add(put(t, first, c, id, attributes, words...))
		if id >= 0 {
			m.last[id] = m.end - 1
		}
	}
	if m.open == 0 {
		return
	}
	kind := rapid.SampledFrom([]record.ControlType{record.ControlAbort, record.ControlCommit}).Draw(t, "marker")
	m.add(end(m.end, m.open, kind))
	m.end, m.open = m.end+1, 0
	for _, o := range pending {
		e := m.records[o]
		e.aborted = kind == record.ControlAbort
		m.records[o] = e
	}
}

func (m *model) add(batch []byte) {
	h, err := record.Validate(batch)
	require.NoError(m.t, err)
	m.heads[h.LastOffset()] = h
	m.log = append(m.log, batch...)
}

// clean runs a round up to a random batch, and does to the model what a round should do.
func (m *model) clean() {
	t := m.t
	heads, _ := parsed(t, m.log)
	if len(heads) == 0 {
		return
	}
	bound := max(m.cleaned, heads[rapid.IntRange(0, len(heads)-1).Draw(t, "bound")].BaseOffset)
	slots := rapid.SampledFrom([]int64{6, 1000}).Draw(t, "slots")
	offsets, err := NewMap(slots*SlotSize, 0.9, 1000)
	require.NoError(t, err)
	r := Round{Map: offsets, Rules: allRules}
	for _, id := range []kafka.ProducerID{7, 8, 9} {
		if at, ok := m.last[id]; ok {
			r.Newest = append(r.Newest, Newest{ID: id, Epoch: 1, LastOffset: at})
		}
	}
	var f *Filter
	m.log, f = round(t, m.log, m.cleaned, bound, m.now, r)
	to := f.Map.End()
	require.LessOrEqual(t, to, bound)
	newest := m.newest(m.cleaned, to)
	for o, e := range m.records {
		at, known := newest[e.key]
		superseded := known && at > o
		switch {
		case o >= to:
			// A key that the full map took from a batch beyond its end may remove an older record: see check.
		case e.keyless || e.aborted && o >= m.cleaned || superseded || e.null && e.horizonMs != 0 && m.now >= e.horizonMs:
			delete(m.records, o)
		case e.null && e.horizonMs == 0:
			m.horizons(o, m.now+retention)
		}
	}
	m.cleaned = to
}

// horizons gives a horizon to the tombstones of the batch of the record at offset.
func (m *model) horizons(offset kafka.Offset, ms int64) {
	for last, h := range m.heads {
		if h.BaseOffset > offset || offset > last {
			continue
		}
		for o := h.BaseOffset; o <= last; o++ {
			if e, ok := m.records[o]; ok && e.horizonMs == 0 {
				e.horizonMs = ms
				m.records[o] = e
			}
		}
	}
}

// newest is the offset of the newest record of each key in [from, to) that was not aborted.
func (m *model) newest(from, to kafka.Offset) map[string]kafka.Offset {
	newest := map[string]kafka.Offset{}
	for o, e := range m.records {
		if o >= from && o < to && !e.keyless && !e.aborted {
			newest[e.key] = max(newest[e.key], o)
		}
	}
	return newest
}

func (m *model) check() {
	t := m.t
	heads, batches := parsed(t, m.log)
	there := map[kafka.Offset]bool{}
	next, seen := kafka.Offset(0), []kafka.Offset{}
	for i, h := range heads {
		require.GreaterOrEqual(t, h.BaseOffset, next)
		next = h.NextOffset()
		seen = append(seen, h.LastOffset())
		was := m.heads[h.LastOffset()]
		require.Equal(t, []any{was.BaseOffset, was.LeaderEpoch, was.ProducerID, was.ProducerEpoch, was.BaseSequence, was.IsControl(), was.IsTransactional()},
			[]any{h.BaseOffset, h.LeaderEpoch, h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.IsControl(), h.IsTransactional()})
		if h.IsControl() {
			continue
		}
		it, err := codec.Records(batches[i], 1<<30)
		require.NoError(t, err)
		for it.Next() {
			r := it.Record()
			e, ok := m.records[r.Offset]
			require.True(t, ok, "offset %d should be gone", r.Offset)
			require.Equal(t, []any{e.key, e.value, e.null, e.keyless, e.timestamp}, []any{string(r.Key), string(r.Value), r.Value == nil, r.Key == nil, r.Timestamp})
			there[r.Offset] = true
		}
		require.NoError(t, it.Err())
	}
	newest := m.newest(0, m.end)
	for o, e := range m.records {
		if there[o] {
			continue
		}
		// Only what a later record of the key stands for may be missing.
		require.False(t, e.keyless || e.aborted || newest[e.key] == o, "offset %d is lost", o)
		delete(m.records, o)
	}
	for _, at := range m.last {
		require.Contains(t, seen, at, "the newest batch of a producer")
	}
	if len(seen) > 0 && m.cleaned > 0 {
		require.True(t, slices.IsSorted(seen))
	}
}
