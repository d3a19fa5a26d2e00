package cleaning

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/compact"
	"trialog/core/seglog/layout"
)

const day = 24 * 3600_000

var limits = Limits{MapBytes: 1 << 20, MapLoad: 0.9, BufferBytes: 4096}

// files is a log of files that nobody else uses: replacing is renaming.
type files struct {
	t     testing.TB
	dir   string
	bases []kafka.Offset
	next  kafka.Offset
	calls []string // of Replace
}

// newFiles writes segments of batches; next is where the last one ends.
func newFiles(t testing.TB, next kafka.Offset, segments ...[][]byte) *files {
	f := &files{t: t, dir: t.TempDir(), next: next}
	for _, batches := range segments {
		var b []byte
		for _, batch := range batches {
			b = append(b, batch...)
		}
		h, err := record.ParseHeader(b)
		require.NoError(t, err)
		f.bases = append(f.bases, h.BaseOffset)
		require.NoError(t, os.WriteFile(f.path(h.BaseOffset, layout.LogSuffix), b, 0o644))
	}
	return f
}

func (f *files) path(base kafka.Offset, suffix string) string {
	return filepath.Join(f.dir, layout.FileName(base, suffix))
}

// task is the whole log but the last segment as dirty part.
func (f *files) task() *Task {
	t := &Task{
		Dir: f.dir, First: 0, Bound: f.bases[len(f.bases)-1], HW: f.next, NowMs: 1_700_000_000_000, DeleteRetentionMs: day,
		Group: compact.Limits{SegmentBytes: 1 << 30, IndexBytes: 10 << 20}, IndexInterval: 4096,
		Rules: compact.Rules{KeepLogEnd: true, DeleteHorizon: true}, Stopped: func() error { return nil },
	}
	for i, base := range f.bases {
		info, err := os.Stat(f.path(base, layout.LogSuffix))
		require.NoError(f.t, err)
		next := f.next
		if i+1 < len(f.bases) {
			next = f.bases[i+1]
		}
		t.Segments = append(t.Segments, Segment{
			Segment: compact.Segment{Base: base, Size: info.Size()}, Next: next,
			Open: func() (io.ReaderAt, func(), error) {
				file, err := os.Open(f.path(base, layout.LogSuffix))
				return file, func() { file.Close() }, err
			},
		})
	}
	t.Replace = func(r Replacement) error {
		f.calls = append(f.calls, fmt.Sprint(r.From, "+", r.Count))
		for _, base := range f.bases[r.From : r.From+r.Count] {
			for _, suffix := range []string{layout.LogSuffix, layout.IndexSuffix, layout.TimeIndexSuffix, layout.TxnIndexSuffix} {
				require.NoError(f.t, layout.RemoveIfThere(f.path(base, suffix)))
			}
		}
		for _, suffix := range r.Suffixes {
			require.NoError(f.t, os.Rename(f.path(r.Base, suffix+layout.CleanedSuffix), f.path(r.Base, suffix)))
		}
		return nil
	}
	return t
}

func (f *files) names() string {
	entries, err := os.ReadDir(f.dir)
	require.NoError(f.t, err)
	var names []string
	for _, e := range entries {
		base, suffix, ok := layout.ParseFileName(e.Name())
		require.True(f.t, ok, e.Name())
		names = append(names, fmt.Sprint(base, suffix))
	}
	return strings.Join(names, " ")
}

// content is "offset:key=value" of every record of a segment.
func (f *files) content(base kafka.Offset) string {
	b, err := os.ReadFile(f.path(base, layout.LogSuffix))
	require.NoError(f.t, err)
	var words []string
	it := record.NewBatches(b)
	for it.Next() {
		_, err := record.Validate(it.Batch())
		require.NoError(f.t, err)
		records, err := codec.Records(it.Batch(), 1<<30)
		require.NoError(f.t, err)
		for records.Next() {
			r := records.Record()
			words = append(words, fmt.Sprintf("%d:%s=%.10s", r.Offset, r.Key, r.Value))
		}
		require.NoError(f.t, records.Err())
	}
	require.NoError(f.t, it.Err())
	require.Empty(f.t, it.Tail())
	return strings.Join(words, " ")
}

func batch(at kafka.Offset, attributes record.Attributes, producer kafka.ProducerID, words ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetBaseOffset(at)
	b.SetLeaderEpoch(0)
	b.SetAttributes(attributes)
	if producer >= 0 {
		b.SetProducer(producer, 1, kafka.Sequence(at))
	}
	for i, w := range words {
		key, value, _ := strings.Cut(w, "=")
		b.Append(1_600_000_000_000+at+int64(i), []byte(key), []byte(value))
	}
	return b.Finish()
}

func data(at kafka.Offset, words ...string) []byte { return batch(at, 0, -1, words...) }

func abort(at kafka.Offset, producer kafka.ProducerID) []byte {
	return batch(at, record.Transactional|record.Control, producer, "\x00\x00\x00\x00=\x00\x00\x00\x00\x00\x00")
}

// TestRun: three segments become one; the fourth is above the bound.
func TestRun(t *testing.T) {
	f := newFiles(t, 8, [][]byte{data(0, "a=1", "b=1")}, [][]byte{data(2, "a=2")}, [][]byte{data(3, "c=1"), data(5, "c=2")}, [][]byte{data(7, "a=3")})
	end, stats, err := NewWorker(limits).Run(f.task())
	require.NoError(t, err)
	require.EqualValues(t, 7, end)
	require.Equal(t, "1:b=1 2:a=2 5:c=2", f.content(0))
	require.Equal(t, "7:a=3", f.content(7))
	require.Equal(t, "0.index 0.log 0.timeindex 7.log", f.names())
	require.Equal(t, []string{"0+3"}, f.calls)
	require.EqualValues(t, 3, stats.Keys)
	require.EqualValues(t, 5, stats.Records)
	require.EqualValues(t, 3, stats.Kept)
}

// TestNothingToDo: a segment that loses nothing is left alone.
func TestNothingToDo(t *testing.T) {
	f := newFiles(t, 3, [][]byte{data(0, "a=1")}, [][]byte{data(1, "b=1")}, [][]byte{data(2, "a=3")})
	task := f.task()
	task.Group.SegmentBytes = 1
	end, _, err := NewWorker(limits).Run(task)
	require.NoError(t, err)
	require.EqualValues(t, 2, end)
	require.Empty(t, f.calls)
	require.Equal(t, "0.log 1.log 2.log", f.names())
}

// TestPasses: a map with room for two keys cleans in several passes, each from where the last one ended, to the same end.
func TestPasses(t *testing.T) {
	f := newFiles(t, 10, [][]byte{data(0, "a=1"), data(1, "b=1"), data(2, "a=2"), data(3, "c=1")},
		[][]byte{data(4, "d=1"), data(5, "b=2"), data(6, "d=2"), data(7, "a=3")}, [][]byte{data(8, "z=9")})
	small := limits
	small.MapBytes, small.MapLoad = 3*compact.SlotSize, 0.7
	w := NewWorker(small)
	var ends []kafka.Offset
	task := f.task()
	task.Group.SegmentBytes = 1 // segments stay apart
	for task.First < task.Bound {
		end, stats, err := w.Run(task)
		require.NoError(t, err)
		require.LessOrEqual(t, stats.MapBytes, small.MapBytes)
		ends = append(ends, end)
		next := f.task()
		next.First, next.Group = end, task.Group
		task = next
	}
	require.Equal(t, []kafka.Offset{3, 5, 7, 8}, ends)
	require.Equal(t, "3:c=1", f.content(0))
	require.Equal(t, "5:b=2 6:d=2 7:a=3", f.content(4))
}

// TestNoRoomForOneBatch: a map that cannot take one batch is an error that says so, and not a round without end.
func TestNoRoomForOneBatch(t *testing.T) {
	f := newFiles(t, 5, [][]byte{data(0, "a=1", "b=1", "c=1")}, [][]byte{data(4, "z=9")})
	small := limits
	small.MapBytes, small.MapLoad = 3*compact.SlotSize, 0.7
	_, _, err := NewWorker(small).Run(f.task())
	require.ErrorContains(t, err, "no room for the keys of the batch at 0")
	require.Equal(t, "0.log 4.log", f.names())
}

// TestL18LargeBatch: a batch of 900 KiB passes through buffers of 4 KiB, which grow to it and are given back.
func TestL18LargeBatch(t *testing.T) {
	large := strings.Repeat("x", 900<<10)
	for _, c := range []record.Codec{record.Uncompressed, record.LZ4} {
		first := data(0, "a="+large, "b=1")
		if c != record.Uncompressed {
			first = codec.Compress(nil, first, c, codec.DefaultLevel(c))
		}
		f := newFiles(t, 5, [][]byte{first, data(2, "b=2")}, [][]byte{data(4, "z=9")})
		w := NewWorker(limits)
		_, stats, err := w.Run(f.task())
		require.NoError(t, err)
		require.Equal(t, "0:a=xxxxxxxxxx 2:b=2", f.content(0))
		require.Greater(t, stats.IOBuffer, int64(900<<10))
		require.LessOrEqual(t, cap(w.in)+cap(w.out), 2*limits.BufferBytes)
	}
}

// TestUnreadable: a batch that is damaged ends the round; files stay as they were.
func TestUnreadable(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"crc":          func(b []byte) []byte { b[len(b)-3] ^= 1; return b },
		"torn":         func(b []byte) []byte { return b[:len(b)-5] },
		"header":       func(b []byte) []byte { return b[:len(b)-60] },
		"magic":        func(b []byte) []byte { b[16] = 1; return b },
		"size":         func(b []byte) []byte { b[8] = 0x7f; return b },
		"offset below": func(b []byte) []byte { copy(b[len(b)-70:], make([]byte, 8)); return b },
	} {
		t.Run(name, func(t *testing.T) {
			good, bad := data(0, "a=1"), data(1, "a=2", "b")
			require.Len(t, data(2, "a=2"), 70)
			f := newFiles(t, 5, [][]byte{good, bad, data(3, "a=2")}, [][]byte{data(4, "z=9")})
			b, err := os.ReadFile(f.path(0, layout.LogSuffix))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(f.path(0, layout.LogSuffix), damage(b), 0o644))
			_, _, err = NewWorker(limits).Run(f.task())
			require.ErrorIs(t, err, compact.ErrUnreadable)
			require.Empty(t, f.calls)
			require.Equal(t, "0.log 4.log", f.names())
		})
	}
}

// TestAborted: data of an aborted transaction never counts, wherever its marker is below the HW; one that is undecided
// there bounds the round.
func TestAborted(t *testing.T) {
	const p = kafka.ProducerID(7)
	segments := [][][]byte{{data(0, "a=1")}, {batch(1, record.Transactional, p, "a=2")}, {data(2, "b=1"), data(3, "b=2")}, {abort(4, p)}}
	f := newFiles(t, 5, segments...)
	entry := layout.TxnEntry{Producer: p, First: 1, Last: 4, LastStable: 1}
	require.NoError(t, os.WriteFile(f.path(4, layout.TxnIndexSuffix), layout.AppendTxnEntries(nil, []layout.TxnEntry{entry}), 0o644))
	end, _, err := NewWorker(limits).Run(f.task())
	require.NoError(t, err)
	require.EqualValues(t, 4, end)
	require.Equal(t, "0:a=1 3:b=2", f.content(0))

	f = newFiles(t, 5, segments...)
	task := f.task()
	task.HW = 4 // the marker may still be cut off
	end, _, err = NewWorker(limits).Run(task)
	require.NoError(t, err)
	require.EqualValues(t, 1, end)
	require.Equal(t, "0:a=1", f.content(0))
	require.Equal(t, "2:b=1 3:b=2", f.content(2))
}

// TestTxnIndex: an aborted transaction stays in the index of its marker's segment as long as the marker does.
func TestTxnIndex(t *testing.T) {
	const p = kafka.ProducerID(7)
	f := newFiles(t, 9, [][]byte{batch(0, record.Transactional, p, "a=1"), abort(1, p)}, [][]byte{batch(2, record.Transactional, p, "a=2"), abort(3, p)}, [][]byte{data(4, "a=3")})
	for _, first := range []kafka.Offset{0, 2} {
		rows := layout.AppendTxnEntries(nil, []layout.TxnEntry{{Producer: p, First: first, Last: first + 1, LastStable: first}})
		require.NoError(t, os.WriteFile(f.path(first, layout.TxnIndexSuffix), rows, 0o644))
	}
	_, _, err := NewWorker(limits).Run(f.task())
	require.NoError(t, err)
	require.Equal(t, "0.index 0.log 0.timeindex 0.txnindex 4.log", f.names())
	b, err := os.ReadFile(f.path(0, layout.TxnIndexSuffix))
	require.NoError(t, err)
	rows, err := layout.ParseTxnIndex(b)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, "1:\x00\x00\x00\x00=\x00\x00\x00\x00\x00\x00 3:\x00\x00\x00\x00=\x00\x00\x00\x00\x00\x00", f.content(0))
}

// TestIndexes: the indexes that are written are those of the batches that stayed.
func TestIndexes(t *testing.T) {
	var batches [][]byte
	for i := range kafka.Offset(2000) {
		batches = append(batches, data(i, fmt.Sprintf("k%d=%s", i%700, strings.Repeat("v", 100))))
	}
	f := newFiles(t, 2001, batches, [][]byte{data(2000, "z=9")})
	task := f.task()
	task.IndexInterval = 1000
	_, _, err := NewWorker(limits).Run(task)
	require.NoError(t, err)
	b, err := os.ReadFile(f.path(0, layout.LogSuffix))
	require.NoError(t, err)
	raw, err := os.ReadFile(f.path(0, layout.IndexSuffix))
	require.NoError(t, err)
	offsets, ok := layout.ParseOffsetIndex(raw, int64(len(b)))
	require.True(t, ok)
	raw, err = os.ReadFile(f.path(0, layout.TimeIndexSuffix))
	require.NoError(t, err)
	times, ok := layout.ParseTimeIndex(raw, 2000)
	require.True(t, ok)

	var want []layout.OffsetEntry
	var wantTimes []layout.TimeEntry
	var newest layout.TimeEntry
	for it, pos, since := record.NewBatches(b), 0, 0; it.Next(); pos = it.Position() {
		h := it.Header()
		newest = layout.TimeEntry{Timestamp: h.MaxTimestamp, Last: uint32(h.LastOffset())}
		if since > 1000 {
			want = append(want, layout.OffsetEntry{Last: uint32(h.LastOffset()), Pos: uint32(pos)})
			wantTimes = append(wantTimes, newest)
			since = 0
		}
		since += h.Size()
	}
	require.Greater(t, len(want), 50)
	require.Equal(t, want, offsets)
	if wantTimes[len(wantTimes)-1] != newest {
		wantTimes = append(wantTimes, newest)
	}
	require.Equal(t, wantTimes, times)
}

// TestPace: whoever paces the round sees every byte that is read or written, and can end it.
func TestPace(t *testing.T) {
	f := newFiles(t, 5, [][]byte{data(0, "a=1"), data(1, "a=2")}, [][]byte{data(4, "z=9")})
	paced := limits
	total, stop := 0, errors.New("stop it")
	paced.Pace = func(n int, _ func() error) error { total += n; return nil }
	_, stats, err := NewWorker(paced).Run(f.task())
	require.NoError(t, err)
	require.EqualValues(t, stats.Indexed+stats.Read+stats.Written, total)
	paced.Pace = func(int, func() error) error { return stop }
	f = newFiles(t, 5, [][]byte{data(0, "a=1"), data(1, "a=2")}, [][]byte{data(4, "z=9")})
	_, _, err = NewWorker(paced).Run(f.task())
	require.ErrorIs(t, err, stop)
	require.Equal(t, "0.log 4.log", f.names())
}

// TestEndsWhereItDid: what takes the place of segments ends at the same offset, even if it is empty; not without the rule.
func TestEndsWhereItDid(t *testing.T) {
	for _, keep := range []bool{true, false} {
		f := newFiles(t, 8, [][]byte{data(0, "a=1"), data(1, "a=2", "b=1")}, [][]byte{data(3, "b=2"), data(4, "a=3")}, [][]byte{data(5, "a=4", "b=3")}, [][]byte{data(7, "z=9")})
		task := f.task()
		task.Group.SegmentBytes, task.Rules.KeepLogEnd = 200, keep
		_, _, err := NewWorker(limits).Run(task)
		require.NoError(t, err)
		require.Equal(t, []string{"0+1", "1+1"}, f.calls)
		var ends []kafka.Offset
		for _, base := range f.bases[:3] {
			b, err := os.ReadFile(f.path(base, layout.LogSuffix))
			require.NoError(t, err)
			for it := record.NewBatches(b); it.Next(); {
				h := it.Header()
				ends = append(ends, h.LastOffset())
			}
		}
		want := []kafka.Offset{6}
		if keep {
			want = []kafka.Offset{2, 4, 6}
		}
		require.Equal(t, want, ends)

		again := f.task()
		again.Group.SegmentBytes, again.Rules.KeepLogEnd, f.calls = 1, keep, nil
		_, _, err = NewWorker(limits).Run(again)
		require.NoError(t, err)
		require.Equal(t, keep, len(f.calls) == 0, "nothing changes any more, unless there are empty segments to merge")
	}
}
