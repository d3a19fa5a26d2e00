package seglog

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/cleaning"
	"trialog/core/seglog/compact"
	"trialog/core/seglog/layout"
)

// compacted are settings of a log that is compacted: every third small batch begins a segment.
func compacted() config.Topic {
	s := small()
	s.SegmentBytes, s.CleanupDelete, s.CleanupCompact = 260, false, true
	s.DeleteRetentionMs, s.MaxCompactionLagMs = 1000, math.MaxInt64
	return s
}

func worker() *cleaning.Worker { return workerOf(nil) }

func workerOf(pace func(int, func() error) error) *cleaning.Worker {
	return cleaning.NewWorker(cleaning.Limits{MapBytes: 1 << 16, MapLoad: 0.9, BufferBytes: 4096, Pace: pace})
}

// keyed is a batch of records "key=value", or "key" for a tombstone.
func keyed(ts int64, pid kafka.ProducerID, seq kafka.Sequence, words ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	if pid >= 0 {
		b.SetProducer(pid, 0, seq)
	}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		v := []byte(value)
		if !ok {
			v = nil
		}
		b.Append(ts, []byte(key), v)
	}
	return b.Finish()
}

func put(t tb, l *Log, words ...string) Appended {
	t.Helper()
	return mustAppend(t, l, keyed(1000, -1, -1, words...), 0)
}

// records are "offset:key=value" of all records from the start on.
func records(t tb, l *Log) string {
	t.Helper()
	var words []string
	err := l.Walk(l.StartOffset(), l.EndOffset(), func(_ *record.Header, batch []byte) error {
		it := record.NewRecords(batch)
		for it.Next() {
			r := it.Record()
			word := fmt.Sprintf("%d:%s", r.Offset, r.Key)
			if r.Value != nil {
				word += "=" + string(r.Value)
			}
			words = append(words, word)
		}
		return it.Err()
	})
	require.NoError(t, err)
	return strings.Join(words, " ")
}

// commit has everything so far flushed and below the HW.
func commit(t tb, l *Log) {
	t.Helper()
	require.NoError(t, l.Flush(l.EndOffset()))
	l.SetHighWatermark(l.EndOffset())
}

func clean(t tb, l *Log, nowMs int64) {
	t.Helper()
	_, _, err := l.Clean(worker(), nowMs)
	require.NoError(t, err)
}

func TestClean(t *testing.T) {
	dir := newDir(t)
	s := compacted()
	l := open(t, dir, testConfig(s), Start{})
	for i := range 9 {
		put(t, l, fmt.Sprintf("k%d=%d", i%2, i))
	}
	commit(t, l)
	require.Equal(t, 3, l.Segments())
	s.SegmentBytes = 1000
	l.SetSettings(s)
	d, stats, err := l.Clean(worker(), 0)
	require.NoError(t, err)
	require.Equal(t, []kafka.Offset{0, 6, 6}, []kafka.Offset{d.First, d.Bound, l.CleanedTo()})
	require.EqualValues(t, 2, stats.Kept)
	require.Equal(t, "4:k0=4 5:k1=5 6:k0=6 7:k1=7 8:k0=8", records(t, l))
	require.Equal(t, []kafka.Offset{0, 9}, []kafka.Offset{l.StartOffset(), l.EndOffset()})
	_, stats, err = l.Clean(worker(), 0)
	require.NoError(t, err)
	require.Zero(t, stats.Read, "nothing is dirty")

	require.NoError(t, removed(l))
	require.Equal(t, "00000000000000000000.index 00000000000000000000.log 00000000000000000000.timeindex 00000000000000000006.log 00000000000000000006.snapshot leader-epoch-checkpoint",
		strings.Join(files(t, dir), " "), "two segments have become one")
	want := contents(t, l)
	require.NoError(t, l.Close())
	for _, start := range []Start{{Clean: true, CleanedTo: 6}, {CleanedTo: 6}} {
		l = open(t, dir, testConfig(compacted()), start)
		require.Equal(t, want, contents(t, l))
		require.Equal(t, kafka.Offset(6), l.CleanedTo())
		l.abandon()
	}
}

// TestL09BelowTheHW: a newer value above the HW may be cut off by the next leader; the committed one must not have gone
// for it.
func TestL09BelowTheHW(t *testing.T) {
	for _, off := range []bool{false, true} {
		cfg := testConfig(compacted())
		if off {
			require.True(t, cfg.Rules.Off("compact-below-hw"))
		}
		l := open(t, newDir(t), cfg, Start{})
		for i := range 10 {
			put(t, l, fmt.Sprintf("a%d=1", i), "k=1")
		}
		l.SetHighWatermark(20)
		for i := range 10 {
			put(t, l, fmt.Sprintf("b%d=1", i), "k=2")
		}
		clean(t, l, 0)
		require.NoError(t, l.Truncate(20))
		require.Equal(t, !off, strings.Contains(records(t, l), "k=1"), records(t, l))
		l.abandon()
	}
}

// TestL09OpenTransaction: nothing from the first offset of an open transaction on is cleaned.
func TestL09OpenTransaction(t *testing.T) {
	l := open(t, newDir(t), testConfig(compacted()), Start{})
	defer l.abandon()
	for i := range 4 {
		put(t, l, fmt.Sprintf("k=%d", i), "x=1")
	}
	var b record.Builder
	b.Reset(nil)
	b.SetAttributes(record.Transactional)
	b.SetProducer(7, 0, 0)
	b.Append(1000, []byte("k"), []byte("open"))
	mustAppend(t, l, b.Finish(), 0)
	for i := range 9 {
		put(t, l, fmt.Sprintf("k=%d", 10+i))
	}
	commit(t, l)
	clean(t, l, 0)
	require.LessOrEqual(t, l.CleanedTo(), kafka.Offset(8))
	require.Greater(t, l.CleanedTo(), kafka.Offset(0))
	require.Contains(t, records(t, l), "8:k=open 9:k=10 10:k=11")
}

// TestL10NothingToDo: the log start in the active segment; rounds find nothing, and segments below the start go although
// the policy is compact only.
func TestL10NothingToDo(t *testing.T) {
	l := open(t, newDir(t), testConfig(compacted()), Start{CleanedTo: kafka.NoOffset})
	defer l.abandon()
	for i := range 9 {
		put(t, l, fmt.Sprintf("k=%d", i))
	}
	commit(t, l)
	_, err := l.DeleteRecords(8, 0)
	require.NoError(t, err)
	require.Equal(t, []kafka.Offset{6}, l.SegmentBases())
	for _, cleanedTo := range []kafka.Offset{-1, 3, 6, 7, 8, 9, 20} {
		l.cleanedTo.Store(cleanedTo)
		for range 20 {
			d, err := l.Dirt(0)
			require.NoError(t, err)
			require.False(t, d.Due(0), d.String())
			clean(t, l, 0)
		}
	}
	require.Equal(t, "8:k=8", records(t, l))
}

// TestL11Gap: a gap is passed, and stays one.
func TestL11Gap(t *testing.T) {
	l := open(t, newDir(t), testConfig(compacted()), Start{})
	defer l.abandon()
	for i := range kafka.Offset(100) {
		if i != 57 {
			_, err := l.AppendFollower(at(keyed(1000, -1, -1, fmt.Sprintf("k%d=%d", i%10, i)), i, 0), now(1000))
			require.NoError(t, err)
		}
	}
	commit(t, l)
	clean(t, l, 0)
	require.Equal(t, l.active().base, l.CleanedTo())
	require.NotContains(t, records(t, l), "57:")
	require.Equal(t, kafka.Offset(100), l.EndOffset())
	require.Contains(t, records(t, l), "99:k9=99")
}

// TestL12Tombstones: delete.retention.ms is one second; rounds come every 300 ms, with writes between them. The tombstone
// is readable until one second after the first round that saw it, and the value before it never again.
func TestL12Tombstones(t *testing.T) {
	for _, off := range []bool{false, true} {
		cfg := testConfig(compacted())
		if off {
			require.True(t, cfg.Rules.Off("compact-delete-horizon"))
		}
		l := open(t, newDir(t), cfg, Start{})
		put(t, l, "k=v1")
		put(t, l, "k")
		seen, gone := []bool{}, []bool{}
		for ms := int64(0); ms <= 3000; ms += 300 {
			for i := range 4 {
				put(t, l, fmt.Sprintf("t%d=%d", i, ms))
			}
			commit(t, l)
			clean(t, l, ms)
			seen, gone = append(seen, strings.Contains(records(t, l), "1:k")), append(gone, !strings.Contains(records(t, l), "k=v1"))
		}
		require.NotContains(t, gone, false)
		want := []bool{true, true, true, true, false, false, false, false, false, false, false} // 0, 300, 600, 900; not at 1200
		if off {
			want = make([]bool, len(want))
		}
		require.Equal(t, want, seen)
		l.abandon()
	}
}

// TestL13EmptyBatches: a producer whose records are all superseded is still known after a compaction and a recovery that
// has nothing but the log: its next sequence is accepted, a retry of its last one recognised.
func TestL13EmptyBatches(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(compacted()), Start{})
	first := keyed(1000, 7, 0, "k=1")
	require.Equal(t, kafka.Offset(0), mustAppend(t, l, append([]byte(nil), first...), 0).Base)
	for i := range 8 {
		mustAppend(t, l, keyed(1000, 8, kafka.Sequence(i), "k=2"), 0)
	}
	commit(t, l)
	clean(t, l, 0)
	require.NotContains(t, records(t, l), "k=1")
	require.NoError(t, l.Close())
	for _, name := range files(t, dir) {
		if strings.HasSuffix(name, layout.SnapshotSuffix) {
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
		}
	}
	l = open(t, dir, testConfig(compacted()), Start{})
	a, err := l.Append(first, 0, now(1000))
	require.NoError(t, err)
	require.True(t, a.Duplicate)
	require.Equal(t, kafka.Offset(9), mustAppend(t, l, keyed(1000, 7, 1, "k=3"), 0).Base)
	l.abandon()
}

// TestKeepsLogEnd: when all that was below the active segment is cleaned away, reading still leads to the end, and a crash
// that loses the name of the empty active segment moves no offset back.
func TestKeepsLogEnd(t *testing.T) {
	for _, off := range []bool{false, true} {
		cfg := testConfig(compacted())
		if off {
			require.True(t, cfg.Rules.Off("compact-keeps-log-end"))
		}
		dir := newDir(t)
		l := open(t, dir, cfg, Start{})
		for range 3 {
			put(t, l, "k")
		}
		require.NoError(t, l.rollIdle(l.active(), now(0)))
		commit(t, l)
		clean(t, l, 0)
		l.cleanedTo.Store(0) // a round that a later record would bring about
		clean(t, l, 1000)
		require.Empty(t, records(t, l))
		end := kafka.Offset(0)
		require.NoError(t, l.Walk(0, 3, func(h *record.Header, _ []byte) error { end = h.NextOffset(); return nil }))
		l.abandon()
		require.NoError(t, os.Remove(filepath.Join(dir, "00000000000000000003.log")))
		l = open(t, dir, cfg, Start{})
		want := kafka.Offset(3)
		if off {
			want = 0
		}
		require.Equal(t, []kafka.Offset{want, want}, []kafka.Offset{end, l.EndOffset()})
		l.abandon()
	}
}

// TestReadersFinish: a slice of a segment that is replaced has the old bytes to its end.
func TestReadersFinish(t *testing.T) {
	l := open(t, newDir(t), testConfig(compacted()), Start{})
	defer l.abandon()
	for i := range 9 {
		put(t, l, fmt.Sprintf("k=%d", i))
	}
	commit(t, l)
	s, err := l.Read(0, 1<<20, 9, true)
	require.NoError(t, err)
	want := s.Len()
	clean(t, l, 0)
	require.NoError(t, removed(l))
	got := readAll(t, s)
	require.Len(t, got, want)
	it := record.NewBatches(got)
	for n := kafka.Offset(0); it.Next(); n++ {
		h, err := record.Validate(it.Batch())
		require.NoError(t, err)
		require.Equal(t, n, h.BaseOffset)
	}
	require.Equal(t, "5:k=5 6:k=6 7:k=7 8:k=8", records(t, l))
}

// TestCutMeanwhile: a log that is truncated while it is cleaned stays as the truncation left it.
func TestCutMeanwhile(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(compacted()), Start{})
	defer l.abandon()
	for i := range 9 {
		put(t, l, fmt.Sprintf("k=%d", i))
	}
	commit(t, l)
	n := 0
	_, _, err := l.Clean(workerOf(func(int, func() error) error {
		if n++; n == 4 {
			require.NoError(t, l.Truncate(5))
			put(t, l, "k=new")
		}
		return nil
	}), 0)
	require.ErrorIs(t, err, errMoved)
	require.False(t, Uncleanable(err))
	require.Contains(t, records(t, l), "4:k=4 5:k=new")
	require.LessOrEqual(t, l.CleanedTo(), kafka.Offset(5))
	for _, name := range files(t, dir) {
		require.NotContains(t, name, layout.CleanedSuffix)
	}
	commit(t, l)
	clean(t, l, 0)
	require.NotContains(t, records(t, l), "0:k=0")
}

// TestCutWhereNothingWasToDo: also a round that replaced nothing does not take for clean what came after a truncation.
func TestCutWhereNothingWasToDo(t *testing.T) {
	l := open(t, newDir(t), testConfig(compacted()), Start{})
	defer l.abandon()
	for i := range 9 {
		put(t, l, fmt.Sprintf("k%d=%d", i, i))
	}
	commit(t, l)
	round := func(each func()) {
		l.cleanedTo.Store(3)
		_, stats, err := l.Clean(workerOf(func(int, func() error) error {
			each()
			return nil
		}), 0)
		require.NoError(t, err)
		require.Zero(t, stats.Rebuilt+stats.Dropped)
	}
	pieces := 0
	round(func() { pieces++ })
	require.Equal(t, kafka.Offset(6), l.CleanedTo())
	round(func() {
		if pieces--; pieces == 0 {
			require.NoError(t, l.Truncate(5))
		}
	})
	require.Equal(t, kafka.Offset(5), l.EndOffset())
	require.LessOrEqual(t, l.CleanedTo(), kafka.Offset(5))
}

// TestTruncationLowersCleanedTo: what is written anew below the offset up to which the log was clean is dirty.
func TestTruncationLowersCleanedTo(t *testing.T) {
	l := open(t, newDir(t), testConfig(compacted()), Start{})
	defer l.abandon()
	for i := range 9 {
		put(t, l, fmt.Sprintf("k=%d", i))
	}
	commit(t, l)
	clean(t, l, 0)
	require.Equal(t, kafka.Offset(6), l.CleanedTo())
	require.NoError(t, l.Truncate(4))
	require.LessOrEqual(t, l.CleanedTo(), kafka.Offset(4))
	require.NoError(t, l.TruncateFully(2))
	require.LessOrEqual(t, l.CleanedTo(), kafka.Offset(2))
}

// TestCloseEndsCleaning: Close does not wait for a round to end, and the directory is touched no more after it.
func TestCloseEndsCleaning(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(compacted()), Start{})
	for i := range 9 {
		put(t, l, fmt.Sprintf("k=%d", i))
	}
	commit(t, l)
	began, closed := make(chan bool), make(chan error, 1)
	var once sync.Once
	go func() { <-began; closed <- l.Close() }()
	_, _, err := l.Clean(workerOf(func(_ int, stopped func() error) error {
		once.Do(func() { close(began) })
		for {
			if err := stopped(); err != nil {
				return err
			}
		}
	}), 0)
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, <-closed)
	for _, name := range files(t, dir) {
		require.NotContains(t, name, layout.CleanedSuffix)
	}
	_, _, err = l.Clean(worker(), 0)
	require.ErrorIs(t, err, ErrClosed)
}

// TestUncleanable: a damaged batch is an error of the round, which will come again; a file that cannot be made is one of
// now. The log goes on in both cases.
func TestUncleanable(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(compacted()), Start{})
	defer l.abandon()
	for i := range 9 {
		put(t, l, fmt.Sprintf("k=%d", i))
	}
	commit(t, l)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "00000000000000000000.log.cleaned"), 0o755))
	_, _, err := l.Clean(worker(), 0)
	require.Error(t, err)
	require.False(t, Uncleanable(err))
	require.NoError(t, os.Remove(filepath.Join(dir, "00000000000000000000.log.cleaned")))

	raw := readFile(t, dir, "00000000000000000003.log")
	raw[len(raw)-2] ^= 1
	writeFile(t, raw, dir, "00000000000000000003.log")
	_, _, err = l.Clean(worker(), 0)
	require.ErrorIs(t, err, compact.ErrUnreadable)
	require.True(t, Uncleanable(err))
	require.NoError(t, l.Err())
	put(t, l, "k=more")
}

// TestCleanerCheckpoint: the first dirty offset is in Kafka's file, and found there.
func TestCleanerCheckpoint(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, dirConfig())
	l, err := d.OpenLog(t0, kafka.TopicID{}, compacted())
	require.NoError(t, err)
	require.Equal(t, kafka.NoOffset, l.CleanedTo())
	for i := range 9 {
		put(t, l, fmt.Sprintf("k=%d", i))
	}
	commit(t, l)
	clean(t, l, 0)
	require.NoError(t, d.Checkpoint())
	require.Equal(t, "0\n1\nt 0 6\n", string(readFile(t, path, layout.CleanerFile)))
	d.abandon()
	d = openDir(t, path, dirConfig())
	l, err = d.OpenLog(t0, kafka.TopicID{}, compacted())
	require.NoError(t, err)
	require.Equal(t, kafka.Offset(6), l.CleanedTo())
	d.abandon()

	// A disk that lost the end of the log: what is appended there now is dirty, after another crash, too.
	require.NoError(t, os.Truncate(filepath.Join(path, "t-0", "00000000000000000000.log"), 80))
	require.NoError(t, os.Remove(filepath.Join(path, "t-0", "00000000000000000006.log")))
	writeFile(t, []byte("0\n1\nt 0 0\n"), path, layout.RecoveryPointFile)
	d = openDir(t, path, dirConfig())
	l, err = d.OpenLog(t0, kafka.TopicID{}, compacted())
	require.NoError(t, err)
	end := l.EndOffset()
	require.Less(t, end, kafka.Offset(6))
	require.Equal(t, end, l.CleanedTo())
	require.Equal(t, fmt.Sprintf("0\n1\nt 0 %d\n", end), string(readFile(t, path, layout.CleanerFile)))
	d.abandon()
}

// TestLags: a segment whose newest record is too young bounds the round; one whose oldest is too old asks for it.
func TestLags(t *testing.T) {
	s := compacted()
	s.MinCompactionLagMs, s.MaxCompactionLagMs = 100, 1000
	l := open(t, newDir(t), testConfig(s), Start{})
	defer l.abandon()
	for i := range 9 {
		mustAppend(t, l, keyed(1000*int64(i/3), -1, -1, "k=1"), 0)
	}
	commit(t, l)
	for _, c := range []struct {
		now, bound kafka.Offset
		overdue    int64
	}{{50, 0, 0}, {1050, 3, 0}, {1200, 6, 0}, {2101, 6, 101}} {
		d, err := l.Dirt(c.now)
		require.NoError(t, err)
		require.Equal(t, c.bound, d.Bound, c.now)
		require.Equal(t, c.overdue, d.OverdueMs, c.now)
	}
}
