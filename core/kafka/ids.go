package kafka

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

type (
	// NodeID names a broker or controller (node.id); never negative for a real node.
	NodeID = int32
	// PartitionID counts the partitions of a topic from 0.
	PartitionID = int32
	// LeaderEpoch counts the leaderships of one partition from 0 (KIP-101).
	LeaderEpoch = int32
	// Offset is the position of a record in a partition. An end offset is one past the last record.
	Offset = int64
	// ProducerID identifies an idempotent producer; unique in the cluster (KIP-98).
	ProducerID = int64
	// ProducerEpoch fences older incarnations of a producer id (KIP-98, KIP-360).
	ProducerEpoch = int16
	// Sequence numbers the records of one producer in one partition: 0 to MaxInt32, then 0 again.
	Sequence = int32
)

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition PartitionID
}

// String is topic-partition, as in the name of the partition's directory.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// Compare orders by topic, then partition.
func (tp TopicPartition) Compare(o TopicPartition) int {
	if c := strings.Compare(tp.Topic, o.Topic); c != 0 {
		return c
	}
	switch {
	case tp.Partition < o.Partition:
		return -1
	case tp.Partition > o.Partition:
		return 1
	}
	return 0
}

// ParseTopicPartition reads the name of a partition's directory: the number after the last dash.
func ParseTopicPartition(s string) (TopicPartition, error) {
	dash := strings.LastIndexByte(s, '-')
	if dash < 0 {
		return TopicPartition{}, fmt.Errorf("kafka: %q is not of the form topic-partition", s)
	}
	topic, digits := s[:dash], s[dash+1:]
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || digits != strconv.FormatUint(n, 10) {
		return TopicPartition{}, fmt.Errorf("kafka: %q does not end in a partition number", s)
	}
	if err := CheckTopicName(topic); err != nil {
		return TopicPartition{}, err
	}
	return TopicPartition{Topic: topic, Partition: PartitionID(n)}, nil
}

// TopicID is a topic's UUID (KIP-516). The zero value means "no id".
type TopicID [16]byte

// MetadataTopicID is the reserved id of __cluster_metadata.
var MetadataTopicID = TopicID{15: 1}

// String is Kafka's form of a UUID: 22 characters of base64url without padding.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero reports "no id".
func (id TopicID) IsZero() bool { return id == TopicID{} }

// IsReserved reports the ids that Kafka never gives to a topic: the zero id and that of the metadata topic. Kafka also
// avoids ids whose text begins with a dash, because command lines take them for options.
func (id TopicID) IsReserved() bool {
	return id == TopicID{} || id == MetadataTopicID || id.String()[0] == '-'
}

// ParseTopicID reads what [TopicID.String] writes, and only that.
func ParseTopicID(s string) (TopicID, error) {
	var id TopicID
	if len(s) != 22 {
		return id, fmt.Errorf("kafka: topic id %q has %d characters, want 22", s, len(s))
	}
	if _, err := base64.RawURLEncoding.Decode(id[:], []byte(s)); err != nil {
		return TopicID{}, fmt.Errorf("kafka: topic id %q is not base64url: %w", s, err)
	}
	if id.String() != s { // line breaks, or bits that the last character has too many
		return TopicID{}, fmt.Errorf("kafka: topic id %q is not how %v is written", s, id)
	}
	return id, nil
}

// Now is the time as a value: a machine is told it, never asks for it.
type Now struct {
	// WallMs is the wall clock in milliseconds since 1970; it may jump either way. Record timestamps use it.
	WallMs int64
	// MonoNs is a monotonic clock in nanoseconds from an arbitrary origin. Deadlines use it.
	MonoNs int64
}
