package seglog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/openfiles"
)

// grown is a log of one segment with n batches of one record, of sizes that differ, in large settings.
func grown(t tb, dir string, n int) *Log {
	l := open(t, dir, testConfig(large()), Start{})
	for i := range n {
		mustAppend(t, l, batch(1, 100+i%7*150, int64(1000+i)), 0)
	}
	return l
}

// A lookup costs one pread of the index and at most two of the log, in the active segment and in a sealed one.
func TestLookupPreads(t *testing.T) {
	dir := newDir(t)
	l := grown(t, dir, 6000)
	end := l.EndOffset()
	count := func(s *segment) {
		require.NoError(t, s.onFile(func(f *os.File) error {
			for offset := range end {
				w := takeWindow(f)
				_, err := s.locate(w, offset, 0, s.size())
				if err != nil {
					return err
				}
				require.LessOrEqual(t, w.scratch.Preads, 1, "offset %d", offset)
				require.LessOrEqual(t, w.preads, 2, "offset %d", offset)
				w.put()
			}
			return nil
		}))
	}
	count(l.active())
	offsets, times := l.active().index.Entries()
	require.Greater(t, offsets, 600, "more than one entry of the sample")
	require.Equal(t, offsets, times)
	require.NoError(t, l.Close())
	l = open(t, dir, testConfig(large()), Start{Clean: true})
	count(l.active())
	sampled := l.active().index.Sampled()
	require.Less(t, sampled, 2*(offsets/512+1)+1)
	require.NoError(t, l.Close())
}

// After a clean stop no more is read than the last index interval.
func TestCleanStartReadsTheLastInterval(t *testing.T) {
	dir := newDir(t)
	l := grown(t, dir, 3000)
	require.NoError(t, l.Close())
	l = open(t, dir, testConfig(large()), Start{Clean: true})
	require.LessOrEqual(t, l.read, int64(2*windowSize))
	require.Equal(t, kafka.Offset(3000), l.EndOffset())
	l.abandon()
}

// Open files are bounded, whatever the number of segments: sealed ones are opened when they are read.
func TestOpenFilesAreBounded(t *testing.T) {
	cfg := testConfig(small())
	cfg.Files = openfiles.New(5)
	dir := newDir(t)
	l := open(t, dir, cfg, Start{})
	fill(t, l, 150)
	require.NoError(t, l.flushTo(0, true))
	require.Greater(t, l.Segments(), 20)
	check := func() {
		t.Helper()
		require.LessOrEqual(t, cfg.Files.Open(), 5)
		require.Len(t, contents(t, l), 150)
		for offset := range l.EndOffset() {
			_, err := l.OffsetForTimestamp(1000+5*offset, l.EndOffset())
			require.NoError(t, err)
			require.LessOrEqual(t, cfg.Files.Open(), 5)
		}
	}
	check()
	var slices []Slice
	for offset := kafka.Offset(0); offset < 300; offset += 20 {
		s, err := l.Read(offset, 300, 300, true)
		require.NoError(t, err)
		slices = append(slices, s)
	}
	require.Greater(t, cfg.Files.Open(), 5, "what is in use stays open")
	for _, s := range slices {
		require.NotEmpty(t, readAll(t, s))
	}
	check()
	require.NoError(t, l.Close())
	require.Zero(t, cfg.Files.Open())
	l = open(t, dir, cfg, Start{Clean: true})
	require.LessOrEqual(t, cfg.Files.Open(), 3, "the active segment alone")
	check()
	require.NoError(t, l.Close())
}

// Recovery from a recovery point in the middle of a segment gives what a recovery of everything gives, whatever a power cut
// has made of the index files, and reads not much more than what lies beyond it.
func TestResumedRecovery(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(large()), Start{})
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 4000 {
		ts := int64(1000 + i)
		if i%400 > 300 { // a while in which the largest timestamp does not grow
			ts = 500
		}
		mustAppend(t, l, batchOf(1+i%3, 100+rng.IntN(900), ts, int64(i%5), 0, int32(seqOf(i))), int32(i/1500))
	}
	end := l.EndOffset()
	l.abandon()
	whole := open(t, copyDir(t, dir), testConfig(large()), Start{})
	want, size := contents(t, whole), whole.Size()
	wantEpochs, wantProducers := whole.epochs.String(), whole.producers.AppendSnapshot(nil)
	require.NoError(t, whole.Close())
	wantIndex := readFile(t, whole.dir, layout.FileName(0, layout.IndexSuffix))
	wantTimes := readFile(t, whole.dir, layout.FileName(0, layout.TimeIndexSuffix))

	for round := range 24 {
		fork := copyDir(t, dir)
		point := kafka.Offset(rng.Int64N(end + 1))
		intact := round%4 == 0
		if !intact {
			for _, suffix := range []string{layout.IndexSuffix, layout.TimeIndexSuffix} {
				name := layout.FileName(0, suffix)
				b := readFile(t, fork, name)
				b = b[:rng.IntN(len(b)+1)]
				if at := rng.IntN(len(b) + 1); round%4 == 2 { // a page that was lost
					clear(b[at:min(len(b), at+512)])
				}
				writeFile(t, b, fork, name)
			}
		}
		l := open(t, fork, testConfig(large()), Start{RecoveryPoint: point})
		require.Equal(t, want, contents(t, l), "recovery point %d", point)
		require.Equal(t, wantEpochs, l.epochs.String())
		require.Equal(t, wantProducers, l.producers.AppendSnapshot(nil))
		if intact {
			beyond := int64(float64(size) * float64(end-point) / float64(end))
			// The last entries of the index are written 128 at a time.
			require.Less(t, l.read, beyond+128*6000, "recovery point %d of %d", point, end)
		}
		require.NoError(t, l.Close())
		require.Equal(t, wantIndex, readFile(t, fork, layout.FileName(0, layout.IndexSuffix)), "recovery point %d", point)
		require.Equal(t, wantTimes, readFile(t, fork, layout.FileName(0, layout.TimeIndexSuffix)), "recovery point %d", point)
	}
}

// seqOf is the sequence of the i-th batch of TestResumedRecovery: producers take turns, batches have 1, 2 or 3 records.
func seqOf(i int) (seq int) {
	for j := i % 5; j < i; j += 5 {
		seq += 1 + j%3
	}
	return seq
}

// An index that is damaged while the log is open is found when it is used, and made anew, in the active segment too.
func TestIndexDamagedUnderTheLog(t *testing.T) {
	dir := newDir(t)
	l := grown(t, dir, 3000)
	require.NoError(t, l.Close())
	good := readFile(t, dir, layout.FileName(0, layout.IndexSuffix))
	for _, name := range []string{layout.FileName(0, layout.IndexSuffix), layout.FileName(0, layout.TimeIndexSuffix)} {
		for what, change := range map[string]func([]byte){
			"an entry that names no batch": func(b []byte) { b[len(b)/16*8+7] ^= 1 },
			"zeros":                        func(b []byte) { clear(b[:len(b)/2/24*24]) },
		} {
			fork := copyDir(t, dir)
			l := open(t, fork, testConfig(large()), Start{Clean: true})
			b := readFile(t, fork, name)
			change(b)
			writeFile(t, b, fork, name)
			for offset := kafka.Offset(0); offset < 3000; offset += 7 {
				s, err := l.Read(offset, 10, 3000, true)
				require.NoError(t, err, "%s %s", name, what)
				require.NotEmpty(t, readAll(t, s))
				f, err := l.OffsetForTimestamp(1000+offset, 3000)
				require.NoError(t, err, "%s %s", name, what)
				require.Equal(t, offset, f.Offset)
			}
			mustAppend(t, l, batch(1, 10, 9000), 0)
			require.NoError(t, l.Close())
			require.True(t, bytes.HasPrefix(readFile(t, fork, layout.FileName(0, layout.IndexSuffix)), good), "%s %s", name, what)
		}
	}
}

// What an open segment costs in memory: less than 4 KiB besides its sample.
func TestHeapOfSegments(t *testing.T) {
	perSegment, opened := heapOfSegments(t, t.TempDir(), 2000, 3)
	t.Logf("%d bytes for each of %d sealed segments", perSegment, opened)
	require.Less(t, perSegment, 4096)
}

// heapOfSegments makes a directory with that many sealed segments, of so many batches each, opens it, looks into each, and
// says what each costs.
func heapOfSegments(t tb, root string, segments, batches int) (perSegment, opened int) {
	dir := filepath.Join(root, "t-0")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for i := range segments {
		base := kafka.Offset(i * batches)
		var raw []byte
		for j := range batches {
			raw = append(raw, at(batch(1, 10, int64(1000+i)), base+kafka.Offset(j), 0)...)
		}
		writeFile(t, raw, dir, layout.FileName(base, layout.LogSuffix))
		writeFile(t, nil, dir, layout.FileName(base, layout.IndexSuffix))
		writeFile(t, layout.AppendTimeEntries(nil, []layout.TimeEntry{{Timestamp: int64(1000 + i), Last: 0}}), dir, layout.FileName(base, layout.TimeIndexSuffix))
	}
	writeFile(t, []byte("0\n1\n0 0\n"), dir, layout.EpochFile)
	writeFile(t, []byte{0, 1, 0x48, 0x67, 0x4b, 0xc7, 0, 0, 0, 0}, dir, layout.FileName(kafka.Offset(segments*batches), layout.SnapshotSuffix))
	before := heap()
	l := open(t, dir, testConfig(large()), Start{Clean: true})
	for i := range segments {
		s, err := l.Read(kafka.Offset(i*batches+1), 100, l.EndOffset(), true)
		require.NoError(t, err)
		s.Close()
		if _, err := (*l.segments.Load())[i].largestTimestamp(); err != nil {
			t.Fatalf("%v", err)
		}
	}
	after := heap()
	opened = l.Segments() - 1
	l.abandon()
	runtime.KeepAlive(l)
	return (after - before) / opened, opened
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Segments of one log do not all roll at the same age: up to segment.jitter.ms is taken off, always the same.
func TestRollJitter(t *testing.T) {
	set := small()
	set.SegmentMs, set.SegmentJitterMs = 1000, 300
	l := open(t, newDir(t), testConfig(set), Start{})
	defer l.abandon()
	seen := map[int64]bool{}
	for base := range kafka.Offset(50) {
		j := l.jitter(base, &set)
		require.True(t, j >= 0 && j < 300, "%d", j)
		require.Equal(t, j, l.jitter(base, &set))
		seen[j] = true
	}
	require.Greater(t, len(seen), 20, "%s", fmt.Sprint(seen))
	set.SegmentJitterMs = 0
	require.Zero(t, l.jitter(5, &set))
	set.SegmentJitterMs = 1 << 62
	require.Less(t, l.jitter(5, &set), set.SegmentMs)

	set.SegmentJitterMs = 300
	l.SetSettings(set)
	jitter := l.jitter(0, &set)
	for _, ts := range []int64{5000, 5000 + 1000 - jitter, 5001 + 1000 - jitter} {
		_, err := l.Append(batch(1, 10, ts), 0, now(ts))
		require.NoError(t, err)
	}
	require.Equal(t, []kafka.Offset{0, 2}, l.SegmentBases())
}

// Many lives of one log, each ended by a kill, with truncations in between: whatever is left in the index files of an earlier
// life never gets into those of a later one.
func TestIndexOverManyLives(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 7))
		cfg := testConfig(large())
		cfg.Settings.IndexIntervalBytes, cfg.Settings.SegmentBytes = 300, 200_000
		dir := newDir(t)
		l := open(t, dir, cfg, Start{})
		point := kafka.Offset(0)
		for life := range 12 {
			for range 1 + rng.IntN(3) {
				for range rng.IntN(200) {
					_, err := l.Append(batch(1+rng.IntN(3), rng.IntN(400), 1000+int64(rng.IntN(1<<20))), kafka.LeaderEpoch(life), now(1))
					require.NoError(t, err)
				}
				switch rng.IntN(3) {
				case 0:
					require.NoError(t, l.Flush(l.EndOffset()))
					point = l.FlushedTo()
				case 1:
					require.NoError(t, l.Truncate(rng.Int64N(l.EndOffset()+1)))
					point = min(point, l.FlushedTo())
				}
			}
			l.abandon()
			l = open(t, dir, cfg, Start{RecoveryPoint: point})
			point = l.FlushedTo()
		}
		want := contents(t, l)
		require.NoError(t, l.Close())
		all := open(t, copyDir(t, dir), cfg, Start{})
		require.Equal(t, want, contents(t, all))
		require.NoError(t, all.Close())
		for _, name := range files(t, all.dir) {
			if ext := filepath.Ext(name); ext == layout.IndexSuffix || ext == layout.TimeIndexSuffix {
				require.Equal(t, readFile(t, all.dir, name), readFile(t, dir, name), "seed %d: %s", seed, name)
			}
		}
	}
}

// A time index that was cut short between two entries looks like a good one, of a segment that is older than it is: before
// retention deletes a segment it looks at what comes behind the last entry.
func TestShortTimeIndexDeletesNothing(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 25)
	require.NoError(t, l.Close())
	name := layout.FileName(0, layout.TimeIndexSuffix)
	b := readFile(t, dir, name)
	writeFile(t, b[:2*layout.TimeEntrySize], dir, name)
	for _, rule := range []string{"", "index-sanity-check"} {
		cfg := testConfig(small())
		cfg.Settings.RetentionMs = 100
		if rule != "" {
			cfg.Rules = off(t, rule)
		}
		l := open(t, copyDir(t, dir), cfg, Start{Clean: true, HighWatermark: 50})
		largest := int64(1000 + 5*12 + 1) // of the first segment
		for nowMs, want := range map[int64]int{largest + 100: 0, largest + 101: 1} {
			fork := copyDir(t, l.dir)
			l := open(t, fork, cfg, Start{Clean: true, HighWatermark: 50})
			n, err := l.Retain(nowMs)
			require.NoError(t, err)
			if rule == "" {
				require.Equal(t, want, n, "at %d", nowMs)
			} else {
				require.Equal(t, 1, n)
			}
			l.abandon()
		}
		l.abandon()
	}
}
