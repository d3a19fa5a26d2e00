package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

// TestRefused is W06 of the failure modes: each fault has a CRC that fits, except the one about the CRC.
func TestRefused(t *testing.T) {
	edit := func(at int, bytes ...byte) func([]byte) []byte {
		return func(b []byte) []byte {
			copy(b[at:], bytes)
			SetChecksum(b)
			return b
		}
	}
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		fault  Fault
		code   kafka.ErrorCode
	}{
		{"nothing", func(b []byte) []byte { return nil }, FaultEmpty, kafka.ErrInvalidRecord},
		{"a header cut short", func(b []byte) []byte { return b[:60] }, FaultShort, kafka.ErrCorruptMessage},
		{"records cut short", func(b []byte) []byte { return b[:len(b)-1] }, FaultShort, kafka.ErrCorruptMessage},
		{"length -1", edit(posLength, 0xff, 0xff, 0xff, 0xff), FaultSize, kafka.ErrCorruptMessage},
		{"length 48", edit(posLength, 0, 0, 0, 48), FaultSize, kafka.ErrCorruptMessage},
		{"magic 9", edit(posMagic, 9), FaultMagic, kafka.ErrInvalidRecord},
		{"two batches", func(b []byte) []byte { return append(b, b...) }, FaultTrailing, kafka.ErrInvalidRecord},
		{"wrong crc", func(b []byte) []byte { b[70] ^= 1; return b }, FaultCRC, kafka.ErrCorruptMessage},
		{"base offset 7", edit(posBaseOffset+7, 7), FaultOffset, kafka.ErrInvalidRecord},
		{"count 0", edit(posCount, 0, 0, 0, 0), FaultCount, kafka.ErrInvalidRecord},
		{"count -1", edit(posCount, 0xff, 0xff, 0xff, 0xff), FaultCount, kafka.ErrInvalidRecord},
		{"count 1, last offset delta 1", edit(posCount, 0, 0, 0, 1), FaultCount, kafka.ErrInvalidRecord},
		{"count 5", edit(posCount, 0, 0, 0, 5), FaultCount, kafka.ErrInvalidRecord},
		{"last offset delta -1", edit(posLastOffsetDelta, 0xff, 0xff, 0xff, 0xff), FaultCount, kafka.ErrInvalidRecord},
		{"count 3 and delta 2, two present", func(b []byte) []byte {
			edit(posLastOffsetDelta, 0, 0, 0, 2)(b)
			return edit(posCount, 0, 0, 0, 3)(b)
		}, FaultRecord, kafka.ErrInvalidRecord},
		{"count 1 and delta 0, two present", func(b []byte) []byte {
			edit(posLastOffsetDelta, 0, 0, 0, 0)(b)
			return edit(posCount, 0, 0, 0, 1)(b)
		}, FaultRecord, kafka.ErrInvalidRecord},
		{"codec 5", edit(posAttributes, 0, 5), FaultCodec, kafka.ErrUnsupportedCompressionType},
		{"control", edit(posAttributes, 0, 0x20), FaultControl, kafka.ErrInvalidRecord},
		{"log append time", edit(posAttributes, 0, 8), FaultTimestamp, kafka.ErrInvalidTimestamp},
		{"no base sequence", edit(posBaseSequence, 0xff, 0xff, 0xff, 0xff), FaultProducer, kafka.ErrInvalidRecord},
		{"no producer epoch", edit(posProducerEpoch, 0xff, 0xff), FaultProducer, kafka.ErrInvalidRecord},
		{"transaction without producer", func(b []byte) []byte {
			edit(posProducerID, 0xff)(b)
			return edit(posAttributes, 0, 0x10)(b)
		}, FaultProducer, kafka.ErrInvalidRecord},
		{"record size too large", edit(61, 0x7e), FaultRecord, kafka.ErrInvalidRecord},
		{"record size negative", edit(61, 0x15), FaultRecord, kafka.ErrInvalidRecord},
		{"record size smaller than the record", edit(61, 0x14), FaultRecord, kafka.ErrInvalidRecord},
		{"varint without an end", edit(61, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), FaultRecord, kafka.ErrInvalidRecord},
		{"varint over 32 bits", edit(61, 0xff, 0xff, 0xff, 0xff, 0x7f), FaultRecord, kafka.ErrInvalidRecord},
		{"first offset delta 1", edit(64, 2), FaultRecord, kafka.ErrInvalidRecord},
		{"offset delta that does not increase", edit(76, 0), FaultRecord, kafka.ErrInvalidRecord},
		{"offset delta beyond the last", edit(76, 4), FaultRecord, kafka.ErrInvalidRecord},
		{"key size -5", edit(65, 9), FaultRecord, kafka.ErrInvalidRecord},
		{"header count -1", edit(69, 1), FaultRecord, kafka.ErrInvalidRecord},
		{"header count 9", edit(69, 18), FaultRecord, kafka.ErrInvalidRecord},
		{"bytes after the headers", edit(69, 0), FaultRecord, kafka.ErrInvalidRecord},
		{"header key null", edit(70, 1), FaultRecord, kafka.ErrInvalidRecord},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ValidateProduce(c.change(build(nil)))
			var e *Error
			require.True(t, errors.As(err, &e), "%v", err)
			assert.Equal(t, c.fault, e.Fault, "%v", err)
			assert.Equal(t, c.code, Code(err))
			if c.fault == FaultRecord {
				assert.Equal(t, c.fault, scanFault(t, c.change(build(nil))))
			}
		})
	}
	assert.Zero(t, scanFault(t, build(nil)))
	// A null key and a null header value whose sizes take two bytes are null all the same.
	long := build(nil)
	long = append(long[:HeaderSize:HeaderSize], "\x18\x00\x00\x00\x81\x00\x02v\x02\x02h\x81\x00\x0c\x00\x09\x02\x01\x00\x00"...)
	be32(long[posLength:], len(long)-LengthPrefix)
	SetChecksum(long)
	p, err := ValidateProduce(long)
	require.NoError(t, err)
	assert.Zero(t, p.Keyless)
	assert.Zero(t, scanFault(t, long))
	assert.Equal(t, kafka.ErrNone, Code(nil))
	assert.Equal(t, kafka.ErrCorruptMessage, Code(ErrCompressed))
	assert.Equal(t, "fault 99", Fault(99).String())
	_, err = Validate(build(nil)[:10])
	assert.EqualError(t, err, "record: short: have 10, want 61")
	bad := build(nil)
	bad[70] ^= 1
	_, err = Validate(bad)
	assert.Regexp(t, "^record: bad crc: have [0-9a-f]{8}, want [0-9a-f]{8}$", err.Error())
}

// scanFault is what a scan through the smallest window finds in the records of b, as if they came from a decompressor.
func scanFault(t *testing.T, b []byte) Fault {
	content := bytes.Clone(b[HeaderSize:])
	whole, wholeErr := ValidateProduce(b)
	SetCodec(b, Gzip)
	p, err := ValidateProduce(b)
	require.NoError(t, err)
	err = p.Scan(iotest.OneByteReader(bytes.NewReader(content)), make([]byte, binary.MaxVarintLen64))
	require.Equal(t, content, b[HeaderSize:], "a scan changes nothing")
	var e *Error
	if errors.As(err, &e) {
		return e.Fault
	}
	require.NoError(t, err)
	require.NoError(t, wholeErr, "both ways of reading accept the same")
	require.Equal(t, []any{whole.MinTimestamp, whole.MaxTimestamp, whole.Oldest, whole.Newest, whole.Keyless},
		[]any{p.MinTimestamp, p.MaxTimestamp, p.Oldest, p.Newest, p.Keyless})
	return 0
}

// TestLogHoldsMore has batches that a log may hold and a client may not send.
func TestLogHoldsMore(t *testing.T) {
	compacted := build(nil)
	be32(compacted[posLastOffsetDelta:], 9)
	SetChecksum(compacted)
	_, err := Validate(compacted)
	assert.NoError(t, err)

	empty := append([]byte{}, build(nil)[:HeaderSize]...)
	be32(empty[posLength:], HeaderSize-LengthPrefix)
	be32(empty[posCount:], 0)
	SetChecksum(empty)
	_, err = Validate(empty)
	assert.NoError(t, err)
	it := NewRecords(empty)
	assert.False(t, it.Next())
	assert.NoError(t, it.Err())
}

// TestWalkNeedsOneBatch gives NewRecords what Batches and Validate never return.
func TestWalkNeedsOneBatch(t *testing.T) {
	good := build(nil)
	codec7 := build(nil)
	codec7[posAttributes+1] = 7
	negative := build(nil)
	negative[posCount] = 0xff
	for _, c := range []struct {
		bytes []byte
		want  Fault
	}{
		{nil, FaultShort}, {good[:70], FaultShort}, {append(build(nil), 0), FaultTrailing}, {codec7, FaultCodec}, {negative, FaultCount},
	} {
		it := NewRecords(c.bytes)
		assert.False(t, it.Next())
		var e *Error
		require.True(t, errors.As(it.Err(), &e))
		assert.Equal(t, c.want, e.Fault)
	}
}

func TestCompressed(t *testing.T) {
	raw := build(nil)
	raw[posAttributes+1] = byte(Snappy)
	copy(raw[HeaderSize:], "not snappy")
	SetChecksum(raw)
	h, err := ValidateProduce(raw)
	require.NoError(t, err)
	assert.Equal(t, Snappy, h.Codec())
	it := NewRecords(raw)
	assert.False(t, it.Next())
	assert.ErrorIs(t, it.Err(), ErrCompressed)
}

func TestStamps(t *testing.T) {
	raw := build(nil)
	before, err := Validate(raw)
	require.NoError(t, err)
	SetBaseOffset(raw, 1<<40)
	SetLeaderEpoch(raw, 3)
	h, err := Validate(raw)
	require.NoError(t, err, "both lie outside the CRC")
	assert.Equal(t, []any{int64(1 << 40), int32(3), before.CRC}, []any{h.BaseOffset, h.LeaderEpoch, h.CRC})
	assert.Equal(t, int64(1<<40+1), h.LastOffset())
	assert.Equal(t, int64(1<<40+2), h.NextOffset())

	SetLogAppendTime(raw, 77)
	h, err = Validate(raw)
	require.NoError(t, err)
	assert.True(t, h.IsLogAppendTime())
	assert.Equal(t, int64(77), h.MaxTimestamp)
	assert.Equal(t, before.BaseTimestamp, h.BaseTimestamp)
	it := NewRecords(raw)
	for it.Next() {
		assert.Equal(t, int64(77), it.Record().Timestamp)
	}
	require.NoError(t, it.Err())
}

func TestBatches(t *testing.T) {
	one := build(nil)
	two := build(func(b *Builder) { b.SetBaseOffset(200) })
	buf := append(append([]byte{}, one...), two...)
	walk := func(b []byte) (offsets []int64, it *Batches) {
		for it = NewBatches(b); it.Next(); {
			offsets = append(offsets, it.Header().BaseOffset)
			assert.Equal(t, int(it.Header().Length)+LengthPrefix, len(it.Batch()))
		}
		return offsets, it
	}
	for cut := 0; cut <= len(buf); cut++ {
		offsets, it := walk(buf[:cut])
		assert.Len(t, offsets, cut/len(one))
		assert.NoError(t, it.Err())
		assert.Equal(t, cut/len(one)*len(one), it.Position())
		assert.Len(t, it.Tail(), cut%len(one))
	}
	zeros := append(append([]byte{}, one...), make([]byte, HeaderSize)...)
	offsets, it := walk(zeros)
	assert.Equal(t, []int64{0}, offsets)
	assert.EqualError(t, it.Err(), "record: bad size: have 0, want 49")
	assert.False(t, it.Next())
	assert.Len(t, it.Tail(), HeaderSize)

	var none Batches
	assert.False(t, none.Next())
}

func TestControl(t *testing.T) {
	control := func(key ...byte) (ControlType, error) {
		var b Builder
		b.Reset(nil)
		b.SetAttributes(Control | Transactional)
		b.SetProducer(5, 0, -1)
		b.Append(1, key, nil)
		raw := b.Finish()
		h, err := Validate(raw)
		require.NoError(t, err)
		require.True(t, h.IsControl())
		it := NewRecords(raw)
		require.True(t, it.Next())
		return ParseControl(it.Record())
	}
	for key, want := range map[[4]byte]ControlType{{0, 0, 0, 0}: ControlAbort, {0, 0, 0, 1}: ControlCommit, {0, 9, 0, 2}: ControlLeaderChange, {0, 0, 0, 77}: 77} {
		got, err := control(key[:]...)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := control(0, 0, 0)
	assert.EqualError(t, err, "record: bad record: have 3, want 4: control record key")
	_, err = control(0xff, 0xff, 0, 0)
	assert.Error(t, err)
}
