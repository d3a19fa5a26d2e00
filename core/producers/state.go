package producers

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"trialog/core/kafka"
	"trialog/core/record"
)

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
	producers []Producer   // P1
	end       kafka.Offset // one past the last batch that Update took in
}

// New is an empty state under the given rules.
func New(rules Rules) *State { return &State{rules: rules} }

// Check decides on a client's batch and changes nothing. Batches without a producer id are Append. Followers and
// recovery must not call it: they take what the leader or the log has (KAFKA-6003).
//
//	negative sequence or epoch            INVALID_RECORD
//	no state for the id                   Append, whatever the sequence (KIP-360)
//	epoch below the known one             INVALID_PRODUCER_EPOCH
//	epoch above the known one             Append with sequence 0, else OUT_OF_ORDER_SEQUENCE_NUMBER
//	same epoch, equal to a kept batch     Duplicate
//	same epoch, follows the last          Append; 0 follows MaxSequence, and is first when no batch is kept
//	same epoch, anything else             OUT_OF_ORDER_SEQUENCE_NUMBER
//
// With rule detect-duplicates off, a batch of the same epoch that equals a kept one, or that begins at or below the
// last sequence, is Append. With answer-original-offset off, a duplicate has the offsets of the last batch. With
// check-order, fence-epochs and epoch-begins-at-zero off, what their line of the table refuses is Append.
func (s *State) Check(h *record.Header) Outcome {
	if !h.HasProducerID() {
		return Outcome{Verdict: Append}
	}
	if h.BaseSequence < 0 || h.ProducerEpoch < 0 {
		return Outcome{Verdict: Refuse, Code: kafka.ErrInvalidRecord}
	}
	i, found := s.find(h.ProducerID)
	if !found {
		return Outcome{Verdict: Append}
	}
	p := &s.producers[i]
	switch {
	case h.ProducerEpoch < p.Epoch && s.rules.FenceEpochs:
		return Outcome{Verdict: Refuse, Code: kafka.ErrInvalidProducerEpoch}
	case h.ProducerEpoch != p.Epoch:
		return inOrder(s.rules.EpochBeginsAtZero && h.ProducerEpoch > p.Epoch, h.BaseSequence, 0)
	case !s.rules.DetectDuplicates:
		if p.behind(h.BaseSequence) {
			return Outcome{Verdict: Append}
		}
	default:
		if b, ok := p.find(h.BaseSequence, h.LastSequence()); ok {
			if !s.rules.AnswerOriginalOffset {
				b, _ = p.Last()
			}
			return Outcome{Verdict: Duplicate, BaseOffset: b.FirstOffset(), LastOffset: b.LastOffset, Timestamp: b.Timestamp}
		}
	}
	return inOrder(s.rules.CheckOrder, h.BaseSequence, p.NextSequence())
}

func inOrder(rule bool, have, want kafka.Sequence) Outcome {
	if rule && have != want {
		return Outcome{Verdict: Refuse, Code: kafka.ErrOutOfOrderSequenceNumber, Expected: want}
	}
	return Outcome{Verdict: Append}
}

// Update takes in a batch that is in the log. It never refuses: the log is right. Control batches end the open
// transaction of their producer and enter no window. Batches without a producer id change nothing. A batch that does
// not lie behind the producer's remembered ones in the log panics: the caller lost its order.
//
// With rule detect-duplicates off, a batch that begins at or below the last sequence leaves the window as it is, so
// that what follows the original stays in sequence.
func (s *State) Update(h *record.Header) {
	if !h.HasProducerID() {
		return
	}
	s.end = h.NextOffset()
	p := s.entry(h.ProducerID)
	if p.Epoch == h.ProducerEpoch && !s.rules.DetectDuplicates && p.behind(h.BaseSequence) && !h.IsControl() {
		p.LastTimestamp = h.MaxTimestamp
		return
	}
	p.setEpoch(h.ProducerEpoch)
	p.LastTimestamp = h.MaxTimestamp
	if h.IsControl() {
		p.TxnFirstOffset = kafka.NoOffset
		return
	}
	s.push(p, batchOf(h))
	if h.IsTransactional() && p.TxnFirstOffset < 0 {
		p.TxnFirstOffset = h.BaseOffset
	}
}

// Replicated takes in a batch that a follower has appended as its leader has it: as Update, but for rule
// learn-from-leader.
func (s *State) Replicated(h *record.Header) {
	if s.rules.LearnFromLeader {
		s.Update(h)
	}
}

// push remembers a batch, unless the rules say less than five.
func (s *State) push(p *Producer, b Batch) {
	if last, ok := p.Last(); ok && b.FirstOffset() <= last.LastOffset && s.rules.TruncateWithLog {
		panic(fmt.Sprintf("producers: P2 broken: batch at %d..%d pushed to %v", b.FirstOffset(), b.LastOffset, p))
	}
	if !s.rules.RememberFive {
		p.count = 0
	}
	p.push(b)
}

// Expire forgets producers whose last batch is expirationMs old or older (producer.id.expiration.ms, KIP-854) and that
// have no open transaction, and returns how many. The age is counted from the batch's own max timestamp, as Kafka does,
// so that it is the same after a restart and on every replica.
func (s *State) Expire(nowMs, expirationMs int64) int {
	before := len(s.producers)
	s.producers = slices.DeleteFunc(s.producers, func(p Producer) bool {
		return p.TxnFirstOffset < 0 && nowMs-p.LastTimestamp >= expirationMs
	})
	return before - len(s.producers)
}

// TruncateTo forgets the batches with a last offset at end or later, transactions that began there, and producers of
// which nothing is left. It reports whether the state is still what the log says: false when it had taken in a batch
// from end or later, since that may have pushed older batches out of a window, ended an epoch or a transaction. The
// caller must then rebuild: ParseSnapshot of one taken at or below end, and Update with each batch from there. With rule
// truncate-with-log off nothing is forgotten, and with rebuild-after-cut off it is never false.
func (s *State) TruncateTo(end kafka.Offset) (intact bool) {
	if s.end <= end || !s.rules.TruncateWithLog {
		return true
	}
	s.end = end
	kept := s.producers[:0]
	for i := range s.producers {
		p := s.producers[i]
		if p.TxnFirstOffset >= end {
			p.TxnFirstOffset = kafka.NoOffset
		}
		if p.cut(end) {
			last, ok := p.Last()
			if !ok {
				continue
			}
			p.LastTimestamp = last.Timestamp
		}
		kept = append(kept, p)
	}
	s.producers = kept
	return !s.rules.RebuildAfterCut
}

// Clear forgets everything.
func (s *State) Clear() { s.producers, s.end = s.producers[:0], 0 }

// FirstUndecided is the smallest first offset of an open transaction: the last stable offset is the smaller of it and
// the high watermark. ok is false when no transaction is open.
func (s *State) FirstUndecided() (offset kafka.Offset, ok bool) {
	for i := range s.producers {
		if first := s.producers[i].TxnFirstOffset; first >= 0 && (!ok || first < offset) {
			offset, ok = first, true
		}
	}
	return offset, ok
}

// Producer finds one entry: a copy.
func (s *State) Producer(id kafka.ProducerID) (p Producer, ok bool) {
	i, found := s.find(id)
	if !found {
		return Producer{}, false
	}
	return s.producers[i], true
}

// Producers is a view of all entries by id, valid until the next change.
func (s *State) Producers() []Producer { return s.producers }

// Len is the number of producers.
func (s *State) Len() int { return len(s.producers) }

// Clone is an independent copy.
func (s *State) Clone() *State {
	return &State{rules: s.rules, producers: slices.Clone(s.producers), end: s.end}
}

// AppendTo appends a canonical binary form: equal states, equal bytes. Rules are not part of it.
func (s *State) AppendTo(b []byte) []byte {
	b = binary.AppendVarint(b, s.end)
	b = binary.AppendUvarint(b, uint64(len(s.producers)))
	for i := range s.producers {
		b = s.producers[i].appendTo(b)
	}
	return b
}

// String is one line a producer, by id; "-" when there is none.
func (s *State) String() string {
	if len(s.producers) == 0 {
		return "-"
	}
	lines := make([]string, len(s.producers))
	for i := range s.producers {
		lines[i] = s.producers[i].String()
	}
	return strings.Join(lines, "\n")
}

// find is where the id is, or belongs (P1).
func (s *State) find(id kafka.ProducerID) (int, bool) {
	i := sort.Search(len(s.producers), func(i int) bool { return s.producers[i].ID >= id })
	return i, i < len(s.producers) && s.producers[i].ID == id
}

// entry is the entry of the id; a new one when there is none.
func (s *State) entry(id kafka.ProducerID) *Producer {
	i, found := s.find(id)
	if !found {
		s.producers = slices.Insert(s.producers, i, Producer{
			ID: id, Epoch: kafka.NoProducerEpoch, CoordinatorEpoch: -1, TxnFirstOffset: kafka.NoOffset,
		})
	}
	return &s.producers[i]
}
