package seglog

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/txnindex"
)

// Appended is the outcome of an append.
type Appended struct {
	// Code is NONE, or why the producer's sequence was refused (INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER):
	// then nothing was appended.
	Code kafka.ErrorCode
	// Base and Next are the offsets of the batch: Base..Next-1.
	Base, Next kafka.Offset
	// Duplicate: nothing was appended, Base and Next are those of the first copy. It is acked when that one is.
	Duplicate bool
	// Timestamp is the largest timestamp (ms) of the batch, or of the first copy.
	Timestamp int64
}

// Append appends one batch as the leader of epoch. The caller has validated it (record.ValidateProduce). The producer's
// sequence is checked; then base offset and leader epoch are written into batch, in place. now is for producer state
// and for rolling by time. An error is KAFKA_STORAGE_ERROR for the client, and for all later appends (S4): the bytes
// are cut off again, the batch was not and will not be appended.
// The log keeps no reference to batch.
func (l *Log) Append(batch []byte, epoch kafka.LeaderEpoch, now kafka.Now) (Appended, error) {
	h, err := l.parseAppend(batch)
	if err != nil {
		return Appended{}, err
	}
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return Appended{}, err
	}
	switch out := l.producers.Check(&h); out.Verdict {
	case producers.Duplicate:
		return Appended{Base: out.BaseOffset, Next: out.LastOffset + 1, Duplicate: true, Timestamp: out.Timestamp}, nil
	case producers.Refuse:
		return Appended{Code: out.Code, Base: kafka.NoOffset, Next: kafka.NoOffset, Timestamp: kafka.NoTimestamp}, nil
	}
	if err := l.notBefore(epoch, l.EndOffset()); err != nil {
		return Appended{}, err
	}
	h.BaseOffset, h.LeaderEpoch = l.EndOffset(), epoch
	record.SetBaseOffset(batch, h.BaseOffset)
	record.SetLeaderEpoch(batch, epoch)
	return l.write(&h, batch, now, false)
}

// AppendFollower appends one batch as a follower: offsets and epoch are the leader's, sequences are not checked
// (KAFKA-6003). A base offset below the end offset is an error, except for the first batch of an empty log, which may
// begin below the start offset (KAFKA-6975).
func (l *Log) AppendFollower(batch []byte, now kafka.Now) (Appended, error) {
	h, err := l.parseAppend(batch)
	if err != nil {
		return Appended{}, err
	}
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return Appended{}, err
	}
	end := l.EndOffset()
	if h.BaseOffset < end && (l.Size() > 0 || h.NextOffset() <= end) {
		return Appended{}, fmt.Errorf("seglog: append %s: batch [%d,%d) to a log that ends at %d", l.cfg.Partition, h.BaseOffset,
			h.NextOffset(), end)
	}
	if err := l.notBefore(h.LeaderEpoch, h.BaseOffset); err != nil {
		return Appended{}, err
	}
	return l.write(&h, batch, now, true)
}

// notBefore refuses an epoch that is over: recovery would take a batch of it for one that was not appended here, and cut it.
func (l *Log) notBefore(epoch kafka.LeaderEpoch, at kafka.Offset) error {
	if latest := l.LatestEpoch(); epoch < latest {
		return fmt.Errorf("seglog: append %s at %d: epoch %d after %d", l.cfg.Partition, at, epoch, latest)
	}
	return nil
}

func (l *Log) parseAppend(batch []byte) (record.Header, error) {
	h, err := record.ParseHeader(batch)
	if err == nil && (h.Size() != len(batch) || h.LastOffsetDelta < 0) {
		err = fmt.Errorf("%d bytes for %s", len(batch), h.String())
	}
	if err != nil {
		return h, fmt.Errorf("seglog: append %s: not one batch: %w", l.cfg.Partition, err)
	}
	return h, nil
}

// write puts a stamped batch at the end. The append lock is held.
func (l *Log) write(h *record.Header, batch []byte, now kafka.Now, replicated bool) (Appended, error) {
	active, rolled, err := l.room(h, len(batch), now)
	if rolled {
		// Last, so that the events of this append come first. A failure stops the log, and the next append says so.
		defer l.background.Go(func() { _ = l.flushTo(0, true) })
	}
	if err != nil {
		return Appended{}, l.fail(fmt.Errorf("seglog: roll %s at %d: %w", l.cfg.Partition, h.BaseOffset, err))
	}
	if err := l.assignEpoch(h.LeaderEpoch, h.BaseOffset); err != nil {
		return Appended{}, err
	}
	pos := active.size()
	if err := active.write(batch, pos); err != nil {
		return Appended{}, l.fail(fmt.Errorf("seglog: append %s at %d: %w", l.cfg.Partition, h.BaseOffset, err))
	}
	active.noteTimestamps(h, pos)
	aborted := l.takeIn(h, batch, replicated)
	if aborted != nil {
		if err := txnindex.Append(active.path(layout.TxnIndexSuffix), *aborted); err != nil {
			return Appended{}, l.fail(fmt.Errorf("seglog: append %s at %d: %w", l.cfg.Partition, h.BaseOffset, err))
		}
		active.txnDirty.Store(true)
		l.dirDirty.Store(true) // it may be a new file
	}
	l.publishUndecided()
	if l.cfg.Emit != nil {
		l.emit(appendEvent(h))
	}
	active.publish(h.NextOffset(), pos+int64(len(batch)))
	if err := active.noteIndex(h, pos, l.settings.Load().IndexIntervalBytes); err != nil {
		// The batch is in the log; whoever waits for it finds that the log has failed.
		return Appended{}, l.fail(fmt.Errorf("seglog: index %s at %d: %w", l.cfg.Partition, h.BaseOffset, err))
	}
	return Appended{Base: h.BaseOffset, Next: h.NextOffset(), Timestamp: h.MaxTimestamp}, nil
}

// takeIn has the producer state follow a batch, of the leader if it is replicated. It returns the transaction that the batch
// aborts, or nil.
func (l *Log) takeIn(h *record.Header, batch []byte, replicated bool) *layout.TxnEntry {
	var aborted *layout.TxnEntry
	if txnindex.Aborts(h, batch) {
		if p, known := l.producers.Producer(h.ProducerID); known && p.TxnFirstOffset >= 0 {
			aborted = &layout.TxnEntry{Producer: h.ProducerID, First: p.TxnFirstOffset, Last: h.LastOffset()}
		}
	}
	if replicated {
		l.producers.Replicated(h)
	} else {
		l.producers.Update(h)
	}
	if aborted != nil {
		aborted.LastStable = h.NextOffset()
		if first, open := l.producers.FirstUndecided(); open {
			aborted.LastStable = first
		}
	}
	return aborted
}

// write puts all of batch at pos or fails: a short write is an error (KAFKA-17181). What that left is cut off; if even this
// fails, recovery will, since nothing comes after it (S4).
func (s *segment) write(batch []byte, pos int64) error {
	return s.onFile(func(f *os.File) error {
		_, err := f.WriteAt(batch, pos)
		if err == nil {
			return nil
		}
		if cut := f.Truncate(pos); cut != nil {
			err = fmt.Errorf("%w (and the torn batch stays: %w)", err, cut)
		}
		return err
	})
}

func appendEvent(h *record.Header) event.Event {
	return event.Event{
		Kind: event.Append, Epoch: h.LeaderEpoch, Base: h.BaseOffset, Next: h.NextOffset(), ProducerID: h.ProducerID,
		ProducerEpoch: h.ProducerEpoch, BaseSeq: h.BaseSequence, LastSeq: h.LastSequence(),
	}
}

// StartEpoch notes durably that epoch starts at the end offset. A leader calls it when elected, before its first append
// (KAFKA-7415).
func (l *Log) StartEpoch(epoch kafka.LeaderEpoch) error {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.notBefore(epoch, l.EndOffset()); err != nil {
		return err
	}
	return l.assignEpoch(epoch, l.EndOffset())
}

func (l *Log) assignEpoch(epoch kafka.LeaderEpoch, start kafka.Offset) error {
	if epoch < 0 {
		return nil // written before KIP-101
	}
	start = max(start, l.StartOffset()) // of a batch that begins below it (KAFKA-6975); a restart would say so, too
	l.epochMu.Lock()
	changed := l.epochs.Assign(epoch, start)
	l.epochMu.Unlock()
	if !changed {
		return nil
	}
	return l.saveEpochs()
}

// room is the segment that takes a batch of size bytes: the active one, or a new one after a roll.
func (l *Log) room(h *record.Header, size int, now kafka.Now) (active *segment, rolled bool, err error) {
	active = l.active()
	if active.createdMs == 0 {
		active.createdMs = now.WallMs
	}
	if h.BaseOffset < active.base || h.LastOffset()-active.base > 1<<31-1 || l.full(active, h, size, now) {
		active, err = l.roll(h.BaseOffset, now)
		return active, true, err
	}
	return active, false, nil
}

// full is Kafka's LogSegment.shouldRoll without what concerns offsets. An empty segment never rolls (KAFKA-6388).
func (l *Log) full(active *segment, h *record.Header, size int, now kafka.Now) bool {
	have := active.size()
	if have == 0 {
		return false
	}
	set := l.settings.Load()
	age := now.WallMs - active.createdMs
	if first := active.firstTimestamp(); first >= 0 && h.MaxTimestamp >= 0 {
		age = h.MaxTimestamp - first
	}
	return have+int64(size) > int64(set.SegmentBytes) || age > set.SegmentMs-l.jitter(active.base, set) || active.indexFull(set.SegmentIndexBytes)
}

// jitter is what is taken off segment.ms, so that partitions that were made together do not all roll together: some number
// below segment.jitter.ms, always the same for one segment.
func (l *Log) jitter(base kafka.Offset, set *config.Topic) int64 {
	most := min(set.SegmentJitterMs, set.SegmentMs)
	if most <= 0 {
		return 0
	}
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s %d", l.cfg.Partition, base)
	return int64(hash.Sum64() % uint64(most))
}

// roll seals the active segment and makes base the start of a new one. Only the creation of the file is waited for here:
// index files, snapshot and fsyncs of the sealed segment are left to a flush that the caller starts. A segment without a
// byte is replaced.
//
// In a compacted log the batches of the sealed segment are durable before there is a next one. Such a log may have gaps
// between its segments, so that recovery could not tell that the end of one is lost while the next is there. It is part of
// rule compact-below-hw: without it, compaction meets segments that a power cut may take.
func (l *Log) roll(base kafka.Offset, now kafka.Now) (*segment, error) {
	old := l.active()
	if l.settings.Load().CleanupCompact && l.cfg.Rules.CompactBelowHW && old.size() > 0 {
		if err := l.Flush(l.EndOffset()); err != nil {
			return nil, err
		}
	}
	fresh, err := createSegment(&l.env, l.dir, base)
	if err != nil {
		return nil, err
	}
	fresh.createdMs = now.WallMs
	defer l.dirDirty.Store(true) // when all names have changed: a flush that runs beside this must not count for them
	segs := *l.segments.Load()
	if old.size() == 0 {
		l.setSegments(append(segs[:len(segs)-1:len(segs)-1], fresh))
		old.forget()
		return fresh, layout.RemoveIfThere(filepath.Join(l.dir, layout.FileName(old.base, layout.LogSuffix)))
	}
	if err := old.noteTime(); err != nil {
		return nil, err
	}
	old.seal.Store(&seal{snapshotAt: base, snapshot: l.producers.AppendSnapshot(nil)})
	l.setSegments(append(segs[:len(segs):len(segs)], fresh))
	return fresh, nil
}

// setSegments publishes a new list. The append lock is held.
func (l *Log) setSegments(segs []*segment) { l.segments.Store(&segs) }
