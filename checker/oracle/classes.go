package oracle

// Anomaly classes. The names are stable: experiments and reports use them.
const (
	CorruptRead     = "corrupt-read"
	Phantom         = "phantom"
	FutureRead      = "future-read"
	UncommittedRead = "uncommitted-read"
	OffsetReused    = "offset-reused"
	LostAcked       = "lost-acked"
	OutOfRange      = "out-of-range-after-ack"
	CompactedAway   = "compacted-away"
	LostRead        = "lost-read"
	StaleRead       = "stale-read"
	EndOffsetBack   = "end-offset-back"
	Inversion       = "realtime-inversion"
	Duplicate       = "duplicate"
	Reordered       = "reordered"
	Gap             = "gap"
	PIDReused       = "producer-id-reused"

	LostFlushed   = "lost-flushed"
	AckNoAppend   = "ack-without-append"
	AckNoFlush    = "ack-before-flush"
	ReadNoFlush   = "read-before-flush"
	TwoLeaders    = "two-leaders"
	AppendMisfits = "append-out-of-place"

	NotLinearizable = "not-linearizable"
)

// ClassDoc documents one anomaly class.
type ClassDoc struct {
	Class     string
	Invariant string // the rule it breaks: failure-mode catalogue, section 0.2
	Doc       string
}

// Classes lists all classes, the gravest first: a verdict is named after the first one it holds.
var Classes = []ClassDoc{
	{CorruptRead, "INV-OFF", "a client was served bytes that fail their checks, or records out of order of their offsets"},
	{Phantom, "INV-OFF", "a value was read that nobody sent to that partition, or whose produce definitely failed"},
	{LostFlushed, "INV-ACK", "(events) a log came back shorter than what it had fsynced"},
	{LostAcked, "INV-ACK", "an acknowledged record is missing from an answer that covers its offset, and never returns"},
	{OutOfRange, "INV-ACK", "OFFSET_OUT_OF_RANGE at or just above the offset of an established record"},
	{OffsetReused, "INV-OFF", "one offset showed two values, over acknowledgements and reads"},
	{CompactedAway, "INV-ACK", "on a compacted topic: a record is gone although nothing later of its key is there"},
	{LostRead, "INV-VIS", "a record that was read is missing later, and was never acknowledged"},
	{StaleRead, "INV-VIS", "an established record is missing from one answer and there in a later one"},
	{UncommittedRead, "INV-VIS", "a record was served at or above the high watermark of the same answer"},
	{FutureRead, "INV-VIS", "a value was read before its produce was invoked"},
	{EndOffsetBack, "INV-VIS", "the end of the log went back, in real time"},
	{PIDReused, "INV-ORD", "one (producer id, epoch) was handed out twice"},
	{Duplicate, "INV-ORD", "one value at two offsets, though its producer is idempotent or did not retry"},
	{Reordered, "INV-ORD", "one producer's records stand in another order than it sent them"},
	{Gap, "INV-ORD", "a hole: an idempotent producer's sequence jumps, half a batch is there, or an answer leaves out an offset"},
	{Inversion, "INV-ORD", "an append that began after another producer's record was established landed below it"},
	{AckNoAppend, "INV-ACK", "(events) an offset was acknowledged and the broker had not appended it"},
	{AckNoFlush, "INV-ACK", "(events) under flush-first: an offset was acknowledged before it was fsynced"},
	{ReadNoFlush, "INV-VIS", "(events) under flush-first: a record was served before it was fsynced"},
	{TwoLeaders, "INV-EPO", "(events) two processes led one partition in one leader epoch"},
	{AppendMisfits, "INV-LOG", "(events) a batch was appended elsewhere than at the end of the log"},
	{NotLinearizable, "INV-VIS", "(linear) no order of the partition's operations explains what clients saw"},
}

var rank = func() map[string]int {
	m := map[string]int{}
	for i, c := range Classes {
		m[c.Class] = i
	}
	return m
}()
