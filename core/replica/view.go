package replica

import (
	"encoding/binary"
	"fmt"
	"slices"

	"trialog/core/kafka"
)

// Role is what the replica is to its partition now.
func (r *Replica) Role() Role { return r.role }

// Epoch is the leader epoch, or -1 before the first.
func (r *Replica) Epoch() kafka.LeaderEpoch { return r.epoch }

// LogStart is the log start offset.
func (r *Replica) LogStart() kafka.Offset { return r.logStart }

// LEO is the log end offset.
func (r *Replica) LEO() kafka.Offset { return r.leo }

// FlushedTo is the offset below which everything is durable.
func (r *Replica) FlushedTo() kafka.Offset { return r.flushed }

// HW is the high watermark.
func (r *Replica) HW() kafka.Offset { return r.hw }

// LSO is the last stable offset: min(HW, first undecided offset) (KIP-98).
func (r *Replica) LSO() kafka.Offset { return r.stable(r.hw) }

func (r *Replica) stable(end kafka.Offset) kafka.Offset {
	for _, s := range r.decided {
		if s.marker >= r.hw {
			end = min(end, s.first)
		}
	}
	if r.undecided == kafka.NoOffset {
		return end
	}
	return min(end, r.undecided)
}

// AckedLocal is up to where produces with acks=1 are complete.
func (r *Replica) AckedLocal() kafka.Offset { return r.acked }

// EndKnown reports that the HW has reached the start of the leader's epoch: before, a consumer that asks for the end
// offset gets OFFSET_NOT_AVAILABLE, since the answer could go back (KIP-207).
func (r *Replica) EndKnown() bool { return r.hw >= r.epochStart || !r.cfg.Rules.EndAfterEpochStart }

// LeaderID is whom a follower follows, or kafka.NoNode.
func (r *Replica) LeaderID() kafka.NodeID { return r.leader }

// PartitionEpoch is the newest that a leader knows.
func (r *Replica) PartitionEpoch() int32 { return r.partEpoch }

// ISR is who is in sync as far as a leader knows the controller knows, by node. The caller owns it.
func (r *Replica) ISR() []kafka.NodeID {
	var isr []kafka.NodeID
	for i := range r.members {
		if r.members[i].inISR {
			isr = append(isr, r.members[i].node)
		}
	}
	return isr
}

// VisibleTo is the end of what a fetch may return: the end offset for replicas (a broker's node id, or
// kafka.DebugReplica), else HW, or LSO for kafka.ReadCommitted. With rule visible-after-flush off, in place of the HW
// stands what it would be if this replica's unflushed records were durable.
func (r *Replica) VisibleTo(replica kafka.NodeID, isolation int8) kafka.Offset {
	if replica != kafka.ConsumerReplica {
		return r.leo
	}
	end := r.hw
	if !r.cfg.Rules.VisibleAfterFlush {
		end = r.hwIfFlushed()
	}
	if isolation == kafka.ReadCommitted {
		return r.stable(end)
	}
	return end
}

func (r *Replica) hwIfFlushed() kafka.Offset {
	end := r.leo
	for i := range r.members {
		if m := &r.members[i]; m.node != r.cfg.Node && (m.inISR || m.proposed) {
			end = min(end, m.vote)
		}
	}
	return max(end, r.hw)
}

// CheckEpoch compares the current_leader_epoch of a request: NONE, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH, or
// NOT_LEADER_OR_FOLLOWER when this replica does not lead. -1 skips the comparison (KIP-320).
func (r *Replica) CheckEpoch(epoch kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case epoch != kafka.NoLeaderEpoch && epoch < r.epoch:
		return kafka.ErrFencedLeaderEpoch
	case epoch > r.epoch:
		return kafka.ErrUnknownLeaderEpoch
	case r.role != Leader:
		return kafka.ErrNotLeaderOrFollower
	}
	return kafka.ErrNone
}

// Clone is an independent copy.
func (r *Replica) Clone() *Replica {
	c := *r
	c.members, c.decided = slices.Clone(r.members), slices.Clone(r.decided)
	return &c
}

// AppendTo appends a canonical binary form: equal states, equal bytes. The configuration is not in it, nor are times, nor
// what cannot matter any more.
func (r *Replica) AppendTo(b []byte) []byte {
	b = append(b, byte(r.role), bits(r.timer, r.proposing, r.moved, r.repeated))
	for _, v := range [...]int64{int64(r.leader), int64(r.epoch), r.logStart, r.leo, r.flushed, r.asked, r.hw, r.undecided} {
		b = binary.AppendVarint(b, v)
	}
	for _, s := range r.decided {
		if s.marker >= r.hw {
			b = binary.AppendVarint(binary.AppendVarint(b, s.first), s.marker)
		}
	}
	if r.role != Leader {
		return b // the rest is a leader's, and set anew when it becomes one
	}
	for _, v := range [...]int64{int64(r.partEpoch), r.epochStart, r.acked} {
		b = binary.AppendVarint(b, v)
	}
	b = binary.AppendUvarint(b, uint64(len(r.members)))
	for i := range r.members {
		m := &r.members[i]
		b = append(b, bits(m.inISR, m.proposed, m.barred, m.fenced, m.behind && r.cfg.LagMs > 0, m.timer))
		for _, v := range [...]int64{int64(m.node), m.vote, m.start, m.fetchedIn, m.alive} {
			b = binary.AppendVarint(b, v)
		}
		if r.cfg.LagMs > 0 {
			b = binary.AppendVarint(b, m.sawLEO)
		}
		if m.proposed {
			b = binary.AppendVarint(b, m.joinedIn)
		}
	}
	return b
}

func bits(flags ...bool) byte {
	b := byte(0)
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}

// Permute renames nodes, this one included.
func (r *Replica) Permute(rename func(kafka.NodeID) kafka.NodeID) {
	r.cfg.Node = rename(r.cfg.Node)
	if r.leader != kafka.NoNode {
		r.leader = rename(r.leader)
	}
	for i := range r.members {
		r.members[i].node = rename(r.members[i].node)
	}
	sortMembers(r.members)
}

// String is one line: "leader e3 start=0 hw=10 flushed=10 asked=12 acked=10 leo=12 isr=1:10". Behind each member of the
// ISR stands what it is known to hold; then who else there is, and the ISR that is proposed.
func (r *Replica) String() string {
	b := fmt.Append(nil, r.role)
	if r.role == Follower {
		b = fmt.Appendf(b, " of %d", r.leader)
	}
	b = fmt.Appendf(b, " e%d start=%d hw=%d flushed=%d asked=%d acked=%d leo=%d", r.epoch, r.logStart, r.hw, r.flushed, r.asked, r.acked,
		r.leo)
	if r.undecided != kafka.NoOffset {
		b = fmt.Appendf(b, " undecided=%d", r.undecided)
	}
	b = r.appendMembers(b, " isr=", func(m *member) bool { return m.inISR })
	b = r.appendMembers(b, " out=", func(m *member) bool { return !m.inISR })
	if r.proposing {
		b = fmt.Appendf(b, " p%d proposes", r.partEpoch)
		b = r.appendMembers(b, "=", func(m *member) bool { return m.proposed })
	}
	if r.timer {
		b = append(b, " timer"...)
	}
	return string(b)
}

// appendMembers lists some members: node, vote, and ! if it is in sync and behind for too long, ~ if it is near and not in
// sync.
func (r *Replica) appendMembers(b []byte, head string, which func(*member) bool) []byte {
	for i := range r.members {
		m := &r.members[i]
		if !which(m) {
			continue
		}
		b = fmt.Appendf(b, "%s%d:%d", head, m.node, m.vote)
		switch {
		case m.inISR && m.behind:
			b = append(b, '!')
		case !m.inISR && !m.behind:
			b = append(b, '~')
		}
		head = ","
	}
	return b
}

// Watches reports that the time of a follower is running: LagTimer of it is set.
func (r *Replica) Watches(node kafka.NodeID) bool {
	m := r.member(node)
	return m != nil && m.timer
}
