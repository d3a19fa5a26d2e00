package compact

import (
	"fmt"
	"math"

	"trialog/core/kafka"
)

// Segment is what is known of a segment of a log.
type Segment struct {
	Base      kafka.Offset
	Size      int64 // bytes; those of the indexes, too
	IndexSize int64
	TimeSize  int64
	// FirstMs and LargestMs are the largest timestamp of its first batch, and of all; -1: none. They are looked at only
	// under max.compaction.lag.ms and min.compaction.lag.ms.
	FirstMs, LargestMs int64
}

// Log is a log as the choice sees it. The last segment is the active one.
type Log struct {
	Segments       []Segment
	Start, End, HW kafka.Offset
	Undecided      kafka.Offset // first offset of the oldest open transaction, or -1
	CleanedTo      kafka.Offset // of cleaner-offset-checkpoint; -1: none
	MinLagMs       int64        // min.compaction.lag.ms
	MaxLagMs       int64        // max.compaction.lag.ms; MaxInt64: no limit
	// AboveHW is rule compact-below-hw switched off: the log is cleaned up to the active segment.
	AboveHW bool
}

// Dirt is what there is to clean.
type Dirt struct {
	First, Bound kafka.Offset // the dirty part; Bound is the base of a segment, or First
	Clean, Dirty int64        // bytes of segments below First, and of those of the dirty part
	OverdueMs    int64        // how long the oldest dirty segment has been older than max.compaction.lag.ms
	// Reset says why the checkpoint cannot be right, "" when it is: the dirty part begins at the log start then.
	Reset string
}

// Ratio is the share of dirty bytes, which min.cleanable.dirty.ratio is compared with.
func (d Dirt) Ratio() float64 {
	if d.Dirty == 0 {
		return 0
	}
	return float64(d.Dirty) / float64(d.Clean+d.Dirty)
}

// Due reports that the log is to be cleaned.
func (d Dirt) Due(minRatio float64) bool {
	return d.Dirty > 0 && (d.OverdueMs > 0 || d.Ratio() > minRatio)
}

// String is one line.
func (d Dirt) String() string {
	s := fmt.Sprintf("dirty [%d,%d): %d bytes after %d clean ones, ratio %.2f", d.First, d.Bound, d.Dirty, d.Clean, d.Ratio())
	if d.OverdueMs > 0 {
		s += fmt.Sprintf(", overdue for %d ms", d.OverdueMs)
	}
	return s
}

// Measure says what of a log can be cleaned at nowMs (wall time): from the first dirty offset up to the segment that
// holds the smallest of HW, last stable offset and active base, or the first one with a timestamp that is too young.
// There is nothing to do when that lies below the first dirty offset (KAFKA-9133).
func Measure(l Log, nowMs int64) Dirt {
	d := l.first()
	n := len(l.Segments)
	limit := l.Segments[n-1].Base
	if !l.AboveHW {
		limit = min(limit, l.HW)
		if l.Undecided >= 0 {
			limit = min(limit, l.Undecided)
		}
	}
	to := holder(l.Segments, limit) // the first segment that is not cleaned
	from := holder(l.Segments, d.First)
	for i := from; l.MinLagMs > 0 && i < to; i++ {
		if l.Segments[i].LargestMs > nowMs-l.MinLagMs {
			to = i
		}
	}
	d.Bound = max(d.First, l.Segments[to].Base)
	for i, s := range l.Segments[:to] {
		if s.Base < d.First {
			d.Clean += s.Size
		}
		if i >= from {
			d.Dirty += s.Size
		}
	}
	d.OverdueMs = l.overdue(from, nowMs)
	return d
}

// first is where the dirty part begins. A checkpoint below the log start or above the end is one of another time
// (KAFKA-7400): everything is dirty then.
func (l *Log) first() Dirt {
	switch {
	case l.CleanedTo < 0:
		return Dirt{First: l.Start}
	case l.CleanedTo < l.Start:
		return Dirt{First: l.Start, Reset: fmt.Sprintf("cleaned to %d, but the log starts at %d", l.CleanedTo, l.Start)}
	case l.CleanedTo > l.End:
		return Dirt{First: l.Start, Reset: fmt.Sprintf("cleaned to %d, but the log ends at %d", l.CleanedTo, l.End)}
	}
	return Dirt{First: l.CleanedTo}
}

func (l *Log) overdue(from int, nowMs int64) int64 {
	if l.MaxLagMs == math.MaxInt64 {
		return 0
	}
	oldest := int64(math.MaxInt64)
	for _, s := range l.Segments[from : len(l.Segments)-1] {
		if s.FirstMs > 0 && s.Size > 0 {
			oldest = min(oldest, s.FirstMs)
		}
	}
	if until := nowMs - max(l.MaxLagMs, 0); oldest < until {
		return until - oldest
	}
	return 0
}

// holder is the last segment that begins at or below offset.
func holder(segs []Segment, offset kafka.Offset) int {
	i := len(segs) - 1
	for i > 0 && segs[i].Base > offset {
		i--
	}
	return i
}

// Limits bound what segments are merged to.
type Limits struct {
	SegmentBytes int64 // segment.bytes
	IndexBytes   int64 // segment.index.bytes, of each index
}

// Group cuts segments into runs, each of which becomes one: as many bytes as one segment may have before anything is
// removed, and no offset further from the base than an index can say (KAFKA-6264). next is the offset after the last
// one. It returns how many segments each run has.
func Group(segs []Segment, next kafka.Offset, limits Limits) []int {
	var runs []int
	for i := 0; i < len(segs); {
		sum, n := segs[i], 1
		for ; i+n < len(segs); n++ {
			s, last := segs[i+n], next-1
			if i+n+1 < len(segs) {
				last = segs[i+n+1].Base - 1
			}
			sum.Size, sum.IndexSize, sum.TimeSize = sum.Size+s.Size, sum.IndexSize+s.IndexSize, sum.TimeSize+s.TimeSize
			if sum.Size > limits.SegmentBytes || sum.IndexSize > limits.IndexBytes || sum.TimeSize > limits.IndexBytes ||
				last-sum.Base > math.MaxInt32 {
				break
			}
		}
		runs = append(runs, n)
		i += n
	}
	return runs
}
