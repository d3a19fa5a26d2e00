package compact

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

// sized makes segments of 100 bytes that begin at these offsets.
func sized(bases ...kafka.Offset) (segs []Segment) {
	for i, b := range bases {
		segs = append(segs, Segment{Base: b, Size: 100, IndexSize: 8, TimeSize: 12, FirstMs: int64(i) * 1000, LargestMs: int64(i)*1000 + 500})
	}
	return segs
}

// TestMeasure: what there is to clean. Segments begin at 0, 10, 20 and 30, where the active one begins; the log ends at 35.
func TestMeasure(t *testing.T) {
	base := Log{Segments: sized(0, 10, 20, 30), End: 35, HW: 35, Undecided: -1, CleanedTo: -1, MaxLagMs: math.MaxInt64}
	for _, c := range []struct {
		name         string
		change       func(l *Log)
		first, bound kafka.Offset
		clean, dirty int64
		overdue      int64
	}{
		{"never cleaned", func(*Log) {}, 0, 30, 0, 300, 0},
		{"cleaned to the second", func(l *Log) { l.CleanedTo = 10 }, 10, 30, 100, 200, 0},
		{"nothing new", func(l *Log) { l.CleanedTo = 30 }, 30, 30, 300, 0, 0},
		{"a full map left the middle of a segment", func(l *Log) { l.CleanedTo = 15 }, 15, 30, 200, 200, 0},
		{"the HW inside a segment", func(l *Log) { l.HW = 25 }, 0, 20, 0, 200, 0},
		{"the HW at a base", func(l *Log) { l.HW = 20 }, 0, 20, 0, 200, 0},
		{"L09: below the HW although it is far", func(l *Log) { l.HW = 3 }, 0, 0, 0, 0, 0},
		{"L09 with the rule off", func(l *Log) { l.HW, l.AboveHW = 3, true }, 0, 30, 0, 300, 0},
		{"an open transaction", func(l *Log) { l.Undecided = 12 }, 0, 10, 0, 100, 0},
		{"L10: the log start in the active segment", func(l *Log) { l.Start = 33 }, 33, 33, 300, 0, 0},
		{"L10: and a checkpoint of before", func(l *Log) { l.Start, l.CleanedTo = 33, 20 }, 33, 33, 300, 0, 0},
		{"L10: the dirty offset in the active segment", func(l *Log) { l.CleanedTo = 32 }, 32, 32, 300, 0, 0},
		{"L10: a dirty offset above the bound", func(l *Log) { l.CleanedTo, l.HW = 20, 15 }, 20, 20, 100, 0, 0},
		{"a checkpoint beyond the end", func(l *Log) { l.CleanedTo = 36 }, 0, 30, 0, 300, 0},
		{"too young from the third on", func(l *Log) { l.MinLagMs = 8000 }, 0, 20, 0, 200, 0},
		{"all too young", func(l *Log) { l.MinLagMs = 10_000 }, 0, 0, 0, 0, 0},
		{"overdue", func(l *Log) { l.CleanedTo, l.MaxLagMs = 20, 5000 }, 20, 30, 200, 100, 3000},
		{"not overdue", func(l *Log) { l.CleanedTo, l.MaxLagMs = 20, 8000 }, 20, 30, 200, 100, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := base
			c.change(&l)
			d := Measure(l, 10_000)
			require.Equal(t, []int64{c.first, c.bound, c.clean, c.dirty, c.overdue}, []int64{d.First, d.Bound, d.Clean, d.Dirty, d.OverdueMs}, d.String())
			require.Equal(t, c.dirty > 0, d.Due(0))
			require.Equal(t, l.CleanedTo >= 0 && (l.CleanedTo < l.Start || l.CleanedTo > l.End), d.Reset != "")
		})
	}
}

// TestL10NothingToDo: a log that was cleaned to its bound is not due, whatever its start is: the cleaner does not go round.
func TestL10NothingToDo(t *testing.T) {
	for start := range kafka.Offset(36) {
		for cleaned := kafka.Offset(-1); cleaned < 40; cleaned++ {
			for hw := start; hw <= 35; hw++ {
				l := Log{Segments: sized(0, 10, 20, 30), Start: start, End: 35, HW: hw, Undecided: -1, CleanedTo: cleaned, MaxLagMs: 1}
				d := Measure(l, 1e9)
				require.LessOrEqual(t, d.First, d.Bound)
				require.Equal(t, d.Bound > d.First, d.Due(0), "start %d cleaned %d hw %d: %s", start, cleaned, hw, d)
				l.CleanedTo = d.Bound
				again := Measure(l, 1e9)
				require.False(t, again.Due(0), "start %d cleaned %d hw %d: %s after %s", start, cleaned, hw, again, d)
			}
		}
	}
}

func TestDue(t *testing.T) {
	require.True(t, Dirt{Clean: 50, Dirty: 51}.Due(0.5))
	require.False(t, Dirt{Clean: 50, Dirty: 50}.Due(0.5), "the share must be larger")
	require.True(t, Dirt{Clean: 99, Dirty: 1, OverdueMs: 1}.Due(0.5))
	require.False(t, Dirt{OverdueMs: 1}.Due(0))
	require.Equal(t, "dirty [1,9): 25 bytes after 75 clean ones, ratio 0.25, overdue for 7 ms", Dirt{First: 1, Bound: 9, Clean: 75, Dirty: 25, OverdueMs: 7}.String())
}

// TestL05Group: what is merged fits one segment, one index of each kind, and 31 bits of offsets.
func TestL05Group(t *testing.T) {
	const far = 3_000_000_000
	big := Limits{SegmentBytes: 250, IndexBytes: 1000}
	for _, c := range []struct {
		name   string
		segs   []Segment
		next   kafka.Offset
		limits Limits
		want   []int
	}{
		{"none", nil, 0, big, nil},
		{"size", sized(0, 1, 2, 3, 4), 5, big, []int{2, 2, 1}},
		{"larger than a segment may be", sized(0, 1), 2, Limits{SegmentBytes: 50, IndexBytes: 1000}, []int{1, 1}},
		{"offset index", sized(0, 1, 2), 3, Limits{SegmentBytes: 1000, IndexBytes: 12}, []int{1, 1, 1}},
		{"time index", sized(0, 1, 2), 3, Limits{SegmentBytes: 1000, IndexBytes: 24}, []int{2, 1}},
		{"offsets", sized(0, far), far + 1, big, []int{1, 1}},
		{"a gap before the next segment", sized(0, 10, far), far + 1, big, []int{1, 1, 1}},
		{"a gap before the end", sized(0, 10), far, big, []int{1, 1}},
		{"as far as an index can say", sized(0, 10), math.MaxInt32 + 1, big, []int{2}},
		{"one further", sized(0, 10), math.MaxInt32 + 2, big, []int{1, 1}},
	} {
		require.Equal(t, c.want, Group(c.segs, c.next, c.limits), c.name)
	}
}
