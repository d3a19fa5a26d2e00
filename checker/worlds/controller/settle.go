package controller

import (
	"slices"

	"trialog/checker/explore"
	"trialog/core/kafka"
)

// healing is what heals, in the order in which it is done: the log first, then what is late, then brokers, then leaders.
var healing = []int{commit, catchUp, resign, arrive, expire, replace, register, hear, beat, keep, makeTopic, recovered, grow}

// Heal is the first action that heals and changes something.
func (w *World) Heal(s *State) (explore.Action, bool) {
	if s.broken != nothing {
		return 0, false
	}
	all := w.Enabled(s, nil)
	before := w.Encode(s, nil, nil)
	for _, kind := range healing {
		for _, a := range all {
			if how, _, _ := operands(a); w.Kind(a) != kind || how != atOnce {
				continue
			}
			var to State
			w.Step(s, a, &to)
			if !slices.Equal(before, w.Encode(&to, nil, nil)) {
				return a, true
			}
		}
	}
	return 0, false
}

// Settled: everybody serves, every topic is there with a leader, all its replicas are in sync and stay where they are, and
// nobody waits for anything.
func (w *World) Settled(s *State) bool {
	if len(s.late) > 0 {
		return false
	}
	for i := range w.cfg.Controllers {
		if c := &s.seats[i]; c.m.Active() != (i == int(s.leader)) || len(c.pend) > 0 {
			return false
		}
	}
	for i := range w.cfg.Brokers {
		if k := s.head.image.Broker(kafka.NodeID(i + 1)); !s.acts(kafka.NodeID(i+1)) || !k.Active() {
			return false
		}
	}
	for slot := range w.slots() {
		_, p := w.partition(s.head.image, slot)
		if p == nil || p.Leader == kafka.NoNode || p.Reassigning() || p.Recovering || members(p.ISR) != members(p.Replicas) {
			return false
		}
	}
	return true
}
