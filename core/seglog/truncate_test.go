package seglog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

// A truncation that stops half way leaves no hole: of a compacted log, recovery would take one for what compaction
// left, and keep what lies behind it although it was to be cut.
func TestInterruptedTruncateLeavesNoHole(t *testing.T) {
	dir := newDir(t)
	cfg := testConfig(small())
	cfg.Settings.CleanupCompact = true
	l := open(t, dir, cfg, Start{})
	fill(t, l, 30)
	require.NoError(t, l.Flush(60))
	want := contents(t, l)
	segs := *l.segments.Load()
	require.Greater(t, len(segs), 3)
	last := segs[len(segs)-1]
	require.NoError(t, os.MkdirAll(filepath.Join(last.path(layout.IndexSuffix), "x"), 0o755)) // it cannot be removed
	require.Error(t, l.Truncate(segs[1].base-2))
	l.abandon()
	require.NoError(t, os.RemoveAll(last.path(layout.IndexSuffix)))

	l = open(t, dir, cfg, Start{})
	defer l.abandon()
	got := contents(t, l)
	require.Equal(t, want[:len(got)], got)
	require.Equal(t, 2*len(got), int(l.EndOffset()))
}

// A slice of a segment that a truncation dropped fails like one of the segment that it cut.
func TestTruncateVoidsSlicesOfDroppedSegments(t *testing.T) {
	l := open(t, newDir(t), testConfig(small()), Start{})
	defer l.abandon()
	fill(t, l, 30)
	slice, err := l.Read(50, 1000, 60, true)
	require.NoError(t, err)
	defer slice.Close()
	require.NoError(t, l.Truncate(5))
	_, err = slice.ReadAt(make([]byte, 10), 0)
	require.ErrorIs(t, err, ErrTruncated)
}

// TestTruncateAtAGap: a cut at the batch after a gap ends the log where the batch before the gap does, as a restart would
// find it, and never below the start.
func TestTruncateAtAGap(t *testing.T) {
	for _, c := range []struct{ start, to, end kafka.Offset }{
		{0, 23, 17}, {0, 24, 24}, {0, 20, 17}, {0, 17, 17}, {0, 16, 9}, {16, 23, 17}, {22, 23, 22}, {22, 24, 24},
	} {
		set := compacted()
		set.SegmentBytes, set.IndexIntervalBytes = 10_000, 60
		l := open(t, newDir(t), testConfig(set), Start{})
		for _, base := range []kafka.Offset{0, 8, 16, 23, 25} {
			_, err := l.AppendFollower(at(keyed(1000, -1, -1, "k=1"), base, 0), now(1000))
			require.NoError(t, err)
		}
		commit(t, l)
		_, err := l.DeleteRecords(c.start, 0)
		require.NoError(t, err)
		require.NoError(t, l.Truncate(c.to))
		require.Equal(t, []kafka.Offset{c.start, c.end, c.end, c.end}, []kafka.Offset{l.StartOffset(), l.EndOffset(), l.HighWatermark(), l.FlushedTo()}, "%+v", c)
		put(t, l, "k=2")
		l.settle()
		l.abandon()
	}
}
