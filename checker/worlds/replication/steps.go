package replication

import (
	"fmt"
	"slices"

	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/replica"
)

// take takes in the answer to the last fetch, if there is one.
func (s *State) take(i int) {
	if f := s.nodes[i].answer; f != nil {
		s.own(i).answer = nil
		s.takeIn(i, f)
	}
}

func (s *State) takeIn(i int, f *fetch) {
	n := s.machine(i)
	var mine replica.EpochEnd
	mine.Epoch, mine.End = n.epochs.EndOffsetFor(f.answer.Ours.Epoch, n.leo())
	s.act(i, n.m.FetchAnswered(f.ask, f.answer, mine, nil), f)
}

// ask sends the next fetch, which is answered at once.
func (s *State) ask(i int) {
	if !s.mayAsk(i) {
		return
	}
	n := s.own(i)
	if ask, ok := n.m.NextFetch(n.epochs.LatestEpoch(), n.life); ok {
		f := fetch{at: n.m.LeaderID(), ask: ask}
		s.answer(&f)
		n.answer = &f
	}
}

// answer has a broker answer a fetch.
func (s *State) answer(f *fetch) {
	i := int(f.at - 1)
	l := s.machine(i)
	var ours replica.EpochEnd
	ours.Epoch, ours.End = l.epochs.EndOffsetFor(f.ask.LastEpoch, l.leo())
	var effects []replica.Effect
	f.answer, effects = l.m.Fetched(now, f.ask, ours, nil)
	f.answered = true
	if f.answer.Code == kafka.ErrNone && !f.answer.Diverging {
		f.records = l.log[f.ask.Offset:len(l.log):len(l.log)]
	}
	s.markAnswer(&f.answer)
	s.act(i, effects, nil)
}

// settleLast is what becomes of the last fetch before its broker hears something new or dies.
func (s *State) settleLast(i, how int) {
	if how == untaken {
		return
	}
	s.take(i)
	if how == asked && s.mayAsk(i) {
		n := s.own(i)
		if ask, ok := n.m.NextFetch(n.epochs.LatestEpoch(), n.life); ok {
			n.late = &fetch{at: n.m.LeaderID(), ask: ask}
		}
	}
}

// hear applies the metadata up to a moment.
func (s *State) hear(i, upTo int) {
	s.seen[i] = upTo
	v := s.views[upTo-1]
	p := &v.partition
	id := kafka.NodeID(i + 1)
	if p.LeaderEpoch <= s.nodes[i].m.Epoch() {
		if s.nodes[i].m.Role() == replica.Leader {
			s.act(i, s.machine(i).m.Assigned(now, replica.Assignment{
				PartitionEpoch: p.PartitionEpoch, Replicas: p.Replicas, ISR: p.ISR, Brokers: v.brokers,
			}, nil), nil)
		}
		return
	}
	n := s.machine(i)
	switch {
	case p.Leader == id && !slices.Contains(p.ISR, id):
		panic(fmt.Sprintf("the controller elects %d, which is not in its ISR %v", id, p.ISR))
	case p.Leader == id:
		n.epochs.Assign(p.LeaderEpoch, n.leo())
		s.act(i, n.m.BecomeLeader(now, replica.Leadership{
			Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Replicas: p.Replicas, ISR: p.ISR, Brokers: v.brokers, LEO: n.leo(),
			Flushed: n.leo(), HW: n.hw,
		}, nil), nil)
	default:
		s.act(i, n.m.BecomeFollower(now, replica.Following{
			Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Leader: p.Leader, LEO: n.leo(), Flushed: n.leo(), HW: n.hw,
		}, nil), nil)
	}
	n.hw = 0
}

func (s *State) proposalArrives(x, y int) {
	n := s.own(x)
	n.alters = slices.Clone(n.alters)
	n.alters[y].answered, n.alters[y].answer = true, s.propose(x, &n.alters[y].ask)
}

// propose has the controller decide on a proposal.
func (s *State) propose(x int, ask *replica.Effect) replica.Altered {
	req := controller.AlterISR{Topic: topicID, LeaderEpoch: ask.Epoch, PartitionEpoch: ask.PartitionEpoch}
	for _, m := range ask.ISR {
		req.ISR = append(req.ISR, controller.InSync{Node: m.Node, BrokerEpoch: m.BrokerEpoch})
	}
	r := s.decideMarked(&controller.AlterPartition{Broker: kafka.NodeID(x + 1), BrokerEpoch: s.nodes[x].life, Partitions: []controller.AlterISR{req}}).(*controller.AlterPartitionResponse)
	if r.Code != kafka.ErrNone {
		return replica.Altered{Code: r.Code, Asked: ask.PartitionEpoch}
	}
	a := r.Partitions[0]
	return replica.Altered{Code: a.Code, Asked: ask.PartitionEpoch, Epoch: a.LeaderEpoch, PartitionEpoch: a.PartitionEpoch, ISR: a.ISR}
}

// elect makes a replica the first of the assignment, and asks for the preferred leader.
func (s *State) elect(id kafka.NodeID) {
	tp := kafka.TopicPartition{Topic: "t"}
	if order := s.now().partition.Replicas; order[0] != id {
		order = append([]kafka.NodeID{id}, slices.DeleteFunc(slices.Clone(order), func(n kafka.NodeID) bool { return n == id })...)
		s.decide(&controller.Reassign{Partitions: []controller.Reassignment{{TopicPartition: tp, Replicas: order}}})
	}
	s.decideMarked(&controller.ElectLeaders{Type: controller.Preferred, Partitions: []kafka.TopicPartition{tp}})
}

// die ends a process; what was on its way to or from it is lost, but for answers that it has sent.
func (s *State) die(i int) {
	n := s.machine(i)
	n.up = false
	n.hw = min(n.m.HW(), n.leo())
	n.m = replica.New(replica.Config{Node: kafka.NodeID(i + 1), FlushMessages: replica.NoFlushPolicy, FlushMs: replica.NoFlushPolicy})
	n.answer, n.late, n.alters = nil, nil, nil
	s.seen[i] = 0
	for f := range s.nodes {
		if s.nodes[f] != nil && s.nodes[f].late != nil && !s.nodes[f].late.answered && s.nodes[f].late.at == kafka.NodeID(i+1) {
			s.own(f).late = nil
		}
	}
}

// restart brings a process back. It registers, and has heard nothing yet.
func (s *State) restart(w *World, x int) {
	id := kafka.NodeID(x + 1)
	r := s.decideMarked(&controller.RegisterBroker{
		Broker: id, Incarnation: kafka.TopicID{3, byte(x), byte(s.now().registered)}, PreviousEpoch: kafka.NoBrokerEpoch,
	}).(*controller.RegisterBrokerResponse)
	n := s.own(x)
	n.up, n.life, n.m = true, r.BrokerEpoch, replica.New(w.replicaConfig(id))
}

// act does what the machine of a node wants done. The node and its machine are the state's own.
func (s *State) act(i int, effects []replica.Effect, f *fetch) {
	n := s.nodes[i]
	for _, e := range effects {
		s.markEffect(n, &e)
		switch e.Kind {
		case replica.ProposeISR:
			n.alters = append(n.alters[:len(n.alters):len(n.alters)], alter{ask: e})
			if len(n.alters) > 2 {
				n.alters = n.alters[1:]
			}
		case replica.Truncate:
			n.log = n.log[:e.Offset:e.Offset]
			n.epochs.TruncateFromEnd(e.Offset)
			n.m.Truncated(e.Offset)
		case replica.Restart:
			panic("nothing is ever deleted here, and a log begins anew")
		case replica.AppendFetched:
			for _, r := range f.records {
				n.epochs.Assign(r.epoch, n.leo())
				n.log = append(n.log[:len(n.log):len(n.log)], r)
			}
			s.act(i, n.m.FollowerAppended(now, n.leo(), f.answer.HW, nil), nil)
		}
	}
	s.noteShown(n)
}

// noteShown remembers what was committed in the eyes of others: what a leader shows to consumers. What acks=all is told is
// among it.
func (s *State) noteShown(n *node) {
	if n.m.Role() != replica.Leader {
		return
	}
	for o := range n.m.HW() {
		switch {
		case int(o) < len(s.shown) && s.shown[o] != n.log[o]:
			s.wrong = fmt.Sprintf("offset %d was shown as m%d and as m%d", o, s.shown[o].id, n.log[o].id)
		case int(o) == len(s.shown):
			s.shown = append(s.shown[:o:o], n.log[o])
		}
	}
}
