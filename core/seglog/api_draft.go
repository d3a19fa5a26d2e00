package seglog

import (
	"os"

	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
)

// Config is what a log is told when it opens.
type Config struct {
	Node      kafka.NodeID // for events only
	Partition kafka.TopicPartition
	// TopicID is written to partition.metadata of a new log. An existing log with another id is refused with
	// ErrTopicID; an existing file without one (or a zero id here) is taken as it is.
	TopicID       kafka.TopicID
	Settings      config.Topic
	Rules         Rules
	ProducerRules producers.Rules
	// Emit receives append, flush, truncate and recover events before the call that caused them returns and before
	// readers can see the effect. nil: no events. It may be called from several goroutines, but for one partition the
	// append, truncate and recover events come in order. It must not call the log.
	Emit func(event.Event)
}

// Start is what the log directory knew of a log before it was opened.
type Start struct {
	// Clean: the last process stopped cleanly, so the files are trusted. Otherwise everything from RecoveryPoint on,
	// and at least the whole last segment, is read and checked.
	Clean         bool
	RecoveryPoint kafka.Offset // 0 when unknown
	LogStart      kafka.Offset // 0 when unknown
	HighWatermark kafka.Offset // 0 when unknown
}

// Log is one partition's log. All methods may be called from any goroutine.
type Log struct{}

// Open opens the log in the directory dir, which is made if it does not exist, and recovers it. When it returns, all
// that the log holds is durable unless start.Clean said so already.
func Open(dir string, cfg Config, start Start) (*Log, error) { panic("seglog: Open") }

// Appended is the outcome of an append.
type Appended struct {
	// Code is NONE, or the refusal of the producer's sequence (INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER):
	// then nothing was appended.
	Code kafka.ErrorCode
	// Base and Next are the offsets of the batch: Base..Next-1.
	Base, Next kafka.Offset
	// Duplicate: nothing was appended, Base and Next are those of the first copy. It is acked when that one is.
	Duplicate bool
}

// Append appends one batch as the leader of epoch. The caller has validated it (record.ValidateProduce). The producer's
// sequence is checked; then base offset and leader epoch are written into batch, in place. now is for producer state
// and for rolling by time. An error is KAFKA_STORAGE_ERROR for the client, and for all later appends (S4): the bytes
// are cut off again, the batch was not and will not be appended.
// The log keeps no reference to batch.
func (l *Log) Append(batch []byte, epoch kafka.LeaderEpoch, now kafka.Now) (Appended, error) {
	panic("seglog: Append")
}

// AppendFollower appends one batch as a follower: offsets and epoch are the leader's. A base offset below the end
// offset is an error, except for the first batch of an empty log, which may begin below the start offset (KAFKA-6975).
func (l *Log) AppendFollower(batch []byte, now kafka.Now) (Appended, error) {
	panic("seglog: AppendFollower")
}

// StartEpoch notes durably that epoch starts at the end offset. A leader calls it when elected, before its first append
// (KAFKA-7415).
func (l *Log) StartEpoch(epoch kafka.LeaderEpoch) error { panic("seglog: StartEpoch") }

// Read finds the batches from the one that holds offset on. The slice ends before the first batch that starts at or
// above maxOffset (or the end offset), at the end of the segment, or after maxBytes: then its last batch may be partial.
// With minOneBatch the first batch is whole even if it is larger than maxBytes. An empty slice means that there is
// nothing below maxOffset. kafka.ErrOffsetOutOfRange: offset is below the start or above the end offset.
// The first batch may start below offset. The caller must Close the slice.
func (l *Log) Read(offset kafka.Offset, maxBytes int, maxOffset kafka.Offset, minOneBatch bool) (Slice, error) {
	panic("seglog: Read")
}

// Slice is a range of bytes of one segment file. It stays readable when the segment is deleted meanwhile; when the log
// is truncated into it, reading fails with ErrTruncated: a frame that was promised to a client must then be given up
// with its connection. The zero value is empty.
type Slice struct{}

// Len is the size in bytes.
func (s *Slice) Len() int { panic("seglog: Len") }

// ReadAt reads up to len(p) bytes from off within the slice. It is an io.ReaderAt.
func (s *Slice) ReadAt(p []byte, off int64) (int, error) { panic("seglog: ReadAt") }

// Send lets send copy bytes straight from the file (sendfile): n bytes at pos in f. It must not block on the network
// (give it a non-blocking socket and come back), since truncation waits for it. off is within the slice.
func (s *Slice) Send(off int64, send func(f *os.File, pos int64, n int) (int, error)) (int, error) {
	panic("seglog: Send")
}

// Close gives the file back. It must be called once; closing the zero value does nothing.
func (s *Slice) Close() { panic("seglog: Close") }

// Flush returns when everything below upTo is durable: bytes, size, directory entry. Callers share fsyncs. An error is
// KAFKA_STORAGE_ERROR, and the log has failed (S4).
func (l *Log) Flush(upTo kafka.Offset) error { panic("seglog: Flush") }

// EndOffset is the log end offset (LEO): the offset of the next record.
func (l *Log) EndOffset() kafka.Offset { panic("seglog: EndOffset") }

// StartOffset is the log start offset.
func (l *Log) StartOffset() kafka.Offset { panic("seglog: StartOffset") }

// FlushedTo is the recovery point: everything below it is durable.
func (l *Log) FlushedTo() kafka.Offset { panic("seglog: FlushedTo") }

// HighWatermark is what SetHighWatermark said last; after Open the checkpointed one, clamped to [start, end offset]
// (KAFKA-16452).
func (l *Log) HighWatermark() kafka.Offset { panic("seglog: HighWatermark") }

// SetHighWatermark tells the log the HW, for the checkpoint and as the bound of retention (KAFKA-5634).
func (l *Log) SetHighWatermark(hw kafka.Offset) { panic("seglog: SetHighWatermark") }

// FirstUndecided is the first offset of the oldest open transaction, or -1.
func (l *Log) FirstUndecided() kafka.Offset { panic("seglog: FirstUndecided") }

// LatestEpoch is the epoch of the last entry of the leader-epoch cache, or -1.
func (l *Log) LatestEpoch() kafka.LeaderEpoch { panic("seglog: LatestEpoch") }

// EpochEndOffset answers OffsetForLeaderEpoch: see epochs.Cache.EndOffsetFor.
func (l *Log) EpochEndOffset(epoch kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset) {
	panic("seglog: EpochEndOffset")
}

// EpochAt is the epoch of the record at offset, or -1.
func (l *Log) EpochAt(offset kafka.Offset) kafka.LeaderEpoch { panic("seglog: EpochAt") }

// TopicID is the id in partition.metadata, or zero.
func (l *Log) TopicID() kafka.TopicID { panic("seglog: TopicID") }

// Partition is the name of the log.
func (l *Log) Partition() kafka.TopicPartition { panic("seglog: Partition") }

// Size is the bytes of all segments.
func (l *Log) Size() int64 { panic("seglog: Size") }

// Err is the failure that stopped the log (S4), or nil.
func (l *Log) Err() error { panic("seglog: Err") }

// SetSettings replaces the topic's settings; they hold from the next append or retention pass on.
func (l *Log) SetSettings(s config.Topic) { panic("seglog: SetSettings") }

// Found is a record found by its timestamp. Offset is -1 when there is none.
type Found struct {
	Offset    kafka.Offset
	Timestamp int64 // ms; -1 when there is none
	Epoch     kafka.LeaderEpoch
}

// OffsetForTimestamp finds the first record below maxOffset whose timestamp is at or after ts (ListOffsets). In a
// compressed batch the answer is the first offset of the batch with its largest timestamp: never too late.
func (l *Log) OffsetForTimestamp(ts int64, maxOffset kafka.Offset) (Found, error) {
	panic("seglog: OffsetForTimestamp")
}

// MaxTimestamp finds the first record below maxOffset with the largest timestamp (ListOffsets -3, KIP-734).
func (l *Log) MaxTimestamp(maxOffset kafka.Offset) (Found, error) { panic("seglog: MaxTimestamp") }

// Walk calls fn for each batch from the one that holds from on, up to maxOffset or the end offset. batch is valid only
// during the call. The CRC is checked (record.Validate). An error of fn ends the walk and is returned.
func (l *Log) Walk(from, maxOffset kafka.Offset, fn func(h *record.Header, batch []byte) error) error {
	panic("seglog: Walk")
}

// Truncate cuts everything at and above to. The visible end drops before the file is cut. The end offset is to, or the
// base offset of the batch that holds it. Nothing below the start offset can be kept: then it is TruncateFully(to).
func (l *Log) Truncate(to kafka.Offset) error { panic("seglog: Truncate") }

// TruncateFully deletes everything and starts the log anew at start.
func (l *Log) TruncateFully(start kafka.Offset) error { panic("seglog: TruncateFully") }

// DeleteRecords moves the start offset up to before (bounded by the HW: kafka.ErrOffsetOutOfRange above it), and deletes
// segments that lie wholly below. It returns the start offset.
func (l *Log) DeleteRecords(before kafka.Offset) (kafka.Offset, error) {
	panic("seglog: DeleteRecords")
}

// Retain applies retention.ms and retention.bytes at the wall time nowMs: whole segments below the HW, oldest first. It
// returns how many segments were deleted; their files are renamed to .deleted and removed by RemoveDeleted.
func (l *Log) Retain(nowMs int64) (int, error) { panic("seglog: Retain") }

// RemoveDeleted removes the files of deleted segments. Slices that are open stay readable.
func (l *Log) RemoveDeleted() error { panic("seglog: RemoveDeleted") }

// ExpireProducers forgets producers that have been idle for expirationMs (producer.id.expiration.ms) and returns how many.
func (l *Log) ExpireProducers(nowMs, expirationMs int64) int { panic("seglog: ExpireProducers") }

// Close flushes everything, writes indexes and the producer snapshot, and closes the files. Later calls fail. An error
// (or a log that failed before) means that the directory must not be marked clean.
func (l *Log) Close() error { panic("seglog: Close") }

// Properties is the file meta.properties of a log directory.
type Properties struct {
	ClusterID   string
	NodeID      kafka.NodeID
	DirectoryID kafka.TopicID // KIP-858
}

// Dir is one entry of log.dirs: the logs in it, the clean-shutdown marker, the checkpoints.
type Dir struct{}

// DirConfig is what a directory is told when it opens.
type DirConfig struct {
	Node          kafka.NodeID
	Rules         Rules
	ProducerRules producers.Rules
	Emit          func(event.Event)
}

// OpenDir opens the log directory at path, making it if it does not exist. The clean-shutdown marker is read and
// removed, durably, before anything else (KAFKA-10471, rule marker-removed-at-start). It opens no log.
func OpenDir(path string, cfg DirConfig) (*Dir, error) { panic("seglog: OpenDir") }

// Path is the directory's path.
func (d *Dir) Path() string { panic("seglog: Path") }

// Clean reports that the marker was there: the last process stopped cleanly.
func (d *Dir) Clean() bool { panic("seglog: Clean") }

// BrokerEpoch is the broker epoch that the marker carried, or -1.
func (d *Dir) BrokerEpoch() int64 { panic("seglog: BrokerEpoch") }

// Properties reads meta.properties; ok is false when there is no such file. Version 1 and 0 are read.
func (d *Dir) Properties() (p Properties, ok bool, err error) { panic("seglog: Properties") }

// WriteProperties writes meta.properties, durably.
func (d *Dir) WriteProperties(p Properties) error { panic("seglog: WriteProperties") }

// FoundLog is a partition's directory as it lies on disk.
type FoundLog struct {
	Partition kafka.TopicPartition
	TopicID   kafka.TopicID // zero: no partition.metadata
}

// List is the partitions on disk, sorted. Directories that are marked for deletion are not among them.
func (d *Dir) List() ([]FoundLog, error) { panic("seglog: List") }

// OpenLog opens or makes the log of a partition with what the checkpoints say of it. A partition that is open already is
// a bug of the caller.
func (d *Dir) OpenLog(tp kafka.TopicPartition, id kafka.TopicID, settings config.Topic) (*Log, error) {
	panic("seglog: OpenLog")
}

// Log is the open log of a partition, or nil.
func (d *Dir) Log(tp kafka.TopicPartition) *Log { panic("seglog: Log") }

// Logs is all open logs, sorted by partition.
func (d *Dir) Logs() []*Log { panic("seglog: Logs") }

// DeleteLog closes the log if it is open and renames its directory to `<topic>-<partition>.<unique>-delete`, durably.
// unique is 32 hex digits in Kafka. RemoveDeleted removes what is so marked. A partition that is not there is no error.
func (d *Dir) DeleteLog(tp kafka.TopicPartition, unique string) error { panic("seglog: DeleteLog") }

// RemoveDeleted removes directories that are marked for deletion, and deleted segments of all logs.
func (d *Dir) RemoveDeleted() error { panic("seglog: RemoveDeleted") }

// Checkpoint writes the files replication-offset-checkpoint (HW), recovery-point-offset-checkpoint and
// log-start-offset-checkpoint, durably; a file whose content did not change is left alone.
func (d *Dir) Checkpoint() error { panic("seglog: Checkpoint") }

// Close closes all logs, writes the checkpoints and, if every log closed without an error, the clean-shutdown marker
// with the broker epoch (-1: unknown). After an error the next start recovers.
func (d *Dir) Close(brokerEpoch int64) error { panic("seglog: Close") }
