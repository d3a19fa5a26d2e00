package seglog

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"trialog/core/config"
	"trialog/core/epochs"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/openfiles"
)

// Config is what a log is told when it opens.
type Config struct {
	Node      kafka.NodeID // for events only
	Partition kafka.TopicPartition
	// TopicID is written to partition.metadata of a new log. An existing log with another id is refused with
	// ErrTopicID; an existing one without an id, or a zero id here, is taken as it is.
	TopicID       kafka.TopicID
	Settings      config.Topic
	Rules         Rules
	ProducerRules producers.Rules
	// Emit receives append, flush, truncate and recover events, before the call that caused them returns and before
	// readers can see the effect. nil: no events. It may be called from several goroutines; the append, truncate and
	// recover events of one log come in order. It must not call the log.
	Emit func(event.Event)
	// SaveRecoveryPoint is called before a truncation cuts the file, so that no checkpoint claims more than the file will
	// hold. nil: nobody keeps one. Dir sets it.
	SaveRecoveryPoint func(kafka.Offset) error
	// Files bounds how many files are open, together with those of all other logs that share it. nil: this log has a bound
	// of its own.
	Files *openfiles.Cache
	// Recovering is told how many segments a recovery has to read yet, before each of them and at the end. nil: nobody asks.
	Recovering func(segments int)
}

// Start is what the log directory knew of a log before it was opened.
type Start struct {
	// Clean: the last process stopped cleanly, so the files are trusted. Otherwise everything from RecoveryPoint on,
	// and at least the whole last segment, is read and checked.
	Clean         bool
	RecoveryPoint kafka.Offset // 0 when unknown
	LogStart      kafka.Offset // 0 when unknown
	HighWatermark kafka.Offset // 0 when unknown
	// CleanedTo is the cleaner's checkpoint; 0 or less when unknown. Below it, or below RecoveryPoint, a log may have holes
	// although its cleanup.policy is not compact any more: Clean saves the recovery point before it replaces segments.
	CleanedTo kafka.Offset
}

// Log is one partition's log. All methods may be called from any goroutine.
type Log struct {
	cfg     Config
	dir     string
	topicID kafka.TopicID
	env     environment
	read    int64  // bytes that its recovery read
	cut     string // what its recovery cut off and why, "" for nothing

	settings atomic.Pointer[config.Topic]
	segments atomic.Pointer[[]*segment] // in order, never empty; replaced, never changed
	start    atomic.Int64               // log start offset
	hw       atomic.Int64
	dirDirty atomic.Bool // a file was created since the directory was fsynced
	closed   atomic.Bool
	closing  atomic.Bool
	failed   atomic.Pointer[error]

	// appendMu is the append lock: appends, rolls, truncations, changes of the list of segments.
	appendMu  sync.Mutex
	producers *producers.State
	undecided atomic.Int64 // first offset of the oldest open transaction, or -1
	// truncations counts those that cut something.
	truncations int

	epochMu sync.Mutex // epochs; held for memory only, except by the appender that saves the file
	epochs  *epochs.Cache

	// cleanMu is held by a compaction, and taken before the append lock.
	cleanMu   sync.Mutex
	cleanedTo atomic.Int64 // first dirty offset, or -1

	flush      flusher
	background sync.WaitGroup
	deletedMu  sync.Mutex
	deleted    []deletedFile
}

// fail stops the log; the first failure is kept (S4).
func (l *Log) fail(err error) error {
	l.failed.CompareAndSwap(nil, &err)
	return err
}

// usable is nil while the log may be changed.
func (l *Log) usable() error {
	if l.closed.Load() {
		return fmt.Errorf("%w: %s", ErrClosed, l.cfg.Partition)
	}
	if err := l.failed.Load(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrFailed, l.cfg.Partition, *err)
	}
	return nil
}

// Err is the failure that stopped the log (S4), or nil.
func (l *Log) Err() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (l *Log) emit(e event.Event) {
	if l.cfg.Emit == nil {
		return
	}
	e.Node, e.Topic, e.Partition = l.cfg.Node, l.cfg.Partition.Topic, l.cfg.Partition.Partition
	l.cfg.Emit(e)
}

// active is the last segment. Without the append lock it may be sealed the next moment.
func (l *Log) active() *segment {
	segs := *l.segments.Load()
	return segs[len(segs)-1]
}

// EndOffset is the log end offset (LEO): the offset of the next record.
func (l *Log) EndOffset() kafka.Offset { return l.active().next() }

// StartOffset is the log start offset.
func (l *Log) StartOffset() kafka.Offset { return l.start.Load() }

// HighWatermark is what SetHighWatermark said last; after Open the checkpointed one, clamped to [start, end offset]
// (KAFKA-16452).
func (l *Log) HighWatermark() kafka.Offset { return l.hw.Load() }

// SetHighWatermark tells the log the HW, for the checkpoint and as the bound of retention (KAFKA-5634).
func (l *Log) SetHighWatermark(hw kafka.Offset) { l.hw.Store(hw) }

// FirstUndecided is the first offset of the oldest open transaction, or -1.
func (l *Log) FirstUndecided() kafka.Offset { return l.undecided.Load() }

// LatestEpoch is the epoch of the last entry of the leader-epoch cache, or -1.
func (l *Log) LatestEpoch() kafka.LeaderEpoch {
	l.epochMu.Lock()
	defer l.epochMu.Unlock()
	return l.epochs.LatestEpoch()
}

// EpochEndOffset answers OffsetForLeaderEpoch: see epochs.Cache.EndOffsetFor.
func (l *Log) EpochEndOffset(epoch kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset) {
	leo := l.EndOffset()
	l.epochMu.Lock()
	defer l.epochMu.Unlock()
	return l.epochs.EndOffsetFor(epoch, leo)
}

// EpochAt is the epoch of the record at offset, or -1.
func (l *Log) EpochAt(offset kafka.Offset) kafka.LeaderEpoch {
	l.epochMu.Lock()
	defer l.epochMu.Unlock()
	return l.epochs.EpochAt(offset)
}

// Epochs are the entries of the leader-epoch cache. The caller owns the copy.
func (l *Log) Epochs() []epochs.Entry {
	l.epochMu.Lock()
	defer l.epochMu.Unlock()
	return slices.Clone(l.epochs.Entries())
}

// TopicID is the id in partition.metadata, or zero.
func (l *Log) TopicID() kafka.TopicID { return l.topicID }

// Partition is the name of the log.
func (l *Log) Partition() kafka.TopicPartition { return l.cfg.Partition }

// Size is the bytes of all segments.
func (l *Log) Size() int64 {
	n := int64(0)
	for _, s := range *l.segments.Load() {
		n += s.size()
	}
	return n
}

// Segments is how many there are.
func (l *Log) Segments() int { return len(*l.segments.Load()) }

// SegmentBases are the base offsets of all segments, in order.
func (l *Log) SegmentBases() []kafka.Offset {
	var bases []kafka.Offset
	for _, s := range *l.segments.Load() {
		bases = append(bases, s.base)
	}
	return bases
}

// SetSettings replaces the topic's settings; they hold from the next append or retention pass on.
func (l *Log) SetSettings(s config.Topic) { l.settings.Store(&s) }

// ExpireProducers forgets producers that have been idle for expirationMs (producer.id.expiration.ms) and returns how
// many.
func (l *Log) ExpireProducers(nowMs, expirationMs int64) int {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	return l.producers.Expire(nowMs, expirationMs)
}

// Producers is what is known of every producer, by id. The caller owns the copy.
func (l *Log) Producers() []producers.Producer {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	return slices.Clone(l.producers.Producers())
}

// ProducerCount is how many Producers has now.
func (l *Log) ProducerCount() int {
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	return l.producers.Len()
}

// publishUndecided follows every change of the producer state.
func (l *Log) publishUndecided() {
	offset, ok := l.producers.FirstUndecided()
	if !ok {
		offset = kafka.NoOffset
	}
	l.undecided.Store(offset)
}

// saveEpochs writes the leader-epoch checkpoint. The append lock is held.
func (l *Log) saveEpochs() error {
	l.epochMu.Lock()
	text := l.epochs.AppendCheckpoint(nil)
	l.epochMu.Unlock()
	if err := writeDurable(l.dir, layout.EpochFile, text, l.cfg.Rules); err != nil {
		return l.fail(fmt.Errorf("seglog: save epochs of %s: %w", l.cfg.Partition, err))
	}
	return nil
}

// Close flushes everything, writes indexes and the producer snapshot, and closes the files once no slice is open. Later
// calls fail with ErrClosed. An error (or a log that failed before) means that the directory must not be marked clean.
func (l *Log) Close() error {
	l.closing.Store(true) // a compaction ends soon
	l.cleanMu.Lock()
	defer l.cleanMu.Unlock()
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	if l.closed.Load() {
		return fmt.Errorf("%w: %s", ErrClosed, l.cfg.Partition)
	}
	l.background.Wait()
	err := l.Err()
	if err == nil {
		err = l.flushForClose()
	}
	_ = l.exclusive(func() error {
		l.closed.Store(true)
		for _, s := range *l.segments.Load() {
			s.forget()
		}
		return nil
	})
	return err
}

// flushForClose seals the active segment too: with its indexes and a producer snapshot at the end offset.
func (l *Log) flushForClose() error {
	active := l.active()
	err := active.noteTime()
	if err == nil {
		err = l.Flush(l.EndOffset())
	}
	if err == nil {
		err = active.sealIndexes()
	}
	if err == nil {
		err = layout.WriteSynced(filepath.Join(l.dir, layout.FileName(l.EndOffset(), layout.SnapshotSuffix)), l.producers.AppendSnapshot(nil))
	}
	if err == nil {
		err = syncDir(l.dir, l.cfg.Rules)
	}
	if err != nil && !errors.Is(err, ErrFailed) {
		err = l.fail(fmt.Errorf("seglog: close %s: %w", l.cfg.Partition, err))
	}
	return err
}
