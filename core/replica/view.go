package replica

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

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
	if r.undecided == kafka.NoOffset {
		return end
	}
	return min(end, r.undecided)
}

// AckedLocal is up to where produces with acks=1 are complete.
func (r *Replica) AckedLocal() kafka.Offset { return r.acked }

// EndKnown reports that the HW has reached the start of the leader's epoch: before, a consumer that asks for the end
// offset gets OFFSET_NOT_AVAILABLE, since the answer could go back (KIP-207).
func (r *Replica) EndKnown() bool { return r.hw >= r.epochStart }

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
	for _, m := range r.isr {
		if m.node != r.cfg.Node {
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
	c.isr = slices.Clone(r.isr)
	return &c
}

// AppendTo appends a canonical binary form: equal states, equal bytes. The configuration is not in it.
func (r *Replica) AppendTo(b []byte) []byte {
	b = append(b, byte(r.role))
	for _, v := range [...]int64{int64(r.epoch), r.epochStart, r.logStart, r.leo, r.flushed, r.asked, r.hw, r.acked, r.undecided} {
		b = binary.AppendVarint(b, v)
	}
	if r.timer {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(r.isr)))
	for _, m := range r.isr {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(m.node)), m.vote)
	}
	return b
}

// Permute renames nodes, this one included.
func (r *Replica) Permute(rename func(kafka.NodeID) kafka.NodeID) {
	r.cfg.Node = rename(r.cfg.Node)
	for i := range r.isr {
		r.isr[i].node = rename(r.isr[i].node)
	}
	sortMembers(r.isr)
}

func sortMembers(m []member) {
	sort.Slice(m, func(i, j int) bool { return m[i].node < m[j].node })
}

// String is one line: "leader e3 start=0 hw=10 flushed=10 asked=12 acked=10 leo=12 isr=1:10".
func (r *Replica) String() string {
	b := fmt.Appendf(nil, "%s e%d start=%d hw=%d flushed=%d asked=%d acked=%d leo=%d",
		r.role, r.epoch, r.logStart, r.hw, r.flushed, r.asked, r.acked, r.leo)
	if r.undecided != kafka.NoOffset {
		b = fmt.Appendf(b, " undecided=%d", r.undecided)
	}
	for i, m := range r.isr {
		sep := ","
		if i == 0 {
			sep = " isr="
		}
		b = fmt.Appendf(b, "%s%d:%d", sep, m.node, m.vote)
	}
	if r.timer {
		b = append(b, " timer"...)
	}
	return string(b)
}
