package seglog

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/twin"
)

// twinMachine runs a log beside its twin.
type twinMachine struct {
	dir   string
	cfg   Config
	l     *Log
	w     *twin.Log
	epoch kafka.LeaderEpoch
	time  int64 // ms
	sent  []string
}

func (m *twinMachine) reopen(t *rapid.T, clean bool, start Start) {
	start.Clean = clean
	m.l = open(t, m.dir, m.cfg, start)
}

// known is what checkpoints would say of the log now.
func (m *twinMachine) known() Start {
	return Start{RecoveryPoint: m.l.FlushedTo(), LogStart: m.l.StartOffset(), HighWatermark: m.l.HighWatermark(), CleanedTo: m.l.CleanedTo()}
}

func (m *twinMachine) observe(t *rapid.T) twin.Outcome {
	m.l.settle()
	o, err := twin.Observe(m.l)
	require.NoError(t, err)
	return o
}

// batch draws a batch: mostly what its producer has to send next, now and then anything.
func (m *twinMachine) batch(t *rapid.T) []byte {
	pid := rapid.Int64Range(-1, 2).Draw(t, "pid")
	epoch, seq := kafka.ProducerEpoch(-1), kafka.Sequence(-1)
	if pid >= 0 {
		epoch, seq = 0, 0
		for _, p := range m.l.Producers() {
			if p.ID == pid {
				epoch, seq = p.Epoch, p.NextSequence()
			}
		}
		switch rapid.IntRange(0, 12).Draw(t, "sequence") {
		case 0:
			epoch, seq = epoch+1, 0
		case 1:
			seq += rapid.Int32Range(-2, 2).Draw(t, "off by")
			seq = max(seq, 0)
		}
	}
	m.time = max(0, m.time+rapid.Int64Range(-3, 10).Draw(t, "ms"))
	n, size := rapid.IntRange(1, 4).Draw(t, "n"), rapid.IntRange(0, 60).Draw(t, "size")
	if !m.cfg.Settings.CleanupCompact {
		return batchOf(n, size, 1000+m.time, pid, epoch, seq)
	}
	var b record.Builder
	b.Reset(nil)
	if pid >= 0 {
		b.SetProducer(pid, epoch, seq)
	}
	for i := range n {
		value := make([]byte, size)
		if rapid.IntRange(0, 5).Draw(t, "tombstone") == 0 {
			value = nil
		}
		b.Append(1000+m.time+int64(i), []byte{byte('a' + rapid.IntRange(0, 8).Draw(t, "key"))}, value)
	}
	return b.Finish()
}

// belowStart is the batches that lie wholly below the start.
func (m *twinMachine) belowStart(t *rapid.T) (batches [][]byte) {
	for _, s := range *m.l.segments.Load() {
		b, err := os.ReadFile(s.path(layout.LogSuffix))
		require.NoError(t, err)
		for it := record.NewBatches(b); it.Next(); {
			if h := it.Header(); h.NextOffset() <= m.l.StartOffset() {
				batches = append(batches, it.Batch())
			}
		}
	}
	return batches
}

// compact runs one pass; a second one at once finds nothing to do.
func (m *twinMachine) compact(t *rapid.T) {
	if !m.cfg.Settings.CleanupCompact {
		return
	}
	at := 1000 + m.time + rapid.Int64Range(0, 40).Draw(t, "later")
	d, _, err := m.l.Clean(worker(), at)
	require.NoError(t, err)
	o := m.observe(t)
	if d.Dirty == 0 {
		require.NoError(t, m.w.Check(o))
		return
	}
	require.LessOrEqual(t, d.Bound, m.w.Bound())
	require.NoError(t, m.w.CheckCompacted(twin.Compaction{FirstDirty: d.First, Bound: d.Bound, NowMs: at}, o))
	m.w.Adopt(o)
	m.w.AdoptBelow(m.belowStart(t))
	d, _, err = m.l.Clean(worker(), at)
	require.NoError(t, err)
	require.Zero(t, d.Dirty, "%v (L10)", d)
}

func (m *twinMachine) append(t *rapid.T) {
	m.send(t, m.batch(t))
}

func (m *twinMachine) send(t *rapid.T, b []byte) {
	a, err := m.l.Append(b, m.epoch, now(m.time))
	require.NoError(t, err)
	m.l.settle()
	want := m.w.Append([]byte(string(b)), m.epoch)
	require.Equal(t, want, twin.Answer{Code: a.Code, Base: a.Base, Next: a.Next, Duplicate: a.Duplicate})
	if a.Code == kafka.ErrNone {
		m.sent = append(m.sent, string(b))
	}
}

// retry sends one of the last batches again.
func (m *twinMachine) retry(t *rapid.T) {
	if len(m.sent) == 0 {
		return
	}
	i := rapid.IntRange(max(0, len(m.sent)-8), len(m.sent)-1).Draw(t, "which")
	if h, _ := record.ParseHeader([]byte(m.sent[i])); h.HasProducerID() {
		m.send(t, []byte(m.sent[i]))
	}
}

func (m *twinMachine) follow(t *rapid.T) {
	b := m.batch(t)
	epoch := m.epoch + rapid.Int32Range(-1, 1).Draw(t, "epoch")
	gaps := []int64{0, 0, 0, 0, -1}
	if m.cfg.Settings.CleanupCompact {
		gaps = append(gaps, 3) // the leader's log was compacted
	}
	at(b, m.w.EndOffset()+rapid.SampledFrom(gaps).Draw(t, "offset"), max(epoch, 0))
	if h, _ := record.ParseHeader(b); h.BaseOffset < 0 || !m.fits(&h) {
		return
	}
	a, err := m.l.AppendFollower(b, now(m.time))
	m.l.settle()
	want, ok := m.w.AppendFollower(b)
	require.Equal(t, ok, err == nil, "%v", err)
	if ok {
		require.Equal(t, want, twin.Answer{Code: a.Code, Base: a.Base, Next: a.Next, Duplicate: a.Duplicate})
		m.epoch = max(m.epoch, epoch)
	}
}

// fits: a follower gets batches that its leader took, so offsets of a producer only grow.
func (m *twinMachine) fits(h *record.Header) bool {
	for _, p := range m.l.Producers() {
		if last, ok := p.Last(); ok && p.ID == h.ProducerID && last.LastOffset >= h.BaseOffset {
			return false
		}
	}
	return true
}

func (m *twinMachine) startEpoch(t *rapid.T) {
	m.epoch++
	require.NoError(t, m.l.StartEpoch(m.epoch))
	m.w.StartEpoch(m.epoch)
}

func (m *twinMachine) flush(t *rapid.T) {
	require.NoError(t, m.l.Flush(m.l.EndOffset()))
	m.w.Flush(m.w.EndOffset())
}

func (m *twinMachine) truncate(t *rapid.T) {
	to := rapid.Int64Range(max(0, m.w.StartOffset()-3), m.w.EndOffset()+1).Draw(t, "to")
	require.NoError(t, m.l.Truncate(to))
	m.w.Truncate(to)
	m.afterCut(t)
}

func (m *twinMachine) truncateFully(t *rapid.T) {
	to := rapid.Int64Range(0, m.w.EndOffset()+3).Draw(t, "start")
	require.NoError(t, m.l.TruncateFully(to))
	m.w.TruncateFully(to)
	m.afterCut(t)
}

// afterCut: producers that had expired, or of which all is deleted, may be known again or no more.
func (m *twinMachine) afterCut(t *rapid.T) {
	o := m.observe(t)
	require.NoError(t, m.w.CheckProducers(o))
	m.epoch++
}

func (m *twinMachine) raiseHW(t *rapid.T) {
	hw := rapid.Int64Range(m.w.HighWatermark(), m.w.EndOffset()).Draw(t, "hw")
	m.l.SetHighWatermark(hw)
	m.w.SetHighWatermark(hw)
}

func (m *twinMachine) deleteRecords(t *rapid.T) {
	m.raiseHW(t)
	m.flush(t)
	to := rapid.Int64Range(m.w.StartOffset()-1, m.w.HighWatermark()+1).Draw(t, "before")
	m.l.settle() // segments that are not on disk yet stay
	start, err := m.l.DeleteRecords(to, m.time)
	want, ok := m.w.DeleteRecords(to)
	require.Equal(t, ok, err == nil, "%v", err)
	require.Equal(t, want, start)
}

func (m *twinMachine) retain(t *rapid.T) {
	m.flush(t)
	m.cfg.Settings.RetentionMs = rapid.Int64Range(-1, 60).Draw(t, "retention.ms")
	m.cfg.Settings.RetentionBytes = rapid.SampledFrom([]int64{-1, -1, 0, 300, 900, 2000}).Draw(t, "retention.bytes")
	m.l.SetSettings(m.cfg.Settings)
	m.w.Settings = m.cfg.Settings
	at := 1000 + m.time + rapid.Int64Range(0, 40).Draw(t, "later")
	n, err := m.l.Retain(at)
	require.NoError(t, err)
	require.Equal(t, m.w.Retain(at), n)
	n, err = m.l.Retain(at)
	require.NoError(t, err)
	require.Zero(t, n, "a second pass at the same time finds nothing (L14)")
	if rapid.Bool().Draw(t, "remove") {
		_, err = m.l.RemoveDeleted(1 << 60)
		require.NoError(t, err)
	}
}

func (m *twinMachine) expire(t *rapid.T) {
	at := 1000 + m.time
	require.Equal(t, m.w.Expire(at, 30), m.l.ExpireProducers(at, 30))
}

func (m *twinMachine) restart(t *rapid.T) {
	start := m.known()
	start.RecoveryPoint = m.l.EndOffset()
	require.NoError(t, m.l.Close())
	m.w.Close()
	clean := rapid.Bool().Draw(t, "clean")
	m.reopen(t, clean, start)
	if !clean { // the marker was lost
		o := m.observe(t)
		require.NoError(t, m.w.Crashed().Check(o))
		m.w.Adopt(o)
	}
}

// crash kills the process, and then something happens to what was not flushed: nothing, a cut, a flip, garbage after it.
// Checkpoints are as old as the last time somebody wrote them.
func (m *twinMachine) crash(t *rapid.T) {
	start := m.known()
	if rapid.Bool().Draw(t, "no recovery point") {
		start.RecoveryPoint = 0
	}
	m.l.settle()
	m.l.abandon()
	m.w.Flush(m.l.FlushedTo()) // a roll may have flushed more than was asked for
	m.w.Checkpoint()
	m.damage(t)
	m.reopen(t, false, start)
	o := m.observe(t)
	require.NoError(t, m.w.Crashed().Check(o))
	m.w.Adopt(o)
	m.epoch++
}

func (m *twinMachine) damage(t *rapid.T) {
	path := m.l.active().path(layout.LogSuffix)
	raw := readFile(t, path)
	safe := 0       // bytes of the active segment that are durable
	var flips []int // bytes whose change can be noticed: Kafka's CRC does not cover the leader epoch
	for it := record.NewBatches(raw); it.Next(); {
		h := it.Header()
		if h.NextOffset() <= m.l.FlushedTo() {
			safe = it.Position()
			continue
		}
		for i := range h.Size() {
			moved := i < 8 && m.cfg.Settings.CleanupCompact // into a gap that compaction may have left: nobody can tell
			if !moved && (i < 12 || i >= 16) {
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
}

// read compares what readers are given.
func (m *twinMachine) read(t *rapid.T) {
	offset := rapid.Int64Range(m.w.StartOffset()-1, m.w.EndOffset()+1).Draw(t, "offset")
	limit := rapid.Int64Range(m.w.StartOffset(), m.w.EndOffset()).Draw(t, "limit")
	maxBytes, minOne := rapid.IntRange(0, 1200).Draw(t, "bytes"), rapid.Bool().Draw(t, "min one")
	s, err := m.l.Read(offset, maxBytes, limit, minOne)
	want, ok := m.w.Read(offset, maxBytes, limit, minOne)
	require.Equal(t, ok, err == nil, "%v", err)
	if ok {
		require.Equal(t, string(want), string(readAll(t, s)))
	}
}

// find compares searches by time and by epoch.
func (m *twinMachine) find(t *rapid.T) {
	ts := 1000 + rapid.Int64Range(-5, m.time+5).Draw(t, "ts")
	end := m.w.EndOffset()
	f, err := m.l.OffsetForTimestamp(ts, end)
	require.NoError(t, err)
	offset, at := m.w.OffsetForTimestamp(ts, end)
	require.Equal(t, []int64{offset, at}, []int64{f.Offset, f.Timestamp}, "first at %d", ts)
	f, err = m.l.MaxTimestamp(end)
	require.NoError(t, err)
	offset, at = m.w.MaxTimestamp(end)
	require.Equal(t, []int64{offset, at}, []int64{f.Offset, f.Timestamp}, "largest")
	epoch := rapid.Int32Range(-1, m.epoch+1).Draw(t, "epoch")
	haveEpoch, haveEnd := m.l.EpochEndOffset(epoch)
	wantEpoch, wantEnd := m.w.EpochEndOffset(epoch)
	require.Equal(t, fmt.Sprint(wantEpoch, wantEnd), fmt.Sprint(haveEpoch, haveEnd), "end of epoch %d", epoch)
}

func (m *twinMachine) check(t *rapid.T) {
	require.NoError(t, m.w.Check(m.observe(t)))
	require.Equal(t, m.w.FirstUndecided(), m.l.FirstUndecided())
}

func TestAgainstTwin(t *testing.T) {
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := &twinMachine{dir: filepath.Join(root, fmt.Sprint(runs)), cfg: testConfig(small())}
		m.cfg.Settings.SegmentBytes = 500
		m.cfg.Settings.SegmentMs = rapid.SampledFrom([]int64{1 << 60, 40}).Draw(t, "segment.ms")
		m.cfg.Settings.IndexIntervalBytes = rapid.SampledFrom([]int32{200, 0}).Draw(t, "index.interval.bytes")
		m.cfg.Settings.CleanupCompact, m.cfg.Settings.DeleteRetentionMs = rapid.Bool().Draw(t, "compact"), 20
		m.cfg.Settings.MaxCompactionLagMs = math.MaxInt64
		m.w = twin.New(m.cfg.Settings)
		m.reopen(t, false, Start{})
		defer func() {
			m.l.settle()
			os.RemoveAll(m.dir)
		}()
		t.Repeat(map[string]func(*rapid.T){
			"append":         m.append,
			"append more":    m.append,
			"append again":   m.append,
			"retry":          m.retry,
			"follow":         m.follow,
			"start epoch":    m.startEpoch,
			"flush":          m.flush,
			"truncate":       m.truncate,
			"truncate fully": m.truncateFully,
			"raise hw":       m.raiseHW,
			"delete records": m.deleteRecords,
			"retain":         m.retain,
			"expire":         m.expire,
			"compact":        m.compact,
			"restart":        m.restart,
			"crash":          m.crash,
			"read":           m.read,
			"find":           m.find,
			"":               m.check,
		})
	})
}
