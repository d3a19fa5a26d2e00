package seglog

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// marker is the batch that ends a transaction of a producer.
func marker(pid kafka.ProducerID, kind record.ControlType) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(pid, 0, -1)
	b.SetAttributes(record.Control | record.Transactional)
	key := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(kind))
	b.Append(1000, key, []byte{0, 0, 0, 0, 0, 0})
	return b.Finish()
}

// transactional is a batch of one record with a key, in a transaction.
func transactional(pid kafka.ProducerID, seq kafka.Sequence) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(pid, 0, seq)
	b.SetAttributes(record.Transactional)
	b.Append(1000, fmt.Append(nil, seq), make([]byte, 40))
	return b.Finish()
}

func follow(t tb, l *Log, batches ...[]byte) {
	t.Helper()
	for _, b := range batches {
		_, err := l.AppendFollower(at(b, l.EndOffset(), 0), now(1))
		require.NoError(t, err)
	}
}

// What lies below the recovery point is not searched for markers again, so an aborted transaction is durable with its marker:
// bytes and name. (The other indexes of the active segment are made anew.)
func TestAbortedAreFlushed(t *testing.T) {
	dir := newDir(t)
	path := filepath.Join(dir, layout.FileName(0, layout.TxnIndexSuffix))
	l := open(t, dir, testConfig(small()), Start{})
	synced := int64(0)
	t.Cleanup(func() { syncTxns = was })
	syncTxns = func(at string) error {
		require.Equal(t, path, at)
		if info, err := os.Stat(at); err == nil {
			synced = info.Size()
		}
		return was(at)
	}
	require.NoError(t, l.Flush(0))
	for n := range kafka.Sequence(3) {
		follow(t, l, transactional(1, n), marker(1, record.ControlAbort))
		require.True(t, l.dirDirty.Load(), "its name is not durable")
		require.EqualValues(t, n*layout.TxnEntrySize, synced)
		require.NoError(t, l.Flush(l.EndOffset()))
		require.EqualValues(t, (n+1)*layout.TxnEntrySize, synced)
		require.False(t, l.dirDirty.Load())
	}
	l.abandon()

	// What recovery finds again is durable when it ends.
	require.NoError(t, os.Remove(path))
	synced = 0
	l = open(t, dir, testConfig(small()), Start{})
	defer l.abandon()
	require.EqualValues(t, 3*layout.TxnEntrySize, synced)
}

var was = syncTxns

// A reader that asks what was aborted when the segment that it has read from is gone already must not hear that nothing was.
func TestAbortedOfDeletedSegment(t *testing.T) {
	cfg := testConfig(small())
	cfg.Settings.RetentionBytes = 1000
	l := open(t, newDir(t), cfg, Start{})
	defer l.abandon()
	follow(t, l, transactional(1, 0), marker(1, record.ControlAbort))
	for l.Segments() < 4 {
		follow(t, l, batch(1, 50, 1000))
	}
	commit(t, l)
	slice, err := l.Read(0, 1000, l.HighWatermark(), true)
	require.NoError(t, err)
	defer slice.Close()
	n, err := l.Retain(0)
	require.NoError(t, err)
	require.Positive(t, n)
	require.Positive(t, slice.Len(), "it stays readable")
	_, err = l.Aborted(0, 2)
	require.ErrorIs(t, err, kafka.ErrOffsetOutOfRange)
}

// A reader that asks in the middle of a replacement, when neither the old index nor the new one has its name, waits.
func TestAbortedDuringReplacement(t *testing.T) {
	l := open(t, newDir(t), testConfig(compacted()), Start{})
	defer l.abandon()
	follow(t, l, transactional(1, 0), marker(1, record.ControlAbort))
	for i := range 9 {
		follow(t, l, keyed(1000, -1, -1, fmt.Sprintf("k=%d", i)))
	}
	commit(t, l)
	want := []layout.TxnEntry{{Producer: 1, First: 0, Last: 1, LastStable: 2}}
	waits := 0
	defer func(was func()) { stepped = was }(stepped)
	stepped = func() { // the append lock is held
		rows, err := l.abortedOnce(0, 2)
		if err != nil {
			require.ErrorIs(t, err, errGone)
			waits++
			return
		}
		require.Equal(t, want, rows)
	}
	clean(t, l, 0)
	require.Positive(t, waits)
	got, err := l.Aborted(0, 2)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// A damaged index of aborted transactions is made anew, also of what lies far below the recovery point.
func TestDamagedAborted(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(large()), Start{})
	follow(t, l, transactional(1, 0), marker(1, record.ControlAbort))
	for range 2000 {
		follow(t, l, batch(1, 1000, 1000+l.EndOffset()))
	}
	commit(t, l)
	want, err := l.Aborted(0, 2)
	require.NoError(t, err)
	require.Len(t, want, 1)
	point := l.FlushedTo()
	l.abandon()
	require.Less(t, int64(0), readFrom(t, dir, point), "an index that is sound is believed")
	path := filepath.Join(dir, layout.FileName(0, layout.TxnIndexSuffix))
	b := readFile(t, path)
	b[1] ^= 1
	writeFile(t, b, path)
	l = open(t, dir, testConfig(large()), Start{RecoveryPoint: point})
	defer l.abandon()
	got, err := l.Aborted(0, 2)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// readFrom is how much of a log its recovery does not read, in bytes.
func readFrom(t *testing.T, dir string, point kafka.Offset) int64 {
	l := open(t, copyDir(t, dir), testConfig(large()), Start{RecoveryPoint: point})
	defer l.abandon()
	return l.Size() - l.read
}
