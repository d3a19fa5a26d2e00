package replication

import (
	"encoding/binary"
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
		{Name: "acked", Doc: "who leads by the controller's word, and knows it, has what was acknowledged", Holds: func(s *State) bool {
			p := &s.now().partition
			if p.Leader == kafka.NoNode {
				return true
			}
			n := s.nodes[p.Leader-1]
			return n.m.Role() != replica.Leader || n.m.Epoch() != p.LeaderEpoch || s.holds(n)
		}},
		{Name: "candidates", Doc: "who may be elected has what was acknowledged", Holds: func(s *State) bool {
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
		{Name: "assertions", Doc: "no machine finds an invariant of its own broken, and no offset is acknowledged twice",
			Holds: func(s *State) bool { return s.wrong == "" }},
	}
}

func (s *State) holds(n *node) bool {
	for o, r := range s.acked {
		if o >= len(n.log) || n.log[o] != r {
			return false
		}
	}
	return true
}

// Sometimes are what a search must meet.
func (w *World) Sometimes() []explore.Property[State] {
	return []explore.Property[State]{
		{Name: "a record is acknowledged", Holds: func(s *State) bool { return len(s.acked) > 0 }},
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

// Encode writes all of a state.
func (w *World) Encode(s *State, _ explore.Perm, b []byte) []byte {
	num := func(vs ...int64) {
		for _, v := range vs {
			b = binary.AppendVarint(b, v)
		}
	}
	entries := func(list []entry) {
		num(int64(len(list)))
		for _, r := range list {
			num(int64(r.id), int64(r.epoch))
		}
	}
	for i := range w.cfg.Brokers {
		n := s.nodes[i]
		b = append(b, bit(n.up))
		num(n.life, int64(n.seen), n.hw)
		b = n.epochs.AppendTo(n.m.AppendTo(b))
		entries(n.log)
		num(int64(len(s.fetches[i])), int64(len(s.alters[i])))
		for k := range s.fetches[i] {
			f := &s.fetches[i][k]
			b = append(b, bit(f.answered), bit(f.answer.Diverging))
			num(int64(f.at), f.ask.BrokerEpoch, int64(f.ask.Epoch), f.ask.Offset, int64(f.ask.LastEpoch), int64(f.answer.Code),
				int64(f.answer.Ours.Epoch), f.answer.Ours.End, f.answer.HW, f.answer.LogStart, f.answer.LEO)
			entries(f.records)
		}
		for k := range s.alters[i] {
			a := &s.alters[i][k]
			b = append(b, bit(a.answered))
			num(int64(a.ask.Epoch), int64(a.ask.PartitionEpoch), int64(a.answer.Code), int64(a.answer.Asked), int64(a.answer.Epoch), int64(a.answer.PartitionEpoch),
				int64(len(a.ask.ISR)), int64(len(a.answer.ISR)))
			for _, m := range a.ask.ISR {
				num(int64(m.Node), m.BrokerEpoch)
			}
			for _, m := range a.answer.ISR {
				num(int64(m))
			}
		}
	}
	// Of the metadata, what somebody may still hear.
	first := len(s.views) - 1
	for i := range w.cfg.Brokers {
		if s.nodes[i].up {
			first = min(first, s.nodes[i].seen)
		}
	}
	num(int64(len(s.views)), int64(first))
	for k := max(first, 0); k < len(s.views); k++ {
		p := &s.views[k].partition
		num(int64(p.Leader), int64(p.LeaderEpoch), int64(p.PartitionEpoch), int64(len(p.ISR)), int64(len(p.ELR)), int64(len(p.LastKnownELR)))
		for _, list := range [][]kafka.NodeID{p.ISR, p.ELR, p.LastKnownELR} {
			for _, n := range list {
				num(int64(n))
			}
		}
		for _, k := range s.views[k].brokers {
			b = append(b, bit(k.Barred))
			num(k.Epoch)
		}
	}
	num(int64(s.used.Crash), int64(s.used.Lose), int64(s.used.Fence), int64(s.used.Lag), int64(s.used.Drop), int64(s.used.Elect), int64(s.written))
	entries(s.acked)
	return append(b, s.wrong...)
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// Describe tells an action.
func (w *World) Describe(s *State, a explore.Action) string {
	x, y := operands(a)
	b := fmt.Sprintf("b%d", x+1)
	switch w.Kind(a) {
	case hearNext:
		return fmt.Sprintf("%s hears: %s", b, s.views[s.nodes[x].seen].String())
	case hearAll:
		return fmt.Sprintf("%s hears: %s", b, s.now().String())
	case appendRecord:
		return fmt.Sprintf("%s appends m%d", b, s.written)
	case ask:
		n := s.nodes[x]
		f, _ := n.m.NextFetch(n.epochs.LatestEpoch(), n.life)
		return fmt.Sprintf("%s asks b%d in e%d from %d", b, n.m.LeaderID(), f.Epoch, f.Offset)
	case arrive:
		f := &s.fetches[x][y]
		return fmt.Sprintf("b%d answers %s's fetch of e%d from %d", f.at, b, f.ask.Epoch, f.ask.Offset)
	case take:
		f := &s.fetches[x][y]
		switch {
		case f.answer.Diverging:
			return fmt.Sprintf("%s hears from b%d: e%d ends at %d", b, f.at, f.answer.Ours.Epoch, f.answer.Ours.End)
		case f.answer.Code != kafka.ErrNone:
			return fmt.Sprintf("%s hears from b%d: %s", b, f.at, f.answer.Code)
		}
		return fmt.Sprintf("%s gets %d records of b%d, hw %d", b, len(f.records), f.at, f.answer.HW)
	case proposalArrives:
		return fmt.Sprintf("the controller decides on: %s", s.alters[x][y].ask)
	case proposalAnswered:
		return fmt.Sprintf("%s hears of its proposal: %s", b, s.alters[x][y].answer.Code)
	case lag:
		return fmt.Sprintf("b%d has been behind %s for long", y+1, b)
	case restart:
		return b + " comes back, and registers"
	case beat:
		return b + " beats"
	case sessionEnds, fence:
		return fmt.Sprintf("%s's session ends", b)
	case crash:
		return b + " dies"
	case powerCut:
		return fmt.Sprintf("%s loses power, and its last record", b)
	case drop:
		return fmt.Sprintf("a message of %s is lost", b)
	case proposalTimesOut:
		return fmt.Sprintf("%s's proposal times out, still on its way", b)
	}
	return "the preferred leader is asked for"
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
	fmt.Fprintf(&b, "controller: %s, %d acked", s.now(), len(s.acked))
	if s.wrong != "" {
		b.WriteString("; " + s.wrong)
	}
	return b.String()
}
