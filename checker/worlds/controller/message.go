package controller

import (
	"slices"
	"strconv"

	machine "trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// message is a request. It never changes.
type message struct {
	kind   int
	from   kafka.NodeID // who sends it, or whom it is about
	life   int64        // as the sender knows it
	born   uint8        // the process
	wrote  int64        // register
	wants  bool         // beat: to shut down
	caught bool         // beat: the sender has applied all the metadata up to heard
	heard  int64

	slot   int // of a partition
	topic  kafka.TopicID
	epoch  kafka.LeaderEpoch
	state  int32 // partition epoch
	isr    []machine.InSync
	joins  kafka.NodeID // who is new in isr, or NoNode
	done   bool         // a copy of what was answered NONE,
	became int32        // with this partition epoch
	how    int          // which election; which reassignment; min.insync.replicas
	disk   disk
	to     []kafka.NodeID
}

func incarnation(born uint8) kafka.TopicID { return kafka.TopicID{3, born} }

// message is a request as its sender makes it now.
func (w *World) message(s *State, kind, x, y int) *message {
	m := &message{kind: kind, joins: kafka.NoNode, life: kafka.NoBrokerEpoch, wrote: kafka.NoBrokerEpoch}
	switch kind {
	case expire, fence, forget:
		m.from, m.life = kafka.NodeID(x+1), s.seats[s.leader].now().Broker(kafka.NodeID(x+1)).Epoch
	case deposedFences, deposedGives:
		m.from, m.life = kafka.NodeID(y+1), s.seats[x].now().Broker(kafka.NodeID(y+1)).Epoch
	case register, beat, block, keep, ownMin:
		b := &s.brokers[x]
		m.from, m.life, m.born, m.wrote, m.wants, m.caught, m.disk = kafka.NodeID(x+1), b.life, b.births, b.wrote, b.wants, b.caught, b.disk
		if b.caught {
			m.heard = s.head.at
		}
	case grow, shrink, recovered:
		w.proposal(s, m, x, kafka.NodeID(y+1))
	case makeTopic, removeTopic:
		m.slot = x * w.cfg.Partitions
		m.topic = kafka.TopicID{1, byte(x + 1), byte(int(s.head.at) + len(s.seats[s.leader].pend))}
	case electLeaders, cancel:
		m.slot, m.how = x, y
	case relax:
		m.slot, m.how = x*w.cfg.Partitions, y
	case move:
		m.slot, m.how = x, y
		_, p := w.partition(s.seats[s.leader].now(), x)
		m.to = target(p, y)
	}
	return m
}

// proposal is what a leader asks for on top of what it has heard.
func (w *World) proposal(s *State, m *message, slot int, who kafka.NodeID) {
	t, p := w.partition(s.head.image, slot)
	m.from, m.life, m.slot, m.topic, m.epoch, m.state = p.Leader, s.brokers[p.Leader-1].life, slot, t.ID, p.LeaderEpoch, p.PartitionEpoch
	m.isr = make([]machine.InSync, 0, len(p.ISR)+1)
	for _, n := range p.ISR {
		if n == who && m.kind == shrink {
			continue
		}
		in := machine.InSync{Node: n, BrokerEpoch: kafka.NoBrokerEpoch}
		if b := s.head.image.Broker(n); b != nil {
			in.BrokerEpoch = b.Epoch
		}
		m.isr = append(m.isr, in)
	}
	if m.kind == grow {
		m.joins = who
		m.isr = append(m.isr, machine.InSync{Node: who, BrokerEpoch: s.brokers[who-1].life})
	}
}

// request is the message as the controller gets it.
func (w *World) request(m *message) machine.Request {
	named := func() []kafka.TopicPartition {
		return []kafka.TopicPartition{{Topic: topicName(m.slot / w.cfg.Partitions), Partition: kafka.PartitionID(m.slot % w.cfg.Partitions)}}
	}
	switch m.kind {
	case register:
		r := &machine.RegisterBroker{Broker: m.from, Incarnation: incarnation(m.born), PreviousEpoch: m.wrote}
		if w.cfg.Dirs {
			r.LogDirs = dirs(m.from)[m.lost():]
		}
		return r
	case beat:
		r := &machine.BrokerHeartbeat{Broker: m.from, BrokerEpoch: m.life, MetadataOffset: m.heard, WantShutDown: m.wants}
		if m.disk == failed {
			r.OfflineDirs = dirs(m.from)[:1]
		}
		return r
	case keep:
		return w.keep(m)
	case relax:
		return minISR(meta.ResourceTopic, topicName(m.slot/w.cfg.Partitions), m.how)
	case ownMin:
		return minISR(meta.ResourceBroker, brokerNames[m.from-1], 1)
	case expire, fence, deposedFences:
		return &machine.SessionExpired{Broker: m.from, BrokerEpoch: m.life}
	case grow, shrink, recovered:
		return &machine.AlterPartition{Broker: m.from, BrokerEpoch: m.life, Partitions: []machine.AlterISR{{
			Topic: m.topic, Partition: kafka.PartitionID(m.slot % w.cfg.Partitions), LeaderEpoch: m.epoch, PartitionEpoch: m.state, ISR: m.isr,
		}}}
	case electLeaders:
		if m.how == everywhere {
			return &machine.BalanceLeaders{}
		}
		return &machine.ElectLeaders{Type: machine.ElectionType(m.how), Partitions: named()}
	case move, cancel:
		return &machine.Reassign{Partitions: []machine.Reassignment{{TopicPartition: named()[0], Replicas: m.to, Cancel: m.kind == cancel}}}
	case makeTopic:
		topic := m.slot / w.cfg.Partitions
		n := machine.NewTopic{Name: topicName(topic), ID: m.topic, Partitions: -1, ReplicationFactor: -1}
		for p := range w.cfg.Partitions {
			n.Assignment = append(n.Assignment, machine.Assignment{Partition: kafka.PartitionID(p), Replicas: w.assignment(topic, p)})
		}
		return &machine.CreateTopics{Topics: []machine.NewTopic{n}}
	case removeTopic:
		return &machine.DeleteTopics{Topics: []machine.TopicRef{{Name: topicName(m.slot / w.cfg.Partitions)}}}
	case forget:
		return &machine.UnregisterBroker{Broker: m.from}
	}
	return &machine.AllocateProducerIDs{Broker: m.from, BrokerEpoch: m.life}
}

// lost is how many directories are.
func (m *message) lost() int {
	if m.disk == works {
		return 0
	}
	return 1
}

var brokerNames = [MaxBrokers]string{"1", "2", "3", "4"}

func minISR(kind int8, name string, n int) machine.Request {
	return &machine.AlterConfigs{Incremental: true, Resources: []machine.AlterResource{{
		Resource: machine.Resource{Type: kind, Name: name},
		Changes:  []machine.ConfigChange{{Name: "min.insync.replicas", Value: strconv.Itoa(n)}},
	}}}
}

// keep says of every replica of a broker that it is in the directory that works.
func (w *World) keep(m *message) machine.Request {
	r := &machine.AssignDirs{Broker: m.from, BrokerEpoch: m.life}
	for slot := range w.slots() {
		topic, p := slot/w.cfg.Partitions, slot%w.cfg.Partitions
		if slices.Contains(w.assignment(topic, p), m.from) {
			r.Replicas = append(r.Replicas, machine.ReplicaDir{
				Topic: w.ids[topic], Partition: kafka.PartitionID(p), Dir: dirs(m.from)[m.lost()],
			})
		}
	}
	return r
}

// renamed is the message with other names for brokers.
func (m *message) renamed(name meta.Renaming) *message {
	n := *m
	if n.from > 0 {
		n.from = name(m.from)
	}
	if n.joins > 0 {
		n.joins = name(m.joins)
	}
	n.isr, n.to = slices.Clone(m.isr), name.Nodes(m.to)
	for i := range n.isr {
		n.isr[i].Node = name(n.isr[i].Node)
	}
	return &n
}
