package replication

import (
	"slices"

	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/replica"
)

// Branches that a step may go through: what guards of the machines answered.
const (
	served = iota
	diverging
	fenced
	unknown
	notLeader
	outOfRange
	otherFetchCode
	appended
	truncated
	answerDropped
	hwRaised
	grows
	shrinks
	altered
	repeated
	alterFenced
	alterOld
	alterIneligible
	alterStale
	alterInvalid
	alterOther
	electedClean
	electedFromELR
	electedLastKnown
	electedNobody
	unfenced
	stillFenced
	leavesISR
	elrKept
)

// Branches names them.
func (w *World) Branches() []string {
	return []string{
		served: "fetch: served", diverging: "fetch: logs diverge", fenced: "fetch: FENCED_LEADER_EPOCH", unknown: "fetch: UNKNOWN_LEADER_EPOCH",
		notLeader: "fetch: NOT_LEADER_OR_FOLLOWER", outOfRange: "fetch: OFFSET_OUT_OF_RANGE", otherFetchCode: "fetch: any other code",
		appended: "answer: records appended", truncated: "answer: log cut", answerDropped: "answer: records of another epoch dropped",
		hwRaised: "HW raised", grows: "proposal: ISR grows", shrinks: "proposal: ISR shrinks",
		altered: "AlterPartition: committed", repeated: "AlterPartition: repeated, is committed", alterFenced: "AlterPartition: FENCED_LEADER_EPOCH",
		alterOld: "AlterPartition: INVALID_UPDATE_VERSION", alterIneligible: "AlterPartition: INELIGIBLE_REPLICA",
		alterStale: "AlterPartition: STALE_BROKER_EPOCH", alterInvalid: "AlterPartition: INVALID_REQUEST", alterOther: "AlterPartition: any other code",
		electedClean: "elected: of the ISR", electedFromELR: "elected: of the ELR", electedLastKnown: "elected: last known leader",
		electedNobody: "elected: nobody", unfenced: "heartbeat: unfenced", stillFenced: "heartbeat: not caught up", leavesISR: "a broker leaves the ISR",
		elrKept: "a broker becomes eligible",
	}
}

func (s *State) mark(branch int) { s.marks |= 1 << branch }

func (s *State) markAnswer(a *replica.Answer) {
	switch {
	case a.Diverging:
		s.mark(diverging)
	case a.Code == kafka.ErrNone:
		s.mark(served)
	case a.Code == kafka.ErrFencedLeaderEpoch:
		s.mark(fenced)
	case a.Code == kafka.ErrUnknownLeaderEpoch:
		s.mark(unknown)
	case a.Code == kafka.ErrNotLeaderOrFollower:
		s.mark(notLeader)
	case a.Code == kafka.ErrOffsetOutOfRange:
		s.mark(outOfRange)
	default:
		s.mark(otherFetchCode)
	}
}

func (s *State) markEffect(n *node, e *replica.Effect) {
	switch e.Kind {
	case replica.AppendFetched:
		s.mark(appended)
	case replica.Truncate:
		s.mark(truncated)
	case replica.AdvanceHW:
		s.mark(hwRaised)
	case replica.ProposeISR:
		if len(e.ISR) > len(n.m.ISR()) {
			s.mark(grows)
		} else {
			s.mark(shrinks)
		}
	}
}

// decideMarked decides, and notes how.
func (s *State) decideMarked(req controller.Request) controller.Response {
	before := len(s.views)
	was := s.now().partition
	resp := s.decide(req)
	decided := len(s.views) > before
	switch r := resp.(type) {
	case *controller.AlterPartitionResponse:
		code := r.Code
		if code == kafka.ErrNone {
			code = r.Partitions[0].Code
		}
		s.mark(alterBranch(code, decided))
	case *controller.BrokerHeartbeatResponse:
		if r.Fenced {
			s.mark(stillFenced)
		} else if decided {
			s.mark(unfenced)
		}
	}
	if p := &s.now().partition; decided {
		if len(p.ISR) < len(was.ISR) {
			s.mark(leavesISR)
		}
		if len(p.ELR) > len(was.ELR) {
			s.mark(elrKept)
		}
		if p.LeaderEpoch > was.LeaderEpoch {
			s.mark(electionBranch(p.Leader, was.ISR, was.ELR))
		}
	}
	return resp
}

func alterBranch(code kafka.ErrorCode, decided bool) int {
	switch code {
	case kafka.ErrNone:
		if decided {
			return altered
		}
		return repeated
	case kafka.ErrFencedLeaderEpoch:
		return alterFenced
	case kafka.ErrInvalidUpdateVersion:
		return alterOld
	case kafka.ErrIneligibleReplica:
		return alterIneligible
	case kafka.ErrStaleBrokerEpoch:
		return alterStale
	case kafka.ErrInvalidRequest:
		return alterInvalid
	}
	return alterOther
}

func electionBranch(leader kafka.NodeID, isr, elr []kafka.NodeID) int {
	switch {
	case leader == kafka.NoNode:
		return electedNobody
	case slices.Contains(isr, leader):
		return electedClean
	case slices.Contains(elr, leader):
		return electedFromELR
	}
	return electedLastKnown
}
