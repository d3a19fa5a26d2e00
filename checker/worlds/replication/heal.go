package replication

import (
	"bytes"
	"slices"

	"trialog/checker/explore"
	"trialog/core/kafka"
	"trialog/core/replica"
)

// Heal is the next action of a schedule in which nothing fails any more and everybody gets a turn: brokers come back, hear,
// beat, fetch, and proposals arrive. An action that changes nothing is passed over.
func (w *World) Heal(s *State) (explore.Action, bool) {
	for i := range w.cfg.Brokers {
		n := s.nodes[i]
		for _, a := range [...]struct {
			may bool
			do  explore.Action
		}{
			{!n.up, action(restart, i, 0)},
			{n.up && s.seen[i] < len(s.views), action(hearAll, i, untaken)},
			{n.up && s.ctl.Image().Broker(kafka.NodeID(i+1)).Fenced, action(beat, i, 0)},
			{len(n.alters) > 0 && n.alters[0].answered, action(proposalAnswered, i, 0)},
			{len(n.alters) > 0, action(proposalArrives, i, 0)},
			{n.late != nil && n.late.answered, action(lateTaken, i, 0)},
			{n.up && (n.answer != nil || s.mayAsk(i)), action(exchange, i, 0)},
		} {
			if a.may && w.changes(s, a.do) {
				return a.do, true
			}
		}
	}
	return 0, false
}

// changes: the action leads to another state.
func (w *World) changes(s *State, a explore.Action) bool {
	var to State
	w.Step(s, a, &to)
	return !bytes.Equal(w.Encode(s, nil, nil), w.Encode(&to, nil, nil))
}

// Settled: somebody leads, all replicas are in sync, and their logs and HWs are the same, up to the end.
func (w *World) Settled(s *State) bool {
	p := &s.now().partition
	if p.Leader == kafka.NoNode || len(p.ISR) < w.cfg.Brokers {
		return false
	}
	l := s.nodes[p.Leader-1]
	if l.m.Role() != replica.Leader || l.m.Epoch() != p.LeaderEpoch || len(l.m.ISR()) < w.cfg.Brokers {
		return false
	}
	for _, n := range s.nodes[:w.cfg.Brokers] {
		if !n.up || n.m.Epoch() != p.LeaderEpoch || n.m.HW() != l.leo() || !slices.Equal(n.log, l.log) {
			return false
		}
	}
	return true
}
