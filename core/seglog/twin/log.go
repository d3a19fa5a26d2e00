package twin

import (
	"fmt"
	"slices"

	"trialog/core/codec"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/record"
)

// Batch is one batch of the log.
type Batch struct {
	Base, Next kafka.Offset
	Epoch      kafka.LeaderEpoch
	Raw        []byte // stamped, as it lies in the file
	header     record.Header
	records    []Record
}

// Record is one record of a batch.
type Record struct {
	Offset     kafka.Offset
	Timestamp  int64 // ms
	Key, Value []byte
	Tombstone  bool // the value is null
	Keyless    bool // the key is null
}

// Epoch is one entry of the leader-epoch cache.
type Epoch struct {
	Epoch kafka.LeaderEpoch
	Start kafka.Offset
}

// Log is the obvious log of one partition.
type Log struct {
	Settings config.Topic

	start, end, hw kafka.Offset
	flushed        kafka.Offset   // C1
	savedStart     kafka.Offset   // C3: not below this after a crash
	floor          kafka.Offset   // C1: the lowest promise during the last operation
	batches        []Batch        // in order
	segments       []kafka.Offset // where they begin; never empty
	epochs         []Epoch        // in order of both
	producers      []Producer     // those known now, by id
	sent           []sent         // every batch of a producer below end, also of those that are deleted or expired
}

// New is an empty log that starts at 0.
func New(settings config.Topic) *Log { return &Log{Settings: settings, segments: []kafka.Offset{0}} }

// Clone is an independent copy.
func (l *Log) Clone() *Log {
	c := *l
	c.batches = slices.Clone(l.batches)
	c.segments = slices.Clone(l.segments)
	c.epochs = slices.Clone(l.epochs)
	c.producers = cloneProducers(l.producers)
	c.sent = slices.Clone(l.sent)
	return &c
}

// begin starts an operation: nothing less is promised than before.
func (l *Log) begin() { l.floor = l.flushed }

// StartOffset, EndOffset, HighWatermark, Flushed and Segments are as those of seglog.Log; Flushed is what Flush promised,
// and may be lower.
func (l *Log) StartOffset() kafka.Offset   { return l.start }
func (l *Log) EndOffset() kafka.Offset     { return l.end }
func (l *Log) HighWatermark() kafka.Offset { return l.hw }
func (l *Log) Flushed() kafka.Offset       { return l.flushed }
func (l *Log) Segments() []kafka.Offset    { return slices.Clone(l.segments) }
func (l *Log) Batches() []Batch            { return slices.Clone(l.batches) }

// SetHighWatermark is as that of seglog.Log.
func (l *Log) SetHighWatermark(hw kafka.Offset) { l.hw = hw }

// parse reads one whole batch.
func parse(raw []byte) (Batch, error) {
	h, err := record.Validate(raw)
	if err != nil {
		return Batch{}, err
	}
	b := Batch{Base: h.BaseOffset, Next: h.NextOffset(), Epoch: h.LeaderEpoch, Raw: slices.Clone(raw), header: h}
	it, err := codec.Records(raw, 1<<30)
	if err != nil {
		return Batch{}, err
	}
	for it.Next() {
		r := it.Record()
		b.records = append(b.records, Record{
			Offset: r.Offset, Timestamp: r.Timestamp, Key: slices.Clone(r.Key), Value: slices.Clone(r.Value), Tombstone: r.Value == nil,
			Keyless: r.Key == nil,
		})
	}
	return b, it.Err()
}

func mustParse(raw []byte) Batch {
	b, err := parse(raw)
	if err != nil {
		panic(fmt.Sprintf("twin: a batch that the log took: %v", err))
	}
	return b
}

// Answer is what an append must answer.
type Answer struct {
	Code       kafka.ErrorCode
	Base, Next kafka.Offset
	Duplicate  bool
}

// Append is a leader's append: batch is stamped in place. The code is that of the producer's sequence.
func (l *Log) Append(batch []byte, epoch kafka.LeaderEpoch) Answer {
	l.begin()
	h, err := record.ParseHeader(batch)
	if err != nil {
		panic(err)
	}
	if refused, known := l.checkSequence(&h); known {
		return refused
	}
	record.SetBaseOffset(batch, l.end)
	record.SetLeaderEpoch(batch, epoch)
	return l.write(mustParse(batch))
}

// AppendFollower is a follower's: the batch says where it lies. ok is false where the log must refuse it.
func (l *Log) AppendFollower(batch []byte) (answer Answer, ok bool) {
	l.begin()
	b := mustParse(batch)
	if b.Base < l.end && (len(l.batches) > 0 || b.Next <= l.end) {
		return Answer{}, false
	}
	if n := len(l.epochs); n > 0 && b.Epoch < l.epochs[n-1].Epoch {
		return Answer{}, false
	}
	return l.write(b), true
}

func (l *Log) write(b Batch) Answer {
	if l.mustRoll(&b) {
		if l.lastSegmentSize() == 0 {
			l.segments = l.segments[:len(l.segments)-1]
		}
		l.segments = append(l.segments, b.Base)
	}
	l.StartEpochAt(b.Epoch, b.Base)
	l.batches = append(l.batches, b)
	l.noteProducer(&b.header)
	l.end = b.Next
	return Answer{Base: b.Base, Next: b.Next}
}

// StartEpoch notes that a leader of epoch begins at the end offset.
func (l *Log) StartEpoch(epoch kafka.LeaderEpoch) {
	l.begin()
	l.StartEpochAt(epoch, l.end)
}

// StartEpochAt is what a batch with that epoch and base offset does to the cache: later entries lost.
func (l *Log) StartEpochAt(epoch kafka.LeaderEpoch, start kafka.Offset) {
	start = max(start, l.start) // of a batch that begins below it
	if n := len(l.epochs); epoch < 0 || n > 0 && l.epochs[n-1].Epoch == epoch {
		return
	}
	l.epochs = slices.DeleteFunc(l.epochs, func(e Epoch) bool { return e.Epoch >= epoch || e.Start >= start })
	l.epochs = append(l.epochs, Epoch{epoch, start})
}

// inSegment are the batches of the i-th segment.
func (l *Log) inSegment(i int) []Batch {
	from := slices.IndexFunc(l.batches, func(b Batch) bool { return b.Next > l.segments[i] })
	if from < 0 {
		return nil
	}
	rest := l.batches[from:]
	if i+1 < len(l.segments) {
		if to := slices.IndexFunc(rest, func(b Batch) bool { return b.Base >= l.segments[i+1] }); to >= 0 {
			rest = rest[:to]
		}
	}
	return rest
}

func (l *Log) lastSegmentSize() int { return sizeOf(l.inSegment(len(l.segments) - 1)) }

func sizeOf(batches []Batch) (n int) {
	for _, b := range batches {
		n += len(b.Raw)
	}
	return n
}

// mustRoll: the batch does not fit (bytes, age, 31 bits for an offset). An empty segment takes any batch that does not begin
// below it or reach too far. That an index can be full, too, is left out: give it room for all entries.
func (l *Log) mustRoll(b *Batch) bool {
	base := l.segments[len(l.segments)-1]
	if b.Base < base || b.Next-1-base > 1<<31-1 {
		return true
	}
	have := l.inSegment(len(l.segments) - 1)
	if len(have) == 0 {
		return false
	}
	age := b.header.MaxTimestamp - have[0].header.MaxTimestamp
	return sizeOf(have)+len(b.Raw) > int(l.Settings.SegmentBytes) || age > l.Settings.SegmentMs
}

// Flush: everything below upTo is durable.
func (l *Log) Flush(upTo kafka.Offset) {
	l.begin()
	l.flushed = max(l.flushed, upTo)
}

// Checkpoint: the start offset (and HW, and recovery point) is saved.
func (l *Log) Checkpoint() {
	l.begin()
	l.savedStart = l.start
}

// Close is a clean stop: all is durable. The next start forgets what the cache says of offsets below the start.
func (l *Log) Close() {
	l.begin()
	l.flushed, l.savedStart = l.end, l.start
	l.cutEpochsBelow(l.start)
}
