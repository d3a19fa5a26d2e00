package meta

import "trialog/core/kafka"

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
)

// Record is one change of the cluster's metadata. The implementations are the structs of this package, as pointers.
type Record interface {
	// Type is Kafka's number.
	Type() Type
	// AppendBody appends the body in Kafka's flexible encoding, without the frame.
	AppendBody(b []byte) []byte
	// String is one line: the name and every field.
	String() string

	parseBody(r *reader)
}

// Endpoint is one listener of a broker.
type Endpoint struct {
	Name             string
	Host             string
	Port             uint16
	SecurityProtocol int16 // 0 PLAINTEXT
}

// RegisterBroker says that a broker is there, with a new broker epoch.
type RegisterBroker struct {
	Broker      kafka.NodeID
	Incarnation kafka.TopicID // a UUID of the process
	BrokerEpoch int64
	Endpoints   []Endpoint
	Rack        string // "" is none
	Fenced      bool
}

// Topic makes a topic without partitions.
type Topic struct {
	Name string
	ID   kafka.TopicID
}

// Partition makes a partition or replaces it.
type Partition struct {
	Topic          kafka.TopicID
	Partition      kafka.PartitionID
	Replicas       []kafka.NodeID
	ISR            []kafka.NodeID
	Leader         kafka.NodeID // -1: none
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32
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
	Delete   bool // null value on the wire
}

// RemoveTopic removes a topic with its partitions and its configuration.
type RemoveTopic struct {
	Topic kafka.TopicID
}

// FeatureLevel sets a feature's level (metadata.version); 0 removes it.
type FeatureLevel struct {
	Name  string
	Level int16
}

// ProducerIDs hands the block of producer ids below Next to a broker (KIP-730).
type ProducerIDs struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
	Next        kafka.ProducerID
}

// AppendRecord appends frame and body.
func AppendRecord(b []byte, r Record) []byte { panic("meta: AppendRecord") }

// ParseRecord reads one record: all of b. Any bytes may be passed in. Unknown tagged fields are skipped; an unknown type
// or version is an error, since skipping it would silently give another image.
func ParseRecord(b []byte) (Record, error) { panic("meta: ParseRecord") }

type reader struct{}
