package record

import (
	"encoding/binary"
	"fmt"

	"trialog/core/kafka"
)

// HeaderSize is the size of a batch header in bytes; records follow.
const HeaderSize = 61

// LengthPrefix is what the length field of a batch does not count: itself and the base offset.
const LengthPrefix = 12

// Magic is the only batch format that is read or written.
const Magic int8 = 2

// Byte positions in a batch (KIP-98).
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21 // the CRC covers from here to the end
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57
)

// Attributes are the flag bits of a batch.
type Attributes int16

// Attribute bits.
const (
	CodecMask        Attributes = 0x07
	LogAppendTime    Attributes = 0x08 // timestamps are the broker's; else the client's (CreateTime)
	Transactional    Attributes = 0x10
	Control          Attributes = 0x20
	HasDeleteHorizon Attributes = 0x40 // BaseTimestamp is a delete horizon (KIP-534)
)

// Codec is the compression of a batch's records.
type Codec int8

// Codecs; 5 to 7 do not exist.
const (
	Uncompressed Codec = 0
	Gzip         Codec = 1
	Snappy       Codec = 2
	LZ4          Codec = 3
	Zstd         Codec = 4
)

// String is Kafka's name as in compression.type.
func (c Codec) String() string {
	switch c {
	case Uncompressed:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("codec %d", int8(c))
}

// ParseCodec is the codec of a name.
func ParseCodec(name string) (Codec, error) {
	for c := Uncompressed; c <= Zstd; c++ {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%q is not none, gzip, snappy, lz4 or zstd", name)
}

// Header is the decoded header of a batch. It is a copy and aliases nothing.
type Header struct {
	BaseOffset      kafka.Offset
	Length          int32 // of the batch without its first LengthPrefix bytes
	LeaderEpoch     kafka.LeaderEpoch
	Magic           int8
	CRC             uint32 // CRC-32C from the attributes to the end
	Attributes      Attributes
	LastOffsetDelta int32
	BaseTimestamp   int64 // ms
	MaxTimestamp    int64 // ms; the timestamp of every record under LogAppendTime
	ProducerID      kafka.ProducerID
	ProducerEpoch   kafka.ProducerEpoch
	BaseSequence    kafka.Sequence
	Count           int32
}

// Size is the whole batch in bytes.
func (h *Header) Size() int { return LengthPrefix + int(h.Length) }

// LastOffset is the offset of the last record (it may have been compacted away).
func (h *Header) LastOffset() kafka.Offset { return h.BaseOffset + int64(h.LastOffsetDelta) }

// NextOffset is the offset after the batch.
func (h *Header) NextOffset() kafka.Offset { return h.LastOffset() + 1 }

// LastSequence is the sequence of the last record, wrapped at MaxSequence; -1 without a base sequence.
func (h *Header) LastSequence() kafka.Sequence {
	if h.BaseSequence < 0 {
		return kafka.NoSequence
	}
	return kafka.NextSequence(h.BaseSequence, h.LastOffsetDelta)
}

// Codec is the compression of the records.
func (h *Header) Codec() Codec { return Codec(h.Attributes & CodecMask) }

// IsLogAppendTime reports that the timestamps are the broker's.
func (h *Header) IsLogAppendTime() bool { return h.Attributes&LogAppendTime != 0 }

// IsTransactional reports a batch of a transaction (control batches of transactions too).
func (h *Header) IsTransactional() bool { return h.Attributes&Transactional != 0 }

// IsControl reports a batch that holds a control record instead of data.
func (h *Header) IsControl() bool { return h.Attributes&Control != 0 }

// HasProducerID reports an idempotent or transactional producer.
func (h *Header) HasProducerID() bool { return h.ProducerID >= 0 }

// String is one line with every field that is not at its default.
func (h *Header) String() string {
	s := fmt.Sprintf("batch %d..%d epoch %d count %d size %d crc %08x %s",
		h.BaseOffset, h.LastOffset(), h.LeaderEpoch, h.Count, h.Size(), h.CRC, h.Codec())
	if h.HasProducerID() {
		s += fmt.Sprintf(" producer %d/%d seq %d..%d", h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.LastSequence())
	}
	if h.IsLogAppendTime() {
		s += " log-append-time"
	}
	if h.IsTransactional() {
		s += " transactional"
	}
	if h.IsControl() {
		s += " control"
	}
	return s + fmt.Sprintf(" time %d..%d", h.BaseTimestamp, h.MaxTimestamp)
}

// ParseHeader decodes the first HeaderSize bytes of b and checks only what is needed to find the end of the batch:
// enough bytes for a header (FaultShort), the magic (FaultMagic), a length that covers the header (FaultSize).
// b may end before the batch does: compare len(b) with Size.
func ParseHeader(b []byte) (Header, error) {
	h, fault := parseHeader(b)
	if fault != nil {
		return h, fault
	}
	return h, nil
}

func parseHeader(b []byte) (Header, *Error) {
	if len(b) < HeaderSize {
		return Header{}, &Error{Fault: FaultShort, Have: int64(len(b)), Want: HeaderSize}
	}
	h := decodeHeader(b)
	if h.Length < HeaderSize-LengthPrefix {
		return h, &Error{Fault: FaultSize, Have: int64(h.Length), Want: HeaderSize - LengthPrefix}
	}
	if h.Magic != Magic {
		return h, &Error{Fault: FaultMagic, Have: int64(h.Magic), Want: int64(Magic)}
	}
	return h, nil
}

func decodeHeader(b []byte) Header {
	be := binary.BigEndian
	_ = b[HeaderSize-1]
	return Header{
		BaseOffset:      int64(be.Uint64(b[posBaseOffset:])),
		Length:          int32(be.Uint32(b[posLength:])),
		LeaderEpoch:     int32(be.Uint32(b[posLeaderEpoch:])),
		Magic:           int8(b[posMagic]),
		CRC:             be.Uint32(b[posCRC:]),
		Attributes:      Attributes(be.Uint16(b[posAttributes:])),
		LastOffsetDelta: int32(be.Uint32(b[posLastOffsetDelta:])),
		BaseTimestamp:   int64(be.Uint64(b[posBaseTimestamp:])),
		MaxTimestamp:    int64(be.Uint64(b[posMaxTimestamp:])),
		ProducerID:      int64(be.Uint64(b[posProducerID:])),
		ProducerEpoch:   int16(be.Uint16(b[posProducerEpoch:])),
		BaseSequence:    int32(be.Uint32(b[posBaseSequence:])),
		Count:           int32(be.Uint32(b[posCount:])),
	}
}

// AppendTo appends the 61 bytes of the header as they are, CRC included.
func (h *Header) AppendTo(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint64(b, uint64(h.BaseOffset))
	b = be.AppendUint32(b, uint32(h.Length))
	b = be.AppendUint32(b, uint32(h.LeaderEpoch))
	b = append(b, byte(h.Magic))
	b = be.AppendUint32(b, h.CRC)
	b = be.AppendUint16(b, uint16(h.Attributes))
	b = be.AppendUint32(b, uint32(h.LastOffsetDelta))
	b = be.AppendUint64(b, uint64(h.BaseTimestamp))
	b = be.AppendUint64(b, uint64(h.MaxTimestamp))
	b = be.AppendUint64(b, uint64(h.ProducerID))
	b = be.AppendUint16(b, uint16(h.ProducerEpoch))
	b = be.AppendUint32(b, uint32(h.BaseSequence))
	return be.AppendUint32(b, uint32(h.Count))
}
