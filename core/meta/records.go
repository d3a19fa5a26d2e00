package meta

import (
	"fmt"

	"trialog/core/kafka"
)

// Type is Kafka's number of a metadata record.
type Type int16

// Types.
const (
	TypeRegisterBroker   Type = 0
	TypeUnregisterBroker Type = 1
	TypeTopic            Type = 2
	TypePartition        Type = 3
	TypeConfig           Type = 4
	TypePartitionChange  Type = 5
	TypeRemoveTopic      Type = 9
	TypeFeatureLevel     Type = 12
	TypeProducerIDs      Type = 15
	TypeBrokerChange     Type = 17
)

// Record is one change of the cluster's metadata. The implementations are the structs of this package, as pointers. A
// record that was given to Apply must not be changed afterwards: the image may share its slices.
type Record interface {
	// Type is Kafka's number.
	Type() Type
	// String is one line: the name and every field.
	String() string

	// version is the lowest version of Kafka's schema that carries what the record has.
	version() uint64
	appendBody(b []byte) []byte
	// parseBody reads the body of a version up to versionMax.
	parseBody(r *reader, version uint64)
}

// versionMax is the highest version of a type that is read here.
func versionMax(t Type) uint64 {
	switch t {
	case TypeRegisterBroker:
		return 3
	case TypePartition, TypePartitionChange, TypeBrokerChange:
		return 2
	}
	return 0
}

// Topic makes a topic without partitions.
type Topic struct {
	Name string
	ID   kafka.TopicID
}

// Type is TopicRecord.
func (*Topic) Type() Type { return TypeTopic }

func (*Topic) version() uint64 { return 0 }

func (m *Topic) appendBody(b []byte) []byte {
	return noTags(append(appendString(b, m.Name), m.ID[:]...))
}

func (m *Topic) parseBody(r *reader, _ uint64) {
	m.Name, m.ID = r.string(), r.uuid()
	r.tags()
}

// String is one line.
func (m *Topic) String() string { return fmt.Sprintf("topic %s id=%s", m.Name, m.ID) }

// Resource types of a Config record.
const (
	ResourceTopic  int8 = 2
	ResourceBroker int8 = 4
)

// Config sets or deletes one setting of a resource.
type Config struct {
	Resource int8
	Name     string // topic name, or node id, or "" for all brokers
	Key      string
	Value    string
	Delete   bool // null value on the wire; Value is empty
}

// Type is ConfigRecord.
func (*Config) Type() Type { return TypeConfig }

func (*Config) version() uint64 { return 0 }

func (m *Config) appendBody(b []byte) []byte {
	b = append(b, byte(m.Resource))
	b = appendString(appendString(b, m.Name), m.Key)
	return noTags(appendNullable(b, m.Value, m.Delete))
}

func (m *Config) parseBody(r *reader, _ uint64) {
	m.Resource, m.Name, m.Key = r.int8(), r.string(), r.string()
	m.Value, m.Delete = r.nullable()
	r.tags()
}

// String is one line.
func (m *Config) String() string {
	resource := fmt.Sprintf("resource(%d)", m.Resource)
	switch m.Resource {
	case ResourceTopic:
		resource = "topic"
	case ResourceBroker:
		resource = "broker"
	}
	if m.Delete {
		return fmt.Sprintf("config %s %q delete %s", resource, m.Name, m.Key)
	}
	return fmt.Sprintf("config %s %q %s=%s", resource, m.Name, m.Key, m.Value)
}

// RemoveTopic removes a topic with its partitions and its configuration.
type RemoveTopic struct {
	Topic kafka.TopicID
}

// Type is RemoveTopicRecord.
func (*RemoveTopic) Type() Type { return TypeRemoveTopic }

func (*RemoveTopic) version() uint64 { return 0 }

func (m *RemoveTopic) appendBody(b []byte) []byte { return noTags(append(b, m.Topic[:]...)) }

func (m *RemoveTopic) parseBody(r *reader, _ uint64) {
	m.Topic = r.uuid()
	r.tags()
}

// String is one line.
func (m *RemoveTopic) String() string { return fmt.Sprintf("remove-topic %s", m.Topic) }

// FeatureLevel sets a feature's level (metadata.version); 0 removes it.
type FeatureLevel struct {
	Name  string
	Level int16
}

// Type is FeatureLevelRecord.
func (*FeatureLevel) Type() Type { return TypeFeatureLevel }

func (*FeatureLevel) version() uint64 { return 0 }

func (m *FeatureLevel) appendBody(b []byte) []byte {
	return noTags(appendInt16(appendString(b, m.Name), m.Level))
}

func (m *FeatureLevel) parseBody(r *reader, _ uint64) {
	m.Name, m.Level = r.string(), r.int16()
	r.tags()
}

// String is one line.
func (m *FeatureLevel) String() string { return fmt.Sprintf("feature %s=%d", m.Name, m.Level) }

// ProducerIDs gives the block of producer ids that ends before Next to a broker (KIP-730).
type ProducerIDs struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
	Next        kafka.ProducerID
}

// Type is ProducerIdsRecord.
func (*ProducerIDs) Type() Type { return TypeProducerIDs }

func (*ProducerIDs) version() uint64 { return 0 }

func (m *ProducerIDs) appendBody(b []byte) []byte {
	return noTags(appendInt64(appendInt64(appendInt32(b, m.Broker), m.BrokerEpoch), m.Next))
}

func (m *ProducerIDs) parseBody(r *reader, _ uint64) {
	m.Broker, m.BrokerEpoch, m.Next = r.int32(), r.int64(), r.int64()
	r.tags()
}

// String is one line.
func (m *ProducerIDs) String() string {
	return fmt.Sprintf("producer-ids below %d to broker %d epoch=%d", m.Next, m.Broker, m.BrokerEpoch)
}
