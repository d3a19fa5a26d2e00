package controller

import (
	"fmt"
	"strings"

	"trialog/checker/explore"
	machine "trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

var modeNames = [...]string{"", ", undecided by the log yet", ", and a copy stays on its way", ", on its way", ", and its answer is lost"}

// Describe tells an action.
func (w *World) Describe(s *State, a explore.Action) string {
	how, x, y := operands(a)
	b := fmt.Sprintf("b%d", x+1)
	leads := fmt.Sprintf("c%d", s.leader+1)
	switch kind := w.Kind(a); kind {
	case commit:
		return fmt.Sprintf("%s's oldest decision is committed: %s", leads, s.seats[s.leader].pend[0].ask)
	case catchUp:
		return leads + " applies the rest of the log"
	case resign:
		return fmt.Sprintf("c%d hears that it is deposed", x+1)
	case hear:
		return b + " applies its registration"
	case arrive:
		return fmt.Sprintf("late: %s", s.late[x])
	case crash:
		return b + " dies"
	case lose:
		return b + " dies and loses its data"
	case leave:
		return b + " wants to shut down"
	case breakDisk:
		return "the directory of " + b + "'s replicas fails"
	case replace:
		return b + " ends, to begin anew without its failed directory"
	case electController:
		text := fmt.Sprintf("c%d is elected", x+1)
		if lag := y & 15; lag > 0 {
			text += fmt.Sprintf(", and lacks %d batches", lag)
		}
		if n := len(s.seats[s.leader].pend); n > 0 {
			text += fmt.Sprintf("; of %d decisions of %s %d survive", n, leads, y>>4)
		}
		return text
	case deposedFences, deposedGives:
		return fmt.Sprintf("c%d, deposed: %s", x+1, w.message(s, kind, x, y))
	default:
		if kind == register {
			to := *s
			to.brokers[x].births++
			return w.message(&to, kind, x, y).String() + modeNames[how]
		}
		return w.message(s, kind, x, y).String() + modeNames[how]
	}
}

// String is the request in words.
func (m *message) String() string {
	from := fmt.Sprintf("b%d", m.from)
	where := fmt.Sprintf("partition %d", m.slot+1)
	switch m.kind {
	case register:
		if m.wrote >= 0 {
			return fmt.Sprintf("%s registers, after a clean end of epoch %d", from, m.wrote)
		}
		return from + " registers"
	case beat:
		text := fmt.Sprintf("%s beats in epoch %d", from, m.life)
		if m.disk == failed {
			text += ", and says that a directory failed"
		}
		if !m.caught {
			text += ", not knowing of its registration"
		}
		if m.wants {
			text += ", and wants to shut down"
		}
		return text
	case expire, fence, deposedFences:
		return fmt.Sprintf("the session of %s's epoch %d ends", from, m.life)
	case grow, shrink, recovered:
		var isr []string
		for _, in := range m.isr {
			isr = append(isr, fmt.Sprintf("%d@%d", in.Node, in.BrokerEpoch))
		}
		return fmt.Sprintf("%s asks for isr [%s] of %s on top of e%d p%d", from, strings.Join(isr, " "), where, m.epoch, m.state)
	case electLeaders:
		if m.how == everywhere {
			return "leaders are balanced"
		}
		return map[int]string{int(machine.Preferred): "the preferred leader", int(machine.Unclean): "any leader"}[m.how] + " is asked for " + where
	case keep:
		return from + " says where its replicas are"
	case relax:
		return fmt.Sprintf("min.insync.replicas of the topic of %s becomes %d", where, m.how)
	case ownMin:
		return "min.insync.replicas of " + from + " alone becomes 1"
	case move:
		return fmt.Sprintf("%s is to move to %v", where, m.to)
	case cancel:
		return fmt.Sprintf("%s is not to move any more", where)
	case makeTopic:
		return "the topic of " + where + " is made"
	case removeTopic:
		return "the topic of " + where + " is removed"
	case forget:
		return from + " is unregistered"
	}
	return from + " gets producer ids"
}

func state(p *meta.PartitionImage) string {
	text := "nobody leads"
	if p.Leader != kafka.NoNode {
		text = fmt.Sprintf("b%d leads", p.Leader)
	}
	text += fmt.Sprintf(" e%d p%d of %v isr %v", p.LeaderEpoch, p.PartitionEpoch, p.Replicas, p.ISR)
	for _, l := range []struct {
		name  string
		nodes []kafka.NodeID
	}{{"elr", p.ELR}, {"last", p.LastKnownELR}, {"adding", p.Adding}, {"removing", p.Removing}} {
		if len(l.nodes) > 0 {
			text += fmt.Sprintf(" %s %v", l.name, l.nodes)
		}
	}
	if p.Recovering {
		text += " recovering"
	}
	return text
}

// Show is a state on one line.
func (w *World) Show(s *State) string {
	var b strings.Builder
	w.showBrokers(s, &b)
	for slot := range w.slots() {
		if _, p := w.partition(s.head.image, slot); p != nil {
			fmt.Fprintf(&b, "%s, held by", state(p))
			for i := range w.cfg.Brokers {
				if s.holds[slot]>>i&1 > 0 {
					fmt.Fprintf(&b, " b%d", i+1)
				}
			}
			b.WriteString("; ")
		}
	}
	fmt.Fprintf(&b, "c%d leads t%d", s.leader+1, s.term)
	for i := range w.cfg.Controllers {
		c := &s.seats[i]
		if i != int(s.leader) && c.m.Active() {
			fmt.Fprintf(&b, ", c%d is deposed", i+1)
		}
		if i == int(s.leader) && !c.m.Active() {
			b.WriteString(", waits")
		}
		if len(c.pend) > 0 {
			fmt.Fprintf(&b, ", %d decisions of c%d wait", len(c.pend), i+1)
		}
	}
	if len(s.late) > 0 {
		fmt.Fprintf(&b, ", %d late", len(s.late))
	}
	if s.broken != nothing {
		b.WriteString("; " + s.wrong)
	}
	return b.String()
}

func (w *World) showBrokers(s *State, b *strings.Builder) {
	for i := range w.cfg.Brokers {
		p, k := &s.brokers[i], s.head.image.Broker(kafka.NodeID(i+1))
		fmt.Fprintf(b, "b%d", i+1)
		switch {
		case !p.up:
			b.WriteString(" down")
		case p.life < 0:
			b.WriteString(" begins")
		case !p.caught:
			b.WriteString(" hears late")
		case p.wants:
			b.WriteString(" wants to go")
		}
		b.WriteString([...]string{"", " lost its disk", " has no replicas", " on another disk"}[p.disk])
		switch {
		case k == nil:
			b.WriteString(" unknown")
		case k.Fenced:
			fmt.Fprintf(b, " fenced@%d", k.Epoch)
		case k.InControlledShutdown:
			fmt.Fprintf(b, " leaving@%d", k.Epoch)
		default:
			fmt.Fprintf(b, " @%d", k.Epoch)
		}
		b.WriteString("; ")
	}
}
