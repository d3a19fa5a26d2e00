package replica

import "trialog/core/kafka"

// EffectKind is what the shell has to do.
type EffectKind uint8

const (
	// Flush: make everything below Offset durable, then call Flushed. It may run beside appends.
	Flush EffectKind = iota + 1
	// AdvanceHW: the HW is Offset. Produces with acks=all whose next offset is <= Offset are complete, fetches may have
	// more to read. Law: an HW event is written before either leaves.
	AdvanceHW
	// AckLocal: produces with acks=1 whose next offset is <= Offset are complete. It never passes what the flush policy
	// demands.
	AckLocal
	// SetTimer: call Expired(Timer) at monotonic time At (ns). It replaces an earlier one of the same name.
	SetTimer
	// StopTimer: Expired(Timer) need not come; if it comes nevertheless it does no harm.
	StopTimer
)

// Timer names a deadline.
type Timer uint8

// FlushTimer is flush.ms after the first record that waits for a flush.
const FlushTimer Timer = 1

// Effect is one thing to do. Effects are to be done in order.
type Effect struct {
	Kind   EffectKind
	Offset kafka.Offset // Flush, AdvanceHW, AckLocal
	Timer  Timer        // SetTimer, StopTimer
	At     int64        // SetTimer: Now.MonoNs at which it expires
}

// Config is what does not change with the state.
type Config struct {
	Node          kafka.NodeID
	FlushMessages int64 // flush.messages; NoFlushPolicy is off
	FlushMs       int64 // flush.ms; NoFlushPolicy is off
	Rules         Rules
}

// NoFlushPolicy is Kafka's default of flush.messages and flush.ms: never because of it.
const NoFlushPolicy = 1<<63 - 1

// Role is what the replica is to its partition.
type Role uint8

// Roles.
const (
	Offline Role = iota // has no part yet
	Leader
	Follower
)

// Leadership is the controller's decision and the log as it is when the replica takes it up.
type Leadership struct {
	Epoch    kafka.LeaderEpoch
	Replicas []kafka.NodeID // all replicas, this one included
	ISR      []kafka.NodeID
	LogStart kafka.Offset
	LEO      kafka.Offset
	Flushed  kafka.Offset // everything below is durable
	HW       kafka.Offset // the checkpointed one; it is clamped to [LogStart, LEO] (KAFKA-16452)
}

// Replica is the machine. Make it with New. Methods append effects to the buffer they are given and return it.
type Replica struct{}

// New is an offline replica.
func New(cfg Config) *Replica { panic("replica: New") }

// SetConfig changes the flush policy. Records that wait for a flush are flushed, or released, under the new one.
func (r *Replica) SetConfig(cfg Config, out []Effect) []Effect { panic("replica: SetConfig") }

// BecomeLeader takes up a leadership of a newer epoch. With a flush policy and an unflushed tail it asks for a flush.
func (r *Replica) BecomeLeader(now kafka.Now, l Leadership, out []Effect) []Effect {
	panic("replica: BecomeLeader")
}

// Appended takes in that base..next-1 is in the log (written, not flushed), in the order of the log.
func (r *Replica) Appended(now kafka.Now, base, next kafka.Offset, out []Effect) []Effect {
	panic("replica: Appended")
}

// Flushed takes in that everything below upTo is durable. An older report than the last does nothing.
func (r *Replica) Flushed(now kafka.Now, upTo kafka.Offset, out []Effect) []Effect {
	panic("replica: Flushed")
}

// Expired takes in that a timer ran out. One that was stopped or is not set does nothing.
func (r *Replica) Expired(t Timer, out []Effect) []Effect { panic("replica: Expired") }

// LogStartMoved takes in a new log start offset (DeleteRecords, retention).
func (r *Replica) LogStartMoved(start kafka.Offset, out []Effect) []Effect {
	panic("replica: LogStartMoved")
}

// SetFirstUndecided tells the first offset of the oldest open transaction; -1: none is open.
func (r *Replica) SetFirstUndecided(offset kafka.Offset) { panic("replica: SetFirstUndecided") }

// Truncated takes in that the log was cut to leo; a follower's affair.
func (r *Replica) Truncated(leo kafka.Offset, out []Effect) []Effect { panic("replica: Truncated") }

// Role, Epoch, LogStart, LEO, FlushedTo and HW are the state.
func (r *Replica) Role() Role               { panic("replica: Role") }
func (r *Replica) Epoch() kafka.LeaderEpoch { panic("replica: Epoch") }
func (r *Replica) LogStart() kafka.Offset   { panic("replica: LogStart") }
func (r *Replica) LEO() kafka.Offset        { panic("replica: LEO") }
func (r *Replica) FlushedTo() kafka.Offset  { panic("replica: FlushedTo") }
func (r *Replica) HW() kafka.Offset         { panic("replica: HW") }

// LSO is the last stable offset: min(HW, first undecided offset) (KIP-98).
func (r *Replica) LSO() kafka.Offset { panic("replica: LSO") }

// AckedLocal is up to where produces with acks=1 are complete.
func (r *Replica) AckedLocal() kafka.Offset { panic("replica: AckedLocal") }

// VisibleTo is the end of what a fetch may return: HW or LSO for consumers, the end offset for replicas (replica is a
// broker's node id, else kafka.ConsumerReplica) and for DebugReplica. With rule visible-after-flush off it is the end
// offset for consumers that read uncommitted.
func (r *Replica) VisibleTo(replica kafka.NodeID, isolation int8) kafka.Offset {
	panic("replica: VisibleTo")
}

// CheckEpoch compares the current_leader_epoch of a request: NONE, FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH, or
// NOT_LEADER_OR_FOLLOWER when this replica does not lead. -1 skips the comparison (KIP-320).
func (r *Replica) CheckEpoch(epoch kafka.LeaderEpoch) kafka.ErrorCode { panic("replica: CheckEpoch") }

// Clone is an independent copy.
func (r *Replica) Clone() *Replica { panic("replica: Clone") }

// AppendTo appends a canonical binary form: equal states, equal bytes. The configuration is not in it.
func (r *Replica) AppendTo(b []byte) []byte { panic("replica: AppendTo") }

// Permute renames nodes.
func (r *Replica) Permute(rename func(kafka.NodeID) kafka.NodeID) { panic("replica: Permute") }

// String is one line: "leader e3 start=0 hw=10 flushed=10 leo=12 ...".
func (r *Replica) String() string { panic("replica: String") }
