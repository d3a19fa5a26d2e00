package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/kafka"
	"trialog/core/record"
)

// eager are settings under which a log is compacted as soon as anything is dirty, a few small batches to a segment.
var eager = []string{"log.cleaner.backoff.ms=1", "internal.segment.bytes=400", "log.cleaner.min.cleanable.ratio=0"}

// keyed is a batch of one record.
func keyed(key, value string) []byte {
	var b record.Builder
	b.Reset(nil)
	b.Append(time.Now().UnixMilli(), []byte(key), []byte(value))
	return b.Finish()
}

// readKeyed reads a partition with whatever gaps it has: offset:key=value of each record.
func (c *client) readKeyed(topic string) (out []string) {
	c.t.Helper()
	for next := int64(0); ; {
		got := c.fetch(topic, 0, next)
		require.Zero(c.t, got.ErrorCode)
		if next >= got.HighWatermark {
			return out
		}
		before := next
		for it := record.NewBatches(got.RecordBatches); it.Next(); {
			h, err := record.Validate(it.Batch())
			require.NoError(c.t, err)
			require.GreaterOrEqual(c.t, h.LastOffset(), next)
			next = h.NextOffset()
			records := record.NewRecords(it.Batch())
			for records.Next() {
				r := records.Record()
				out = append(out, fmt.Sprintf("%d:%s=%.5s", r.Offset, r.Key, r.Value))
			}
		}
		require.Greater(c.t, next, before, "a consumer gets on")
	}
}

func (c *client) fill(topic string, n int) {
	c.t.Helper()
	for i := range n {
		require.Equal(c.t, kafka.ErrNone, code(c.produce(-1, topic, 0, keyed(fmt.Sprint("k", i%5), fmt.Sprint(i)))))
	}
}

// TestCompaction: the broker compacts a topic by itself; what is read has the newest value of each key at its offset; the
// first dirty offset is in Kafka's file, and a restart goes on from there.
func TestCompaction(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir, eager...)
	c := in.dial()
	c.create("t", 1, "cleanup.policy", "compact")
	c.fill("t", 100)
	log := in.table.TopicNamed("t").Partition(0).Log()
	eventually(t, "everything but the active segment is clean", func() bool { return len(c.readKeyed("t")) <= 15 })
	got := c.readKeyed("t")
	require.Equal(t, []string{"95:k0=95", "96:k1=96", "97:k2=97", "98:k3=98", "99:k4=99"}, got[len(got)-5:])
	require.EqualValues(t, 100, log.EndOffset())
	eventually(t, "the log says so", func() bool { return strings.Contains(in.log.String(), "msg=compacted partition=t-0") })
	status := in.Compaction()
	require.Empty(t, status.Uncleanable)
	require.NotEmpty(t, status.Done)
	in.end()
	cleaned := log.CleanedTo()
	text, err := os.ReadFile(filepath.Join(dir, "cleaner-offset-checkpoint"))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("0\n1\nt 0 %d\n", cleaned), string(text))

	in = start(t, dir, eager...)
	require.GreaterOrEqual(t, in.table.TopicNamed("t").Partition(0).Log().CleanedTo(), cleaned)
	got = in.dial().readKeyed("t")
	require.Equal(t, "99:k4=99", got[len(got)-1])
}

// TestL18LargeBatchAndUncleanableLog: a log with a damaged batch is left alone and said to be; the others go on, one of them
// with a batch that is larger than anything that its topic takes now.
func TestL18LargeBatchAndUncleanableLog(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir, "log.cleaner.backoff.ms=1", "internal.segment.bytes=400", "log.cleaner.enable=false")
	c := in.dial()
	c.create("bad", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0")
	c.create("good", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0", "internal.segment.bytes", "2000000")
	require.Equal(t, kafka.ErrNone, code(c.produce(-1, "good", 0, keyed("large", strings.Repeat("x", 900<<10)))))
	c.altered(kmsg.ConfigResourceTypeTopic, "good", "max.message.bytes=10240", "internal.segment.bytes")
	c.fill("bad", 50)
	c.fill("good", 50)
	require.Len(t, c.readKeyed("bad"), 50, "nothing is compacted while log.cleaner.enable is false")
	in.end()
	path := filepath.Join(dir, "bad-0", fmt.Sprintf("%020d.log", 0))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	raw[len(raw)-2] ^= 1
	require.NoError(t, os.WriteFile(path, raw, 0o644))

	in = start(t, dir, eager...)
	c = in.dial()
	eventually(t, "the other is clean", func() bool { return len(c.readKeyed("good")) <= 15 })
	require.Equal(t, "0:large=xxxxx", c.readKeyed("good")[0])
	eventually(t, "the damaged one is known", func() bool { return len(in.Compaction().Uncleanable) == 1 })
	bad := in.Compaction().Uncleanable[0]
	require.Equal(t, []any{"bad-0", dir}, []any{bad.Partition.String(), bad.Directory})
	require.Positive(t, bad.Bytes)
	require.ErrorContains(t, bad.Why, "bad crc")
	require.Equal(t, 1, strings.Count(in.log.String(), "cannot be compacted"))
	require.Equal(t, kafka.ErrNone, code(c.produce(-1, "bad", 0, keyed("more", "1"))), "it still takes records")
}

// TestCleanerSettings: a setting that changes wakes the cleaner.
func TestCleanerSettings(t *testing.T) {
	in := start(t, t.TempDir(), "log.cleaner.backoff.ms=3600000", "internal.segment.bytes=400", "log.cleaner.min.cleanable.ratio=0", "log.cleaner.threads=0")
	c := in.dial()
	c.create("t", 1, "cleanup.policy", "compact")
	c.fill("t", 50)
	require.Len(t, c.readKeyed("t"), 50)
	c.altered(kmsg.ConfigResourceTypeBroker, "", "log.cleaner.threads=2")
	eventually(t, "the log is clean", func() bool { return len(c.readKeyed("t")) <= 15 })
	c.altered(kmsg.ConfigResourceTypeBroker, "", "log.cleaner.dedupe.buffer.size=30", "log.cleaner.backoff.ms=1")
	c.fill("t", 50)
	eventually(t, "there is no room for a key", func() bool { return len(in.Compaction().Uncleanable) == 1 })
	c.altered(kmsg.ConfigResourceTypeBroker, "", "log.cleaner.dedupe.buffer.size=100000")
	eventually(t, "the log is clean again", func() bool { return len(c.readKeyed("t")) <= 15 })
}
