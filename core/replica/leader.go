package replica

import (
	"fmt"
	"slices"

	"trialog/core/kafka"
)

// Leadership is the controller's decision and the log as it is when the replica takes it up.
type Leadership struct {
	Epoch          kafka.LeaderEpoch
	PartitionEpoch int32
	Replicas       []kafka.NodeID
	ISR            []kafka.NodeID // some of the replicas, this node among them
	Brokers        []Broker       // what is known of the replicas; one that is missing is taken for dead
	LogStart       kafka.Offset
	LEO            kafka.Offset
	Flushed        kafka.Offset // everything below is durable
	HW             kafka.Offset // the checkpointed one; it is clamped to [LogStart, LEO] (KAFKA-16452)
}

// Broker is what the metadata says of a broker.
type Broker struct {
	Node  kafka.NodeID
	Epoch int64 // broker epoch: its life
	// Barred: it is fenced, or shuts down (KIP-841). It may not come into an ISR.
	Barred bool
	// Fenced: it is not there, so DeleteRecords do not wait for it. Barred, too, then.
	Fenced bool
}

// BecomeLeader takes up a leadership of a newer epoch. With a flush policy and an unflushed tail it asks for a flush.
// AdvanceHW is always among the effects. Law: the first metadata that a process takes up has its own registration; an older
// epoch may be one in which it led before it lost its tail. Before it is called the log has noted that the epoch starts at its end offset,
// durably (KAFKA-7415).
func (r *Replica) BecomeLeader(now kafka.Now, l Leadership, out []Effect) []Effect {
	if l.Epoch <= r.epoch || l.LogStart < 0 || l.LogStart > l.LEO || l.Flushed > l.LEO {
		panic(fmt.Sprintf("replica: become leader %+v of %s", l, r))
	}
	out = r.stopLagTimers(r.stopTimer(out))
	r.role, r.leader, r.epoch, r.epochStart = Leader, kafka.NoNode, l.Epoch, l.LEO
	r.partEpoch, r.proposing, r.repeated = l.PartitionEpoch, false, false
	r.takeLog(l.LogStart, l.LEO, l.Flushed, l.HW)
	r.setMembers(now, &l)
	out = append(out, Effect{Kind: AdvanceHW, Offset: r.hw})
	out = r.watchAll(now, out)
	return r.progress(now, out)
}

// takeLog takes over what the shell says of the log. The HW is the higher of the checkpointed one and of what this
// process knew.
func (r *Replica) takeLog(start, leo, flushed, hw kafka.Offset) {
	hw = min(max(hw, start), leo)
	if r.role != Offline {
		hw = max(hw, min(r.hw, leo))
	}
	r.logStart, r.leo, r.hw = start, leo, hw
	r.flushed = max(flushed, start)
	r.asked, r.acked = r.flushed, r.vote()
}

func (r *Replica) setMembers(now kafka.Now, l *Leadership) {
	r.members = r.members[:0]
	for _, n := range l.Replicas {
		r.members = append(r.members, newMember(n))
	}
	sortMembers(r.members)
	ok := slices.Contains(l.ISR, r.cfg.Node)
	for i := 1; i < len(r.members); i++ {
		ok = ok && r.members[i].node != r.members[i-1].node
	}
	for _, n := range l.ISR {
		m := r.member(n)
		if ok = ok && m != nil && !m.inISR; ok {
			m.inISR, m.behind, m.caughtUpAt = true, false, now.MonoNs
		}
	}
	if !ok {
		panic(fmt.Sprintf("replica: node %d leads with isr %v of replicas %v", r.cfg.Node, l.ISR, l.Replicas))
	}
	r.takeBrokers(l.Brokers)
}

// Fetch is what a follower asks, or a broker that reads for another reason.
type Fetch struct {
	Replica     kafka.NodeID
	BrokerEpoch int64             // of the follower's life, or kafka.NoBrokerEpoch (KIP-903)
	Epoch       kafka.LeaderEpoch // in which the follower believes to be
	Offset      kafka.Offset      // its log end offset
	LastEpoch   kafka.LeaderEpoch // of its last record, or -1: it has none (KIP-595)
	LogStart    kafka.Offset      // where its log begins
}

// EpochEnd is what a log says of an epoch: the largest epoch that it knows up to the one asked for, and where that ends
// (epochs.Cache.EndOffsetFor).
type EpochEnd struct {
	Epoch kafka.LeaderEpoch
	End   kafka.Offset
}

// Answer is the leader's.
type Answer struct {
	Code      kafka.ErrorCode
	Diverging bool // the logs part: Ours is what the leader has in place of Fetch.LastEpoch; no records
	Ours      EpochEnd
	HW        kafka.Offset
	LogStart  kafka.Offset
	// LEO is not in Kafka's response. The follower's shell takes the end of the records that came; after OFFSET_OUT_OF_RANGE
	// it asks the leader for LogStart and LEO by ListOffsets, in its epoch.
	LEO kafka.Offset
}

// Fetched takes in a follower's fetch. ours is what this replica's log says of f.LastEpoch. With code NONE and without
// divergence the records from f.Offset on are to be sent. A fetch that is refused or diverges says nothing about what the
// follower holds.
func (r *Replica) Fetched(now kafka.Now, f Fetch, ours EpochEnd, out []Effect) (Answer, []Effect) {
	a := Answer{HW: r.hw, LogStart: r.logStart, LEO: r.leo}
	m := r.member(f.Replica)
	switch a.Code = r.checkFetch(&f); {
	case a.Code != kafka.ErrNone:
		return a, out
	case m == nil || f.Replica == r.cfg.Node:
		a.Code = kafka.ErrUnknownLeaderEpoch // not a replica yet, as far as is known here: it asks again
		return a, out
	}
	diverges := f.LastEpoch >= 0 && f.Offset > 0 && (ours.End < f.Offset || ours.Epoch < f.LastEpoch && r.cfg.Rules.CompareEpochs)
	switch {
	case f.Offset < r.logStart && (r.cfg.Rules.RangeBeforeDivergence || !diverges), // KAFKA-12996
		f.Offset > r.leo && !diverges, diverges && ours.Epoch < 0:
		a.Code = kafka.ErrOffsetOutOfRange
		return a, out
	case diverges:
		if a.Diverging, a.Ours = true, ours; r.cfg.Rules.DivergenceIsNoProgress {
			return a, out
		}
	}
	if r.cfg.Rules.FetchLifeChecked && f.BrokerEpoch != kafka.NoBrokerEpoch && f.BrokerEpoch < m.alive {
		a.Code = kafka.ErrNotLeaderOrFollower // what that life held is no matter any more
		return a, out
	}
	low := r.LowWatermark()
	out = r.holds(now, m, &f, out)
	out = r.progress(now, r.maybeExpand(m, out))
	a.HW = r.hw
	return a, r.lowMoved(low, out)
}

// FetchStands reports that a follower's fetch may go on waiting for records: nothing else is to be told (Kafka's
// DelayedFetch). A higher HW alone wakes nobody: it goes with the next answer. Law: it is asked again after the records of an
// answer were read, unless nothing can come between Fetched and the reading. When the fetch does not stand any more, it is
// handed to Fetched again, and what was read is thrown away.
func (r *Replica) FetchStands(f Fetch) bool {
	return r.checkFetch(&f) == kafka.ErrNone && r.member(f.Replica) != nil && f.Offset >= r.logStart && f.Offset <= r.leo
}

// checkFetch compares epochs. A follower must name one; only clients may leave it out.
func (r *Replica) checkFetch(f *Fetch) kafka.ErrorCode {
	switch {
	case r.role != Leader:
		return r.CheckEpoch(f.Epoch)
	case !r.cfg.Rules.FetchEpochChecked:
		return kafka.ErrNone
	case f.Epoch < r.epoch:
		return kafka.ErrFencedLeaderEpoch
	case f.Epoch > r.epoch:
		return kafka.ErrUnknownLeaderEpoch
	}
	return kafka.ErrNone
}

// holds notes that the follower's log ends at the offset from which it fetches.
func (r *Replica) holds(now kafka.Now, m *member, f *Fetch, out []Effect) []Effect {
	caughtUp, before := f.Offset >= r.leo, m.sawLEO >= 0 && f.Offset >= m.sawLEO
	m.vote, m.fetchedIn, m.sawLEO, m.start = f.Offset, f.BrokerEpoch, r.leo, f.LogStart
	switch {
	case caughtUp:
		// A follower that has everything is in sync however long it is silent (R23).
		m.behind, m.caughtUpAt = false, now.MonoNs
		out = m.stopTimer(out)
		if !r.cfg.Rules.IdleIsInSync {
			out = r.watch(m, out)
		}
	case before:
		// It had everything that there was when it asked last.
		m.caughtUpAt = max(m.caughtUpAt, m.fetchedAt)
		if now.MonoNs-m.caughtUpAt < r.cfg.LagMs*nsPerMs || r.cfg.LagMs == 0 {
			m.behind, m.timer = false, false
			out = r.watch(m, out) // in place of the one that runs
		}
	}
	m.fetchedAt = now.MonoNs
	return out
}

// advance moves the HW to the smallest vote of the maximal ISR, and completes local acks.
func (r *Replica) advance(out []Effect) []Effect {
	vote := r.vote()
	hw := vote
	for i := range r.members {
		m := &r.members[i]
		if m.node == r.cfg.Node {
			m.vote = vote
		}
		if r.hwWaitsFor(m) {
			hw = min(hw, m.vote)
		}
	}
	if hw > r.hw && (r.committed() >= r.minISR() || !r.cfg.Rules.HWNeedsMinISR) {
		r.hw = hw
		out = append(out, Effect{Kind: AdvanceHW, Offset: hw})
	}
	if vote > r.acked {
		r.acked = vote
		out = append(out, Effect{Kind: AckLocal, Offset: vote})
	}
	return out
}

// hwWaitsFor: in sync, about to be, or so near the end that it would be if the HW did not run away from it.
func (r *Replica) hwWaitsFor(m *member) bool {
	rules := &r.cfg.Rules
	switch {
	case m.inISR || m.proposed && rules.MaximalISR:
		return rules.HWCountsISR
	case m.node == r.cfg.Node || m.behind || r.cfg.LagMs == 0 || !rules.HWWaitsForNear:
		return false
	}
	return r.eligible(m)
}

// minISR is min.insync.replicas, as far as there are replicas.
func (r *Replica) minISR() int { return max(1, min(r.cfg.MinISR, len(r.members))) }

// CheckProduce says whether a produce with these acks may be appended: NOT_LEADER_OR_FOLLOWER, or NOT_ENOUGH_REPLICAS for
// acks=all while the ISR is too small.
func (r *Replica) CheckProduce(acks int16) kafka.ErrorCode {
	switch {
	case r.role != Leader:
		return kafka.ErrNotLeaderOrFollower
	case acks == -1 && r.cfg.Rules.AckNeedsMinISR && r.committed() < r.minISR():
		return kafka.ErrNotEnoughReplicas
	}
	return kafka.ErrNone
}

// AckAll says whether a produce with acks=all that ends at next is complete, and how: NONE, or
// NOT_ENOUGH_REPLICAS_AFTER_APPEND when it is on all replicas that are in sync, and those have become too few, or
// NOT_LEADER_OR_FOLLOWER. It is asked for produces of this leadership alone (EndLeadership).
func (r *Replica) AckAll(next kafka.Offset) (done bool, code kafka.ErrorCode) {
	switch {
	case r.role != Leader && r.cfg.Rules.AcksEndWithLeadership:
		return true, kafka.ErrNotLeaderOrFollower
	case r.hw < next:
		return false, kafka.ErrNone
	case r.cfg.Rules.AckNeedsMinISR && r.role == Leader && r.maximal() < r.minISR():
		return true, kafka.ErrNotEnoughReplicasAfterAppend
	}
	return true, kafka.ErrNone
}
