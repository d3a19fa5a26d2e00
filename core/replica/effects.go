package replica

import (
	"fmt"

	"trialog/core/kafka"
)

// EffectKind is what the shell has to do.
type EffectKind uint8

// Kinds of effects.
const (
	// Flush: make everything below Offset durable, then call Flushed. It may run beside appends; callers that ask while
	// one runs share the next.
	Flush EffectKind = iota + 1
	// AdvanceHW: the HW is Offset. Produces with acks=all whose next offset is <= Offset are complete, fetches may have
	// more to read. Law: an HW event is written before either leaves.
	AdvanceHW
	// AckLocal: produces with acks=1 whose next offset is <= Offset are complete. Never beyond what the flush policy
	// allows.
	AckLocal
	// SetTimer: call Expired(Timer) at monotonic time At. It replaces an earlier one of the same name.
	SetTimer
	// StopTimer: Expired(Timer) need not come; if it comes nevertheless it does no harm.
	StopTimer
	// ProposeISR: send AlterPartition with ISR, Epoch and PartitionEpoch to the controller, and hand in its answer with
	// ProposalAnswered. Law: nothing; the machine counts both ISRs until it knows.
	ProposeISR
	// Truncate: cut the log to Offset, then call Truncated. Law: before anything else is fetched, appended or read above.
	Truncate
	// Restart: empty the log and let it begin at Offset, then call Restarted. Law: as Truncate.
	Restart
	// AppendFetched: append the records of the answer, which begin at Offset, then call FollowerAppended. Law: a batch of a
	// later epoch than Epoch ends the answer: the leader read it after it had been deposed and had cut its log. Nothing left:
	// nothing is called.
	AppendFetched
	// MoveLogStart: delete what lies below Offset, as the leader did, then call LogStartMoved. It comes behind AppendFetched.
	MoveLogStart
	// AdvanceLow: no live replica has anything below Offset. DeleteRecords up to there are complete.
	AdvanceLow
	// EndLeadership: this replica leads no more. Produces that wait are answered NOT_LEADER_OR_FOLLOWER, whatever the HW will
	// be: by then other records may stand where theirs stood. Fetches and DeleteRecords that wait are answered too.
	EndLeadership
)

// Timer names a deadline.
type Timer uint64

// FlushTimer is flush.ms after the first record that waits for a flush.
const FlushTimer Timer = 1

const lagTimers Timer = 1 << 32

// LagTimer is replica.lag.time.max.ms after the follower was last known to have everything.
func LagTimer(node kafka.NodeID) Timer { return lagTimers | Timer(uint32(node)) }

// lagging is the follower whose timer it is.
func (t Timer) lagging() (kafka.NodeID, bool) { return kafka.NodeID(uint32(t)), t&lagTimers != 0 }

// InSync is a member of a proposed ISR, and its broker epoch as the leader knows it from its fetches (KIP-903);
// kafka.NoBrokerEpoch: it never fetched from this leader.
type InSync struct {
	Node        kafka.NodeID
	BrokerEpoch int64
}

// Effect is one thing to do. Effects are to be done in order.
type Effect struct {
	Kind           EffectKind
	Offset         kafka.Offset      // of all but timers, ProposeISR and EndLeadership
	Timer          Timer             // SetTimer, StopTimer
	At             int64             // SetTimer: the Now.MonoNs at which it expires
	Epoch          kafka.LeaderEpoch // ProposeISR; AppendFetched: no later one is appended
	PartitionEpoch int32             // ProposeISR: the one that it changes
	ISR            []InSync          // ProposeISR; the receiver owns it
}

// String is the effect in a few words.
func (e Effect) String() string {
	switch e.Kind {
	case Flush:
		return fmt.Sprintf("flush to %d", e.Offset)
	case AdvanceHW:
		return fmt.Sprintf("hw %d", e.Offset)
	case AckLocal:
		return fmt.Sprintf("ack local %d", e.Offset)
	case SetTimer:
		return fmt.Sprintf("set timer %s at %dns", e.Timer, e.At)
	case StopTimer:
		return fmt.Sprintf("stop timer %s", e.Timer)
	case ProposeISR:
		text := fmt.Sprintf("propose e%d p%d isr", e.Epoch, e.PartitionEpoch)
		for _, m := range e.ISR {
			text += fmt.Sprintf(" %d", m.Node)
			if m.BrokerEpoch != kafka.NoBrokerEpoch {
				text += fmt.Sprintf("@%d", m.BrokerEpoch)
			}
		}
		return text
	case Truncate:
		return fmt.Sprintf("truncate to %d", e.Offset)
	case Restart:
		return fmt.Sprintf("restart at %d", e.Offset)
	case AppendFetched:
		return fmt.Sprintf("append what was fetched from %d", e.Offset)
	case MoveLogStart:
		return fmt.Sprintf("delete below %d", e.Offset)
	case AdvanceLow:
		return fmt.Sprintf("low watermark %d", e.Offset)
	case EndLeadership:
		return "leads no more"
	}
	return fmt.Sprintf("effect(%d)", e.Kind)
}

// String is the setting that the timer serves.
func (t Timer) String() string {
	if node, ok := t.lagging(); ok {
		return fmt.Sprintf("lag of %d", node)
	}
	if t == FlushTimer {
		return "flush.ms"
	}
	return fmt.Sprintf("timer(%d)", uint64(t))
}
