package meta

import (
	"fmt"
	"slices"

	"trialog/core/config"
	"trialog/core/kafka"
)

// Apply changes the image. An error (a record that does not fit, such as a partition of an unknown topic) leaves the
// image as it was; in a log that a controller wrote it is corruption.
func (m *Image) Apply(r Record) error {
	var err error
	switch r := r.(type) {
	case *RegisterBroker:
		err = m.registerBroker(r)
	case *Topic:
		err = m.addTopic(r)
	case *Partition:
		err = m.setPartition(r)
	case *PartitionChange:
		err = m.changePartition(r)
	case *BrokerChange:
		err = m.changeBroker(r)
	case *UnregisterBroker:
		err = m.unregisterBroker(r)
	case *Config:
		err = m.setConfig(r)
	case *RemoveTopic:
		err = m.removeTopic(r)
	case *FeatureLevel:
		m.setFeature(r)
	case *ProducerIDs:
		err = m.giveProducerIDs(r)
	default:
		panic(fmt.Sprintf("meta: apply %T", r))
	}
	if err != nil {
		return fmt.Errorf("meta: apply %s: %w", r, err)
	}
	return nil
}

func (m *Image) registerBroker(r *RegisterBroker) error {
	if r.Broker < 0 {
		return fmt.Errorf("no node id")
	}
	b := &BrokerImage{ID: r.Broker, Incarnation: r.Incarnation, Epoch: r.BrokerEpoch, Endpoints: r.Endpoints, Rack: r.Rack, Fenced: r.Fenced,
		InControlledShutdown: r.InControlledShutdown, LogDirs: r.LogDirs, Features: r.Features}
	i, ok := slices.BinarySearchFunc(m.brokers, r.Broker, compareBrokers)
	if !ok {
		m.brokers = slices.Insert(m.brokers, i, b)
		return nil
	}
	if old := m.brokers[i].Epoch; r.BrokerEpoch < old {
		return fmt.Errorf("broker epoch was %d", old)
	}
	m.brokers[i] = b
	return nil
}

// brokerOf is the place of a broker, in the life that the record means.
func (m *Image) brokerOf(id kafka.NodeID, epoch int64) (int, error) {
	i, ok := slices.BinarySearchFunc(m.brokers, id, compareBrokers)
	if !ok {
		return 0, fmt.Errorf("no such broker")
	}
	if now := m.brokers[i].Epoch; now != epoch {
		return 0, fmt.Errorf("broker epoch is %d", now)
	}
	return i, nil
}

func (m *Image) changeBroker(r *BrokerChange) error {
	i, err := m.brokerOf(r.Broker, r.BrokerEpoch)
	if err != nil {
		return err
	}
	b := *m.brokers[i]
	if r.Fenced != Unchanged {
		b.Fenced = r.Fenced == Becomes
	}
	b.InControlledShutdown = b.InControlledShutdown || r.InControlledShutdown
	if len(r.LogDirs) > 0 {
		b.LogDirs = r.LogDirs
	}
	m.brokers[i] = &b
	return nil
}

func (m *Image) unregisterBroker(r *UnregisterBroker) error {
	i, err := m.brokerOf(r.Broker, r.BrokerEpoch)
	if err == nil {
		m.brokers = slices.Delete(m.brokers, i, i+1)
	}
	return err
}

func (m *Image) addTopic(r *Topic) error {
	if err := kafka.CheckTopicName(r.Name); err != nil {
		return err
	}
	if r.ID.IsZero() {
		return fmt.Errorf("no topic id")
	}
	if m.Topic(r.Name) != nil || m.TopicByID(r.ID) != nil {
		return fmt.Errorf("the name or the id is in use")
	}
	t := &TopicImage{Name: r.Name, ID: r.ID}
	i, _ := slices.BinarySearchFunc(m.topics, t.Name, compareNames)
	m.topics = slices.Insert(m.topics, i, t)
	i, _ = slices.BinarySearchFunc(m.ids, t.ID, compareIDs)
	m.ids = slices.Insert(m.ids, i, t)
	m.building = t
	return nil
}

// replaceTopic puts another image of a topic in place.
func (m *Image) replaceTopic(t *TopicImage) {
	i, _ := slices.BinarySearchFunc(m.topics, t.Name, compareNames)
	m.topics[i] = t
	i, _ = slices.BinarySearchFunc(m.ids, t.ID, compareIDs)
	m.ids[i] = t
}

// changed is a topic image that may be changed: t itself if nobody else knows it, else a copy in its place.
func (m *Image) changed(t *TopicImage) *TopicImage {
	if t != m.building {
		t = t.clone()
		m.replaceTopic(t)
		m.building = t
	}
	return t
}

func (m *Image) setPartition(r *Partition) error {
	t := m.TopicByID(r.Topic)
	if t == nil {
		return fmt.Errorf("no such topic")
	}
	n := kafka.PartitionID(len(t.Partitions))
	if r.Partition < 0 || r.Partition > n {
		return fmt.Errorf("the topic has %d partitions", n)
	}
	if err := checkReplicas(r); err != nil {
		return err
	}
	p := PartitionImage{Replicas: r.Replicas, ISR: r.ISR, Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch,
		Recovering: r.Recovering, ELR: r.ELR, LastKnownELR: r.LastKnownELR, Adding: r.Adding, Removing: r.Removing, Directories: r.Directories}
	if r.Partition == n {
		t = m.changed(t)
		t.Partitions = append(t.Partitions, p)
		return nil
	}
	if old := t.Partitions[r.Partition]; p.LeaderEpoch < old.LeaderEpoch || p.PartitionEpoch < old.PartitionEpoch {
		return fmt.Errorf("leader epoch was %d, partition epoch %d", old.LeaderEpoch, old.PartitionEpoch)
	}
	m.changed(t).Partitions[r.Partition] = p
	return nil
}

// changePartition raises the partition epoch, and with a leader the leader epoch.
func (m *Image) changePartition(r *PartitionChange) error {
	t := m.TopicByID(r.Topic)
	if t == nil || r.Partition < 0 || int(r.Partition) >= len(t.Partitions) {
		return fmt.Errorf("no such partition")
	}
	return m.setPartition(r.Merge(&t.Partitions[r.Partition]))
}

// checkReplicas is M3.
func checkReplicas(r *Partition) error {
	if len(r.Replicas) == 0 || r.LeaderEpoch < 0 || r.PartitionEpoch < 0 {
		return fmt.Errorf("no replicas, or negative epochs")
	}
	for i, n := range r.Replicas {
		if n < 0 || slices.Contains(r.Replicas[:i], n) {
			return fmt.Errorf("replica %d is negative or there twice", n)
		}
	}
	for i, n := range r.ISR {
		if !slices.Contains(r.Replicas, n) || slices.Contains(r.ISR[:i], n) {
			return fmt.Errorf("%d in the isr is no replica or there twice", n)
		}
	}
	for i, n := range r.ELR {
		if !slices.Contains(r.Replicas, n) || slices.Contains(r.ELR[:i], n) || slices.Contains(r.ISR, n) {
			return fmt.Errorf("%d in the elr is no replica, there twice, or in the isr", n)
		}
	}
	if len(r.Directories) > 0 && len(r.Directories) != len(r.Replicas) {
		return fmt.Errorf("%d replicas in %d directories", len(r.Replicas), len(r.Directories))
	}
	if r.Leader != kafka.NoNode && !slices.Contains(r.ISR, r.Leader) {
		return fmt.Errorf("the leader is not in the isr")
	}
	return nil
}

func (m *Image) setConfig(r *Config) error {
	switch r.Resource {
	case ResourceTopic:
		t := m.Topic(r.Name)
		if t == nil {
			return fmt.Errorf("no such topic")
		}
		t = m.changed(t)
		t.Configs = setPair(t.Configs, r)
	case ResourceBroker:
		i, ok := slices.BinarySearchFunc(m.configs, r.Name, compareConfigs)
		if !ok {
			m.configs = slices.Insert(m.configs, i, brokerConfigs{name: r.Name})
		}
		if m.configs[i].pairs = setPair(m.configs[i].pairs, r); len(m.configs[i].pairs) == 0 {
			m.configs = slices.Delete(m.configs, i, i+1)
		}
	default:
		return fmt.Errorf("resource type not known")
	}
	return nil
}

// setPair is a new list with one setting changed.
func setPair(pairs []config.Pair, r *Config) []config.Pair {
	pairs = slices.Clone(pairs)
	i, ok := slices.BinarySearchFunc(pairs, r.Key, comparePairs)
	switch {
	case ok && r.Delete:
		return slices.Delete(pairs, i, i+1)
	case ok:
		pairs[i].Value = r.Value
	case !r.Delete:
		return slices.Insert(pairs, i, config.Pair{Name: r.Key, Value: r.Value})
	}
	return pairs
}

func (m *Image) removeTopic(r *RemoveTopic) error {
	i, ok := slices.BinarySearchFunc(m.ids, r.Topic, compareIDs)
	if !ok {
		return fmt.Errorf("no such topic")
	}
	name := m.ids[i].Name
	m.ids = slices.Delete(m.ids, i, i+1)
	i, _ = slices.BinarySearchFunc(m.topics, name, compareNames)
	m.topics = slices.Delete(m.topics, i, i+1)
	if m.building != nil && m.building.Name == name {
		m.building = nil
	}
	return nil
}

func (m *Image) setFeature(r *FeatureLevel) {
	i, ok := slices.BinarySearchFunc(m.features, r.Name, compareFeatures)
	switch {
	case r.Level == 0 && ok:
		m.features = slices.Delete(m.features, i, i+1)
	case r.Level == 0:
	case ok:
		m.features[i] = *r
	default:
		m.features = slices.Insert(m.features, i, *r)
	}
}

func (m *Image) giveProducerIDs(r *ProducerIDs) error {
	if r.Next < m.nextPID {
		return fmt.Errorf("the next producer id was %d", m.nextPID)
	}
	m.nextPID = r.Next
	return nil
}
