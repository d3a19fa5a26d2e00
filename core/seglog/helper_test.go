package seglog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
)

// tb is what *testing.T, *testing.B and *rapid.T have in common.
type tb interface {
	require.TestingT
	Helper()
	Fatalf(format string, args ...any)
}

var t0 = kafka.TopicPartition{Topic: "t", Partition: 0}

// small are settings under which a few records fill a segment and an index entry.
func small() config.Topic {
	return config.Topic{
		SegmentBytes: 1000, SegmentMs: 1 << 60, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 200, RetentionMs: -1, RetentionBytes: -1,
		CleanupDelete: true,
	}
}

// large are Kafka's defaults.
func large() config.Topic {
	s := small()
	s.SegmentBytes, s.IndexIntervalBytes, s.SegmentMs = 1<<30, 4096, 7*24*3600*1000
	return s
}

// trace collects events.
type trace struct {
	mu     sync.Mutex
	events []event.Event
}

func (r *trace) emit(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *trace) last(k event.Kind) (e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, have := range r.events {
		if have.Kind == k {
			e = have
		}
	}
	return e
}

func testConfig(s config.Topic) Config {
	return Config{Node: 1, Partition: t0, Settings: s, Rules: AllRules(), ProducerRules: producers.AllRules()}
}

func open(t tb, dir string, cfg Config, start Start) *Log {
	t.Helper()
	l, err := Open(dir, cfg, start)
	require.NoError(t, err)
	return l
}

// abandon drops a log as a killed process does: files keep what was written, nothing else is done.
func (l *Log) abandon() {
	l.background.Wait()
	for _, s := range *l.segments.Load() {
		s.forget()
	}
}

// batch makes a batch of n records with size bytes of value each, at timestamp ts.
func batch(n, size int, ts int64) []byte { return batchOf(n, size, ts, -1, -1, -1) }

func batchOf(n, size int, ts int64, pid kafka.ProducerID, epoch kafka.ProducerEpoch, seq kafka.Sequence) []byte {
	var b record.Builder
	b.Reset(nil)
	if pid >= 0 {
		b.SetProducer(pid, epoch, seq)
	}
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(ts) + byte(i)
	}
	for i := range n {
		b.Append(ts+int64(i), nil, value)
	}
	return b.Finish()
}

// at stamps a batch like a leader.
func at(b []byte, offset kafka.Offset, epoch kafka.LeaderEpoch) []byte {
	record.SetBaseOffset(b, offset)
	record.SetLeaderEpoch(b, epoch)
	return b
}

func now(ms int64) kafka.Now { return kafka.Now{WallMs: ms, MonoNs: ms * 1e6} }

func mustAppend(t tb, l *Log, b []byte, epoch kafka.LeaderEpoch) Appended {
	t.Helper()
	h, err := record.ParseHeader(b)
	require.NoError(t, err)
	a, err := l.Append(b, epoch, now(h.MaxTimestamp))
	require.NoError(t, err)
	require.Equal(t, kafka.ErrNone, a.Code)
	return a
}

// fill appends n batches of two records, at timestamps 1000, 1010 ...
func fill(t tb, l *Log, n int) {
	t.Helper()
	for range n {
		mustAppend(t, l, batch(2, 30, 1000+5*l.EndOffset()), 0)
	}
}

// contents are the batches as Walk gives them, from the start offset on.
func contents(t tb, l *Log) (out []string) {
	t.Helper()
	err := l.Walk(l.StartOffset(), l.EndOffset(), func(h *record.Header, _ []byte) error {
		out = append(out, fmt.Sprintf("%d+%d e%d ts=%d crc=%08x", h.BaseOffset, h.LastOffsetDelta, h.LeaderEpoch, h.MaxTimestamp, h.CRC))
		return nil
	})
	require.NoError(t, err)
	return out
}

// files are the names in a directory.
func files(t tb, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func readFile(t tb, parts ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return b
}

func writeFile(t tb, data []byte, parts ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(parts...), data, 0o644))
}

// copyDir is a fork of a partition's directory.
func copyDir(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "t-0")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

func newDir(t *testing.T) string { return filepath.Join(t.TempDir(), "t-0") }

// readAll reads a slice to its end and closes it.
func readAll(t tb, s Slice) []byte {
	t.Helper()
	b := make([]byte, s.Len())
	n, err := s.ReadAt(b, 0)
	require.NoError(t, err)
	s.Close()
	return b[:n]
}

// removed removes all that was deleted.
func removed(l *Log) error {
	_, err := l.RemoveDeleted(1 << 62)
	return err
}
