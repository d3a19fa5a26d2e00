package linear

import "trialog/checker/history"

// Result of checking.
type Result string

const (
	OK      Result = "valid"
	Illegal Result = "invalid"
	Unknown Result = "unknown" // the search was given up at its bound
)

// Options bound the search and widen the model.
type Options struct {
	MemoryMax  int64 // bytes that the search may remember, 0: MemoryMax
	Holes      bool  // offsets may hold no record
	StaleReads bool  // end offsets and empty reads are lower bounds
}

// Verdict on one partition.
type Verdict struct {
	Topic     string
	Partition int32
	Result    Result
	Text      string               // why: one sentence, if not OK
	Witness   []*history.Operation // the operations it rests on, if Illegal
}

// Check judges every partition of a history, in order of topic and partition.
func Check(ops []history.Operation, o Options) []Verdict { panic("linear: Check") }
