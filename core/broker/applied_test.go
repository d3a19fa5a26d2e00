package broker

import (
	"os"
	"path/filepath"
	"testing"

	"trialog/core/broker/metalog"
	"trialog/core/broker/partition"
	"trialog/core/kafka"
	"trialog/core/meta"

	"github.com/stretchr/testify/require"
)

// What a cluster's controller may decide about this broker's replicas, which it does not do as long as it is alone: the
// broker acts on what differs between two images, whatever the records were.
func TestAppliedDeltas(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 3)
	require.Zero(t, c.produce(-1, "t", 0, batch("a")).ErrorCode)
	require.Zero(t, c.produce(-1, "t", 1, batch("a")).ErrorCode)
	b := in.Broker
	was := b.meta.Image()
	id := was.Topic("t").ID
	now := was.Clone()
	for _, r := range []meta.Record{
		&meta.PartitionChange{Topic: id, Partition: 0, Leader: 2, Replicas: []kafka.NodeID{1, 2}, ISR: []kafka.NodeID{1, 2}},
		&meta.PartitionChange{Topic: id, Partition: 1, Leader: 2, Replicas: []kafka.NodeID{2}, ISR: []kafka.NodeID{2}},
	} {
		require.NoError(t, now.Apply(r))
	}
	b.applied(meta.Diff(was, now))
	require.EqualValues(t, kafka.ErrNotLeaderOrFollower, c.produce(-1, "t", 0, batch("b")).ErrorCode, "another one leads")
	require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, c.produce(-1, "t", 1, batch("b")).ErrorCode, "the replica is elsewhere")
	require.Zero(t, c.produce(-1, "t", 2, batch("b")).ErrorCode, "nothing changed here")
	require.Nil(t, b.table.TopicByID(id).Partition(1))
	gone, err := filepath.Glob(filepath.Join(dir, "t-1.*"))
	require.NoError(t, err)
	kept, err := os.Stat(filepath.Join(dir, "t-0"))
	require.NoError(t, err)
	require.True(t, kept.IsDir())
	require.Len(t, gone, 1, "it waits for its removal")

	last := now.Clone()
	require.NoError(t, last.Apply(&meta.PartitionChange{Topic: id, Partition: 0, Leader: 1, ISR: []kafka.NodeID{1}}))
	b.applied(meta.Diff(now, last))
	require.Zero(t, c.produce(-1, "t", 0, batch("b")).ErrorCode, "it leads again")
	require.EqualValues(t, 2, b.table.TopicByID(id).Partition(0).Epoch())
	require.Equal(t, partition.Online, b.table.TopicByID(id).Partition(0).State())

	again := last.Clone()
	other := metalog.NewUUID()
	for _, r := range []meta.Record{
		&meta.RemoveTopic{Topic: id}, &meta.Topic{Name: "t", ID: other},
		&meta.Partition{Topic: other, Replicas: []kafka.NodeID{1}, ISR: []kafka.NodeID{1}, Leader: 1},
	} {
		require.NoError(t, again.Apply(r))
	}
	b.applied(meta.Diff(last, again))
	require.Nil(t, b.table.TopicByID(id))
	require.EqualValues(t, 0, b.table.TopicByID(other).Partition(0).Log().EndOffset(), "made again, with nothing in it")
}
