package replica

import (
	"slices"

	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// events is what happens besides messages: 22 to 25.
func (s *schedule) events(kind int, b *broker, p *process) {
	switch {
	case kind == 22 && p.up:
		s.heartbeat(b)
	case kind == 22:
		s.restart(b, p)
	case kind == 23:
		s.goes(b, p)
	case kind == 24:
		if k := s.ctl.c.Image().Broker(b.node); s.draw(3) == 0 || !p.up {
			s.ctl.do(s.cluster, &controller.SessionExpired{Broker: b.node, BrokerEpoch: k.Epoch})
		}
	default:
		s.administer(b, p)
	}
}

// lags: a follower has been behind for replica.lag.time.max.ms.
func (s *schedule) lags(b *broker) {
	for range s.brokers {
		if n := kafka.NodeID(s.draw(len(s.brokers)) + 1); b.m.Watches(n) {
			s.act(b, b.m.Expired(LagTimer(n), nil), nil)
			return
		}
	}
}

// administer is what administrators do, and what happens to controllers.
func (s *schedule) administer(b *broker, p *process) {
	switch s.draw(5) {
	case 0:
		s.ctl.do(s.cluster, &controller.BalanceLeaders{})
	case 1:
		s.reassign(b)
	case 2:
		s.changeController()
	case 3:
		if to, code := b.m.CheckDelete(b.start + int64(s.draw(3))); p.up && code == kafka.ErrNone && to > b.start {
			b.startAt(to)
			s.act(b, b.m.LogStartMoved(to, nil), nil)
		}
	default:
		// A heartbeat of the life before is late.
		s.ctl.do(s.cluster, &controller.BrokerHeartbeat{Broker: b.node, BrokerEpoch: p.before, MetadataOffset: int64(p.joined)})
	}
}

// heartbeat says how much metadata a broker has applied; sometimes it asks to be let go.
func (s *schedule) heartbeat(b *broker) {
	r, _ := s.ctl.do(s.cluster, &controller.BrokerHeartbeat{
		Broker: b.node, BrokerEpoch: b.life, MetadataOffset: int64(s.ctl.seen[b.node]), WantShutDown: s.draw(12) == 0,
	})
	if r.(*controller.BrokerHeartbeatResponse).ShutDown {
		s.die(b, s.proc(b), b.leo(), true)
	}
}

// goes: the process ends. Cleanly, with all that it has, or by a power cut, with less.
func (s *schedule) goes(b *broker, p *process) {
	switch {
	case !p.up:
	case s.world.cuts && s.draw(2) == 0:
		if s.mayLose(b.node) {
			s.die(b, p, b.start+int64(s.draw(len(b.log)+1)), false)
		}
	default:
		s.die(b, p, b.leo(), true)
	}
}

// mayLose: somebody else is known to have all, and no other disk has lost anything that the controller does not know of. With
// min.insync.replicas 2 one may.
func (s *schedule) mayLose(node kafka.NodeID) bool {
	p := s.partition()
	for i := range s.procs {
		if s.procs[i].lost || p.Reassigning() {
			return false
		}
	}
	return slices.ContainsFunc(slices.Concat(p.ISR, p.ELR), func(n kafka.NodeID) bool { return n != node })
}

// die ends a process; the HW that is on the disk may be an old one.
func (s *schedule) die(b *broker, p *process, keep kafka.Offset, clean bool) {
	b.log = b.log[:keep-b.start]
	b.epochs.TruncateFromEnd(keep)
	b.hw = max(b.start, min(b.hw, keep)-int64(s.draw(3)))
	b.m = New(s.config(b.node))
	*p = process{clean: clean, lost: !clean, life: b.life}
}

// restart registers the next life. Until it has heard of that, nothing is taken up.
func (s *schedule) restart(b *broker, p *process) {
	before := kafka.NoBrokerEpoch
	if p.clean {
		before = b.life
	}
	s.ctl.register(s, s.cluster, b, before)
	*p = process{up: true, joined: len(s.ctl.views), before: p.life}
	p.life = b.life
}

// reassign is to three brokers or fewer, or cancels; not while a disk that lost something is taken for a good one.
func (s *schedule) reassign(b *broker) {
	for i := range s.procs {
		if s.procs[i].lost {
			return
		}
	}
	r := controller.Reassignment{TopicPartition: kafka.TopicPartition{Topic: "t"}, Cancel: s.draw(3) == 0}
	n := len(s.brokers)
	for i := range min(n, 2+s.draw(2)) {
		r.Replicas = append(r.Replicas, kafka.NodeID((int(b.node)+i)%n+1))
	}
	s.ctl.do(s.cluster, &controller.Reassign{Partitions: []controller.Reassignment{r}})
}

// changeController has another one take over. It has not heard all of what its predecessor committed.
func (s *schedule) changeController() {
	k := s.ctl
	k.cfg.Standby = true
	k.term++
	next := controller.New(k.cfg, k.base)
	heard := max(0, len(k.log)-s.draw(3))
	s.replay(next, k.log[:heard])
	next.Lead(s.now, k.term, int64(len(k.log)))
	if next.Reached(s.now, int64(heard)); !next.Active() {
		s.replay(next, k.log[heard:])
		next.Reached(s.now, int64(len(k.log)))
	}
	k.c = next
}

func (s *schedule) replay(c *controller.Controller, log [][]meta.Record) {
	for _, records := range log {
		if err := c.Replay(records...); err != nil {
			s.fail("%s", err)
		}
	}
}

// check looks for what was promised and is gone: on the broker that the controller elected, and where two logs differ below
// their HWs. In one life the HW never goes back.
func (s *schedule) check() {
	s.checkController()
	if p := s.partition(); p.Leader != kafka.NoNode && !s.procs[p.Leader-1].lost {
		l := s.brokers[p.Leader-1]
		for o := range s.end {
			r, ok := s.promised[o]
			if ok && o >= l.start && (o >= l.leo() || l.log[o-l.start] != r) {
				s.fail("offset %d was promised as %s; b%d is elected in e%d without it", o, r, l.node, p.LeaderEpoch)
			}
		}
	}
	for _, b := range s.brokers {
		p := s.proc(b)
		if hw := b.m.HW(); p.up && hw < p.hw {
			s.fail("b%d's HW goes back from %d to %d", b.node, p.hw, hw)
		}
		p.hw = b.m.HW()
		for _, c := range s.brokers[:b.node-1] {
			for o := max(b.start, c.start); o < min(b.m.HW(), c.m.HW()); o++ {
				if x, y := b.log[o-b.start], c.log[o-c.start]; x != y {
					s.fail("offset %d is %s on b%d and %s on b%d, below both HWs", o, x, b.node, y, c.node)
				}
			}
		}
	}
}

// checkController looks at what the controller decided: epochs only grow, who leads is in the ISR, members of the ISR serve, and
// a broker serves when it knows that it is registered.
func (s *schedule) checkController() {
	p, w, image := s.partition(), &s.was, s.ctl.c.Image()
	for _, n := range p.ISR {
		if k := image.Broker(n); !k.Active() && (p.Leader != kafka.NoNode || len(p.ISR) > 1 || s.world.elr) {
			s.fail("b%d is in the ISR %v, and does not serve", n, p.ISR)
		}
	}
	for _, b := range s.brokers {
		if k, at := image.Broker(b.node), s.proc(b); !k.Fenced && at.up && k.Epoch == b.life && s.ctl.seen[b.node] < at.joined {
			s.fail("b%d is not fenced, and has not heard of its registration", b.node)
		}
	}
	switch {
	case len(p.ISR) == 0 && !s.world.elr:
		s.fail("the ISR is empty")
	case p.Leader != kafka.NoNode && !slices.Contains(p.ISR, p.Leader):
		s.fail("b%d leads and is not in the ISR %v", p.Leader, p.ISR)
	case p.LeaderEpoch < w.LeaderEpoch || p.PartitionEpoch < w.PartitionEpoch || p.Leader != w.Leader && p.LeaderEpoch == w.LeaderEpoch && w.PartitionEpoch > 0:
		s.fail("b%d leads in e%d p%d after b%d in e%d p%d", p.Leader, p.LeaderEpoch, p.PartitionEpoch, w.Leader, w.LeaderEpoch, w.PartitionEpoch)
	}
	s.was = *p
}
