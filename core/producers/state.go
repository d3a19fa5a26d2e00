package producers

import (
	"trialog/core/kafka"
	"trialog/core/record"
)

// Window is how many batches of a producer are remembered: Kafka's clients keep at most five requests in flight.
const Window = 5

// Batch is what is remembered of an appended batch.
type Batch struct {
	FirstSeq, LastSeq kafka.Sequence // LastSeq < FirstSeq when the sequence wrapped inside the batch
	LastOffset        kafka.Offset
	OffsetDelta       int32 // last offset - first offset
	Timestamp         int64 // the batch's max timestamp, ms
}

// FirstOffset is the offset of the batch's first record.
func (b Batch) FirstOffset() kafka.Offset { return b.LastOffset - int64(b.OffsetDelta) }

// Producer is what is known of one producer id.
type Producer struct {
	ID               kafka.ProducerID
	Epoch            kafka.ProducerEpoch
	CoordinatorEpoch int32        // of the last end-of-transaction marker, or -1
	TxnFirstOffset   kafka.Offset // of the open transaction, or -1
	LastTimestamp    int64        // ms; what expiry looks at

	count   int8
	batches [Window]Batch // the first count, oldest first
}

// Batches is a view of the remembered batches, oldest first, valid until the next change.
func (p *Producer) Batches() []Batch { return p.batches[:p.count] }

// Verdict is what to do with a client's batch.
type Verdict uint8

// Verdicts.
const (
	// Append: the batch is new. Append it, then call Update.
	Append Verdict = iota
	// Duplicate: the batch is in the log. Append nothing, answer NONE with Outcome.BaseOffset.
	Duplicate
	// Refuse: append nothing, answer Outcome.Code.
	Refuse
)

// String is a word.
func (v Verdict) String() string { return [...]string{"append", "duplicate", "refuse"}[v] }

// Outcome is the answer of Check.
type Outcome struct {
	Verdict    Verdict
	BaseOffset kafka.Offset    // Duplicate: the first offset of the original
	LastOffset kafka.Offset    // Duplicate: the last offset of the original; it is acked when this one would be
	Timestamp  int64           // Duplicate: the max timestamp of the original, ms
	Code       kafka.ErrorCode // Refuse: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER or INVALID_RECORD
	Expected   kafka.Sequence  // Refuse with OUT_OF_ORDER: the sequence that would have been accepted
}

// State is the producer state of one partition. Make it with New.
type State struct {
	rules     Rules
	producers []Producer // P1
}

// New is an empty state under the given rules.
func New(rules Rules) *State { return &State{rules: rules} }

// Check decides on a client's batch and changes nothing. Batches without a producer id are Append. Followers and
// recovery must not call it: they take what the leader or the log has (KAFKA-6003).
//
//	no state for the id                   any sequence
//	epoch below the known one             INVALID_PRODUCER_EPOCH
//	epoch above the known one             sequence 0, else OUT_OF_ORDER_SEQUENCE_NUMBER (KIP-360)
//	same epoch, equal to a kept batch     Duplicate
//	same epoch, follows the last          Append; 0 follows MaxSequence
//	same epoch, anything else             OUT_OF_ORDER_SEQUENCE_NUMBER
//
// With rule detect-duplicates off, a batch that equals a kept one, or that lies at or below the last sequence, is
// Append.
func (s *State) Check(h *record.Header, now kafka.Now) Outcome { panic("producers: Check") }

// Update takes in a batch that is in the log. It never refuses: the log is right. Control batches end the open
// transaction of their producer and enter no window. Batches without a producer id change nothing.
func (s *State) Update(h *record.Header) { panic("producers: Update") }

// Expire forgets producers that appended nothing for expirationMs (producer.id.expiration.ms, KIP-854) and have no
// open transaction, and returns how many.
func (s *State) Expire(nowMs, expirationMs int64) int { panic("producers: Expire") }

// TruncateTo forgets all batches whose last offset is >= end. What remains may lack older batches that the window
// dropped, so after a truncation rebuild: Load a snapshot at or below end and Update from there.
func (s *State) TruncateTo(end kafka.Offset) { panic("producers: TruncateTo") }

// Clear forgets everything.
func (s *State) Clear() { s.producers = s.producers[:0] }

// FirstUndecided is the smallest first offset of an open transaction: the last stable offset is the smaller of it and
// the high watermark. ok is false when no transaction is open.
func (s *State) FirstUndecided() (offset kafka.Offset, ok bool) { panic("producers: FirstUndecided") }

// Producer finds one entry: a copy.
func (s *State) Producer(id kafka.ProducerID) (p Producer, ok bool) { panic("producers: Producer") }

// Producers is a view of all entries by id, valid until the next change.
func (s *State) Producers() []Producer { return s.producers }

// Len is the number of producers.
func (s *State) Len() int { return len(s.producers) }

// Clone is an independent copy.
func (s *State) Clone() *State { panic("producers: Clone") }

// AppendTo appends a canonical binary form: equal states, equal bytes.
func (s *State) AppendTo(b []byte) []byte { panic("producers: AppendTo") }

// String is one line a producer.
func (s *State) String() string { panic("producers: String") }
