package controller

import (
	"slices"

	machine "trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// Branches of the machines that a step goes through, as far as they can be told from answers and records.
const (
	bAltered = iota
	bRepeated
	bNewLeader
	bFencedEpoch
	bUpdateVersion
	bIneligible
	bUnknownTopic
	bAlterStale
	bUnfenced
	bBehind
	bBeatStale
	bLeaves
	bWaitsForOthers
	bMayGo
	bNewLife
	bCleanLife
	bSameLife
	bTwice
	bFenced
	bElected
	bPreferredGone
	bNobodyEligible
	bBalanced
	bMoves
	bGoesBack
	bNoWayBack
	bRemoved
	bMade
	bForgotten
	bGiven
	bKept
	bSet
	bNotSet
	bLeaderStays
	bNextInISR
	bFromELR
	bUnclean
	bNobodyLeads
	bLastStays
	bISREmptied
	bKeptEligible
	bMoved
	bSurvives
	bDropped
	bWaits
	branchCount
)

var branchNames = [branchCount]string{
	bAltered: "proposal: the ISR changes", bRepeated: "proposal: nothing to do", bNewLeader: "proposal: NEW_LEADER_ELECTED",
	bFencedEpoch: "proposal: FENCED_LEADER_EPOCH", bUpdateVersion: "proposal: INVALID_UPDATE_VERSION",
	bIneligible: "proposal: INELIGIBLE_REPLICA", bUnknownTopic: "proposal: UNKNOWN_TOPIC_ID", bAlterStale: "proposal: STALE_BROKER_EPOCH",
	bUnfenced: "heartbeat: unfenced", bBehind: "heartbeat: behind, stays fenced", bBeatStale: "heartbeat: STALE_BROKER_EPOCH",
	bLeaves: "heartbeat: shutdown begins", bWaitsForOthers: "heartbeat: others must hear first", bMayGo: "heartbeat: may go",
	bNewLife: "registration: unclean", bCleanLife: "registration: clean", bSameLife: "registration: again",
	bTwice:  "registration: DUPLICATE_BROKER_REGISTRATION",
	bFenced: "session: fenced", bElected: "election: done",
	bPreferredGone: "election: PREFERRED_LEADER_NOT_AVAILABLE", bNobodyEligible: "election: ELIGIBLE_LEADERS_NOT_AVAILABLE",
	bBalanced: "election: balanced", bMoves: "reassignment: decided", bGoesBack: "cancellation: decided",
	bNoWayBack: "cancellation: refused", bRemoved: "topic: removed", bMade: "topic: made", bForgotten: "broker: unregistered",
	bGiven: "producer ids: given", bKept: "directories: written down", bSet: "setting: changed", bNotSet: "setting: refused",
	bLeaderStays: "change: the leader stays", bNextInISR: "change: the next in the ISR leads",
	bFromELR: "change: somebody eligible leads", bUnclean: "change: an unclean leader", bNobodyLeads: "change: nobody leads",
	bLastStays: "change: the last member stays", bISREmptied: "change: nobody is in sync", bKeptEligible: "change: somebody stays eligible",
	bMoved: "change: a reassignment is complete", bSurvives: "a new controller: decisions of the old one survive",
	bDropped: "a new controller: decisions of the old one are lost", bWaits: "a new controller: waits for its barrier",
}

// Branches names them.
func (w *World) Branches() []string { return branchNames[:] }

func bit(branch int) uint64 { return 1 << branch }

func either(first bool, a, b int) uint64 {
	if first {
		return bit(a)
	}
	return bit(b)
}

var alterBranch = map[kafka.ErrorCode]int{
	kafka.ErrNewLeaderElected: bNewLeader, kafka.ErrFencedLeaderEpoch: bFencedEpoch, kafka.ErrInvalidUpdateVersion: bUpdateVersion,
	kafka.ErrIneligibleReplica: bIneligible, kafka.ErrUnknownTopicID: bUnknownTopic,
}

// met is the branches of a request by its answer.
func met(m *message, d *machine.Decision) uint64 {
	changes := len(d.Records) > 0
	switch r := d.Response.(type) {
	case *machine.AlterPartitionResponse:
		return metAlter(r, changes)
	case *machine.BrokerHeartbeatResponse:
		return metBeat(m, r, changes)
	case *machine.RegisterBrokerResponse:
		switch {
		case r.Code != kafka.ErrNone:
			return bit(bTwice)
		case !changes:
			return bit(bSameLife)
		}
		return either(m.wrote >= 0, bCleanLife, bNewLife)
	case *machine.SessionExpiredResponse:
		return bit(bFenced)
	case *machine.ElectLeadersResponse:
		switch r.Partitions[0].Code {
		case kafka.ErrNone:
			return bit(bElected)
		case kafka.ErrPreferredLeaderNotAvailable:
			return bit(bPreferredGone)
		}
		return bit(bNobodyEligible)
	case *machine.BalanceLeadersResponse:
		return bit(bBalanced)
	case *machine.ReassignResponse:
		if r.Partitions[0].Code != kafka.ErrNone {
			return bit(bNoWayBack)
		}
		return either(m.kind == move, bMoves, bGoesBack)
	case *machine.DeleteTopicsResponse:
		return bit(bRemoved)
	case *machine.CreateTopicsResponse:
		return bit(bMade)
	case *machine.UnregisterBrokerResponse:
		return bit(bForgotten)
	case *machine.AllocateProducerIDsResponse:
		return bit(bGiven)
	case *machine.AssignDirsResponse:
		return bit(bKept)
	case *machine.AlterConfigsResponse:
		return either(r.Resources[0].Code == kafka.ErrNone, bSet, bNotSet)
	}
	return 0
}

func metAlter(r *machine.AlterPartitionResponse, changes bool) uint64 {
	if r.Code != kafka.ErrNone {
		return bit(bAlterStale)
	}
	if code := r.Partitions[0].Code; code != kafka.ErrNone {
		if b, ok := alterBranch[code]; ok {
			return bit(b)
		}
		return 0
	}
	return either(changes, bAltered, bRepeated)
}

func metBeat(m *message, r *machine.BrokerHeartbeatResponse, changes bool) uint64 {
	switch {
	case r.Code != kafka.ErrNone:
		return bit(bBeatStale)
	case r.ShutDown:
		return bit(bMayGo)
	case m.wants && changes:
		return bit(bLeaves)
	case m.wants:
		return bit(bWaitsForOthers)
	}
	return either(!r.Fenced, bUnfenced, bBehind)
}

// metChange is the branches of a committed change of a partition.
func metChange(p, n *meta.PartitionImage) (branches uint64) {
	switch {
	case n.Leader == kafka.NoNode:
		branches = either(p.Leader == kafka.NoNode, bLeaderStays, bNobodyLeads)
	case n.Leader == p.Leader:
		branches = bit(bLeaderStays)
	case n.Recovering:
		branches = bit(bUnclean)
	case slices.Contains(p.ISR, n.Leader):
		branches = bit(bNextInISR)
	case slices.Contains(p.ELR, n.Leader):
		branches = bit(bFromELR)
	}
	if len(p.ISR) == 1 && len(n.ISR) == 1 && n.Leader == kafka.NoNode && p.Leader != kafka.NoNode {
		branches |= bit(bLastStays)
	}
	if len(n.ISR) == 0 && len(p.ISR) > 0 {
		branches |= bit(bISREmptied)
	}
	if len(n.ELR) > 0 {
		branches |= bit(bKeptEligible)
	}
	if p.Reassigning() && !n.Reassigning() {
		branches |= bit(bMoved)
	}
	return branches
}
