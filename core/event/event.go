package event

// Kind is what happened.
type Kind uint8

// Kinds. "Law" is what holds between the event's line and the rest of the world; judges rely on it.
const (
	// Start: a broker process begins. First event of a process. Text: version.
	Start Kind = iota + 1
	// Stop: a clean stop is complete. Law: after everything was flushed and the clean marker was written. Last event.
	Stop
	// Leader: the node leads the partition in Epoch. Next: its log end offset then. Law: before its first append in
	// that epoch.
	Leader
	// Append: the batch Base..Next-1 is in the log (page cache), written under Epoch. ProducerID, ProducerEpoch,
	// BaseSeq, LastSeq: -1 without a producer. Law: after the write returned, before any answer or fetch that shows
	// it, and in the order of offsets for one partition of one process.
	Append
	// Flush: everything below Next is durable. Law: after fsync returned, before any answer that depends on it.
	Flush
	// HW: the high watermark is Offset. Law: before an answer or fetch that depends on it. Within one epoch of one
	// process it never decreases.
	HW
	// Truncate: the log now ends at Next. Law: after the bytes are cut, before a later Append to that partition.
	Truncate
	// Recover: the partition was opened and its log ends at Next. Text says what was cut and why, or "clean". Law:
	// before Leader and Append of that partition in this process.
	Recover
	// Metadata: a metadata record was applied. Text is its printed form. Law: after it is durable (committed).
	Metadata
	// RulesOff: Text lists the rules that are switched off. Law: directly after Start; Text is empty when none are.
	RulesOff
	// Assert: an assertion that a switched-off rule turned into an event failed. Text has its operands.
	Assert
)

// Event is one event. Fields that its kind does not carry are ignored by AppendTo and zero after Parse.
type Event struct {
	Time          int64  // ns; 0 until the world stamps it
	Proc          string // process; "" until merged
	Kind          Kind
	Node          int32 // node.id
	Topic         string
	Partition     int32
	Epoch         int32 // leader epoch
	Base          int64 // first offset
	Next          int64 // one past the last offset
	Offset        int64
	ProducerID    int64
	ProducerEpoch int16
	BaseSeq       int32
	LastSeq       int32
	Text          string
}
