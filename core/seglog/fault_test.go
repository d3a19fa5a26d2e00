//go:build linux

package seglog

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/seglog/layout"
	"trialog/core/transcript/alone"
)

// withFileLimit runs fn while no file may grow beyond n bytes: a write is cut there, and the next one fails.
func withFileLimit(t *testing.T, n uint64, fn func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: old.Max}))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }()
	fn()
}

// TestFailedAppend: half of the batch is written, then the disk is full (KAFKA-10778, KAFKA-17181).
func TestFailedAppend(t *testing.T) {
	if alone.Run(t) {
		return
	}
	dir := newDir(t)
	var tr trace
	cfg := testConfig(large())
	cfg.Emit = tr.emit
	l := open(t, dir, cfg, Start{})
	fill(t, l, 5)
	end, size := l.EndOffset(), l.Size()
	want := contents(t, l)
	withFileLimit(t, uint64(size)+100, func() {
		_, err := l.Append(batch(10, 1000, 5), 0, now(5))
		require.ErrorIs(t, err, syscall.EFBIG)
		require.ErrorContains(t, err, "seglog: append t-0 at 10")
		require.ErrorContains(t, err, "00000000000000000000.log")
	})
	require.Equal(t, end, l.EndOffset())
	require.Equal(t, end, tr.last(event.Append).Next)
	info, err := os.Stat(filepath.Join(dir, "00000000000000000000.log"))
	require.NoError(t, err)
	require.Equal(t, size, info.Size(), "the torn bytes are cut off")

	for range 3 {
		_, err = l.Append(batch(1, 1, 5), 0, now(5))
		require.ErrorIs(t, err, ErrFailed, "what was queued behind it fails as well")
		require.ErrorIs(t, err, syscall.EFBIG)
	}
	require.ErrorIs(t, l.Flush(end), ErrFailed)
	require.ErrorIs(t, l.Truncate(2), ErrFailed)
	require.Equal(t, want, contents(t, l), "what is there can be read")
	require.ErrorIs(t, l.Close(), syscall.EFBIG, "not a clean stop")

	l = open(t, dir, testConfig(large()), Start{})
	require.Equal(t, want, contents(t, l))
	fill(t, l, 1)
	require.NoError(t, l.Close())
}

// TestFailedFsync: an fsync that failed is never tried again; nothing counts as flushed by it.
func TestFailedFsync(t *testing.T) {
	l := open(t, newDir(t), testConfig(large()), Start{})
	fill(t, l, 2)
	require.NoError(t, l.Flush(2))
	fill(t, l, 2)
	require.Equal(t, kafka.Offset(4), l.FlushedTo())
	active := l.active()
	file := active.file
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	active.file = active.env.files.Adopt(l.dir, 0, ".pipe", r) // fsync of a pipe is EINVAL
	require.ErrorIs(t, l.Flush(8), syscall.EINVAL)
	r.Close()
	active.file = file
	require.ErrorIs(t, l.Flush(8), ErrFailed)
	require.ErrorIs(t, l.Flush(8), syscall.EINVAL)
	require.Equal(t, kafka.Offset(4), l.FlushedTo())
	require.NoError(t, l.Flush(4), "what is durable stays so")
	_, err = l.Append(batch(1, 1, 5), 0, now(5))
	require.ErrorIs(t, err, ErrFailed)
	require.Error(t, l.Close())
}

// TestFailedRoll: the new segment cannot be made.
func TestFailedRoll(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 7)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "00000000000000000014.log"), []byte("x"), 0o644))
	_, err := l.Append(batch(2, 30, 5), 0, now(5))
	require.ErrorContains(t, err, "seglog: roll t-0 at 14")
	require.ErrorContains(t, err, "exists with 1 bytes", "a file that holds data is left alone (KAFKA-6388)")
	l.settle()
	require.Equal(t, []byte("x"), readFile(t, dir, "00000000000000000014.log"))
	require.Error(t, l.Close())
}

// TestFailedBackgroundFlush: index files of a sealed segment cannot be written.
func TestFailedBackgroundFlush(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	fill(t, l, 7)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "00000000000000000000.index"), 0o755))
	fill(t, l, 1) // rolls
	l.settle()
	_, err := l.Append(batch(2, 30, 5), 0, now(5))
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorContains(t, err, "00000000000000000000.index")
	require.Zero(t, l.FlushedTo())
	l.abandon()
}

// TestGroupCommit: 64 appenders that wait for their fsync share it.
func TestGroupCommit(t *testing.T) {
	var tr trace
	cfg := testConfig(large())
	cfg.Emit = tr.emit
	l := open(t, newDir(t), cfg, Start{})
	gate := make(chan struct{})
	l.flush.mu.Lock()
	l.flush.running = true // an fsync that lasts until all have come
	l.flush.mu.Unlock()
	var wg sync.WaitGroup
	var arrived sync.WaitGroup
	arrived.Add(64)
	for range 64 {
		wg.Go(func() {
			a, err := l.Append(batch(1, 10, 5), 0, now(5))
			arrived.Done()
			if err == nil {
				err = l.Flush(a.Next)
			}
			if err != nil || l.FlushedTo() < a.Next {
				t.Errorf("append at %d: flushed to %d: %v", a.Base, l.FlushedTo(), err)
			}
		})
	}
	arrived.Wait()
	go func() {
		l.flush.mu.Lock()
		l.flush.running = false
		l.flush.done.Broadcast()
		l.flush.mu.Unlock()
		close(gate)
	}()
	<-gate
	wg.Wait()
	require.Equal(t, 1, l.flush.passes)
	require.Equal(t, kafka.Offset(64), tr.last(event.Flush).Next)
	require.NoError(t, l.Close())
}

// TestFsyncDirectoryBites: the directory is fsynced before the first bytes of a new file count as flushed. A directory
// that has been moved away cannot be, which shows whether it is tried.
func TestFsyncDirectoryBites(t *testing.T) {
	flush := func(rules Rules) error {
		dir := newDir(t)
		cfg := testConfig(large())
		open(t, dir, cfg, Start{}).abandon()
		cfg.Rules = rules
		l := open(t, dir, cfg, Start{}) // the name of the segment may be as new as the last process
		fill(t, l, 1)
		require.NoError(t, os.Rename(dir, dir+".away"))
		err := l.Flush(2)
		require.Equal(t, err == nil, l.FlushedTo() == 2)
		l.abandon()
		return err
	}
	require.ErrorIs(t, flush(AllRules()), os.ErrNotExist)
	off := AllRules()
	require.True(t, off.Off("fsync-directory"))
	require.NoError(t, flush(off))
	require.False(t, off.Off("no-such-rule"))
}

// TestFlushCoversRolls: a flush makes sealed segments durable first, with the names of all.
func TestFlushCoversRolls(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	l.flush.mu.Lock()
	l.flush.running = true // nothing in the background yet
	l.flush.mu.Unlock()
	fill(t, l, 20)
	require.Len(t, *l.segments.Load(), 3)
	require.Zero(t, l.FlushedTo())
	require.True(t, l.dirDirty.Load())
	l.flush.mu.Lock()
	l.flush.running = false
	l.flush.done.Broadcast()
	l.flush.mu.Unlock()
	require.NoError(t, l.Flush(40))
	require.Equal(t, kafka.Offset(40), l.FlushedTo())
	require.False(t, l.unsealed())
	require.False(t, l.dirDirty.Load())
	require.Contains(t, files(t, dir), "00000000000000000028.snapshot")
	require.Error(t, l.Flush(41))
	require.NoError(t, l.Close())
}

// TestTruncatedSlice: bytes that were promised are never replaced by others (redpanda a1097d435d).
func TestTruncatedSlice(t *testing.T) {
	l := open(t, newDir(t), testConfig(large()), Start{})
	fill(t, l, 10)
	before, err := l.Read(0, 400, 20, false)
	require.NoError(t, err)
	over, err := l.Read(4, 1<<20, 20, false)
	require.NoError(t, err)
	promised := make([]byte, over.Len())
	_, err = over.ReadAt(promised, 0)
	require.NoError(t, err)
	require.NoError(t, l.Truncate(10))
	mustAppend(t, l, batch(40, 30, 7), 1)
	_, err = over.ReadAt(make([]byte, 10), 0)
	require.ErrorIs(t, err, ErrTruncated)
	_, err = over.Send(0, func(*os.File, int64, int) (int, error) { panic("must not be called") })
	require.ErrorIs(t, err, ErrTruncated)
	n, err := before.Send(3, func(f *os.File, pos int64, n int) (int, error) { return n, nil })
	require.NoError(t, err)
	require.Equal(t, before.Len()-3, n)
	readAll(t, before)
	over.Close()
	over.Close()

	deleted, err := l.Read(0, 100, 20, true)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.NotEmpty(t, readAll(t, deleted), "a slice outlives its log")
	_, err = l.Read(0, 100, 20, true)
	require.True(t, errors.Is(err, ErrClosed))
}

// R32, rule checkpoint-fsync-before-rename: a checkpoint that cannot be fsynced does not replace the one that is there. The
// fsync of a pipe fails, which shows whether there is one.
func TestR32CheckpointIsSyncedBeforeItsRename(t *testing.T) {
	for _, rule := range []string{"", "checkpoint-fsync-before-rename"} {
		cfg := testConfig(small())
		if rule != "" {
			cfg.Rules = off(t, rule)
		}
		dir := newDir(t)
		l := open(t, dir, cfg, Start{})
		fill(t, l, 3)
		before := readFile(t, dir, layout.EpochFile)
		tmp := filepath.Join(dir, layout.EpochFile+layout.TmpSuffix)
		require.NoError(t, syscall.Mkfifo(tmp, 0o644))
		reader, err := os.OpenFile(tmp, os.O_RDWR, 0) // so that opening it for writing does not wait
		require.NoError(t, err)
		err = l.StartEpoch(7)
		require.Equal(t, rule == "", err != nil, "%q", rule)
		info, err := os.Lstat(filepath.Join(dir, layout.EpochFile))
		require.NoError(t, err)
		require.Equal(t, rule == "", info.Mode().IsRegular(), "%q: what was not synced has the name", rule)
		if rule == "" {
			require.Equal(t, before, readFile(t, dir, layout.EpochFile))
		}
		reader.Close()
		l.abandon()
	}
}
