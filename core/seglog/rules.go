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
	// RecoverRemovesLaterSegments is seglog.recover-removes-later-segments.
	RecoverRemovesLaterSegments bool
	// RecoverProducerState is seglog.recover-producer-state.
	RecoverProducerState bool
	// IndexSanityCheck is seglog.index-sanity-check.
	IndexSanityCheck bool
	// CheckpointFsyncBeforeRename is seglog.checkpoint-fsync-before-rename.
	CheckpointFsyncBeforeRename bool
	// FsyncFailureIsFinal is seglog.fsync-failure-is-final.
	FsyncFailureIsFinal bool
	// TwoStepDeletion is seglog.two-step-deletion.
	TwoStepDeletion bool
	// RetainBelowHW is seglog.retain-below-hw.
	RetainBelowHW bool
	// CompactBelowHW is seglog.compact-below-hw.
	CompactBelowHW bool
	// CompactKeepsLogEnd is seglog.compact-keeps-log-end.
	CompactKeepsLogEnd bool
	// CompactDeleteHorizon is seglog.compact-delete-horizon.
	CompactDeleteHorizon bool
	// SwapBeforeDelete is seglog.swap-before-delete.
	SwapBeforeDelete bool
}

// AllRules has every mechanism on.
func AllRules() Rules {
	var r Rules
	config.SwitchOn(RuleDocs, r.field)
	return r
}

// durability is what the replacement of a file waits for.
func (r Rules) durability() layout.Durability {
	return layout.Durability{FsyncFile: r.CheckpointFsyncBeforeRename, FsyncDirectory: r.FsyncDirectory}
}

// Off switches the rule of that name off (without the room's name); false if there is none.
func (r *Rules) Off(name string) bool { return config.SwitchOff(name, r.field) }

// field is nil for a name that is no rule.
func (r *Rules) field(name string) *bool {
	switch name {
	case "recover-checks-crc":
		return &r.RecoverChecksCRC
	case "recover-cuts-torn-tail":
		return &r.RecoverCutsTornTail
	case "marker-removed-at-start":
		return &r.MarkerRemovedAtStart
	case "fsync-directory":
		return &r.FsyncDirectory
	case "recover-removes-later-segments":
		return &r.RecoverRemovesLaterSegments
	case "recover-producer-state":
		return &r.RecoverProducerState
	case "index-sanity-check":
		return &r.IndexSanityCheck
	case "checkpoint-fsync-before-rename":
		return &r.CheckpointFsyncBeforeRename
	case "fsync-failure-is-final":
		return &r.FsyncFailureIsFinal
	case "two-step-deletion":
		return &r.TwoStepDeletion
	case "retain-below-hw":
		return &r.RetainBelowHW
	case "compact-below-hw":
		return &r.CompactBelowHW
	case "compact-keeps-log-end":
		return &r.CompactKeepsLogEnd
	case "compact-delete-horizon":
		return &r.CompactDeleteHorizon
	case "swap-before-delete":
		return &r.SwapBeforeDelete
	}
	return nil
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
}, {
	Room: "seglog", Name: "recover-removes-later-segments",
	Doc:    "recovery removes the segments behind the first bad batch, so that no log has a hole that looks like one that compaction left",
	Source: "L16",
}, {
	Room: "seglog", Name: "recover-producer-state",
	Doc:    "recovery finds the producer state again, from the newest good snapshot and the batches behind it, so that a retry is recognised after a crash",
	Source: "KAFKA-9892, L03",
}, {
	Room: "seglog", Name: "index-sanity-check",
	Doc:    "an index is held against itself and against the batches that it names, and made anew when they do not agree",
	Source: "KAFKA-10207, KAFKA-4734",
}, {
	Room: "seglog", Name: "checkpoint-fsync-before-rename",
	Doc:    "a checkpoint is fsynced before it gets the name of the one that it replaces",
	Source: "KAFKA-16541, L03",
}, {
	Room: "seglog", Name: "fsync-failure-is-final",
	Doc:    "a log whose fsync failed takes nothing more and is never fsynced again, since the kernel may have dropped the pages; the next process writes them anew",
	Source: "KAFKA-10778",
}, {
	Room: "seglog", Name: "two-step-deletion",
	Doc:    "a deleted segment is renamed first, durably and before the next one, and its files are removed after file.delete.delay.ms",
	Source: "KAFKA-6324, L21",
}, {
	Room: "seglog", Name: "retain-below-hw",
	Doc:    "retention deletes nothing that reaches above the high watermark",
	Source: "KAFKA-5634",
}, {
	Room: "seglog", Name: "compact-below-hw",
	Doc:    "compaction ends at the segment that holds the smallest of HW, last stable offset and active base, and replaces durable segments only, so that no committed value goes for one that may be lost",
	Source: "KAFKA-13194, L09",
}, {
	Room: "seglog", Name: "compact-keeps-log-end",
	Doc:    "what takes the place of segments keeps their last batch, without records if need be, so that reading leads to the log end and no offset is given twice",
	Source: "KAFKA-7385, L13",
}, {
	Room: "seglog", Name: "compact-delete-horizon",
	Doc:    "a tombstone stays for delete.retention.ms after the first compaction that saw it as the newest of its key",
	Source: "KIP-534, KAFKA-8522, L12",
}, {
	Room: "seglog", Name: "swap-before-delete",
	Doc:    "compacted segments are complete and durable under the suffix .swap before those that they replace are deleted",
	Source: "KAFKA-12520, L08",
}}
