package seglog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// modelBatch is what the model knows of a batch.
type modelBatch struct {
	base, next kafka.Offset
	epoch      kafka.LeaderEpoch
	pid        kafka.ProducerID
	seq        kafka.Sequence
	raw        string
}

// logModel is a log as a list.
type logModel struct {
	start   kafka.Offset
	batches []modelBatch
	end     kafka.Offset
	flushed kafka.Offset
	hw      kafka.Offset
}

func (m *logModel) cut(to kafka.Offset) {
	i := slices.IndexFunc(m.batches, func(b modelBatch) bool { return b.next > to })
	if i >= 0 {
		m.end, m.batches = min(to, m.batches[i].base), m.batches[:i]
		if m.end < m.start { // nothing is left
			m.end, m.batches = m.start, nil
		}
	}
	m.flushed, m.hw = min(m.flushed, m.end), min(m.hw, m.end)
}

// nextSeq is the sequence that a producer must send, from the batches.
func (m *logModel) nextSeq(pid kafka.ProducerID) kafka.Sequence {
	for _, b := range slices.Backward(m.batches) {
		if b.pid == pid {
			return b.seq + kafka.Sequence(b.next-b.base)
		}
	}
	return -1
}

// logMachine runs a log beside its model.
type logMachine struct {
	dir   string
	cfg   Config
	l     *Log
	m     logModel
	epoch kafka.LeaderEpoch
	time  int64
}

func (lm *logMachine) reopen(t *rapid.T, clean bool) {
	lm.l = open(t, lm.dir, lm.cfg, Start{
		Clean: clean, RecoveryPoint: lm.m.flushed, LogStart: lm.m.start, HighWatermark: lm.m.hw,
	})
}

func (lm *logMachine) append(t *rapid.T) {
	n := rapid.IntRange(1, 4).Draw(t, "n")
	pid := rapid.Int64Range(-1, 2).Draw(t, "pid")
	seq := kafka.Sequence(-1)
	if pid >= 0 {
		if seq = lm.m.nextSeq(pid); seq < 0 {
			seq = 0
		}
	}
	lm.time += rapid.Int64Range(-3, 10).Draw(t, "ms")
	b := batchOf(n, rapid.IntRange(0, 60).Draw(t, "size"), 1000+lm.time, pid, 0, seq)
	a, err := lm.l.Append(b, lm.epoch, now(lm.time))
	require.NoError(t, err)
	require.Equal(t, kafka.ErrNone, a.Code, "pid %d seq %d", pid, seq)
	require.False(t, a.Duplicate)
	require.Equal(t, lm.m.end, a.Base)
	lm.m.end = a.Next
	lm.m.batches = append(lm.m.batches, modelBatch{base: a.Base, next: a.Next, epoch: lm.epoch, pid: pid, seq: seq, raw: string(b)})
}

// retry sends the last batch of a producer again.
func (lm *logMachine) retry(t *rapid.T) {
	for _, b := range slices.Backward(lm.m.batches) {
		if b.pid >= 0 {
			a, err := lm.l.Append([]byte(b.raw), lm.epoch, now(lm.time))
			require.NoError(t, err)
			require.True(t, a.Duplicate)
			require.Equal(t, []kafka.Offset{b.base, b.next}, []kafka.Offset{a.Base, a.Next})
			return
		}
	}
}

func (lm *logMachine) flush(t *rapid.T) {
	lm.m.flushed = lm.m.end
	require.NoError(t, lm.l.Flush(lm.m.end))
}

func (lm *logMachine) truncate(t *rapid.T) {
	to := rapid.Int64Range(lm.m.start, lm.m.end).Draw(t, "to")
	require.NoError(t, lm.l.Truncate(to))
	lm.m.cut(to)
	lm.epoch++
}

func (lm *logMachine) truncateFully(t *rapid.T) {
	to := rapid.Int64Range(0, lm.m.end+3).Draw(t, "start")
	require.NoError(t, lm.l.TruncateFully(to))
	lm.m = logModel{start: to, end: to, flushed: to, hw: to}
	lm.epoch++
}

func (lm *logMachine) deleteRecords(t *rapid.T) {
	lm.m.hw = rapid.Int64Range(lm.m.hw, lm.m.end).Draw(t, "hw")
	lm.l.SetHighWatermark(lm.m.hw)
	to := rapid.Int64Range(lm.m.start, max(lm.m.start, lm.m.hw)).Draw(t, "before")
	start, err := lm.l.DeleteRecords(to)
	if to > lm.m.hw {
		require.Equal(t, kafka.ErrOffsetOutOfRange, err)
		return
	}
	require.NoError(t, err)
	require.Equal(t, to, start)
	lm.m.start = start
	require.NoError(t, lm.l.RemoveDeleted())
}

func (lm *logMachine) restart(t *rapid.T) {
	require.NoError(t, lm.l.Close())
	lm.m.flushed = lm.m.end
	lm.reopen(t, rapid.Bool().Draw(t, "clean"))
	lm.m.flushed = lm.m.end
}

// crash kills the process, and then something happens to what was not flushed: nothing, a cut, a flip, garbage after it.
func (lm *logMachine) crash(t *rapid.T) {
	lm.l.abandon()
	flushed := lm.l.FlushedTo() // the background may have flushed more than the model knows
	lm.m.flushed = max(lm.m.flushed, flushed)
	active := lm.l.active()
	path := active.path(layout.LogSuffix)
	raw := readFile(t, path)
	safe := 0       // bytes of the active segment that are durable
	var flips []int // bytes whose change can be noticed: Kafka's CRC does not cover the leader epoch
	for it := record.NewBatches(raw); it.Next(); {
		h := it.Header()
		if h.NextOffset() <= lm.m.flushed {
			safe = it.Position()
			continue
		}
		for i := range h.Size() {
			if i < 12 || i >= 16 {
				flips = append(flips, it.Position()-h.Size()+i)
			}
		}
	}
	switch what := rapid.SampledFrom([]string{"nothing", "cut", "flip", "garbage"}).Draw(t, "damage"); {
	case what == "cut":
		raw = raw[:rapid.IntRange(safe, len(raw)).Draw(t, "size")]
	case what == "flip" && len(flips) > 0:
		raw[rapid.SampledFrom(flips).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case what == "garbage":
		raw = append(raw, rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "bytes")...)
	}
	require.NoError(t, os.WriteFile(path, raw, 0o644))
	lm.reopen(t, false)
	require.GreaterOrEqual(t, lm.l.EndOffset(), lm.m.flushed, "what was flushed survives")
	end := active.base
	for it := record.NewBatches(raw); it.Next(); {
		h, err := record.Validate(it.Batch())
		if err != nil || h.BaseOffset != end {
			break
		}
		end = h.NextOffset()
	}
	lm.m.cut(end)
	lm.m.flushed = lm.m.end
	require.Equal(t, lm.m.end, lm.l.FlushedTo())
	lm.epoch++
}

func (lm *logMachine) check(t *rapid.T) {
	l, m := lm.l, &lm.m
	require.Equal(t, m.end, l.EndOffset())
	require.Equal(t, m.start, l.StartOffset())
	require.LessOrEqual(t, l.FlushedTo(), m.end)
	require.GreaterOrEqual(t, l.FlushedTo(), m.flushed)
	var got, want []string
	err := l.Walk(m.start, m.end, func(h *record.Header, b []byte) error {
		got = append(got, fmt.Sprintf("%d %x", h.BaseOffset, b))
		return nil
	})
	require.NoError(t, err)
	for _, b := range m.batches {
		if b.next > m.start {
			want = append(want, fmt.Sprintf("%d %x", b.base, b.raw))
		}
		require.True(t, b.next <= m.start || l.EpochAt(max(b.base, m.start)) == b.epoch)
	}
	require.Equal(t, want, got)
}

func TestAgainstModel(t *testing.T) {
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		lm := &logMachine{dir: filepath.Join(root, fmt.Sprint(runs)), cfg: testConfig(small())}
		lm.cfg.Settings.SegmentBytes = 500
		lm.reopen(t, false)
		defer func() {
			lm.l.settle()
			os.RemoveAll(lm.dir)
		}()
		t.Repeat(map[string]func(*rapid.T){
			"append":         lm.append,
			"append more":    lm.append,
			"retry":          lm.retry,
			"flush":          lm.flush,
			"truncate":       lm.truncate,
			"truncate fully": lm.truncateFully,
			"delete records": lm.deleteRecords,
			"restart":        lm.restart,
			"crash":          lm.crash,
			"":               lm.check,
		})
	})
}
