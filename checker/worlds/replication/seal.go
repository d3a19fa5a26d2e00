package replication

import (
	"bytes"
	"encoding/binary"

	"trialog/checker/explore"
	"trialog/core/kafka"
	"trialog/core/replica"
)

// seal ends a step: what can have no effect any more is forgotten, and what changed is encoded.
func (s *State) seal(w *World) {
	for i := range w.cfg.Brokers {
		if s.wrong == "" {
			s.forget(i)
			s.skip(i)
		}
	}
	for i := range w.cfg.Brokers {
		if s.owned[i] != shared {
			s.nodes[i].encoded = s.nodes[i].appendTo(make([]byte, 0, 128))
		}
	}
	s.owned = [MaxBrokers]ownership{}
}

// skip moves a broker over changes of the metadata that say nothing to it: for one that does not lead, those of the epoch
// that it knows.
func (s *State) skip(i int) {
	n := s.nodes[i]
	if !n.up || s.seen[i] == 0 || n.m.Role() == replica.Leader {
		return
	}
	for s.seen[i] < len(s.views) && s.views[s.seen[i]].partition.LeaderEpoch <= n.m.Epoch() {
		s.seen[i]++
	}
}

// forget drops messages whose arrival would change nothing: of the epoch that lasts, an answer without news; of one that
// is over, whatever the machines, when they are asked, do not react to.
func (s *State) forget(i int) {
	n := s.nodes[i]
	if f := n.answer; f != nil {
		switch {
		case s.ignored(i, f):
			if f.ask.Epoch < n.m.Epoch() && len(f.records) > 0 {
				s.mark(answerDropped)
			}
			s.own(i).answer = nil
		case f.ask.Epoch < n.m.Epoch():
			n := s.own(i)
			n.late, n.answer = f, nil // in place of an even older one
		}
	}
	if f := n.late; f != nil {
		if f.answered && s.ignored(i, f) || !f.answered && s.refused(f) {
			s.own(i).late = nil
		}
	}
	for k := 0; k < len(s.nodes[i].alters); k++ {
		if a := &s.nodes[i].alters[k]; s.over(i, a) {
			n := s.own(i)
			n.alters = append(n.alters[:k:k], n.alters[k+1:]...)
			k--
		}
	}
}

// ignored: the answer changes nothing at the follower.
func (s *State) ignored(i int, f *fetch) bool {
	n := s.nodes[i]
	m := n.m.Clone()
	var mine replica.EpochEnd
	mine.Epoch, mine.End = n.epochs.EndOffsetFor(f.answer.Ours.Epoch, n.leo())
	return len(m.FetchAnswered(f.ask, f.answer, mine, nil)) == 0 && same(m, n.m)
}

// refused: the fetch comes to a broker that has heard of a later epoch, and changes nothing there.
func (s *State) refused(f *fetch) bool {
	l := s.nodes[f.at-1]
	if l.m.Epoch() <= f.ask.Epoch {
		return false
	}
	m := l.m.Clone()
	var ours replica.EpochEnd
	ours.Epoch, ours.End = l.epochs.EndOffsetFor(f.ask.LastEpoch, l.leo())
	answer, effects := m.Fetched(now, f.ask, ours, nil)
	return answer.Code != kafka.ErrNone && len(effects) == 0 && same(m, l.m)
}

// over: the proposal was of an earlier leadership or an earlier ISR, and neither the controller nor the leader would do
// anything about it.
func (s *State) over(i int, a *alter) bool {
	n := s.nodes[i]
	if a.ask.Epoch >= n.m.Epoch() && a.ask.PartitionEpoch >= n.m.PartitionEpoch() {
		return false
	}
	answer := a.answer
	if !a.answered {
		trial := State{nodes: s.nodes, ctl: s.ctl, views: s.views}
		if answer = trial.propose(i, &a.ask); len(trial.views) > len(s.views) {
			return false
		}
	}
	m := n.m.Clone()
	return len(m.ProposalAnswered(now, answer, nil)) == 0 && same(m, n.m)
}

func same(a, b *replica.Replica) bool {
	var x, y [256]byte
	return bytes.Equal(a.AppendTo(x[:0]), b.AppendTo(y[:0]))
}

// Encode writes all of a state.
func (w *World) Encode(s *State, _ explore.Perm, b []byte) []byte {
	first := len(s.views) - 1 // of the metadata, what somebody may still hear
	for i := range w.cfg.Brokers {
		n := s.nodes[i]
		b = append(b, n.encoded...)
		b = append(b, bit(s.seen[i] > 0), byte(len(s.views)-s.seen[i]))
		if s.seen[i] == 0 {
			b[len(b)-1] = 0
		} else {
			first = min(first, s.seen[i])
		}
	}
	for _, v := range s.views[max(first, 0):] {
		b = append(b, v.encoded...)
	}
	most := &w.cfg.Faults
	for _, left := range [...]int{most.Crash - s.used.Crash, most.Lose - s.used.Lose, most.Fence - s.used.Fence, most.Lag - s.used.Lag,
		most.Drop - s.used.Drop, most.Elect - s.used.Elect} {
		b = append(b, byte(min(left, w.cfg.Total-s.total)))
	}
	b = append(b, byte(w.cfg.Total-s.total), s.written)
	b = appendEntries(b, s.shown)
	return append(b, s.wrong...)
}

func appendEntries(b []byte, list []entry) []byte {
	b = append(b, byte(len(list)))
	for _, r := range list {
		b = append(b, r.id, byte(r.epoch))
	}
	return b
}

func appendNodes(b []byte, lists ...[]kafka.NodeID) []byte {
	for _, list := range lists {
		b = append(b, byte(len(list)))
		for _, n := range list {
			b = append(b, byte(n))
		}
	}
	return b
}

func appendNumbers(b []byte, numbers ...int64) []byte {
	for _, v := range numbers {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func (v *view) appendTo(b []byte) []byte {
	p := &v.partition
	b = appendNumbers(b, int64(p.Leader), int64(p.LeaderEpoch), int64(p.PartitionEpoch))
	b = appendNodes(b, p.Replicas, p.ISR, p.ELR, p.LastKnownELR)
	b = append(b, bit(p.Recovering))
	for _, k := range v.brokers {
		b = binary.AppendVarint(append(b, bit(k.Barred)), k.Epoch)
	}
	return b
}

func (n *node) appendTo(b []byte) []byte {
	b = append(b, bit(n.up))
	b = appendNumbers(b, n.life, n.hw)
	b = n.epochs.AppendTo(n.m.AppendTo(b))
	b = appendEntries(b, n.log)
	b = n.late.appendTo(n.answer.appendTo(b))
	b = append(b, byte(len(n.alters)))
	for k := range n.alters {
		a := &n.alters[k]
		b = append(b, bit(a.answered))
		b = appendNumbers(b, int64(a.ask.Epoch), int64(a.ask.PartitionEpoch))
		if a.answered {
			b = appendNumbers(b, int64(a.answer.Code), int64(a.answer.Epoch), int64(a.answer.PartitionEpoch))
			b = appendNodes(b, a.answer.ISR)
			continue
		}
		b = append(b, byte(len(a.ask.ISR)))
		for _, m := range a.ask.ISR {
			b = appendNumbers(b, int64(m.Node), m.BrokerEpoch)
		}
	}
	return b
}

// appendTo writes what still matters: of an answer not what was asked, but for what the follower compares.
func (f *fetch) appendTo(b []byte) []byte {
	if f == nil {
		return append(b, 0)
	}
	b = append(b, 1+bit(f.answered))
	b = appendNumbers(b, int64(f.at), int64(f.ask.Epoch), f.ask.Offset)
	if !f.answered {
		return appendNumbers(b, f.ask.BrokerEpoch, int64(f.ask.LastEpoch))
	}
	b = append(b, bit(f.answer.Diverging))
	b = appendNumbers(b, int64(f.answer.Code), int64(f.answer.Ours.Epoch), f.answer.Ours.End, f.answer.HW, f.answer.LEO)
	return appendEntries(b, f.records)
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}
