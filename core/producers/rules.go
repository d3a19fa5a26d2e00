package producers

import "trialog/core/config"

// Rules are the safety mechanisms of this room; true is the safe behaviour.
type Rules struct {
	DetectDuplicates     bool // producers.detect-duplicates
	RememberFive         bool // producers.remember-five
	CheckOrder           bool // producers.check-order
	AnswerOriginalOffset bool // producers.answer-original-offset
	FenceEpochs          bool // producers.fence-epochs
	EpochBeginsAtZero    bool // producers.epoch-begins-at-zero
	LearnFromLeader      bool // producers.learn-from-leader
	TruncateWithLog      bool // producers.truncate-with-log
	RebuildAfterCut      bool // producers.rebuild-after-cut
	SnapshotKeepsFive    bool // producers.snapshot-keeps-five
	SnapshotBelowEnd     bool // producers.snapshot-below-end
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
	case "detect-duplicates":
		return &r.DetectDuplicates
	case "remember-five":
		return &r.RememberFive
	case "check-order":
		return &r.CheckOrder
	case "answer-original-offset":
		return &r.AnswerOriginalOffset
	case "fence-epochs":
		return &r.FenceEpochs
	case "epoch-begins-at-zero":
		return &r.EpochBeginsAtZero
	case "learn-from-leader":
		return &r.LearnFromLeader
	case "truncate-with-log":
		return &r.TruncateWithLog
	case "rebuild-after-cut":
		return &r.RebuildAfterCut
	case "snapshot-keeps-five":
		return &r.SnapshotKeepsFive
	case "snapshot-below-end":
		return &r.SnapshotBelowEnd
	}
	return nil
}

// RuleDocs documents the rules.
var RuleDocs = []config.RuleDoc{
	{Room: "producers", Name: "detect-duplicates",
		Doc:    "a retried batch is recognised by its sequence and not appended again",
		Source: "KIP-98, KAFKA-5494"},
	{Room: "producers", Name: "remember-five",
		Doc:    "five batches of a producer are remembered, as many as clients have in flight: the oldest of them may be retried",
		Source: "KAFKA-5494, P01"},
	{Room: "producers", Name: "check-order",
		Doc:    "a batch that does not follow the last one of its producer is refused, since what belongs between may still come",
		Source: "KIP-98, P02, P03"},
	{Room: "producers", Name: "answer-original-offset",
		Doc:    "a duplicate is answered with the offset of the original, and acked when that one is",
		Source: "KAFKA-5494, P01"},
	{Room: "producers", Name: "fence-epochs",
		Doc:    "a batch of an epoch that is over is refused: its producer has gone on without it",
		Source: "KIP-98, P04"},
	{Room: "producers", Name: "epoch-begins-at-zero",
		Doc:    "the first batch of an epoch has sequence 0: another was overtaken, or belongs to the epoch before",
		Source: "KIP-360, KAFKA-12152, P04"},
	{Room: "producers", Name: "learn-from-leader",
		Doc:    "a follower learns the sequences of what it replicates: it may lead next",
		Source: "KIP-98, P01"},
	{Room: "producers", Name: "truncate-with-log",
		Doc:    "what is cut from the log is forgotten: a retry of it is new",
		Source: "KIP-98, P08"},
	{Room: "producers", Name: "rebuild-after-cut",
		Doc:    "after a cut the state is built anew from snapshot and log: what was cut may have pushed out older batches, or ended an epoch",
		Source: "KAFKA-5494, KIP-98"},
	{Room: "producers", Name: "snapshot-keeps-five",
		Doc:    "a snapshot holds all remembered batches, so that a retry is recognised after a restart, too; Kafka's holds the last alone",
		Source: "KAFKA-5494, P01"},
	{Room: "producers", Name: "snapshot-below-end",
		Doc:    "a snapshot that knows batches from its own offset on is not believed: it may know what is not in the log",
		Source: "KAFKA-6683, P08"},
}
