package replication

import (
	"fmt"
	"slices"

	"trialog/checker/explore"
	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/replica"
)

// Kinds of actions.
const (
	hearNext = iota
	hearAll
	appendRecord
	ask
	arrive
	take
	proposalArrives
	proposalAnswered
	lag
	restart
	beat
	sessionEnds
	crash
	powerCut
	fence
	drop
	proposalTimesOut
	elect
)

var kindNames = []string{
	"a broker applies the next change", "a broker applies all changes", "a leader appends", "a follower asks", "a fetch arrives",
	"an answer arrives", "a proposal arrives", "a proposal is answered", "a follower is behind for long", "a broker comes back",
	"a broker beats", "the session of a dead broker ends", "a broker dies", "a broker loses power", "the session of a live broker ends",
	"a message is lost", "a proposal times out", "the preferred leader is asked for",
}

// Kinds names the actions.
func (w *World) Kinds() []string { return kindNames }

// Kind is the kind of an action.
func (w *World) Kind(a explore.Action) int { return int(a >> 16) }

func action(kind, x, y int) explore.Action { return explore.Action(kind<<16 | x<<8 | y) }

func operands(a explore.Action) (x, y int) { return int(a >> 8 & 255), int(a & 255) }

// Enabled lists what may happen.
func (w *World) Enabled(s *State, to []explore.Action) []explore.Action {
	if s.wrong != "" || int(s.now().partition.LeaderEpoch) > w.cfg.MaxEpoch {
		return to
	}
	for i := range w.cfg.Brokers {
		n := s.nodes[i]
		b := s.ctl.Image().Broker(kafka.NodeID(i + 1))
		if !n.up {
			to = append(to, action(restart, i, 0))
			if !b.Fenced {
				to = append(to, action(sessionEnds, i, 0))
			}
			continue
		}
		to = w.brokerSteps(s, i, to)
		if b.Fenced && n.seen == len(s.views) {
			to = append(to, action(beat, i, 0))
		}
		to = w.faults(s, i, to)
	}
	if s.total < w.cfg.Total && s.used.Elect < w.cfg.Faults.Elect && s.now().partition.Leader != 1 {
		to = append(to, action(elect, 0, 0))
	}
	return to
}

func (w *World) brokerSteps(s *State, i int, to []explore.Action) []explore.Action {
	n := s.nodes[i]
	if behind := len(s.views) - n.seen; behind > 0 {
		to = append(to, action(hearAll, i, 0))
		if behind > 1 && n.seen > 0 {
			to = append(to, action(hearNext, i, 0))
		}
	}
	if int(s.written) < w.cfg.Records && n.m.CheckProduce(-1) == kafka.ErrNone {
		to = append(to, action(appendRecord, i, 0))
	}
	if f, ok := n.m.NextFetch(n.epochs.LatestEpoch(), n.life); ok && len(s.fetches[i]) < 2 &&
		!slices.ContainsFunc(s.fetches[i], func(have fetch) bool { return have.ask.Epoch == f.Epoch }) {
		to = append(to, action(ask, i, 0))
	}
	for k := range s.fetches[i] {
		if s.fetches[i][k].answered {
			to = append(to, action(take, i, k))
		} else if s.nodes[s.fetches[i][k].at-1].up {
			to = append(to, action(arrive, i, k))
		}
	}
	for k := range s.alters[i] {
		if s.alters[i][k].answered {
			to = append(to, action(proposalAnswered, i, k))
		} else {
			to = append(to, action(proposalArrives, i, k))
		}
	}
	return to
}

func (w *World) faults(s *State, i int, to []explore.Action) []explore.Action {
	n, used, most := s.nodes[i], &s.used, &w.cfg.Faults
	if s.total >= w.cfg.Total {
		return to
	}
	if used.Lag < most.Lag {
		for f := range w.cfg.Brokers {
			if n.m.Watches(kafka.NodeID(f + 1)) {
				to = append(to, action(lag, i, f))
			}
		}
	}
	if used.Crash < most.Crash {
		to = append(to, action(crash, i, 0))
	}
	if used.Lose < most.Lose && n.leo() > 0 {
		to = append(to, action(powerCut, i, 0))
	}
	if used.Fence < most.Fence && s.ctl.Image().Broker(kafka.NodeID(i+1)).Active() {
		to = append(to, action(fence, i, 0))
	}
	if used.Drop < most.Drop {
		for k := range s.fetches[i] {
			to = append(to, action(drop, i, k))
		}
		if len(s.alters[i]) == 1 && !s.alters[i][0].answered {
			to = append(to, action(proposalTimesOut, i, 0))
		}
	}
	return to
}

// Step does an enabled action. An assertion of a machine that fails is kept in the state.
func (w *World) Step(from *State, a explore.Action, to *State) (branches uint64) {
	*to = *from
	defer func() {
		if failed := recover(); failed != nil {
			to.wrong = fmt.Sprint(failed)
		}
	}()
	x, y := operands(a)
	switch w.Kind(a) {
	case hearNext:
		to.hear(x, from.nodes[x].seen+1)
	case hearAll:
		to.hear(x, len(from.views))
	case appendRecord:
		n := to.own(x)
		n.log = append(n.log[:len(n.log):len(n.log)], entry{to.written, n.m.Epoch()})
		to.written++
		to.act(x, n.m.Appended(now, n.leo()-1, n.leo(), nil), nil)
	case ask:
		n := to.nodes[x]
		f, _ := n.m.NextFetch(n.epochs.LatestEpoch(), n.life)
		to.fetches[x] = append(to.fetches[x][:len(to.fetches[x]):len(to.fetches[x])], fetch{at: n.m.LeaderID(), ask: f})
	case arrive:
		to.arrive(x, y)
	case take:
		f := to.fetches[x][y]
		to.fetches[x] = without(to.fetches[x], y)
		n := to.own(x)
		var mine replica.EpochEnd
		mine.Epoch, mine.End = n.epochs.EndOffsetFor(f.answer.Ours.Epoch, n.leo())
		to.act(x, n.m.FetchAnswered(f.ask, f.answer, mine, nil), &f)
	case proposalArrives:
		to.proposalArrives(x, y)
	case proposalAnswered:
		answer := to.alters[x][y].answer
		to.alters[x] = without(to.alters[x], y)
		to.act(x, to.own(x).m.ProposalAnswered(now, answer, nil), nil)
	case lag:
		to.spend(&to.used.Lag)
		to.act(x, to.own(x).m.Expired(replica.LagTimer(kafka.NodeID(y+1)), nil), nil)
	case proposalTimesOut:
		to.spend(&to.used.Drop)
		to.act(x, to.own(x).m.ProposalAnswered(now, replica.Altered{Code: kafka.ErrRequestTimedOut, Asked: to.alters[x][y].ask.PartitionEpoch}, nil), nil)
	case drop:
		to.spend(&to.used.Drop)
		to.fetches[x] = without(to.fetches[x], y)
	default:
		to.cluster(w, w.Kind(a), x)
	}
	return 0
}

// cluster is what concerns the life of a broker.
func (s *State) cluster(w *World, kind, x int) {
	id := kafka.NodeID(x + 1)
	switch kind {
	case restart:
		s.ctl = s.ctl.Clone()
		r := s.decide(&controller.RegisterBroker{
			Broker: id, Incarnation: kafka.TopicID{3, byte(x), byte(len(s.views))}, PreviousEpoch: kafka.NoBrokerEpoch,
		}).(*controller.RegisterBrokerResponse)
		n := s.own(x)
		n.up, n.life, n.seen, n.m = true, r.BrokerEpoch, 0, replica.New(w.replicaConfig(id))
	case beat:
		s.ctl = s.ctl.Clone()
		s.decide(&controller.BrokerHeartbeat{Broker: id, BrokerEpoch: s.nodes[x].life, MetadataOffset: int64(s.nodes[x].seen)})
	case fence, sessionEnds:
		if kind == fence {
			s.spend(&s.used.Fence)
		}
		s.ctl = s.ctl.Clone()
		s.decide(&controller.SessionExpired{Broker: id, BrokerEpoch: s.ctl.Image().Broker(id).Epoch})
	case elect:
		s.spend(&s.used.Elect)
		s.ctl = s.ctl.Clone()
		s.decide(&controller.ElectLeaders{Type: controller.Preferred})
	case crash:
		s.spend(&s.used.Crash)
		s.die(x, 0)
	case powerCut:
		s.spend(&s.used.Lose)
		s.die(x, 1)
	}
}

func (s *State) spend(kind *int) {
	*kind++
	s.total++
}

// own is a copy of a node for this state alone, with a machine of its own.
func (s *State) own(i int) *node {
	n := *s.nodes[i]
	n.m, n.epochs = n.m.Clone(), n.epochs.Clone()
	s.nodes[i] = &n
	return &n
}

func without[T any](list []T, i int) []T {
	return append(list[:i:i], list[i+1:]...)
}

// hear applies the metadata up to a moment.
func (s *State) hear(i, upTo int) {
	n := s.own(i)
	n.seen = upTo
	v := &s.views[upTo-1]
	p := &v.partition
	id := kafka.NodeID(i + 1)
	switch {
	case len(p.Replicas) == 0: // the topic is not made yet
	case p.LeaderEpoch <= n.m.Epoch():
		if n.m.Role() == replica.Leader {
			s.act(i, n.m.SetBrokers(v.brokers, n.m.ISRCommitted(now, p.PartitionEpoch, p.ISR, nil)), nil)
		}
	case p.Leader == id && !slices.Contains(p.ISR, id):
		panic(fmt.Sprintf("the controller elects %d, which is not in its ISR %v", id, p.ISR))
	case p.Leader == id:
		n.epochs.Assign(p.LeaderEpoch, n.leo())
		s.alters[i] = nil
		s.act(i, n.m.BecomeLeader(now, replica.Leadership{
			Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Replicas: p.Replicas, ISR: p.ISR, Brokers: v.brokers, LEO: n.leo(),
			Flushed: n.leo(), HW: n.hw,
		}, nil), nil)
	default:
		s.alters[i] = nil
		s.act(i, n.m.BecomeFollower(now, replica.Following{
			Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Leader: p.Leader, LEO: n.leo(), Flushed: n.leo(), HW: n.hw,
		}, nil), nil)
	}
}

// arrive has a leader answer a fetch.
func (s *State) arrive(x, y int) {
	f := s.fetches[x][y]
	l := s.own(int(f.at - 1))
	var ours replica.EpochEnd
	ours.Epoch, ours.End = l.epochs.EndOffsetFor(f.ask.LastEpoch, l.leo())
	answer, effects := l.m.Fetched(now, f.ask, ours, nil)
	f.answered, f.answer = true, answer
	if answer.Code == kafka.ErrNone && !answer.Diverging {
		f.records = l.log[f.ask.Offset:len(l.log):len(l.log)]
	}
	s.fetches[x] = slices.Clone(s.fetches[x])
	s.fetches[x][y] = f
	s.act(int(f.at-1), effects, nil)
}

func (s *State) proposalArrives(x, y int) {
	p := s.alters[x][y]
	req := controller.AlterISR{Topic: topicID, LeaderEpoch: p.ask.Epoch, PartitionEpoch: p.ask.PartitionEpoch}
	for _, m := range p.ask.ISR {
		req.ISR = append(req.ISR, controller.InSync{Node: m.Node, BrokerEpoch: m.BrokerEpoch})
	}
	s.ctl = s.ctl.Clone()
	r := s.decide(&controller.AlterPartition{Broker: kafka.NodeID(x + 1), BrokerEpoch: s.nodes[x].life, Partitions: []controller.AlterISR{req}}).(*controller.AlterPartitionResponse)
	p.answered, p.answer = true, replica.Altered{Code: r.Code, Asked: p.ask.PartitionEpoch}
	if r.Code == kafka.ErrNone {
		a := r.Partitions[0]
		p.answer = replica.Altered{Code: a.Code, Asked: p.ask.PartitionEpoch, Epoch: a.LeaderEpoch, PartitionEpoch: a.PartitionEpoch, ISR: a.ISR}
	}
	s.alters[x] = slices.Clone(s.alters[x])
	s.alters[x][y] = p
}

// die ends a process; what was on its way to or from it is lost.
func (s *State) die(i int, lost int) {
	n := s.own(i)
	n.up = false
	n.log = n.log[: len(n.log)-lost : len(n.log)-lost]
	n.epochs.TruncateFromEnd(n.leo())
	n.hw = min(n.m.HW(), n.leo())
	n.m = replica.New(replica.Config{Node: kafka.NodeID(i + 1), FlushMessages: replica.NoFlushPolicy, FlushMs: replica.NoFlushPolicy})
	s.fetches[i], s.alters[i] = nil, nil
	for f := range s.fetches {
		s.fetches[f] = slices.DeleteFunc(slices.Clone(s.fetches[f]), func(m fetch) bool { return m.at == kafka.NodeID(i+1) })
	}
}

// act does what the machine of a node wants done. The node is the state's own.
func (s *State) act(i int, effects []replica.Effect, f *fetch) {
	n := s.nodes[i]
	for _, e := range effects {
		switch e.Kind {
		case replica.ProposeISR:
			s.alters[i] = append(s.alters[i][:len(s.alters[i]):len(s.alters[i])], alter{ask: e})
			if len(s.alters[i]) > 2 {
				s.alters[i] = s.alters[i][1:]
			}
		case replica.Truncate:
			n.log = n.log[:e.Offset:e.Offset]
			n.epochs.TruncateFromEnd(e.Offset)
			n.m.Truncated(e.Offset)
		case replica.Restart:
			panic("nothing is ever deleted here, and a log begins anew")
		case replica.AppendFetched:
			for _, r := range f.records {
				n.epochs.Assign(r.epoch, n.leo())
				n.log = append(n.log[:len(n.log):len(n.log)], r)
			}
			s.act(i, n.m.FollowerAppended(now, n.leo(), f.answer.HW, nil), nil)
		}
	}
	s.noteAcks(n)
}

// noteAcks remembers what a producer with acks=all may have been told.
func (s *State) noteAcks(n *node) {
	if n.m.Role() != replica.Leader {
		return
	}
	for o := int64(0); o < n.m.HW(); o++ {
		if done, code := n.m.AckAll(o + 1); !done || code != kafka.ErrNone {
			return
		}
		switch {
		case int(o) < len(s.acked) && s.acked[o] != n.log[o]:
			s.wrong = fmt.Sprintf("offset %d was acknowledged as m%d and as m%d", o, s.acked[o].id, n.log[o].id)
		case int(o) == len(s.acked):
			s.acked = append(s.acked[:o:o], n.log[o])
		}
	}
}
