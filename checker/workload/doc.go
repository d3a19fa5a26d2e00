// Package workload is what `trialog client` runs in every world: one process of a workload, which does seeded
// operations against a cluster and writes what it saw as a history.
//
// It owns the roles (producer, reader, admin), what they draw from their generator, the form of a value, and the
// writing of invocations and completions. It never judges, knows nothing of faults, and speaks to other processes of the
// workload by the clock only: when to stop and when the final read-back begins are durations.
//
// cmd/trialog calls [Run] with a [Config] made from flags; court starts the process and collects the history.
//
// # Roles
//
//	producer  one batch of 1 to BatchMax unique values at a time to a drawn partition, from the start until Work is over
//	reader    fetches where it stands in a drawn partition; now and then asks for the latest or earliest offset, or
//	          begins again at the earliest; from FinalAt on it reads every partition from its start to the end
//	          that it is told then (Final operations)
//	admin     creates the topic if need be, then asks for metadata
//
// An idempotent producer begins with a producer id, and takes a fresh one when its standing with the broker is in
// doubt; each attempt to get one is an operation too.
//
// # Determinism
//
// All draws come from one generator, seeded by a flag. Each turn draws the same number of values, whatever the answers:
// a rule that is off in the broker changes nothing before the first answer that differs. Nothing is taken from the
// environment but the descriptor of the history.
//
// # Values
//
// The first record that c1 sends is named "c1-1". The record's value is that name and a bar, repeated up to the drawn
// size: "c1-1|c1-1|c1-": so the payload can be checked beyond its CRC, and the history stays short. With --keys the name
// begins with the record's key, "k17:c1-1", which is how a judge of a compacted topic knows it.
package workload
