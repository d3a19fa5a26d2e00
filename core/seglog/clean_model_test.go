package seglog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
	"trialog/core/record"
)

// TestCleanWhile: appends, reads, retention and rounds at the same time; nobody ever sees anything but batches in order.
func TestCleanWhile(t *testing.T) {
	s := compacted()
	s.CleanupDelete, s.RetentionBytes = true, 6000
	l := open(t, newDir(t), testConfig(s), Start{})
	var readers sync.WaitGroup
	done := make(chan bool)
	var mu sync.Mutex
	var problems []error
	problem := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err)
	}
	rounds := func(fn func() error) {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := fn(); err != nil && !errors.Is(err, errMoved) {
					problem(err)
					return
				}
			}
		})
	}
	rounds(func() error { _, _, err := l.Clean(worker(), 1000); return err })
	rounds(func() error {
		_, err := l.Retain(0)
		return errors.Join(err, removed(l))
	})
	for range 2 {
		rounds(func() error {
			next := kafka.Offset(0)
			return l.Walk(l.StartOffset(), l.EndOffset(), func(h *record.Header, batch []byte) error {
				if h.BaseOffset < next {
					return fmt.Errorf("batch %d after %d", h.BaseOffset, next)
				}
				next = h.NextOffset()
				return nil
			})
		})
	}
	for i := range 400 {
		put(t, l, fmt.Sprintf("k%d=%d", i%50, i))
		if i%20 == 0 {
			commit(t, l)
		}
	}
	close(done)
	readers.Wait()
	require.Empty(t, problems)
	require.NoError(t, l.Close())
}

// TestCleanAgainstTheObvious: random appends, rounds, crashes, restarts and truncations; the model is a list of records
// and the newest value of each key.
func TestCleanAgainstTheObvious(t *testing.T) {
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := &cleanModel{dir: filepath.Join(root, fmt.Sprint(runs), "t-0"), sent: map[kafka.Offset]string{}}
		require.NoError(t, os.MkdirAll(filepath.Dir(m.dir), 0o755))
		m.cfg = testConfig(compacted())
		m.l = open(t, m.dir, m.cfg, Start{})
		defer func() { m.l.abandon(); os.RemoveAll(m.dir) }()
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			rapid.SampledFrom([]func(*rapid.T){m.append, m.append, m.append, m.commit, m.clean, m.restart, m.truncate}).Draw(t, "step")(t)
			m.check(t)
		}
	})
}

type cleanModel struct {
	dir  string
	cfg  Config
	l    *Log
	now  int64
	sent map[kafka.Offset]string // every record of the log as it was appended
}

func (m *cleanModel) append(t *rapid.T) {
	var words []string
	for range rapid.IntRange(1, 3).Draw(t, "records") {
		word := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key")
		if rapid.IntRange(0, 3).Draw(t, "value") > 0 {
			word += fmt.Sprintf("=%d", m.l.EndOffset())
		}
		words = append(words, word)
	}
	a := put(t, m.l, words...)
	for i, w := range words {
		m.sent[a.Base+int64(i)] = w
	}
}

func (m *cleanModel) commit(t *rapid.T) { commit(t, m.l) }

func (m *cleanModel) clean(t *rapid.T) {
	m.now += rapid.Int64Range(0, 1500).Draw(t, "ms")
	before := m.l.CleanedTo()
	clean(t, m.l, m.now)
	require.GreaterOrEqual(t, m.l.CleanedTo(), before)
}

func (m *cleanModel) restart(t *rapid.T) {
	start := Start{RecoveryPoint: m.l.FlushedTo(), LogStart: m.l.StartOffset(), HighWatermark: m.l.HighWatermark(), CleanedTo: m.l.CleanedTo()}
	if start.Clean = rapid.Bool().Draw(t, "clean"); start.Clean {
		require.NoError(t, m.l.Close())
	} else {
		m.l.abandon()
	}
	m.l = open(t, m.dir, m.cfg, start)
}

func (m *cleanModel) truncate(t *rapid.T) {
	to := rapid.Int64Range(m.l.HighWatermark(), m.l.EndOffset()).Draw(t, "to")
	require.NoError(t, m.l.Truncate(to))
	for o := range m.sent {
		if o >= m.l.EndOffset() {
			delete(m.sent, o)
		}
	}
}

// check: every record is one that was appended, at its offset; the newest record of each key is there, unless it is a
// tombstone, and no older one after a tombstone has gone.
func (m *cleanModel) check(t *rapid.T) {
	there := map[kafka.Offset]bool{}
	for _, word := range strings.Fields(records(t, m.l)) {
		var o kafka.Offset
		var rest string
		_, err := fmt.Sscanf(word, "%d:%s", &o, &rest)
		require.NoError(t, err)
		require.Equal(t, m.sent[o], rest)
		there[o] = true
	}
	newest, oldest := map[string]kafka.Offset{}, map[string]kafka.Offset{}
	for o, w := range m.sent {
		key, _, _ := strings.Cut(w, "=")
		if at, ok := newest[key]; !ok || o > at {
			newest[key] = o
		}
		if at, ok := oldest[key]; there[o] && (!ok || o < at) {
			oldest[key] = o
		}
	}
	for key, o := range newest {
		_, _, value := strings.Cut(m.sent[o], "=")
		require.True(t, there[o] || !value, "%s at %d is lost", key, o)
		if _, some := oldest[key]; !value && !there[o] {
			require.False(t, some, "%s is back, its tombstone at %d has gone", key, o)
		}
	}
}

// TestTimesOfEmptied: a batch that was emptied keeps its timestamp, but no search by time finds it.
func TestTimesOfEmptied(t *testing.T) {
	s := compacted()
	l := open(t, newDir(t), testConfig(s), Start{})
	defer l.abandon()
	for i, ts := range []int64{1000, 4000, 9000, 2000, 3000, 1500, 1600, 1700} {
		mustAppend(t, l, keyed(ts, -1, -1, []string{"a=1", "b=1", "k=1", "k=2", "c=1", "d=1", "e=1", "f=1"}[i]), 0)
	}
	commit(t, l)
	found, err := l.MaxTimestamp(8)
	require.NoError(t, err)
	require.Equal(t, Found{Offset: 2, Timestamp: 9000}, found)
	clean(t, l, 0)
	require.Equal(t, "0:a=1 1:b=1 3:k=2 4:c=1 5:d=1 6:e=1 7:f=1", records(t, l))
	found, err = l.MaxTimestamp(8)
	require.NoError(t, err)
	require.Equal(t, Found{Offset: 1, Timestamp: 4000}, found)
	for ts, want := range map[int64]kafka.Offset{1: 0, 2500: 1, 4000: 1, 4001: kafka.NoOffset, 9000: kafka.NoOffset} {
		found, err = l.OffsetForTimestamp(ts, 8)
		require.NoError(t, err)
		require.Equal(t, want, found.Offset, ts)
	}
}
