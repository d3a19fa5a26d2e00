package replication

import (
	"fmt"
	"strings"

	"trialog/checker/explore"
)

// Invariants are those that need no history.
func (w *World) Invariants() []explore.Property[State] {
	return []explore.Property[State]{
		{Name: "weak-isr", Doc: "what a leader has below its HW, all of its own ISR have", Holds: func(s *State) bool {
			return w.isrHolds(s, func(l int) uint8 { return s.replicas[l].isr })
		}},
		{Name: "strong-isr", Doc: "what a leader has below its HW, all of the controller's ISR have", Holds: func(s *State) bool {
			return w.isrHolds(s, func(int) uint8 { return s.quorum.isr })
		}},
		{Name: "log-matching", Doc: "below their HWs no two logs differ", Holds: w.logsMatch},
	}
}

// AckedOnLeader needs [Config].History: the leader that the controller knows has every record that any leader had below
// its HW. Its violation is the loss that a user sees.
func (w *World) AckedOnLeader() explore.Property[State] {
	return explore.Property[State]{
		Name: "acked", Doc: "the true leader has what was acknowledged", Holds: func(s *State) bool {
			for l := range w.cfg.Bounds.Replicas {
				if s.leadsTruly(l) && !s.hasAcked(l) {
					return false
				}
			}
			return true
		},
	}
}

func (s *State) hasAcked(r int) bool {
	have := &s.replicas[r]
	for id := range s.nextID {
		if s.acked>>id&1 == 0 {
			continue
		}
		o, epoch := s.ackedAt[id]>>4, s.ackedAt[id]&15
		if have.n <= o || have.log[o] != entry(id<<4|epoch) {
			return false
		}
	}
	return true
}

func (w *World) isrHolds(s *State, isr func(l int) uint8) bool {
	for l := range w.cfg.Bounds.Replicas {
		if !s.leads(l) {
			continue
		}
		have := &s.replicas[l]
		for f := range w.cfg.Bounds.Replicas {
			if !in(isr(l), f) {
				continue
			}
			for o := range have.hw {
				if have.n <= o || s.replicas[f].n <= o || have.log[o] != s.replicas[f].log[o] {
					return false
				}
			}
		}
	}
	return true
}

func (w *World) logsMatch(s *State) bool {
	for a := range w.cfg.Bounds.Replicas {
		for b := range a {
			x, y := &s.replicas[a], &s.replicas[b]
			for o := range min(x.hw, y.hw, x.n, y.n) {
				if x.log[o] != y.log[o] {
					return false
				}
			}
		}
	}
	return true
}

// Sometimes are what a search must meet.
func (w *World) Sometimes() []explore.Property[State] {
	return []explore.Property[State]{
		{Name: "a record is committed on all replicas", Holds: func(s *State) bool {
			for r := range w.cfg.Bounds.Replicas {
				if s.replicas[r].hw == 0 {
					return false
				}
			}
			return true
		}},
		{Name: "two replicas believe that they lead", Holds: func(s *State) bool {
			n := 0
			for r := range w.cfg.Bounds.Replicas {
				if s.leads(r) {
					n++
				}
			}
			return n > 1
		}},
		{Name: "logs diverge", Holds: func(s *State) bool {
			for r := range w.cfg.Bounds.Replicas {
				if x, y := s.replicas[0].log[0], s.replicas[r].log[0]; x != y && s.replicas[0].n > 0 && s.replicas[r].n > 0 {
					return true
				}
			}
			return false
		}},
	}
}

func name(r int) string { return fmt.Sprintf("r%d", r+1) }

func nameSet(set uint8) string {
	var b strings.Builder
	for r := range MaxReplicas {
		if in(set, r) {
			fmt.Fprintf(&b, "%d", r+1)
		}
	}
	return "{" + b.String() + "}"
}

func leaderName(r int8) string {
	if r < 0 {
		return "-"
	}
	return name(int(r))
}

// Describe tells an action.
func (w *World) Describe(s *State, a explore.Action) string {
	x, y := operands(a)
	switch w.Kind(a) {
	case electLeader:
		return fmt.Sprintf("controller elects %s in epoch %d", name(x), s.nextEpoch)
	case controllerShrink:
		if s.quorum.leader == int8(x) {
			return fmt.Sprintf("controller: leader %s failed, epoch %d", name(x), s.nextEpoch)
		}
		return fmt.Sprintf("controller takes %s out of the ISR, epoch %d", name(x), s.nextEpoch)
	case becomeLeader:
		return fmt.Sprintf("%s leads in epoch %d", leaderName(s.requests[x].leader), x)
	case write:
		return fmt.Sprintf("%s appends m%d", name(x), s.nextID)
	case advanceHW:
		return fmt.Sprintf("%s raises its HW to %d", name(x), s.replicas[x].hw+1)
	case leaderShrink:
		return fmt.Sprintf("%s drops %s from the ISR", name(x), name(y))
	case leaderExpand:
		return fmt.Sprintf("%s takes %s into the ISR", name(x), name(y))
	case fetch:
		e := s.replicas[x].log[s.replicas[y].n]
		return fmt.Sprintf("%s fetches m%d from %s", name(y), e.id(), name(x))
	case truncateOnFetch:
		return fmt.Sprintf("%s truncates to %d at a fetch from %s", name(y), s.lastMatch(y, x), name(x))
	}
	q := s.requests[x]
	if q.leader < 0 {
		return fmt.Sprintf("%s hears that epoch %d has no leader", name(y), x)
	}
	cut, _ := w.truncation(s, y, x)
	return fmt.Sprintf("%s follows %s in epoch %d, truncates to %d", name(y), leaderName(q.leader), x, cut)
}

// Show is a state on one line: m0@2 is record 0, written in epoch 2; | stands at the HW.
func (w *World) Show(s *State) string {
	var b strings.Builder
	for r := range w.cfg.Bounds.Replicas {
		have := &s.replicas[r]
		fmt.Fprintf(&b, "%s e%d of %s %s [", name(r), have.epoch, leaderName(have.leader), nameSet(have.isr))
		for o := range max(have.n, have.hw) + 1 {
			if o == have.hw {
				b.WriteString("|")
			}
			if o < have.n {
				fmt.Fprintf(&b, " m%d@%d ", have.log[o].id(), have.log[o].epoch())
			}
		}
		b.WriteString("]  ")
	}
	fmt.Fprintf(&b, "controller: %s %s e%d", leaderName(s.quorum.leader), nameSet(s.quorum.isr), s.epoch)
	return b.String()
}
