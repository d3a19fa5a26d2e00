package replica

import (
	"fmt"
	"slices"

	"trialog/core/kafka"
)

// NoFlushPolicy is Kafka's default of flush.messages and flush.ms: no flush because of it.
const NoFlushPolicy = 1<<63 - 1

// Config is what does not change with the state.
type Config struct {
	Node          kafka.NodeID
	FlushMessages int64 // flush.messages >= 1; NoFlushPolicy is off
	FlushMs       int64 // flush.ms >= 0; NoFlushPolicy is off
	MinISR        int   // min.insync.replicas; more than there are replicas counts as all of them, 0 as 1
	LagMs         int64 // replica.lag.time.max.ms; 0: no follower is ever taken out for being behind
	Rules         Rules
}

func (c *Config) flushes() bool {
	return c.FlushMessages != NoFlushPolicy || c.FlushMs != NoFlushPolicy
}

// Role is what the replica is to its partition.
type Role uint8

// Roles.
const (
	Offline Role = iota // has no part yet
	Leader
	Follower
)

// String is a word.
func (r Role) String() string { return [...]string{"offline", "leader", "follower"}[r] }

// Replica is the machine. Make it with New. Methods append effects to the buffer they are given and return it.
type Replica struct {
	cfg        Config
	role       Role
	leader     kafka.NodeID // Follower: whom it follows, or kafka.NoNode
	epoch      kafka.LeaderEpoch
	partEpoch  int32        // partition epoch: raised by the controller with every change, the leader's included
	epochStart kafka.Offset // LEO when the epoch began
	members    []member     // Leader: all replicas, by node
	proposing  bool         // a change of the ISR is on its way to the controller
	repeated   bool         // and was sent more than once: an earlier copy may still arrive
	logStart   kafka.Offset
	leo        kafka.Offset
	flushed    kafka.Offset
	asked      kafka.Offset // a Flush up to here was asked for
	hw         kafka.Offset
	acked      kafka.Offset // AckLocal up to here was given
	undecided  kafka.Offset // first offset of the oldest open transaction, or -1
	decided    []span       // transactions whose marker may lie above the HW
	timer      bool         // FlushTimer is set
	moved      bool         // rule truncate-on-epoch-change off: the first fetch of the epoch skips the comparison
}

// New is an offline replica with an empty log.
func New(cfg Config) *Replica {
	cfg.check()
	return &Replica{cfg: cfg, leader: kafka.NoNode, epoch: kafka.NoLeaderEpoch, undecided: kafka.NoOffset}
}

func (c *Config) check() {
	if c.FlushMessages < 1 || c.FlushMs < 0 || c.MinISR < 0 || c.LagMs < 0 {
		panic(fmt.Sprintf("replica: flush.messages=%d flush.ms=%d min.insync.replicas=%d replica.lag.time.max.ms=%d", c.FlushMessages,
			c.FlushMs, c.MinISR, c.LagMs))
	}
}

// SetConfig changes the flush policy, the smallest ISR and the lag. Records that wait for a flush are asked for, or
// released, under the new one. The HW does not go back.
func (r *Replica) SetConfig(now kafka.Now, cfg Config, out []Effect) []Effect {
	cfg.check()
	r.cfg = cfg
	out = r.stopTimer(out)
	return r.progress(now, out)
}

// Appended takes in that base..next-1 is in the leader's log (written, not flushed), in the order of the log.
func (r *Replica) Appended(now kafka.Now, base, next kafka.Offset, out []Effect) []Effect {
	if r.role != Leader || base != r.leo || next <= base {
		panic(fmt.Sprintf("replica: appended [%d,%d) to %s", base, next, r))
	}
	r.leo = next
	out = r.watchAll(now, out)
	return r.progress(now, out)
}

// Flushed takes in that everything below upTo is durable. An older report than the last changes nothing; one above the
// end offset counts up to there.
func (r *Replica) Flushed(now kafka.Now, upTo kafka.Offset, out []Effect) []Effect {
	upTo = min(upTo, r.leo)
	if upTo <= r.flushed {
		return out
	}
	r.flushed = upTo
	r.asked = max(r.asked, upTo)
	if r.asked == r.leo {
		out = r.stopTimer(out)
	}
	return r.progress(now, out)
}

// Expired takes in that a timer ran out. One that was stopped or not set does nothing.
func (r *Replica) Expired(t Timer, out []Effect) []Effect {
	if node, ok := t.lagging(); ok {
		return r.lagExpired(node, out)
	}
	if t != FlushTimer || !r.timer {
		return out
	}
	r.timer = false
	if r.asked < r.leo {
		out = r.askFlush(out)
	}
	r.check()
	return out
}

// LogStartMoved takes in a new log start offset (DeleteRecords, retention); an older one changes nothing. It may not
// pass the end offset; the HW follows if it lies below (KAFKA-9491).
func (r *Replica) LogStartMoved(start kafka.Offset, out []Effect) []Effect {
	if start <= r.logStart {
		return out
	}
	if start > r.leo {
		panic(fmt.Sprintf("replica: log start to %d of %s", start, r))
	}
	low := r.LowWatermark()
	r.logStart = start
	r.flushed, r.asked = max(r.flushed, start), max(r.asked, start)
	if r.hw < start {
		r.hw = start
		out = append(out, Effect{Kind: AdvanceHW, Offset: start})
	}
	if r.role == Leader {
		out = r.lowMoved(low, r.advance(out))
	}
	r.check()
	return out
}

// Truncated takes in that the log was cut to leo. Only it and Restarted take HW and flushed offset back.
func (r *Replica) Truncated(leo kafka.Offset) {
	if leo > r.leo || leo < 0 {
		panic(fmt.Sprintf("replica: truncated to %d of %s", leo, r))
	}
	r.leo = leo
	r.logStart, r.epochStart = min(r.logStart, leo), min(r.epochStart, leo)
	r.flushed, r.asked = min(r.flushed, leo), min(r.asked, leo)
	r.hw, r.acked = min(r.hw, leo), min(r.acked, leo)
	r.decided = slices.DeleteFunc(r.decided, func(s span) bool { return s.marker >= leo })
	for i := range r.members {
		r.members[i].vote = min(r.members[i].vote, leo)
	}
	r.check()
}

// SetFirstUndecided tells the first offset of the oldest open transaction; -1: none is open.
func (r *Replica) SetFirstUndecided(offset kafka.Offset) { r.undecided = offset }

// span is a transaction that was decided.
type span struct{ first, marker kafka.Offset }

// TransactionDecided takes in that the marker of the transaction that began at first is in the log, at marker. The LSO stays
// before it until the marker is below the HW: before, it could be lost, and the transaction be decided otherwise (KIP-98).
func (r *Replica) TransactionDecided(first, marker kafka.Offset) {
	r.decided = slices.DeleteFunc(r.decided, func(s span) bool { return s.marker < r.hw })
	if r.cfg.Rules.LSOWaitsForMarkers {
		r.decided = append(r.decided, span{first, marker})
	}
}

// vote is what this replica may claim to hold: under a flush policy only what is durable.
func (r *Replica) vote() kafka.Offset {
	if r.cfg.flushes() {
		return r.flushed
	}
	return r.leo
}

// progress is what follows from any change: a flush, a higher HW, completed acks.
func (r *Replica) progress(now kafka.Now, out []Effect) []Effect {
	if r.role != Offline {
		out = r.wantFlush(now, out)
	}
	if r.role == Leader {
		out = r.advance(out)
	}
	r.check()
	return out
}

func (r *Replica) wantFlush(now kafka.Now, out []Effect) []Effect {
	waiting := r.leo - r.asked
	if waiting == 0 || !r.cfg.flushes() {
		return out
	}
	if waiting >= r.cfg.FlushMessages || r.cfg.FlushMs == NoFlushPolicy || r.cfg.FlushMs == 0 {
		return r.askFlush(r.stopTimer(out))
	}
	if r.timer || r.cfg.FlushMs > (NoFlushPolicy-now.MonoNs)/nsPerMs {
		return out
	}
	r.timer = true
	return append(out, Effect{Kind: SetTimer, Timer: FlushTimer, At: now.MonoNs + r.cfg.FlushMs*nsPerMs})
}

const nsPerMs = 1_000_000

func (r *Replica) askFlush(out []Effect) []Effect {
	r.asked = r.leo
	return append(out, Effect{Kind: Flush, Offset: r.leo})
}

func (r *Replica) stopTimer(out []Effect) []Effect {
	if !r.timer {
		return out
	}
	r.timer = false
	return append(out, Effect{Kind: StopTimer, Timer: FlushTimer})
}

// check asserts the invariants of the package comment that concern one state.
func (r *Replica) check() {
	ok := 0 <= r.logStart && r.logStart <= r.hw && r.hw <= r.leo && // R1
		r.logStart <= r.flushed && r.flushed <= r.asked && r.asked <= r.leo && // R2
		r.acked <= r.leo && (!r.timer || r.cfg.flushes()) &&
		(r.role == Leader || !r.proposing) // R7
	if !ok {
		panic("replica: invariant broken: " + r.String())
	}
}
