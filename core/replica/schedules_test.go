package replica

import (
	"fmt"
	"slices"

	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// schedule is a partition on a few brokers and the controller that ships, under any order of messages: they are lost, late,
// doubled, and a request that timed out is still on its way. Brokers stop, lose power and with it the end of their log, come
// back, are fenced while they live, lag, and apply the metadata late; the partition is reassigned and records are deleted.
//
// The model of it is what was promised: a record that was acknowledged to a producer with acks=all, or shown to a consumer,
// stands at its offset for ever.
type schedule struct {
	*cluster
	draw     func(n int) int // a choice of n
	world    world
	procs    []process
	asks     []ask     // on their way to a leader, also those of a process that is gone
	answers  []reading // on their way to a follower
	alters   []asked   // proposals on their way to the controller
	replies  []replied // and back
	names    int
	never    [26]bool // kinds of steps that this schedule does without: it gets further with the others
	often    [5]int   // others that it is full of
	promised map[kafka.Offset]stored
	end      kafka.Offset // of what was promised
	told     kafka.Offset // the largest end offset that a leader told
	was      meta.PartitionImage
	wrong    string // the first broken promise
}

// world is the kind of cluster that a schedule is about.
type world struct {
	brokers int // the partition has three replicas at most
	minISR  int
	elr     bool
	// cuts: power cuts, too. Where one of the disks that lost its end could be the last one that is known to be in sync, loss
	// is documented; so it needs ELR and a min.insync.replicas above 1.
	cuts bool
}

var worlds = []world{{3, 1, false, false}, {3, 2, true, true}, {3, 2, false, false}, {4, 2, true, true}, {2, 1, true, false}}

// process is what a broker is besides its log.
type process struct {
	up        bool
	clean     bool // it stopped with all that it had
	lost      bool // it lost power, and the controller does not know yet
	joined    int  // how much metadata there was when it had registered: it takes up nothing older
	hw        kafka.Offset
	producers []waiting
	proposal  *asked // the newest that was not answered
	life      int64
	before    int64 // the life before this one
	fetch     int   // the newest that was not answered: an answer to another one finds nobody who waits
}

// waiting is a produce with acks=all.
type waiting struct {
	next kafka.Offset
	r    stored
}

type ask struct {
	at kafka.NodeID
	f  Fetch
	id int
}

// reading is an answer; its records are read later than the fetch was taken in.
type reading struct {
	arrived
	by   kafka.NodeID
	life int64
	id   int
	done bool
}

type asked struct {
	by   kafka.NodeID
	life int64
	e    Effect
}

type replied struct {
	asked
	a Altered
}

func newSchedule(rules Rules, ctl controller.Rules, w world, draw func(n int) int) *schedule {
	s := &schedule{draw: draw, world: w, promised: map[kafka.Offset]stored{}}
	c := &cluster{requests: map[kafka.LeaderEpoch]decision{}, rules: rules, minISR: w.minISR, now: kafka.Now{MonoNs: 1}, quiet: true}
	for n := range w.brokers {
		b := &broker{node: kafka.NodeID(n + 1)}
		b.m = New(c.config(b.node))
		c.brokers = append(c.brokers, b)
		if n < 3 {
			c.replicas = append(c.replicas, b.node)
		}
		s.procs = append(s.procs, process{up: true, clean: true, before: kafka.NoBrokerEpoch})
	}
	for kind := range s.never {
		s.never[kind] = kind >= 5 && kind != 16 && draw(5) < 2
	}
	for i := range s.often {
		s.often[i] = draw(len(s.never))
	}
	s.cluster = c
	c.ctl = newControl(s, c, w.elr, ctl)
	return s
}

func (s *schedule) fail(format string, args ...any) {
	if s.wrong == "" {
		s.wrong = fmt.Sprintf(format, args...)
	}
}

// Errorf and FailNow let the schedule stand for a test in helpers of the cluster.
func (s *schedule) Errorf(format string, args ...any) { s.fail(format, args...) }
func (s *schedule) FailNow()                          { panic(s.wrong) }

func (s *schedule) proc(b *broker) *process { return &s.procs[b.node-1] }

func (s *schedule) partition() *meta.PartitionImage {
	return &s.ctl.c.Image().Topic("t").Partitions[0]
}

// act does effects, and sends what is to be sent.
func (s *schedule) act(b *broker, effects []Effect, a *arrived) {
	p := s.proc(b)
	for _, e := range effects {
		switch e.Kind {
		case ProposeISR:
			p.proposal = &asked{by: b.node, life: b.life, e: e}
			s.alters = append(s.alters, *p.proposal)
		case EndLeadership:
			p.producers = nil
		}
	}
	s.do(s, b, effects, a)
	waits := p.producers[:0]
	for _, w := range p.producers {
		switch done, code := b.m.AckAll(w.next); {
		case !done:
			waits = append(waits, w)
		case code == kafka.ErrNone:
			s.promise(w.next-1, w.r, b, "acknowledged")
		}
	}
	p.producers = waits
}

func (s *schedule) promise(o kafka.Offset, r stored, b *broker, how string) {
	if have, ok := s.promised[o]; ok && have != r {
		s.fail("offset %d was promised as %s, and is %s by b%d as %s", o, have, how, b.node, r)
	}
	s.promised[o], s.end = r, max(s.end, o+1)
}

// step takes one of so many kinds of steps. Some are several at once, so that something is achieved between the faults.
func (s *schedule) step() {
	b := s.brokers[s.draw(len(s.brokers))]
	p := s.proc(b)
	kind := s.draw(len(s.never))
	switch {
	case s.draw(3) == 0:
		kind = s.often[s.draw(len(s.often))]
	case s.never[kind]:
		kind = 2 + s.draw(2)*10
	}
	switch kind {
	case 0, 1:
		s.hear(b, p, min(s.draw(4), s.draw(4)))
	case 2, 3, 4:
		s.produce(b, p)
	case 5, 6:
		s.asks = append(s.asks, s.next(b, p)...)
		s.asks = s.asks[max(0, len(s.asks)-8):]
	case 7, 8:
		if a, ok := pick(s, &s.asks); ok {
			s.fetched(a)
		}
	case 9, 10, 11:
		s.answerGoesOn()
	case 12, 13, 14:
		s.roundTrip(b, p)
	case 15:
		s.controllerHears()
	case 16:
		s.decided()
	case 17:
		s.consume(b)
	case 18, 19:
		s.returns(b, p)
	case 20:
		s.lags(b)
	case 21:
		if p.up && p.proposal != nil { // it times out, and may still arrive
			a := Altered{Code: kafka.ErrRequestTimedOut, Asked: p.proposal.e.PartitionEpoch}
			p.proposal = nil
			s.act(b, b.m.ProposalAnswered(s.now, a, nil), nil)
		}
	default:
		s.events(kind, b, p)
	}
	s.check()
}

// next is what a follower asks, if it does.
func (s *schedule) next(b *broker, p *process) []ask {
	if f, ok := b.m.NextFetch(b.epochs.LatestEpoch(), b.life); ok && p.up {
		s.names++
		p.fetch = s.names
		return []ask{{b.m.LeaderID(), f, p.fetch}}
	}
	return nil
}

// roundTrip is a fetch that nothing comes in between of.
func (s *schedule) roundTrip(b *broker, p *process) {
	for _, a := range s.next(b, p) {
		if n := len(s.answers); s.fetched(a) {
			in := s.answers[n]
			s.answers = slices.Delete(s.answers, n, n+1)
			if s.read(&in) {
				s.takes(&in)
			}
		}
	}
}

// decided is the same of a proposal.
func (s *schedule) decided() {
	if len(s.alters) > 0 {
		a := s.alters[len(s.alters)-1]
		s.alters = s.alters[:len(s.alters)-1]
		s.answered(replied{a, s.decideOn(a)})
	}
}

// returns has a broker run, know all, and be unfenced.
func (s *schedule) returns(b *broker, p *process) {
	if !p.up {
		s.restart(b, p)
	}
	s.hear(b, p, 0)
	s.ctl.beat(s.cluster, b, false)
	s.hear(b, p, 0)
}

func (s *schedule) produce(b *broker, p *process) {
	if !p.up || b.m.CheckProduce(-1) != kafka.ErrNone || len(b.log) >= 6 {
		return
	}
	s.names++
	base := b.leo()
	r := stored{fmt.Sprint("m", s.names), b.m.Epoch()}
	b.log = append(b.log, r)
	p.producers = append(p.producers, waiting{base + 1, r})
	s.act(b, b.m.Appended(s.now, base, base+1, nil), nil)
}

// pick takes a message, or, one time in eight, leaves it there to come again; false: there is none, or it is lost.
func pick[T any](s *schedule, from *[]T) (m T, ok bool) {
	if len(*from) == 0 {
		return m, false
	}
	i, fate := s.draw(len(*from)), s.draw(16)
	if m = (*from)[i]; fate > 1 {
		*from = slices.Delete(*from, i, i+1)
	}
	return m, fate < 15
}

// fetched has a fetch arrive.
func (s *schedule) fetched(a ask) bool {
	l := s.brokers[a.at-1]
	if !s.proc(l).up {
		return false
	}
	var ours EpochEnd
	ours.Epoch, ours.End = l.epochs.EndOffsetFor(a.f.LastEpoch, l.leo())
	answer, effects := l.m.Fetched(s.now, a.f, ours, nil)
	s.answers = append(s.answers, reading{arrived: arrived{asked: a.f, answer: answer}, by: l.node, life: l.life, id: a.id})
	s.act(l, effects, nil)
	return true
}

// answerGoesOn reads the records of an answer, or takes an answer in.
func (s *schedule) answerGoesOn() {
	if len(s.answers) == 0 {
		return
	}
	if i := s.draw(len(s.answers)); !s.answers[i].done {
		if !s.read(&s.answers[i]) {
			s.answers = slices.Delete(s.answers, i, i+1)
		}
		return
	}
	if a, ok := pick(s, &s.answers); ok && a.done {
		s.takes(&a)
	}
}

// read has the leader read the records; false: there is no answer.
func (s *schedule) read(in *reading) bool {
	l := s.brokers[in.by-1]
	plain := in.answer.Code == kafka.ErrNone && !in.answer.Diverging
	if l.life != in.life || plain && !l.m.FetchStands(in.asked) { // a connection does not outlive the process
		return false
	}
	if in.done = true; plain {
		in.records, in.answer.LEO = slices.Clone(l.log[in.asked.Offset-l.start:]), l.leo()
	}
	return true
}

func (s *schedule) takes(a *reading) {
	f := s.brokers[a.asked.Replica-1]
	if p := s.proc(f); p.fetch != a.id { // of another life, too
		return
	} else {
		p.fetch = 0
	}
	var mine EpochEnd
	mine.Epoch, mine.End = f.epochs.EndOffsetFor(a.answer.Ours.Epoch, f.leo())
	s.act(f, f.m.FetchAnswered(a.asked, a.answer, mine, nil), &a.arrived)
}

// controllerHears has a proposal arrive, or its answer.
func (s *schedule) controllerHears() {
	if s.draw(2) == 0 {
		if a, ok := pick(s, &s.alters); ok {
			s.replies = append(s.replies, replied{a, s.decideOn(a)})
		}
		return
	}
	if r, ok := pick(s, &s.replies); ok {
		s.answered(r)
	}
}

func (s *schedule) answered(r replied) {
	if b := s.brokers[r.by-1]; b.life == r.life && s.proc(b).up {
		s.act(b, b.m.ProposalAnswered(s.now, r.a, nil), nil)
	}
}

func (s *schedule) decideOn(a asked) Altered {
	b := &broker{node: a.by, life: a.life}
	s.ctl.alter(s.cluster, b, &a.e)
	return *b.committed
}

// hear has a broker apply more of the metadata, if not the newest; nothing from before its registration.
func (s *schedule) hear(b *broker, p *process, less int) {
	upTo := len(s.ctl.views) - less
	if !p.up || upTo <= s.ctl.seen[b.node] || upTo < p.joined {
		return
	}
	s.ctl.seen[b.node] = upTo
	v := &s.ctl.views[upTo-1]
	switch {
	case slices.Contains(v.partition.Replicas, b.node):
		s.act(b, s.ctl.take(s.cluster, b, v), nil)
	case b.m.Role() != Offline:
		s.act(b, b.m.Stop(nil), nil)
		b.m, b.log, b.start, b.hw, p.hw = New(s.config(b.node)), nil, 0, 0, 0 // its log is deleted
		b.epochs.Clear()
	}
}

func (s *schedule) consume(b *broker) {
	if !s.proc(b).up || b.m.CheckRead(kafka.NoLeaderEpoch) != kafka.ErrNone {
		return
	}
	for o := b.start; o < b.m.VisibleTo(kafka.ConsumerReplica, kafka.ReadUncommitted); o++ {
		s.promise(o, b.log[o-b.start], b, "shown")
	}
	if p := s.partition(); p.Leader == b.node && b.m.Epoch() == p.LeaderEpoch && b.m.EndKnown() {
		if b.m.HW() < s.told {
			s.fail("b%d tells the end offset %d, after %d was told", b.node, b.m.HW(), s.told)
		}
		s.told = b.m.HW()
	}
}

// play is the schedule of a seed: 180 steps, or fewer until a promise is broken.
func play(rules Rules, ctl controller.Rules, seed uint64) (wrong string) {
	rng := newRand(seed)
	s := newSchedule(rules, ctl, worlds[seed%uint64(len(worlds))], rng.IntN)
	defer func() {
		if failed := recover(); failed != nil {
			wrong = fmt.Sprint(failed) // an assertion of a machine
		}
	}()
	for range 180 {
		if s.step(); s.wrong != "" {
			break
		}
	}
	return s.wrong
}
