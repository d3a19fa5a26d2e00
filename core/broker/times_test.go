package broker

import (
	"testing"

	"trialog/core/kafka"
	"trialog/core/record"

	"github.com/stretchr/testify/require"
)

const (
	minuteMs = int64(60_000)
	hourMs   = 60 * minuteMs
	yearMs   = 365 * 24 * hourMs
)

// stamped is a batch whose records have these timestamps, ms from the present.
func stamped(in *instance, with func(*record.Builder), after ...int64) []byte {
	var b record.Builder
	b.Reset(nil)
	if with != nil {
		with(&b)
	}
	for _, ms := range after {
		b.Append(in.now().WallMs+ms, nil, []byte("x"))
	}
	return b.Finish()
}

// L14: what timestamps and retention do to each other. A client that lives in the future is refused, or its segments are
// kept if a topic says so; with LogAppendTime the broker's clock counts; an idle partition empties, too; and a second pass
// at the same time finds nothing. The end of the log stays.
func TestL14RetentionAndTimestamps(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	tenMinutes := []string{"retention.ms", "600000", "internal.segment.bytes", "1000"}
	c.create("refused", 1, tenMinutes...)
	c.create("kept", 1, append(tenMinutes, "message.timestamp.after.max.ms", "9223372036854775807")...)
	c.create("broker-time", 1, append(tenMinutes, "message.timestamp.after.max.ms", "9223372036854775807", "message.timestamp.type", "LogAppendTime")...)
	c.create("idle", 1, tenMinutes...)
	require.EqualValues(t, kafka.ErrInvalidTimestamp, c.produce(-1, "refused", 0, stamped(in, nil, 10*yearMs)).ErrorCode)
	for range 30 {
		require.Zero(t, c.produce(-1, "kept", 0, stamped(in, nil, 10*yearMs)).ErrorCode)
		require.Zero(t, c.produce(-1, "broker-time", 0, stamped(in, nil, 10*yearMs)).ErrorCode)
	}
	require.Zero(t, c.produce(-1, "idle", 0, stamped(in, nil, 0)).ErrorCode)
	later := in.now().WallMs + hourMs
	for name, want := range map[string]struct{ start, end int64 }{"refused": {0, 0}, "kept": {0, 30}, "broker-time": {30, 30}, "idle": {1, 1}} {
		p := in.table.TopicNamed(name).Partition(0)
		require.NoError(t, p.Log().Flush(p.Log().EndOffset()))
		_, err := p.Retain(later)
		require.NoError(t, err)
		again, err := p.Retain(later)
		require.NoError(t, err)
		require.Zero(t, again, "%s: a second pass", name)
		require.Equal(t, want.start, c.listOffset(name, 0, kafka.EarliestTimestamp).Offset, name)
		require.Equal(t, want.end, c.listOffset(name, 0, kafka.LatestTimestamp).Offset, name)
		require.Equal(t, want.end, c.produce(-1, name, 0, stamped(in, nil, 0)).BaseOffset, name)
	}
}

// L15: one record beyond message.timestamp.after.max.ms refuses its batch and is named; nothing is appended, and the
// sequence is not used up. The bound into the past is another.
func TestL15RecordTimestamps(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1, "message.timestamp.after.max.ms", "3600000", "message.timestamp.before.max.ms", "60000")
	producer := func(b *record.Builder) { b.SetProducer(7, 0, 0) }
	for _, odd := range []int64{2 * hourMs, -5 * minuteMs} {
		got := c.produce(-1, "t", 0, stamped(in, producer, 0, odd, 0))
		require.EqualValues(t, kafka.ErrInvalidTimestamp, got.ErrorCode)
		require.Len(t, got.ErrorRecords, 1)
		require.EqualValues(t, 1, got.ErrorRecords[0].RelativeOffset)
		require.Zero(t, c.listOffset("t", 0, kafka.LatestTimestamp).Offset)
	}
	got := c.produce(-1, "t", 0, stamped(in, producer, 0, hourMs-minuteMs, -minuteMs/2))
	require.Zero(t, got.ErrorCode)
	require.Zero(t, got.BaseOffset)
}
