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
	At     int64        // SetTimer: the Now.MonoNs at which it expires
}

// String is the effect in one or two words.
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
	}
	return fmt.Sprintf("effect(%d)", e.Kind)
}

// String is the setting that the timer serves.
func (t Timer) String() string {
	if t == FlushTimer {
		return "flush.ms"
	}
	return fmt.Sprintf("timer(%d)", uint8(t))
}
