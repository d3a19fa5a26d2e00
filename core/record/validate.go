package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"trialog/core/kafka"
)

// Fault is what is wrong with a batch.
type Fault uint8

// Faults, in the order in which they are looked for.
const (
	FaultEmpty     Fault = iota + 1 // no bytes at all
	FaultShort                      // fewer bytes than the header, or than the header's length field says
	FaultSize                       // the length field does not cover the header
	FaultMagic                      // not format v2
	FaultTrailing                   // bytes follow the batch, a second batch for one
	FaultCRC                        // the CRC-32C of the bytes is another
	FaultCount                      // record count and last offset delta disagree, or no records
	FaultCodec                      // a codec that does not exist
	FaultOffset                     // a client gave the batch an offset
	FaultControl                    // a control batch where only data may come
	FaultTimestamp                  // a client set LogAppendTime
	FaultProducer                   // producer id, epoch and base sequence do not go together
	FaultRecord                     // the records inside do not parse, or their number or deltas are wrong
)

var faultNames = [...]string{
	FaultEmpty: "empty", FaultShort: "short", FaultSize: "bad size", FaultMagic: "bad magic",
	FaultTrailing: "bytes after the batch", FaultCRC: "bad crc", FaultCount: "bad count", FaultCodec: "bad codec",
	FaultOffset: "bad base offset", FaultControl: "control batch", FaultTimestamp: "bad timestamp type", FaultProducer: "bad producer",
	FaultRecord: "bad record",
}

// String is a short name.
func (f Fault) String() string {
	if int(f) < len(faultNames) && faultNames[f] != "" {
		return faultNames[f]
	}
	return fmt.Sprintf("fault %d", uint8(f))
}

// Code is Kafka's answer to a Produce request with such a batch: CORRUPT_MESSAGE when the frame cannot be trusted,
// else INVALID_RECORD (INVALID_TIMESTAMP for a timestamp type set by the client, UNSUPPORTED_COMPRESSION_TYPE for a
// codec that does not exist).
func (f Fault) Code() kafka.ErrorCode {
	switch f {
	case FaultShort, FaultSize, FaultCRC:
		return kafka.ErrCorruptMessage
	case FaultTimestamp:
		return kafka.ErrInvalidTimestamp
	case FaultCodec:
		return kafka.ErrUnsupportedCompressionType
	}
	return kafka.ErrInvalidRecord
}

// Error is a refused batch. All errors of this package except ErrCompressed are of this type.
type Error struct {
	Fault      Fault
	Have, Want int64  // the operands; what they are depends on the fault
	Detail     string // what else is known; may be empty
}

// Error is one line with the operands.
func (e *Error) Error() string {
	s := fmt.Sprintf("record: %v: have %d, want %d", e.Fault, e.Have, e.Want)
	if e.Fault == FaultCRC {
		s = fmt.Sprintf("record: %v: have %08x, want %08x", e.Fault, uint32(e.Have), uint32(e.Want))
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Code is Kafka's answer to a Produce request; see [Fault.Code].
func (e *Error) Code() kafka.ErrorCode { return e.Fault.Code() }

// Code maps any error of this package to Kafka's answer; nil is NONE.
func Code(err error) kafka.ErrorCode {
	var e *Error
	switch {
	case err == nil:
		return kafka.ErrNone
	case errors.As(err, &e):
		return e.Code()
	}
	return kafka.ErrCorruptMessage
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C that the header of this whole batch should carry; len(batch) >= HeaderSize.
func Checksum(batch []byte) uint32 { return crc32.Checksum(batch[posAttributes:], castagnoli) }

// Validate checks that b is exactly one whole batch as any log may hold it: frame, magic, CRC, and a count and last
// offset delta that are possible. Compacted logs hold fewer records than offsets, even none, so it asks only
// 0 <= count <= last offset delta + 1. It does not look at the records. The error is an [*Error].
func Validate(b []byte) (Header, error) {
	h, fault := validate(b)
	if fault != nil {
		return h, fault
	}
	return h, nil
}

// ValidateProduce checks that b is exactly one batch that a client may produce: what Validate asks, and base offset 0, no
// control batch, an existing codec, CreateTime, count = last offset delta + 1 > 0, a producer id with an epoch and a base
// sequence, and, when it is not compressed, records that parse with offset deltas 0, 1, 2 ... Those of a compressed batch
// are the caller's to check with Scan. The caller still has to compare the size with max.message.bytes and the timestamps
// with its bounds.
func ValidateProduce(b []byte) (Produced, error) {
	h, fault := validate(b)
	if fault == nil {
		fault = produceFault(&h)
	}
	p := Produced{Header: h, MinTimestamp: h.BaseTimestamp, Oldest: -1, Newest: -1, Keyless: -1}
	if fault != nil {
		return p, fault
	}
	if h.Codec() != Uncompressed {
		return p, nil
	}
	return p, p.walk(b)
}

// Produced is a batch that a client may produce. MaxTimestamp is that of its records, whatever the batch says:
// SetMaxTimestamp writes it. Of a compressed batch, Scan has to find it and what follows.
type Produced struct {
	Header
	// MinTimestamp is the smallest timestamp of the records, in ms; records without one do not count, NoTimestamp if all are.
	MinTimestamp int64
	// Oldest and Newest are the indexes of the first records that have MinTimestamp and MaxTimestamp; -1 without one.
	Oldest, Newest int32
	// Keyless is the index of the first record without a key, which a compacted topic refuses; -1 if all have one.
	Keyless int32
	// RecordMax is the size in bytes that Scan allows a record, set before it; 0 is no limit.
	RecordMax int64
}

// produceFault looks at the header for what only a log may hold.
func produceFault(h *Header) *Error {
	switch {
	case h.BaseOffset != 0:
		return &Error{Fault: FaultOffset, Have: h.BaseOffset, Detail: "the broker assigns offsets"}
	case h.IsControl():
		return &Error{Fault: FaultControl, Have: 1, Want: 0}
	case h.Codec() > Zstd:
		return &Error{Fault: FaultCodec, Have: int64(h.Codec()), Want: int64(Zstd)}
	case h.IsLogAppendTime():
		return &Error{Fault: FaultTimestamp, Have: 1, Want: 0, Detail: "clients produce with CreateTime"}
	case h.Count == 0 || int64(h.Count) != int64(h.LastOffsetDelta)+1:
		return &Error{Fault: FaultCount, Have: int64(h.Count), Want: int64(h.LastOffsetDelta) + 1}
	case h.HasProducerID() && h.BaseSequence < 0:
		return &Error{Fault: FaultProducer, Have: int64(h.BaseSequence), Detail: "base sequence of a producer id"}
	case h.HasProducerID() && h.ProducerEpoch < 0:
		return &Error{Fault: FaultProducer, Have: int64(h.ProducerEpoch), Detail: "epoch of a producer id"}
	case !h.HasProducerID() && h.IsTransactional():
		return &Error{Fault: FaultProducer, Have: h.ProducerID, Detail: "producer id of a transactional batch"}
	}
	return nil
}

func validate(b []byte) (Header, *Error) {
	if len(b) == 0 {
		return Header{}, &Error{Fault: FaultEmpty, Want: HeaderSize}
	}
	h, fault := parseHeader(b)
	if fault != nil {
		return h, fault
	}
	if len(b) < h.Size() {
		return h, &Error{Fault: FaultShort, Have: int64(len(b)), Want: int64(h.Size())}
	}
	if len(b) > h.Size() {
		return h, &Error{Fault: FaultTrailing, Have: int64(len(b)), Want: int64(h.Size())}
	}
	if sum := Checksum(b); sum != h.CRC {
		return h, &Error{Fault: FaultCRC, Have: int64(sum), Want: int64(h.CRC)}
	}
	if h.LastOffsetDelta < 0 || h.Count < 0 || int64(h.Count) > int64(h.LastOffsetDelta)+1 {
		return h, &Error{Fault: FaultCount, Have: int64(h.Count), Want: int64(h.LastOffsetDelta) + 1}
	}
	return h, nil
}

// SetBaseOffset writes the offset of the first record into the batch; outside the CRC.
func SetBaseOffset(batch []byte, offset kafka.Offset) {
	binary.BigEndian.PutUint64(batch[posBaseOffset:], uint64(offset))
}

// SetLeaderEpoch writes the epoch of the leader that appends the batch; outside the CRC.
func SetLeaderEpoch(batch []byte, epoch kafka.LeaderEpoch) {
	binary.BigEndian.PutUint32(batch[posLeaderEpoch:], uint32(epoch))
}

// SetLogAppendTime makes ms the timestamp of all records of this whole batch, and recomputes the CRC over it.
func SetLogAppendTime(batch []byte, ms int64) {
	be := binary.BigEndian
	be.PutUint16(batch[posAttributes:], be.Uint16(batch[posAttributes:])|uint16(LogAppendTime))
	be.PutUint64(batch[posMaxTimestamp:], uint64(ms))
	SetChecksum(batch)
}

// SetMaxTimestamp makes ms the largest timestamp in the header of this whole batch, and recomputes the CRC if it was
// another.
func SetMaxTimestamp(batch []byte, ms int64) {
	if be := binary.BigEndian; be.Uint64(batch[posMaxTimestamp:]) != uint64(ms) {
		be.PutUint64(batch[posMaxTimestamp:], uint64(ms))
		SetChecksum(batch)
	}
}

// SetCodec writes into this whole batch, whose records were compressed with c, that they are: codec, length, CRC. It
// panics at over 2 GiB.
func SetCodec(batch []byte, c Codec) {
	if len(batch)-LengthPrefix > math.MaxInt32 {
		panic(fmt.Sprintf("record: a batch of %d bytes", len(batch)))
	}
	be := binary.BigEndian
	be.PutUint32(batch[posLength:], uint32(len(batch)-LengthPrefix))
	be.PutUint16(batch[posAttributes:], be.Uint16(batch[posAttributes:])&^uint16(CodecMask)|uint16(c))
	SetChecksum(batch)
}

// SetChecksum writes the CRC-32C of this whole batch into it.
func SetChecksum(batch []byte) {
	binary.BigEndian.PutUint32(batch[posCRC:], Checksum(batch))
}
