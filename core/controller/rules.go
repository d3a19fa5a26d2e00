package controller

import "trialog/core/config"

// Rules are the safety mechanisms of this room; true is the safe behaviour.
type Rules struct {
	// ProducerIDsDurable is controller.producer-ids-durable.
	ProducerIDsDurable bool
}

// AllRules has every mechanism on.
func AllRules() Rules { return Rules{ProducerIDsDurable: true} }

// Off switches the rule of that name off (without the room's name); false if there is none.
func (r *Rules) Off(name string) bool {
	if name != "producer-ids-durable" {
		return false
	}
	r.ProducerIDsDurable = false
	return true
}

// RuleDocs documents the rules.
var RuleDocs = []config.RuleDoc{{
	Room: "controller", Name: "producer-ids-durable",
	Doc:    "the record of a block of producer ids is fsynced before an id of it is handed out, so that none is handed out twice",
	Source: "KIP-730",
}}
