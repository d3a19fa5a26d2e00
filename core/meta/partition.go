package meta

import (
	"fmt"

	"trialog/core/kafka"
)

// Partition makes a partition or replaces it.
type Partition struct {
	Topic          kafka.TopicID
	Partition      kafka.PartitionID
	Replicas       []kafka.NodeID // the preferred leader first
	ISR            []kafka.NodeID
	Leader         kafka.NodeID // -1: none
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32
	Recovering     bool            // the leader was elected uncleanly and has not yet recovered (KIP-704)
	ELR            []kafka.NodeID  // eligible leader replicas (KIP-966)
	LastKnownELR   []kafka.NodeID  // with nobody in ISR and ELR: the last leader
	Adding         []kafka.NodeID  // by a reassignment
	Removing       []kafka.NodeID  // by a reassignment, when it is complete
	Directories    []kafka.TopicID // of each replica; nil: not known
}

// Type is PartitionRecord.
func (*Partition) Type() Type { return TypePartition }

func (m *Partition) version() uint64 {
	switch {
	case len(m.ELR)+len(m.LastKnownELR) > 0:
		return 2
	case len(m.Directories) > 0:
		return 1
	}
	return 0
}

func (m *Partition) appendBody(b []byte) []byte {
	b = appendInt32(b, m.Partition)
	b = append(b, m.Topic[:]...)
	b = appendNodes(appendNodes(b, m.Replicas), m.ISR)
	b = appendNodes(appendNodes(b, m.Removing), m.Adding)
	b = appendInt32(appendInt32(appendInt32(b, m.Leader), m.LeaderEpoch), m.PartitionEpoch)
	if m.version() >= 1 {
		b = appendUUIDs(b, m.Directories)
	}
	var tags tagged
	if m.Recovering {
		tags.add(0, []byte{1})
	}
	if len(m.ELR) > 0 {
		tags.nodes(1, m.ELR)
	}
	if len(m.LastKnownELR) > 0 {
		tags.nodes(2, m.LastKnownELR)
	}
	return tags.appendTo(b)
}

func (m *Partition) parseBody(r *reader, version uint64) {
	m.Partition, m.Topic = r.int32(), r.uuid()
	m.Replicas, m.ISR = r.nodes(), r.nodes()
	m.Removing, m.Adding = r.nodes(), r.nodes()
	m.Leader, m.LeaderEpoch, m.PartitionEpoch = r.int32(), r.int32(), r.int32()
	if version >= 1 {
		m.Directories = someUUIDs(r.uuids())
	}
	r.tagged(func(tag uint64, field *reader) {
		switch {
		case tag == 0:
			m.Recovering = field.bool()
		case tag == 1 && version >= 2:
			m.ELR = someNodes(field.maybeNodes())
		case tag == 2 && version >= 2:
			m.LastKnownELR = someNodes(field.maybeNodes())
		}
	})
}

// someNodes is nil for an empty list.
func someNodes(nodes []kafka.NodeID) []kafka.NodeID {
	if len(nodes) == 0 {
		return nil
	}
	return nodes
}

// state is leader, replicas and epochs in one line; what is empty is left out, but for the ISR.
func (m *Partition) state() string {
	s := fmt.Sprintf("leader=%d e%d replicas=%v isr=%v partition-epoch=%d", m.Leader, m.LeaderEpoch, m.Replicas, m.ISR, m.PartitionEpoch)
	if m.Recovering {
		s += " recovering"
	}
	for _, l := range []struct {
		name  string
		nodes []kafka.NodeID
	}{{"elr", m.ELR}, {"last-known-elr", m.LastKnownELR}, {"adding", m.Adding}, {"removing", m.Removing}} {
		if len(l.nodes) > 0 {
			s += fmt.Sprintf(" %s=%v", l.name, l.nodes)
		}
	}
	if len(m.Directories) > 0 {
		s += fmt.Sprintf(" dirs=%v", m.Directories)
	}
	return s
}

// String is one line.
func (m *Partition) String() string {
	return fmt.Sprintf("partition %s-%d %s", m.Topic, m.Partition, m.state())
}

// NoLeaderChange in a PartitionChange leaves leader and leader epoch as they are.
const NoLeaderChange kafka.NodeID = -2

// PartitionChange changes a partition and raises its partition epoch. A list that is nil does not change; one that is
// empty and not nil becomes empty.
type PartitionChange struct {
	Topic        kafka.TopicID
	Partition    kafka.PartitionID
	ISR          []kafka.NodeID
	Leader       kafka.NodeID // -1: none; NoLeaderChange; any other, the same one included, raises the leader epoch
	Replicas     []kafka.NodeID
	Removing     []kafka.NodeID
	Adding       []kafka.NodeID
	Recovering   Turn // Becomes, Unchanged, or Ends
	ELR          []kafka.NodeID
	LastKnownELR []kafka.NodeID
	Directories  []kafka.TopicID
}

// Type is PartitionChangeRecord.
func (*PartitionChange) Type() Type { return TypePartitionChange }

func (m *PartitionChange) version() uint64 {
	switch {
	case m.ELR != nil || m.LastKnownELR != nil:
		return 2
	case m.Directories != nil:
		return 1
	}
	return 0
}

func (m *PartitionChange) appendBody(b []byte) []byte {
	b = append(appendInt32(b, m.Partition), m.Topic[:]...)
	var tags tagged
	tags.nodes(0, m.ISR)
	if m.Leader != NoLeaderChange {
		tags.add(1, appendInt32(nil, m.Leader))
	}
	tags.nodes(2, m.Replicas)
	tags.nodes(3, m.Removing)
	tags.nodes(4, m.Adding)
	switch m.Recovering { // Kafka: 0 recovered, 1 recovering, -1 unchanged
	case Becomes:
		tags.add(5, []byte{1})
	case Ends:
		tags.add(5, []byte{0})
	}
	tags.nodes(6, m.ELR)
	tags.nodes(7, m.LastKnownELR)
	if m.Directories != nil {
		tags.add(8, appendUUIDs(nil, m.Directories))
	}
	return tags.appendTo(b)
}

func (m *PartitionChange) parseBody(r *reader, version uint64) {
	m.Partition, m.Topic, m.Leader = r.int32(), r.uuid(), NoLeaderChange
	r.tagged(func(tag uint64, field *reader) {
		switch {
		case tag == 0:
			m.ISR = field.maybeNodes()
		case tag == 1:
			m.Leader = field.int32()
		case tag == 2:
			m.Replicas = field.maybeNodes()
		case tag == 3:
			m.Removing = field.maybeNodes()
		case tag == 4:
			m.Adding = field.maybeNodes()
		case tag == 5:
			m.Recovering = recoveryTurn(field)
		case tag == 6 && version >= 2:
			m.ELR = field.maybeNodes()
		case tag == 7 && version >= 2:
			m.LastKnownELR = field.maybeNodes()
		case tag == 8 && version >= 1:
			if len(field.b) > 0 && field.b[0] == 0 {
				field.take(1)
				return
			}
			m.Directories = field.uuids()
		}
	})
}

func recoveryTurn(field *reader) Turn {
	switch v := field.int8(); v {
	case 0:
		return Ends
	case 1:
		return Becomes
	case -1:
	default:
		field.fail(fmt.Errorf("%d is no recovery state", v))
	}
	return Unchanged
}

// Merge is what the change makes of a partition.
func (m *PartitionChange) Merge(p *PartitionImage) *Partition {
	n := p.record(m.Topic, m.Partition)
	n.PartitionEpoch++
	if m.Leader != NoLeaderChange {
		n.Leader = m.Leader
		n.LeaderEpoch++
	}
	if m.Recovering != Unchanged {
		n.Recovering = m.Recovering == Becomes
	}
	for _, l := range []struct {
		from []kafka.NodeID
		to   *[]kafka.NodeID
	}{{m.ISR, &n.ISR}, {m.Replicas, &n.Replicas}, {m.Removing, &n.Removing}, {m.Adding, &n.Adding}, {m.ELR, &n.ELR}, {m.LastKnownELR, &n.LastKnownELR}} {
		if l.from != nil {
			*l.to = someNodes(l.from)
		}
	}
	if m.Directories != nil {
		n.Directories = someUUIDs(m.Directories)
	}
	return n
}

// String is one line, of what changes.
func (m *PartitionChange) String() string {
	s := fmt.Sprintf("change %s-%d", m.Topic, m.Partition)
	if m.Leader != NoLeaderChange {
		s += fmt.Sprintf(" leader=%d", m.Leader)
	}
	for _, l := range []struct {
		name  string
		nodes []kafka.NodeID
	}{{"replicas", m.Replicas}, {"isr", m.ISR}, {"elr", m.ELR}, {"last-known-elr", m.LastKnownELR}, {"adding", m.Adding}, {"removing", m.Removing}} {
		if l.nodes != nil {
			s += fmt.Sprintf(" %s=%v", l.name, l.nodes)
		}
	}
	switch m.Recovering {
	case Becomes:
		s += " recovering"
	case Ends:
		s += " recovered"
	}
	if m.Directories != nil {
		s += fmt.Sprintf(" dirs=%v", m.Directories)
	}
	return s
}
