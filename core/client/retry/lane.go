package retry

import (
	"encoding/binary"
	"fmt"
	"slices"

	"trialog/core/kafka"
)

// InFlightMax is how many batches of one idempotent producer a broker remembers for each partition: with more in flight it
// could not recognise a duplicate (KAFKA-5494).
const InFlightMax = 5

// Identity is a producer id with its epoch (KIP-98).
type Identity struct {
	ID    kafka.ProducerID
	Epoch kafka.ProducerEpoch
}

// NoIdentity is that of a producer that is not idempotent.
var NoIdentity = Identity{kafka.NoProducerID, kafka.NoProducerEpoch}

// Config is what does not change.
type Config struct {
	Idempotent  bool
	MaxInFlight int
	Retries     int // attempts after the first; negative: any number
	Rules       Rules
}

// Batch is a batch without outcome. P is what the caller knows it by.
type Batch[P comparable] struct {
	Payload  P
	Records  int
	Identity Identity       // NoIdentity until it is numbered
	Sequence kafka.Sequence // of its first record; -1 until it is numbered
	Attempts int
	Left     int // attempts of which a byte may have left

	doubtful bool // an attempt ended without a definite answer
	inFlight bool
}

// Failure is how an attempt ended without success.
type Failure struct {
	Outcome Outcome         // Failed: this attempt certainly has no effect; else Unknown
	Code    kafka.ErrorCode // NONE: nobody answered
	// Late: there is no time for another attempt, or the producer is closed.
	Late bool
}

// Settled is what a failure comes to.
type Settled[P comparable] struct {
	// Again: the batch waits to be sent again. Otherwise it has ended.
	Again bool
	// Ended is the batch first, then those that are given up with its identity.
	Ended []Ending[P]
	// Retired: Identity is given up. Whoever is numbered next needs a fresh one.
	Retired  bool
	Identity Identity
}

// Ending is a batch with its outcome.
type Ending[P comparable] struct {
	Batch   Batch[P]
	Outcome Outcome
}

// Lane is the batches of one producer to one partition. Make it with New.
type Lane[P comparable] struct {
	cfg      Config
	queue    []Batch[P] // without outcome, oldest first
	inFlight int
	rewind   bool // a batch failed and will be sent again: nothing is sent before all are home
	failures int  // in a row
	identity Identity
	next     kafka.Sequence // of the next new batch under identity
	void     bool           // identity is given up: what was sent under it is settled by its next answer
	proven   bool           // a batch under identity was appended: brokers know it, and refuse what does not follow
}

// New is an empty lane.
func New[P comparable](cfg Config) *Lane[P] {
	if cfg.MaxInFlight < 1 {
		panic(fmt.Sprintf("retry: %d batches in flight", cfg.MaxInFlight))
	}
	if cfg.Idempotent && cfg.Rules.FiveInFlight {
		cfg.MaxInFlight = min(cfg.MaxInFlight, InFlightMax)
	}
	return &Lane[P]{cfg: cfg, identity: NoIdentity}
}

// Add puts a batch at the end of the queue. No two batches in it may have the same payload.
func (l *Lane[P]) Add(payload P, records int) {
	l.queue = append(l.queue, Batch[P]{Payload: payload, Records: records, Identity: NoIdentity, Sequence: kafka.NoSequence})
}

// Len is how many batches have no outcome.
func (l *Lane[P]) Len() int { return len(l.queue) }

// InFlight is how many of them are on their way.
func (l *Lane[P]) InFlight() int { return l.inFlight }

// Batches is a view of those without outcome, oldest first, valid until the next call.
func (l *Lane[P]) Batches() []Batch[P] { return l.queue }

// Failures counts failed attempts since the last success.
func (l *Lane[P]) Failures() int { return l.failures }

// Next is the oldest batch that waits, if it may be sent now. It is called before every attempt.
func (l *Lane[P]) Next() (payload P, ok bool) {
	if l.rewind || l.inFlight >= l.cfg.MaxInFlight || l.inFlight > 0 && l.isFirst() {
		return payload, false
	}
	for i := range l.queue {
		if !l.queue[i].inFlight {
			return l.queue[i].Payload, !l.waitsForVoid()
		}
	}
	return payload, false
}

// isFirst reports that nothing was appended under the identity yet. A leader that has never seen a producer takes its first
// batch whatever the number (KIP-360): with two in flight, that may be the second.
func (l *Lane[P]) isFirst() bool { return l.cfg.Idempotent && !l.proven && l.cfg.Rules.FirstAlone }

// waitsForVoid reports that batches of a given-up identity are in flight: what follows comes after they are home.
func (l *Lane[P]) waitsForVoid() bool {
	if l.void && l.inFlight == 0 {
		l.void, l.proven, l.identity = false, false, NoIdentity
	}
	return l.void && l.cfg.Rules.VoidComesHome
}

// Home reports that something failed and everything is home: the caller pauses, then calls Resume.
func (l *Lane[P]) Home() bool { return l.rewind && l.inFlight == 0 }

// Resume lets the batches be sent again, the oldest first.
func (l *Lane[P]) Resume() { l.rewind = false }

// Begin counts an attempt.
func (l *Lane[P]) Begin(payload P) { l.find(payload).Attempts++ }

// Numbered reports that the batch has a sequence number. It may lose it again while it waits.
func (l *Lane[P]) Numbered(payload P) bool { return l.find(payload).Sequence >= 0 }

// Number gives a batch the next sequence number. id is the producer's identity now; a lane goes over to it when nothing is
// left under the one before.
func (l *Lane[P]) Number(payload P, id Identity) Batch[P] {
	b := l.find(payload)
	if id != l.identity && l.numbered() == 0 {
		l.identity, l.next, l.proven = id, 0, false
	}
	b.Identity, b.Sequence = l.identity, l.next
	l.next = l.endOf(b)
	return *b
}

// numbered counts the batches that have a sequence number and no outcome.
func (l *Lane[P]) numbered() int {
	n := 0
	for i := range l.queue {
		if l.queue[i].Sequence >= 0 {
			n++
		}
	}
	return n
}

// Left takes in that the batch is on its way: Done or Failed will follow.
func (l *Lane[P]) Left(payload P) {
	b := l.find(payload)
	b.Left++
	b.inFlight = true
	l.inFlight++
}

// MayHaveLeft takes in that a byte of an attempt may have left that will be Failed at once.
func (l *Lane[P]) MayHaveLeft(payload P) { l.find(payload).Left++ }

// Unanswered ends a batch that has left and of which nobody will ever say what became of it (acks=0): it is Unknown.
func (l *Lane[P]) Unanswered(payload P) Batch[P] {
	b := l.find(payload)
	b.Left++
	return l.remove(b)
}

// Done ends a batch that was appended.
func (l *Lane[P]) Done(payload P) Batch[P] {
	b := l.find(payload)
	l.comeHome(b)
	l.failures = 0
	l.proven = l.proven || b.Identity == l.identity
	return l.remove(b)
}

func (l *Lane[P]) comeHome(b *Batch[P]) {
	if b.inFlight {
		b.inFlight = false
		l.inFlight--
	}
}

// Failed decides what the end of an attempt means for its batch, and for those behind it.
func (l *Lane[P]) Failed(payload P, f Failure) (s Settled[P]) {
	b := l.find(payload)
	l.comeHome(b)
	if !l.void && l.retries(b, f) {
		b.doubtful = b.doubtful || f.Outcome == Unknown
		l.rewind = l.cfg.Rules.RetryInOrder
		l.failures++
		return Settled[P]{Again: true}
	}
	outcome := f.Outcome
	if b.doubtful && l.cfg.Rules.DoubtLasts {
		outcome = Unknown
	}
	ended := l.remove(b)
	s.Ended = []Ending[P]{{ended, outcome}}
	if ended.Sequence >= 0 && ended.Identity == l.identity {
		l.giveUp(&ended, f.Code, outcome, &s)
	}
	return s
}

// retries reports whether a batch may be sent again after a failure.
func (l *Lane[P]) retries(b *Batch[P], f Failure) bool {
	if l.cfg.Retries >= 0 && b.Attempts > l.cfg.Retries || f.Late {
		return false
	}
	switch f.Code {
	case kafka.ErrNone: // a broken connection, no answer, no leader found
		return true
	case kafka.ErrOutOfOrderSequenceNumber: // natural behind a batch that failed
		return l.cfg.Rules.OutOfOrderBehindAnother && l.behindAnother(b)
	}
	return f.Code.Retriable()
}

// behindAnother reports that an older batch has a sequence number and no outcome.
func (l *Lane[P]) behindAnother(b *Batch[P]) bool {
	for i := range l.queue {
		if &l.queue[i] == b {
			return false
		}
		if l.queue[i].Sequence >= 0 {
			return true
		}
	}
	return false
}

// giveUp keeps sequence numbers sound after b ended without success. If b certainly was not appended, the producer's
// standing is not in question and no numbers behind its own are given, its numbers are used again. Else the identity is given
// up: what waits to be sent again under it ends now, what is in flight ends with its answer.
func (l *Lane[P]) giveUp(b *Batch[P], code kafka.ErrorCode, outcome Outcome, s *Settled[P]) {
	rules := &l.cfg.Rules
	certain := (outcome == Failed || !rules.GiveUpInDoubt) && !Disowned(code)
	switch last := l.endOf(b) == l.next; {
	case certain && last:
		l.next = b.Sequence
		return
	case certain && !rules.GiveUpAtGap, l.void:
		return
	}
	l.void = true
	s.Retired, s.Identity = true, l.identity
	kept := l.queue[:0]
	for _, other := range l.queue {
		switch {
		case other.Sequence < 0 || other.inFlight:
		case other.Left == 0 || !rules.OneIdentity:
			other.Identity, other.Sequence = NoIdentity, kafka.NoSequence
		default:
			s.Ended = append(s.Ended, Ending[P]{other, Unknown})
			continue
		}
		kept = append(kept, other)
	}
	clear(l.queue[len(kept):])
	l.queue = kept
}

// endOf is the sequence number after the batch: 0 comes after MaxSequence.
func (l *Lane[P]) endOf(b *Batch[P]) kafka.Sequence {
	return kafka.NextSequence(b.Sequence, int32(b.Records))
}

// find panics when the batch has its outcome.
func (l *Lane[P]) find(payload P) *Batch[P] {
	for i := range l.queue {
		if l.queue[i].Payload == payload {
			return &l.queue[i]
		}
	}
	panic(fmt.Sprintf("retry: no batch %v without outcome", payload))
}

func (l *Lane[P]) remove(b *Batch[P]) Batch[P] {
	gone := *b
	if b == &l.queue[0] {
		*b = Batch[P]{}
		l.queue = l.queue[1:]
		return gone
	}
	for i := range l.queue {
		if &l.queue[i] == b {
			l.queue = slices.Delete(l.queue, i, i+1)
			break
		}
	}
	return gone
}

// Clone is an independent copy.
func (l *Lane[P]) Clone() *Lane[P] {
	c := *l
	c.queue = slices.Clone(l.queue)
	return &c
}

// AppendTo appends a canonical binary form: equal futures, equal bytes. payload writes a payload. Configuration is not in
// it, nor is what only says how long to pause.
func (l *Lane[P]) AppendTo(b []byte, payload func([]byte, P) []byte) []byte {
	b = append(b, bits(l.rewind, l.void, l.proven))
	b = appendIdentity(b, l.identity)
	b = binary.AppendVarint(b, int64(l.next))
	b = append(b, byte(len(l.queue)))
	for i := range l.queue {
		q := &l.queue[i]
		b = payload(b, q.Payload)
		other := q.Sequence >= 0 && q.Identity != l.identity
		b = append(b, bits(q.inFlight, q.doubtful, q.Left > 0, other))
		b = binary.AppendVarint(b, int64(q.Sequence))
		if other {
			b = appendIdentity(b, q.Identity)
		}
		if l.cfg.Retries >= 0 {
			b = binary.AppendVarint(b, int64(q.Attempts))
		}
	}
	return b
}

func appendIdentity(b []byte, id Identity) []byte {
	return binary.AppendVarint(binary.AppendVarint(b, id.ID), int64(id.Epoch))
}

func bits(flags ...bool) byte {
	b := byte(0)
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}
