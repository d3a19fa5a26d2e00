package broker

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/record"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// idempotent makes a batch of a producer.
func idempotent(id int64, epoch int16, seq int32, values ...string) []byte {
	return batchOf(func(b *record.Builder) { b.SetProducer(id, epoch, seq) }, values...)
}

func code(p kmsg.ProduceResponseTopicPartition) kafka.ErrorCode { return kafka.ErrorCode(p.ErrorCode) }

// Every served version of Produce answers with the offset of the first record,
// for acks 1 and all; with acks 0 it does not answer.
func TestProduceVersions(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1)
	next := int64(0)
	for version := int16(3); version <= 11; version++ {
		for _, acks := range []int16{1, -1} {
			resp := ask[*kmsg.ProduceResponse](c, produceRequest(version, acks, "t", 0, batch("a", "b")))
			p := resp.Topics[0].Partitions[0]
			require.Equal(t, kafka.ErrNone, code(p))
			require.Equal(t, next, p.BaseOffset)
			require.EqualValues(t, -1, p.LogAppendTime)
			if version >= 5 {
				require.EqualValues(t, 0, p.LogStartOffset)
			}
			next += 2
		}
		c.send(produceRequest(version, 0, "t", 0, batch("c")))
		c.sent = nil
		next++
	}
	require.Equal(t, next, c.listOffset("t", 0, -1).Offset)
}

func TestProduceRefusals(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1)
	require.Equal(t, kafka.ErrInvalidRequiredAcks, code(c.produce(2, "t", 0, batch("x"))))
	require.Equal(t, kafka.ErrInvalidRequiredAcks, code(c.produce(-2, "t", 0, batch("x"))))
	require.Equal(t, kafka.ErrUnknownTopicOrPartition, code(c.produce(1, "t", 1, batch("x"))))
	require.Equal(t, kafka.ErrUnknownTopicOrPartition, code(c.produce(1, "t", -1, batch("x"))))
	require.Equal(t, kafka.ErrUnknownTopicOrPartition, code(c.produce(1, "u", 0, batch("x"))))
	zstd := compressed(record.Zstd, batch("x"))
	old := ask[*kmsg.ProduceResponse](c, produceRequest(6, 1, "t", 0, zstd)).Topics[0].Partitions[0]
	require.Equal(t, kafka.ErrUnsupportedCompressionType, code(old))
	require.Equal(t, kafka.ErrNone, code(c.produce(1, "t", 0, zstd)), "a compressed batch passes as it came")
	require.EqualValues(t, 1, c.listOffset("t", 0, -1).Offset)
}

// acks=0 with an error closes the connection, so that the producer refreshes its
// metadata.
func TestAcksNone(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1)
	c.send(produceRequest(9, 0, "t", 0, batch("a")))
	c.send(produceRequest(9, 0, "t", 0, batch("b")))
	c.sent = nil
	require.EqualValues(t, 2, c.listOffset("t", 0, -1).Offset, "the next answer on the connection is this one's")
	c.send(produceRequest(9, 0, "nobody", 0, batch("c")))
	c.closed()
}

// Sequences of an idempotent producer: a retried batch answers its original
// offset, a gap is refused, a higher epoch starts at 0 (KIP-98, P04).
func TestIdempotentProducer(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1)
	for _, tc := range []struct {
		batch []byte
		code  kafka.ErrorCode
		base  int64
	}{
		{idempotent(7, 0, 0, "a", "b"), kafka.ErrNone, 0},
		{idempotent(7, 0, 2, "c"), kafka.ErrNone, 2},
		{idempotent(7, 0, 0, "a", "b"), kafka.ErrNone, 0},
		{idempotent(7, 0, 2, "c"), kafka.ErrNone, 2},
		{idempotent(7, 0, 9, "gap"), kafka.ErrOutOfOrderSequenceNumber, -1},
		{idempotent(7, 1, 3, "new epoch"), kafka.ErrOutOfOrderSequenceNumber, -1},
		{idempotent(7, 1, 0, "d"), kafka.ErrNone, 3},
		{idempotent(7, 0, 3, "old epoch"), kafka.ErrInvalidProducerEpoch, -1},
		{idempotent(8, 0, 5, "unknown id"), kafka.ErrNone, 4},
	} {
		got := c.produce(-1, "t", 0, tc.batch)
		require.Equal(t, tc.code, code(got), "%s", values(t, tc.batch))
		require.Equal(t, tc.base, got.BaseOffset)
	}
	in.crash()
	in = start(t, dir)
	c = in.dial()
	got := c.produce(-1, "t", 0, idempotent(7, 1, 0, "d"))
	require.Equal(t, kafka.ErrNone, code(got))
	require.EqualValues(t, 3, got.BaseOffset, "the window survives a crash")
	require.Equal(t, []string{"0=a", "1=b", "2=c", "3=d", "4=unknown id"}, c.readAll("t", 0))
}

// Rule producers.detect-duplicates.
func TestDuplicatesWithRuleOff(t *testing.T) {
	in := start(t, t.TempDir(), "trialog.rules.off=producers.detect-duplicates")
	c := in.dial()
	c.create("t", 1)
	for i := range int64(2) {
		got := c.produce(-1, "t", 0, idempotent(7, 0, 0, "a"))
		require.Equal(t, kafka.ErrNone, code(got))
		require.Equal(t, i, got.BaseOffset)
	}
}

// No segment can hold a batch that is larger than segment.bytes: RECORD_LIST_TOO_LARGE, as Kafka.
func TestBatchOverSegmentBytes(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "internal.segment.bytes", "200")
	require.Equal(t, kafka.ErrNone, code(c.produce(-1, "t", 0, batch("fits"))))
	require.Equal(t, kafka.ErrRecordListTooLarge, code(c.produce(-1, "t", 0, batch(string(make([]byte, 200))))))
	require.Equal(t, []string{"0=fits"}, c.readAll("t", 0))
}

// The header of a batch may not lie about its records' times: bounds hold for the records, and a lookup by time finds
// them (as Kafka's LogValidator, which writes the largest into the header).
func TestHeaderTimesAreTheRecords(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "message.timestamp.after.max.ms", "1000")
	lie := func(ts int64) []byte {
		b := batchOf(func(b *record.Builder) { b.Append(5, nil, []byte("x")); b.Append(ts, nil, []byte("y")) })
		binary.BigEndian.PutUint64(b[35:], 5) // the largest timestamp
		record.SetChecksum(b)
		return b
	}
	now := time.Now().UnixMilli()
	require.Equal(t, kafka.ErrInvalidTimestamp, code(c.produce(-1, "t", 0, lie(now+60_000))))
	require.Equal(t, kafka.ErrNone, code(c.produce(-1, "t", 0, lie(now))))
	require.EqualValues(t, 1, c.listOffset("t", 0, now).Offset)
	require.EqualValues(t, now, c.listOffset("t", 0, now).Timestamp)
}

// The answer to a duplicate has the time of the first copy, which is what readers see; a refusal has none.
func TestLogAppendTimeOfDuplicate(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "message.timestamp.type", "LogAppendTime")
	first := c.produce(-1, "t", 0, idempotent(7, 0, 0, "a"))
	eventually(t, "it is later", func() bool { return time.Now().UnixMilli() > first.LogAppendTime })
	again := c.produce(-1, "t", 0, idempotent(7, 0, 0, "a"))
	require.Equal(t, kafka.ErrNone, code(again))
	require.Equal(t, first.LogAppendTime, again.LogAppendTime)
	refused := c.produce(-1, "t", 0, idempotent(7, 0, 9, "gap"))
	require.Equal(t, kafka.ErrOutOfOrderSequenceNumber, code(refused))
	require.EqualValues(t, -1, refused.LogAppendTime)
}

func TestLogAppendTime(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "message.timestamp.type", "LogAppendTime")
	before := time.Now().UnixMilli()
	old := batchOf(func(b *record.Builder) { b.Append(5, nil, []byte("x")) })
	got := c.produce(-1, "t", 0, old)
	require.GreaterOrEqual(t, got.LogAppendTime, before)
	found := c.fetch("t", 0, 0)
	h, err := record.Validate(found.RecordBatches)
	require.NoError(t, err)
	require.True(t, h.IsLogAppendTime())
	require.Equal(t, got.LogAppendTime, h.MaxTimestamp)
	require.EqualValues(t, 0, c.listOffset("t", 0, before).Offset)
}

// Requests of one connection are appended in their order, and answered in it,
// with many in flight and every ack waiting for an fsync (P03, W09).
func TestPipelinedProduce(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "flush.messages", "1")
	const n = 200
	go func() {
		for i := range n {
			c.next++
			_, _ = c.conn.Write(formatter.AppendRequest(nil, produceRequest(9, -1, "t", 0, batch(fmt.Sprint(i))), int32(i+2)))
		}
	}()
	for i := range n {
		c.sent = []kmsg.Request{produceRequest(9, -1, "t", 0, nil)}
		body := c.frame()
		resp := kmsg.NewPtrProduceResponse()
		resp.Version = 9
		require.NoError(t, resp.ReadFrom(body[5:]))
		require.EqualValues(t, i, resp.Topics[0].Partitions[0].BaseOffset)
	}
	got := in.dial().readAll("t", 0)
	require.Len(t, got, n)
	for i, v := range got {
		require.Equal(t, fmt.Sprintf("%d=%d", i, i), v)
	}
}

// An answer that is ready but queued behind one that waits keeps the bytes it
// names its topic by, although the connection reads on meanwhile.
func TestQueuedAnswerKeepsItsNames(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("first-topic", 1)
	c.create("other-names", 1)
	c.create("empty", 1)
	wait := fetchRequest("empty", 0, 0)
	wait.MaxWaitMillis = 1 << 30
	c.send(wait)
	const n = 16
	for i := range n {
		c.send(produceRequest(9, 1, []string{"first-topic", "other-names"}[i%2], 0, batch(fmt.Sprint(i))))
	}
	admin := in.dial()
	eventually(t, "all appended", func() bool { return in.table.TopicNamed("other-names").Partition(0).Log().EndOffset() == n/2 })
	admin.produce(1, "empty", 0, batch("x"))
	require.Equal(t, "empty", c.read().(*kmsg.FetchResponse).Topics[0].Topic)
	for i := range n {
		got := c.read().(*kmsg.ProduceResponse).Topics[0]
		require.Equal(t, []string{"first-topic", "other-names"}[i%2], got.Topic, i)
		require.EqualValues(t, i/2, got.Partitions[0].BaseOffset)
	}
}

// Under flush.messages=1 no answer leaves before its fsync, and appenders share
// fsyncs.
func TestFlushedAcks(t *testing.T) {
	in := start(t, t.TempDir())
	setup := in.dial()
	setup.create("t", 1, "flush.messages", "1")
	var wg sync.WaitGroup
	const producers, each = 16, 8
	for i := range producers {
		c := in.dial()
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range each {
				req := produceRequest(9, []int16{1, -1}[i%2], "t", 0, batch(fmt.Sprint(i, j)))
				c.send(req)
				base := c.read().(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset
				if in.table.TopicNamed("t").Partition(0).Log().FlushedTo() <= base {
					t.Errorf("offset %d was acked before it was durable", base)
				}
			}
		}()
	}
	wg.Wait()
	require.Len(t, setup.readAll("t", 0), producers*each)
	flushes := 0
	for _, e := range in.eventsOf(event.Flush) {
		if e.Topic == "t" {
			flushes++
		}
	}
	require.Positive(t, flushes)
	require.LessOrEqual(t, flushes, producers*each)
}

// A produce whose flush does not come in time answers REQUEST_TIMED_OUT; the
// record is there all the same, and its retry is recognised (P06, P12).
func TestProduceTimeout(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "flush.ms", "3600000")
	req := produceRequest(9, -1, "t", 0, idempotent(7, 0, 0, "late"))
	req.TimeoutMillis = 1
	got := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
	require.Equal(t, kafka.ErrRequestTimedOut, code(got))
	require.Empty(t, c.fetch("t", 0, 0).RecordBatches, "not visible before it is durable")
	require.EqualValues(t, 0, c.listOffset("t", 0, -1).Offset)
	again := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
	require.Equal(t, kafka.ErrRequestTimedOut, code(again))
	require.EqualValues(t, 1, in.table.TopicNamed("t").Partition(0).Log().EndOffset(), "appended once")
	require.Zero(t, in.table.TopicNamed("t").Partition(0).Watching())
}

// Rule broker.ack-after-append off: the answer leaves first, a crash loses the
// batch. With the rule on it does not.
func TestAckAfterAppend(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprint("off=", off), func(t *testing.T) {
			dir, overrides := t.TempDir(), []string{}
			if off {
				overrides = append(overrides, "trialog.rules.off=broker.ack-after-append")
			}
			in := start(t, dir, overrides...)
			c := in.dial()
			c.create("t", 1)
			for i := range int64(3) {
				got := c.produce(-1, "t", 0, batch("x"))
				require.Equal(t, kafka.ErrNone, code(got))
				require.Equal(t, i, got.BaseOffset)
			}
			in.crash()
			in = start(t, dir)
			if left := in.dial().readAll("t", 0); off {
				require.Less(t, len(left), 3, "acked before it was appended")
			} else {
				require.Len(t, left, 3)
			}
		})
	}
}

// message.timestamp.before.max.ms and after.max.ms bind every record of an uncompressed batch, in whatever order they
// come; a record without a timestamp is not judged.
func TestTimestampOfEachRecord(t *testing.T) {
	c := start(t, t.TempDir()).dial()
	c.create("t", 1, "message.timestamp.before.max.ms", "60000", "message.timestamp.after.max.ms", "60000")
	now := time.Now().UnixMilli()
	for _, row := range []struct {
		name  string
		times []int64
		want  kafka.ErrorCode
	}{
		{"all in time", []int64{now - 1000, now, now - 2000}, kafka.ErrNone},
		{"the first too old", []int64{now - 120_000, now}, kafka.ErrInvalidTimestamp},
		{"the last too old", []int64{now, now + 1, now - 120_000}, kafka.ErrInvalidTimestamp},
		{"the middle too new", []int64{now, now + 120_000, now}, kafka.ErrInvalidTimestamp},
		{"long before 1970", []int64{now, math.MinInt64 + 1}, kafka.ErrInvalidTimestamp},
		{"before 1970", []int64{-2}, kafka.ErrInvalidTimestamp},
		{"none", []int64{kafka.NoTimestamp}, kafka.ErrNone},
		{"some none", []int64{kafka.NoTimestamp, now}, kafka.ErrNone},
		{"none and too old", []int64{kafka.NoTimestamp, now - 120_000}, kafka.ErrInvalidTimestamp},
	} {
		b := batchOf(func(b *record.Builder) {
			for _, ms := range row.times {
				b.Append(ms, nil, []byte("v"))
			}
		})
		require.Equal(t, row.want, code(c.produce(-1, "t", 0, b)), row.name)
	}
}
