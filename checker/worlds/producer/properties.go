package producer

import (
	"encoding/binary"
	"fmt"
	"strings"

	"trialog/checker/explore"
	"trialog/core/client/retry"
	"trialog/core/kafka"
	"trialog/core/replica"
)

// Invariants of the world.
func (w *World) Invariants() []explore.Property[State] {
	return []explore.Property[State]{
		{Name: "no-duplicate", Doc: "no log has a record twice", Holds: eachLog(func(s *State, log []entry) bool {
			var seen uint16
			for _, r := range log {
				if seen&(1<<r.id) != 0 {
					return false
				}
				seen |= 1 << r.id
			}
			return true
		})},
		{Name: "order", Doc: "records are in the order of sending, but for those that ended in doubt, which may come late", Holds: eachLog(inOrder)},
		{Name: "no-gap", Doc: "of what was sent under one identity a log has all from the first on, unless something was lost",
			Holds: eachLog(func(s *State, log []entry) bool {
				var next [MaxBatches + 1]kafka.Sequence
				for _, r := range log {
					if r.sequence != next[r.identity] && !s.lossy {
						return false
					}
					next[r.identity] = r.sequence + 1
				}
				return true
			})},
		{Name: "fenced", Doc: "no log has a record of a producer's epoch behind one of a later epoch", Holds: eachLog(func(s *State, log []entry) bool {
			for k := 1; k < len(log); k++ {
				if w.cfg.Bump && log[k].identity < log[k-1].identity {
					return false
				}
			}
			return true
		})},
		{Name: "acked", Doc: "the leader has what was acked, where it was acked, unless something was lost", Holds: func(s *State) bool {
			if s.lossy || s.part.leader == 0 || !s.nodes[s.part.leader-1].up {
				return true
			}
			n := s.nodes[s.part.leader-1]
			for id, e := range s.ended {
				if e.over && e.outcome == retry.OK && (e.offset < 0 || e.offset >= n.leo() || n.log[e.offset].id != uint8(id)) {
					return false
				}
			}
			return true
		}},
		{Name: "offset", Doc: "a record is acked with the offset at which it is", Holds: func(s *State) bool { return !s.misplace }},
		{Name: "failed", Doc: "what failed is in no log", Holds: eachLog(func(s *State, log []entry) bool {
			for _, r := range log {
				if e := s.ended[r.id]; e.over && e.outcome == retry.Failed {
					return false
				}
			}
			return true
		})},
		{Name: "refused", Doc: "no batch ends because its number is out of order or its identity is not accepted, unless something was lost",
			Holds: func(s *State) bool { return s.refused == kafka.ErrNone || s.lossy }},
		{Name: "given-up", Doc: "no number of an identity that was given up is given to a batch", Holds: func(s *State) bool { return !s.revived }},
		{Name: "assertions", Doc: "no machine finds an invariant of its own broken", Holds: func(s *State) bool { return s.wrong == "" }},
	}
}

func eachLog(holds func(*State, []entry) bool) func(*State) bool {
	return func(s *State) bool {
		for _, n := range s.nodes {
			if !holds(s, n.log) {
				return false
			}
		}
		return true
	}
}

func inOrder(s *State, log []entry) bool {
	for k := range log {
		for _, before := range log[:k] {
			if e := s.ended[log[k].id]; before.id > log[k].id && !(e.over && e.outcome == retry.Unknown) {
				return false
			}
		}
	}
	return true
}

// Sometimes are what a search must meet, as far as its budgets allow it.
func (w *World) Sometimes() []explore.Property[State] {
	most := w.cfg.Faults
	if w.cfg.Total == 0 {
		most = Budget{}
	}
	all := []explore.Property[State]{
		{Name: "every batch is acked", Holds: func(s *State) bool {
			for i := range w.cfg.Batches {
				if !s.ended[i].over || s.ended[i].outcome != retry.OK {
					return false
				}
			}
			return true
		}},
	}
	add := func(possible bool, name string, holds func(*State) bool) {
		if possible {
			all = append(all, explore.Property[State]{Name: name, Holds: holds})
		}
	}
	many := min(w.cfg.Batches-1, w.cfg.InFlight, retry.InFlightMax)
	add(most.Elect+most.Crash > 0 && many > 1, fmt.Sprintf("another is made leader with %d in flight", many), func(s *State) bool {
		for i := range brokers {
			if len(s.conns[i]) >= many && s.part.leader != uint8(i+1) {
				return true
			}
		}
		return false
	})
	add(most.Elect+most.Crash > 0, "a retry is recognised by the next leader", func(s *State) bool {
		for i, n := range s.nodes {
			for _, r := range s.conns[i] {
				if r.stage != sent && r.code == kafka.ErrNone && n.m.Role() == replica.Leader && r.base < n.leo() && n.log[r.base].epoch < n.m.Epoch() {
					return true
				}
			}
		}
		return false
	})
	add(most.Break > 0, "a batch arrives late, after it was acked", func(s *State) bool {
		for _, r := range s.strays {
			if e := s.ended[r.batch]; e.over && e.outcome == retry.OK {
				return true
			}
		}
		return false
	})
	add(most.Elect > 0 && many > 1, "a batch behind a refused one is out of order", func(s *State) bool {
		for i := range brokers {
			for _, r := range s.conns[i] {
				if r.code == kafka.ErrOutOfOrderSequenceNumber {
					return true
				}
			}
		}
		return false
	})
	add(most.Late > 0, "an identity is given up", func(s *State) bool { return s.identity > 0 })
	add(w.cfg.Total > 1 && most.Unclean > 0 && most.Crash+most.Lose > 0, "an acked record is lost by an unclean election", func(s *State) bool {
		for id, e := range s.ended {
			n := s.nodes[max(s.part.leader, 1)-1]
			if e.over && e.outcome == retry.OK && s.part.leader != 0 && n.up && (e.offset >= n.leo() || n.log[e.offset].id != uint8(id)) {
				return true
			}
		}
		return false
	})
	return all
}

// Heal is the next step of a schedule without faults: brokers come back and hear, what is on its way arrives, followers
// fetch, and the producer sends.
func (w *World) Heal(s *State) (explore.Action, bool) {
	for i, n := range s.nodes {
		if !n.up {
			return action(restart, i), true
		}
	}
	for i := range brokers {
		if s.behind(i) {
			return action(hear, i), true
		}
	}
	for i := range brokers {
		if conn := s.conns[i]; len(conn) > 0 && conn[len(conn)-1].stage == sent {
			return action(arrive, i), true
		}
		if conn := s.conns[i]; len(conn) > 0 && conn[0].stage == answered {
			return action(take, i), true
		}
	}
	for i := range brokers {
		if w.asks(s, i) && !s.together() {
			return action(fetch, i), true
		}
	}
	if _, ok := s.lane.Next(); ok {
		if to := w.sends(s, nil); len(to) > 0 {
			return to[0], true
		}
	}
	return 0, false
}

// together: both brokers are up, in sync, and have the same log and HW.
func (s *State) together() bool {
	a, b := s.nodes[0], s.nodes[1]
	same := a.up && b.up && s.part.isr == 3 && a.leo() == b.leo() && a.m.HW() == a.leo() && b.m.HW() == b.leo()
	for o := 0; same && o < len(a.log); o++ {
		same = a.log[o] == b.log[o]
	}
	return same
}

// Settled: both brokers are together, and every batch has its outcome.
func (w *World) Settled(s *State) bool { return s.lane.Len() == 0 && s.together() }

// Encode writes all of a state that matters to its future: budgets as what is left of them.
func (w *World) Encode(s *State, _ explore.Perm, b []byte) []byte {
	for i, n := range s.nodes {
		b = append(b, bits(n.up, n.unclean), byte(n.life), byte(len(n.log)))
		for _, r := range n.log {
			b = append(b, r.id, r.identity, byte(r.sequence), byte(r.epoch))
		}
		b = n.producers.AppendTo(n.epochs.AppendTo(b))
		switch {
		case n.up && n.m.Role() != replica.Offline:
			b = n.m.AppendTo(b)
		case n.up:
			b = append(b, byte(n.hw))
		default:
			b = append(b, byte(n.hw), bits(n.snapshot > n.leo()))
		}
		b = append(b, byte(len(s.conns[i])))
		for k := range s.conns[i] {
			b = s.conns[i][k].appendTo(b)
		}
	}
	b = append(b, s.part.leader, s.part.isr, s.part.fenced, s.identity, s.target, bits(s.lossy, s.misplace, s.revived), byte(len(s.strays)))
	b = binary.AppendVarint(b, int64(s.part.epoch))
	b = binary.AppendVarint(b, int64(s.part.partEpoch))
	b = binary.AppendVarint(b, int64(s.refused))
	conn := byte(0)
	for k := range s.strays {
		if k > 0 && s.strays[k].conn != s.strays[k-1].conn {
			conn++
		}
		b = s.strays[k].appendTo(append(b, s.strays[k].broker, conn))
	}
	b = s.lane.AppendTo(b, func(b []byte, id uint8) []byte { return append(b, id) })
	for _, e := range s.ended[:w.cfg.Batches] {
		b = append(b, bits(e.over), byte(e.outcome), byte(e.offset))
	}
	left := w.cfg.Total - s.total
	u, m := &s.used, &w.cfg.Faults
	for _, k := range [...]int{
		left, m.Break - u.Break, m.Elect - u.Elect, m.Crash - u.Crash, m.Lose - u.Lose, m.Lag - u.Lag, m.Unclean - u.Unclean, m.Late - u.Late,
		m.Restart - u.Restart,
	} {
		b = append(b, byte(min(k, left)))
	}
	return append(b, s.wrong...)
}

func (r *request) appendTo(b []byte) []byte {
	b = append(b, r.batch, r.identity, byte(r.sequence), byte(r.stage))
	switch {
	case r.stage == answered && r.code != kafka.ErrNone:
		b = binary.AppendVarint(b, int64(r.code))
	case r.stage == answered:
		b = append(b, 0, byte(r.base))
	case r.stage == waiting:
		b = append(b, byte(r.base), byte(r.next))
	}
	return b
}

func bits(flags ...bool) byte {
	b := byte(0)
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}

// String is what the controller decided last.
func (p *partition) String() string {
	if p.leader == 0 {
		return fmt.Sprintf("nobody leads e%d isr %v", p.epoch, p.members())
	}
	return fmt.Sprintf("b%d leads e%d isr %v", p.leader, p.epoch, p.members())
}

// Show is a state on one line.
func (w *World) Show(s *State) string {
	var b strings.Builder
	for i, n := range s.nodes {
		fmt.Fprintf(&b, "b%d ", i+1)
		if n.up {
			fmt.Fprintf(&b, "%s e%d", n.m.Role(), n.m.Epoch())
		} else {
			b.WriteString("down")
		}
		b.WriteString(" [")
		for o := int64(0); o <= n.leo(); o++ {
			if n.up && o == n.m.HW() {
				b.WriteString("|")
			}
			if o < n.leo() {
				fmt.Fprintf(&b, " m%d ", n.log[o].id)
			}
		}
		b.WriteString("]")
		for k := range s.conns[i] {
			b.WriteString(" " + w.text(&s.conns[i][k]))
		}
		b.WriteString("  ")
	}
	for k := range s.strays {
		fmt.Fprintf(&b, "stray to b%d: %s  ", s.strays[k].broker+1, w.text(&s.strays[k].request))
	}
	b.WriteString("producer:")
	for _, q := range s.lane.Batches() {
		if q.Sequence >= 0 {
			fmt.Fprintf(&b, " m%d=%d/%d.%d", q.Payload, q.Identity.ID, q.Identity.Epoch, q.Sequence)
		}
	}
	for id, e := range s.ended {
		if e.over {
			fmt.Fprintf(&b, " m%d %s", id, e.outcome)
			if e.outcome == retry.OK {
				fmt.Fprintf(&b, "@%d", e.offset)
			}
		}
	}
	b.WriteString("; " + s.part.String())
	if s.lossy {
		b.WriteString("; something may be lost")
	}
	if s.wrong != "" {
		b.WriteString("; " + s.wrong)
	}
	return b.String()
}

func (w *World) text(r *request) string {
	switch {
	case r.stage == waiting:
		return fmt.Sprintf("m%d waits for %d", r.batch, r.next)
	case r.stage == answered:
		return fmt.Sprintf("m%d %s", r.batch, r.code)
	}
	return fmt.Sprintf("m%d under way", r.batch)
}
