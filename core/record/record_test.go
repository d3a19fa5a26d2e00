package record

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"trialog/core/kafka"
)

// golden is a batch written out by hand: two records, "k"="v" with header h=null, and null=empty 5 ms earlier.
var golden = strings.Join([]string{
	"0000000000000000", // base offset 0
	"00000044",         // length 68 = 80 - 12
	"00000007",         // leader epoch 7
	"02",               // magic
	"c82acd86",         // crc, by a bitwise CRC-32C outside this program
	"0000",             // attributes
	"00000001",         // last offset delta
	"00000000000003e8", // base timestamp 1000
	"00000000000003e8", // max timestamp 1000
	"0000000000000009", // producer id 9
	"0001",             // producer epoch 1
	"0000000a",         // base sequence 10
	"00000002",         // count
	"16" + "00" + "00" + "00" + "02" + "6b" + "02" + "76" + "02" + "02" + "68" + "01", // size 11
	"0c" + "00" + "09" + "02" + "01" + "00" + "00",                                    // size 6, time -5, delta 1, null key
}, "")

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func build(edit func(*Builder)) []byte {
	var b Builder
	b.Reset(nil)
	b.SetLeaderEpoch(7)
	b.SetProducer(9, 1, 10)
	if edit != nil {
		edit(&b)
	}
	b.Append(1000, []byte("k"), []byte("v"), RecordHeader{Key: "h"})
	b.Append(995, nil, []byte{})
	return b.Finish()
}

func TestGolden(t *testing.T) {
	raw := unhex(t, golden)
	assert.Equal(t, golden, hex.EncodeToString(build(nil)))
	h, err := ValidateProduce(raw)
	require.NoError(t, err)
	assert.Equal(t, Header{
		BaseOffset: 0, Length: 68, LeaderEpoch: 7, Magic: 2, CRC: h.CRC, LastOffsetDelta: 1, BaseTimestamp: 1000,
		MaxTimestamp: 1000, ProducerID: 9, ProducerEpoch: 1, BaseSequence: 10, Count: 2,
	}, h.Header)
	assert.EqualValues(t, 995, h.MinTimestamp)
	assert.Equal(t, raw[:HeaderSize], h.AppendTo(nil))
	assert.Equal(t, fmt.Sprintf("batch 0..1 epoch 7 count 2 size 80 crc %08x none producer 9/1 seq 10..11 time 1000..1000", h.CRC), h.String())

	assert.Equal(t, []any{int64(1000), int32(0), int32(1), int32(1)}, []any{h.MaxTimestamp, h.Newest, h.Oldest, h.Keyless})

	SetBaseOffset(raw, 100)
	h.BaseOffset = 100
	it := NewRecords(raw)
	require.True(t, it.Next())
	r := it.Record()
	assert.Equal(t, []any{int64(100), int64(1000), "k", "v"}, []any{r.Offset, r.Timestamp, string(r.Key), string(r.Value)})
	assert.Equal(t, []RecordHeader{{Key: "h"}}, r.AppendHeaders(nil))
	require.True(t, it.Next())
	assert.Equal(t, []any{int64(101), int64(995), 0}, []any{r.Offset, r.Timestamp, r.HeaderCount()})
	assert.Nil(t, r.Key)
	assert.NotNil(t, r.Value)
	assert.Empty(t, r.Value)
	require.False(t, it.Next())
	require.NoError(t, it.Err())
	assert.Equal(t, h.Header, it.Header())
}

// TestAgainstKmsg reads our batch with franz-go's types, and theirs with ours.
func TestAgainstKmsg(t *testing.T) {
	raw := build(nil)
	var kb kmsg.RecordBatch
	require.NoError(t, kb.ReadFrom(raw))
	h, err := Validate(raw)
	require.NoError(t, err)
	assert.Equal(t, []any{h.BaseOffset, h.Length, h.LeaderEpoch, h.Magic, int32(h.CRC), int16(h.Attributes), h.LastOffsetDelta,
		h.BaseTimestamp, h.MaxTimestamp, h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.Count},
		[]any{kb.FirstOffset, kb.Length, kb.PartitionLeaderEpoch, kb.Magic, kb.CRC, kb.Attributes, kb.LastOffsetDelta,
			kb.FirstTimestamp, kb.MaxTimestamp, kb.ProducerID, kb.ProducerEpoch, kb.FirstSequence, kb.NumRecords})
	assert.Equal(t, raw, kb.AppendTo(nil))

	f := fuzz.NewWithSeed(1).NilChance(0.2).NumElements(0, 5)
	for range 200 {
		theirs := randomKmsg(f)
		want := theirs.AppendTo(nil)
		h, err := ValidateProduce(want)
		require.NoError(t, err)
		require.Equal(t, want, rebuild(t, want, &h.Header))
	}
}

// randomKmsg is a batch of random records as franz-go writes it.
func randomKmsg(f *fuzz.Fuzzer) kmsg.RecordBatch {
	var in []struct {
		Key, Value []byte
		Time       int32
		Headers    []struct {
			Key   string
			Value []byte
		}
	}
	for len(in) == 0 {
		f.Fuzz(&in)
	}
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: 1e12, MaxTimestamp: math.MinInt64, ProducerID: -1, ProducerEpoch: -1,
		FirstSequence: -1, NumRecords: int32(len(in)), LastOffsetDelta: int32(len(in)) - 1,
	}
	for i, r := range in {
		if i == 0 {
			r.Time = 0
		}
		kr := kmsg.Record{TimestampDelta64: int64(r.Time), OffsetDelta: int32(i), Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			kr.Headers = append(kr.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
		}
		kr.Length = int32(len(kr.AppendTo(nil)) - 1) // its own size field is one byte while Length is 0
		batch.Records = kr.AppendTo(batch.Records)
		batch.MaxTimestamp = max(batch.MaxTimestamp, batch.FirstTimestamp+int64(r.Time))
	}
	batch.Length = int32(HeaderSize - LengthPrefix + len(batch.Records))
	raw := batch.AppendTo(nil)
	batch.CRC = int32(Checksum(raw))
	return batch
}

// rebuild reads the records of a batch and builds one like it.
func rebuild(t require.TestingT, raw []byte, h *Header) []byte {
	var b Builder
	b.Reset(nil)
	b.SetBaseOffset(h.BaseOffset)
	b.SetLeaderEpoch(h.LeaderEpoch)
	b.SetProducer(h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	b.SetAttributes(h.Attributes)
	it := NewRecords(raw)
	for it.Next() {
		r := it.Record()
		b.Append(r.Timestamp, r.Key, r.Value, r.AppendHeaders(nil)...)
	}
	require.NoError(t, it.Err())
	return b.Finish()
}

type plain struct {
	Timestamp  int64
	Key, Value []byte
	Headers    []RecordHeader
}

func drawRecords(t *rapid.T) []plain {
	bytesOrNil := func(label string) []byte {
		if rapid.IntRange(0, 4).Draw(t, label+"?") == 0 {
			return nil
		}
		return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, label)...)
	}
	all := make([]plain, rapid.IntRange(1, 6).Draw(t, "records"))
	for i := range all {
		all[i] = plain{Timestamp: rapid.Int64().Draw(t, "time"), Key: bytesOrNil("key"), Value: bytesOrNil("value")}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			all[i].Headers = append(all[i].Headers, RecordHeader{Key: rapid.String().Draw(t, "hkey"), Value: bytesOrNil("hvalue")})
		}
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecords(t)
		prefix := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "prefix")
		var b Builder
		b.Reset(slices.Clone(prefix))
		b.SetProducer(1, 0, rapid.Int32Min(0).Draw(t, "seq"))
		for _, r := range want {
			limit := b.SizeWith(r.Key, r.Value, r.Headers...)
			b.Append(r.Timestamp, r.Key, r.Value, r.Headers...)
			require.LessOrEqual(t, b.Size(), limit)
		}
		require.Equal(t, len(want), b.Count())
		buf := b.Finish()
		require.True(t, bytes.HasPrefix(buf, prefix))
		raw := buf[len(prefix):]
		h, err := ValidateProduce(raw)
		require.NoError(t, err)
		require.Equal(t, len(raw), h.Size())
		var got []plain
		it := NewRecords(raw)
		for it.Next() {
			r := it.Record()
			require.Equal(t, int64(len(got)), r.Offset)
			got = append(got, plain{r.Timestamp, r.Key, r.Value, r.AppendHeaders(nil)})
		}
		require.NoError(t, it.Err())
		require.Equal(t, want, got)
	})
}

// TestMutation changes any bytes of a batch, with and without a CRC that fits: it is refused, or what it means can be
// built again to the same bytes (up to varints that were not the shortest).
func TestMutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := build(nil)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
			raw[at] = rapid.Byte().Draw(t, "byte")
		}
		raw = raw[:rapid.IntRange(0, len(raw)).Draw(t, "cut")]
		raw = append(raw, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "more")...)
		intact := bytes.Equal(raw[min(len(raw), posMagic):], build(nil)[posMagic:])
		h, err := ValidateProduce(raw)
		if !intact {
			require.Error(t, err, "the CRC covers the rest")
		}
		if len(raw) >= HeaderSize {
			SetChecksum(raw)
			if rapid.Bool().Draw(t, "length") {
				be32(raw[posLength:], len(raw)-LengthPrefix)
			}
		}
		h, err = ValidateProduce(raw)
		walkAll(raw)
		if err == nil && h.Codec() == Uncompressed {
			again := rebuild(t, raw, &h.Header)
			_, err := ValidateProduce(again)
			require.NoError(t, err)
		}
	})
}

// TestAnyBytes feeds noise of gofuzz to everything that reads.
func TestAnyBytes(t *testing.T) {
	f := fuzz.NewWithSeed(2).NilChance(0).NumElements(0, 200)
	for range 3000 {
		var noise []byte
		f.Fuzz(&noise)
		walkAll(noise)
		if len(noise) < HeaderSize {
			continue
		}
		// the same noise with a frame that fits, so that the records are reached
		be32(noise[posLength:], len(noise)-LengthPrefix)
		noise[posMagic] = byte(Magic)
		noise[posAttributes], noise[posAttributes+1] = 0, 0
		be32(noise[posLastOffsetDelta:], int(noise[posLastOffsetDelta]))
		be32(noise[posCount:], int(noise[posLastOffsetDelta+3])+1)
		SetChecksum(noise)
		walkAll(noise)
	}
}

// walkAll must not panic, whatever it gets.
func walkAll(b []byte) {
	_, _ = ParseHeader(b)
	_, _ = Validate(b)
	_, err := ValidateProduce(b)
	_ = Code(err)
	for it := NewBatches(b); it.Next(); {
		records := NewRecords(it.Batch())
		for records.Next() {
			r := records.Record()
			_ = r.AppendHeaders(nil)
			_, _ = ParseControl(r)
		}
		h := it.Header()
		_ = h.String()
	}
}

func be32(b []byte, n int) { copy(b, []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }

func TestAllocations(t *testing.T) {
	raw := build(nil)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := ValidateProduce(raw); err != nil {
			panic(err)
		}
	}))
	var b Builder
	buf := make([]byte, 0, 256)
	key, headers := []byte("key"), []RecordHeader{{Key: "h", Value: []byte("v")}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		b.Reset(buf[:0])
		b.Append(1, key, key, headers...)
		buf = b.Finish()
	}))
}

func TestBuilderRefuses(t *testing.T) {
	var b Builder
	b.Reset(nil)
	assert.PanicsWithValue(t, "record: cannot finish a batch of 0 records, 61 bytes", func() { b.Finish() })
	assert.Panics(t, func() { b.SetAttributes(1) })
}

func TestHeaderSequences(t *testing.T) {
	h := Header{BaseSequence: kafka.MaxSequence - 6, LastOffsetDelta: 19}
	assert.Equal(t, int32(12), h.LastSequence())
	h.BaseSequence = -1
	assert.Equal(t, kafka.NoSequence, h.LastSequence())
	h = Header{Attributes: LogAppendTime | Transactional | Control | Attributes(Zstd), ProducerID: -1}
	assert.Contains(t, h.String(), "zstd log-append-time transactional control")
	assert.Equal(t, "codec 7", Codec(7).String())
	_, err := ParseCodec("lzo")
	require.EqualError(t, err, `"lzo" is not none, gzip, snappy, lz4 or zstd`)
	for c, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		assert.Equal(t, name, Codec(c).String())
		parsed, err := ParseCodec(name)
		require.NoError(t, err)
		assert.Equal(t, Codec(c), parsed)
	}
}

func BenchmarkValidateProduce64KiB(b *testing.B) {
	var builder Builder
	builder.Reset(nil)
	value := make([]byte, 1024)
	for range 64 {
		builder.Append(1, nil, value)
	}
	raw := builder.Finish()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ValidateProduce(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuild64Records(b *testing.B) {
	var builder Builder
	var buf []byte
	value := make([]byte, 1024)
	b.ReportAllocs()
	for b.Loop() {
		builder.Reset(buf[:0])
		for range 64 {
			builder.Append(1, nil, value)
		}
		buf = builder.Finish()
	}
}
