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
)

// String is a word.
func (r Role) String() string {
	if r == Leader {
		return "leader"
	}
	return "offline"
}

// Leadership is the controller's decision and the log as it is when the replica takes it up.
type Leadership struct {
	Epoch    kafka.LeaderEpoch
	Replicas []kafka.NodeID
	ISR      []kafka.NodeID // some of the replicas, this node among them
	LogStart kafka.Offset
	LEO      kafka.Offset
	Flushed  kafka.Offset // everything below is durable
	HW       kafka.Offset // the checkpointed one; it is clamped to [LogStart, LEO] (KAFKA-16452)
}

// Replica is the machine. Make it with New. Methods append effects to the buffer they are given and return it.
type Replica struct {
	cfg        Config
	role       Role
	epoch      kafka.LeaderEpoch
	epochStart kafka.Offset // LEO when the epoch began
	isr        []member     // by node
	logStart   kafka.Offset
	leo        kafka.Offset
	flushed    kafka.Offset
	asked      kafka.Offset // a Flush up to here was asked for
	hw         kafka.Offset
	acked      kafka.Offset // AckLocal up to here was given
	undecided  kafka.Offset // first offset of the oldest open transaction, or -1
	timer      bool         // FlushTimer is set
}

// member is a replica in the ISR and its vote for the HW: what it is known to hold, or -1.
type member struct {
	node kafka.NodeID
	vote kafka.Offset
}

// New is an offline replica with an empty log.
func New(cfg Config) *Replica {
	cfg.check()
	return &Replica{cfg: cfg, epoch: kafka.NoLeaderEpoch, undecided: kafka.NoOffset}
}

func (c *Config) check() {
	if c.FlushMessages < 1 || c.FlushMs < 0 {
		panic(fmt.Sprintf("replica: flush.messages=%d flush.ms=%d", c.FlushMessages, c.FlushMs))
	}
}

// SetConfig changes the flush policy. Records that wait for a flush are asked for, or released, under the new one. The
// HW does not go back.
func (r *Replica) SetConfig(now kafka.Now, cfg Config, out []Effect) []Effect {
	cfg.check()
	r.cfg = cfg
	out = r.stopTimer(out)
	return r.progress(now, out)
}

// BecomeLeader takes up a leadership of a newer epoch. With a flush policy and an unflushed tail it asks for a flush.
// AdvanceHW is always among the effects.
func (r *Replica) BecomeLeader(now kafka.Now, l Leadership, out []Effect) []Effect {
	if l.Epoch <= r.epoch || l.LogStart < 0 || l.LogStart > l.LEO || l.Flushed > l.LEO {
		panic(fmt.Sprintf("replica: become leader %+v of %s", l, r))
	}
	hw := min(max(l.HW, l.LogStart), l.LEO)
	if r.role == Leader {
		hw = max(hw, min(r.hw, l.LEO))
	}
	r.role, r.epoch, r.epochStart = Leader, l.Epoch, l.LEO
	r.logStart, r.leo, r.hw = l.LogStart, l.LEO, hw
	r.flushed = max(l.Flushed, l.LogStart)
	r.asked, r.acked = r.flushed, r.vote()
	r.setISR(l.Replicas, l.ISR)
	out = append(r.stopTimer(out), Effect{Kind: AdvanceHW, Offset: r.hw})
	return r.progress(now, out)
}

func (r *Replica) setISR(replicas, isr []kafka.NodeID) {
	r.isr = r.isr[:0]
	for _, n := range isr {
		r.isr = append(r.isr, member{node: n, vote: kafka.NoOffset})
	}
	sortMembers(r.isr)
	ok := slices.Contains(isr, r.cfg.Node)
	for i, m := range r.isr {
		ok = ok && slices.Contains(replicas, m.node) && (i == 0 || m.node != r.isr[i-1].node)
	}
	if !ok {
		panic(fmt.Sprintf("replica: node %d leads with isr %v of replicas %v", r.cfg.Node, isr, replicas))
	}
}

// Appended takes in that base..next-1 is in the log (written, not flushed), in the order of the log.
func (r *Replica) Appended(now kafka.Now, base, next kafka.Offset, out []Effect) []Effect {
	if r.role != Leader || base != r.leo || next <= base {
		panic(fmt.Sprintf("replica: appended [%d,%d) to %s", base, next, r))
	}
	r.leo = next
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
	r.logStart = start
	r.flushed, r.asked = max(r.flushed, start), max(r.asked, start)
	if r.hw < start {
		r.hw = start
		out = append(out, Effect{Kind: AdvanceHW, Offset: start})
	}
	if r.role == Leader {
		out = r.advance(out)
	}
	r.check()
	return out
}

// Truncated takes in that the log was cut to leo. It is the only way back for HW and flushed offset.
func (r *Replica) Truncated(leo kafka.Offset) {
	if leo > r.leo || leo < 0 {
		panic(fmt.Sprintf("replica: truncated to %d of %s", leo, r))
	}
	r.leo = leo
	r.logStart, r.epochStart = min(r.logStart, leo), min(r.epochStart, leo)
	r.flushed, r.asked = min(r.flushed, leo), min(r.asked, leo)
	r.hw, r.acked = min(r.hw, leo), min(r.acked, leo)
	for i := range r.isr {
		r.isr[i].vote = min(r.isr[i].vote, leo)
	}
	r.check()
}

// SetFirstUndecided tells the first offset of the oldest open transaction; -1: none is open.
func (r *Replica) SetFirstUndecided(offset kafka.Offset) { r.undecided = offset }

// vote is what this replica may claim to hold: under a flush policy only what is durable.
func (r *Replica) vote() kafka.Offset {
	if r.cfg.flushes() {
		return r.flushed
	}
	return r.leo
}

// progress is what follows from any change: a flush, a higher HW, completed acks.
func (r *Replica) progress(now kafka.Now, out []Effect) []Effect {
	if r.role == Leader {
		out = r.wantFlush(now, out)
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
	const nsPerMs = 1_000_000
	if r.timer || r.cfg.FlushMs > (NoFlushPolicy-now.MonoNs)/nsPerMs {
		return out
	}
	r.timer = true
	return append(out, Effect{Kind: SetTimer, Timer: FlushTimer, At: now.MonoNs + r.cfg.FlushMs*nsPerMs})
}

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

// advance moves the HW to the smallest vote of the ISR, and completes local acks.
func (r *Replica) advance(out []Effect) []Effect {
	vote := r.vote()
	hw := vote
	for i := range r.isr {
		if r.isr[i].node == r.cfg.Node {
			r.isr[i].vote = vote
		}
		hw = min(hw, r.isr[i].vote)
	}
	if hw > r.hw {
		r.hw = hw
		out = append(out, Effect{Kind: AdvanceHW, Offset: hw})
	}
	if vote > r.acked {
		r.acked = vote
		out = append(out, Effect{Kind: AckLocal, Offset: vote})
	}
	return out
}

// check asserts the invariants of the package comment that concern one state.
func (r *Replica) check() {
	ok := 0 <= r.logStart && r.logStart <= r.hw && r.hw <= r.leo && // R1
		r.logStart <= r.flushed && r.flushed <= r.asked && r.asked <= r.leo && // R2
		r.acked <= r.leo && (!r.timer || r.cfg.flushes())
	if !ok {
		panic("replica: invariant broken: " + r.String())
	}
}
