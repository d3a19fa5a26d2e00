package controller

import (
	"slices"

	machine "trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// promise is what a step may break. What can be seen in a state is looked at there (properties.go).
type promise uint8

const (
	nothing     promise = iota
	epochs              // no epoch goes back, each change has a new one, each leader too
	holders             // who is elected holds everything, or the election is known to be unclean
	eligible            // nobody is elected uncleanly, unless that is asked for, while somebody eligible is left
	lives               // broker epochs are new
	producerIDs         // no block is given twice
	prefix              // an image is what the log comes to
	answers             // who is answered is told what is true
	staleLives          // who is no more changes nothing
	farewells           // who may go leads nothing
	repeats             // a repeated request is answered and changes nothing
	assertions
)

// changed looks at what was committed last, and notes what brokers hold then. m asked for it.
func (w *World) changed(s *State, v *version, m *message) (branches uint64) {
	for _, r := range v.records {
		switch r := r.(type) {
		case *meta.RegisterBroker:
			if r.BrokerEpoch <= s.newest {
				s.breaks(lives, "b%d gets broker epoch %d, and %d was given before", r.Broker, r.BrokerEpoch, s.newest)
			}
			s.newest = max(s.newest, r.BrokerEpoch)
		}
	}
	for slot := range w.slots() {
		was, p := w.partition(v.before.image, slot)
		is, n := w.partition(v.image, slot)
		switch {
		case n == nil:
			s.holds[slot], s.known[slot], s.unheard[slot] = 0, 0, false
		case p == nil || was.ID != is.ID:
			s.holds[slot] = members(n.ISR)
			w.known(s, v.image, slot, n)
		default:
			branches |= w.changedPartition(s, v, slot, p, n, m)
		}
	}
	return branches
}

func members(nodes []kafka.NodeID) (set uint8) {
	for _, n := range nodes {
		set |= 1 << (n - 1)
	}
	return set
}

func (w *World) changedPartition(s *State, v *version, slot int, p, n *meta.PartitionImage, m *message) (branches uint64) {
	same := equalPartitions(p, n)
	switch {
	case n.LeaderEpoch < p.LeaderEpoch || n.PartitionEpoch < p.PartitionEpoch:
		s.breaks(epochs, "%s is after %s", state(n), state(p))
	case n.Leader != p.Leader && n.LeaderEpoch == p.LeaderEpoch:
		s.breaks(epochs, "%s is after %s: two leaders in one epoch", state(n), state(p))
	case !same && n.PartitionEpoch == p.PartitionEpoch:
		s.breaks(epochs, "%s is after %s: the same partition epoch", state(n), state(p))
	}
	if m.kind == register && m.wrote < 0 || m.kind == forget || m.kind == keep && m.disk == anew {
		s.known[slot] &^= 1 << (m.from - 1)
	}
	w.lastLost(s, slot, p, m)
	leads := n.Leader != kafka.NoNode && s.lives(v.image, n.Leader) // a dead one does nothing before it has registered again
	if !same {
		w.joins(s, slot, p, m)
		w.wentBack(s, slot, p, n, m)
		if leads && (n.Leader != p.Leader || n.LeaderEpoch != p.LeaderEpoch) {
			w.elected(s, slot, p, n, m)
		}
		branches = metChange(p, n)
	}
	w.hears(s, v, slot, p, n, m)
	if leads && (s.unheard[slot] || len(n.ISR) >= w.minISR(v.image, slot, n, n.Leader)) {
		s.holds[slot] &= members(n.ISR)
	}
	s.holds[slot] &= members(n.Replicas)
	w.known(s, v.image, slot, n)
	return branches
}

// hears: a leader does not hear at once of a larger min.insync.replicas. It hears of its ISR from the answers to what it asks
// for, and then goes by a small ISR and the small setting; anything else it hears of after the setting.
func (w *World) hears(s *State, v *version, slot int, p, n *meta.PartitionImage, m *message) {
	switch {
	case !w.cfg.ELR || w.cfg.Most[Relax] == 0:
	case m.kind == relax && m.how > 1 && n.Leader != kafka.NoNode && n.LeaderEpoch == p.LeaderEpoch:
		s.unheard[slot] = s.unheard[slot] || w.minISR(v.before.image, slot, p, n.Leader) == 1
	case !isProposal(m) && !equalPartitions(p, n):
		s.unheard[slot] = false
	}
}

// topicMin is min.insync.replicas of a topic.
func (w *World) topicMin(t *meta.TopicImage) int {
	if len(t.Configs) > 0 {
		return int(t.Configs[0].Value[0] - '0')
	}
	return w.cfg.MinISR
}

// minISR is what a leader goes by; with NoNode, what all of them are to go by.
func (w *World) minISR(m *meta.Image, slot int, p *meta.PartitionImage, leader kafka.NodeID) int {
	t, _ := w.partition(m, slot)
	n := w.topicMin(t)
	if leader != kafka.NoNode && len(t.Configs) == 0 && w.cfg.Most[Relax] > 0 && len(m.BrokerConfigs(brokerNames[leader-1])) > 0 {
		n = 1
	}
	return min(n, len(p.Replicas))
}

// lives: the process is the one that is registered, and has its replicas.
func (s *State) lives(m *meta.Image, id kafka.NodeID) bool {
	b, k := &s.brokers[id-1], m.Broker(id)
	return b.up && b.disk != failed && k != nil && k.Incarnation == incarnation(b.births)
}

// joins: who is taken into the ISR by its leader's request had caught up, and has counted as in sync for the leader ever
// since; if the request was still true, and it lives the life in which it fetched.
func (w *World) joins(s *State, slot int, p *meta.PartitionImage, m *message) {
	if m.kind != grow || m.slot != slot || m.epoch != p.LeaderEpoch || m.state != p.PartitionEpoch {
		return
	}
	b := &s.brokers[m.joins-1]
	if b.up && b.life == m.isr[len(m.isr)-1].BrokerEpoch {
		s.holds[slot] |= 1 << (m.joins - 1)
	}
}

// lastLost: without ELR the last member of an ISR stays in it, also when it has lost everything. What the others hold of
// it is then not committed any more: that is documented, and what KIP-966 is for.
func (w *World) lastLost(s *State, slot int, p *meta.PartitionImage, m *message) {
	if holds := &s.holds[slot]; (m.kind == register || m.kind == keep) && !w.cfg.ELR && len(p.ISR) == 1 && p.ISR[0] == m.from && *holds>>(m.from-1)&1 == 0 {
		*holds = 0
	}
}

// known keeps who may be known to hold everything: who was in sync when enough were, and later, and did not register after an
// unclean end since.
func (w *World) known(s *State, image *meta.Image, slot int, n *meta.PartitionImage) {
	if !w.cfg.ELR {
		return // nobody writes it down
	}
	if len(n.ISR) >= w.minISR(image, slot, n, kafka.NoNode) || n.Recovering {
		s.known[slot] = 0
	}
	s.known[slot] = (s.known[slot] | members(n.ISR)) & members(n.Replicas)
}

// wentBack: a cancellation that leaves nobody who was in sync is allowed where unclean elections are. As in Kafka the
// partition is then not marked as recovering.
func (w *World) wentBack(s *State, slot int, p, n *meta.PartitionImage, m *message) {
	if m.kind == cancel && w.cfg.Unclean && members(p.ISR)&members(n.ISR) == 0 {
		s.holds[slot] = members(n.ISR)
	}
}

// elected checks whom an election chose.
func (w *World) elected(s *State, slot int, p, n *meta.PartitionImage, m *message) {
	holds, leader := &s.holds[slot], uint8(1)<<(n.Leader-1)
	switch {
	case *holds&leader > 0 && !n.Recovering, *holds == 0:
	case !n.Recovering:
		s.breaks(holders, "b%d is elected as if it held everything: %s", n.Leader, state(n))
	case w.cfg.ELR && !w.cfg.Unclean && m.kind != electLeaders && s.known[slot]&^leader > 0:
		s.breaks(eligible, "b%d is elected uncleanly, and others are known to hold everything: %s", n.Leader, state(p))
	}
	if *holds == 0 || n.Recovering {
		*holds = leader
	}
}

// checkAnswer looks at the answer to a request, before it is known whether its decision will be committed.
func (w *World) checkAnswer(s *State, before *meta.Image, m *message, d *machine.Decision) {
	k := before.Broker(m.from)
	stale := k == nil || k.Epoch != m.life
	switch r := d.Response.(type) {
	case *machine.BrokerHeartbeatResponse:
		if stale && (len(d.Records)+len(d.Timers) > 0 || r.Code == kafka.ErrNone) {
			s.breaks(staleLives, "a heartbeat of b%d's epoch %d is answered %s, and changes %v", m.from, m.life, r.Code, d.Records)
		}
	case *machine.RegisterBrokerResponse:
		if k != nil && k.Incarnation == incarnation(m.born) && (len(d.Records) > 0 || r.BrokerEpoch != k.Epoch) {
			s.breaks(repeats, "b%d registers again, and gets epoch %d", m.from, r.BrokerEpoch)
		}
	case *machine.AlterPartitionResponse:
		w.checkAltered(s, before, m, d, r, stale)
	}
}

func (w *World) checkAltered(s *State, before *meta.Image, m *message, d *machine.Decision, r *machine.AlterPartitionResponse, stale bool) {
	if stale {
		if r.Code == kafka.ErrNone || len(d.Records) > 0 {
			s.breaks(staleLives, "a proposal of b%d's epoch %d is answered %s", m.from, m.life, r.Code)
		}
		return
	}
	if r.Code != kafka.ErrNone {
		s.breaks(answers, "a proposal of b%d, which is registered, is answered %s", m.from, r.Code)
		return
	}
	t, p := w.partition(before, m.slot)
	a := &r.Partitions[0]
	switch a.Code {
	case kafka.ErrNone:
		if p.LeaderEpoch != m.epoch || a.Leader != m.from {
			s.breaks(answers, "b%d asks as leader of e%d, and is told that all is well: b%d leads e%d", m.from, m.epoch, p.Leader, p.LeaderEpoch)
		}
	case kafka.ErrInvalidRequest, kafka.ErrNotController:
		s.breaks(answers, "b%d asks for what it has heard of, and is answered %s", m.from, a.Code)
	}
	if m.done && t != nil && t.ID == m.topic && p.LeaderEpoch == m.epoch && p.PartitionEpoch == m.became {
		if a.Code != kafka.ErrNone || len(d.Records) > 0 || a.PartitionEpoch != m.became {
			s.breaks(repeats, "b%d asks again for what it has, and is answered %s p%d", m.from, a.Code, a.PartitionEpoch)
		}
	}
}

func equalPartitions(p, q *meta.PartitionImage) bool {
	return p.Leader == q.Leader && p.LeaderEpoch == q.LeaderEpoch && p.PartitionEpoch == q.PartitionEpoch && p.Recovering == q.Recovering &&
		slices.Equal(p.Replicas, q.Replicas) && slices.Equal(p.ISR, q.ISR) && slices.Equal(p.ELR, q.ELR) &&
		slices.Equal(p.LastKnownELR, q.LastKnownELR) && slices.Equal(p.Adding, q.Adding) && slices.Equal(p.Removing, q.Removing)
}
