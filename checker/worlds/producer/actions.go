package producer

import (
	"fmt"

	"trialog/checker/explore"
	"trialog/core/client/retry"
	"trialog/core/kafka"
	"trialog/core/replica"
)

// Kinds of actions. Those from breakConn on are faults.
const (
	send = iota
	arrive
	take
	strayArrives
	hear
	fetch
	leave
	restart
	breakConn
	timeOut
	elect
	crash
	powerCut
	lag
	unclean
	lateBatch
	lateAnswer
	renew
)

var kindNames = []string{
	"the producer sends", "a batch arrives", "an answer arrives", "a batch of a broken connection arrives", "a broker hears who leads",
	"a follower fetches", "a dead broker leaves the ISR", "a broker comes back", "a connection breaks", "a batch times out at the broker",
	"another is made leader", "a broker dies", "a broker loses power", "a follower is behind for long", "an unclean election",
	"a batch is late", "a refused batch is late", "the producer dies",
}

// Kinds names the actions.
func (w *World) Kinds() []string { return kindNames }

// Kind is the kind of an action.
func (w *World) Kind(a explore.Action) int { return int(a >> 8) }

func action(kind, x int) explore.Action { return explore.Action(kind<<8 | x) }

// Enabled lists what may happen.
func (w *World) Enabled(s *State, to []explore.Action) []explore.Action {
	if s.wrong != "" {
		return to
	}
	_, sendable := s.lane.Next()
	if sendable {
		to = w.sends(s, to)
	}
	for i := range brokers {
		to = w.steps(s, i, to)
	}
	for k, r := range s.strays {
		if k == 0 || s.strays[k-1].conn != r.conn {
			to = append(to, action(strayArrives, k))
		}
	}
	if s.total == w.cfg.Total {
		return to
	}
	for i := range brokers {
		to = w.faults(s, i, to)
	}
	if sendable && s.used.Late < w.cfg.Faults.Late {
		to = append(to, action(lateBatch, 0))
	}
	if s.used.Restart < w.cfg.Faults.Restart && s.lane.Len() > 0 {
		to = append(to, action(renew, 0))
	}
	return to
}

func (w *World) sends(s *State, to []explore.Action) []explore.Action {
	if s.target != 0 {
		return append(to, action(send, int(s.target)))
	}
	first := s.knows(0)
	if first != 0 {
		to = append(to, action(send, int(first)))
	}
	if second := s.knows(1); second != 0 && second != first {
		to = append(to, action(send, int(second)))
	}
	return to
}

func (w *World) steps(s *State, i int, to []explore.Action) []explore.Action {
	n := s.nodes[i]
	if !n.up {
		if s.mayLeave(i) {
			to = append(to, action(leave, i))
		}
		return append(to, action(restart, i))
	}
	if s.behind(i) {
		to = append(to, action(hear, i))
	}
	if conn := s.conns[i]; len(conn) > 0 {
		if conn[0].stage == answered {
			to = append(to, action(take, i))
		}
		if conn[len(conn)-1].stage == sent {
			to = append(to, action(arrive, i))
		}
	}
	if w.asks(s, i) {
		to = append(to, action(fetch, i))
	}
	return to
}

// asks: the broker has somebody to fetch from.
func (w *World) asks(s *State, i int) bool {
	n := s.nodes[i]
	if !n.up {
		return false
	}
	_, ok := n.m.NextFetch(n.epochs.LatestEpoch(), n.life)
	return ok && s.nodes[n.m.LeaderID()-1].up
}

func (w *World) faults(s *State, i int, to []explore.Action) []explore.Action {
	n, used, most, conn := s.nodes[i], &s.used, &w.cfg.Faults, s.conns[i]
	if !n.up {
		return to
	}
	if used.Break < most.Break && len(conn) > 0 {
		to = append(to, action(breakConn, i))
		if oldestWaiting(conn) >= 0 {
			to = append(to, action(timeOut, i))
		}
	}
	if used.Elect < most.Elect && s.part.leader != 0 && s.part.leader != uint8(i+1) && s.part.has(i) {
		to = append(to, action(elect, i))
	}
	if used.Crash < most.Crash {
		to = append(to, action(crash, i))
	}
	if used.Lose < most.Lose && n.leo() > 0 {
		to = append(to, action(powerCut, i))
	}
	if used.Lag < most.Lag && n.m.Watches(kafka.NodeID(brokers-i)) {
		to = append(to, action(lag, i))
	}
	if used.Unclean < most.Unclean && s.part.leader == 0 && !s.part.has(i) {
		to = append(to, action(unclean, i))
	}
	if used.Late < most.Late && len(conn) > 0 && conn[0].stage == answered && conn[0].code != kafka.ErrNone {
		to = append(to, action(lateAnswer, i))
	}
	return to
}

func oldestWaiting(conn []request) int {
	for k := range conn {
		if conn[k].stage == waiting {
			return k
		}
	}
	return -1
}

// Step does an enabled action. An assertion of a machine that fails is kept in the state.
func (w *World) Step(from *State, a explore.Action, to *State) (branches uint64) {
	*to = *from
	to.branches = 0
	defer func() {
		if failed := recover(); failed != nil {
			to.wrong = fmt.Sprint(failed)
			branches = to.branches
		}
	}()
	x := int(a & 255)
	if kind := w.Kind(a); kind < breakConn {
		w.step(to, kind, x)
	} else {
		to.total++
		w.fault(to, kind, x)
	}
	return to.branches
}

func (w *World) step(s *State, kind, x int) {
	switch kind {
	case send:
		w.send(s, uint8(x))
	case arrive:
		s.conns[x] = append([]request(nil), s.conns[x]...)
		k := 0
		for s.conns[x][k].stage != sent {
			k++
		}
		w.produce(s, x, &s.conns[x][k])
		s.complete(x)
	case take:
		w.take(s, x, false)
	case strayArrives:
		r := s.strays[x]
		s.strays = append(s.strays[:x:x], s.strays[x+1:]...)
		w.produce(s, int(r.broker), &r.request)
	case hear:
		w.hear(s, x)
	case fetch:
		w.fetch(s, x)
	case leave:
		s.leave(x)
	case restart:
		w.restart(s, x)
	}
}

func (w *World) fault(s *State, kind, x int) {
	switch kind {
	case breakConn:
		s.used.Break++
		w.breakUp(s, x)
	case timeOut:
		s.used.Break++
		s.conns[x] = append([]request(nil), s.conns[x]...)
		r := &s.conns[x][oldestWaiting(s.conns[x])]
		r.stage, r.code = answered, kafka.ErrRequestTimedOut
	case elect:
		s.used.Elect++
		s.part.lead(x + 1)
	case crash:
		s.used.Crash++
		w.die(s, x, 0)
	case powerCut:
		s.used.Lose++
		w.die(s, x, 1)
	case lag:
		s.used.Lag++
		w.act(s, x, s.own(x).m.Expired(replica.LagTimer(kafka.NodeID(brokers-x)), nil), nil, 0)
	case unclean:
		s.used.Unclean++
		s.lossy = true
		s.part.isr = 1 << x
		s.part.lead(x + 1)
	case lateBatch:
		s.used.Late++
		w.failed(s, w.next(s), retry.Failure{Outcome: retry.Failed, Late: true})
	case lateAnswer:
		s.used.Late++
		w.take(s, x, true)
	case renew:
		s.used.Restart++
		w.renew(s)
	}
}

// Describe tells an action.
func (w *World) Describe(s *State, a explore.Action) string {
	x := int(a & 255)
	b := fmt.Sprintf("b%d", x+1)
	switch w.Kind(a) {
	case send:
		p, _ := s.lane.Next()
		return fmt.Sprintf("m%d is sent to b%d", p, x)
	case arrive:
		for _, r := range s.conns[x] {
			if r.stage == sent {
				return fmt.Sprintf("m%d arrives at %s", r.batch, b)
			}
		}
	case take, lateAnswer:
		r := s.conns[x][0]
		text := fmt.Sprintf("the producer hears of m%d from %s: %s", r.batch, b, r.code)
		if r.code == kafka.ErrNone {
			text += fmt.Sprintf(" at %d", r.base)
		}
		if w.Kind(a) == lateAnswer {
			text += ", and it is late"
		}
		return text
	case strayArrives:
		return fmt.Sprintf("m%d of a broken connection arrives at b%d", s.strays[x].batch, s.strays[x].broker+1)
	case hear:
		return fmt.Sprintf("%s hears: %s", b, s.part.String())
	case fetch:
		return b + " fetches"
	case leave:
		return b + " is taken for dead"
	case restart:
		return b + " comes back"
	case breakConn:
		return "the connection to " + b + " breaks"
	case timeOut:
		return fmt.Sprintf("m%d times out at %s", s.conns[x][oldestWaiting(s.conns[x])].batch, b)
	case elect:
		return b + " is made leader"
	case crash:
		return b + " dies"
	case powerCut:
		return b + " loses power, and its last record"
	case lag:
		return fmt.Sprintf("b%d has been behind %s for long", brokers-x, b)
	case unclean:
		return b + " is made leader, though it is not in sync"
	case lateBatch:
		p, _ := s.lane.Next()
		return fmt.Sprintf("m%d is given up: it is late", p)
	}
	return "the producer dies, and another sends the rest"
}
