package partition

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/replica"
	"trialog/core/seglog"
)

// Env is what all partitions of a broker share.
type Env struct {
	Node  kafka.NodeID
	Now   func() kafka.Now
	Emit  func(event.Event) // nil: no events
	Log   *slog.Logger
	Rules replica.Rules
	// Failed is told, once, of a partition whose log failed: its log directory does not work. It is called in a goroutine
	// of its own. nil: nobody wants to know.
	Failed func(p *Partition, err error)
}

// State is whether a partition can be used.
type State int32

// States.
const (
	Online State = iota // leads
	Failed              // its log, or its log directory, failed: nothing is served
	Gone                // deleted, or closed with the broker
)

// Partition is one partition on this broker. All methods may be called from any
// goroutine.
type Partition struct {
	name kafka.TopicPartition
	env  *Env
	log  *seglog.Log

	settings atomic.Pointer[config.Topic]
	status   atomic.Int32
	epoch    atomic.Int32
	acked    atomic.Int64
	hw       atomic.Int64
	stable   atomic.Int64 // the last stable offset
	visible  atomic.Int64 // the end for consumers that read uncommitted

	order sync.Mutex
	late  lateQueue

	state    sync.Mutex
	machine  *replica.Replica
	effects  []replica.Effect
	watches  []*Watch
	flushTo  kafka.Offset
	flushing bool
	idle     *sync.Cond // signalled when the flusher ends
	timer    *time.Timer
}

// New wraps an open log. The partition is of no use before Lead.
func New(env *Env, log *seglog.Log, settings config.Topic) *Partition {
	p := &Partition{name: log.Partition(), env: env, log: log, machine: replica.New(machineConfig(env, &settings))}
	p.settings.Store(&settings)
	p.idle = sync.NewCond(&p.state)
	p.epoch.Store(kafka.NoLeaderEpoch)
	return p
}

func machineConfig(env *Env, s *config.Topic) replica.Config {
	return replica.Config{Node: env.Node, FlushMessages: s.FlushMessages, FlushMs: s.FlushMs, Rules: env.Rules}
}

// Name is the topic and partition.
func (p *Partition) Name() kafka.TopicPartition { return p.name }

// Log is the partition's log, for reading.
func (p *Partition) Log() *seglog.Log { return p.log }

// Settings is the topic's settings, read-only.
func (p *Partition) Settings() *config.Topic { return p.settings.Load() }

// State is whether the partition can be used.
func (p *Partition) State() State { return State(p.status.Load()) }

// Epoch is the leader epoch.
func (p *Partition) Epoch() kafka.LeaderEpoch { return p.epoch.Load() }

// HighWatermark is the HW.
func (p *Partition) HighWatermark() kafka.Offset { return p.hw.Load() }

// LastStable is the last stable offset.
func (p *Partition) LastStable() kafka.Offset { return p.stable.Load() }

// CheckEpoch compares the current leader epoch of a request (KIP-320); -1 asks only whether this replica leads.
func (p *Partition) CheckEpoch(epoch kafka.LeaderEpoch) kafka.ErrorCode {
	if epoch == kafka.NoLeaderEpoch && p.Epoch() != kafka.NoLeaderEpoch {
		return kafka.ErrNone
	}
	p.state.Lock()
	defer p.state.Unlock()
	return p.machine.CheckEpoch(epoch)
}

// EndKnown reports that the end offset may be told to consumers (KIP-207).
func (p *Partition) EndKnown() bool {
	p.state.Lock()
	defer p.state.Unlock()
	return p.machine.EndKnown()
}

// VisibleTo is the end of what a fetch may return. Only consumers are served
// without a lock; with one replica nobody else should ask.
func (p *Partition) VisibleTo(reader kafka.NodeID, isolation int8) kafka.Offset {
	switch {
	case reader != kafka.ConsumerReplica:
		p.state.Lock()
		defer p.state.Unlock()
		return p.machine.VisibleTo(reader, isolation)
	case isolation == kafka.ReadCommitted:
		return min(p.visible.Load(), p.stable.Load())
	default:
		return p.visible.Load()
	}
}

// Lead takes up leadership: the epoch becomes durable, the event is written, the
// machine takes over. After an error the log, and with it the partition, has failed.
func (p *Partition) Lead(l replica.Leadership) error {
	p.order.Lock()
	defer p.order.Unlock()
	if err := p.log.StartEpoch(l.Epoch); err != nil {
		p.fail(err)
		return fmt.Errorf("broker: %s: leader epoch %d: %w", p.name, l.Epoch, err)
	}
	l.LogStart, l.LEO = p.log.StartOffset(), p.log.EndOffset()
	l.Flushed, l.HW = p.log.FlushedTo(), p.log.HighWatermark()
	p.emit(event.Event{Kind: event.Leader, Epoch: l.Epoch, Next: l.LEO})
	now := p.env.Now()
	p.step(now, func(out []replica.Effect) []replica.Effect {
		p.epoch.Store(l.Epoch)
		return p.machine.BecomeLeader(now, l, out)
	})
	return nil
}

// Resign ends leadership: somebody else leads in a newer epoch, or nobody. Who waits for acknowledgements is woken.
// Appends answer NOT_LEADER_OR_FOLLOWER until Lead.
func (p *Partition) Resign(f replica.Following) {
	p.order.Lock()
	defer p.order.Unlock()
	f.LogStart, f.LEO = p.log.StartOffset(), p.log.EndOffset()
	f.Flushed, f.HW = p.log.FlushedTo(), p.log.HighWatermark()
	now := p.env.Now()
	p.state.Lock()
	defer p.state.Unlock()
	p.stepLocked(now, func(out []replica.Effect) []replica.Effect { return p.machine.BecomeFollower(now, f, out) })
	p.epoch.Store(kafka.NoLeaderEpoch)
	p.wakeAll()
}

func (p *Partition) emit(e event.Event) {
	if p.env.Emit == nil {
		return
	}
	e.Node, e.Topic, e.Partition = p.env.Node, p.name.Topic, p.name.Partition
	p.env.Emit(e)
}

// step runs one step of the machine, does its effects in order, publishes the
// numbers and wakes those who waited for them.
func (p *Partition) step(now kafka.Now, run func(out []replica.Effect) []replica.Effect) {
	p.state.Lock()
	defer p.state.Unlock()
	p.stepLocked(now, run)
}

func (p *Partition) stepLocked(now kafka.Now, run func(out []replica.Effect) []replica.Effect) {
	if p.State() == Gone {
		return
	}
	p.effects = run(p.effects[:0])
	for _, e := range p.effects {
		p.do(now, e)
	}
	p.acked.Store(p.machine.AckedLocal())
	p.hw.Store(p.machine.HW())
	p.stable.Store(p.machine.LSO())
	p.visible.Store(p.machine.VisibleTo(kafka.ConsumerReplica, kafka.ReadUncommitted))
	p.wake()
}

func (p *Partition) do(now kafka.Now, e replica.Effect) {
	switch e.Kind {
	case replica.Flush:
		p.wantFlush(e.Offset)
	case replica.AdvanceHW:
		p.emit(event.Event{Kind: event.HW, Epoch: p.epoch.Load(), Offset: e.Offset})
		p.log.SetHighWatermark(e.Offset)
	case replica.AckLocal: // published after the effects
	case replica.AdvanceLow: // with one replica DeleteRecords is complete when the log start has moved
	case replica.EndLeadership: // Resign wakes who waits
	case replica.SetTimer:
		p.setTimer(now, e)
	case replica.StopTimer:
		if p.timer != nil {
			p.timer.Stop()
		}
	default:
		panic(fmt.Sprintf("broker: %s: unknown effect %s", p.name, e))
	}
}

func (p *Partition) setTimer(now kafka.Now, e replica.Effect) {
	wait := time.Duration(e.At - now.MonoNs)
	if p.timer != nil {
		p.timer.Reset(wait)
		return
	}
	p.timer = time.AfterFunc(wait, func() {
		p.step(p.env.Now(), func(out []replica.Effect) []replica.Effect { return p.machine.Expired(e.Timer, out) })
	})
}

// flush is the partition's flusher: it runs while a flush is wanted, beside
// appends. Everyone who appended while one fsync ran is served by the next.
func (p *Partition) flush() {
	p.state.Lock()
	defer p.state.Unlock()
	for p.State() == Online && p.flushTo > p.machine.FlushedTo() {
		to := p.flushTo
		p.state.Unlock()
		err := p.log.Flush(to)
		p.state.Lock()
		if err != nil {
			p.failLocked(err)
			break
		}
		now := p.env.Now()
		p.stepLocked(now, func(out []replica.Effect) []replica.Effect {
			return p.machine.Flushed(now, min(p.log.FlushedTo(), p.machine.LEO()), out)
		})
	}
	p.flushing = false
	p.idle.Broadcast()
}

// Drain has everything that waits for a flush flushed at once, and what is appended
// from now on too: the broker stops, and no answer should wait for flush.ms. Without
// a flush policy nothing waits. It does not wait.
func (p *Partition) Drain() {
	s := *p.Settings()
	if s.FlushMessages == replica.NoFlushPolicy && s.FlushMs == replica.NoFlushPolicy {
		return
	}
	s.FlushMessages = 1
	now := p.env.Now()
	p.step(now, func(out []replica.Effect) []replica.Effect {
		return p.machine.SetConfig(now, machineConfig(p.env, &s), out)
	})
}

func (p *Partition) wantFlush(to kafka.Offset) {
	p.flushTo = max(p.flushTo, to)
	if !p.flushing {
		p.flushing = true
		go p.flush()
	}
}

// fail notes that the log failed; once.
func (p *Partition) fail(err error) {
	p.state.Lock()
	defer p.state.Unlock()
	p.failLocked(err)
}

func (p *Partition) failLocked(err error) {
	if p.status.CompareAndSwap(int32(Online), int32(Failed)) {
		p.env.Log.Error("log failed", "partition", p.name.String(), "err", err)
		if p.env.Failed != nil {
			go p.env.Failed(p, err)
		}
	}
	p.wakeAll()
}

// GoOffline ends the service of a partition whose log directory failed, whoever noticed.
func (p *Partition) GoOffline() {
	p.state.Lock()
	defer p.state.Unlock()
	p.status.CompareAndSwap(int32(Online), int32(Failed))
	if p.timer != nil {
		p.timer.Stop()
	}
	p.wakeAll()
}

// CheckLog notes that the log failed in the background, or that the disk does not read (err, which may be nil).
func (p *Partition) CheckLog(err error) {
	if failed := p.log.Err(); failed != nil {
		err = failed
	} else if !DiskFailure(err) {
		return
	}
	p.fail(err)
}

// DiskFailure reports that the operating system blames the disk, not the caller.
func DiskFailure(err error) bool {
	var no syscall.Errno
	return errors.As(err, &no) && slices.Contains(diskErrors, no)
}

var diskErrors = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.ENODEV, syscall.ENXIO, syscall.ENOTDIR}

// SetSettings replaces the topic's settings.
func (p *Partition) SetSettings(s config.Topic) {
	p.settings.Store(&s)
	p.log.SetSettings(s)
	now := p.env.Now()
	p.step(now, func(out []replica.Effect) []replica.Effect {
		return p.machine.SetConfig(now, machineConfig(p.env, &s), out)
	})
}

// Retain applies retention at the wall time and reports how many segments were
// deleted.
func (p *Partition) Retain(nowMs int64) (int, error) {
	n, err := p.log.Retain(nowMs)
	if err != nil {
		p.CheckLog(err)
	}
	if n > 0 {
		p.step(p.env.Now(), func(out []replica.Effect) []replica.Effect {
			return p.machine.LogStartMoved(p.log.StartOffset(), out)
		})
	}
	return n, err
}

// DeleteRecords moves the log start offset up to before, and returns where it is.
// kafka.ErrOffsetOutOfRange: before is negative or above the HW.
func (p *Partition) DeleteRecords(before kafka.Offset) (kafka.Offset, error) {
	start, err := p.log.DeleteRecords(before, p.env.Now().WallMs)
	if err != nil {
		p.CheckLog(err)
	}
	p.step(p.env.Now(), func(out []replica.Effect) []replica.Effect {
		return p.machine.LogStartMoved(start, out)
	})
	return start, err
}

// Close ends all use of the partition: waiters are woken and find it gone, the
// flusher ends. The log stays open; it is its directory's.
func (p *Partition) Close() {
	p.order.Lock()
	defer p.order.Unlock()
	p.late.drain(p)
	p.end()
}

// Cut is Close as in a crash: batches that were answered too early are lost.
func (p *Partition) Cut() {
	p.order.Lock()
	defer p.order.Unlock()
	p.late.batches = nil
	p.end()
}

func (p *Partition) end() {
	p.state.Lock()
	defer p.state.Unlock()
	p.status.Store(int32(Gone))
	if p.timer != nil {
		p.timer.Stop()
	}
	p.wakeAll()
	for p.flushing {
		p.idle.Wait()
	}
}

// String is the machine's line.
func (p *Partition) String() string {
	p.state.Lock()
	defer p.state.Unlock()
	return p.name.String() + " " + p.machine.String()
}
