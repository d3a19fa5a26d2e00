package seglog

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

	first, err := l.deleteFirst(segs[0])
	require.NoError(t, err)
	require.True(t, first, "the first of several")
	first, err = l.deleteFirst(segs[0])
	require.NoError(t, err)
	require.False(t, first, "it is out of the list already")
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

	_, err = l.deleteFirst(segs[1])
	require.ErrorIs(t, err, ErrClosed)
}

// A truncation may come between the decision to delete and the deletion: the start offset never gets above the end (S1).
func TestDeletionMeetsTruncation(t *testing.T) {
	l := open(t, newDir(t), testConfig(small()), Start{})
	defer l.abandon()
	fill(t, l, 30)
	require.NoError(t, l.flushTo(0, true))
	l.SetHighWatermark(40)
	first := (*l.segments.Load())[0]
	require.Less(t, int64(4), first.next())
	require.NoError(t, l.Truncate(4))
	require.ErrorIs(t, l.moveStart(40), kafka.ErrOffsetOutOfRange, "DeleteRecords had found it below the HW")
	gone, err := l.deleteFirst(first)
	require.NoError(t, err)
	require.False(t, gone, "the first segment ends elsewhere now")
	require.Zero(t, l.StartOffset())
}

// A directory may be listed, and tidied, while files in it are renamed and removed: a truncation beside the removal of deleted
// segments must not stop the log.
func TestListBesideDeletion(t *testing.T) {
	dir := t.TempDir()
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for base := kafka.Offset(0); !done.Load(); base = (base + 1) % 50 {
			from, to := layout.FileName(base, layout.IndexSuffix), layout.FileName(base, layout.IndexSuffix+layout.DeletedSuffix)
			_ = os.WriteFile(filepath.Join(dir, from), nil, 0o644)
			_ = os.Rename(filepath.Join(dir, from), filepath.Join(dir, to))
			if base%2 == 0 {
				_ = os.Remove(filepath.Join(dir, to))
			}
		}
	})
	for range 2000 {
		if _, err := listFiles(dir); !assert.NoError(t, err) {
			break
		}
	}
	done.Store(true)
	wg.Wait()
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
