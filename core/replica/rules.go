package replica

import "trialog/core/config"

// Rules are the safety mechanisms of this room; true is the safe behaviour.
type Rules struct {
	// VisibleAfterFlush is replica.visible-after-flush.
	VisibleAfterFlush bool
}

// AllRules has every mechanism on.
func AllRules() Rules { return Rules{VisibleAfterFlush: true} }

// Off switches the rule of that name off (without the room's name); false if there is none.
func (r *Rules) Off(name string) bool {
	if name != "visible-after-flush" {
		return false
	}
	r.VisibleAfterFlush = false
	return true
}

// RuleDocs documents the rules.
var RuleDocs = []config.RuleDoc{{
	Room: "replica", Name: "visible-after-flush",
	Doc:    "under a flush policy a record is shown to consumers only after its fsync, like its ack",
	Source: "architecture section 6; a record that was read must not be lost by a power cut",
}}
