package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

// batchOf encodes one batch at base.
func batchOf(base int64, attributes record.Attributes, values ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetBaseOffset(base)
	b.SetAttributes(attributes)
	for _, v := range values {
		b.Append(1000, nil, []byte(v), record.RecordHeader{Key: "h", Value: []byte("x")})
	}
	return b.Finish()
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// spoiled flips one byte.
func spoiled(b []byte, at int) []byte {
	b = append([]byte(nil), b...)
	b[at] ^= 0xff
	return b
}

// What a fetch makes of the bytes it is served.
func TestFetchedBytes(t *testing.T) {
	a, b, c := batchOf(10, 0, "a0", "a1", "a2"), batchOf(13, 0, "b0"), batchOf(14, 0, "c0", "c1")
	compressed := codec.Compress(nil, b, record.Snappy, 0)
	all := join(codec.Compress(nil, a, record.Gzip, -1), compressed, codec.Compress(nil, c, record.LZ4, 9), codec.Compress(nil, batchOf(16, 0, "d0"), record.Zstd, 3))
	garbled := append([]byte(nil), b...)
	record.SetCodec(garbled, record.Zstd)
	strange := append([]byte(nil), b...)
	record.SetCodec(strange, 6)
	large := codec.Compress(nil, batchOf(13, 0, strings.Repeat("x", 1<<20)), record.Gzip, -1)
	broken := append([]byte(nil), b...)
	broken[record.HeaderSize]++ // a record's size
	record.SetChecksum(broken)
	for _, x := range []struct {
		name    string
		from    int64
		bytes   []byte
		values  []string
		next    int64
		corrupt string
		err     string
	}{
		{"nothing", 10, nil, nil, 10, "", ""},
		{"whole batches", 10, join(a, b, c), []string{"a0", "a1", "a2", "b0", "c0", "c1"}, 16, "", ""},
		{"from the middle of a batch", 12, join(a, b), []string{"a2", "b0"}, 14, "", ""},
		{"batches before the offset are left out", 14, join(a, b, c), []string{"c0", "c1"}, 16, "", ""},
		{"a gap is no damage", 10, join(a, c), []string{"a0", "a1", "a2", "c0", "c1"}, 16, "", ""},
		{"the last batch is cut in its records", 10, join(a, c[:len(c)-1]), []string{"a0", "a1", "a2"}, 13, "", ""},
		{"the last batch is cut in its header", 10, join(a, c[:20]), []string{"a0", "a1", "a2"}, 13, "", ""},
		{"the last batch is cut in its size", 10, join(a, c[:3]), []string{"a0", "a1", "a2"}, 13, "", ""},
		{"the first batch is cut", 10, a[:len(a)-1], nil, 10, "batch at offset 10: the first batch is cut short: 99 bytes", ""},
		{"wrong CRC", 10, join(a, spoiled(b, 64), c), []string{"a0", "a1", "a2"}, 13, "batch at offset 13: record: ", ""},
		{"wrong magic", 10, join(a, spoiled(b, 16)), []string{"a0", "a1", "a2"}, 13, "batch at offset 13: record: ", ""},
		{"a negative size", 10, join(a, spoiled(b, 8)), []string{"a0", "a1", "a2"}, 13, "batch at offset 13: record: ", ""},
		{"records that do not parse under a right CRC", 10, join(a, broken), []string{"a0", "a1", "a2"}, 13, "batch at offset 13: record: ", ""},
		{"a control batch is passed over", 10, join(a, batchOf(13, record.Control|record.Transactional, "marker"), c), []string{"a0", "a1", "a2", "c0", "c1"}, 16, "", ""},
		{"offsets that go back are handed on", 10, join(a, batchOf(11, 0, "again")), []string{"a0", "a1", "a2", "again"}, 13, "", ""},
		{"a compressed batch before the offset", 14, join(a, compressed, c), []string{"c0", "c1"}, 16, "", ""},
		{"a compressed batch", 10, join(a, compressed), []string{"a0", "a1", "a2", "b0"}, 14, "", ""},
		{"every codec", 11, all, []string{"a1", "a2", "b0", "c0", "c1", "d0"}, 17, "", ""},
		{"what is no stream of its codec", 10, join(a, garbled, c), []string{"a0", "a1", "a2"}, 13, "batch at offset 13: codec: zstd: ", ""},
		{"a codec that does not exist", 10, join(a, strange, c), []string{"a0", "a1", "a2"}, 13, "batch at offset 13: record: bad codec", ""},
		{"a batch that is too large uncompressed", 10, join(a, large, c), []string{"a0", "a1", "a2"}, 13, "", "MESSAGE_TOO_LARGE"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := Fetched{Position: Position{"t", 0, x.from}, Next: x.from}
			f.read(x.bytes, 1<<20)
			var values []string
			for _, r := range f.Records {
				values = append(values, string(r.Value))
				assert.Equal(t, []record.RecordHeader{{Key: "h", Value: []byte("x")}}, r.Headers)
				assert.Equal(t, int64(1000), r.Timestamp)
			}
			assert.Equal(t, x.values, values)
			assert.Equal(t, x.next, f.Next)
			assert.Equal(t, x.err, NameOf(f.Err))
			if x.corrupt == "" {
				assert.Empty(t, f.Corrupt)
			} else {
				assert.Contains(t, f.Corrupt, x.corrupt)
			}
		})
	}
}

// Small batches that are large uncompressed are read as far as the bound; the rest is left to the next fetch.
func TestFetchStopsAtItsBound(t *testing.T) {
	var all []byte
	for i := range int64(4) {
		all = append(all, codec.Compress(nil, batchOf(i, 0, strings.Repeat("x", 600_000)), record.Zstd, 3)...)
	}
	f := Fetched{Position: Position{"t", 0, 0}}
	f.read(all, 1<<20)
	require.Len(t, f.Records, 2)
	require.Equal(t, int64(2), f.Next)
	require.Empty(t, f.Corrupt)
	require.NoError(t, f.Err)
	g := Fetched{Position: Position{"t", 0, f.Next}, Next: f.Next}
	g.read(all, 1<<20)
	require.Len(t, g.Records, 2)
	require.Equal(t, int64(4), g.Next)
}

// Every single flipped bit of a served batch is seen, unless it is outside what the CRC covers and only says where the
// batch stands.
func TestEveryFlippedByteIsSeen(t *testing.T) {
	a, b := batchOf(0, 0, "a0", "a1"), batchOf(2, 0, "b0")
	for at := 8; at < len(a); at++ {
		if at >= 12 && at < 16 {
			continue // the leader epoch, which the broker writes
		}
		f := Fetched{Position: Position{"t", 0, 0}}
		f.read(join(spoiled(a, at), b), 1<<20)
		assert.NotEmpty(t, f.Corrupt, "byte %d", at)
		assert.Empty(t, f.Records, "byte %d", at)
	}
}

func TestFetchFromABroker(t *testing.T) {
	f := newFake(t, 2)
	c := f.client()
	p, err := c.NewProducer(ProducerConfig{Acks: kafka.AcksAll})
	require.NoError(t, err)
	require.Equal(t, OK, produce(p, 0, "a", "b").Outcome)
	require.Equal(t, OK, produce(p, 1, "c").Outcome)

	got := c.Fetch(ctx, FetchConfig{MaxWait: -1}, []Position{{"t", 1, 0}, {"t", 0, 1}, {"other", 0, 0}, {"t", 7, 0}})
	require.Len(t, got, 4)
	assert.Equal(t, "c", string(got[0].Records[0].Value))
	assert.Equal(t, int64(1), got[0].Next)
	assert.Equal(t, int64(1), got[0].HighWatermark)
	assert.Equal(t, "b", string(got[1].Records[0].Value))
	assert.Equal(t, int64(1), got[1].Records[0].Offset)
	assert.Equal(t, "UNKNOWN_TOPIC_OR_PARTITION", NameOf(got[2].Err))
	assert.Equal(t, "UNKNOWN_TOPIC_OR_PARTITION", NameOf(got[3].Err))
	for _, g := range got[2:] {
		assert.Equal(t, Failed, OutcomeOf(g.Err))
	}
	far := c.Fetch(ctx, FetchConfig{MaxWait: -1}, []Position{{"t", 0, 9}})
	assert.Equal(t, "OFFSET_OUT_OF_RANGE", NameOf(far[0].Err))

	latest, err := c.ListOffset(ctx, "t", 0, Latest)
	require.NoError(t, err)
	assert.Equal(t, int64(2), latest.Offset)
	earliest, err := c.ListOffset(ctx, "t", 0, Earliest)
	require.NoError(t, err)
	assert.Zero(t, earliest.Offset)
}

// A read that got no answer has failed: it has no effect that could be in doubt.
func TestALostReadHasFailed(t *testing.T) {
	f := newFake(t, 1)
	c := f.client()
	_, err := c.ListOffset(ctx, "t", 0, Latest)
	require.NoError(t, err)
	f.stop()
	got := c.Fetch(ctx, FetchConfig{MaxWait: -1}, []Position{{"t", 0, 0}})
	assert.Equal(t, Failed, OutcomeOf(got[0].Err))
	_, err = c.ListOffset(ctx, "t", 0, Latest)
	assert.Equal(t, Failed, OutcomeOf(err))
}

// A consumer moves on behind what it read, and lets the partitions that got nothing come first.
func TestConsumerMovesOn(t *testing.T) {
	f := newFake(t, 2)
	c := f.client()
	p, err := c.NewProducer(ProducerConfig{Acks: kafka.AcksAll})
	require.NoError(t, err)
	require.Equal(t, OK, produce(p, 0, "a", "b").Outcome)
	co := c.NewConsumer(FetchConfig{MaxWait: -1})
	co.Assign(Position{"t", 0, 0})
	co.Assign(Position{"t", 1, 0})
	assert.Len(t, co.Poll(ctx)[0].Records, 2)
	assert.Equal(t, []Position{{"t", 1, 0}, {"t", 0, 2}}, co.positions)
	require.Equal(t, OK, produce(p, 1, "c").Outcome)
	assert.Len(t, co.Poll(ctx)[0].Records, 1)
	co.Assign(Position{"t", 0, 1})
	co.Unassign("t", 1)
	got := co.Poll(ctx)
	require.Len(t, got, 1)
	assert.Equal(t, "b", string(got[0].Records[0].Value))
	f.stop()
	got = co.Poll(ctx)
	require.Len(t, got, 1)
	assert.Error(t, got[0].Err)
	assert.Equal(t, []Position{{"t", 0, 2}}, co.positions, "an error leaves the position alone")
}
