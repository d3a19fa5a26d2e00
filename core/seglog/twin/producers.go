package twin

import (
	"fmt"
	"slices"

	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
)

// Producer is what is known of one producer id.
type Producer struct {
	ID        kafka.ProducerID
	Epoch     kafka.ProducerEpoch
	TxnFirst  kafka.Offset // of the open transaction, or -1
	Timestamp int64        // ms, of its last batch; what expiry looks at
	Batches   []producers.Batch
}

func (p Producer) String() string {
	return fmt.Sprintf("%d/%d txn=%d ts=%d %v", p.ID, p.Epoch, p.TxnFirst, p.Timestamp, p.Batches)
}

// sent is one batch of a producer, for ever.
type sent struct {
	id      kafka.ProducerID
	epoch   kafka.ProducerEpoch
	batch   producers.Batch
	txn     bool
	control bool
	expired bool // a recovery may know it again: it lies in the log
}

func cloneProducers(all []Producer) []Producer {
	out := slices.Clone(all)
	for i := range out {
		out[i].Batches = slices.Clone(out[i].Batches)
	}
	return out
}

// checkSequence is the answer to a batch that is not new; known is false when it is to be appended.
func (l *Log) checkSequence(h *record.Header) (answer Answer, known bool) {
	i := slices.IndexFunc(l.producers, func(p Producer) bool { return p.ID == h.ProducerID })
	if h.ProducerID < 0 || i < 0 {
		return Answer{}, false
	}
	p := l.producers[i]
	want := kafka.Sequence(0)
	if n := len(p.Batches); n > 0 && h.ProducerEpoch == p.Epoch {
		want = kafka.NextSequence(p.Batches[n-1].LastSeq, 1)
	}
	if h.ProducerEpoch < p.Epoch {
		return refuse(kafka.ErrInvalidProducerEpoch), true
	}
	for _, b := range p.Batches {
		if h.ProducerEpoch == p.Epoch && b.FirstSeq == h.BaseSequence && b.LastSeq == h.LastSequence() {
			return Answer{Base: b.FirstOffset(), Next: b.LastOffset + 1, Duplicate: true}, true
		}
	}
	if h.BaseSequence != want {
		return refuse(kafka.ErrOutOfOrderSequenceNumber), true
	}
	return Answer{}, false
}

func refuse(code kafka.ErrorCode) Answer {
	return Answer{Code: code, Base: kafka.NoOffset, Next: kafka.NoOffset}
}

// noteProducer takes a batch that was appended into the state.
func (l *Log) noteProducer(h *record.Header) {
	if h.ProducerID < 0 {
		return
	}
	s := sent{
		id: h.ProducerID, epoch: h.ProducerEpoch, txn: h.IsTransactional(), control: h.IsControl(),
		batch: producers.Batch{FirstSeq: h.BaseSequence, LastSeq: h.LastSequence(), LastOffset: h.LastOffset(),
			OffsetDelta: h.LastOffsetDelta, Timestamp: h.MaxTimestamp},
	}
	l.sent = append(l.sent, s)
	l.producers = replay(l.producers, s)
}

// replay is the state after one more batch: the last five of the newest epoch of each producer.
func replay(state []Producer, s sent) []Producer {
	i := slices.IndexFunc(state, func(p Producer) bool { return p.ID == s.id })
	if i < 0 {
		i = slices.IndexFunc(state, func(p Producer) bool { return p.ID > s.id })
		if i < 0 {
			i = len(state)
		}
		state = slices.Insert(state, i, Producer{ID: s.id, Epoch: s.epoch, TxnFirst: kafka.NoOffset})
	}
	p := &state[i]
	if p.Epoch != s.epoch {
		p.Epoch, p.Batches = s.epoch, nil
	}
	p.Timestamp = s.batch.Timestamp
	if s.control {
		p.TxnFirst = kafka.NoOffset
		return state
	}
	p.Batches = append(slices.Clone(p.Batches), s.batch)
	p.Batches = p.Batches[max(0, len(p.Batches)-producers.Window):]
	if s.txn && p.TxnFirst < 0 {
		p.TxnFirst = s.batch.FirstOffset()
	}
	return state
}

// replayAll is the state of all batches from the one at from on, below end.
func (l *Log) replayAll(from, end kafka.Offset) (state []Producer) {
	for _, s := range l.sent {
		if s.batch.FirstOffset() >= from && s.batch.LastOffset < end {
			state = replay(state, s)
		}
	}
	return state
}

// Expire is seglog.Log.ExpireProducers.
func (l *Log) Expire(nowMs, expirationMs int64) int {
	l.begin()
	before := len(l.producers)
	l.producers = slices.DeleteFunc(l.producers, func(p Producer) bool {
		gone := p.TxnFirst < 0 && nowMs-p.Timestamp >= expirationMs
		for i := range l.sent {
			l.sent[i].expired = l.sent[i].expired || gone && l.sent[i].id == p.ID
		}
		return gone
	})
	return before - len(l.producers)
}

// FirstUndecided is seglog.Log.FirstUndecided.
func (l *Log) FirstUndecided() kafka.Offset {
	first := kafka.NoOffset
	for _, p := range l.producers {
		if p.TxnFirst >= 0 && (first < 0 || p.TxnFirst < first) {
			first = p.TxnFirst
		}
	}
	return first
}

// checkProducers is C6. A rebuilt state may lack what was deleted, compacted away or expired, but has to have what the log
// has: first is where its first segment begins.
func (l *Log) checkProducers(have []Producer, first, end kafka.Offset) error {
	all := l.replayAll(0, end)
	for _, want := range all {
		must := l.present(want, first)
		i := slices.IndexFunc(have, func(p Producer) bool { return p.ID == want.ID })
		switch {
		case i < 0 && must > 0:
			return fmt.Errorf("producer %v is not known", want)
		case i < 0:
			continue
		}
		p := have[i]
		if l.Settings.CleanupCompact {
			p, want = timeless(p), timeless(want)
		}
		if p.Epoch != want.Epoch || p.TxnFirst != want.TxnFirst || p.Timestamp != want.Timestamp {
			return fmt.Errorf("producer %v, want %v", p, want)
		}
		n, m := len(p.Batches), len(want.Batches)
		if n < must || !slices.Equal(p.Batches[n-must:], want.Batches[m-must:]) || !l.wrote(p) {
			return fmt.Errorf("producer %v, want %v, the last %d batches at least", p, want, must)
		}
	}
	for _, p := range have {
		if !slices.ContainsFunc(all, func(q Producer) bool { return q.ID == p.ID }) {
			return fmt.Errorf("producer %v never wrote what is in the log", p)
		}
	}
	return nil
}

// timeless is for compacted logs: a batch that lost its newest record has another time, which a rebuilt state has, too.
func timeless(p Producer) Producer {
	p.Timestamp, p.Batches = 0, slices.Clone(p.Batches)
	for i := range p.Batches {
		p.Batches[i].Timestamp = 0
	}
	return p
}

// present is how many of the last batches of the producer's window are in the log still, without a gap, and did not expire.
func (l *Log) present(p Producer, first kafka.Offset) int {
	for n := range p.Batches {
		b := p.Batches[len(p.Batches)-1-n]
		expired := slices.ContainsFunc(l.sent, func(s sent) bool { return s.batch.LastOffset == b.LastOffset && s.expired })
		if expired || b.FirstOffset() < first || !slices.ContainsFunc(l.batches, func(c Batch) bool { return c.Base == b.FirstOffset() }) {
			return n
		}
	}
	return len(p.Batches)
}

// wrote reports that the producer sent all these batches, the last one last of all.
func (l *Log) wrote(p Producer) bool {
	var of []producers.Batch
	for _, s := range l.sent {
		if s.id == p.ID && s.epoch == p.Epoch && !s.control {
			of = append(of, s.batch)
		}
	}
	for _, b := range p.Batches {
		i := slices.IndexFunc(of, func(o producers.Batch) bool {
			return o.LastOffset == b.LastOffset && o.FirstSeq == b.FirstSeq && o.LastSeq == b.LastSeq
		})
		if i < 0 {
			return false
		}
		of = of[i+1:]
	}
	return true
}

// CheckProducers compares the producer state after a truncation, which is rebuilt, and takes it over.
func (l *Log) CheckProducers(o Outcome) error {
	if err := l.checkProducers(o.Producers, o.Segments[0], o.End); err != nil {
		return err
	}
	l.producers = cloneProducers(o.Producers)
	return nil
}
