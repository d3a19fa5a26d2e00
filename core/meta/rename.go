package meta

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trialog/core/kafka"
)

// Renaming is other names for brokers: no two get the same.
type Renaming func(kafka.NodeID) kafka.NodeID

// Renamed is the image that would be if the brokers had had other names from the beginning.
func (m *Image) Renamed(to Renaming) *Image {
	c := &Image{features: slices.Clone(m.features), nextPID: m.nextPID}
	for _, b := range m.brokers {
		n := *b
		n.ID = to(b.ID)
		c.brokers = append(c.brokers, &n)
	}
	slices.SortFunc(c.brokers, func(a, b *BrokerImage) int { return compareBrokers(a, b.ID) })
	for _, k := range m.configs {
		c.configs = append(c.configs, brokerConfigs{name: to.text(k.name), pairs: k.pairs})
	}
	slices.SortFunc(c.configs, func(a, b brokerConfigs) int { return strings.Compare(a.name, b.name) })
	for _, t := range m.topics {
		n := t.clone()
		for i := range n.Partitions {
			n.Partitions[i] = to.partition(n.Partitions[i])
		}
		c.topics = append(c.topics, n)
	}
	c.ids = slices.Clone(c.topics)
	slices.SortFunc(c.ids, func(a, b *TopicImage) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return c
}

// Record is a record with the brokers in it renamed.
func (to Renaming) Record(r Record) Record {
	switch r := r.(type) {
	case *RegisterBroker:
		n := *r
		n.Broker = to(r.Broker)
		return &n
	case *BrokerChange:
		n := *r
		n.Broker = to(r.Broker)
		return &n
	case *UnregisterBroker:
		n := *r
		n.Broker = to(r.Broker)
		return &n
	case *ProducerIDs:
		n := *r
		n.Broker = to.node(r.Broker)
		return &n
	case *Config:
		n := *r
		if r.Resource == ResourceBroker {
			n.Name = to.text(r.Name)
		}
		return &n
	case *Partition:
		n := *r
		n.Leader = to.node(r.Leader)
		for _, list := range []*[]kafka.NodeID{&n.Replicas, &n.ISR, &n.ELR, &n.LastKnownELR, &n.Adding, &n.Removing} {
			*list = to.Nodes(*list)
		}
		return &n
	case *PartitionChange:
		n := *r
		n.Leader = to.node(r.Leader)
		for _, list := range []*[]kafka.NodeID{&n.Replicas, &n.ISR, &n.ELR, &n.LastKnownELR, &n.Adding, &n.Removing} {
			*list = to.Nodes(*list)
		}
		return &n
	case *Topic, *RemoveTopic, *FeatureLevel:
		return r
	}
	panic(fmt.Sprintf("meta: rename in %T", r))
}

// Nodes is a list renamed, in its order; nil stays nil.
func (to Renaming) Nodes(list []kafka.NodeID) []kafka.NodeID {
	if list == nil {
		return nil
	}
	out := make([]kafka.NodeID, len(list))
	for i, n := range list {
		out[i] = to(n)
	}
	return out
}

// node leaves negative ids, which name nobody.
func (to Renaming) node(n kafka.NodeID) kafka.NodeID {
	if n < 0 {
		return n
	}
	return to(n)
}

// text renames a node id that is written as text; "" is all brokers.
func (to Renaming) text(name string) string {
	if n, err := strconv.ParseInt(name, 10, 32); err == nil {
		return strconv.Itoa(int(to.node(kafka.NodeID(n))))
	}
	return name
}

func (to Renaming) partition(p PartitionImage) PartitionImage {
	p.Leader = to.node(p.Leader)
	for _, list := range []*[]kafka.NodeID{&p.Replicas, &p.ISR, &p.ELR, &p.LastKnownELR, &p.Adding, &p.Removing} {
		*list = to.Nodes(*list)
	}
	return p
}
