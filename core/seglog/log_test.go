package seglog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

func TestAppendReadReopen(t *testing.T) {
	dir := newDir(t)
	var tr trace
	cfg := testConfig(small())
	cfg.Emit = tr.emit
	cfg.TopicID = kafka.TopicID{1, 2, 3}
	l := open(t, dir, cfg, Start{})
	require.Equal(t, "new", tr.last(event.Recover).Text)
	for i := range 40 {
		a := mustAppend(t, l, batchOf(3, 20, int64(1000+i), 7, 0, int32(3*i)), int32(i/20))
		require.Equal(t, Appended{Base: int64(3 * i), Next: int64(3*i + 3), Timestamp: int64(1002 + i)}, a)
	}
	require.Equal(t, event.Event{Kind: event.Append, Node: 1, Topic: "t", Epoch: 1, Base: 117, Next: 120, ProducerID: 7, BaseSeq: 117, LastSeq: 119},
		tr.last(event.Append))
	want := contents(t, l)
	require.Len(t, want, 40)
	require.Greater(t, len(*l.segments.Load()), 3)
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Close(), ErrClosed)
	_, err := l.Append(batch(1, 1, 1), 1, now(1))
	require.ErrorIs(t, err, ErrClosed)

	for _, clean := range []bool{true, false} {
		for _, point := range []kafka.Offset{0, 60, 120, 1120} {
			l = open(t, copyDir(t, dir), cfg, Start{Clean: clean, RecoveryPoint: point, HighWatermark: 1000})
			require.Equal(t, want, contents(t, l))
			require.Equal(t, kafka.Offset(120), l.EndOffset())
			require.Equal(t, kafka.Offset(120), l.HighWatermark())
			require.Equal(t, kafka.Offset(120), l.FlushedTo())
			require.Equal(t, int32(1), l.LatestEpoch())
			epoch, end := l.EpochEndOffset(0)
			require.Equal(t, []int64{0, 60}, []int64{int64(epoch), end})
			require.Equal(t, cfg.TopicID, l.TopicID())
			again := batchOf(3, 20, 1039, 7, 0, 117)
			a, err := l.Append(again, 1, now(1))
			require.NoError(t, err)
			require.Equal(t, Appended{Base: 117, Next: 120, Duplicate: true, Timestamp: 1041}, a)
			a, err = l.Append(batchOf(1, 1, 1, 7, 0, 121), 1, now(1))
			require.NoError(t, err)
			require.Equal(t, kafka.ErrOutOfOrderSequenceNumber, a.Code)
			mustAppend(t, l, batchOf(1, 1, 2000, 7, 0, 120), 1)
			require.NoError(t, l.Close())
		}
	}
	cfg.TopicID = kafka.TopicID{9}
	_, err = Open(dir, cfg, Start{})
	require.ErrorIs(t, err, ErrTopicID)
}

// TestReadEveryOffset compares Read with a linear scan of the files for every offset and limit, and several sizes.
func TestReadEveryOffset(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	for i := range 30 {
		mustAppend(t, l, batch(1+i%4, 10+i%7*20, int64(1000+i)), 0)
	}
	type place struct {
		base, next kafka.Offset
		seg        int
		raw        []byte
	}
	var all []place
	for i, s := range *l.segments.Load() {
		for it := record.NewBatches(readFile(t, s.path(layout.LogSuffix))); it.Next(); {
			h := it.Header()
			all = append(all, place{h.BaseOffset, h.NextOffset(), i, it.Batch()})
		}
	}
	scan := func(offset, limit kafka.Offset, maxBytes int, minOne bool) (out []byte) {
		seg := -1
		for _, p := range all {
			if p.next <= offset {
				continue
			}
			if seg < 0 {
				seg = p.seg
			}
			if p.next > limit || p.seg != seg {
				break
			}
			if len(out)+len(p.raw) > maxBytes {
				if len(out) == 0 && minOne {
					return p.raw
				}
				if len(out) > 0 {
					out = append(out, p.raw[:maxBytes-len(out)]...)
				}
				break
			}
			out = append(out, p.raw...)
		}
		return out
	}
	end := l.EndOffset()
	for offset := kafka.Offset(0); offset <= end; offset++ {
		for limit := kafka.Offset(0); limit <= end+1; limit++ {
			for _, maxBytes := range []int{0, 1, 100, 150, 300, 1 << 20} {
				for _, minOne := range []bool{false, true} {
					s, err := l.Read(offset, maxBytes, limit, minOne)
					require.NoError(t, err)
					var got []byte
					if s.Len() > 0 {
						got = readAll(t, s)
					}
					require.Equal(t, scan(offset, limit, maxBytes, minOne), got, "read(%d, %d, %d, %t)", offset, maxBytes, limit, minOne)
				}
			}
		}
	}
	for _, offset := range []kafka.Offset{-1, end + 1} {
		_, err := l.Read(offset, 100, end, true)
		require.Equal(t, kafka.ErrOffsetOutOfRange, err)
	}
	l.settle() // what is not flushed yet is open, too
	for _, s := range *l.segments.Load() {
		require.Equal(t, s == l.active(), s.file.Users() == 1, "every slice gave its reference back")
	}
	require.NoError(t, l.Close())
}

// TestTimestamps compares the time index with a linear scan.
func TestTimestamps(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	type rec struct{ ts, offset int64 }
	var all []rec
	for i := range 60 {
		ts := int64(1000 + i*7%50 + i)
		for j := range int64(2) {
			all = append(all, rec{ts + j, l.EndOffset() + j})
		}
		mustAppend(t, l, batch(2, 25, ts), 3)
	}
	for _, mode := range []string{"as appended", "reopened", "without index files"} {
		for start := kafka.Offset(0); start < 40; start += 13 {
			for ts := int64(990); ts < 1130; ts++ {
				for _, limit := range []kafka.Offset{20, 61, l.EndOffset()} {
					want, largest := notFound, notFound
					for _, r := range all {
						if r.offset < start || r.offset >= limit {
							continue
						}
						if want.Offset < 0 && r.ts >= ts {
							want = Found{Offset: r.offset, Timestamp: r.ts, Epoch: 3}
						}
						if r.ts > largest.Timestamp {
							largest = Found{Offset: r.offset, Timestamp: r.ts, Epoch: 3}
						}
					}
					l.start.Store(start)
					got, err := l.OffsetForTimestamp(ts, limit)
					require.NoError(t, err)
					require.Equal(t, want, got, "%s: at or after %d in [%d, %d)", mode, ts, start, limit)
					if ts == 990 {
						got, err = l.MaxTimestamp(limit)
						require.NoError(t, err)
						require.Equal(t, largest, got, "%s: [%d, %d)", mode, start, limit)
					}
				}
			}
		}
		l.start.Store(0)
		require.NoError(t, l.Close())
		if mode == "reopened" {
			for _, name := range files(t, dir) {
				if ext := filepath.Ext(name); ext == layout.IndexSuffix || ext == layout.TimeIndexSuffix {
					require.NoError(t, os.Remove(filepath.Join(dir, name)))
				}
			}
		}
		l = open(t, dir, testConfig(small()), Start{Clean: true})
	}
	require.NoError(t, l.Close())
}
