package replica

import (
	"fmt"

	"trialog/core/kafka"
)

// Following is the controller's decision, for a replica that does not lead, and the log as it is then.
type Following struct {
	Epoch          kafka.LeaderEpoch
	PartitionEpoch int32
	Leader         kafka.NodeID // kafka.NoNode: nobody leads
	LogStart       kafka.Offset
	LEO            kafka.Offset
	Flushed        kafka.Offset
	HW             kafka.Offset // the checkpointed one
}

// BecomeFollower takes up a newer epoch in which another replica leads, or nobody. Nothing is cut yet: the first answer of
// the leader says where the logs part (KIP-101, KIP-279). The epoch counts, not who leads: the same leader in a new epoch
// may have lost what this log still has (KAFKA-7164).
func (r *Replica) BecomeFollower(now kafka.Now, f Following, out []Effect) []Effect {
	if f.Epoch <= r.epoch || f.Leader == r.cfg.Node || f.LogStart < 0 || f.LogStart > f.LEO || f.Flushed > f.LEO {
		panic(fmt.Sprintf("replica: become follower %+v of %s", f, r))
	}
	out = r.endLeadership(r.stopLagTimers(r.stopTimer(out)))
	r.moved = r.role == Follower && r.leader == f.Leader && !r.cfg.Rules.TruncateOnEpochChange
	r.members, r.proposing, r.repeated = r.members[:0], false, false
	before := r.role
	r.takeLog(f.LogStart, f.LEO, f.Flushed, f.HW)
	r.role, r.leader, r.epoch, r.partEpoch, r.epochStart = Follower, f.Leader, f.Epoch, f.PartitionEpoch, f.LEO
	if before != Offline || r.hw > 0 {
		out = append(out, Effect{Kind: AdvanceHW, Offset: r.hw})
	}
	if !r.cfg.Rules.TruncateByEpoch && r.hw < r.leo {
		return append(out, Effect{Kind: Truncate, Offset: r.hw})
	}
	return r.progress(now, out)
}

// NextFetch is what this follower asks its leader next; false: it may not ask (it does not follow anybody, or what it has
// is not flushed yet). last is the epoch of its last record, or -1 (epochs.Cache.LatestEpoch).
func (r *Replica) NextFetch(last kafka.LeaderEpoch, brokerEpoch int64) (Fetch, bool) {
	if r.role != Follower || r.leader == kafka.NoNode || r.vote() < r.leo {
		return Fetch{}, false
	}
	if r.moved || !r.cfg.Rules.TruncateByEpoch {
		last = kafka.NoLeaderEpoch
	}
	return Fetch{Replica: r.cfg.Node, BrokerEpoch: brokerEpoch, Epoch: r.epoch, Offset: r.leo, LastEpoch: last, LogStart: r.logStart}, true
}

// FetchAnswered takes in the leader's answer to asked. mine is what this replica's own log says of a.Ours.Epoch, if the
// answer diverges. The effects say what to do with the log: Truncate, Restart, or AppendFetched; afterwards Truncated,
// Restarted or FollowerAppended is called. An answer to what this replica would not ask any more is dropped: it may be
// another epoch's, or it leads by now (KAFKA-13207). Law: it is the answer to the newest fetch, and comes once: a follower
// that has given up on a fetch has closed its connection.
func (r *Replica) FetchAnswered(asked Fetch, a Answer, mine EpochEnd, out []Effect) []Effect {
	if r.cfg.Rules.DropStaleAnswers && (r.role != Follower || asked.Epoch != r.epoch || asked.Offset != r.leo) {
		return out
	}
	switch {
	case a.Code == kafka.ErrOffsetOutOfRange:
		return r.outside(&a, out)
	case a.Code != kafka.ErrNone:
		return out // the metadata will tell
	case a.Diverging:
		if !r.cfg.Rules.DivergenceBeforeHW {
			out = r.raiseHW(a.HW, out)
		}
		r.moved = false
		return append(out, Effect{Kind: Truncate, Offset: r.partAt(&a, mine)})
	}
	r.moved = false
	if a.LEO > asked.Offset {
		e := Effect{Kind: AppendFetched, Offset: asked.Offset, Epoch: asked.Epoch}
		if !r.cfg.Rules.AppendKnownEpochs || !r.cfg.Rules.FetchEpochChecked {
			e.Epoch = 1<<31 - 1 // where fetches are of no epoch (before KIP-320), there is none to compare with
		}
		return r.followStart(&a, append(out, e))
	}
	out = r.followStart(&a, r.raiseHW(a.HW, out))
	r.check()
	return out
}

// followStart deletes what the leader deleted. It never passes the leader's HW, nor what this log has by then.
func (r *Replica) followStart(a *Answer, out []Effect) []Effect {
	if a.LogStart > r.logStart {
		out = append(out, Effect{Kind: MoveLogStart, Offset: a.LogStart})
	}
	return out
}

// partAt is where this log is to be cut. When both logs know the epoch of the answer, they agree up to where it ends in
// both. When this log does not know it, all of its epochs up to there are older ones that the next fetch asks about: so the
// cut is at the end of the largest that it has (KIP-279).
func (r *Replica) partAt(a *Answer, mine EpochEnd) kafka.Offset {
	to := min(a.Ours.End, r.leo)
	if r.cfg.Rules.CompareEpochs && mine.Epoch >= 0 {
		to = min(to, mine.End)
	}
	return max(to, r.logStart)
}

// outside: the leader does not have the offset that was asked for.
func (r *Replica) outside(a *Answer, out []Effect) []Effect {
	if r.leo < a.LogStart {
		return append(out, Effect{Kind: Restart, Offset: a.LogStart})
	}
	if r.leo > a.LEO {
		return append(out, Effect{Kind: Truncate, Offset: max(a.LEO, r.logStart)}) // after an unclean election
	}
	return out
}

// FollowerAppended takes in that fetched records up to next-1 are in the log, and the leader's HW as its answer had it.
func (r *Replica) FollowerAppended(now kafka.Now, next, leaderHW kafka.Offset, out []Effect) []Effect {
	if r.role != Follower && r.cfg.Rules.DropStaleAnswers || next <= r.leo {
		panic(fmt.Sprintf("replica: fetched up to %d by %s", next, r))
	}
	r.leo = next
	out = r.raiseHW(leaderHW, out)
	return r.progress(now, out)
}

// raiseHW follows the leader's HW, as far as this log goes.
func (r *Replica) raiseHW(leaderHW kafka.Offset, out []Effect) []Effect {
	if hw := min(leaderHW, r.leo); hw > r.hw {
		r.hw = hw
		out = append(out, Effect{Kind: AdvanceHW, Offset: hw})
	}
	return out
}

// Restarted takes in that the log was emptied and begins at start.
func (r *Replica) Restarted(start kafka.Offset, out []Effect) []Effect {
	r.logStart, r.leo, r.hw, r.flushed, r.asked, r.acked, r.epochStart = start, start, start, start, start, start, start
	r.decided = nil
	out = append(r.stopTimer(out), Effect{Kind: AdvanceHW, Offset: start}) // KAFKA-9491
	r.check()
	return out
}

// Stop takes in that this broker has no part in the partition any more: it was reassigned, deleted, or its log failed.
func (r *Replica) Stop(out []Effect) []Effect {
	out = r.endLeadership(r.stopLagTimers(r.stopTimer(out)))
	r.role, r.leader, r.members = Offline, kafka.NoNode, r.members[:0]
	r.proposing, r.repeated = false, false
	return out
}

// endLeadership tells who waits.
func (r *Replica) endLeadership(out []Effect) []Effect {
	if r.role == Leader && r.cfg.Rules.AcksEndWithLeadership {
		out = append(out, Effect{Kind: EndLeadership})
	}
	return out
}
