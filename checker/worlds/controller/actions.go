package controller

import (
	"slices"

	"trialog/checker/explore"
	machine "trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// Kinds of actions. From register to block they are requests to the leader of the log.
const (
	commit = iota
	catchUp
	resign
	hear
	arrive
	register
	beat
	expire // of a broker that is down
	grow
	recovered
	makeTopic
	keep // a broker says in which directory its replicas are
	replace
	fence // the session of a broker that is up ends
	shrink
	electLeaders
	move
	cancel
	removeTopic
	forget
	block
	relax
	ownMin
	crash
	lose
	leave
	breakDisk
	electController
	deposedFences
	deposedGives
)

var kindNames = []string{
	"a decision is committed", "a new controller catches up", "a deposed controller resigns", "a broker applies its registration",
	"a late request arrives", "a broker registers", "a broker beats", "the session of a dead broker ends", "a leader asks for one more",
	"a leader says that it has recovered", "a topic is made again", "a broker tells its directories", "a broker begins anew for its disk", "the session of a live broker ends", "a leader asks for one less",
	"elections are asked for", "a reassignment is asked for", "a cancellation is asked for", "a topic is removed",
	"a broker is unregistered", "producer ids are asked for",
	"min.insync.replicas of a topic changes", "min.insync.replicas of a broker alone changes", "a broker dies", "a broker dies and loses its data",
	"a broker wants to shut down", "a log directory fails", "another controller is elected", "a deposed controller fences a broker",
	"a deposed controller gives producer ids",
}

// spends is what an action takes of the budget; -1: it heals, or takes nothing.
var spends = [...]int{
	commit: -1, catchUp: -1, resign: -1, hear: -1, arrive: -1, register: -1, beat: -1, expire: -1, grow: -1, recovered: -1, makeTopic: -1,
	keep: -1, replace: -1, relax: Relax, ownMin: Relax, breakDisk: Disk,
	fence: Fence, shrink: Shrink, electLeaders: Elect, move: Move, cancel: Move, removeTopic: Remove, forget: Forget, block: Block,
	crash: Crash, lose: Lose, leave: Leave, electController: Leader, deposedFences: -1, deposedGives: -1,
}

// mode is what becomes of a request.
type mode int

const (
	atOnce  mode = iota // it is decided, and committed if nothing waits before it
	stalled             // it is decided, and waits for its log
	copied              // it is decided, and a copy stays on its way
	late                // it stays on its way
	lost                // it is decided, and nobody hears the answer
)

// Kinds names the actions.
func (w *World) Kinds() []string { return kindNames }

// Kind is the kind of an action.
func (w *World) Kind(a explore.Action) int { return int(a >> 24) }

func action(kind int, how mode, x, y int) explore.Action {
	return explore.Action(kind<<24 | int(how)<<16 | x<<8 | y)
}

func operands(a explore.Action) (how mode, x, y int) {
	return mode(a >> 16 & 255), int(a >> 8 & 255), int(a & 255)
}

// lister collects the actions of a state.
type lister struct {
	w  *World
	s  *State
	to []explore.Action
}

// may: the budget allows one more.
func (l *lister) may(kind int) bool {
	return l.s.total < uint8(l.w.cfg.Total) && l.s.used[kind] < l.w.cfg.Most[kind]
}

func (l *lister) add(kind, x, y int) {
	if at := spends[kind]; at < 0 || l.may(at) {
		l.to = append(l.to, action(kind, atOnce, x, y))
	}
}

// request lists a request in all that may become of it.
func (l *lister) request(kind, x, y int, alsoLate, alsoLost bool) {
	if at := spends[kind]; at >= 0 && !l.may(at) {
		return
	}
	l.to = append(l.to, action(kind, atOnce, x, y))
	if l.may(Leader) && len(l.s.seats[l.s.leader].pend) == 0 {
		l.to = append(l.to, action(kind, stalled, x, y))
	}
	if alsoLate && l.may(Late) {
		l.to = append(l.to, action(kind, copied, x, y), action(kind, late, x, y))
	}
	if alsoLost && l.may(Drop) && len(l.s.seats[l.s.leader].pend) == 0 {
		l.to = append(l.to, action(kind, lost, x, y))
	}
}

// Enabled lists what may happen.
func (w *World) Enabled(s *State, to []explore.Action) []explore.Action {
	if s.broken != nothing {
		return to
	}
	l := lister{w, s, to}
	l.controllers()
	for i := range w.cfg.Brokers {
		l.processes(i)
	}
	if c := &s.seats[s.leader]; !c.m.Active() || len(c.pend) >= w.cfg.Pending {
		return l.to // it answers nobody now
	}
	now := s.seats[s.leader].now()
	for i := range w.cfg.Brokers {
		l.brokerAsks(i, now)
	}
	for i := range s.late {
		l.add(arrive, i, 0)
	}
	l.partitions(now)
	l.settings(now)
	for i := range w.cfg.Topics {
		if now.Topic(topicName(i)) != nil {
			l.request(removeTopic, i, 0, false, false)
		} else {
			l.add(makeTopic, i, 0)
		}
	}
	return l.to
}

func (l *lister) controllers() {
	s := l.s
	c := &s.seats[s.leader]
	if len(c.pend) > 0 {
		l.add(commit, 0, 0)
	}
	if !c.m.Active() {
		l.add(catchUp, 0, 0)
	}
	for i := range l.w.cfg.Controllers {
		old := &s.seats[i]
		if !old.m.Active() || i == int(s.leader) {
			continue
		}
		l.add(resign, i, 0)
		if len(old.pend) >= l.w.cfg.Pending {
			continue
		}
		for b := range l.w.cfg.Brokers {
			if k := old.now().Broker(kafka.NodeID(b + 1)); k != nil && !k.Fenced {
				l.add(deposedFences, i, b)
				if l.may(Block) {
					l.add(deposedGives, i, b)
				}
			}
		}
	}
	if !l.may(Leader) {
		return
	}
	for i := range l.w.cfg.Controllers {
		for survive := range len(c.pend) + 1 {
			// Counted from the end of the log with what survives.
			most := int(min(s.head.at-s.seats[i].at.at+int64(survive), int64(l.w.cfg.Lag)))
			for lag := range most + 1 {
				l.add(electController, i, survive<<4|lag)
			}
		}
	}
}

// processes is what brokers do by themselves.
func (l *lister) processes(i int) {
	b := &l.s.brokers[i]
	switch {
	case !b.up:
		return
	case b.life >= 0 && !b.caught:
		l.add(hear, i, 0)
	case b.caught && !b.wants:
		l.add(leave, i, 0)
	}
	if b.disk == failed {
		l.add(replace, i, 0)
	}
	if l.w.cfg.Dirs && b.disk == works && b.life >= 0 {
		l.add(breakDisk, i, 0)
	}
	l.add(crash, i, 0)
	if l.holdsAny(i) {
		l.add(lose, i, 0)
	}
}

func (l *lister) holdsAny(i int) bool {
	for slot := range l.w.slots() {
		if l.s.holds[slot]>>i&1 > 0 {
			return true
		}
	}
	return false
}

// brokerAsks is requests from and about a broker.
func (l *lister) brokerAsks(i int, now *meta.Image) {
	b, k := &l.s.brokers[i], now.Broker(kafka.NodeID(i+1))
	switch {
	case !b.up:
		l.request(register, i, 0, false, true)
		if k != nil && !k.Fenced {
			l.request(expire, i, 0, false, false)
		}
		if k != nil {
			l.request(forget, i, 0, false, false)
		}
		return
	case b.life < 0:
		l.request(register, i, 0, false, true)
		if k != nil && !k.Fenced && k.Incarnation != incarnation(b.births) {
			l.request(expire, i, 0, false, false)
			return
		}
	case k != nil && (k.Fenced || b.wants || l.awaited(i, now) || b.disk == failed && k.HasDir(dirs(k.ID)[0])):
		l.request(beat, i, 0, b.wants, b.wants)
	case k != nil && b.disk == anew && b.caught:
		l.request(keep, i, 0, false, true)
	}
	if k != nil && !k.Fenced {
		l.request(fence, i, 0, false, false)
	}
	if k != nil && k.Epoch == b.life {
		l.request(block, i, 0, false, true)
	}
}

// awaited: somebody may not go before this broker has heard more.
func (l *lister) awaited(i int, now *meta.Image) bool {
	c := l.s.seats[l.s.leader].m
	k := now.Broker(kafka.NodeID(i + 1))
	if !k.Active() {
		return false
	}
	heard := c.Session(k.ID, k.Epoch).Heard
	return slices.ContainsFunc(now.Brokers(), func(o *meta.BrokerImage) bool {
		return o.ID != k.ID && o.InControlledShutdown && !o.Fenced && c.Session(o.ID, o.Epoch).ShutDown > heard
	})
}

// partitions is what leaders ask, by what is committed, and operators.
func (l *lister) partitions(now *meta.Image) {
	balance := false
	for slot := range l.w.slots() {
		if _, p := l.w.partition(l.s.head.image, slot); p != nil && p.Leader != kafka.NoNode && l.s.acts(p.Leader) {
			l.leaderAsks(slot, p)
		}
		_, p := l.w.partition(now, slot)
		if p == nil {
			continue
		}
		if p.Leader != p.Replicas[0] {
			l.request(electLeaders, slot, int(machine.Preferred), false, false)
			balance = true
		}
		if p.Leader == kafka.NoNode {
			l.request(electLeaders, slot, int(machine.Unclean), false, false)
		}
		for y := range l.w.cfg.Brokers*2 + 2 {
			if target(p, y) != nil {
				l.request(move, slot, y, false, false)
			}
		}
		if p.Reassigning() {
			l.request(cancel, slot, 0, false, false)
		}
	}
	if balance {
		l.request(electLeaders, 0, everywhere, false, false)
	}
}

const everywhere = 2 // an election of all that need one

// settings is changes of min.insync.replicas.
func (l *lister) settings(now *meta.Image) {
	if l.w.cfg.MinISR < 2 || !l.may(Relax) {
		return
	}
	for i := range l.w.cfg.Topics {
		if t := now.Topic(topicName(i)); t != nil {
			l.request(relax, i, l.w.cfg.MinISR+1-l.w.topicMin(t), false, false)
		}
	}
	for i := range l.w.cfg.Brokers {
		if l.w.cfg.ELR && len(now.BrokerConfigs(brokerNames[i])) == 0 {
			l.request(ownMin, i, 0, false, false)
		}
	}
}

// acts: the broker lives, as the one that is registered, has heard of that, and has its replicas.
func (s *State) acts(id kafka.NodeID) bool {
	b, k := &s.brokers[id-1], s.head.image.Broker(id)
	return b.up && b.caught && (b.disk == works || b.disk == another) && k != nil && k.Epoch == b.life
}

func (l *lister) leaderAsks(slot int, p *meta.PartitionImage) {
	if p.Recovering {
		l.request(recovered, slot, 0, true, false)
		return
	}
	for _, n := range p.Replicas {
		switch in := slices.Contains(p.ISR, n); {
		case !in && l.s.acts(n): // it fetches
			l.request(grow, slot, int(n-1), true, false)
		case in && n != p.Leader:
			l.request(shrink, slot, int(n-1), true, false)
		}
	}
}

// target is a place to move to, nil if there is no such: 0 the other way round, 1 without the last; then for each broker
// that is no replica: in place of the first, in place of the last.
func target(p *meta.PartitionImage, y int) []kafka.NodeID {
	to := make([]kafka.NodeID, 0, MaxBrokers)
	for _, n := range p.Replicas {
		if !slices.Contains(p.Adding, n) {
			to = append(to, n)
		}
	}
	switch node := kafka.NodeID(y / 2); {
	case y < 2 && len(to) < 2:
		return nil
	case y == 0:
		slices.Reverse(to)
	case y == 1:
		to = to[:len(to)-1]
	case slices.Contains(to, node):
		return nil
	case y%2 == 0:
		to[0] = node
	case len(to) < 2:
		return nil
	default:
		to[len(to)-1] = node
	}
	return to
}
