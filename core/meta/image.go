package meta

import (
	"trialog/core/config"
	"trialog/core/kafka"
)

// Image is the whole of the metadata. Clone is cheap; a clone and its original never see each other's changes. The zero
// value is an empty cluster.
type Image struct{}

// TopicImage is one topic; read-only.
type TopicImage struct {
	Name       string
	ID         kafka.TopicID
	Partitions []PartitionImage // by partition
	Configs    []config.Pair    // sorted
}

// PartitionImage is one partition; read-only.
type PartitionImage struct {
	Replicas       []kafka.NodeID
	ISR            []kafka.NodeID
	Leader         kafka.NodeID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32
}

// BrokerImage is one broker; read-only.
type BrokerImage struct {
	ID          kafka.NodeID
	Incarnation kafka.TopicID
	Epoch       int64
	Endpoints   []Endpoint
	Rack        string
	Fenced      bool
}

// Apply changes the image. An error (a record that does not fit, such as a partition of an unknown topic) leaves the
// image as it was; in a log that a controller wrote it is corruption.
func (m *Image) Apply(r Record) error { panic("meta: Apply") }

// Clone is an independent copy that shares what does not change.
func (m *Image) Clone() *Image { panic("meta: Clone") }

// Topics is all topics by name; read-only.
func (m *Image) Topics() []*TopicImage { panic("meta: Topics") }

// Topic finds by name; nil if there is none.
func (m *Image) Topic(name string) *TopicImage { panic("meta: Topic") }

// TopicByID finds by id; nil if there is none.
func (m *Image) TopicByID(id kafka.TopicID) *TopicImage { panic("meta: TopicByID") }

// Colliding finds a topic whose name differs from name only in "." and "_" (kafka.TopicNamesCollide); nil if there is
// none, the topic of that very name not counted.
func (m *Image) Colliding(name string) *TopicImage { panic("meta: Colliding") }

// Brokers is all brokers by id; read-only.
func (m *Image) Brokers() []*BrokerImage { panic("meta: Brokers") }

// Broker finds by id; nil if there is none.
func (m *Image) Broker(id kafka.NodeID) *BrokerImage { panic("meta: Broker") }

// BrokerConfigs is the dynamic settings of a broker (by node id as text) or of all ("").
func (m *Image) BrokerConfigs(name string) []config.Pair { panic("meta: BrokerConfigs") }

// NextProducerID is the first producer id that no broker was given.
func (m *Image) NextProducerID() kafka.ProducerID { panic("meta: NextProducerID") }

// FeatureLevel is the level of a feature, 0 if it has none.
func (m *Image) FeatureLevel(name string) int16 { panic("meta: FeatureLevel") }

// AppendTo appends a canonical binary form: equal images, equal bytes.
func (m *Image) AppendTo(b []byte) []byte { panic("meta: AppendTo") }

// AppendRecords appends the records that make this image from an empty one: a snapshot.
func (m *Image) AppendRecords(dst []Record) []Record { panic("meta: AppendRecords") }

// String is one line for each broker, topic and partition, sorted.
func (m *Image) String() string { panic("meta: String") }
