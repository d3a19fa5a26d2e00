package replica

import "trialog/core/kafka"

// CheckRead is CheckEpoch for a consumer that may read from followers (Fetch v11+, KIP-392): a follower serves up to its own
// HW, also while nobody leads.
func (r *Replica) CheckRead(epoch kafka.LeaderEpoch) kafka.ErrorCode {
	code := r.CheckEpoch(epoch)
	if code == kafka.ErrNotLeaderOrFollower && r.role == Follower {
		return kafka.ErrNone
	}
	return code
}

// CheckOffset says whether a reader may fetch from an offset: OFFSET_OUT_OF_RANGE outside of the log. Between what is
// visible (VisibleTo) and the end of the log it gets nothing yet and no error: a consumer that comes from the leader may
// be ahead of a follower's HW.
func (r *Replica) CheckOffset(offset kafka.Offset) kafka.ErrorCode {
	if offset < r.logStart || offset > r.leo {
		return kafka.ErrOffsetOutOfRange
	}
	return kafka.ErrNone
}

// CheckFound says whether a consumer may be told the offset that a lookup by time found (KIP-207): below what is visible it
// may; otherwise the answer is OFFSET_NOT_AVAILABLE while the end is not known (EndKnown), and later that there is none.
func (r *Replica) CheckFound(isolation int8, found kafka.Offset) (tell bool, code kafka.ErrorCode) {
	switch {
	case found < r.VisibleTo(kafka.ConsumerReplica, isolation):
		return true, kafka.ErrNone
	case !r.EndKnown():
		return false, kafka.ErrOffsetNotAvailable
	}
	return false, kafka.ErrNone
}

// Place is where a broker stands: broker.rack.
type Place struct {
	Node kafka.NodeID
	Rack string
}

// PreferredReader is the follower from which a consumer in a rack is to read from offset on, or kafka.NoNode: from here
// (KIP-392, Kafka's RackAwareReplicaSelector). It is in sync, holds the offset, and is in the rack; of several it is the one
// that holds most, then the one that had everything last, then the one with the highest id. places are those of the brokers
// that live and can be dialed by the consumer. Only a leader prefers anybody.
func (r *Replica) PreferredReader(rack string, offset kafka.Offset, places []Place) kafka.NodeID {
	best := kafka.NoNode
	if r.role != Leader || rack == "" {
		return best
	}
	for _, p := range places {
		switch m := r.member(p.Node); {
		case p.Rack != rack || m == nil:
		case p.Node == r.cfg.Node:
			return kafka.NoNode
		case m.inISR && m.vote >= offset && m.start <= offset && (best == kafka.NoNode || r.member(best).lessRead(m)):
			best = p.Node
		}
	}
	return best
}

// lessRead: o is the better one to read from.
func (m *member) lessRead(o *member) bool {
	switch {
	case m.vote != o.vote:
		return m.vote < o.vote
	case m.caughtUpAt != o.caughtUpAt:
		return m.caughtUpAt < o.caughtUpAt
	}
	return m.node < o.node
}

// CheckDelete says up to where a DeleteRecords request may delete: before, or for -1 the HW. OFFSET_OUT_OF_RANGE: before is
// negative or above the HW, so that what is not committed is never deleted; NOT_LEADER_OR_FOLLOWER. After the log start has
// moved (LogStartMoved) the request waits for AdvanceLow.
func (r *Replica) CheckDelete(before kafka.Offset) (to kafka.Offset, code kafka.ErrorCode) {
	if before == -1 {
		before = r.hw
	}
	switch {
	case r.role != Leader:
		return 0, kafka.ErrNotLeaderOrFollower
	case before < 0 || before > r.hw && r.cfg.Rules.DeleteBelowHW || before > r.leo:
		return 0, kafka.ErrOffsetOutOfRange
	}
	return before, kafka.ErrNone
}

// LowWatermark is the smallest log start of all live replicas, as far as they have told (KIP-107). A leader's alone.
func (r *Replica) LowWatermark() kafka.Offset {
	low := r.logStart
	for i := range r.members {
		if m := &r.members[i]; m.node != r.cfg.Node && !m.fenced {
			low = min(low, m.start)
		}
	}
	return low
}

// lowMoved tells when the low watermark is higher than before.
func (r *Replica) lowMoved(before kafka.Offset, out []Effect) []Effect {
	if r.role != Leader {
		return out
	}
	if low := r.LowWatermark(); low > before {
		out = append(out, Effect{Kind: AdvanceLow, Offset: low})
	}
	return out
}
