package meta

import (
	"encoding/binary"
	"fmt"

	"trialog/core/kafka"
)

// Type is Kafka's number of a metadata record.
type Type int16

// Types.
const (
	TypeRegisterBroker Type = 0
	TypeTopic          Type = 2
	TypePartition      Type = 3
	TypeConfig         Type = 4
	TypeRemoveTopic    Type = 9
	TypeFeatureLevel   Type = 12
	TypeProducerIDs    Type = 15
)

// Record is one change of the cluster's metadata. The implementations are the structs of this package, as pointers. A
// record that was given to Apply must not be changed afterwards: the image may share its slices.
type Record interface {
	// Type is Kafka's number.
	Type() Type
	// String is one line: the name and every field.
	String() string

	appendBody(b []byte) []byte
	parseBody(r *reader)
}

// Endpoint is one listener of a broker.
type Endpoint struct {
	Name             string
	Host             string
	Port             uint16
	SecurityProtocol int16 // 0 PLAINTEXT
}

// RegisterBroker says that a broker process is there, with a new broker epoch.
type RegisterBroker struct {
	Broker      kafka.NodeID
	Incarnation kafka.TopicID // a UUID of the process
	BrokerEpoch int64
	Endpoints   []Endpoint
	Rack        string // "" is none
	Fenced      bool
}

// Type is RegisterBrokerRecord.
func (*RegisterBroker) Type() Type { return TypeRegisterBroker }

func (m *RegisterBroker) appendBody(b []byte) []byte {
	b = appendInt32(b, m.Broker)
	b = append(b, m.Incarnation[:]...)
	b = appendInt64(b, m.BrokerEpoch)
	b = binary.AppendUvarint(b, uint64(len(m.Endpoints))+1)
	for _, e := range m.Endpoints {
		b = appendString(appendString(b, e.Name), e.Host)
		b = noTags(appendInt16(appendInt16(b, int16(e.Port)), e.SecurityProtocol))
	}
	b = append(b, 1) // no features
	b = appendNullable(b, m.Rack, m.Rack == "")
	if m.Fenced {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return noTags(b)
}

func (m *RegisterBroker) parseBody(r *reader) {
	m.Broker, m.Incarnation, m.BrokerEpoch = r.int32(), r.uuid(), r.int64()
	const endpointMin, featureMin = 7, 6
	for n := r.count(endpointMin); n > 0 && r.err == nil; n-- {
		e := Endpoint{Name: r.string(), Host: r.string(), Port: uint16(r.int16()), SecurityProtocol: r.int16()}
		r.tags()
		m.Endpoints = append(m.Endpoints, e)
	}
	for n := r.count(featureMin); n > 0 && r.err == nil; n-- {
		r.string()
		r.take(4)
		r.tags()
	}
	m.Rack, _ = r.nullable()
	m.Fenced = r.bool()
	r.tags()
}

// String is one line.
func (m *RegisterBroker) String() string {
	s := fmt.Sprintf("register-broker %d epoch=%d incarnation=%s", m.Broker, m.BrokerEpoch, m.Incarnation)
	for _, e := range m.Endpoints {
		s += fmt.Sprintf(" %s://%s:%d", e.Name, e.Host, e.Port)
	}
	if m.Rack != "" {
		s += " rack=" + m.Rack
	}
	if m.Fenced {
		s += " fenced"
	}
	return s
}

// Topic makes a topic without partitions.
type Topic struct {
	Name string
	ID   kafka.TopicID
}

// Type is TopicRecord.
func (*Topic) Type() Type { return TypeTopic }

func (m *Topic) appendBody(b []byte) []byte {
	return noTags(append(appendString(b, m.Name), m.ID[:]...))
}

func (m *Topic) parseBody(r *reader) {
	m.Name, m.ID = r.string(), r.uuid()
	r.tags()
}

// String is one line.
func (m *Topic) String() string { return fmt.Sprintf("topic %s id=%s", m.Name, m.ID) }

// Partition makes a partition or replaces it.
type Partition struct {
	Topic          kafka.TopicID
	Partition      kafka.PartitionID
	Replicas       []kafka.NodeID // the preferred leader first
	ISR            []kafka.NodeID
	Leader         kafka.NodeID // -1: none
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32
}

// Type is PartitionRecord.
func (*Partition) Type() Type { return TypePartition }

func (m *Partition) appendBody(b []byte) []byte {
	b = appendInt32(b, m.Partition)
	b = append(b, m.Topic[:]...)
	b = appendNodes(appendNodes(b, m.Replicas), m.ISR)
	b = append(b, 1, 1) // neither removing nor adding replicas
	return noTags(appendInt32(appendInt32(appendInt32(b, m.Leader), m.LeaderEpoch), m.PartitionEpoch))
}

func (m *Partition) parseBody(r *reader) {
	m.Partition, m.Topic = r.int32(), r.uuid()
	m.Replicas, m.ISR = r.nodes(), r.nodes()
	if removing, adding := r.nodes(), r.nodes(); removing != nil || adding != nil {
		r.fail(fmt.Errorf("a reassignment: not known"))
	}
	m.Leader, m.LeaderEpoch, m.PartitionEpoch = r.int32(), r.int32(), r.int32()
	r.tags()
}

// String is one line.
func (m *Partition) String() string {
	return fmt.Sprintf("partition %s-%d leader=%d e%d replicas=%v isr=%v partition-epoch=%d", m.Topic, m.Partition, m.Leader,
		m.LeaderEpoch, m.Replicas, m.ISR, m.PartitionEpoch)
}

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

func (m *Config) appendBody(b []byte) []byte {
	b = append(b, byte(m.Resource))
	b = appendString(appendString(b, m.Name), m.Key)
	return noTags(appendNullable(b, m.Value, m.Delete))
}

func (m *Config) parseBody(r *reader) {
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

func (m *RemoveTopic) appendBody(b []byte) []byte { return noTags(append(b, m.Topic[:]...)) }

func (m *RemoveTopic) parseBody(r *reader) {
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

func (m *FeatureLevel) appendBody(b []byte) []byte {
	return noTags(appendInt16(appendString(b, m.Name), m.Level))
}

func (m *FeatureLevel) parseBody(r *reader) {
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

func (m *ProducerIDs) appendBody(b []byte) []byte {
	return noTags(appendInt64(appendInt64(appendInt32(b, m.Broker), m.BrokerEpoch), m.Next))
}

func (m *ProducerIDs) parseBody(r *reader) {
	m.Broker, m.BrokerEpoch, m.Next = r.int32(), r.int64(), r.int64()
	r.tags()
}

// String is one line.
func (m *ProducerIDs) String() string {
	return fmt.Sprintf("producer-ids below %d to broker %d epoch=%d", m.Next, m.Broker, m.BrokerEpoch)
}
