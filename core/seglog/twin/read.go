package twin

import (
	"slices"

	"trialog/core/kafka"
)

// Read is the bytes that seglog.Log.Read finds; ok is false for OFFSET_OUT_OF_RANGE.
func (l *Log) Read(offset kafka.Offset, maxBytes int, maxOffset kafka.Offset, minOneBatch bool) (found []byte, ok bool) {
	if offset < l.start || offset > l.end {
		return nil, false
	}
	limit := min(maxOffset, l.end)
	for i := range l.segments {
		whole := 0 // bytes of the first batch that is wanted
		for _, b := range l.inSegment(i) {
			if b.Next <= offset || offset >= limit {
				continue
			}
			if b.Next > limit {
				return fit(found, whole, maxBytes, minOneBatch), true
			}
			if whole == 0 {
				whole = len(b.Raw)
			}
			found = append(found, b.Raw...)
		}
		if found != nil {
			return fit(found, whole, maxBytes, minOneBatch), true
		}
	}
	return nil, true
}

func fit(found []byte, whole, maxBytes int, minOneBatch bool) []byte {
	switch {
	case len(found) <= maxBytes:
		return found
	case whole <= maxBytes:
		return found[:maxBytes]
	case minOneBatch:
		return found[:whole]
	}
	return nil
}

// records are those from the start offset on and below maxOffset.
func (l *Log) records(maxOffset kafka.Offset) (all []Record) {
	for _, b := range l.batches {
		for _, r := range b.records {
			if r.Offset >= l.start && r.Offset < maxOffset {
				all = append(all, r)
			}
		}
	}
	return all
}

// OffsetForTimestamp is the offset and timestamp that seglog.Log.OffsetForTimestamp finds, or -1 and -1.
func (l *Log) OffsetForTimestamp(ts int64, maxOffset kafka.Offset) (kafka.Offset, int64) {
	for _, r := range l.records(maxOffset) {
		if r.Timestamp >= ts {
			return r.Offset, r.Timestamp
		}
	}
	return kafka.NoOffset, kafka.NoTimestamp
}

// MaxTimestamp is the offset and timestamp that seglog.Log.MaxTimestamp finds, or -1 and -1.
func (l *Log) MaxTimestamp(maxOffset kafka.Offset) (kafka.Offset, int64) {
	offset, ts := kafka.NoOffset, kafka.NoTimestamp
	for _, r := range l.records(maxOffset) {
		if r.Timestamp > ts {
			offset, ts = r.Offset, r.Timestamp
		}
	}
	return offset, ts
}

// EpochAt is the epoch of the record at offset, or -1.
func (l *Log) EpochAt(offset kafka.Offset) kafka.LeaderEpoch {
	i := slices.IndexFunc(l.batches, func(b Batch) bool { return b.Base <= offset && offset < b.Next })
	if i < 0 {
		return kafka.NoLeaderEpoch
	}
	return l.batches[i].Epoch
}

// EpochEndOffset is seglog.Log.EpochEndOffset: the largest epoch at or below the one asked for, and where it ends.
func (l *Log) EpochEndOffset(epoch kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset) {
	if n := len(l.epochs); n == 0 || epoch < 0 || epoch > l.epochs[n-1].Epoch {
		return kafka.NoLeaderEpoch, kafka.NoOffset
	}
	found, end := epoch, l.end
	for i := len(l.epochs) - 1; i >= 0; i-- {
		if l.epochs[i].Epoch <= epoch {
			return l.epochs[i].Epoch, end
		}
		end = l.epochs[i].Start
	}
	return found, end // below the first one known
}
