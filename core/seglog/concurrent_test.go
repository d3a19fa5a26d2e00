package seglog

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/record"
)

// TestReadersBesideAppends: appenders, readers, flushers and retention at once, over many rolls. A reader sees whole
// batches, in order, none beyond the end offset that it read with; with -race it shows that nothing else is shared.
func TestReadersBesideAppends(t *testing.T) {
	const appenders, each = 4, 200
	cfg := testConfig(small())
	cfg.Settings.SegmentBytes = 4000
	cfg.Settings.RetentionBytes = 20_000
	l := open(t, newDir(t), cfg, Start{})
	var wg sync.WaitGroup
	var done atomic.Bool
	problem := func(format string, args ...any) { t.Errorf(format, args...); done.Store(true) }
	for range appenders {
		wg.Go(func() {
			for i := 0; i < each && !done.Load(); i++ {
				a, err := l.Append(batch(1+i%3, 20, int64(1000+i)), 0, now(int64(i)))
				if err != nil {
					problem("append: %v", err)
				}
				if i%50 == 0 {
					if err := l.Flush(a.Next); err != nil {
						problem("flush: %v", err)
					}
				}
				l.SetHighWatermark(l.FlushedTo())
			}
		})
	}
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for next := l.StartOffset(); !done.Load(); {
				end := l.EndOffset()
				got, err := readOnceFrom(l, next, end)
				switch {
				case err == kafka.ErrOffsetOutOfRange && next < l.StartOffset():
					next = l.StartOffset()
				case err != nil:
					problem("read at %d below %d: %v", next, end, err)
				default:
					next = got
				}
			}
		})
	}
	readers.Go(func() {
		for !done.Load() {
			_, err := l.Retain(0)
			if err == nil {
				_, err = l.RemoveDeleted(0)
			}
			if err == nil {
				_, err = l.OffsetForTimestamp(1100, l.HighWatermark())
			}
			if err != nil && err != kafka.ErrOffsetOutOfRange {
				problem("retain: %v", err)
			}
		}
	})
	wg.Wait()
	done.Store(true)
	readers.Wait()
	require.NoError(t, l.Flush(l.EndOffset()))
	l.SetHighWatermark(l.FlushedTo())
	_, err := l.Retain(0) // the passes above may all have come too early
	require.NoError(t, err)
	require.Greater(t, l.StartOffset(), int64(0), "retention did something")
	require.NoError(t, l.Close())
}

func readOnceFrom(l *Log, next, end kafka.Offset) (kafka.Offset, error) {
	s, err := l.Read(next, 1000, end, true)
	if err != nil {
		return next, err
	}
	defer s.Close()
	buf := make([]byte, s.Len())
	if len(buf) == 0 {
		return next, nil
	}
	if _, err := s.ReadAt(buf, 0); err != nil {
		return next, err
	}
	it := record.NewBatches(buf)
	for it.Next() {
		h, err := record.Validate(it.Batch())
		switch {
		case err != nil:
			return next, err
		case h.BaseOffset > next || h.NextOffset() > end:
			return next, fmt.Errorf("batch [%d,%d)", h.BaseOffset, h.NextOffset())
		}
		next = h.NextOffset()
	}
	return next, it.Err()
}

// FuzzRecovery opens whatever bytes there may be in a segment: the log ends somewhere, and reads give batches that are
// right.
func FuzzRecovery(f *testing.F) {
	var good []byte
	for i := range int64(3) {
		good = append(good, at(batch(2, 10, 1000+i), 2*i, 0)...)
	}
	f.Add(good)
	f.Add(good[:len(good)-7])
	f.Add(append([]byte{}, make([]byte, 100)...))
	huge := append([]byte{}, good...)
	binary.BigEndian.PutUint32(huge[8:], 1<<31-1)
	f.Add(huge)
	negative := append([]byte{}, good...)
	binary.BigEndian.PutUint32(negative[8:], 1<<31)
	f.Add(negative)
	f.Fuzz(openAnything)
}

// TestMutatedBytes is the same for bytes that are nearly right.
func TestMutatedBytes(t *testing.T) {
	var good []byte
	for i := range int64(3) {
		good = append(good, at(batch(2, 10, 1000+i), 2*i, 0)...)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		raw := append([]byte{}, good...)
		for range 1 + rng.IntN(3) {
			raw[rng.IntN(len(raw))] = byte(rng.Uint32())
		}
		openAnything(t, raw)
	}
}

func openAnything(t *testing.T, raw []byte) {
	dir := newDir(t)
	open(t, dir, testConfig(small()), Start{}).abandon()
	writeFile(t, raw, dir, "00000000000000000000.log")
	for _, off := range []string{"", "recover-checks-crc", "recover-cuts-torn-tail"} {
		cfg := testConfig(small())
		cfg.Rules.Off(off)
		fork := copyDir(t, dir)
		l := open(t, fork, cfg, Start{})
		if off == "" {
			contents(t, l)
		}
		_, _ = l.OffsetForTimestamp(5, l.EndOffset())
		_, err := l.Append(batch(1, 1, 1), max(1<<30, l.LatestEpoch()), now(1))
		require.NoError(t, err)
		for offset := max(0, l.EndOffset()-50); offset < l.EndOffset(); offset++ {
			s, err := l.Read(offset, 100, l.EndOffset(), true)
			if err == nil {
				s.Close()
			}
		}
		l.abandon()
		open(t, fork, testConfig(small()), Start{Clean: true}).abandon()
	}
}
