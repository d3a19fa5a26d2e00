package broker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

var allCodecs = []record.Codec{record.Gzip, record.Snappy, record.LZ4, record.Zstd}

// compressed is the batch with its records compressed.
func compressed(c record.Codec, batch []byte) []byte {
	if c == record.Uncompressed {
		return batch
	}
	return codec.Compress(nil, batch, c, codec.DefaultLevel(c))
}

// repack is a batch with this header whose records are compressed anew after a change.
func repack(c record.Codec, batch []byte, change func(records []byte) []byte) []byte {
	head := bytes.Clone(batch[:record.HeaderSize])
	return compressed(c, append(head, change(bytes.Clone(batch[record.HeaderSize:]))...))
}

// Batches that came compressed are stored and served byte for byte, offset and epoch aside.
func TestCompressedAsItCame(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1)
	for i, k := range allCodecs {
		b := compressed(k, batch("one", strings.Repeat("two", 1000), "three"))
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, "t", 0, b)), k)
		got := c.fetch("t", 0, int64(3*i)).RecordBatches
		record.SetBaseOffset(b, int64(3*i))
		h, err := record.Validate(got)
		require.NoError(t, err)
		require.Equal(t, k, h.Codec())
		record.SetLeaderEpoch(b, h.LeaderEpoch)
		require.Equal(t, b, got)
	}
}

// Nothing about compressed records is taken on trust: W06 of the failure modes, behind a CRC that fits.
func TestHostileCompressedBatches(t *testing.T) {
	in := start(t, t.TempDir(), "trialog.uncompressed.batch.max.bytes=200000")
	c := in.dial()
	c.create("t", 1)
	c.create("keyed", 1, "cleanup.policy", "compact")
	good := batch("a", "b", "c")
	keyed := func(keys ...string) []byte {
		return batchOf(func(b *record.Builder) {
			for _, k := range keys {
				var key []byte
				if k != "" {
					key = []byte(k)
				}
				b.Append(time.Now().UnixMilli(), key, nil)
			}
		})
	}
	timed := func(ms ...int64) []byte {
		return batchOf(func(b *record.Builder) {
			for _, t := range ms {
				b.Append(t, nil, nil)
			}
		})
	}
	header := func(b []byte, at int, with ...byte) []byte {
		copy(b[at:], with)
		record.SetChecksum(b)
		return b
	}
	now := time.Now().UnixMilli()
	for _, k := range allCodecs {
		for _, tc := range []struct {
			name, topic string
			batch       []byte
			want        kafka.ErrorCode
			blames      int32 // a record; -1 none
		}{
			{"no stream", "t", header(compressed(k, good), 61, 0xde, 0xad, 0xbe, 0xef), kafka.ErrInvalidRecord, -1},
			{"stream of nothing", "t", repack(k, good, func([]byte) []byte { return nil }), kafka.ErrInvalidRecord, -1},
			{"a record too few", "t", repack(k, good, func(b []byte) []byte { return b[:len(b)*2/3] }), kafka.ErrInvalidRecord, -1},
			{"half a record", "t", repack(k, good, func(b []byte) []byte { return b[:len(b)-1] }), kafka.ErrInvalidRecord, -1},
			{"bytes left over", "t", repack(k, good, func(b []byte) []byte { return append(b, 0) }), kafka.ErrInvalidRecord, -1},
			{"a record too many", "t", repack(k, good, func(b []byte) []byte { return append(b, b[:len(b)/3]...) }), kafka.ErrInvalidRecord, -1},
			{"a size that lies", "t", repack(k, good, func(b []byte) []byte { b[0] += 2; return b }), kafka.ErrInvalidRecord, -1},
			{"a size of 1 GiB", "t", repack(k, good, func(b []byte) []byte { return append(binary.AppendVarint(nil, 1<<30), b[1:]...) }), kafka.ErrInvalidRecord, -1},
			{"offset deltas from 1", "t", repack(k, good, func(b []byte) []byte { b[3] = 2; return b }), kafka.ErrInvalidRecord, -1},
			{"count of the header", "t", header(header(compressed(k, good), 57, 0, 0, 0, 4), 23, 0, 0, 0, 3), kafka.ErrInvalidRecord, -1},
			{"a bomb", "t", compressed(k, batch(strings.Repeat("\x00", 190_000), strings.Repeat("\x00", 10_000))), kafka.ErrMessageTooLarge, -1},
			{"a base offset", "t", header(compressed(k, good), 0, 0, 0, 0, 0, 0, 0, 0, 1), kafka.ErrInvalidRecord, -1},
			{"control batch", "t", header(compressed(k, good), 21, 0, 0x20|byte(k)), kafka.ErrInvalidRecord, -1},
			{"log append time", "t", header(compressed(k, good), 21, 0, 0x08|byte(k)), kafka.ErrInvalidTimestamp, -1},
			{"far future", "t", compressed(k, timed(now, now+1<<40, now)), kafka.ErrInvalidTimestamp, 1},
			{"no key", "keyed", compressed(k, keyed("a", "b", "", "d", "")), kafka.ErrInvalidRecord, 2},
			{"no key, not compressed", "keyed", keyed("", "a"), kafka.ErrInvalidRecord, 0},
		} {
			t.Run(k.String()+"/"+tc.name, func(t *testing.T) {
				got := c.produce(-1, tc.topic, 0, tc.batch)
				require.Equal(t, tc.want, code(got), got.ErrorMessage)
				require.NotEmpty(t, *got.ErrorMessage)
				if tc.blames < 0 {
					require.Empty(t, got.ErrorRecords)
				} else {
					require.Equal(t, tc.blames, got.ErrorRecords[0].RelativeOffset)
					require.Equal(t, *got.ErrorMessage, *got.ErrorRecords[0].ErrorMessage)
				}
			})
		}
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, "keyed", 0, compressed(k, keyed("a", "b")))))
	}
	require.EqualValues(t, 0, c.listOffset("t", 0, -1).Offset)
}

// The bound of a compressed batch is that of its records, to the byte.
func TestUncompressedBound(t *testing.T) {
	b := batch(strings.Repeat("x", 5000))
	size := len(b) - record.HeaderSize
	for extra, want := range map[int]kafka.ErrorCode{0: kafka.ErrNone, -1: kafka.ErrMessageTooLarge} {
		in := start(t, t.TempDir(), fmt.Sprintf("trialog.uncompressed.batch.max.bytes=%d", size+extra))
		c := in.dial()
		c.create("t", 1)
		for _, k := range allCodecs {
			require.Equal(t, want, code(c.produce(-1, "t", 0, compressed(k, b))), "%s %d", k, extra)
		}
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, "t", 0, b)), "it bounds compressed batches only")
	}
}

// One record of a compressed batch has a bound of its own, to the byte; it is the topic's.
func TestUncompressedRecordBound(t *testing.T) {
	c := start(t, t.TempDir()).dial()
	b := batch("a", strings.Repeat("x", 5000), "b")
	const size = 5000 + 1 + 1 + 1 + 1 + 2 + 1 // attributes, both deltas, no key, the value's length, no headers
	for extra, want := range map[int]kafka.ErrorCode{0: kafka.ErrNone, -1: kafka.ErrInvalidRecord} {
		topic := fmt.Sprint("t", extra)
		c.create(topic, 1, "max.decompressed.message.bytes", fmt.Sprint(size+extra))
		for _, k := range allCodecs {
			require.Equal(t, want, code(c.produce(-1, topic, 0, compressed(k, b))), "%s %d", k, extra)
		}
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, topic, 0, b)), "it bounds compressed batches only")
	}
}

// The largest timestamp in the header becomes that of the records, and a lookup by time finds the record inside.
func TestCompressedTimes(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	now := time.Now().UnixMilli()
	for _, k := range allCodecs {
		topic := k.String()
		c.create(topic, 1, "message.timestamp.before.max.ms", "100000")
		b := batchOf(func(b *record.Builder) {
			for i := range int64(5) {
				b.Append(now+i*1000, nil, []byte{byte(i)})
			}
		})
		b = compressed(k, b)
		binary.BigEndian.PutUint64(b[35:], 5) // the largest timestamp
		record.SetChecksum(b)
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, topic, 0, b)))
		h, err := record.Validate(c.fetch(topic, 0, 0).RecordBatches)
		require.NoError(t, err)
		require.Equal(t, now+4000, h.MaxTimestamp)
		for i := range int64(5) {
			found := c.listOffset(topic, 0, now+i*1000-5)
			require.Equal(t, []int64{i, now + i*1000}, []int64{found.Offset, found.Timestamp}, k)
		}
		require.EqualValues(t, 4, c.listOffset(topic, 0, kafka.MaxTimestamp).Offset, k)
		old := batchOf(func(b *record.Builder) { b.Append(now, nil, nil); b.Append(now-200_000, nil, nil) })
		got := c.produce(-1, topic, 0, compressed(k, old))
		require.Equal(t, kafka.ErrInvalidTimestamp, code(got))
		require.EqualValues(t, 1, got.ErrorRecords[0].RelativeOffset)
	}
}

// L15, P10: a batch that is refused as a whole leaves the producer's sequence where it was, and names the record.
func TestRefusedBatchConsumesNoSequence(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	now := time.Now().UnixMilli()
	late := batchOf(func(b *record.Builder) {
		b.SetProducer(7, 0, 0)
		for _, ms := range []int64{now, now + 2*3_600_000, now} {
			b.Append(ms, []byte("k"), nil)
		}
	})
	for _, k := range append([]record.Codec{record.Uncompressed}, allCodecs...) {
		topic := k.String()
		c.create(topic, 1, "max.message.bytes", "5000")
		got := c.produce(-1, topic, 0, compressed(k, bytes.Clone(late)))
		require.Equal(t, kafka.ErrInvalidTimestamp, code(got))
		require.EqualValues(t, 1, got.ErrorRecords[0].RelativeOffset)
		large := idempotent(7, 0, 0, string(noise(10_000)))
		require.Equal(t, kafka.ErrMessageTooLarge, code(c.produce(-1, topic, 0, compressed(k, large))))
		require.EqualValues(t, 0, c.listOffset(topic, 0, -1).Offset)
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, topic, 0, compressed(k, idempotent(7, 0, 0, "half")))))
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, topic, 0, compressed(k, idempotent(7, 0, 1, "half")))))
	}
}

// noise does not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(b)
	return b
}

// F12: the first record at or after a time, in the order of the log, inside batches too.
func TestLookupInsideBatches(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	for _, k := range append([]record.Codec{record.Uncompressed}, allCodecs...) {
		for order, ms := range map[string][]int64{"in-order": {2, 4, 6, 8}, "mixed": {2, 8, 4, 6}} {
			topic := k.String() + order
			c.create(topic, 1)
			b := compressed(k, batchOf(func(b *record.Builder) {
				for _, t := range ms {
					b.Append(t, nil, nil)
				}
			}))
			require.Equal(t, kafka.ErrNone, code(c.produce(-1, topic, 0, b)))
			for ts, want := range map[int64]int64{2: 0, 3: 1, 4: 1, 5: map[string]int64{"in-order": 2, "mixed": 1}[order], 9: -1} {
				require.Equal(t, want, c.listOffset(topic, 0, ts).Offset, "%s at %d", topic, ts)
			}
		}
	}
}

// W05: a bomb costs the process next to nothing, whether it is refused or, under a bound that lets it pass, stored and
// searched: nothing holds it uncompressed.
func TestBombsCostNoMemory(t *testing.T) {
	bomb := batch(strings.Repeat("\x00", 60<<20))
	payloads := map[record.Codec][]byte{}
	for _, k := range allCodecs {
		if k != record.Snappy { // it shrinks zeros to a twentieth only, over max.message.bytes
			payloads[k] = compressed(k, bomb)
		}
	}
	bomb = nil
	for bound, want := range map[string]kafka.ErrorCode{"50000000": kafka.ErrMessageTooLarge, "100000000": kafka.ErrNone} {
		in := start(t, t.TempDir(), "trialog.uncompressed.batch.max.bytes="+bound)
		c := in.dial()
		c.create("t", 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, k := range allCodecs {
			if payloads[k] == nil {
				continue
			}
			require.Equal(t, want, code(c.produce(-1, "t", 0, payloads[k])), k)
			require.Zero(t, c.listOffset("t", 0, time.Now().UnixMilli()+1_000_000).ErrorCode)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(30<<20))
	}
}

// Consumers before Fetch 10 cannot read zstd; a topic that stores it tells them so, as Kafka.
func TestZstdNeedsFetch10(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "compression.type", "zstd")
	require.Equal(t, kafka.ErrNone, code(c.produce(-1, "t", 0, batch("x"))))
	for version, want := range map[int16]kafka.ErrorCode{4: kafka.ErrUnsupportedCompressionType, 9: kafka.ErrUnsupportedCompressionType, 10: kafka.ErrNone} {
		req := fetchRequest("t", 0, 0)
		req.Version = version
		p := ask[*kmsg.FetchResponse](c, req).Topics[0].Partitions[0]
		require.Equal(t, want, kafka.ErrorCode(p.ErrorCode), version)
		require.Equal(t, want != kafka.ErrNone, len(p.RecordBatches) == 0)
	}
}

// A topic's compression.type is what batches are stored with: they are compressed anew when they came otherwise, and
// only then, and hold the same records under the same producer's numbers.
func TestCompressionType(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	values := []string{"one", strings.Repeat("two", 30_000), "", "four"}
	for _, target := range []string{"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"} {
		for _, stamp := range []string{"CreateTime", "LogAppendTime"} {
			topic := target + "-" + stamp
			c.create(topic, 1, "compression.type", target, "message.timestamp.type", stamp)
			for i, came := range append([]record.Codec{record.Uncompressed}, allCodecs...) {
				sent := compressed(came, idempotent(7, 0, int32(4*i), values...))
				base := int64(4 * i)
				for range 2 { // the second is recognised, whatever became of the first
					got := c.produce(-1, topic, 0, bytes.Clone(sent))
					require.Equal(t, kafka.ErrNone, code(got), "%s to %s: %v", came, target, got.ErrorMessage)
					require.Equal(t, base, got.BaseOffset)
				}
				stored := c.fetch(topic, 0, base).RecordBatches
				h, err := record.Validate(stored)
				require.NoError(t, err)
				before, _ := record.ParseHeader(sent)
				want := came
				if target == "uncompressed" {
					want = record.Uncompressed
				} else if target != "producer" {
					want = map[string]record.Codec{"gzip": record.Gzip, "snappy": record.Snappy, "lz4": record.LZ4, "zstd": record.Zstd}[target]
				}
				require.Equal(t, want, h.Codec())
				require.Equal(t, []any{int64(7), int16(0), int32(4 * i), int32(4), base, stamp == "LogAppendTime"},
					[]any{h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.Count, h.BaseOffset, h.IsLogAppendTime()})
				if want == came {
					require.Equal(t, sent[record.HeaderSize:], stored[record.HeaderSize:], "as it came")
				}
				if stamp == "CreateTime" {
					require.Equal(t, before.MaxTimestamp, h.MaxTimestamp)
				}
				it, err := codec.Records(stored, 1<<30)
				require.NoError(t, err)
				for n := 0; it.Next(); n++ {
					require.Equal(t, values[n], string(it.Record().Value))
					require.Equal(t, base+int64(n), it.Record().Offset)
				}
				require.NoError(t, it.Err())
			}
			require.EqualValues(t, 20, c.listOffset(topic, 0, -1).Offset)
		}
	}
}

// max.message.bytes bounds what is sent and what is stored (Kafka checks both); what is wrong with the records goes first.
func TestSizeAfterCompression(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	big := batch(strings.Repeat("x", 20_000))
	c.create("plain", 1, "compression.type", "uncompressed", "max.message.bytes", "10000")
	c.create("gzip", 1, "compression.type", "gzip", "max.message.bytes", "10000")
	for _, k := range allCodecs {
		require.Equal(t, kafka.ErrMessageTooLarge, code(c.produce(-1, "plain", 0, compressed(k, big))), "stored")
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, "gzip", 0, compressed(k, big))))
		cut := repack(k, big, func(b []byte) []byte { return b[:len(b)-1] })
		require.Equal(t, kafka.ErrInvalidRecord, code(c.produce(-1, "plain", 0, cut)))
	}
	require.Equal(t, kafka.ErrMessageTooLarge, code(c.produce(-1, "gzip", 0, big)), "sent")
	c.create("narrow", 1, "compression.type", "uncompressed", "internal.segment.bytes", "10000")
	require.Equal(t, kafka.ErrRecordListTooLarge, code(c.produce(-1, "narrow", 0, compressed(record.Zstd, big))))
	require.EqualValues(t, 0, c.listOffset("plain", 0, -1).Offset)
	require.EqualValues(t, 4, c.listOffset("gzip", 0, -1).Offset)
}

// Levels are Kafka's (KIP-390); a change of settings needs no restart elsewhere than in the topic.
func TestCompressionLevel(t *testing.T) {
	in := start(t, t.TempDir(), "compression.type=zstd", "compression.zstd.level=1")
	c := in.dial()
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d,", i*i)
	}
	c.create("one", 1)
	c.create("high", 1, "compression.zstd.level", "22")
	size := func(topic string) int {
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, topic, 0, batch(text.String()))))
		return len(c.fetch(topic, 0, 0).RecordBatches)
	}
	require.Less(t, size("high"), size("one"))
}

// A compressed batch costs no allocation for its records, recompressed or not.
func TestCompressionAllocations(t *testing.T) {
	in := start(t, t.TempDir())
	setup := in.dial()
	formatter := kmsg.NewRequestFormatter()
	few, many := make([]string, 10), make([]string, 2000)
	setup.create("gzip", 1, "compression.type", "gzip")
	setup.create("as-it-came", 1)
	for _, topic := range []string{"gzip", "as-it-came"} {
		one := allocsPerRequest(t, in, formatter.AppendRequest(nil, produceRequest(9, 1, topic, 0, compressed(record.Zstd, batch(few...))), 1))
		two := allocsPerRequest(t, in, formatter.AppendRequest(nil, produceRequest(9, 1, topic, 0, compressed(record.Zstd, batch(many...))), 1))
		t.Logf("%s: %.1f allocations with 10 records, %.1f with 2000", topic, one, two)
		require.LessOrEqual(t, two, one+20, topic) // under the race detector, pools forget at random
		require.Less(t, two, 50.0, topic)
	}
}
