package seglog

import (
	"trialog/core/config"
	"trialog/core/seglog/layout"
)

// Rules are the safety mechanisms of this room; true is the safe behaviour.
type Rules struct {
	// RecoverChecksCRC is seglog.recover-checks-crc.
	RecoverChecksCRC bool
	// RecoverCutsTornTail is seglog.recover-cuts-torn-tail.
	RecoverCutsTornTail bool
	// MarkerRemovedAtStart is seglog.marker-removed-at-start.
	MarkerRemovedAtStart bool
	// FsyncDirectory is seglog.fsync-directory.
	FsyncDirectory bool
}

// AllRules has every mechanism on.
func AllRules() Rules {
	return Rules{RecoverChecksCRC: true, RecoverCutsTornTail: true, MarkerRemovedAtStart: true, FsyncDirectory: true}
}

// durability is what the replacement of a file waits for.
func (r Rules) durability() layout.Durability {
	return layout.Durability{FsyncFile: true, FsyncDirectory: r.FsyncDirectory}
}

// Off switches the rule of that name off (without the room's name); false if there is none.
func (r *Rules) Off(name string) bool {
	switch name {
	case "recover-checks-crc":
		r.RecoverChecksCRC = false
	case "recover-cuts-torn-tail":
		r.RecoverCutsTornTail = false
	case "marker-removed-at-start":
		r.MarkerRemovedAtStart = false
	case "fsync-directory":
		r.FsyncDirectory = false
	default:
		return false
	}
	return true
}

// RuleDocs documents the rules.
var RuleDocs = []config.RuleDoc{{
	Room: "seglog", Name: "recover-checks-crc",
	Doc:    "recovery ends the log before the first batch whose CRC does not match its bytes",
	Source: "KAFKA-14104",
}, {
	Room: "seglog", Name: "recover-cuts-torn-tail",
	Doc:    "recovery cuts what follows the last good batch out of the file, so that the next append does not come after garbage",
	Source: "KAFKA-10778, L16",
}, {
	Room: "seglog", Name: "marker-removed-at-start",
	Doc:    "the clean-shutdown marker is removed, durably, before any log is opened, so that a crash later is not taken for a clean stop",
	Source: "KAFKA-10471",
}, {
	Room: "seglog", Name: "fsync-directory",
	Doc:    "the directory is fsynced after a segment or checkpoint was created or renamed in it, before its contents count as flushed",
	Source: "KAFKA-3968",
}}
