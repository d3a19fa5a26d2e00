package seglog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

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
