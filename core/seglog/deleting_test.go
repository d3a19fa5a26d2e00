package seglog

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/core/epochs"
	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

// A log that is closed touches its directory no more: the topic may be deleted and made again under the same name, and
// then a retention pass that began before would rename the new log's files.
func TestRetentionEndsWithTheLog(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 30)
	require.NoError(t, l.flushTo(0, true))
	segs := *l.segments.Load()
	require.Greater(t, len(segs), 2)

	require.True(t, l.deleteFirst(segs[0]), "the first of several")
	require.False(t, l.deleteFirst(segs[0]), "it is out of the list already")
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	select {
	case err := <-closed:
		t.Fatalf("closed (%v) while a segment was being deleted", err)
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, l.markDeleted(segs[0], 0))
	l.background.Done()
	require.NoError(t, <-closed)
	require.NoFileExists(t, filepath.Join(dir, layout.FileName(0, layout.LogSuffix)))

	require.False(t, l.deleteFirst(segs[1]), "the log is closed")
}

// A start that was raised and not saved goes back with a crash, and the epochs of what lies below come back with it.
func TestAStartThatGoesBackFindsItsEpochs(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	for i := range 4 {
		mustAppend(t, l, batch(2, 30, 1000), kafka.LeaderEpoch(i))
	}
	l.SetHighWatermark(8)
	_, err := l.DeleteRecords(5, 0)
	require.NoError(t, err)
	require.Equal(t, []epochs.Entry{{Epoch: 2, Start: 5}, {Epoch: 3, Start: 6}}, l.Epochs())
	l.abandon()

	l = open(t, dir, testConfig(small()), Start{LogStart: 2})
	require.Equal(t, []epochs.Entry{{Epoch: 1, Start: 2}, {Epoch: 2, Start: 4}, {Epoch: 3, Start: 6}}, l.Epochs())
	require.NoError(t, l.Close())
}
