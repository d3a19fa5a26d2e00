package controller

import "trialog/core/config"

// Rules are the safety mechanisms of this room; true is the safe behaviour. RuleDocs says what each prevents.
type Rules struct {
	ProducerIDsDurable        bool // controller.producer-ids-durable
	AlterChecksLeaderEpoch    bool // controller.alter-checks-leader-epoch
	AlterChecksPartitionEpoch bool // controller.alter-checks-partition-epoch
	AlterChecksBrokerEpochs   bool // controller.alter-checks-broker-epochs
	AlterChecksEligible       bool // controller.alter-checks-eligible
	ElectLiveOnly             bool // controller.elect-live-only
	ElectInSync               bool // controller.elect-in-sync
	ElectRaisesEpoch          bool // controller.elect-raises-epoch
	ELRKept                   bool // controller.elr-kept
	UncleanRestartLeavesISR   bool // controller.unclean-restart-leaves-isr
	LastISRMemberStays        bool // controller.last-isr-member-stays
	PreferredInISR            bool // controller.preferred-in-isr
	HeartbeatChecksEpoch      bool // controller.heartbeat-checks-epoch
	UnfenceWhenCaughtUp       bool // controller.unfence-when-caught-up
	RecoveryStateKept         bool // controller.recovery-state-kept
	ElectOnlineDirectory      bool // controller.elect-online-directory
	MadeAnewNotEligible       bool // controller.made-anew-not-eligible
	ReassignmentInSync        bool // controller.reassignment-in-sync
	CancelInSync              bool // controller.cancel-in-sync
	EligibleBelowMinISR       bool // controller.eligible-below-min-isr
	LargerMinISRNewEpoch      bool // controller.larger-min-isr-new-epoch
	ELREndsWithFeature        bool // controller.elr-ends-with-feature
	OneMinISR                 bool // controller.one-min-isr
	RegisterChecksFeatures    bool // controller.register-checks-features
	RegisterChecksDirectories bool // controller.register-checks-directories
	BarrierBeforeDecisions    bool // controller.barrier-before-decisions
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
	case "producer-ids-durable":
		return &r.ProducerIDsDurable
	case "alter-checks-leader-epoch":
		return &r.AlterChecksLeaderEpoch
	case "alter-checks-partition-epoch":
		return &r.AlterChecksPartitionEpoch
	case "alter-checks-broker-epochs":
		return &r.AlterChecksBrokerEpochs
	case "alter-checks-eligible":
		return &r.AlterChecksEligible
	case "elect-live-only":
		return &r.ElectLiveOnly
	case "elect-in-sync":
		return &r.ElectInSync
	case "elect-raises-epoch":
		return &r.ElectRaisesEpoch
	case "elr-kept":
		return &r.ELRKept
	case "unclean-restart-leaves-isr":
		return &r.UncleanRestartLeavesISR
	case "last-isr-member-stays":
		return &r.LastISRMemberStays
	case "preferred-in-isr":
		return &r.PreferredInISR
	case "heartbeat-checks-epoch":
		return &r.HeartbeatChecksEpoch
	case "unfence-when-caught-up":
		return &r.UnfenceWhenCaughtUp
	case "recovery-state-kept":
		return &r.RecoveryStateKept
	case "elect-online-directory":
		return &r.ElectOnlineDirectory
	case "made-anew-not-eligible":
		return &r.MadeAnewNotEligible
	case "reassignment-in-sync":
		return &r.ReassignmentInSync
	case "cancel-in-sync":
		return &r.CancelInSync
	case "eligible-below-min-isr":
		return &r.EligibleBelowMinISR
	case "larger-min-isr-new-epoch":
		return &r.LargerMinISRNewEpoch
	case "elr-ends-with-feature":
		return &r.ELREndsWithFeature
	case "one-min-isr":
		return &r.OneMinISR
	case "register-checks-features":
		return &r.RegisterChecksFeatures
	case "register-checks-directories":
		return &r.RegisterChecksDirectories
	case "barrier-before-decisions":
		return &r.BarrierBeforeDecisions
	}
	return nil
}

// RuleDocs documents the rules.
var RuleDocs = []config.RuleDoc{
	{Room: "controller", Name: "producer-ids-durable",
		Doc:    "the record of a block of producer ids is fsynced before an id of it is handed out, so that none is handed out twice",
		Source: "KIP-730"},
	{Room: "controller", Name: "alter-checks-leader-epoch",
		Doc:    "only the leader of the current leader epoch changes the ISR; a deposed one is FENCED_LEADER_EPOCH",
		Source: "KIP-497, R22"},
	{Room: "controller", Name: "alter-checks-partition-epoch",
		Doc:    "a change of the ISR that was made on top of another state than the current one is INVALID_UPDATE_VERSION",
		Source: "KIP-497, R22"},
	{Room: "controller", Name: "alter-checks-broker-epochs",
		Doc:    "a member of a proposed ISR that has restarted since it fetched is INELIGIBLE_REPLICA",
		Source: "KIP-903, R16"},
	{Room: "controller", Name: "alter-checks-eligible",
		Doc:    "a member of a proposed ISR that is fenced or shuts down is INELIGIBLE_REPLICA",
		Source: "KIP-841, R15"},
	{Room: "controller", Name: "elect-live-only",
		Doc:    "a broker that is fenced or shuts down is not elected",
		Source: "KIP-841, C13"},
	{Room: "controller", Name: "elect-in-sync",
		Doc:    "a clean election chooses from the ISR or, when that is empty, from the ELR",
		Source: "Kafka paper, section on replication; KIP-966, R19"},
	{Room: "controller", Name: "elect-raises-epoch",
		Doc:    "every election raises the leader epoch, so that what two leaders wrote is told apart",
		Source: "KIP-101, R03"},
	{Room: "controller", Name: "elr-kept",
		Doc:    "who leaves an ISR that is smaller than min.insync.replicas stays eligible: it holds everything below the HW",
		Source: "KIP-966, R17, counterexample 10b"},
	{Room: "controller", Name: "unclean-restart-leaves-isr",
		Doc:    "a broker that was not shut down cleanly leaves ISR and ELR with its registration, before it may serve",
		Source: "KIP-966, R35, counterexample 10b"},
	{Room: "controller", Name: "last-isr-member-stays",
		Doc:    "without ELR the last member stays in the ISR when it is gone, since nobody else holds what it acked",
		Source: "Kafka's controller; R19"},
	{Room: "controller", Name: "preferred-in-isr",
		Doc:    "a preferred election chooses a replica only if it is in sync",
		Source: "KAFKA-9866, R30"},
	{Room: "controller", Name: "heartbeat-checks-epoch",
		Doc:    "a heartbeat of an earlier life of the broker is STALE_BROKER_EPOCH",
		Source: "KIP-631, C09"},
	{Room: "controller", Name: "unfence-when-caught-up",
		Doc:    "a broker is unfenced when it has applied its own registration, so that it does not lead by what it knew in an earlier life",
		Source: "KIP-631, KAFKA-13959, C12"},
	{Room: "controller", Name: "recovery-state-kept",
		Doc:    "a leader that was elected uncleanly lets nobody into the ISR before it says that it has recovered",
		Source: "KIP-704, R20"},
	{Room: "controller", Name: "elect-online-directory",
		Doc:    "a replica whose log directory failed is not elected, although its broker is there",
		Source: "KIP-858, R28"},
	{Room: "controller", Name: "made-anew-not-eligible",
		Doc:    "a replica that has another directory, while its own one does not work, was made anew and is not eligible",
		Source: "KIP-858, R28"},
	{Room: "controller", Name: "reassignment-in-sync",
		Doc:    "the old replicas leave when all new ones are in sync, and not before",
		Source: "KIP-455"},
	{Room: "controller", Name: "cancel-in-sync",
		Doc:    "a reassignment is not cancelled when none of the old replicas is in sync, unless unclean elections are allowed",
		Source: "KIP-455"},
	{Room: "controller", Name: "eligible-below-min-isr",
		Doc:    "when min.insync.replicas becomes so small that the ISR acks alone, who is not in it is eligible no more",
		Source: "KIP-966, R17"},
	{Room: "controller", Name: "larger-min-isr-new-epoch",
		Doc:    "when min.insync.replicas becomes larger the leader begins a new epoch, so that it learns of no smaller ISR before it knows the setting",
		Source: "KIP-966; found by the model of this room"},
	{Room: "controller", Name: "elr-ends-with-feature",
		Doc:    "when ELR is switched off, who is eligible beside an ISR is forgotten: it is not counted any more what is acked without them",
		Source: "KIP-966; found by the model of this room"},
	{Room: "controller", Name: "one-min-isr",
		Doc:    "with ELR no broker has a min.insync.replicas of its own: its leader would ack what the ELR does not hold",
		Source: "KIP-966, R18"},
	{Room: "controller", Name: "register-checks-features",
		Doc:    "a broker that cannot work with a feature level that is in force is UNSUPPORTED_VERSION",
		Source: "KIP-584, KIP-778"},
	{Room: "controller", Name: "register-checks-directories",
		Doc:    "a log directory that is registered by another broker is INVALID_REGISTRATION: the failure of one disk is not that of two",
		Source: "KIP-858, R28"},
	{Room: "controller", Name: "barrier-before-decisions",
		Doc:    "a new controller decides nothing before it has applied all that its predecessors committed",
		Source: "KAFKA-12619, C06"},
}
