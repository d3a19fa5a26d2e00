package producer

import (
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/replica"
)

// Branches that a step may go through.
const (
	didAppend = iota
	didDuplicate
	didDuplicateOfFormerLeader
	didOutOfOrder
	didFence
	didRefuseNotLeader
	didRefuseISR
	didAck
	didAckTooFew
	didFailWaiting
	didFetchRecords
	didFetchNothing
	didFetchRefused
	didTruncate
	didRebuild
	didISR
	didISRRefused
	didLoseTail
	didRetry
	didOutOfOrderRetry
	didDial
	didEndFailed
	didEndUnknown
	didGiveUp
)

var branchNames = []string{
	"broker: a batch is appended", "broker: a duplicate is recognised", "broker: one of a former leader, too",
	"broker: OUT_OF_ORDER_SEQUENCE_NUMBER", "broker: INVALID_PRODUCER_EPOCH", "broker: NOT_LEADER_OR_FOLLOWER", "broker: NOT_ENOUGH_REPLICAS",
	"broker: a batch is acked", "broker: NOT_ENOUGH_REPLICAS_AFTER_APPEND", "broker: it led when the batch arrived",
	"fetch: records", "fetch: nothing new", "fetch: refused", "fetch: the logs part", "log: producers are built anew", "isr: changed",
	"isr: proposal refused", "log: a tail is lost", "client: it will be sent again", "client: out of order behind another",
	"client: no connection", "client: a batch failed", "client: a batch is in doubt", "client: the identity is given up"}

// Branches names them.
func (w *World) Branches() []string { return branchNames }

func (s *State) took(branch int) { s.branches |= 1 << branch }

// own is a copy of a broker for this state alone, with a machine of its own.
func (s *State) own(i int) *node {
	n := *s.nodes[i]
	n.m = n.m.Clone()
	s.nodes[i] = &n
	return &n
}

// ownLog is what else belongs to a broker whose log changes.
func (n *node) ownLog() {
	n.epochs, n.producers = n.epochs.Clone(), n.producers.Clone()
}

// produce has a broker take a request.
func (w *World) produce(s *State, i int, r *request) {
	n := s.own(i)
	if code := n.m.CheckProduce(kafka.AcksAll); code != kafka.ErrNone {
		if code == kafka.ErrNotLeaderOrFollower {
			s.took(didRefuseNotLeader)
		} else {
			s.took(didRefuseISR)
		}
		r.stage, r.code = answered, code
		return
	}
	h := w.header(r.identity, r.sequence, n.leo())
	switch out := n.producers.Check(&h); out.Verdict {
	case producers.Refuse:
		if out.Code == kafka.ErrInvalidProducerEpoch {
			s.took(didFence)
		} else {
			s.took(didOutOfOrder)
		}
		r.stage, r.code = answered, out.Code
	case producers.Duplicate:
		s.took(didDuplicate)
		r.stage, r.base, r.next = waiting, out.BaseOffset, out.LastOffset+1
		if o := out.BaseOffset; o < n.leo() && n.log[o].epoch < n.m.Epoch() {
			s.took(didDuplicateOfFormerLeader)
		}
	default:
		s.took(didAppend)
		r.stage, r.base, r.next = waiting, h.BaseOffset, h.NextOffset()
		n.ownLog()
		n.add(entry{r.batch, r.identity, r.sequence, n.m.Epoch()})
		n.producers.Update(&h)
		var buf [4]replica.Effect
		w.act(s, i, n.m.Appended(now, h.BaseOffset, h.NextOffset(), buf[:0]), nil, 0)
	}
}

func (n *node) add(e entry) {
	n.log = append(n.log[:len(n.log):len(n.log)], e)
}

// complete answers the requests that wait at a broker, as far as they are complete. A broker that does not lead any more
// does not know what will become of them.
func (s *State) complete(i int) {
	n := s.nodes[i]
	own := false
	for k := range s.conns[i] {
		if s.conns[i][k].stage != waiting {
			continue
		}
		done, code := n.m.AckAll(s.conns[i][k].next)
		if n.m.Role() != replica.Leader {
			done, code = true, kafka.ErrNotLeaderOrFollower
			s.took(didFailWaiting)
		}
		if !done {
			continue
		}
		if !own {
			s.conns[i], own = append([]request(nil), s.conns[i]...), true
		}
		r := &s.conns[i][k]
		r.stage, r.code = answered, code
		switch code {
		case kafka.ErrNone:
			s.took(didAck)
			if r.base < 0 || r.base >= n.leo() || n.log[r.base].id != r.batch {
				s.misplace = true
			}
		case kafka.ErrNotEnoughReplicasAfterAppend:
			s.took(didAckTooFew)
		}
	}
}

// fetch has a follower fetch, and take the answer.
func (w *World) fetch(s *State, i int) {
	n := s.own(i)
	f, _ := n.m.NextFetch(n.epochs.LatestEpoch(), n.life)
	at := int(n.m.LeaderID() - 1)
	l := s.own(at)
	var ours, mine replica.EpochEnd
	ours.Epoch, ours.End = l.epochs.EndOffsetFor(f.LastEpoch, l.leo())
	var buf [4]replica.Effect
	answer, effects := l.m.Fetched(now, f, ours, buf[:0])
	w.act(s, at, effects, nil, 0)
	var records []entry
	switch {
	case answer.Code != kafka.ErrNone:
		s.took(didFetchRefused)
	case answer.Diverging:
		s.took(didTruncate)
	case answer.LEO > f.Offset:
		s.took(didFetchRecords)
		records = l.log[f.Offset:]
	default:
		s.took(didFetchNothing)
	}
	mine.Epoch, mine.End = n.epochs.EndOffsetFor(answer.Ours.Epoch, n.leo())
	w.act(s, i, n.m.FetchAnswered(f, answer, mine, nil), records, answer.HW)
}

// act does what the machine of a broker wants done. The broker is the state's own. records and hw are of the answer that a
// follower took.
func (w *World) act(s *State, i int, effects []replica.Effect, records []entry, hw kafka.Offset) {
	n := s.nodes[i]
	for _, e := range effects {
		switch e.Kind {
		case replica.ProposeISR:
			w.act(s, i, s.decide(n, e), nil, 0)
		case replica.Truncate:
			n.ownLog()
			n.log = n.log[:e.Offset:e.Offset]
			n.epochs.TruncateFromEnd(e.Offset)
			if !n.producers.TruncateTo(e.Offset) {
				s.took(didRebuild)
				w.rebuild(n)
			}
			n.m.Truncated(e.Offset)
		case replica.Restart:
			panic("nothing is ever deleted here, and a log begins anew")
		case replica.AppendFetched:
			n.ownLog()
			for _, r := range records {
				n.epochs.Assign(r.epoch, n.leo())
				h := w.header(r.identity, r.sequence, n.leo())
				n.add(r)
				n.producers.Replicated(&h)
			}
			w.act(s, i, n.m.FollowerAppended(now, n.leo(), hw, nil), nil, 0)
		}
	}
	s.complete(i)
}

// rebuild finds the producers in the log.
func (w *World) rebuild(n *node) {
	n.producers = producers.New(w.cfg.Producers)
	for o, r := range n.log {
		h := w.header(r.identity, r.sequence, int64(o))
		n.producers.Update(&h)
	}
}

// hear has a broker learn what the controller decided last.
func (w *World) hear(s *State, i int) {
	n := s.own(i)
	p := &s.part
	id := kafka.NodeID(i + 1)
	hw := n.hw
	if n.m.Role() != replica.Offline {
		hw = n.m.HW()
	}
	var effects []replica.Effect
	switch {
	case p.epoch <= n.m.Epoch():
		effects = n.m.Assigned(now, replica.Assignment{PartitionEpoch: p.partEpoch, Replicas: []kafka.NodeID{1, 2}, ISR: p.members(), Brokers: s.brokers()}, nil)
	case p.leader == uint8(id):
		n.epochs = n.epochs.Clone()
		n.epochs.Assign(p.epoch, n.leo())
		effects = n.m.BecomeLeader(now, replica.Leadership{
			Epoch: p.epoch, PartitionEpoch: p.partEpoch, Replicas: []kafka.NodeID{1, 2}, ISR: p.members(), Brokers: s.brokers(), LEO: n.leo(),
			Flushed: n.leo(), HW: hw,
		}, nil)
	default:
		leader := kafka.NodeID(p.leader)
		if p.leader == 0 {
			leader = kafka.NoNode
		}
		effects = n.m.BecomeFollower(now, replica.Following{
			Epoch: p.epoch, PartitionEpoch: p.partEpoch, Leader: leader, LEO: n.leo(), Flushed: n.leo(), HW: hw,
		}, nil)
	}
	w.act(s, i, effects, nil, 0)
}

// brokers is what the controller says of them.
func (s *State) brokers() []replica.Broker {
	var all []replica.Broker
	for i, n := range s.nodes {
		all = append(all, replica.Broker{Node: kafka.NodeID(i + 1), Epoch: n.life, Barred: s.part.fenced&(1<<i) != 0})
	}
	return all
}

// behind: there is something that a broker has not heard of.
func (s *State) behind(i int) bool {
	m := s.nodes[i].m
	return s.part.epoch > m.Epoch() || m.Role() == replica.Leader && s.part.partEpoch > m.PartitionEpoch()
}
