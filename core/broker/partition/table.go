package partition

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"trialog/core/broker/meter"
	"trialog/core/kafka"
)

// Table is the partitions of this broker by topic. Lookups cost no allocation.
type Table struct {
	mu     sync.RWMutex
	byName map[string]*Topic
	byID   map[kafka.TopicID]*Topic
}

// Topic is one topic's partitions on this broker; read-only once it is in the
// table.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Partitions []*Partition // by partition; nil where this broker has none
	Offline    []bool       // by partition: it lies in a log directory that failed, and is not open
	Meter      *meter.Topic // nil: nobody measures
}

// Partition is one of them, or nil.
func (t *Topic) Partition(i kafka.PartitionID) *Partition {
	if t == nil || i < 0 || int(i) >= len(t.Partitions) {
		return nil
	}
	return t.Partitions[i]
}

// Find is one of them, or why it cannot be asked: KAFKA_STORAGE_ERROR for one whose disk failed, otherwise
// UNKNOWN_TOPIC_OR_PARTITION.
func (t *Topic) Find(i kafka.PartitionID) (*Partition, kafka.ErrorCode) {
	p := t.Partition(i)
	switch {
	case p == nil && t.isOffline(i), p != nil && p.State() == Failed:
		return nil, kafka.ErrKafkaStorageError
	case p == nil || p.State() == Gone:
		return nil, kafka.ErrUnknownTopicOrPartition
	}
	return p, kafka.ErrNone
}

func (t *Topic) isOffline(i kafka.PartitionID) bool {
	return t != nil && i >= 0 && int(i) < len(t.Offline) && t.Offline[i]
}

// NewTable makes an empty table.
func NewTable() *Table {
	return &Table{byName: map[string]*Topic{}, byID: map[kafka.TopicID]*Topic{}}
}

// Topic finds by name, or nil. The name may alias a request.
func (t *Table) Topic(name []byte) *Topic {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[string(name)]
}

// TopicNamed finds by name, or nil.
func (t *Table) TopicNamed(name string) *Topic {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[name]
}

// TopicByID finds by id, or nil.
func (t *Table) TopicByID(id kafka.TopicID) *Topic {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// Put adds a topic, or replaces the one of that name.
func (t *Table) Put(topic *Topic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.byName[topic.Name]; old != nil {
		delete(t.byID, old.ID)
	}
	t.byName[topic.Name] = topic
	t.byID[topic.ID] = topic
}

// Remove takes a topic out and returns it; nil when it is not there.
func (t *Table) Remove(id kafka.TopicID) *Topic {
	t.mu.Lock()
	defer t.mu.Unlock()
	topic := t.byID[id]
	if topic == nil {
		return nil
	}
	delete(t.byID, id)
	delete(t.byName, topic.Name)
	return topic
}

// Topics is all topics, sorted by name.
func (t *Table) Topics() []*Topic {
	t.mu.RLock()
	all := make([]*Topic, 0, len(t.byName))
	for _, topic := range t.byName {
		all = append(all, topic)
	}
	t.mu.RUnlock()
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Len is how many partitions there are.
func (t *Table) Len() (n int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, topic := range t.byName {
		n += len(topic.Partitions)
	}
	return n
}

// All is all partitions, sorted by name.
func (t *Table) All() []*Partition {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var all []*Partition
	for _, topic := range t.byName {
		for _, p := range topic.Partitions {
			if p != nil {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Partition) int {
		return cmp.Or(cmp.Compare(a.name.Topic, b.name.Topic), cmp.Compare(a.name.Partition, b.name.Partition))
	})
	return all
}
