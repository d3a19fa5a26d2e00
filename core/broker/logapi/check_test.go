package logapi

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/codec"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/record"
)

// FuzzCheck gives any batch to any topic. What is accepted is a batch that a log may hold: sound, in the codec that the
// topic wants, within its bounds, with exactly the records that came. `go test -fuzz FuzzCheck ./core/broker/logapi`; the
// corpus is in testdata/fuzz.
func FuzzCheck(f *testing.F) {
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(7, 0, 3)
	for i := range int64(5) {
		b.Append(1000+i, []byte("key"), bytes.Repeat([]byte("value "), 20), record.RecordHeader{Key: "h"})
	}
	plain := b.Finish()
	for c := record.Uncompressed; c <= record.Zstd; c++ {
		for target := range uint8(6) {
			packed := plain
			if c != record.Uncompressed {
				packed = codec.Compress(nil, plain, c, codec.DefaultLevel(c))
			}
			f.Add(packed, target)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, how uint8) {
		if len(b) > record.HeaderSize {
			b = bytes.Clone(b)
			binary.BigEndian.PutUint32(b[8:], uint32(len(b)-record.LengthPrefix))
			record.SetChecksum(b)
		}
		before := bytes.Clone(b)
		set := &config.Topic{
			MaxMessageBytes: 2000, SegmentBytes: 1 << 20, TimestampBeforeMaxMs: 1 << 40, TimestampAfterMaxMs: 1 << 20,
			UncompressedMaxBytes: 4000, CleanupCompact: how&0x10 != 0, LogAppendTime: how&0x20 != 0,
			CompressionType: []string{"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"}[how%6],
		}
		c := newChecker(set, 9, kafka.Now{WallMs: 2000})
		defer c.close()
		out, no := c.check(b)
		if no.code != kafka.ErrNone {
			require.Nil(t, out)
			require.NotEmpty(t, no.message)
			require.Equal(t, before, b, "a refused batch is left as it was")
			return
		}
		h, err := record.Validate(out)
		require.NoError(t, err)
		came, err := record.ParseHeader(before)
		require.NoError(t, err)
		require.Equal(t, targetCodec(set.CompressionType, came.Codec()), h.Codec())
		require.LessOrEqual(t, len(out), int(set.MaxMessageBytes))
		sameRecords(t, before, out)
		want := came
		want.CRC, want.Length, want.MaxTimestamp, want.Attributes = h.CRC, h.Length, h.MaxTimestamp, h.Attributes
		require.Equal(t, want, h)
		require.Equal(t, came.Attributes&^record.CodecMask, h.Attributes&^record.CodecMask)
	})
}

// sameRecords compares two batches record by record, and the largest timestamp of the second with what its header says.
func sameRecords(t *testing.T, a, b []byte) {
	was, err := codec.Records(a, 4000)
	require.NoError(t, err)
	is, err := codec.Records(b, 1<<20)
	require.NoError(t, err)
	largest := kafka.NoTimestamp
	for was.Next() {
		require.True(t, is.Next(), is.Err())
		x, y := was.Record(), is.Record()
		require.Equal(t, []any{x.Offset, x.Timestamp, x.Key, x.Value}, []any{y.Offset, y.Timestamp, y.Key, y.Value})
		require.Equal(t, x.AppendHeaders(nil), y.AppendHeaders(nil))
		largest = max(largest, y.Timestamp)
	}
	require.NoError(t, was.Err())
	require.False(t, is.Next())
	require.NoError(t, is.Err())
	h := is.Header()
	require.Equal(t, largest, h.MaxTimestamp)
}

// TestTargetCodec is compression.type (KIP-390 has the levels).
func TestTargetCodec(t *testing.T) {
	for name, want := range map[string]record.Codec{
		"producer": record.LZ4, "uncompressed": record.Uncompressed, "gzip": record.Gzip, "snappy": record.Snappy, "lz4": record.LZ4, "zstd": record.Zstd,
	} {
		require.Equal(t, want, targetCodec(name, record.LZ4), name)
	}
}

// A fetch that holds much memory waits for a bounded time, whatever its max_wait.
func TestWideFetchesHasten(t *testing.T) {
	const began, long = int64(7), int64(1 << 60)
	fa := fetchAnswer{began: kafka.Now{MonoNs: began}, until: long}
	require.True(t, fa.charge(chargeFrom-1))
	require.Equal(t, long, fa.until)
	require.True(t, fa.charge(chargeFrom))
	require.Equal(t, began+wideWaitMaxNs, fa.until)
	fa.until = began + 1
	fa.hasten()
	require.Equal(t, began+1, fa.until, "a short wait stays short")
}
