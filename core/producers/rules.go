package producers

import "trialog/core/config"

// Rules are the safety mechanisms of this room; true is the safe behaviour.
type Rules struct {
	// DetectDuplicates is producers.detect-duplicates.
	DetectDuplicates bool
}

// AllRules has every mechanism on.
func AllRules() Rules { return Rules{DetectDuplicates: true} }

// Off switches the rule of that name off (without the room's name); false if there is none.
func (r *Rules) Off(name string) bool {
	switch name {
	case "detect-duplicates":
		r.DetectDuplicates = false
	default:
		return false
	}
	return true
}

// RuleDocs documents the rules.
var RuleDocs = []config.RuleDoc{{
	Room:   "producers",
	Name:   "detect-duplicates",
	Doc:    "a retried batch is recognised by its sequence and not appended again",
	Source: "KIP-98, KAFKA-5494",
}}
