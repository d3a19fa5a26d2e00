//go:build linux

package seglog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
	"trialog/core/transcript/alone"
)

// L17: a disk that takes 100 bytes more takes no part of a batch of 1,000: what was written of it is cut off again, and
// nothing comes after it. Nor does half a checkpoint take the place of a whole one.
func TestL17ShortWrite(t *testing.T) {
	if alone.Run(t) {
		return
	}
	path := t.TempDir()
	d := openDir(t, path, dirConfig())
	l, err := d.OpenLog(t0, kafka.TopicID{}, large())
	require.NoError(t, err)
	fill(t, l, 3)
	require.NoError(t, l.Flush(6))
	require.NoError(t, d.Checkpoint())
	before, point := contents(t, l), readFile(t, path, layout.RecoveryPointFile)
	fill(t, l, 1)
	want := contents(t, l)
	withFileLimit(t, uint64(l.Size())+100, func() {
		_, err := l.Append(batch(1, 1000, 1), 0, now(1))
		require.Error(t, err)
		_, err = l.Append(batch(1, 1, 1), 0, now(1))
		require.ErrorIs(t, err, ErrFailed, "though this one would fit")
	})
	withFileLimit(t, 3, func() {
		l.flush.to.Store(8) // so that there is something to save
		require.Error(t, d.Checkpoint())
	})
	require.Equal(t, point, readFile(t, path, layout.RecoveryPointFile))
	info, err := os.Stat(filepath.Join(path, "t-0", layout.FileName(0, layout.LogSuffix)))
	require.NoError(t, err)
	require.Equal(t, l.Size(), info.Size())
	d.abandon()

	d = openDir(t, path, dirConfig())
	defer d.abandon()
	l, err = d.OpenLog(t0, kafka.TopicID{}, large())
	require.NoError(t, err)
	require.Equal(t, want, contents(t, l))
	require.Equal(t, before, want[:3])
}
