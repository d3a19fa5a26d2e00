package meta

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trialog/core/config"
	"trialog/core/kafka"
)

// Image is the whole of the metadata. A clone and its original never see each other's changes. The zero value is an
// empty cluster.
type Image struct {
	topics   []*TopicImage // by name
	ids      []*TopicImage // by id
	brokers  []*BrokerImage
	configs  []brokerConfigs
	features []FeatureLevel // by name
	nextPID  kafka.ProducerID

	// building is a topic image that this image made and nobody else knows: it is changed in place.
	building *TopicImage
}

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
	Recovering     bool           // the leader was elected uncleanly and has not yet recovered (KIP-704)
	ELR            []kafka.NodeID // not in the ISR and yet holding everything below the HW (KIP-966)
	LastKnownELR   []kafka.NodeID // with nobody in ISR and ELR: the last leader
	Adding         []kafka.NodeID // a reassignment adds these replicas,
	Removing       []kafka.NodeID // and removes these when it is complete
	Directories    []kafka.TopicID
}

// Reassigning: a reassignment is under way.
func (p *PartitionImage) Reassigning() bool { return len(p.Adding)+len(p.Removing) > 0 }

// Directory is where a node keeps its replica; zero if that is not known.
func (p *PartitionImage) Directory(node kafka.NodeID) kafka.TopicID {
	for i, n := range p.Replicas {
		if n == node && i < len(p.Directories) {
			return p.Directories[i]
		}
	}
	return kafka.TopicID{}
}

// record is the partition as one record.
func (p *PartitionImage) record(topic kafka.TopicID, id kafka.PartitionID) *Partition {
	return &Partition{Topic: topic, Partition: id, Replicas: p.Replicas, ISR: p.ISR, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
		PartitionEpoch: p.PartitionEpoch, Recovering: p.Recovering, ELR: p.ELR, LastKnownELR: p.LastKnownELR, Adding: p.Adding,
		Removing: p.Removing, Directories: p.Directories}
}

// BrokerImage is one broker; read-only.
type BrokerImage struct {
	ID          kafka.NodeID
	Incarnation kafka.TopicID
	Epoch       int64
	Endpoints   []Endpoint
	Rack        string
	Fenced      bool
	// InControlledShutdown: it still runs, and is to lead nothing and be in sync with nobody any more (KIP-841).
	InControlledShutdown bool
	LogDirs              []kafka.TopicID // those that work (KIP-858)
	Features             []Feature
}

// Active: it may lead and be in sync.
func (b *BrokerImage) Active() bool { return !b.Fenced && !b.InControlledShutdown }

// Kafka's ids of directories that are none: of a replica whose broker does not name directories, of one whose broker has
// not yet chosen a directory, and of one whose directory failed while its place was not known.
var (
	DirMigrating  = kafka.TopicID{}
	DirUnassigned = kafka.TopicID{15: 1}
	DirLost       = kafka.TopicID{15: 2}
)

// DirReserved: the id is none of a directory; it is one of Kafka's first hundred.
func DirReserved(id kafka.TopicID) bool {
	const reserved = 100
	last := id[15]
	id[15] = 0
	return id.IsZero() && last < reserved
}

// HasDir: the directory works, as far as is known.
func (b *BrokerImage) HasDir(dir kafka.TopicID) bool {
	if dir == DirLost {
		return false
	}
	return dir == DirMigrating || dir == DirUnassigned || len(b.LogDirs) == 0 || slices.Contains(b.LogDirs, dir)
}

// Endpoint is where the broker is dialed by who came through the listener of that name; its first endpoint if it has no
// such listener.
func (b *BrokerImage) Endpoint(listener string) Endpoint {
	var found Endpoint
	for i, e := range b.Endpoints {
		if i == 0 || e.Name == listener {
			found = e
		}
	}
	return found
}

// brokerConfigs is the dynamic settings of one broker, or of all.
type brokerConfigs struct {
	name  string
	pairs []config.Pair
}

// Clone is an independent copy that shares what does not change.
func (m *Image) Clone() *Image {
	c := &Image{
		topics: slices.Clone(m.topics), ids: slices.Clone(m.ids), brokers: slices.Clone(m.brokers),
		configs: slices.Clone(m.configs), features: slices.Clone(m.features), nextPID: m.nextPID,
	}
	if m.building != nil {
		c.replaceTopic(m.building.clone())
	}
	return c
}

func (t *TopicImage) clone() *TopicImage {
	c := *t
	c.Partitions = slices.Clone(t.Partitions)
	return &c
}

func compareNames(t *TopicImage, name string) int        { return strings.Compare(t.Name, name) }
func compareIDs(t *TopicImage, id kafka.TopicID) int     { return bytes.Compare(t.ID[:], id[:]) }
func compareBrokers(b *BrokerImage, id kafka.NodeID) int { return cmp.Compare(b.ID, id) }
func compareConfigs(c brokerConfigs, name string) int    { return strings.Compare(c.name, name) }
func compareFeatures(f FeatureLevel, name string) int    { return strings.Compare(f.Name, name) }
func comparePairs(p config.Pair, name string) int        { return strings.Compare(p.Name, name) }

// Topics is all topics by name; read-only.
func (m *Image) Topics() []*TopicImage { return m.topics }

// Topic finds by name; nil if there is none.
func (m *Image) Topic(name string) *TopicImage {
	if i, ok := slices.BinarySearchFunc(m.topics, name, compareNames); ok {
		return m.topics[i]
	}
	return nil
}

// TopicByID finds by id; nil if there is none.
func (m *Image) TopicByID(id kafka.TopicID) *TopicImage {
	if i, ok := slices.BinarySearchFunc(m.ids, id, compareIDs); ok {
		return m.ids[i]
	}
	return nil
}

// Colliding finds a topic whose name differs from name only in "." and "_" (kafka.TopicNamesCollide), the topic of that
// very name not counted; nil if there is none.
func (m *Image) Colliding(name string) *TopicImage {
	if !strings.ContainsAny(name, "._") {
		return nil
	}
	for _, t := range m.topics {
		if t.Name != name && kafka.TopicNamesCollide(t.Name, name) {
			return t
		}
	}
	return nil
}

// Brokers is all brokers by id; read-only.
func (m *Image) Brokers() []*BrokerImage { return m.brokers }

// Broker finds by id; nil if there is none.
func (m *Image) Broker(id kafka.NodeID) *BrokerImage {
	if i, ok := slices.BinarySearchFunc(m.brokers, id, compareBrokers); ok {
		return m.brokers[i]
	}
	return nil
}

// BrokerConfigs is the dynamic settings of a broker (by node id as text) or of all (""), sorted; read-only.
func (m *Image) BrokerConfigs(name string) []config.Pair {
	if i, ok := slices.BinarySearchFunc(m.configs, name, compareConfigs); ok {
		return m.configs[i].pairs
	}
	return nil
}

// BrokersWithConfigs is whom BrokerConfigs has settings of, sorted.
func (m *Image) BrokersWithConfigs() []string {
	names := make([]string, len(m.configs))
	for i := range m.configs {
		names[i] = m.configs[i].name
	}
	return names
}

// NextProducerID is the first producer id that no broker was given.
func (m *Image) NextProducerID() kafka.ProducerID { return m.nextPID }

// Features is the features that have a level, by name; read-only.
func (m *Image) Features() []FeatureLevel { return m.features }

// FeatureLevel is the level of a feature, 0 if it has none.
func (m *Image) FeatureLevel(name string) int16 {
	if i, ok := slices.BinarySearchFunc(m.features, name, compareFeatures); ok {
		return m.features[i].Level
	}
	return 0
}

// AppendRecords appends the records that make this image from an empty one: a snapshot.
func (m *Image) AppendRecords(dst []Record) []Record {
	for i := range m.features {
		f := m.features[i]
		dst = append(dst, &f)
	}
	for _, b := range m.brokers {
		dst = append(dst, &RegisterBroker{Broker: b.ID, Incarnation: b.Incarnation, BrokerEpoch: b.Epoch, Endpoints: b.Endpoints, Rack: b.Rack,
			Fenced: b.Fenced, InControlledShutdown: b.InControlledShutdown, LogDirs: b.LogDirs, Features: b.Features})
	}
	for _, c := range m.configs {
		for _, p := range c.pairs {
			dst = append(dst, &Config{Resource: ResourceBroker, Name: c.name, Key: p.Name, Value: p.Value})
		}
	}
	for _, t := range m.topics {
		dst = append(dst, &Topic{Name: t.Name, ID: t.ID})
		for _, p := range t.Configs {
			dst = append(dst, &Config{Resource: ResourceTopic, Name: t.Name, Key: p.Name, Value: p.Value})
		}
		for i := range t.Partitions {
			dst = append(dst, t.Partitions[i].record(t.ID, kafka.PartitionID(i)))
		}
	}
	if m.nextPID > 0 {
		dst = append(dst, &ProducerIDs{Broker: kafka.NoNode, BrokerEpoch: kafka.NoBrokerEpoch, Next: m.nextPID})
	}
	return dst
}

// AppendTo appends a canonical binary form: equal images, equal bytes.
func (m *Image) AppendTo(b []byte) []byte {
	for _, r := range m.AppendRecords(nil) {
		b = AppendRecord(b, r)
	}
	return b
}

// String is one line for each feature, broker, topic, setting and partition, sorted.
func (m *Image) String() string {
	var b strings.Builder
	for _, r := range m.AppendRecords(nil) {
		switch r := r.(type) {
		case *Partition:
			fmt.Fprintf(&b, "  %d %s\n", r.Partition, r.state())
		case *Config:
			indent := ""
			if r.Resource == ResourceTopic {
				indent = "  "
			}
			fmt.Fprintf(&b, "%s%s=%s\n", indent, r.Key, r.Value)
		case *ProducerIDs:
			fmt.Fprintf(&b, "next producer id %d\n", r.Next)
		default:
			fmt.Fprintln(&b, r)
		}
	}
	return b.String()
}
