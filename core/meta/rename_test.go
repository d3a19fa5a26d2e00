package meta

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
)

// drawRecords draws records of few brokers, topics and partitions; not all of them fit.
func drawRecords(t *rapid.T) []Record {
	nodes := func(name string) []kafka.NodeID {
		list := rapid.SampledFrom([][]kafka.NodeID{nil, {}, {1}, {2}, {3}, {1, 2}, {2, 1}, {3, 1}, {2, 3, 1}}).Draw(t, name)
		return append([]kafka.NodeID(nil), list...)
	}
	record := rapid.Custom(func(t *rapid.T) Record {
		id := kafka.TopicID{0: rapid.ByteRange(1, 2).Draw(t, "id")}
		broker, epoch := rapid.Int32Range(1, 3).Draw(t, "broker"), rapid.Int64Range(0, 2).Draw(t, "epoch")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return &Topic{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), ID: id}
		case 1, 2:
			return &Partition{Topic: id, Partition: rapid.Int32Range(0, 1).Draw(t, "partition"), Replicas: nodes("replicas"), ISR: nodes("isr"),
				Leader: rapid.SampledFrom([]int32{-1, 1, 2, 3}).Draw(t, "leader"), ELR: nodes("elr"), LastKnownELR: nodes("last"), Adding: nodes("adding")}
		case 3, 4:
			return &PartitionChange{Topic: id, Partition: rapid.Int32Range(0, 1).Draw(t, "partition"), Removing: nodes("removing"), ISR: nodes("isr"),
				Leader: rapid.SampledFrom([]int32{NoLeaderChange, -1, 1, 2, 3}).Draw(t, "leader"), ELR: nodes("elr")}
		case 5, 6:
			return &RegisterBroker{Broker: broker, BrokerEpoch: epoch, Fenced: rapid.Bool().Draw(t, "fenced")}
		case 7:
			return &BrokerChange{Broker: broker, BrokerEpoch: epoch, Fenced: Turn(rapid.Int8Range(-1, 1).Draw(t, "turn"))}
		case 8:
			return &Config{Resource: ResourceBroker, Name: rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(t, "name"), Key: "k",
				Value: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value"), Delete: rapid.Bool().Draw(t, "delete")}
		}
		if rapid.Bool().Draw(t, "remove") {
			return &UnregisterBroker{Broker: broker, BrokerEpoch: epoch}
		}
		return &ProducerIDs{Broker: broker, Next: rapid.Int64Range(0, 3).Draw(t, "next")}
	})
	return rapid.SliceOfN(record, 0, 25).Draw(t, "records")
}

func imageOf(records []Record) *Image {
	m := &Image{}
	for _, r := range records {
		_ = m.Apply(r) // what does not fit is left out
	}
	return m
}

// TestRenamed: renaming what happened, and renaming what it came to, are the same; and back again it is what it was.
func TestRenamed(t *testing.T) {
	there := Renaming(func(n kafka.NodeID) kafka.NodeID { return n%3 + 1 })
	back := Renaming(func(n kafka.NodeID) kafka.NodeID { return (n+1)%3 + 1 })
	rapid.Check(t, func(t *rapid.T) {
		records := drawRecords(t)
		m := imageOf(records)
		renamed := make([]Record, len(records))
		for i, r := range records {
			renamed[i] = there.Record(r)
		}
		require.Equal(t, imageOf(renamed).String(), m.Renamed(there).String())
		require.True(t, Diff(imageOf(renamed), m.Renamed(there)).Empty())
		require.True(t, Diff(m.Renamed(there).Renamed(back), m).Empty())
	})
}
