package retry

import "trialog/core/config"

// Rules are the safety mechanisms of this room; true is the safe behaviour. A client has all of them on: they are switched
// off in tests and in closed worlds only.
type Rules struct {
	FirstAlone              bool // client.first-alone
	FiveInFlight            bool // client.five-in-flight
	RetryInOrder            bool // client.retry-in-order
	OutOfOrderBehindAnother bool // client.out-of-order-behind-another
	DoubtLasts              bool // client.doubt-lasts
	GiveUpInDoubt           bool // client.give-up-in-doubt
	GiveUpAtGap             bool // client.give-up-at-gap
	OneIdentity             bool // client.one-identity
	VoidComesHome           bool // client.void-comes-home
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
	case "first-alone":
		return &r.FirstAlone
	case "five-in-flight":
		return &r.FiveInFlight
	case "retry-in-order":
		return &r.RetryInOrder
	case "out-of-order-behind-another":
		return &r.OutOfOrderBehindAnother
	case "doubt-lasts":
		return &r.DoubtLasts
	case "give-up-in-doubt":
		return &r.GiveUpInDoubt
	case "give-up-at-gap":
		return &r.GiveUpAtGap
	case "one-identity":
		return &r.OneIdentity
	case "void-comes-home":
		return &r.VoidComesHome
	}
	return nil
}

// RuleDocs documents the rules.
var RuleDocs = []config.RuleDoc{
	{Room: "client", Name: "first-alone",
		Doc:    "under a new identity one batch is in flight until one was appended: a leader that does not know the producer would take the second for the first",
		Source: "KIP-360, KAFKA-15591; found by trialog explore producer"},
	{Room: "client", Name: "five-in-flight",
		Doc:    "an idempotent producer has five batches of a partition in flight at most: a broker remembers no more of them",
		Source: "KAFKA-5494, P01"},
	{Room: "client", Name: "retry-in-order",
		Doc:    "after a failure all that is in flight comes home before anything is sent again, the oldest first",
		Source: "KIP-98, P03"},
	{Room: "client", Name: "out-of-order-behind-another",
		Doc:    "OUT_OF_ORDER_SEQUENCE_NUMBER is natural for a batch behind one that failed: it is sent again after that one",
		Source: "KAFKA-5494, P13"},
	{Room: "client", Name: "doubt-lasts",
		Doc:    "an attempt that may have been appended stays in the outcome, whatever a later one is answered",
		Source: "KAFKA-13574, P06"},
	{Room: "client", Name: "give-up-in-doubt",
		Doc:    "the number of a batch that may have been appended is never given to another: its identity is given up",
		Source: "twmb/franz-go #1217, P06"},
	{Room: "client", Name: "give-up-at-gap",
		Doc:    "a batch that ends without success in front of others leaves a gap in the numbers: its identity is given up",
		Source: "IBM/sarama #1430, P02"},
	{Room: "client", Name: "one-identity",
		Doc:    "a batch that may have left under an identity is not sent again under another, which no broker could recognise",
		Source: "KIP-360, P13"},
	{Room: "client", Name: "void-comes-home",
		Doc:    "nothing is sent before all that is in flight under an identity that was given up is home",
		Source: "KAFKA-12152, P04"},
}
