package producers

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
	"trialog/core/record"
)

// log is a partition: its state, and the batches in it.
type log struct {
	s       *State
	batches []record.Header
	leo     int64
}

// produce checks and, if told so, appends.
func (l *log) produce(id int64, epoch int16, first kafka.Sequence, count int32) Outcome {
	h := batch(id, epoch, first, count, l.leo, 1000+l.leo)
	out := l.s.Check(&h)
	if out.Verdict == Append {
		l.s.Update(&h)
		l.batches = append(l.batches, h)
		l.leo = h.NextOffset()
	}
	return out
}

// twice counts sequences of a producer and epoch that lie in the log more than once.
func (l *log) twice() int {
	n := 0
	for i, a := range l.batches {
		for _, b := range l.batches[:i] {
			if a.ProducerID == b.ProducerID && a.ProducerEpoch == b.ProducerEpoch && a.BaseSequence == b.BaseSequence {
				n++
			}
		}
	}
	return n
}

func outOfOrder(expected kafka.Sequence) Outcome {
	return Outcome{Verdict: Refuse, Code: kafka.ErrOutOfOrderSequenceNumber, Expected: expected}
}

// fiveInFlight is P01: five batches are appended, all answers are lost, the client sends all again.
func fiveInFlight(rules Rules) (l *log, answers []Outcome) {
	l = &log{s: New(rules)}
	for i := range int32(5) {
		l.produce(7, 0, i*10, 10)
	}
	for i := range int32(5) {
		answers = append(answers, l.produce(7, 0, i*10, 10))
	}
	return l, answers
}

func TestLostAnswers(t *testing.T) {
	l, answers := fiveInFlight(AllRules())
	for i, out := range answers {
		base := int64(i) * 10
		assert.Equal(t, Outcome{Verdict: Duplicate, BaseOffset: base, LastOffset: base + 9, Timestamp: 1000 + base}, out)
	}
	assert.Equal(t, int64(50), l.leo)
	assert.Zero(t, l.twice())
	l.produce(7, 0, 50, 10)
	assert.Equal(t, outOfOrder(60), l.produce(7, 0, 0, 10), "older than the window")
}

// TestRuleOff shows what detect-duplicates prevents, and that its test would see it.
func TestRuleOff(t *testing.T) {
	rules := AllRules()
	require.True(t, rules.Off("detect-duplicates"))
	require.False(t, rules.Off("no-such-rule"))
	l, answers := fiveInFlight(rules)
	for _, out := range answers {
		assert.Equal(t, Append, out.Verdict)
	}
	assert.Equal(t, int64(100), l.leo)
	assert.Equal(t, 5, l.twice())
	assert.Equal(t, Append, l.produce(7, 0, 50, 10).Verdict, "what follows the originals is still in sequence")
	assert.Equal(t, Append, l.produce(7, 0, 3, 2).Verdict, "below the last, and equal to none")
	assert.Equal(t, outOfOrder(60), l.produce(7, 0, 61, 1), "a gap is still a gap")
	assert.Equal(t, kafka.ErrOutOfOrderSequenceNumber, l.produce(7, 1, 3, 1).Code)
	assert.Equal(t, Append, l.produce(7, 1, 0, 1).Verdict)
	assert.Equal(t, kafka.ErrInvalidProducerEpoch, l.produce(7, 0, 0, 10).Code)
}

// TestNoSequenceTwice is the property of the rule: whatever clients send, in whatever order, no sequence of an epoch is
// in the log twice, as long as nothing expires. It holds with the rule on, and is broken with it off.
func TestNoSequenceTwice(t *testing.T) {
	send := func(t *rapid.T, rules Rules) int {
		l := &log{s: New(rules)}
		for range rapid.IntRange(1, 30).Draw(t, "sends") {
			l.produce(rapid.Int64Range(1, 2).Draw(t, "id"), rapid.Int16Range(0, 1).Draw(t, "epoch"), rapid.Int32Range(0, 9).Draw(t, "first"), 1)
		}
		return l.twice()
	}
	rapid.Check(t, func(t *rapid.T) { require.Zero(t, send(t, AllRules())) })
	broken := 0
	for seed := range 50 {
		broken += rapid.Custom(func(t *rapid.T) int { return send(t, without("detect-duplicates")) }).Example(seed)
	}
	require.NotZero(t, broken)
}

func TestEpochs(t *testing.T) {
	l := &log{s: New(AllRules())}
	for i := range int32(10) {
		assert.Equal(t, Outcome{}, l.produce(7, 0, i, 1))
	}
	assert.Equal(t, outOfOrder(0), l.produce(7, 1, 10, 1), "P04")
	assert.Equal(t, Outcome{}, l.produce(7, 1, 0, 1))
	assert.Equal(t, Outcome{Verdict: Refuse, Code: kafka.ErrInvalidProducerEpoch}, l.produce(7, 0, 10, 1))
	assert.Equal(t, "7/1 next 1: 0..0@10", l.s.String())
}

func TestWrap(t *testing.T) {
	l := &log{s: New(AllRules())}
	assert.Equal(t, Outcome{}, l.produce(7, 0, 2147483640, 1), "any sequence when nothing is known")
	assert.Equal(t, Outcome{}, l.produce(7, 0, 2147483641, 20), "P05: ...641 to ...647, then 0 to 12")
	assert.Equal(t, outOfOrder(13), l.produce(7, 0, 12, 1))
	assert.Equal(t, Duplicate, l.produce(7, 0, 2147483641, 20).Verdict)
	assert.Equal(t, Outcome{}, l.produce(7, 0, 13, 1))
	assert.Equal(t, Outcome{Verdict: Refuse, Code: kafka.ErrInvalidRecord}, l.produce(7, 0, -5, 1))
	assert.Equal(t, Outcome{Verdict: Refuse, Code: kafka.ErrInvalidRecord}, l.produce(7, -1, 5, 1))
	assert.Equal(t, Outcome{}, l.produce(-1, -1, -1, 1), "no producer")

	off := &log{s: New(without("detect-duplicates"))}
	off.produce(7, 0, 2147483647, 2)
	assert.Equal(t, Append, off.produce(7, 0, 2147483647, 2).Verdict, "behind, over the wrap")
	assert.Equal(t, outOfOrder(1), off.produce(7, 0, 2, 1))
}

func TestExpiry(t *testing.T) {
	l := &log{s: New(AllRules())}
	l.produce(7, 0, 0, 2) // at 1000
	l.produce(9, 0, 0, 1) // at 1002
	assert.Equal(t, 0, l.s.Expire(1049, 50))
	assert.Equal(t, 1, l.s.Expire(1050, 50))
	assert.Equal(t, 1, l.s.Len())
	assert.Equal(t, Outcome{}, l.produce(7, 0, 5, 1), "P07: any sequence after expiry, never out of order")

	h := batch(9, 0, 1, 1, l.leo, 1003)
	h.Attributes = record.Transactional
	l.s.Update(&h)
	assert.Equal(t, 1, l.s.Expire(1<<40, 50), "an open transaction keeps its producer")
	assert.Equal(t, "9/0 next 2: 0..0@2 1..1@4 txn from 4", l.s.String())
	first, open := l.s.FirstUndecided()
	assert.Equal(t, []any{int64(4), true}, []any{first, open})
	l.s.Clear()
	assert.Equal(t, "-", l.s.String())
}

func TestOrderLost(t *testing.T) {
	s := New(AllRules())
	h := batch(7, 0, 0, 5, 10, 0)
	s.Update(&h)
	h = batch(7, 0, 5, 1, 14, 0)
	assert.PanicsWithValue(t, "producers: P2 broken: batch at 14..14 pushed to 7/0 next 5: 0..4@10", func() { s.Update(&h) })
}

func TestTruncate(t *testing.T) {
	l, _ := fiveInFlight(AllRules())
	assert.True(t, l.s.TruncateTo(50))
	assert.False(t, l.s.TruncateTo(49))
	assert.Equal(t, "7/0 next 40: 0..9@0 10..19@10 20..29@20 30..39@30", l.s.String())
	assert.True(t, l.s.TruncateTo(49))
	assert.False(t, l.s.TruncateTo(5))
	assert.Zero(t, l.s.Len())
}

func TestVerdictString(t *testing.T) {
	assert.Equal(t, []string{"append", "duplicate", "refuse"}, []string{Append.String(), Duplicate.String(), Refuse.String()})
}

// goldenSnapshot is one producer by hand: version, crc, count, then the entry. The crc is by a bitwise CRC-32C outside
// this program.
const goldenSnapshot = "0001" + "0a1c6477" + "00000001" +
	"0000000000000007" + "0002" + "00000009" + "0000000000000063" + "00000004" + "00000000000003e8" + "ffffffff" + "ffffffffffffffff"

func TestSnapshot(t *testing.T) {
	s := New(AllRules())
	h := batch(7, 2, 5, 5, 95, 1000)
	s.Update(&h)
	raw := s.AppendSnapshot(nil)
	assert.Equal(t, goldenSnapshot, hex.EncodeToString(raw))
	back, err := ParseSnapshot(AllRules(), 100, raw)
	require.NoError(t, err)
	assert.Equal(t, s.AppendTo(nil), back.AppendTo(nil))
	assert.Equal(t, "7/2 next 10: 5..9@95", back.String())

	empty, err := ParseSnapshot(AllRules(), 0, New(AllRules()).AppendSnapshot(nil))
	require.NoError(t, err)
	assert.Zero(t, empty.Len())
}

// TestSnapshotOfKafka has entries in any order, one for each producer, and one that only a marker made known.
func TestSnapshotOfKafka(t *testing.T) {
	var kafkas []byte
	for _, p := range []Producer{
		{ID: 9, Epoch: 1, CoordinatorEpoch: 3, TxnFirstOffset: -1, LastTimestamp: 5},
		{ID: 2, TxnFirstOffset: 11, CoordinatorEpoch: -1, LastTimestamp: 6, count: 1, batches: [Window]Batch{{LastSeq: 2, LastOffset: 20, OffsetDelta: 4, Timestamp: 6}}},
	} {
		s := &State{producers: []Producer{p}}
		kafkas = append(kafkas, s.AppendSnapshot(nil)[snapshotHeaderSize:]...)
	}
	s, err := ParseSnapshot(AllRules(), 21, frame(kafkas, 2))
	require.NoError(t, err)
	assert.Equal(t, "2/0 next 3: 2147483646..2@16 txn from 11\n9/1 next 0:", s.String())
	assert.Equal(t, int32(3), s.Producers()[1].CoordinatorEpoch)
}

func TestSnapshotKeepsTheWindow(t *testing.T) {
	l, _ := fiveInFlight(AllRules())
	raw := l.s.AppendSnapshot(nil)
	assert.Len(t, raw, snapshotHeaderSize+5*snapshotEntrySize)
	s, err := ParseSnapshot(AllRules(), 50, raw)
	require.NoError(t, err)
	l.s = s
	assert.Equal(t, Duplicate, l.produce(7, 0, 0, 10).Verdict, "P01 after a restart")
	// Kafka lets later entries of a producer replace the former: the last one must be the last batch.
	last, err := ParseSnapshot(AllRules(), 50, frame(raw[len(raw)-snapshotEntrySize:], 1))
	require.NoError(t, err)
	assert.Equal(t, "7/0 next 50: 40..49@40", last.String())
}

func TestBadSnapshots(t *testing.T) {
	l, _ := fiveInFlight(AllRules())
	good := l.s.AppendSnapshot(nil)
	for cut := range good {
		_, err := ParseSnapshot(AllRules(), 50, good[:cut])
		assert.Error(t, err, "cut at %d", cut)
		broken := append([]byte{}, good...)
		broken[cut] ^= 0x10
		_, err = ParseSnapshot(AllRules(), 50, broken)
		assert.Error(t, err, "bit at %d", cut)
	}
	entry := func(change func(b []byte)) []byte {
		b := append([]byte{}, good[len(good)-snapshotEntrySize:]...)
		change(b)
		return b
	}
	same := func([]byte) {}
	for _, c := range []struct {
		name    string
		entries []byte
		count   int
		want    string
	}{
		{"count", entry(same), 2, "snapshot count 2, but 46 bytes of entries follow"},
		{"negative id", entry(func(b []byte) { b[0] = 0xff }), 1, "entry 0: negative"},
		{"negative delta", entry(func(b []byte) { b[22] = 0xff }), 1, "offset delta"},
		{"delta beyond the offset", entry(func(b []byte) { b[25] = 50 }), 1, "offset delta 50 of last offset 49"},
		{"at the end", entry(func(b []byte) { b[21] = 50 }), 1, "offset 50 or transaction at -1 is not below the snapshot at 50"},
		{"order", append(entry(same), entry(same)...), 2, "entry 1: producer 7: batch at 40..49 follows 49"},
	} {
		_, err := ParseSnapshot(AllRules(), 50, frame(c.entries, c.count))
		assert.ErrorContains(t, err, c.want, c.name)
	}
	_, err := ParseSnapshot(AllRules(), 49, good)
	assert.ErrorContains(t, err, "is not below the snapshot at 49")
}

// frame puts the header of a snapshot before entries.
func frame(entries []byte, count int) []byte {
	b := []byte{0, snapshotVersion, 0, 0, 0, 0, byte(count >> 24), byte(count >> 16), byte(count >> 8), byte(count)}
	b = append(b, entries...)
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[snapshotCRCFrom:], castagnoli))
	return b
}

func TestCheckAllocatesNothing(t *testing.T) {
	l, _ := fiveInFlight(AllRules())
	h := batch(7, 0, 40, 10, 0, 0)
	assert.Zero(t, testing.AllocsPerRun(100, func() { l.s.Check(&h) }))
}
