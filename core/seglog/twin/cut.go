package twin

import (
	"slices"

	"trialog/core/kafka"
)

// Truncate is seglog.Log.Truncate.
func (l *Log) Truncate(to kafka.Offset) {
	if to < l.start {
		l.TruncateFully(to)
		return
	}
	l.begin()
	if to >= l.end {
		l.cutEpochs(to)
		return
	}
	segments := l.segments
	for len(segments) > 1 && segments[len(segments)-1] > to {
		segments = segments[:len(segments)-1]
	}
	end, kept := segments[len(segments)-1], 0 // where the batch before it ends, in its segment
	for kept < len(l.batches) && l.batches[kept].Next <= to {
		end = max(end, l.batches[kept].Next)
		kept++
	}
	if end < l.start { // the batch that holds the start goes, or it lay in a gap: nothing is left
		l.TruncateFully(l.start)
		return
	}
	l.batches, l.segments = l.batches[:kept], segments
	l.cutTo(end)
}

// cutTo ends the log at end; the lists are cut already.
func (l *Log) cutTo(end kafka.Offset) {
	l.end, l.hw, l.flushed = end, min(l.hw, end), min(l.flushed, end)
	l.floor = min(l.floor, end)
	l.sent = slices.DeleteFunc(l.sent, func(s sent) bool { return s.batch.LastOffset >= end })
	l.producers = l.replayAll(0, end)
	l.cutEpochs(end)
}

func (l *Log) cutEpochs(end kafka.Offset) {
	l.epochs = slices.DeleteFunc(l.epochs, func(e Epoch) bool { return e.Start >= end })
}

// TruncateFully is seglog.Log.TruncateFully.
func (l *Log) TruncateFully(start kafka.Offset) {
	l.begin()
	l.floor = min(l.flushed, start, l.start)
	l.savedStart = min(l.savedStart, start)
	l.start, l.end, l.hw, l.flushed = start, start, start, start
	l.batches, l.epochs, l.producers, l.sent = nil, nil, nil, nil
	l.segments = []kafka.Offset{start}
}

// DeleteRecords is seglog.Log.DeleteRecords; ok is false for OFFSET_OUT_OF_RANGE.
func (l *Log) DeleteRecords(before kafka.Offset) (start kafka.Offset, ok bool) {
	l.begin()
	if before < 0 || before > l.hw {
		return l.start, false
	}
	l.moveStart(before)
	l.deletePrefix(func([]Batch, int) bool { return false })
	return l.start, true
}

// Retain is seglog.Log.Retain at the wall time nowMs, once all sealed segments are flushed.
func (l *Log) Retain(nowMs int64) (deleted int) {
	l.begin()
	set := &l.Settings
	old := func(segment []Batch) bool {
		largest := int64(-1)
		for _, b := range segment {
			largest = max(largest, b.header.MaxTimestamp)
		}
		return set.CleanupDelete && set.RetentionMs >= 0 && largest >= 0 && nowMs-largest > set.RetentionMs
	}
	if active := l.inSegment(len(l.segments) - 1); len(active) > 0 && l.end <= l.hw && old(active) {
		l.segments = append(l.segments, l.end)
	}
	return l.deletePrefix(func(segment []Batch, total int) bool {
		big := set.CleanupDelete && set.RetentionBytes >= 0 && int64(total-sizeOf(segment)) >= set.RetentionBytes
		return big || old(segment)
	})
}

// deletePrefix deletes segments from the oldest on, never the last one and never above the HW.
func (l *Log) deletePrefix(expired func(segment []Batch, total int) bool) (deleted int) {
	for len(l.segments) > 1 {
		segment, end := l.inSegment(0), l.segments[0]
		if n := len(segment); n > 0 {
			end = segment[n-1].Next
		}
		if end > l.hw || end > l.start && !expired(segment, sizeOf(l.batches)) {
			break
		}
		l.moveStart(l.segments[1])
		l.batches, l.segments = l.batches[len(segment):], l.segments[1:]
		deleted++
	}
	l.savedStart = max(l.savedStart, l.segments[0])
	return deleted
}

// moveStart raises the start; the epoch that holds it begins there.
func (l *Log) moveStart(to kafka.Offset) {
	if to <= l.start {
		return
	}
	l.start = to
	l.cutEpochsBelow(to)
}

func (l *Log) cutEpochsBelow(to kafka.Offset) {
	for len(l.epochs) > 1 && l.epochs[1].Start <= to {
		l.epochs = l.epochs[1:]
	}
	if len(l.epochs) > 0 {
		l.epochs = slices.Clone(l.epochs)
		l.epochs[0].Start = max(l.epochs[0].Start, to)
	}
}
