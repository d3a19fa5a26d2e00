package replica

import (
	"slices"
	"sort"

	"trialog/core/kafka"
)

// member is one replica of the partition, as its leader sees it.
type member struct {
	node      kafka.NodeID
	inISR     bool         // committed by the controller
	proposed  bool         // in the ISR that is proposed, while one is
	barred    bool         // fenced or shutting down, as far as the metadata knows
	fenced    bool         // as far as the metadata knows
	behind    bool         // lacks something for longer than replica.lag.time.max.ms, or never came near
	timer     bool         // LagTimer is set
	vote      kafka.Offset // what it is known to hold, or -1
	start     kafka.Offset // where its log begins, as far as is known
	sawLEO    kafka.Offset // this leader's end offset when it fetched last, or -1
	fetchedIn int64        // its broker epoch when it fetched last
	joinedIn  int64        // the same when it was proposed
	alive     int64        // its broker epoch by the metadata

	// Times are only ever made deadlines of, or a preference among readers, so no part of the state.
	fetchedAt  int64 // MonoNs of the last fetch
	caughtUpAt int64 // MonoNs at which it last had everything that there was
}

// newMember has never fetched.
func newMember(node kafka.NodeID) member {
	return member{node: node, behind: true, vote: kafka.NoOffset, sawLEO: kafka.NoOffset,
		fetchedIn: kafka.NoBrokerEpoch, alive: kafka.NoBrokerEpoch}
}

func sortMembers(m []member) {
	sort.Slice(m, func(i, j int) bool { return m[i].node < m[j].node })
}

// member is nil for a node that is no replica of the partition.
func (r *Replica) member(node kafka.NodeID) *member {
	for i := range r.members {
		if r.members[i].node == node {
			return &r.members[i]
		}
	}
	return nil
}

// committed is the size of the ISR that the controller knows.
func (r *Replica) committed() int {
	n := 0
	for i := range r.members {
		if r.members[i].inISR {
			n++
		}
	}
	return n
}

// maximal is the size of the ISR as it may be by now.
func (r *Replica) maximal() int {
	n := 0
	for i := range r.members {
		if m := &r.members[i]; m.inISR || m.proposed {
			n++
		}
	}
	return n
}

func (r *Replica) takeBrokers(brokers []Broker) {
	for i := range r.members {
		m := &r.members[i]
		m.barred, m.alive = m.node != r.cfg.Node, kafka.NoBrokerEpoch
		m.fenced = m.barred
		for _, b := range brokers {
			if b.Node == m.node {
				m.barred, m.fenced, m.alive = b.Barred, b.Fenced, b.Epoch
			}
		}
	}
}

// mayJoin: the follower may be proposed for the ISR.
func (r *Replica) mayJoin(m *member) bool {
	rules := &r.cfg.Rules
	if r.role != Leader || r.proposing || m.inISR || m.node == r.cfg.Node || m.vote < r.hw {
		return false
	}
	if rules.JoinAtEpochStart && m.vote < r.epochStart { // KAFKA-7128
		return false
	}
	return r.eligible(m)
}

// eligible: one look at one follower, what it holds, and the life in which it held it (KAFKA-15221).
func (r *Replica) eligible(m *member) bool {
	return !r.cfg.Rules.JoinEligible || !m.barred && (m.fetchedIn == kafka.NoBrokerEpoch || m.fetchedIn == m.alive)
}

func (r *Replica) maybeExpand(m *member, out []Effect) []Effect {
	if !r.mayJoin(m) {
		return out
	}
	r.copyISR()
	m.proposed = true
	return r.propose(out)
}

// lagExpired: the follower has been behind for too long.
func (r *Replica) lagExpired(node kafka.NodeID, out []Effect) []Effect {
	m := r.member(node)
	if m == nil || !m.timer {
		return out
	}
	m.timer, m.behind = false, true
	out = r.maybeShrink(r.advance(out)) // the HW may have waited for it
	r.check()
	return out
}

// maybeShrink proposes an ISR without those who are behind.
func (r *Replica) maybeShrink(out []Effect) []Effect {
	if r.role != Leader || r.proposing {
		return out
	}
	leave := false
	for i := range r.members {
		leave = leave || r.members[i].inISR && r.members[i].behind
	}
	if !leave {
		return out
	}
	r.copyISR()
	for i := range r.members {
		if r.members[i].behind {
			r.members[i].proposed = false
		}
	}
	return r.propose(out)
}

func (r *Replica) copyISR() {
	for i := range r.members {
		r.members[i].proposed = r.members[i].inISR
	}
}

// propose sends the proposed ISR on its way.
func (r *Replica) propose(out []Effect) []Effect {
	if !r.cfg.Rules.ISRByController {
		for i := range r.members {
			r.members[i].inISR, r.members[i].proposed = r.members[i].proposed, false
		}
		return r.advance(out)
	}
	r.proposing = true
	for i := range r.members {
		r.members[i].joinedIn = r.members[i].fetchedIn
	}
	return append(out, r.proposal())
}

func (r *Replica) proposal() Effect {
	e := Effect{Kind: ProposeISR, Epoch: r.epoch, PartitionEpoch: r.partEpoch}
	for i := range r.members {
		m := &r.members[i]
		switch {
		case !m.proposed:
		case r.cfg.Rules.ProposalKeepsLives:
			e.ISR = append(e.ISR, InSync{Node: m.node, BrokerEpoch: m.joinedIn})
		default:
			e.ISR = append(e.ISR, InSync{Node: m.node, BrokerEpoch: m.fetchedIn})
		}
	}
	return e
}

// Altered is the controller's answer to a proposal.
type Altered struct {
	Asked          int32 // the partition epoch of the proposal that is answered
	Code           kafka.ErrorCode
	Epoch          kafka.LeaderEpoch
	PartitionEpoch int32
	ISR            []kafka.NodeID
}

// ProposalAnswered takes in what became of the proposal. An answer to an earlier one changes nothing: its ISR may have come
// with the metadata before, and this leader may have proposed another by then. NONE commits the ISR that it carries.
// INELIGIBLE_REPLICA and OPERATION_NOT_ATTEMPTED take the proposal back, unless it was sent more than once: another copy of
// it may still be on its way and be accepted when the replica has become eligible, so it stands and is sent again. What says
// that this leader is behind (a fenced epoch, an old partition epoch, an unknown topic, a new leader) leaves it standing
// until the metadata arrives, since it may have been committed. Anything else, a lost answer included, asks again
// (KAFKA-14144: the controller answers a repetition of what it has committed with NONE).
func (r *Replica) ProposalAnswered(now kafka.Now, a Altered, out []Effect) []Effect {
	if r.role != Leader || !r.proposing || r.cfg.Rules.AnswerMatches && a.Asked != r.partEpoch {
		return out
	}
	switch a.Code {
	case kafka.ErrNone:
		if a.Epoch != r.epoch || a.PartitionEpoch < r.partEpoch {
			return out // of another leadership
		}
		return r.commit(now, a.PartitionEpoch, a.ISR, out)
	case kafka.ErrIneligibleReplica, kafka.ErrOperationNotAttempted:
		if r.repeated && r.cfg.Rules.RepeatedProposalStands {
			return append(out, r.proposal())
		}
		r.dropProposal()
		return r.progress(now, r.watchAgain(now, out))
	case kafka.ErrFencedLeaderEpoch, kafka.ErrInvalidUpdateVersion, kafka.ErrUnknownTopicOrPartition, kafka.ErrUnknownTopicID,
		kafka.ErrInvalidRequest, kafka.ErrNewLeaderElected:
		return out
	}
	r.repeated = true
	return append(out, r.proposal())
}

// Assignment is what the metadata says of a partition within its leader's epoch.
type Assignment struct {
	PartitionEpoch int32
	Replicas       []kafka.NodeID
	ISR            []kafka.NodeID
	Brokers        []Broker
}

// Assigned takes in the metadata of the same leader epoch, of the partition and of brokers; what is older than this leader
// knows changes nothing. A reassignment adds replicas within the epoch (and takes some away with the next). Those who became
// barred are not taken out of the ISR here: the controller does that. The answer to a proposal may have brought the same
// partition epoch before, and with it the ISR, not the replicas; what was proposed on top of it since then stands, since it
// may be committed by now.
func (r *Replica) Assigned(now kafka.Now, a Assignment, out []Effect) []Effect {
	if r.role != Leader || a.PartitionEpoch < r.partEpoch {
		return out
	}
	low := r.LowWatermark()
	gone := func(m member) bool { return !slices.Contains(a.Replicas, m.node) }
	for i := range r.members {
		if gone(r.members[i]) {
			out = r.members[i].stopTimer(out)
		}
	}
	r.members = slices.DeleteFunc(r.members, gone)
	for _, n := range a.Replicas {
		if r.member(n) == nil {
			r.members = append(r.members, newMember(n))
		}
	}
	sortMembers(r.members)
	r.takeBrokers(a.Brokers)
	out = r.lowMoved(low, out)
	if a.PartitionEpoch == r.partEpoch && r.cfg.Rules.LateMetadataKeepsProposal {
		out = r.progress(now, out)
		for i := range r.members {
			out = r.maybeExpand(&r.members[i], out)
		}
		return out
	}
	return r.commit(now, a.PartitionEpoch, a.ISR, out)
}

// commit makes isr the committed one. The HW is looked at anew: whoever left may have been the last to wait for
// (KAFKA-13091).
func (r *Replica) commit(now kafka.Now, partitionEpoch int32, isr []kafka.NodeID, out []Effect) []Effect {
	r.partEpoch = partitionEpoch
	r.dropProposal()
	for i := range r.members {
		m := &r.members[i]
		in := slices.Contains(isr, m.node)
		if in && !m.inISR && m.node != r.cfg.Node {
			m.behind, m.caughtUpAt = false, now.MonoNs // it came in with the HW, and has its time to reach the end
			if m.vote < r.leo {
				out = r.watch(m, out)
			}
		}
		m.inISR = in
	}
	if !r.cfg.Rules.HWFollowsISR {
		r.check()
		return out
	}
	out = r.progress(now, out)
	for i := range r.members {
		out = r.maybeExpand(&r.members[i], out)
	}
	return r.maybeShrink(out)
}

func (r *Replica) dropProposal() {
	r.proposing, r.repeated = false, false
	for i := range r.members {
		r.members[i].proposed = false
	}
}

// watchAll starts the clock of followers who had everything, and lack something from now on.
func (r *Replica) watchAll(now kafka.Now, out []Effect) []Effect {
	for i := range r.members {
		m := &r.members[i]
		if m.node == r.cfg.Node || m.timer || m.behind || m.vote >= r.leo && r.cfg.Rules.IdleIsInSync {
			continue
		}
		m.caughtUpAt = now.MonoNs
		out = r.watch(m, out)
	}
	return out
}

// watchAgain gives those who should have left the ISR, and may not, another replica.lag.time.max.ms: then it is tried again.
func (r *Replica) watchAgain(now kafka.Now, out []Effect) []Effect {
	for i := range r.members {
		if m := &r.members[i]; m.inISR && m.behind && m.node != r.cfg.Node {
			m.behind, m.caughtUpAt = false, now.MonoNs
			out = r.watch(m, out)
		}
	}
	return out
}

// watch gives a follower replica.lag.time.max.ms from when it last had everything, unless its time is running.
func (r *Replica) watch(m *member, out []Effect) []Effect {
	if m.timer || m.behind || r.cfg.LagMs == 0 {
		return out
	}
	m.timer = true
	return append(out, Effect{Kind: SetTimer, Timer: LagTimer(m.node), At: m.caughtUpAt + r.cfg.LagMs*nsPerMs})
}

func (m *member) stopTimer(out []Effect) []Effect {
	if !m.timer {
		return out
	}
	m.timer = false
	return append(out, Effect{Kind: StopTimer, Timer: LagTimer(m.node)})
}

func (r *Replica) stopLagTimers(out []Effect) []Effect {
	for i := range r.members {
		out = r.members[i].stopTimer(out)
	}
	return out
}
