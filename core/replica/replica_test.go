package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
)

// alone is the leadership of an only replica with an empty log.
var alone = Leadership{Replicas: []kafka.NodeID{1}, ISR: []kafka.NodeID{1}}

// model says the same as the machine for one replica, from the whole history.
type model struct {
	policy        bool
	start, leo    kafka.Offset
	flushed, seen kafka.Offset // seen: the highest HW
}

func (m *model) hw() kafka.Offset {
	end := m.leo
	if m.policy {
		end = m.flushed
	}
	m.seen = max(m.seen, end, m.start)
	return m.seen
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Node: 1, Rules: AllRules()}
		cfg.FlushMessages = rapid.SampledFrom([]int64{1, 3, NoFlushPolicy}).Draw(t, "flush.messages")
		cfg.FlushMs = rapid.SampledFrom([]int64{0, 5, NoFlushPolicy}).Draw(t, "flush.ms")
		r := New(cfg)
		m := &model{policy: cfg.flushes()}
		var hw, ack, asked kafka.Offset
		timer := int64(-1)
		now := kafka.Now{MonoNs: 1}
		do := func(out []Effect) {
			for _, e := range out {
				switch e.Kind {
				case AdvanceHW:
					require.GreaterOrEqual(t, e.Offset, hw)
					hw = e.Offset
				case AckLocal:
					require.Greater(t, e.Offset, ack)
					ack = e.Offset
				case Flush:
					require.Greater(t, e.Offset, asked)
					asked = e.Offset
				case SetTimer:
					timer = e.At
				case StopTimer:
					timer = -1
				}
			}
		}
		do(r.BecomeLeader(now, alone, nil))
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				n := rapid.Int64Range(1, 4).Draw(t, "n")
				m.leo += n
				do(r.Appended(now, m.leo-n, m.leo, nil))
			},
			"flushed": func(t *rapid.T) {
				to := rapid.Int64Range(0, m.leo).Draw(t, "to")
				m.flushed = max(m.flushed, to)
				do(r.Flushed(now, to, nil))
			},
			"flushed as asked": func(t *rapid.T) {
				m.flushed = max(m.flushed, asked)
				do(r.Flushed(now, asked, nil))
			},
			"time": func(t *rapid.T) {
				now.MonoNs += rapid.Int64Range(1, 9e6).Draw(t, "ns")
				if timer >= 0 && timer <= now.MonoNs {
					timer = -1
					do(r.Expired(FlushTimer, nil))
				}
			},
			"start": func(t *rapid.T) {
				to := rapid.Int64Range(m.start, m.hw()).Draw(t, "to")
				m.start, m.flushed = to, max(m.flushed, to)
				do(r.LogStartMoved(to, nil))
			},
			"": func(t *rapid.T) {
				require.Equal(t, m.hw(), r.HW())
				require.Equal(t, r.HW(), hw, "effects say what the state says")
				require.Equal(t, r.AckedLocal(), ack)
				require.Equal(t, r.HW(), r.VisibleTo(kafka.ConsumerReplica, kafka.ReadUncommitted))
				require.True(t, !m.policy || r.HW() <= max(m.flushed, m.start), "R5")
				require.Equal(t, m.leo, r.LEO())
				// Liveness: whatever waits has a flush or a timer coming.
				require.True(t, !m.policy || m.flushed == m.leo || asked == m.leo || timer >= 0, "%s", r)
				c := r.Clone()
				require.Equal(t, r.AppendTo(nil), c.AppendTo(nil))
				require.Equal(t, r.String(), c.String())
			},
		})
	})
}

// TestVisibleAfterFlushBites shows that the rule is what keeps unflushed records from readers.
func TestVisibleAfterFlushBites(t *testing.T) {
	visible := func(rules Rules) kafka.Offset {
		r := New(Config{Node: 1, FlushMessages: 1, FlushMs: NoFlushPolicy, Rules: rules})
		r.BecomeLeader(kafka.Now{}, alone, nil)
		r.Appended(kafka.Now{}, 0, 5, nil)
		require.Zero(t, r.HW(), "the ack waits either way")
		require.Zero(t, r.AckedLocal())
		return r.VisibleTo(kafka.ConsumerReplica, kafka.ReadUncommitted)
	}
	require.Zero(t, visible(AllRules()))
	off := AllRules()
	require.True(t, off.Off("visible-after-flush"))
	require.Equal(t, kafka.Offset(5), visible(off))
	require.False(t, off.Off("no-such-rule"))
}

// TestReadersBite: with the rule off, a consumer that reads committed transactions reads one whose marker is not durable.
func TestReadersBite(t *testing.T) {
	lso := func(rules Rules) kafka.Offset {
		r := New(Config{Node: 1, FlushMessages: 1, FlushMs: NoFlushPolicy, Rules: rules})
		r.BecomeLeader(kafka.Now{}, Leadership{Replicas: alone.Replicas, ISR: alone.ISR, LEO: 3, Flushed: 3}, nil)
		r.Appended(kafka.Now{}, 3, 4, nil)
		r.TransactionDecided(1, 3)
		return r.LSO()
	}
	require.EqualValues(t, 1, lso(AllRules()))
	off := AllRules()
	require.True(t, off.Off("lso-waits-for-markers"))
	require.EqualValues(t, 3, lso(off))
}

// The time of a follower runs from when it last had everything: from the election at first, whatever it lacks then; and from
// a fetch when it had all that there was at that moment, as the next one shows.
func TestLagTime(t *testing.T) {
	at := func(ms int64) kafka.Now { return kafka.Now{MonoNs: ms * nsPerMs} }
	r := New(Config{Node: 1, FlushMessages: NoFlushPolicy, FlushMs: NoFlushPolicy, LagMs: 30, Rules: AllRules()})
	two := []kafka.NodeID{1, 2}
	timer := func(out []Effect) (ms int64) {
		for _, e := range out {
			if e.Kind == SetTimer {
				ms = e.At / nsPerMs
			}
		}
		return ms
	}
	fetch := func(ms int64, from kafka.Offset) int64 {
		_, out := r.Fetched(at(ms), Fetch{Replica: 2, BrokerEpoch: -1, Epoch: 1, Offset: from, LastEpoch: -1}, EpochEnd{}, nil)
		return timer(out)
	}
	require.EqualValues(t, 130, timer(r.BecomeLeader(at(100), Leadership{Epoch: 1, Replicas: two, ISR: two, LEO: 10}, nil)))
	require.Zero(t, fetch(110, 4), "the time of the election goes on")
	r.Appended(at(115), 10, 12, nil)
	require.EqualValues(t, 140, fetch(120, 10), "at 110 there were ten")
	require.Zero(t, fetch(125, 11))
	r.Expired(LagTimer(2), nil)
	require.Contains(t, r.String(), "2:11!")
	fetch(150, 12)
	require.NotContains(t, r.String(), "!")
}

func TestCallsOutOfOrderPanic(t *testing.T) {
	r := New(Config{Node: 1, FlushMessages: NoFlushPolicy, FlushMs: NoFlushPolicy, Rules: AllRules()})
	l := alone
	l.Epoch = 3
	require.Panics(t, func() { r.Appended(kafka.Now{}, 0, 1, nil) }, "not the leader")
	r.BecomeLeader(kafka.Now{}, l, nil)
	require.Panics(t, func() { r.BecomeLeader(kafka.Now{}, l, nil) }, "R4")
	require.Panics(t, func() { r.Appended(kafka.Now{}, 1, 2, nil) }, "R6")
	require.Panics(t, func() { r.LogStartMoved(1, nil) }, "past the end")
	require.Panics(t, func() {
		r.BecomeLeader(kafka.Now{}, Leadership{Epoch: 4, Replicas: []kafka.NodeID{1, 2}, ISR: []kafka.NodeID{2}}, nil)
	})
	require.Panics(t, func() {
		r.BecomeLeader(kafka.Now{}, Leadership{Epoch: 4, Replicas: []kafka.NodeID{1}, ISR: []kafka.NodeID{1, 2}}, nil)
	})
	require.Panics(t, func() { New(Config{}) })
}

func TestPermute(t *testing.T) {
	r := New(Config{Node: 1, FlushMessages: NoFlushPolicy, FlushMs: NoFlushPolicy, Rules: AllRules()})
	r.BecomeLeader(kafka.Now{}, Leadership{Replicas: []kafka.NodeID{1, 2, 3}, ISR: []kafka.NodeID{3, 1, 2}}, nil)
	swap := func(n kafka.NodeID) kafka.NodeID { return 4 - n }
	p := r.Clone()
	p.Permute(swap)
	require.NotEqual(t, r.AppendTo(nil), p.AppendTo(nil))
	p.Permute(swap)
	require.Equal(t, r.AppendTo(nil), p.AppendTo(nil))
}

func TestNoAllocation(t *testing.T) {
	r := New(Config{Node: 1, FlushMessages: 1, FlushMs: NoFlushPolicy, Rules: AllRules()})
	r.BecomeLeader(kafka.Now{}, alone, nil)
	buf := make([]Effect, 0, 8)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		buf = r.Appended(kafka.Now{}, r.LEO(), r.LEO()+7, buf[:0])
		buf = r.Flushed(kafka.Now{}, r.LEO(), buf)
	}))
}
