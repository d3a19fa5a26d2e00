package replication

import (
	"fmt"
	"slices"
	"strings"

	"trialog/checker/explore"
	"trialog/core/kafka"
	"trialog/core/replica"
)

// Invariants of the world.
func (w *World) Invariants() []explore.Property[State] {
	return []explore.Property[State]{
		{Name: "shown", Doc: "who leads by the controller's word, and knows it, has what was acknowledged or shown", Holds: func(s *State) bool {
			p := &s.now().partition
			if p.Leader == kafka.NoNode {
				return true
			}
			n := s.nodes[p.Leader-1]
			return n.m.Role() != replica.Leader || n.m.Epoch() != p.LeaderEpoch || s.holds(n)
		}},
		{Name: "candidates", Doc: "who may be elected has what was acknowledged or shown", Holds: func(s *State) bool {
			p := &s.now().partition
			for i := range w.cfg.Brokers {
				id, n := kafka.NodeID(i+1), s.nodes[i]
				b := s.ctl.Image().Broker(id)
				if n.up && b.Active() && b.Epoch == n.life && (slices.Contains(p.ISR, id) || slices.Contains(p.ELR, id)) && !s.holds(n) {
					return false
				}
			}
			return true
		}},
		{Name: "in-sync-live", Doc: "where somebody leads, who is in sync is not fenced", Holds: func(s *State) bool {
			p := &s.now().partition
			if p.Leader == kafka.NoNode {
				return true
			}
			for _, n := range p.ISR {
				if !s.ctl.Image().Broker(n).Active() {
					return false
				}
			}
			return true
		}},
		{Name: "log-matching", Doc: "below their HWs no two logs differ", Holds: func(s *State) bool {
			for i := range w.cfg.Brokers {
				for k := range i {
					x, y := s.nodes[i], s.nodes[k]
					for o := range min(x.m.HW(), y.m.HW()) {
						if x.log[o] != y.log[o] {
							return false
						}
					}
				}
			}
			return true
		}},
		{Name: "assertions", Doc: "no machine finds an invariant of its own broken, and no offset is shown as two records",
			Holds: func(s *State) bool { return s.wrong == "" }},
	}
}

func (s *State) holds(n *node) bool {
	for o, r := range s.shown {
		if o >= len(n.log) || n.log[o] != r {
			return false
		}
	}
	return true
}

// Sometimes are what a search must meet.
func (w *World) Sometimes() []explore.Property[State] {
	return []explore.Property[State]{
		{Name: "a record is shown", Holds: func(s *State) bool { return len(s.shown) > 0 }},
		{Name: "two brokers believe that they lead", Holds: func(s *State) bool {
			leaders := 0
			for i := range w.cfg.Brokers {
				if s.nodes[i].m.Role() == replica.Leader {
					leaders++
				}
			}
			return leaders > 1
		}},
	}
}

// Describe tells an action.
func (w *World) Describe(s *State, a explore.Action) string {
	x, y := operands(a)
	b := fmt.Sprintf("b%d", x+1)
	switch w.Kind(a) {
	case hearNext:
		return fmt.Sprintf("%s%s hears: %s", w.describeLast(s, x, y), b, s.views[s.seen[x]])
	case hearAll:
		return fmt.Sprintf("%s%s hears: %s", w.describeLast(s, x, y), b, s.now())
	case appendRecord:
		return fmt.Sprintf("%s appends m%d", b, s.written)
	case exchange:
		text := s.nodes[x].answer.told(b)
		if m := s.nodes[x].m; s.mayAsk(x) {
			var to State
			w.Step(s, a, &to)
			text += fmt.Sprintf("%s fetches from b%d in e%d, from %d", b, m.LeaderID(), m.Epoch(), to.nodes[x].leo())
		}
		return strings.TrimSuffix(text, "; ")
	case lateArrives:
		f := s.nodes[x].late
		return fmt.Sprintf("b%d answers %s's late fetch of e%d from %d", f.at, b, f.ask.Epoch, f.ask.Offset)
	case lateTaken:
		return "late: " + strings.TrimSuffix(s.nodes[x].late.told(b), "; ")
	case proposalArrives:
		return fmt.Sprintf("the controller decides on: %s", s.nodes[x].alters[y].ask)
	case proposalAnswered:
		return fmt.Sprintf("%s hears of its proposal: %s", b, s.nodes[x].alters[y].answer.Code)
	case lag:
		return fmt.Sprintf("b%d has been behind %s for long", y+1, b)
	case restart:
		return b + " comes back, and registers"
	case beat:
		return b + " beats"
	case sessionEnds, fence:
		return fmt.Sprintf("%s's session ends", b)
	case crash:
		return w.describeLast(s, x, y) + b + " dies"
	case powerCut:
		return fmt.Sprintf("%s loses power, and its last record", b)
	case drop:
		return fmt.Sprintf("the answer to %s is lost", b)
	case proposalTimesOut:
		return fmt.Sprintf("%s's proposal times out, still on its way", b)
	}
	return b + " is made the preferred leader, and asked for"
}

// told is an answer as a follower takes it in.
func (f *fetch) told(b string) string {
	switch {
	case f == nil:
		return ""
	case f.answer.Diverging:
		return fmt.Sprintf("%s hears from b%d that e%d ends at %d; ", b, f.at, f.answer.Ours.Epoch, f.answer.Ours.End)
	case f.answer.Code != kafka.ErrNone:
		return fmt.Sprintf("%s hears from b%d: %s; ", b, f.at, f.answer.Code)
	}
	return fmt.Sprintf("%s gets %d records of b%d, hw %d; ", b, len(f.records), f.at, f.answer.HW)
}

// describeLast says what becomes of the last fetch.
func (w *World) describeLast(s *State, x, how int) string {
	switch b := fmt.Sprintf("b%d", x+1); {
	case how == untaken && s.nodes[x].answer != nil:
		return fmt.Sprintf("before it has the answer of b%d, ", s.nodes[x].answer.at)
	case how == taken:
		return s.nodes[x].answer.told(b)
	case how == asked:
		return s.nodes[x].answer.told(b) + fmt.Sprintf("with a fetch on its way to b%d, ", s.nodes[x].m.LeaderID())
	}
	return ""
}

// String is the partition as the metadata has it.
func (v *view) String() string {
	p := &v.partition
	text := fmt.Sprintf("leader %d e%d isr %v p%d", p.Leader, p.LeaderEpoch, p.ISR, p.PartitionEpoch)
	if len(p.ELR) > 0 {
		text += fmt.Sprintf(" elr %v", p.ELR)
	}
	return text
}

// Show is a state on one line.
func (w *World) Show(s *State) string {
	var b strings.Builder
	for i := range w.cfg.Brokers {
		n := s.nodes[i]
		fmt.Fprintf(&b, "b%d ", i+1)
		switch {
		case !n.up:
			b.WriteString("down")
		case n.m.Role() == replica.Leader:
			fmt.Fprintf(&b, "leads e%d %v", n.m.Epoch(), n.m.ISR())
		default:
			fmt.Fprintf(&b, "%s e%d", n.m.Role(), n.m.Epoch())
		}
		b.WriteString(" [")
		for o := int64(0); o <= n.leo(); o++ {
			if o == n.m.HW() {
				b.WriteString("|")
			}
			if o < n.leo() {
				fmt.Fprintf(&b, " m%d@%d ", n.log[o].id, n.log[o].epoch)
			}
		}
		b.WriteString("]  ")
	}
	fmt.Fprintf(&b, "controller: %s, %d shown", s.now(), len(s.shown))
	if s.wrong != "" {
		b.WriteString("; " + s.wrong)
	}
	return b.String()
}
