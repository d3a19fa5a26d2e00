package record

import (
	"encoding/binary"
	"fmt"
	"math"

	"trialog/core/kafka"
)

// Builder makes one uncompressed batch. It appends to a buffer that it is given and returns, so that a caller who
// reuses the buffer pays no allocation. Reset it before its first use.
type Builder struct {
	buf   []byte
	start int
	head  Header
}

// Reset starts a batch that is appended to buf (which may hold anything, other batches for one). The batch has base
// offset 0, leader epoch -1, no producer and CreateTime until told otherwise.
func (b *Builder) Reset(buf []byte) {
	b.start = len(buf)
	b.head = Header{
		LeaderEpoch:     kafka.NoLeaderEpoch,
		Magic:           Magic,
		LastOffsetDelta: -1,
		MaxTimestamp:    math.MinInt64,
		ProducerID:      kafka.NoProducerID,
		ProducerEpoch:   kafka.NoProducerEpoch,
		BaseSequence:    kafka.NoSequence,
	}
	b.buf = b.head.AppendTo(buf) // room for the header; Finish writes it again
}

// SetBaseOffset sets the offset of the first record; clients leave it 0, the broker writes it.
func (b *Builder) SetBaseOffset(o kafka.Offset) { b.head.BaseOffset = o }

// SetLeaderEpoch sets the epoch of the leader that wrote the batch.
func (b *Builder) SetLeaderEpoch(e kafka.LeaderEpoch) { b.head.LeaderEpoch = e }

// SetProducer sets the idempotent producer's identity and the sequence of the first record.
func (b *Builder) SetProducer(id kafka.ProducerID, epoch kafka.ProducerEpoch, baseSequence kafka.Sequence) {
	b.head.ProducerID, b.head.ProducerEpoch, b.head.BaseSequence = id, epoch, baseSequence
}

// SetAttributes adds attribute bits: Control, Transactional, LogAppendTime. Codec bits panic: there are no codecs.
func (b *Builder) SetAttributes(a Attributes) {
	if a&CodecMask != 0 {
		panic(fmt.Sprintf("record: attributes %#x name a codec, batches are built uncompressed", a))
	}
	b.head.Attributes |= a
}

// Append adds a record with the next offset. nil key or value is null. All arguments are copied.
func (b *Builder) Append(timestampMs int64, key, value []byte, headers ...RecordHeader) {
	if b.head.Count == 0 {
		b.head.BaseTimestamp = timestampMs
	}
	delta := timestampMs - b.head.BaseTimestamp
	b.head.Count++
	b.head.LastOffsetDelta++
	b.head.MaxTimestamp = max(b.head.MaxTimestamp, timestampMs)
	buf := binary.AppendVarint(b.buf, int64(bodySize(delta, b.head.LastOffsetDelta, key, value, headers)))
	buf = append(buf, 0)
	buf = binary.AppendVarint(buf, delta)
	buf = binary.AppendVarint(buf, int64(b.head.LastOffsetDelta))
	buf = appendBytes(buf, key)
	buf = appendBytes(buf, value)
	buf = binary.AppendVarint(buf, int64(len(headers)))
	for i := range headers {
		buf = binary.AppendVarint(buf, int64(len(headers[i].Key)))
		buf = append(buf, headers[i].Key...)
		buf = appendBytes(buf, headers[i].Value)
	}
	b.buf = buf
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.head.Count) }

// Size is the size of the batch so far, in bytes.
func (b *Builder) Size() int { return len(b.buf) - b.start }

// SizeWith is an upper bound of the batch's size if such a record were appended.
func (b *Builder) SizeWith(key, value []byte, headers ...RecordHeader) int {
	return b.Size() + binary.MaxVarintLen32 + bodySize(math.MinInt64, math.MaxInt32, key, value, headers)
}

// Finish writes the header and returns the whole buffer: what Reset was given, then the batch. It panics when there
// are no records, or more bytes than the length field can say. Reset before the next use.
func (b *Builder) Finish() []byte {
	if b.head.Count == 0 || b.Size()-LengthPrefix > math.MaxInt32 {
		panic(fmt.Sprintf("record: cannot finish a batch of %d records, %d bytes", b.head.Count, b.Size()))
	}
	b.head.Length = int32(b.Size() - LengthPrefix)
	b.head.AppendTo(b.buf[b.start:b.start])
	SetChecksum(b.buf[b.start:])
	return b.buf
}

// bodySize is the size of a record without its own size field.
func bodySize(timestampDelta int64, offsetDelta int32, key, value []byte, headers []RecordHeader) int {
	n := 1 + varintSize(timestampDelta) + varintSize(int64(offsetDelta)) + bytesSize(key) + bytesSize(value)
	n += varintSize(int64(len(headers)))
	for i := range headers {
		n += varintSize(int64(len(headers[i].Key))) + len(headers[i].Key) + bytesSize(headers[i].Value)
	}
	return n
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

// varintSize is the number of bytes of a zigzag varint.
func varintSize(v int64) int {
	n := 1
	for u := uint64(v)<<1 ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // zigzag of -1
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}
