package codec

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"trialog/core/kafka"
	"trialog/core/record"
)

// batchOf is an uncompressed batch of n records of size bytes each, which compress to about a fourth.
func batchOf(n, size int) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetProducer(9, 1, 10)
	value := text(size)
	for i := range n {
		b.Append(int64(1000-i), fmt.Appendf(nil, "k%d", i), value, record.RecordHeader{Key: "h", Value: []byte("v")})
	}
	return b.Finish()
}

func walk(t require.TestingT, batch []byte) (all []record.Record) {
	it, err := Records(batch, noLimit)
	require.NoError(t, err)
	for it.Next() {
		all = append(all, *it.Record())
	}
	require.NoError(t, it.Err())
	return all
}

// TestBatch: a compressed batch is sound, holds the same records, and differs in its header as little as it can.
func TestBatch(t *testing.T) {
	plain := batchOf(50, 300)
	want := walk(t, plain)
	require.Len(t, want, 50)
	for _, c := range codecs {
		batch := Compress([]byte("x"), plain, c, DefaultLevel(c))[1:]
		p, err := record.ValidateProduce(batch)
		require.NoError(t, err)
		require.Equal(t, c, p.Codec())
		require.True(t, len(batch) < len(plain)/2 || zstdStores && c == record.Zstd, c)
		require.Equal(t, want, walk(t, batch), c)
		s := Open(c, batch[record.HeaderSize:], noLimit)
		require.NoError(t, p.Scan(s, make([]byte, record.ScanWindow)))
		s.Close()
		assert.Equal(t, []any{int64(951), int64(1000), int32(-1)}, []any{p.MinTimestamp, p.MaxTimestamp, p.Keyless})

		var theirs kmsg.RecordBatch
		require.NoError(t, theirs.ReadFrom(batch))
		assert.EqualValues(t, c, theirs.Attributes)
		assert.EqualValues(t, 50, theirs.NumRecords)
		whole, err := Decompress(c, theirs.Records, noLimit)
		require.NoError(t, err)
		assert.Equal(t, plain[record.HeaderSize:], whole)
	}
	_, err := Records(Compress(nil, plain, record.Zstd, 3), 100)
	require.ErrorIs(t, err, ErrTooLarge)
}

// TestBatchesOfFranzGo: batches as franz-go encodes and compresses them pass, and hold what was put in.
func TestBatchesOfFranzGo(t *testing.T) {
	theirs := []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	rapid.Check(t, func(t *rapid.T) {
		var records []byte
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange('a', 'c'), 0, 400), 1, 50).Draw(t, "values")
		for i, v := range values {
			r := kmsg.Record{TimestampDelta64: int64(i % 3), OffsetDelta: int32(i), Key: []byte{byte(i)}, Value: v}
			r.Length = int32(len(r.AppendTo(nil)) - 1) // its own size field is one byte while Length is 0
			records = r.AppendTo(records)
		}
		n := rapid.IntRange(0, 3).Draw(t, "codec")
		deflate, err := kgo.DefaultCompressor(theirs[n])
		require.NoError(t, err)
		packed, used := deflate.Compress(new(bytes.Buffer), records)
		b := kmsg.RecordBatch{
			PartitionLeaderEpoch: -1, Magic: 2, Attributes: int16(used), FirstTimestamp: 1000, MaxTimestamp: 1002, ProducerID: -1,
			ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(len(values)), LastOffsetDelta: int32(len(values)) - 1, Records: packed,
		}
		raw := b.AppendTo(nil)
		record.SetCodec(raw, record.Codec(used)) // length and CRC
		p, err := record.ValidateProduce(raw)
		require.NoError(t, err)
		s := Open(p.Codec(), raw[record.HeaderSize:], noLimit)
		require.NoError(t, p.Scan(s, s.Window()))
		s.Close()
		require.Equal(t, int64(1000+min(2, len(values)-1)), p.MaxTimestamp)
		all := walk(t, raw)
		require.Len(t, all, len(values))
		for i := range values {
			require.Equal(t, string(values[i]), string(all[i].Value))
		}
	})
}

// TestFirstAt: the search by time agrees with a walk over all records, compressed or not, and reads no further.
func TestFirstAt(t *testing.T) {
	times := []int64{2, 8, 4, 6, -1, 20, 9}
	var b record.Builder
	b.Reset(nil)
	for _, ms := range times {
		b.Append(ms, nil, text(20_000))
	}
	plain := b.Finish()
	record.SetBaseOffset(plain, 100)
	for _, c := range append(codecs, record.Uncompressed) {
		batch := plain
		if c != record.Uncompressed {
			batch = Compress(nil, plain, c, DefaultLevel(c))
		}
		for ts := int64(-2); ts < 22; ts++ {
			for start := int64(98); start < 109; start++ {
				wantOffset, wantTime, want := int64(0), int64(0), false
				for _, r := range walk(t, batch) {
					if !want && r.Timestamp >= ts && r.Offset >= start {
						wantOffset, wantTime, want = r.Offset, r.Timestamp, true
					}
				}
				offset, timestamp, found, err := FirstAt(batch, noLimit, start, ts)
				require.NoError(t, err)
				require.Equal(t, []any{wantOffset, wantTime, want}, []any{offset, timestamp, found}, "%s, %d from %d", c, ts, start)
			}
		}
		if c == record.Uncompressed {
			continue
		}
		_, _, found, err := FirstAt(batch, 100_000, 0, 6)
		require.NoError(t, err)
		require.True(t, found, "what follows the record does not matter")
		_, _, _, err = FirstAt(batch, 100_000, 0, 20)
		require.ErrorIs(t, err, ErrTooLarge)
		record.SetLogAppendTime(batch, 50)
		offset, timestamp, _, err := FirstAt(batch, noLimit, 103, 50)
		require.NoError(t, err)
		require.Equal(t, []int64{103, 50}, []int64{offset, timestamp})
		_, _, _, err = FirstAt(batch[:len(batch)-1], noLimit, 103, 50)
		require.Error(t, err)
	}
}

// TestRecordsRefuses: what is wrong with a batch is said by the walk.
func TestRecordsRefuses(t *testing.T) {
	for name, b := range map[string][]byte{"nothing": nil, "cut": batchOf(1, 1)[:70], "codec 7": func() []byte {
		b := batchOf(1, 1)
		record.SetCodec(b, 7)
		return b
	}()} {
		it, err := Records(b, noLimit)
		require.NoError(t, err, name)
		require.False(t, it.Next(), name)
		require.Error(t, it.Err(), name)
	}
}

// TestScanAgreesWithRecords: two readers of records, one through a small window and one over all of the bytes, accept
// the same batches and find the same in them, whatever the bytes are.
func TestScanAgreesWithRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := batchOf(rapid.IntRange(1, 4).Draw(t, "records"), rapid.IntRange(0, 200).Draw(t, "size"))
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			plain[rapid.IntRange(record.HeaderSize, len(plain)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		plain = plain[:rapid.IntRange(max(record.HeaderSize, len(plain)-5), len(plain)).Draw(t, "cut")]
		plain = append(plain, rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "more")...)
		record.SetCodec(plain, record.Uncompressed)
		want := record.Produced{MinTimestamp: kafka.NoTimestamp, Keyless: -1}
		want.MaxTimestamp = kafka.NoTimestamp
		it := record.NewRecords(plain)
		for i := int32(0); it.Next(); i++ {
			r := it.Record()
			want.MaxTimestamp = max(want.MaxTimestamp, r.Timestamp)
			if want.MinTimestamp == kafka.NoTimestamp || r.Timestamp != kafka.NoTimestamp && r.Timestamp < want.MinTimestamp {
				want.MinTimestamp = r.Timestamp
			}
			if r.Key == nil && want.Keyless < 0 {
				want.Keyless = i
			}
		}
		wantErr := it.Err()

		c := rapid.SampledFrom(codecs).Draw(t, "codec")
		batch := Compress(nil, plain, c, DefaultLevel(c))
		got, err := record.ValidateProduce(batch)
		require.NoError(t, err)
		s := Open(c, batch[record.HeaderSize:], noLimit)
		defer s.Close()
		err = got.Scan(s, make([]byte, rapid.IntRange(10, 100).Draw(t, "window")))
		_, plainErr := record.ValidateProduce(plain)
		require.Equal(t, record.Code(wantErr), record.Code(plainErr), "%v, %v", wantErr, plainErr)
		if wantErr != nil {
			require.Error(t, err, "%v", wantErr)
			require.Equal(t, record.Code(wantErr), record.Code(err))
			return
		}
		require.NoError(t, err)
		require.Equal(t, []any{want.MinTimestamp, want.MaxTimestamp, want.Keyless}, []any{got.MinTimestamp, got.MaxTimestamp, got.Keyless})
	})
}

// TestScanSaysWhatTheStreamSays: a broken or too large stream is not a broken record.
func TestScanSaysWhatTheStreamSays(t *testing.T) {
	plain := batchOf(100, 1000)
	for _, c := range codecs {
		batch := Compress(nil, plain, c, DefaultLevel(c))
		p, err := record.ValidateProduce(batch)
		require.NoError(t, err)
		scan := func(payload []byte, max int64) error {
			s := Open(c, payload, max)
			defer s.Close()
			return p.Scan(s, make([]byte, 1000))
		}
		payload := batch[record.HeaderSize:]
		require.NoError(t, scan(payload, int64(len(plain)-record.HeaderSize)))
		require.ErrorIs(t, scan(payload, int64(len(plain)-record.HeaderSize-1)), ErrTooLarge)
		require.ErrorIs(t, scan(payload, 5000), ErrTooLarge)
		err = scan(payload[:len(payload)-20], noLimit)
		require.ErrorContains(t, err, "codec: "+c.String()) // record.Code would not know it
		var fault *record.Error
		require.NotErrorAs(t, err, &fault)
		p.Count, p.LastOffsetDelta = 101, 100
		require.ErrorContains(t, scan(payload, noLimit), "record 100 of 101")
		p.Count, p.LastOffsetDelta = 99, 98
		require.ErrorContains(t, scan(payload, noLimit), "bytes after the last record (record 99 of 99)")
		require.Equal(t, kafka.ErrInvalidRecord, record.Code(scan(payload, noLimit)))
	}
}

// TestAllocations: none for a record, a few at most for a batch.
func TestAllocations(t *testing.T) {
	window := make([]byte, record.ScanWindow)
	for _, c := range codecs {
		few, many := Compress(nil, batchOf(10, 100), c, DefaultLevel(c)), Compress(nil, batchOf(2000, 100), c, DefaultLevel(c))
		count := func(batch []byte) float64 {
			return testing.AllocsPerRun(50, func() {
				p, err := record.ValidateProduce(batch)
				if err != nil {
					panic(err)
				}
				s := Open(c, batch[record.HeaderSize:], noLimit)
				if err := p.Scan(s, window); err != nil {
					panic(err)
				}
				s.Close()
			})
		}
		a, b := count(few), count(many)
		t.Logf("%s: %.0f allocations for a batch of 10 records, %.0f for one of 2000", c, a, b)
		limit := 2.
		switch {
		case underRace:
			limit = 100
		case zstdStores:
			limit = 20 // of Go's own gzip, for each block of the stream
		}
		assert.LessOrEqual(t, a, limit, c)
		assert.LessOrEqual(t, b, limit, c)

		plain := batchOf(2000, 100)
		out := make([]byte, 0, 2*len(plain))
		n := testing.AllocsPerRun(50, func() { Compress(out, plain, c, DefaultLevel(c)) })
		t.Logf("%s: %.0f allocations to compress a batch", c, n)
		assert.LessOrEqual(t, n, limit, c)
	}
}

// BenchmarkScan decompresses and checks one batch of about 64 KiB; bytes are uncompressed ones.
func BenchmarkScan(b *testing.B) {
	window := make([]byte, record.ScanWindow)
	for _, size := range []int{100, 1000} {
		plain := batchOf(64<<10/size, size)
		for _, c := range append([]record.Codec{record.Uncompressed}, codecs...) {
			batch := Compress(nil, plain, c, DefaultLevel(c))
			b.Run(fmt.Sprintf("%s/record=%d", c, size), func(b *testing.B) {
				b.SetBytes(int64(len(plain)))
				b.ReportAllocs()
				b.ReportMetric(float64(len(plain))/float64(len(batch)), "ratio")
				for b.Loop() {
					p, err := record.ValidateProduce(batch)
					if err == nil && c != record.Uncompressed {
						s := Open(c, batch[record.HeaderSize:], noLimit)
						err = p.Scan(s, window)
						s.Close()
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRecords is what a reader does: all of a batch in memory, then the walk.
func BenchmarkRecords(b *testing.B) {
	plain := batchOf(640, 100)
	for _, c := range append([]record.Codec{record.Uncompressed}, codecs...) {
		batch := Compress(nil, plain, c, DefaultLevel(c))
		b.Run(c.String(), func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				it, err := Records(batch, noLimit)
				for err == nil && it.Next() {
				}
				if err != nil || it.Err() != nil {
					b.Fatal(err, it.Err())
				}
			}
		})
	}
}

// BenchmarkCompress is one batch of about 64 KiB at Kafka's default level.
func BenchmarkCompress(b *testing.B) {
	plain := batchOf(640, 100)
	for _, c := range codecs {
		out := make([]byte, 0, 2*len(plain))
		b.Run(c.String(), func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				Compress(out, plain, c, DefaultLevel(c))
			}
		})
	}
}
