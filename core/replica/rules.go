package replica

import "trialog/core/config"

// Rules are the safety mechanisms of this room; true is the safe behaviour. RuleDocs says what each prevents.
type Rules struct {
	VisibleAfterFlush         bool // replica.visible-after-flush
	TruncateByEpoch           bool // replica.truncate-by-epoch
	CompareEpochs             bool // replica.compare-epochs
	TruncateOnEpochChange     bool // replica.truncate-on-epoch-change
	DivergenceBeforeHW        bool // replica.divergence-before-hw
	DropStaleAnswers          bool // replica.drop-stale-answers
	FetchEpochChecked         bool // replica.fetch-epoch-checked
	DivergenceIsNoProgress    bool // replica.divergence-is-no-progress
	RangeBeforeDivergence     bool // replica.range-before-divergence
	JoinAtEpochStart          bool // replica.join-at-epoch-start
	JoinEligible              bool // replica.join-eligible
	MaximalISR                bool // replica.maximal-isr
	HWCountsISR               bool // replica.hw-counts-isr
	HWNeedsMinISR             bool // replica.hw-needs-min-isr
	HWFollowsISR              bool // replica.hw-follows-isr
	ISRByController           bool // replica.isr-by-controller
	RepeatedProposalStands    bool // replica.repeated-proposal-stands
	ProposalKeepsLives        bool // replica.proposal-keeps-lives
	AnswerMatches             bool // replica.answer-matches
	AckNeedsMinISR            bool // replica.ack-needs-min-isr
	IdleIsInSync              bool // replica.idle-is-in-sync
	EndAfterEpochStart        bool // replica.end-after-epoch-start
	FetchLifeChecked          bool // replica.fetch-life-checked
	HWWaitsForNear            bool // replica.hw-waits-for-near
	AcksEndWithLeadership     bool // replica.acks-end-with-leadership
	AppendKnownEpochs         bool // replica.append-known-epochs
	LateMetadataKeepsProposal bool // replica.late-metadata-keeps-proposal
	DeleteBelowHW             bool // replica.delete-below-hw
	LSOWaitsForMarkers        bool // replica.lso-waits-for-markers
}

// AllRules has every mechanism on.
func AllRules() Rules {
	var r Rules
	config.SwitchOn(RuleDocs, r.field)
	return r
}

// Off switches the rule of that name off (without the room's name); false if there is none.
func (r *Rules) Off(name string) bool { return config.SwitchOff(name, r.field) }

// field is nil for a name that is no rule.
func (r *Rules) field(name string) *bool {
	switch name {
	case "visible-after-flush":
		return &r.VisibleAfterFlush
	case "truncate-by-epoch":
		return &r.TruncateByEpoch
	case "compare-epochs":
		return &r.CompareEpochs
	case "truncate-on-epoch-change":
		return &r.TruncateOnEpochChange
	case "divergence-before-hw":
		return &r.DivergenceBeforeHW
	case "drop-stale-answers":
		return &r.DropStaleAnswers
	case "fetch-epoch-checked":
		return &r.FetchEpochChecked
	case "divergence-is-no-progress":
		return &r.DivergenceIsNoProgress
	case "range-before-divergence":
		return &r.RangeBeforeDivergence
	case "join-at-epoch-start":
		return &r.JoinAtEpochStart
	case "join-eligible":
		return &r.JoinEligible
	case "maximal-isr":
		return &r.MaximalISR
	case "hw-counts-isr":
		return &r.HWCountsISR
	case "hw-needs-min-isr":
		return &r.HWNeedsMinISR
	case "hw-follows-isr":
		return &r.HWFollowsISR
	case "isr-by-controller":
		return &r.ISRByController
	case "repeated-proposal-stands":
		return &r.RepeatedProposalStands
	case "proposal-keeps-lives":
		return &r.ProposalKeepsLives
	case "answer-matches":
		return &r.AnswerMatches
	case "ack-needs-min-isr":
		return &r.AckNeedsMinISR
	case "idle-is-in-sync":
		return &r.IdleIsInSync
	case "end-after-epoch-start":
		return &r.EndAfterEpochStart
	case "fetch-life-checked":
		return &r.FetchLifeChecked
	case "hw-waits-for-near":
		return &r.HWWaitsForNear
	case "acks-end-with-leadership":
		return &r.AcksEndWithLeadership
	case "append-known-epochs":
		return &r.AppendKnownEpochs
	case "late-metadata-keeps-proposal":
		return &r.LateMetadataKeepsProposal
	case "delete-below-hw":
		return &r.DeleteBelowHW
	case "lso-waits-for-markers":
		return &r.LSOWaitsForMarkers
	}
	return nil
}

// RuleDocs documents the rules.
var RuleDocs = []config.RuleDoc{
	{Room: "replica", Name: "visible-after-flush",
		Doc:    "under a flush policy a record is shown to consumers only after its fsync, like its ack",
		Source: "architecture section 6; a record that was read must not be lost by a power cut"},
	{Room: "replica", Name: "truncate-by-epoch",
		Doc:    "a follower cuts its log where the epochs part, never at its own HW, which lags",
		Source: "KIP-101, R01, R02, counterexamples 1, 2, 3b"},
	{Room: "replica", Name: "compare-epochs",
		Doc:    "a diverging answer names the epoch that it is about, and the follower compares it with its own, so that logs which never shared an epoch are cut far enough",
		Source: "KIP-279, R03, counterexample 3"},
	{Room: "replica", Name: "truncate-on-epoch-change",
		Doc:    "every new leader epoch compares the logs, also under the same leader",
		Source: "KAFKA-7164, R07"},
	{Room: "replica", Name: "divergence-before-hw",
		Doc:    "a follower cuts what diverges before it takes the HW of the answer",
		Source: "KAFKA-14704, R08"},
	{Room: "replica", Name: "drop-stale-answers",
		Doc:    "an answer to a fetch of another epoch or offset changes nothing",
		Source: "KAFKA-13207, R24"},
	{Room: "replica", Name: "fetch-epoch-checked",
		Doc:    "a follower of another epoch is refused, and counts for nothing",
		Source: "KIP-320, R14, counterexamples 1, 2, 4, 5, 7"},
	{Room: "replica", Name: "divergence-is-no-progress",
		Doc:    "a fetch whose logs diverge does not count as holding its offset",
		Source: "KAFKA-13141, R13, counterexample 8"},
	{Room: "replica", Name: "range-before-divergence",
		Doc:    "an offset outside of the log is OFFSET_OUT_OF_RANGE, whatever its epoch",
		Source: "KAFKA-12996, R25"},
	{Room: "replica", Name: "join-at-epoch-start",
		Doc:    "a follower comes into the ISR only when it holds what the epoch of its leader began with",
		Source: "KAFKA-7128, R06, counterexample 6"},
	{Room: "replica", Name: "join-eligible",
		Doc:    "a broker that is fenced, shuts down, or fetched in an earlier life is not proposed for the ISR",
		Source: "KIP-841, KIP-903, R15, R16"},
	{Room: "replica", Name: "maximal-isr",
		Doc:    "whoever is proposed counts against the HW from the moment of the proposal",
		Source: "KIP-497, counterexample 9"},
	{Room: "replica", Name: "hw-counts-isr",
		Doc:    "the HW is what everybody in sync holds",
		Source: "Kafka paper, section on replication"},
	{Room: "replica", Name: "hw-needs-min-isr",
		Doc:    "with fewer than min.insync.replicas in sync the HW stays",
		Source: "KAFKA-15583, KIP-966, R18, counterexample 10a"},
	{Room: "replica", Name: "hw-follows-isr",
		Doc:    "a committed change of the ISR looks at the HW anew: nobody else may ever fetch again",
		Source: "KAFKA-13091, R21"},
	{Room: "replica", Name: "isr-by-controller",
		Doc:    "the ISR changes when the controller has committed it, not when a leader wishes",
		Source: "KIP-497, R29"},
	{Room: "replica", Name: "repeated-proposal-stands",
		Doc:    "the refusal of one copy of a proposal does not take it back while another copy may still be accepted",
		Source: "KIP-497; found by trialog explore replication"},
	{Room: "replica", Name: "proposal-keeps-lives",
		Doc:    "a proposal that is sent again names the lives in which its members were found in sync, not those in which they fetched since",
		Source: "KIP-903; found by trialog explore replication"},
	{Room: "replica", Name: "answer-matches",
		Doc:    "an answer to a proposal counts for that proposal alone, not for one that was made meanwhile",
		Source: "KIP-497; found by trialog explore replication"},
	{Room: "replica", Name: "ack-needs-min-isr",
		Doc:    "acks=all fails with fewer than min.insync.replicas in sync",
		Source: "min.insync.replicas, R19"},
	{Room: "replica", Name: "idle-is-in-sync",
		Doc:    "a follower that holds everything is in sync however long it is silent",
		Source: "KAFKA-7152, R23"},
	{Room: "replica", Name: "end-after-epoch-start",
		Doc:    "the end offset is told to consumers only when the HW has reached the start of the epoch",
		Source: "KIP-207"},
	{Room: "replica", Name: "fetch-life-checked",
		Doc:    "a fetch of an earlier life of a broker counts for nothing",
		Source: "KIP-903, KAFKA-15221, R16"},
	{Room: "replica", Name: "hw-waits-for-near",
		Doc:    "the HW waits for a follower that is as near to the end as the ISR is, or it would run away from it for ever",
		Source: "Kafka Partition, a follower out of sync under steady load"},
	{Room: "replica", Name: "acks-end-with-leadership",
		Doc:    "a produce that waits when its leader is deposed fails, whatever the HW of the follower will be",
		Source: "Kafka DelayedProduce, R29"},
	{Room: "replica", Name: "append-known-epochs",
		Doc:    "a follower appends no batch of a later epoch than the one in which it asked",
		Source: "KAFKA-18723, R24"},
	{Room: "replica", Name: "late-metadata-keeps-proposal",
		Doc:    "metadata that a leader knows from an answer already does not take back what it has proposed since",
		Source: "KIP-497, R22"},
	{Room: "replica", Name: "delete-below-hw",
		Doc:    "DeleteRecords deletes nothing above the HW",
		Source: "KIP-107, R31"},
	{Room: "replica", Name: "lso-waits-for-markers",
		Doc:    "the LSO stays before a transaction until its marker is committed",
		Source: "KIP-98"},
}
