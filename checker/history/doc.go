// Package history is what clients saw: one JSON object a line, an invocation and a completion for every operation.
//
// It owns the schema (Op, SCHEMA.md), the Writer that a client process uses, the strict Reader that judges use, the
// merge of several processes' lines, the pairing of invocations with completions, and the table that says which error
// leaves an outcome unknown. It never judges, and knows nothing of the broker: names of errors are strings.
//
// The workload (linked into the simulator's guests) calls Writer and Outcome; the court calls Parse, Merge and Check;
// linear, oracle and `trialog check` call Read and Pair.
//
// A line in the very form of Append, as nearly all of a run are, is read by a small reader of its own (canonical.go); all
// others are left to encoding/json. Tests hold the two to one meaning.
//
// Invariants of a history that Check accepts: times never go back within one Proc; an id is invoked once and completed
// at most once, after its invocation; a produced value occurs in one invocation only.
package history
