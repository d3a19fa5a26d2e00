package replica

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
)

// schedule is a partition on three brokers under any order of messages: they are lost, late, or doubled, brokers die and
// come back in another life with the log that they had, elections come at any time. Of the controller there is what it must
// do: it elects from its ISR, and commits a proposal only of the current leader, in the current partition epoch, of brokers
// in the lives that it names.
type schedule struct {
	cluster
	epoch   kafka.LeaderEpoch
	leader  kafka.NodeID
	isr     []kafka.NodeID
	asks    []ask     // on their way to a leader
	answers []arrived // on their way to a follower
	alters  []Effect  // proposals on their way to the controller
	replies []reply   // on their way back
	names   int
	acked   map[kafka.Offset]stored
	wrong   string // the first broken promise
}

type ask struct {
	at kafka.NodeID
	f  Fetch
}

type reply struct {
	to kafka.NodeID
	a  Altered
}

func newSchedule(rules Rules, minISR int) *schedule {
	s := &schedule{leader: kafka.NoNode, epoch: kafka.NoLeaderEpoch, acked: map[kafka.Offset]stored{}}
	s.requests, s.rules, s.minISR, s.now = map[kafka.LeaderEpoch]decision{}, rules, minISR, kafka.Now{MonoNs: 1}
	for n := kafka.NodeID(1); n <= 3; n++ {
		b := &broker{node: n, life: 1}
		b.m = New(s.config(n))
		s.brokers = append(s.brokers, b)
		s.isr, s.replicas = append(s.isr, n), append(s.replicas, n)
	}
	return s
}

// act does effects, and sends what is to be sent.
func (s *schedule) act(b *broker, effects []Effect, a *arrived) {
	s.do(nil, b, effects, a)
	for _, e := range effects {
		if e.Kind == ProposeISR {
			s.alters = append(s.alters, e)
		}
	}
	s.noteAcks(b)
}

// noteAcks remembers what a producer with acks=all may have been told.
func (s *schedule) noteAcks(b *broker) {
	if b.m.Role() != Leader {
		return
	}
	for o := b.start; o < b.m.HW(); o++ {
		if done, code := b.m.AckAll(o + 1); !done || code != kafka.ErrNone {
			break
		}
		r := b.log[o-b.start]
		if have, ok := s.acked[o]; ok && have != r {
			s.fail("offset %d was acked as %s@%d and is %s@%d on b%d", o, have.name, have.epoch, r.name, r.epoch, b.node)
		}
		s.acked[o] = r
	}
}

func (s *schedule) fail(format string, args ...any) {
	if s.wrong == "" {
		s.wrong = fmt.Sprintf(format, args...)
	}
}

// check looks for what was promised and is gone: on the leader that everybody would ask now, and on two logs below their HWs.
func (s *schedule) check() {
	for _, b := range s.brokers {
		if b.m.Role() == Leader && b.node == s.leader && b.m.Epoch() == s.epoch {
			for o, r := range s.acked {
				if o >= b.leo() || b.log[o-b.start] != r {
					s.fail("offset %d was acked as %s@%d; b%d leads e%d without it", o, r.name, r.epoch, b.node, s.epoch)
				}
			}
		}
		for _, c := range s.brokers[:b.node-1] {
			for o := kafka.Offset(0); o < min(b.m.HW(), c.m.HW()); o++ {
				if b.log[o] != c.log[o] {
					s.fail("offset %d is %s on b%d and %s on b%d, below both HWs", o, b.log[o].name, b.node, c.log[o].name, c.node)
				}
			}
		}
	}
}

func (s *schedule) elect(leader kafka.NodeID) {
	s.epoch++
	s.partEp++
	s.leader = leader
	s.requests[s.epoch] = decision{leader: leader, isr: slices.Clone(s.isr), partEp: s.partEp}
}

// step takes one of so many kinds of steps; draw(n) is a choice of n.
func (s *schedule) step(draw func(n int) int) {
	b := s.brokers[draw(3)]
	switch draw(12) {
	case 0:
		if to := s.isr[draw(len(s.isr))]; to != s.leader {
			s.elect(to)
		}
	case 1, 2:
		if e := s.epoch - int32(draw(2)); e > b.m.Epoch() && e >= 0 {
			s.hears(s, b, fmt.Sprint(e))
			s.noteAcks(b)
		}
	case 3:
		if b.m.CheckProduce(-1) == kafka.ErrNone && len(b.log) < 6 {
			s.names++
			base := b.leo()
			b.log = append(b.log, stored{fmt.Sprintf("m%d", s.names), b.m.Epoch()})
			s.act(b, b.m.Appended(s.now, base, base+1, nil), nil)
		}
	case 4, 5:
		if f, ok := b.m.NextFetch(b.epochs.LatestEpoch(), b.life); ok {
			s.asks = append(s.asks, ask{b.m.LeaderID(), f})
		}
	case 6, 7:
		if i, dup := draw(max(len(s.asks), 1)), draw(8) == 0; i < len(s.asks) {
			a := s.asks[i]
			if !dup {
				s.asks = slices.Delete(s.asks, i, i+1)
			}
			s.handle(s.brokers[a.at-1], a.f)
		}
	case 8, 9:
		if i, dup := draw(max(len(s.answers), 1)), draw(8) == 0; i < len(s.answers) {
			a := s.answers[i]
			if !dup {
				s.answers = slices.Delete(s.answers, i, i+1)
			}
			f := s.brokers[a.asked.Replica-1]
			if f.life == a.asked.BrokerEpoch { // a connection does not outlive the process
				var mine EpochEnd
				mine.Epoch, mine.End = f.epochs.EndOffsetFor(a.answer.Ours.Epoch, f.leo())
				s.act(f, f.m.FetchAnswered(a.asked, a.answer, mine, nil), &a)
			}
		}
	case 10:
		s.controllerStep(draw)
	case 11:
		if draw(3) == 0 {
			s.die(b)
		} else {
			s.act(b, b.m.Expired(LagTimer(kafka.NodeID(draw(3)+1)), nil), nil)
		}
	}
	s.check()
}

func (s *schedule) handle(l *broker, f Fetch) {
	var ours EpochEnd
	ours.Epoch, ours.End = l.epochs.EndOffsetFor(f.LastEpoch, l.leo())
	a, effects := l.m.Fetched(s.now, f, ours, nil)
	in := arrived{asked: f, answer: a}
	if a.Code == kafka.ErrNone && !a.Diverging {
		in.records = slices.Clone(l.log[f.Offset-l.start:])
	}
	s.answers = append(s.answers, in)
	s.act(l, effects, nil)
}

// controllerStep handles a proposal or delivers an answer to one; either may be lost.
func (s *schedule) controllerStep(draw func(n int) int) {
	if i := draw(max(len(s.alters), 1)); i < len(s.alters) && draw(2) == 0 {
		e := s.alters[i]
		s.alters = slices.Delete(s.alters, i, i+1)
		if draw(6) > 0 {
			s.alter(e)
		}
		return
	}
	if i := draw(max(len(s.replies), 1)); i < len(s.replies) {
		r := s.replies[i]
		s.replies = slices.Delete(s.replies, i, i+1)
		if draw(6) > 0 {
			b := s.brokers[r.to-1]
			s.act(b, b.m.ProposalAnswered(s.now, r.a, nil), nil)
		}
	}
}

func (s *schedule) alter(e Effect) {
	a := Altered{Asked: e.PartitionEpoch, Epoch: s.epoch, PartitionEpoch: s.partEp}
	var isr []kafka.NodeID
	for _, m := range e.ISR {
		isr = append(isr, m.Node)
		if m.BrokerEpoch != kafka.NoBrokerEpoch && m.BrokerEpoch != s.brokers[m.Node-1].life {
			a.Code = kafka.ErrIneligibleReplica
		}
	}
	switch {
	case e.Epoch != s.epoch:
		a.Code = kafka.ErrFencedLeaderEpoch
	case e.PartitionEpoch != s.partEp:
		a.Code = kafka.ErrInvalidUpdateVersion
	case a.Code == kafka.ErrNone:
		s.partEp++
		s.isr = isr
		a.PartitionEpoch, a.ISR = s.partEp, isr
		d := s.requests[s.epoch]
		d.isr, d.partEp = slices.Clone(isr), s.partEp
		s.requests[s.epoch] = d
	}
	s.replies = append(s.replies, reply{s.leader, a})
}

// die: the process ends and the log stays. The controller takes it out of the ISR, if somebody is left there.
func (s *schedule) die(b *broker) {
	b.hw = min(b.hw, b.leo())
	b.life++
	b.m = New(s.config(b.node))
	if len(s.isr) > 1 {
		s.isr = slices.DeleteFunc(s.isr, func(n kafka.NodeID) bool { return n == b.node })
	}
	s.elect(s.isr[0])
}

// Errorf and FailNow let the schedule stand for a test in helpers of the cluster.
func (s *schedule) Errorf(format string, args ...any) { s.fail(format, args...) }
func (s *schedule) FailNow()                          { panic(s.wrong) }

func TestSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSchedule(AllRules(), rapid.IntRange(1, 2).Draw(t, "min.insync.replicas"))
		for range rapid.IntRange(0, 150).Draw(t, "steps") {
			s.step(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
			require.Empty(t, s.wrong)
		}
	})
}

// play is the schedule of a seed: 150 steps, or fewer until a promise is broken.
func play(rules Rules, seed uint64) *schedule {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := newSchedule(rules, 1+int(seed%2))
	for range 150 {
		if s.step(rng.IntN); s.wrong != "" {
			break
		}
	}
	return s
}

// kills has, for each rule, the first seed whose schedule breaks a promise with the rule off. A rule that is not here has a
// story in testdata; what schedules like these cannot show of it stands behind it.
var kills = map[string]uint64{
	"truncate-by-epoch":         272,
	"compare-epochs":            63,
	"truncate-on-epoch-change":  29,
	"divergence-before-hw":      1310,
	"drop-stale-answers":        46,
	"divergence-is-no-progress": 29,
	"maximal-isr":               4577,
	"hw-counts-isr":             10,
	"isr-by-controller":         22,
}

func TestSchedulesKill(t *testing.T) {
	for rule, seed := range kills {
		rules := AllRules()
		require.True(t, rules.Off(rule), rule)
		require.NotEmpty(t, play(rules, seed).wrong, "%s off, seed %d", rule, seed)
		require.Empty(t, play(AllRules(), seed).wrong, "seed %d", seed)
	}
}

// The sound machines keep their promises, whatever the schedule. (rapid draws others in TestSchedules.)
func TestManySchedules(t *testing.T) {
	for seed := range uint64(10_000) {
		require.Empty(t, play(AllRules(), seed).wrong, "seed %d", seed)
	}
}

// BenchmarkSchedules prints schedules a second; the target is 2,000.
func BenchmarkSchedules(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		play(AllRules(), seed)
		seed++
	}
	b.ReportMetric(float64(seed)/b.Elapsed().Seconds(), "schedules/s")
}
