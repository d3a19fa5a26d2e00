package record

import "trialog/core/kafka"

// Builder makes one uncompressed batch. It appends to a buffer that it is given and returns, so that a caller who
// reuses the buffer pays no allocation.
type Builder struct {
	buf   []byte
	start int
	head  Header
}

// Reset starts a batch that is appended to buf (which may hold anything, other batches for one). The batch has base
// offset 0, leader epoch -1, no producer and CreateTime until told otherwise.
func (b *Builder) Reset(buf []byte) { panic("record: Reset") }

// SetBaseOffset sets the offset of the first record; clients leave it 0, the broker writes it.
func (b *Builder) SetBaseOffset(o kafka.Offset) { b.head.BaseOffset = o }

// SetLeaderEpoch sets the epoch of the leader that wrote the batch.
func (b *Builder) SetLeaderEpoch(e kafka.LeaderEpoch) { b.head.LeaderEpoch = e }

// SetProducer sets the idempotent producer's identity and the sequence of the first record.
func (b *Builder) SetProducer(id kafka.ProducerID, epoch kafka.ProducerEpoch, baseSequence kafka.Sequence) {
	b.head.ProducerID, b.head.ProducerEpoch, b.head.BaseSequence = id, epoch, baseSequence
}

// SetAttributes adds attribute bits: Control, Transactional, LogAppendTime. Codec bits panic: there are no codecs.
func (b *Builder) SetAttributes(a Attributes) { panic("record: SetAttributes") }

// Append adds a record with the next offset. nil key or value is null. All arguments are copied.
func (b *Builder) Append(timestampMs int64, key, value []byte, headers ...RecordHeader) {
	panic("record: Append")
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.head.Count) }

// Size is the size of the batch so far, in bytes.
func (b *Builder) Size() int { return len(b.buf) - b.start }

// SizeWith is an upper bound of the batch's size if such a record were appended.
func (b *Builder) SizeWith(key, value []byte, headers ...RecordHeader) int { panic("record: SizeWith") }

// Finish writes the header and returns the whole buffer: what Reset was given, then the batch. It panics when there
// are no records. The Builder must be Reset before it is used again.
func (b *Builder) Finish() []byte { panic("record: Finish") }
