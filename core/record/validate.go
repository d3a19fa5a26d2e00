package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"trialog/core/kafka"
)

// Fault is what is wrong with a batch.
type Fault uint8

// Faults, in the order in which they are looked for.
const (
	FaultShort     Fault = iota + 1 // fewer bytes than the header, or than the header's length field says
	FaultSize                       // the length field does not cover the header, or bytes follow the batch
	FaultMagic                      // not format v2
	FaultCRC                        // the CRC-32C of the bytes is another
	FaultCount                      // record count and last offset delta disagree, or no records
	FaultCodec                      // a codec that does not exist
	FaultControl                    // a control batch where only data may come
	FaultTimestamp                  // a client set LogAppendTime
	FaultProducer                   // producer id, epoch and base sequence do not go together
	FaultRecord                     // the records inside do not parse, or their number or deltas are wrong
)

var faultNames = [...]string{
	FaultShort: "short", FaultSize: "bad size", FaultMagic: "bad magic", FaultCRC: "bad crc", FaultCount: "bad count",
	FaultCodec: "bad codec", FaultControl: "control batch", FaultTimestamp: "bad timestamp type",
	FaultProducer: "bad producer", FaultRecord: "bad record",
}

// String is a short name.
func (f Fault) String() string {
	if int(f) < len(faultNames) && faultNames[f] != "" {
		return faultNames[f]
	}
	return fmt.Sprintf("fault %d", uint8(f))
}

// Code is Kafka's answer to a Produce request with such a batch: CORRUPT_MESSAGE when the frame cannot be trusted,
// else INVALID_RECORD (INVALID_TIMESTAMP for a timestamp type set by the client).
func (f Fault) Code() kafka.ErrorCode {
	switch f {
	case FaultShort, FaultSize, FaultMagic, FaultCRC:
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
	if h, fault := validate(b); fault != nil {
		return h, fault
	} else {
		return h, nil
	}
}

// ValidateProduce checks that b is exactly one batch that a client may produce: what Validate asks, and no control
// batch, an existing codec, CreateTime, count = last offset delta + 1 > 0, a producer id with an epoch and a base
// sequence, and, when it is not compressed, records that parse with offset deltas 0, 1, 2 ... The caller still has to
// compare the size with max.message.bytes and the timestamps with its bounds.
func ValidateProduce(b []byte) (Header, error) {
	panic("record: ValidateProduce")
}

func validate(b []byte) (Header, *Error) {
	h, fault := parseHeader(b)
	if fault != nil {
		return h, fault
	}
	if len(b) < h.Size() {
		return h, &Error{Fault: FaultShort, Have: int64(len(b)), Want: int64(h.Size())}
	}
	if len(b) > h.Size() {
		return h, &Error{Fault: FaultSize, Have: int64(len(b)), Want: int64(h.Size())}
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

// SetChecksum writes the CRC-32C of this whole batch into it.
func SetChecksum(batch []byte) {
	binary.BigEndian.PutUint32(batch[posCRC:], Checksum(batch))
}
