package history

import "math"

// Type says which end of an operation a line describes.
type Type string

const (
	Invoke Type = "invoke" // the client is about to send
	OK     Type = "ok"     // it happened
	Fail   Type = "fail"   // it definitely did not happen
	Info   Type = "info"   // unknown: it may have happened, or may yet happen
)

// F is what the operation does.
type F string

const (
	Produce        F = "produce"          // append Values as one batch to one partition
	Fetch          F = "fetch"            // read one partition from Offset
	ListOffsets    F = "list-offsets"     // ask for the latest or the earliest offset
	InitProducerID F = "init-producer-id" // obtain a producer id and epoch
	CreateTopic    F = "create-topic"     // create Topic
	DeleteTopic    F = "delete-topic"     // delete Topic
	Metadata       F = "metadata"         // ask who leads what
)

// The two questions of a list-offsets invocation, in its Offset field; the values are Kafka's timestamps.
const (
	Latest   int64 = -1
	Earliest int64 = -2
)

// NoOffset is the Offset of a produce that was acknowledged without one, and the PID of an operation without one.
const NoOffset int64 = -1

// Forever is the return time of an operation whose effect may still happen: outcomes info and open.
const Forever int64 = math.MaxInt64

// Op is one line of a history: the invocation or the completion of one client operation. SCHEMA.md has the JSON form.
//
// A completion repeats Proc, Process, ID, F, Topic and Partition of its invocation; it may leave out what else the
// invocation said (Values, Acks, Idempotent, ...), because Pair keeps both ends. Retried is usually known only at the end.
type Op struct {
	Index   int64  // position in the history, from 0. Writer and Merge set it.
	Time    int64  // ns, one clock for the whole history. Invoke: before the first byte is sent; completion: after the answer is read.
	Proc    string // the operating-system process: "c1"
	Process int    // the logical client inside Proc. Its operations may overlap (pipelining); the order of its invoke lines is its send order.
	ID      int64  // pairs invocation and completion; unique within (Proc, Process)
	Type    Type
	F       F

	Topic     string
	Partition int32

	// Produce.
	Values     []string // invoke: the batch, in order; every value is unique in the whole history
	Acks       int      // -1 (all), 1 or 0. A produce with acks=0 completes as info: nobody counts it as acknowledged.
	Idempotent bool     // sent with PID, PEpoch, Seq
	Retried    bool     // the client sent the request more than once
	PID        int64    // producer id. Meaningful if Idempotent, or as the answer of init-producer-id.
	PEpoch     int16    // producer epoch, as PID
	Seq        int32    // sequence number of the first value, if Idempotent

	// Produce ok: base offset of the batch, -1 if the broker did not say. Fetch: the offset asked for, in both lines.
	// List-offsets: invoke Latest or Earliest; ok the answer.
	Offset int64

	// Fetch ok. A fetch that failed its checks half way lists the records before the damage and sets Corrupt.
	Records  []Rec
	HW       int64 // high watermark in the answer, exclusive; -1 unknown
	LogStart int64 // log start offset in the answer; -1 unknown

	Error   string // Kafka's name of the error (OFFSET_OUT_OF_RANGE), or a client's own (CONNECTION_LOST, see Outcome)
	Corrupt string // what the client found wrong with the bytes it was served: bad CRC, unparsable batch; "" if nothing
	Final   bool   // part of the final read-back, after the last fault was healed
}

// Rec is one record as a reader saw it.
type Rec struct {
	Offset int64
	Value  string
}
