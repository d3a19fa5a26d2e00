package twin

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/record"
)

func settings() config.Topic {
	return config.Topic{SegmentBytes: 400, SegmentMs: 1 << 60, RetentionMs: -1, RetentionBytes: -1, CleanupDelete: true}
}

// batch is a batch of records key=value, from producer pid on if that is not negative.
func batch(pid kafka.ProducerID, seq kafka.Sequence, words ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	if pid >= 0 {
		b.SetProducer(pid, 0, seq)
	}
	for _, w := range words {
		var value []byte
		if w[2:] != "" {
			value = []byte(w[2:])
		}
		b.Append(1000, []byte(w[:1]), value)
	}
	return b.Finish()
}

// sample is a log of a few segments with two epochs and a producer, of which [0,8) is flushed.
func sample() *Log {
	l := New(settings())
	for i := range 3 {
		l.Append(batch(7, int32(2*i), "a=1", "b=1"), 0)
	}
	l.Append(batch(-1, -1, "a=2", "c=1"), 1)
	l.Flush(8)
	for i := range 4 {
		l.Append(batch(7, int32(6+2*i), "d=1", "a=3"), 1)
	}
	l.SetHighWatermark(12)
	return l
}

// outcome is what a log that is the twin would show, cut at end.
func outcome(l *Log, end kafka.Offset) Outcome {
	o := Outcome{Start: l.start, End: end, HW: min(l.hw, end), Flushed: end, Segments: slices.Clone(l.segments), Epochs: slices.Clone(l.epochs)}
	o.Segments = slices.DeleteFunc(o.Segments, func(base kafka.Offset) bool { return base > end })
	o.Epochs = slices.DeleteFunc(o.Epochs, func(e Epoch) bool { return e.Start >= end })
	for _, b := range l.batches {
		if b.Next > l.start && b.Next <= end {
			o.Batches = append(o.Batches, slices.Clone(b.Raw))
		}
	}
	o.Producers = l.replayAll(0, end)
	return o
}

// Every prefix from the flushed end on is allowed, and the log is checked against itself.
func TestAllowed(t *testing.T) {
	l := sample()
	for end := kafka.Offset(8); end <= 16; end += 2 {
		require.NoError(t, l.Crashed().Check(outcome(l, end)), end)
	}
	o := outcome(l, 16)
	require.NoError(t, l.Check(o))
	before := l.Clone()
	l.Truncate(10)
	for end := kafka.Offset(8); end <= 16; end += 2 {
		require.NoError(t, Between(before, l).Check(outcome(before, end)), end)
	}
	require.Error(t, l.Crashed().Check(outcome(before, 16)), "it was done")
	l.Adopt(outcome(l, 10))
	require.NoError(t, l.Check(outcome(l, 10)))
}

// Everything that a crash must not do is refused, by the rule that forbids it.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		rule string
		end  kafka.Offset
		bend func(o *Outcome)
	}{
		{"C1", 6, func(*Outcome) {}},
		{"C2", 12, func(o *Outcome) { o.Batches = o.Batches[:5] }},
		{"C2", 12, func(o *Outcome) { o.Batches[2][70] ^= 1; record.SetChecksum(o.Batches[2]) }},
		{"C2", 12, func(o *Outcome) { o.Batches = append(o.Batches, o.Batches[5]) }},
		{"C2", 12, func(o *Outcome) { o.Batches = slices.Delete(o.Batches, 1, 2) }},
		{"C2", 12, func(o *Outcome) { o.End, o.Flushed = 11, 11; o.HW = 11 }},
		{"C3", 12, func(o *Outcome) { o.Start = 2 }},
		{"C4", 12, func(o *Outcome) { o.HW = 13 }},
		{"C4", 12, func(o *Outcome) { o.Flushed = 10 }},
		{"C5", 12, func(o *Outcome) { o.Epochs = o.Epochs[:1] }},
		{"C5", 12, func(o *Outcome) { o.Epochs = append(o.Epochs, Epoch{3, 12}) }},
		{"C6", 12, func(o *Outcome) { o.Producers = nil }},
		{"C6", 12, func(o *Outcome) { o.Producers[0].Batches = o.Producers[0].Batches[:2] }},
		{"C6", 12, func(o *Outcome) {
			o.Producers[0].ID = 8
			o.Producers = append(o.Producers, sample().replayAll(0, 12)...)
		}},
		{"C7", 12, func(o *Outcome) { o.Segments = nil }},
		{"C7", 12, func(o *Outcome) { o.Segments = append(o.Segments, 11) }},
		{"C7", 12, func(o *Outcome) { o.Segments[0] = 2 }},
	} {
		l := sample()
		o := outcome(l, c.end)
		c.bend(&o)
		require.ErrorContains(t, l.Crashed().Check(o), c.rule+":", "%s %v", c.rule, o)
		require.Error(t, l.Check(o))
	}
}

// compactable is a log of which [0,12) can be compacted.
func compactable() *Log {
	l := sample()
	l.Flush(16)
	l.SetHighWatermark(16)
	return l
}

// cleaned is the log compacted as keep says: by offset.
func cleaned(l *Log, keep func(offset kafka.Offset, r Record) bool) Outcome {
	o := outcome(l, l.end)
	for i := range o.Batches {
		old := l.batches[i]
		var words []string
		var b record.Builder
		b.Reset(nil)
		if old.header.HasProducerID() {
			b.SetProducer(old.header.ProducerID, 0, old.header.BaseSequence)
		}
		for _, r := range old.records {
			if keep(r.Offset, r) {
				words = append(words, string(r.Key))
				b.Append(r.Timestamp, r.Key, r.Value)
			}
		}
		if len(words) == len(old.records) {
			continue
		}
		if len(words) == 0 {
			o.Batches[i] = nil
			continue
		}
		raw := b.Finish()
		raw = raw[:len(raw):len(raw)]
		record.SetBaseOffset(raw, old.Base)
		record.SetLeaderEpoch(raw, old.Epoch)
		fixOffsets(raw, &old, words)
		o.Batches[i] = raw
	}
	o.Batches = slices.DeleteFunc(o.Batches, func(b []byte) bool { return b == nil })
	return o
}

// fixOffsets makes a batch of one record that was the first or last of two look as compaction leaves it.
func fixOffsets(raw []byte, old *Batch, words []string) {
	raw[26] = byte(old.header.LastOffsetDelta)
	for _, r := range old.records {
		if string(r.Key) == words[0] {
			raw[record.HeaderSize+3] = byte(2 * (r.Offset - old.Base)) // varint of the offset delta: size, attributes, time come before
		}
	}
	record.SetChecksum(raw)
}

func latestOf(l *Log, to kafka.Offset) func(kafka.Offset, Record) bool {
	return func(offset kafka.Offset, r Record) bool {
		at, _ := l.latest(r.Key, 0, to)
		return offset >= to || offset == at
	}
}

// What a pass must do is accepted, what it must not do is refused.
func TestCompaction(t *testing.T) {
	l := compactable()
	bound := l.Bound()
	require.Equal(t, l.segments[len(l.segments)-1], bound)
	c := Compaction{Bound: bound, NowMs: 2000}
	good := cleaned(l, latestOf(l, bound))
	require.NoError(t, l.CheckCompacted(c, good))
	require.NoError(t, l.Compacting(c).Check(good))
	require.NoError(t, l.Compacting(c).Check(outcome(l, 16)), "nothing was replaced yet")
	require.ErrorContains(t, l.CheckCompacted(c, outcome(l, 16)), "K3:")
	above := cleaned(l, latestOf(l, 16))
	require.ErrorContains(t, l.CheckCompacted(c, above), "K1:", "a committed value went for one above the bound")
	require.ErrorContains(t, l.Compacting(c).Check(above), "K1:")
	lost := cleaned(l, func(offset kafka.Offset, r Record) bool { return string(r.Key) != "b" })
	require.ErrorContains(t, l.CheckCompacted(c, lost), "K1:")
	moved := cleaned(l, latestOf(l, bound))
	record.SetBaseOffset(moved.Batches[0], 1)
	require.ErrorContains(t, l.CheckCompacted(c, moved), "K2:")
	short := cleaned(l, latestOf(l, bound))
	short.End = 14
	require.ErrorContains(t, l.CheckCompacted(c, short), "K4:")
	other := cleaned(l, latestOf(l, bound))
	other.Segments = []kafka.Offset{0, 5}
	require.ErrorContains(t, l.CheckCompacted(c, other), "K4:")
	l.Adopt(good)
	require.NoError(t, l.Check(good))
}

// A log says what it is in one line.
func TestString(t *testing.T) {
	require.Equal(t, "[0,12) hw=12 flushed=12 segments=[0 10] epochs=[{0 0} {1 6}] 6 batches", fmt.Sprint(outcome(sample(), 12)))
}
