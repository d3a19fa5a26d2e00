package seglog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// TestEveryTornTail cuts the last segment at every byte, as a kill in the middle of a write or a power cut does: what
// was flushed is there, the log ends between two batches, and what follows goes on from there.
func TestEveryTornTail(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	for i := range 7 {
		mustAppend(t, l, batchOf(2, 30, 1000+10*int64(i), 4, 0, int32(2*i)), int32(i/4))
	}
	require.NoError(t, l.Flush(14))
	flushed := l.FlushedTo()
	for i := 7; i < 10; i++ {
		mustAppend(t, l, batchOf(2, 1, 1000+10*int64(i), 4, 0, int32(2*i)), 2)
	}
	all := contents(t, l)
	last := l.active().path(layout.LogSuffix)
	l.abandon()
	raw := readFile(t, last)
	var ends []int // positions between batches, by number of batches
	for it := record.NewBatches(raw); ; {
		ends = append(ends, it.Position())
		if !it.Next() {
			break
		}
	}
	first := len(all) - (len(ends) - 1)
	for size := range len(raw) + 1 {
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= size {
			whole++
		}
		fork := copyDir(t, dir)
		writeFile(t, raw[:size], fork, filepath.Base(last))
		l := open(t, fork, testConfig(small()), Start{RecoveryPoint: flushed})
		require.Equal(t, all[:first+whole], contents(t, l), "cut at %d", size)
		require.Equal(t, int64(ends[whole]), l.active().size(), "cut at %d", size)
		end := l.EndOffset()
		require.Equal(t, kafka.Offset(2*(first+whole)), end)
		a, err := l.Append(batchOf(2, 30, 5, 4, 0, int32(end)), 3, now(5))
		require.NoError(t, err)
		require.Equal(t, Appended{Base: end, Next: end + 2, Timestamp: 6}, a, "the sequence goes on where the log ends")
		want := contents(t, l)
		l.abandon()
		if size%16 == 0 {
			l = open(t, fork, testConfig(small()), Start{})
			require.Equal(t, want, contents(t, l))
			l.abandon()
		}
	}
}

// TestDamagedIndexes: whatever the index files of a sealed segment say that cannot be right, the answers are those of a
// linear scan, no recovery runs, and no segment looks old (KAFKA-10207, KAFKA-13603).
func TestDamagedIndexes(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 30)
	want := contents(t, l)
	require.NoError(t, l.Close())
	for _, suffix := range []string{layout.IndexSuffix, layout.TimeIndexSuffix} {
		name := "00000000000000000014" + suffix
		good := readFile(t, dir, name)
		cases := map[string][]byte{
			"missing":           nil,
			"empty":             {},
			"padded with zeros": append(bytes.Clone(good), make([]byte, 4096)...),
			"zeros alone":       make([]byte, 240),
			"half an entry":     good[:len(good)-5],
			"beyond the file":   bytes.Repeat([]byte{0x7f}, 24),
			"backwards":         append(bytes.Clone(good[len(good)/2:]), good[:len(good)/2]...),
			"a hole":            append(append(bytes.Clone(good[:len(good)/3]), make([]byte, len(good)/3)...), good[2*len(good)/3:]...),
			"of all 0xff":       bytes.Repeat([]byte{0xff}, 48),
		}
		if suffix == layout.IndexSuffix { // a time index that ends early at an entry looks right: the fsync at the roll is against that
			cases["half of it is missing"] = good[:len(good)/2/8*8]
		}
		for what, data := range cases {
			t.Run(suffix+" "+what, func(t *testing.T) {
				fork := copyDir(t, dir)
				if data == nil {
					require.NoError(t, os.Remove(filepath.Join(fork, name)))
				} else {
					writeFile(t, data, fork, name)
				}
				cfg := testConfig(small())
				cfg.Settings.RetentionMs = 10_000
				l := open(t, fork, cfg, Start{Clean: true, HighWatermark: 60})
				n, err := l.Retain(9000)
				require.NoError(t, err)
				require.Zero(t, n)
				require.Equal(t, want, contents(t, l))
				for offset := range l.EndOffset() {
					s, err := l.Read(offset, 1, l.EndOffset(), true)
					require.NoError(t, err)
					h, err := record.Validate(readAll(t, s))
					require.NoError(t, err)
					require.True(t, h.BaseOffset <= offset && offset < h.NextOffset())
					f, err := l.OffsetForTimestamp(1000+5*h.BaseOffset, l.EndOffset())
					require.NoError(t, err)
					require.Equal(t, h.BaseOffset, f.Offset)
				}
				require.NoError(t, l.Close())
			})
		}
	}
}

// TestDamagedStateFiles: what recovery makes of bad epoch and snapshot files (KAFKA-16541, KAFKA-9892).
func TestDamagedStateFiles(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	for i := range 20 {
		mustAppend(t, l, batchOf(2, 30, 1000+10*int64(i), 4, 0, int32(2*i)), int32(i/6))
	}
	wantEpochs, wantProducers := l.epochs.String(), l.producers.AppendSnapshot(nil)
	require.Equal(t, "0@0 1@12 2@24 3@36", wantEpochs, "epoch 0 is an epoch (KAFKA-10432)")
	require.NoError(t, l.Close())
	for _, clean := range []bool{true, false} {
		for _, text := range []string{"", "0", "0\n", "0\n4\n0 0\n1 12\n", "0\n1\n0 x\n", "1\n0\n", "\x00\x00\x00\x00\x00\x00", "gone"} {
			fork := copyDir(t, dir)
			writeFile(t, []byte(text), fork, layout.EpochFile)
			if text == "gone" {
				require.NoError(t, os.Remove(filepath.Join(fork, layout.EpochFile)))
			}
			l := open(t, fork, testConfig(small()), Start{Clean: clean, RecoveryPoint: 40})
			require.Equal(t, wantEpochs, l.epochs.String(), "%q", text)
			require.NoError(t, l.Close())
			require.Equal(t, "0\n4\n0 0\n1 12\n2 24\n3 36\n", string(readFile(t, fork, layout.EpochFile)), "%q", text)
		}
		good := readFile(t, dir, "00000000000000000028.snapshot")
		for what, data := range map[string][]byte{
			"empty": {}, "half": good[:len(good)/2], "zeros": make([]byte, len(good)), "bad crc": append(good[:len(good)-1:len(good)-1], ^good[len(good)-1]),
		} {
			fork := copyDir(t, dir)
			for _, name := range files(t, fork) {
				if filepath.Ext(name) == layout.SnapshotSuffix && name != "00000000000000000014.snapshot" {
					writeFile(t, data, fork, name)
				}
			}
			l := open(t, fork, testConfig(small()), Start{Clean: clean, RecoveryPoint: 40})
			a, err := l.Append(batchOf(2, 30, 1190, 4, 0, 38), 3, now(0))
			require.NoError(t, err)
			require.Equal(t, Appended{Base: 38, Next: 40, Duplicate: true, Timestamp: 1191}, a, "%s", what)
			require.Equal(t, wantProducers, l.producers.AppendSnapshot(nil), "%s", what)
			l.abandon()
		}
	}
}

// TestCleanStartReadsNothing: after a clean stop no log is recovered, with or without index files (KAFKA-13603).
func TestCleanStartReadsNothing(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(large()), Start{})
	fill(t, l, 3)
	require.NoError(t, l.Close())
	for _, remove := range []bool{false, true} {
		if remove {
			require.NoError(t, os.Remove(filepath.Join(dir, "00000000000000000000.index")))
			require.NoError(t, os.Remove(filepath.Join(dir, "00000000000000000000.timeindex")))
		}
		var tr trace
		cfg := testConfig(large())
		cfg.Emit = tr.emit
		l = open(t, dir, cfg, Start{Clean: true})
		require.Equal(t, "clean", tr.events[0].Text)
		require.Len(t, contents(t, l), 3)
		require.NoError(t, l.Close())
	}
}

// TestEmptySegmentNeverRolls: not by age, and not because an index without room counts as full (KAFKA-6388).
func TestEmptySegmentNeverRolls(t *testing.T) {
	dir := newDir(t)
	cfg := testConfig(small())
	cfg.Settings.SegmentMs = 10
	l := open(t, dir, cfg, Start{})
	fill(t, l, 1)
	require.NoError(t, l.Truncate(0))
	cfg.Settings.SegmentIndexBytes = 0
	l.SetSettings(cfg.Settings)
	a, err := l.Append(batch(1, 1, 1_000_000), 0, now(1_000_000))
	require.NoError(t, err)
	require.Zero(t, a.Base)
	require.Equal(t, []string{"00000000000000000000.log", layout.EpochFile}, files(t, dir))
	a, err = l.Append(batch(1, 1, 1_000_001), 0, now(1_000_001))
	require.NoError(t, err)
	require.Equal(t, kafka.Offset(1), a.Base)
	l.settle()
	require.Contains(t, files(t, dir), "00000000000000000001.log", "one with data does")
	require.NoError(t, l.Close())
}

// TestRollByAge: segment.ms is measured from the first batch's timestamp, or by the wall clock without one.
func TestRollByAge(t *testing.T) {
	for _, stamped := range []bool{true, false} {
		cfg := testConfig(large())
		cfg.Settings.SegmentMs = 100
		l := open(t, newDir(t), cfg, Start{})
		for _, ms := range []int64{1000, 1050, 1100, 1101, 1150, 1300} {
			ts := ms
			if !stamped {
				ts = -1
			}
			_, err := l.Append(batch(1, 1, ts), 0, now(ms))
			require.NoError(t, err)
		}
		var bases []kafka.Offset
		for _, s := range *l.segments.Load() {
			bases = append(bases, s.base)
		}
		require.Equal(t, []kafka.Offset{0, 3, 5}, bases, "stamped %t", stamped)
		require.NoError(t, l.Close())
	}
}

// TestSwaps: a replacement of segments that was cut off after any of its steps is undone or finished (KAFKA-12520).
func TestSwaps(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 30)
	want := contents(t, l)
	require.NoError(t, l.Close())
	// The cleaner merges the segments 14 and 28 (here without dropping anything, so that nothing changes for readers).
	merged := append(readFile(t, dir, "00000000000000000014.log"), readFile(t, dir, "00000000000000000028.log")...)
	name := func(suffix string) string { return filepath.Join(dir, "00000000000000000014"+suffix) }
	var steps []func() error
	for _, suffix := range []string{layout.LogSuffix, layout.IndexSuffix, layout.TimeIndexSuffix} {
		data := []byte{}
		if suffix == layout.LogSuffix {
			data = merged
		}
		steps = append(steps, func() error { return os.WriteFile(name(suffix+layout.CleanedSuffix), data, 0o644) })
	}
	for _, suffix := range []string{layout.LogSuffix, layout.IndexSuffix, layout.TimeIndexSuffix} {
		steps = append(steps, func() error { return os.Rename(name(suffix+layout.CleanedSuffix), name(suffix+layout.SwapSuffix)) })
	}
	for _, base := range []kafka.Offset{14, 28} {
		for _, suffix := range []string{layout.LogSuffix, layout.IndexSuffix, layout.TimeIndexSuffix} {
			steps = append(steps, func() error {
				path := filepath.Join(dir, layout.FileName(base, suffix))
				return os.Rename(path, path+layout.DeletedSuffix)
			})
		}
	}
	for _, suffix := range []string{layout.TimeIndexSuffix, layout.IndexSuffix, layout.LogSuffix} {
		steps = append(steps, func() error { return os.Rename(name(suffix+layout.SwapSuffix), name(suffix)) })
	}
	for i, step := range steps {
		require.NoError(t, step())
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprintf("after step %d clean %t", i+1, clean), func(t *testing.T) {
				fork := copyDir(t, dir)
				l := open(t, fork, testConfig(small()), Start{Clean: clean, RecoveryPoint: 60})
				require.Equal(t, want, contents(t, l))
				require.Equal(t, kafka.Offset(60), l.EndOffset())
				require.Equal(t, "0@0", l.epochs.String())
				require.NoError(t, l.Close())
				for _, n := range files(t, fork) {
					require.NotContains(t, []string{layout.SwapSuffix, layout.CleanedSuffix, layout.DeletedSuffix}, filepath.Ext(n))
				}
			})
		}
	}
}

// TestRulesBite shows for each rule of recovery what happens without it.
func TestRulesBite(t *testing.T) {
	rules := func(off string) Rules {
		r := AllRules()
		require.True(t, r.Off(off))
		return r
	}
	serve := func(damage func(raw []byte) []byte, r Rules) (bad int) {
		dir := newDir(t)
		cfg := testConfig(large())
		l := open(t, dir, cfg, Start{})
		fill(t, l, 4)
		l.abandon()
		path := filepath.Join(dir, "00000000000000000000.log")
		writeFile(t, damage(readFile(t, path)), path)
		cfg.Rules = r
		l = open(t, dir, cfg, Start{})
		fill(t, l, 2)
		s, err := l.Read(0, 1<<20, l.EndOffset(), true)
		require.NoError(t, err)
		raw := readAll(t, s)
		it := record.NewBatches(raw)
		for it.Next() {
			if _, err := record.Validate(it.Batch()); err != nil {
				bad++
			}
		}
		if len(it.Tail()) > 0 {
			bad++
		}
		l.abandon()
		return bad
	}
	flip := func(raw []byte) []byte { raw[len(raw)-20] ^= 1; return raw }
	require.Zero(t, serve(flip, AllRules()))
	require.NotZero(t, serve(flip, rules("recover-checks-crc")))
	torn := func(raw []byte) []byte { return append(raw, at(batch(5, 30, 1), 8, 0)[:120]...) }
	require.Zero(t, serve(torn, AllRules()))
	require.NotZero(t, serve(torn, rules("recover-cuts-torn-tail")))
	require.GreaterOrEqual(t, len(RuleDocs), 11)
	for _, d := range RuleDocs {
		r := AllRules()
		require.True(t, r.Off(d.Name))
		require.NotEqual(t, AllRules(), r)
	}
}

// TestSnapshotFiles reads a snapshot as Kafka would.
func TestSnapshotFiles(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	for i := range 8 {
		mustAppend(t, l, batchOf(2, 30, 1000, 4, 3, int32(2*i)), 0)
	}
	l.settle()
	s, err := producers.ParseSnapshot(producers.AllRules(), 14, readFile(t, dir, "00000000000000000014.snapshot"))
	require.NoError(t, err)
	p, ok := s.Producer(4)
	require.True(t, ok)
	require.Equal(t, kafka.ProducerEpoch(3), p.Epoch)
	require.NoError(t, l.Close())
}

// Kafka's compaction leaves empty segments, and gaps between segments, in place: they are part of the log.
func TestEmptySegmentsOfACompactedLog(t *testing.T) {
	dir := newDir(t)
	require.NoError(t, os.Mkdir(dir, 0o755))
	writeFile(t, nil, dir, "00000000000000000000.log")
	writeFile(t, nil, dir, "00000000000000000010.log")
	writeFile(t, at(batch(3, 20, 100), 15, 0), dir, "00000000000000000012.log")
	writeFile(t, nil, dir, "00000000000000000020.log")
	writeFile(t, at(batch(2, 20, 200), 25, 0), dir, "00000000000000000025.log")
	for _, clean := range []bool{false, true} {
		set := small()
		set.CleanupCompact = true
		l := open(t, copyDir(t, dir), testConfig(set), Start{Clean: clean})
		require.Equal(t, kafka.Offset(27), l.EndOffset())
		require.Equal(t, 5, l.Segments())
		var read []kafka.Offset
		require.NoError(t, l.Walk(0, 27, func(h *record.Header, _ []byte) error {
			read = append(read, h.BaseOffset)
			return nil
		}))
		require.Equal(t, []kafka.Offset{15, 25}, read)
		require.NoError(t, l.Close())
	}
}
