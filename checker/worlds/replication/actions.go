package replication

import (
	"fmt"

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
	exchange
	lateArrives
	lateTaken
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
	"a broker applies the next change", "a broker applies all changes", "a leader appends", "a follower fetches",
	"a late fetch arrives", "a late answer arrives", "a proposal arrives", "a proposal is answered", "a follower is behind for long",
	"a broker comes back", "a broker beats", "the session of a dead broker ends", "a broker dies", "a broker loses power",
	"the session of a live broker ends", "an answer is lost", "a proposal times out", "a leader is asked for",
}

// What becomes of the last fetch of a broker that hears something new, or dies.
const (
	untaken = iota // its answer is late
	taken          // its answer is taken in first
	asked          // its answer is taken in first, and the next fetch is sent, and is late
)

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
		if b.Fenced {
			to = append(to, action(beat, i, 0))
		}
		if s.total < w.cfg.Total {
			to = w.faults(s, i, to)
		}
	}
	return to
}

func (w *World) brokerSteps(s *State, i int, to []explore.Action) []explore.Action {
	n := s.nodes[i]
	if behind := len(s.views) - s.seen[i]; behind > 0 {
		to = s.withLast(hearAll, i, to)
		if behind > 1 && s.seen[i] > 0 {
			to = s.withLast(hearNext, i, to)
		}
	}
	acks := int16(-1)
	if w.cfg.AcksOne {
		acks = 1
	}
	if int(s.written) < w.cfg.Records && n.m.CheckProduce(acks) == kafka.ErrNone {
		to = append(to, action(appendRecord, i, 0))
	}
	if n.answer != nil || s.mayAsk(i) {
		to = append(to, action(exchange, i, 0))
	}
	if n.late != nil {
		if n.late.answered {
			to = append(to, action(lateTaken, i, 0))
		} else if s.nodes[n.late.at-1].up {
			to = append(to, action(lateArrives, i, 0))
		}
	}
	for k := range n.alters {
		if n.alters[k].answered {
			to = append(to, action(proposalAnswered, i, k))
		} else {
			to = append(to, action(proposalArrives, i, k))
		}
	}
	return to
}

// mayAsk: the broker follows somebody who lives.
func (s *State) mayAsk(i int) bool {
	m := s.nodes[i].m
	return m.Role() == replica.Follower && m.LeaderID() != kafka.NoNode && s.nodes[m.LeaderID()-1].up
}

// withLast lists an action that may come before, between and after the answer to the last fetch and the next fetch.
func (s *State) withLast(kind, i int, to []explore.Action) []explore.Action {
	n := s.nodes[i]
	to = append(to, action(kind, i, untaken))
	if n.answer != nil {
		to = append(to, action(kind, i, taken))
	}
	if kind != crash && n.late == nil && s.mayAsk(i) {
		to = append(to, action(kind, i, asked))
	}
	return to
}

func (w *World) faults(s *State, i int, to []explore.Action) []explore.Action {
	n, used, most := s.nodes[i], &s.used, &w.cfg.Faults
	if used.Lag < most.Lag {
		for f := range w.cfg.Brokers {
			if n.m.Watches(kafka.NodeID(f + 1)) {
				to = append(to, action(lag, i, f))
			}
		}
	}
	if used.Crash < most.Crash {
		to = s.withLast(crash, i, to)
	}
	if used.Lose < most.Lose && n.leo() > 0 {
		to = append(to, action(powerCut, i, 0))
	}
	if used.Fence < most.Fence && s.ctl.Image().Broker(kafka.NodeID(i+1)).Active() {
		to = append(to, action(fence, i, 0))
	}
	if used.Elect < most.Elect && s.now().partition.Leader != kafka.NodeID(i+1) && !s.ctl.Image().Broker(kafka.NodeID(i+1)).Fenced {
		to = append(to, action(elect, i, 0))
	}
	if used.Drop < most.Drop {
		if n.answer != nil {
			to = append(to, action(drop, i, 0))
		}
		if len(n.alters) == 1 && !n.alters[0].answered {
			to = append(to, action(proposalTimesOut, i, 0))
		}
	}
	return to
}

// Step does an enabled action. An assertion of a machine that fails is kept in the state.
func (w *World) Step(from *State, a explore.Action, to *State) (branches uint64) {
	*to = *from
	func() {
		defer func() {
			if failed := recover(); failed != nil {
				to.wrong = fmt.Sprint(failed)
			}
		}()
		x, y := operands(a)
		if kind := w.Kind(a); kind >= lag {
			to.cluster(w, kind, x, y)
		} else {
			to.partition(kind, x, y)
		}
	}()
	to.seal(w)
	branches, to.marks = to.marks, 0
	return branches
}

// partition is what concerns the work of brokers.
func (s *State) partition(kind, x, y int) {
	switch kind {
	case hearNext:
		s.settleLast(x, y)
		s.hear(x, s.seen[x]+1)
	case hearAll:
		s.settleLast(x, y)
		s.hear(x, len(s.views))
	case appendRecord:
		n := s.machine(x)
		n.log = append(n.log[:len(n.log):len(n.log)], entry{s.written, n.m.Epoch()})
		s.written++
		s.act(x, n.m.Appended(now, n.leo()-1, n.leo(), nil), nil)
	case exchange:
		s.take(x)
		s.ask(x)
	case lateArrives:
		f := *s.nodes[x].late
		s.answer(&f)
		s.own(x).late = &f
	case lateTaken:
		f := s.nodes[x].late
		s.own(x).late = nil
		s.takeIn(x, f)
	case proposalArrives:
		s.proposalArrives(x, y)
	case proposalAnswered:
		n := s.machine(x)
		answer := n.alters[y].answer
		n.alters = append(n.alters[:y:y], n.alters[y+1:]...)
		s.act(x, n.m.ProposalAnswered(now, answer, nil), nil)
	}
}

// cluster is what concerns the life of brokers, and faults.
func (s *State) cluster(w *World, kind, x, y int) {
	id := kafka.NodeID(x + 1)
	switch kind {
	case lag:
		s.spend(&s.used.Lag)
		s.act(x, s.machine(x).m.Expired(replica.LagTimer(kafka.NodeID(y+1)), nil), nil)
	case restart:
		s.restart(w, x)
	case beat:
		offset := int64(kafka.NoOffset)
		if s.seen[x] > 0 {
			offset = s.views[s.seen[x]-1].registered
		}
		s.decideMarked(&controller.BrokerHeartbeat{Broker: id, BrokerEpoch: s.nodes[x].life, MetadataOffset: offset})
	case fence, sessionEnds:
		if kind == fence {
			s.spend(&s.used.Fence)
		}
		s.decideMarked(&controller.SessionExpired{Broker: id, BrokerEpoch: s.ctl.Image().Broker(id).Epoch})
	case crash:
		s.spend(&s.used.Crash)
		s.settleLast(x, y)
		s.die(x)
	case powerCut:
		s.spend(&s.used.Lose)
		s.die(x)
		n := s.nodes[x]
		n.log = n.log[: len(n.log)-1 : len(n.log)-1]
		n.epochs.TruncateFromEnd(n.leo())
		n.hw = 0
	case drop:
		s.spend(&s.used.Drop)
		s.own(x).answer = nil
	case proposalTimesOut:
		s.spend(&s.used.Drop)
		n := s.machine(x)
		s.act(x, n.m.ProposalAnswered(now, replica.Altered{Code: kafka.ErrRequestTimedOut, Asked: n.alters[0].ask.PartitionEpoch}, nil), nil)
	case elect:
		s.spend(&s.used.Elect)
		s.elect(id)
	}
}

func (s *State) spend(kind *int) {
	*kind++
	s.total++
}
