package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"trialog/core/broker/partition"
	"trialog/core/kafka"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A partition whose leader epoch cannot be made durable takes its directory offline, and without another the start ends
// with an error that names it; the log that is open already is not opened again.
func TestStartWithoutLeaderEpoch(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	in.dial().create("t", 2)
	in.end()

	b, err := New(loadConfig(t, dir), Options{})
	require.NoError(t, err)
	t.Cleanup(b.Abandon)
	require.NoError(t, b.openDirs())
	require.NoError(t, b.openMetadata())
	require.NoError(t, b.openPartitions(false))
	require.NoError(t, b.listen())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "t-1"))) // now no file can be made in it
	require.NoError(t, b.register())
	require.NoError(t, b.openPartitions(true), "nothing is opened again")
	require.ErrorContains(t, b.dirs.Fatal(), "there is no other")
	require.ErrorContains(t, b.dirs.Fatal(), "t-1")
	p := b.table.TopicNamed("t").Partition(1)
	require.Equal(t, partition.Failed, p.State())
	require.Equal(t, kafka.ErrNotLeaderOrFollower, p.CheckEpoch(kafka.NoLeaderEpoch))
}

// What is left of a topic that could not be opened gives way to the next topic of the name.
func TestTopicAfterOneThatFailed(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "t-0", "00000000000000000000.log"), 0o755)) // where the segment should be
	c.create("t", 1)
	require.EqualValues(t, 3, c.produce(-1, "t", 0, batch("a")).ErrorCode)

	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = 5, []string{"t"}
	require.Zero(t, ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode)
	c.create("t", 1)
	require.Zero(t, c.produce(-1, "t", 0, batch("a")).ErrorCode)
	stray, err := filepath.Glob(filepath.Join(dir, "*-stray"))
	require.NoError(t, err)
	require.Empty(t, stray, "its topic is known to be deleted")
}

// The metadata log is never compacted, so that recovery keeps no hole in it.
func TestMetadataIsNotCompacted(t *testing.T) {
	b, err := New(loadConfig(t, t.TempDir(), "log.cleanup.policy=compact", "log.retention.ms=1"), Options{})
	require.NoError(t, err)
	settings := b.metadataSettings()
	require.False(t, settings.CleanupCompact)
	require.EqualValues(t, -1, settings.RetentionMs)
}

// Of partitions that could not be opened the log says why, once for each kind of failure, and Metadata names no healthy
// leader; CreateTopics answers success all the same, as Kafka does, and the others are served.
func TestPartitionsThatDidNotOpen(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	for _, name := range []string{"t-1", "t-2"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "00000000000000000000.log"), 0o755)) // where the segment should be
	}
	c.create("t", 4)
	got := ask[*kmsg.MetadataResponse](c, metadata(12, "t")).Topics[0]
	require.Zero(t, got.ErrorCode)
	for i, want := range []kafka.ErrorCode{kafka.ErrNone, kafka.ErrLeaderNotAvailable, kafka.ErrLeaderNotAvailable, kafka.ErrNone} {
		require.EqualValues(t, want, got.Partitions[i].ErrorCode, i)
		require.Equal(t, want == kafka.ErrNone, got.Partitions[i].Leader == 1, i)
	}
	require.Equal(t, 1, strings.Count(in.log.String(), "a topic could not be opened"))
	require.Contains(t, in.log.String(), "opening t-1")
	require.Zero(t, c.produce(-1, "t", 3, batch("a")).ErrorCode)
}

func TestFailuresByKind(t *testing.T) {
	a, b := fmt.Errorf("t-0: %w", syscall.EMFILE), fmt.Errorf("t-1: %w", &os.PathError{Op: "open", Path: "x", Err: syscall.ENOSPC})
	c, d := fmt.Errorf("t-2: %w", syscall.EMFILE), errors.New("t-3: odd")
	require.Equal(t, [][]error{{a, c}, {b}, {d}}, byKind([]error{a, b, c, d}))
	require.Empty(t, byKind(nil))
}
