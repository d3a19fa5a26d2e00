package replication

import "trialog/checker/explore"

// Kinds of actions.
const (
	electLeader = iota
	controllerShrink
	becomeLeader
	write
	advanceHW
	leaderShrink
	leaderExpand
	fetch
	truncateOnFetch
	becomeFollower
)

var kindNames = []string{
	"controller elects a leader", "controller shrinks the ISR", "become leader", "leader appends", "leader advances the HW",
	"leader shrinks the ISR", "leader expands the ISR", "follower fetches", "follower truncates at a fetch", "become follower",
}

// Kinds names the actions.
func (w *World) Kinds() []string { return kindNames }

// Kind is the kind of an action.
func (w *World) Kind(a explore.Action) int { return int(a >> 16) }

func action(kind, x, y int) explore.Action { return explore.Action(kind<<16 | x<<8 | y) }

func operands(a explore.Action) (x, y int) { return int(a >> 8 & 255), int(a & 255) }

func in(set uint8, r int) bool { return set>>r&1 == 1 }

// leads: the replica believes that it leads. There may be several.
func (s *State) leads(r int) bool { return s.replicas[r].leader == int8(r) }

// leadsTruly: it is the leader that the controller knows, in that epoch.
func (s *State) leadsTruly(r int) bool {
	return s.quorum.leader == int8(r) && s.leads(r) && s.replicas[r].epoch == s.epoch
}

func (s *State) follows(f, l int) bool { return s.replicas[f].leader == int8(l) }

// sameEpoch: f follows l, and both are in one epoch.
func (s *State) sameEpoch(f, l int) bool {
	return s.leads(l) && s.follows(f, l) && s.replicas[f].epoch == s.replicas[l].epoch
}

// caughtUp: f follows l, both have end records, and the fence is satisfied.
func (s *State) caughtUp(fence Fence, f, l int, end uint8) bool {
	have, want := &s.replicas[f], &s.replicas[l]
	if fence == FenceEpoch {
		return s.sameEpoch(f, l) && have.n >= end
	}
	if !s.follows(f, l) {
		return false
	}
	if end == 0 {
		return true
	}
	return want.n >= end && have.n >= end && (fence == FenceNone || have.log[end-1].epoch() == want.log[end-1].epoch())
}

// Enabled lists what may happen.
func (w *World) Enabled(s *State, to []explore.Action) []explore.Action {
	n := w.cfg.Bounds.Replicas
	if int(s.nextEpoch) <= w.cfg.Bounds.MaxEpoch {
		for r := range n {
			if in(s.quorum.isr, r) && s.quorum.leader != int8(r) {
				to = append(to, action(electLeader, r, 0))
			}
			if in(s.quorum.isr, r) || s.quorum.leader == int8(r) {
				to = append(to, action(controllerShrink, r, 0))
			}
		}
	}
	for e := range int(s.nextEpoch) {
		q := s.requests[e]
		if q.leader >= 0 && int8(e) > s.replicas[q.leader].epoch {
			to = append(to, action(becomeLeader, e, 0))
		}
		for f := range n {
			if int8(f) == q.leader || int8(e) <= s.replicas[f].epoch || q.leader < 0 && !w.cfg.Leaderless {
				continue
			}
			if _, ok := w.truncation(s, f, e); ok {
				to = append(to, action(becomeFollower, e, f))
			}
		}
	}
	for l := range n {
		if s.leads(l) {
			to = w.leaderSteps(s, l, to)
		}
	}
	return to
}

func (w *World) leaderSteps(s *State, l int, to []explore.Action) []explore.Action {
	have := &s.replicas[l]
	if int(s.nextID) < w.cfg.Bounds.Records && int(have.n) < w.cfg.Bounds.LogSize {
		to = append(to, action(write, l, 0))
	}
	if w.mayAdvance(s, l) {
		to = append(to, action(advanceHW, l, 0))
	}
	for f := range w.cfg.Bounds.Replicas {
		if f == l {
			continue
		}
		if s.leadsTruly(l) {
			if in(have.isr, f) && !s.caughtUp(w.cfg.Flags.Shrink, f, l, have.n) {
				to = append(to, action(leaderShrink, l, f))
			}
			if !in(have.isr, f) && w.mayExpand(s, f, l) {
				to = append(to, action(leaderExpand, l, f))
			}
		}
		if !s.follows(f, l) {
			continue
		}
		end := s.replicas[f].n
		if have.n > end && w.mayFetch(s, f, l) {
			to = append(to, action(fetch, l, f))
		}
		if w.cfg.Flags.Truncate == TruncateOnFetch && s.divergesAtEnd(f, l) {
			to = append(to, action(truncateOnFetch, l, f))
		}
	}
	return to
}

// mayAdvance: everybody in the leader's ISR has the record at its HW.
func (w *World) mayAdvance(s *State, l int) bool {
	have := &s.replicas[l]
	if int(have.hw) >= w.cfg.Bounds.LogSize || w.cfg.Flags.AdvanceHW != FenceNone && have.n <= have.hw {
		return false
	}
	for f := range w.cfg.Bounds.Replicas {
		if !in(have.isr, f) {
			continue
		}
		if w.cfg.Flags.AdvanceHW == FenceNone {
			if !s.follows(f, l) || s.replicas[f].n <= have.hw {
				return false
			}
		} else if !s.caughtUp(w.cfg.Flags.AdvanceHW, f, l, have.hw+1) {
			return false
		}
	}
	return true
}

func (w *World) mayExpand(s *State, f, l int) bool {
	have := &s.replicas[l]
	if !s.caughtUp(w.cfg.Flags.Expand, f, l, have.hw) {
		return false
	}
	return !w.cfg.Flags.EpochStart || have.hw == have.n || have.n > have.hw && have.log[have.hw].epoch() == have.epoch
}

func (w *World) mayFetch(s *State, f, l int) bool {
	switch w.cfg.Flags.Fetch {
	case FenceEpoch:
		return s.sameEpoch(f, l)
	case FenceLastEpoch:
		return s.caughtUp(FenceLastEpoch, f, l, s.replicas[f].n)
	}
	return true
}

// divergesAtEnd: the leader has nothing where the follower's last record is, or one of another epoch.
func (s *State) divergesAtEnd(f, l int) bool {
	have, want := &s.replicas[f], &s.replicas[l]
	return have.n > want.n || have.n > 0 && want.log[have.n-1].epoch() != have.log[have.n-1].epoch()
}

// truncation is the length to which the log of f is cut when it processes the request of epoch e; false if it may not.
func (w *World) truncation(s *State, f, e int) (uint8, bool) {
	have := &s.replicas[f]
	l := int(s.requests[e].leader)
	if l < 0 {
		return have.n, true
	}
	if w.cfg.Flags.TruncateFenced && (!s.leads(l) || s.replicas[l].epoch != int8(e)) {
		return 0, false
	}
	to := have.n
	switch w.cfg.Flags.Truncate {
	case TruncateToHW:
		to = have.hw
	case TruncateOneShot:
		to = s.endOfEpoch(f, l)
	case TruncateToMatch:
		to = s.lastMatch(f, l)
	}
	return to, to <= have.n
}

// endOfEpoch is KIP-101's answer to a follower: where the epoch of its last record ends in the leader's log, and its own
// HW when the leader cannot tell.
func (s *State) endOfEpoch(f, l int) uint8 {
	have, want := &s.replicas[f], &s.replicas[l]
	switch {
	case have.n == 0:
		return 0
	case want.n == 0:
		return have.hw
	}
	epoch := have.log[have.n-1].epoch()
	if want.log[want.n-1].epoch() == epoch {
		return want.n
	}
	for i, e := range want.log[:want.n] {
		if e.epoch() > epoch {
			return uint8(i)
		}
	}
	return have.hw
}

// lastMatch is the length of the two logs up to the last offset at which they agree.
func (s *State) lastMatch(f, l int) uint8 {
	have, want := &s.replicas[f], &s.replicas[l]
	for i := min(have.n, want.n); i > 0; i-- {
		if have.log[i-1] == want.log[i-1] {
			return i
		}
	}
	return 0
}

// Step does what an enabled action does.
func (w *World) Step(from *State, a explore.Action, to *State) uint64 {
	*to = *from
	x, y := operands(a)
	switch w.Kind(a) {
	case electLeader:
		to.decide(int8(x), to.quorum.isr)
	case controllerShrink:
		to.fail(x)
	case becomeLeader:
		q := to.requests[x]
		r := &to.replicas[q.leader]
		r.epoch, r.leader, r.isr = int8(x), q.leader, q.isr
	case write:
		r := &to.replicas[x]
		r.log[r.n] = entry(to.nextID<<4 | uint8(r.epoch))
		r.n++
		to.nextID++
	case advanceHW:
		to.replicas[x].hw++
	case leaderShrink:
		to.setISR(x, to.replicas[x].isr&^(1<<y))
	case leaderExpand:
		to.setISR(x, to.replicas[x].isr|1<<y)
	case fetch:
		f, l := &to.replicas[y], &to.replicas[x]
		f.log[f.n] = l.log[f.n]
		f.n++
		f.hw = min(l.hw, f.n)
	case truncateOnFetch:
		to.replicas[y].cut(to.lastMatch(y, x))
	case becomeFollower:
		cut, _ := w.truncation(from, y, x)
		f, q := &to.replicas[y], to.requests[x]
		if q.leader >= 0 {
			f.cut(cut)
		}
		f.epoch, f.leader, f.isr = int8(x), q.leader, q.isr
	}
	if w.cfg.History {
		to.remember(w.cfg.Bounds.Replicas)
	}
	return 0
}

// decide is the controller's: a new epoch with this leader and ISR.
func (s *State) decide(leader int8, isr uint8) {
	q := request{leader: leader, isr: isr}
	s.requests[s.nextEpoch] = q
	s.quorum, s.epoch = q, s.nextEpoch
	s.nextEpoch++
}

// fail takes a replica out of the ISR, but not the last one; a leader that fails leads no more.
func (s *State) fail(r int) {
	leader, isr := s.quorum.leader, s.quorum.isr
	if leader == int8(r) {
		leader = none
		if isr == 1<<r {
			s.decide(leader, isr)
			return
		}
	}
	s.decide(leader, isr&^(1<<r))
}

func (s *State) setISR(l int, isr uint8) {
	s.replicas[l].isr = isr
	s.quorum.isr = isr
}

func (r *Replica) cut(to uint8) {
	for i := to; i < r.n; i++ {
		r.log[i] = 0
	}
	r.n = min(r.n, to)
	r.hw = min(r.hw, to)
}

// remember notes what leaders have below their HW: it was acknowledged, as far as anyone can see.
func (s *State) remember(n int) {
	for r := range n {
		have := &s.replicas[r]
		if !s.leads(r) {
			continue
		}
		for o := range min(have.hw, have.n) {
			e := have.log[o]
			if s.acked>>e.id()&1 == 0 {
				s.acked |= 1 << e.id()
				s.ackedAt[e.id()] = o<<4 | uint8(e.epoch())
			}
		}
	}
}
