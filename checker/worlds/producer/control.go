package producer

import (
	"trialog/core/kafka"
	"trialog/core/replica"
)

// has: the broker is in the ISR.
func (p *partition) has(i int) bool { return p.isr&(1<<i) != 0 }

// members is the ISR.
func (p *partition) members() []kafka.NodeID {
	var isr []kafka.NodeID
	for i := range brokers {
		if p.has(i) {
			isr = append(isr, kafka.NodeID(i+1))
		}
	}
	return isr
}

// lead has somebody lead, or nobody (0), in the next epoch.
func (p *partition) lead(leader int) {
	p.leader = uint8(leader)
	p.epoch++
	p.partEpoch++
}

// decide answers a proposal: that of the leader of the newest epochs is taken, of brokers that live as it knows them.
func (s *State) decide(n *node, e replica.Effect) []replica.Effect {
	p := &s.part
	if e.Epoch != p.epoch || e.PartitionEpoch != p.partEpoch {
		s.took(didISRRefused)
		return n.m.ProposalAnswered(now, replica.Altered{Asked: e.PartitionEpoch, Code: kafka.ErrInvalidUpdateVersion}, nil)
	}
	isr := uint8(0)
	for _, m := range e.ISR {
		i := m.Node - 1
		if p.fenced&(1<<i) != 0 || m.BrokerEpoch != kafka.NoBrokerEpoch && m.BrokerEpoch != s.nodes[i].life {
			s.took(didISRRefused)
			return n.m.ProposalAnswered(now, replica.Altered{Asked: e.PartitionEpoch, Code: kafka.ErrIneligibleReplica}, nil)
		}
		isr |= 1 << i
	}
	s.took(didISR)
	p.isr = isr
	p.partEpoch++
	return n.m.ProposalAnswered(now, replica.Altered{
		Asked: e.PartitionEpoch, Epoch: p.epoch, PartitionEpoch: p.partEpoch, ISR: p.members(),
	}, nil)
}

// leave takes a broker for dead.
func (s *State) leave(i int) {
	s.part.fenced |= 1 << i
	s.vacate(i)
}

// vacate takes a broker out of the ISR, unless it is the last, and has another lead if it did.
func (s *State) vacate(i int) {
	p := &s.part
	if p.has(i) && p.isr != 1<<i {
		p.isr &^= 1 << i
		p.partEpoch++
		s.lossy = s.lossy || !s.held()
	}
	if p.leader == uint8(i+1) {
		p.lead(s.candidate())
	}
}

// candidate is somebody of the ISR who is up, or 0.
func (s *State) candidate() int {
	for i := range brokers {
		if s.nodes[i].up && s.part.has(i) {
			return i + 1
		}
	}
	return 0
}

// mayLeave: a dead broker still leads, or is in an ISR that it can leave.
func (s *State) mayLeave(i int) bool {
	return s.part.leader == uint8(i+1) || s.part.has(i) && s.part.isr != 1<<i
}

// die ends a broker's process, with its connections; lost is how many records it loses.
func (w *World) die(s *State, i int, lost int) {
	old := *s.nodes[i]
	n := &node{life: old.life, log: old.log, epochs: old.epochs, producers: old.producers, unclean: lost > 0, snapshot: old.leo()}
	if lost > 0 {
		s.took(didLoseTail)
		n.log = n.log[:len(n.log)-lost]
		n.epochs = n.epochs.Clone()
		n.epochs.TruncateFromEnd(n.leo())
	}
	n.hw = min(old.m.HW(), n.leo())
	n.m = w.machine(i)
	s.nodes[i] = n
	s.lossy = s.lossy || !s.held()
	requests := s.conns[i]
	s.conns[i] = nil
	kept := s.strays[:0:0]
	for _, r := range s.strays {
		if r.broker != uint8(i) {
			kept = append(kept, r)
		}
	}
	s.strays = kept
	w.lost(s, i, requests)
}

// held: somebody of the ISR has all that was acked. Without eligible leader replicas nobody else is ever asked.
func (s *State) held() bool {
	for i, n := range s.nodes {
		if s.part.has(i) && !n.unclean {
			return true
		}
	}
	return false
}

// restart brings a broker back. The state of its producers comes from the snapshot of its last moment, or from its log if that
// has become shorter since. One that lost its tail leaves the ISR before it may lead.
func (w *World) restart(s *State, i int) {
	n := *s.nodes[i]
	w.recover(&n)
	unclean := n.unclean
	n.up, n.unclean = true, false
	n.life++
	s.nodes[i] = &n
	s.part.fenced &^= 1 << i
	s.part.partEpoch++ // whoever leads hears of the new life
	if unclean {
		s.vacate(i)
	}
	if p := &s.part; p.has(i) && (p.leader == 0 || p.leader == uint8(i+1)) {
		p.lead(i + 1)
	} else if p.leader == 0 && s.candidate() > 0 {
		p.lead(s.candidate())
	}
}
