package controller

import (
	"fmt"
	"slices"

	"trialog/checker/explore"
	machine "trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

var now = kafka.Now{MonoNs: 1, WallMs: 1}

// Step does an enabled action. An assertion of a machine that fails is kept in the state.
func (w *World) Step(from *State, a explore.Action, to *State) (branches uint64) {
	*to = *from
	defer func() {
		if failed := recover(); failed != nil {
			to.breaks(assertions, "%v", failed)
		}
	}()
	kind := w.Kind(a)
	how, x, y := operands(a)
	switch kind {
	case commit:
		return w.commitNext(to)
	case catchUp:
		c := &to.seats[to.leader]
		c.m = c.m.Clone()
		if !c.replay(to.head) {
			to.breaks(prefix, "controller %d has another image than the log", to.leader+1)
		}
	case resign:
		c := &to.seats[x]
		c.m, c.pend = c.m.Clone(), nil
		c.m.Resign()
	case hear:
		to.brokers[x].caught = true
	case arrive:
		m := to.late[x]
		to.late = slices.Delete(slices.Clone(to.late), x, x+1)
		return w.ask(to, int(to.leader), m, atOnce)
	case breakDisk:
		to.spend(Disk)
		to.brokers[x].disk = failed
		w.forgets(to, x)
	case replace:
		b := &to.brokers[x]
		b.end(b.life)
	case crash, lose:
		to.spend(spends[kind])
		w.die(to, x, kind == lose)
	case leave:
		to.spend(Leave)
		to.brokers[x].wants = true
	case electController:
		to.spend(Leader)
		return to.elect(w, x, y>>4, y&15)
	case deposedFences, deposedGives:
		return w.ask(to, x, w.message(to, kind, x, y), atOnce)
	default:
		return w.send(to, kind, how, x, y)
	}
	return 0
}

// send has the leader get a request now, or later.
func (w *World) send(s *State, kind int, how mode, x, y int) (branches uint64) {
	if b := &s.brokers[x]; kind == register && !b.up {
		b.up, b.births = true, b.births+1
	}
	m := w.message(s, kind, x, y)
	if how == late {
		s.spend(Late)
		s.late = append(s.late[:len(s.late):len(s.late)], m)
		return 0
	}
	return w.ask(s, int(s.leader), m, how)
}

func (s *State) spend(kind int) {
	s.used[kind]++
	s.total++
}

func (s *State) breaks(p promise, format string, args ...any) {
	if s.broken == nothing {
		s.broken, s.wrong = p, fmt.Sprintf(format, args...)
	}
}

// die ends a process.
func (w *World) die(s *State, i int, loses bool) {
	b := &s.brokers[i]
	b.end(kafka.NoBrokerEpoch)
	if loses {
		w.forgets(s, i)
	}
}

// forgets: the data of a broker is gone.
func (w *World) forgets(s *State, i int) {
	for slot := range w.slots() {
		s.holds[slot] &^= 1 << i
	}
}

// end is what is left of a process, with what it wrote down.
func (b *broker) end(wrote int64) {
	if b.disk == failed {
		b.disk = anew // what was written down is in the directory that works
	}
	*b = broker{life: kafka.NoBrokerEpoch, wrote: wrote, births: b.births, disk: b.disk}
}

// ask has a controller decide, and answer if the answer need not wait.
func (w *World) ask(s *State, at int, m *message, how mode) (branches uint64) {
	c := &s.seats[at]
	c.m = c.m.Clone()
	before := c.now()
	d := c.m.Handle(now, w.request(m))
	branches = met(m, &d)
	w.checkAnswer(s, before, m, &d)
	if s.broken != nothing {
		return branches
	}
	if spent := spends[m.kind]; spent >= 0 && len(d.Records) > 0 {
		s.spend(spent) // what changes nothing is as if it had not been asked for
	}
	told := false
	if len(d.Records) == 0 && len(c.pend) > 0 {
		return branches // the answer waits for what it was made on top of, and is asked for again
	}
	if !d.Durable || len(d.Records) == 0 {
		told = true
		if how != lost {
			w.answered(s, m, d.Response)
		}
	}
	waits := how == stalled || len(c.pend) > 0 || at != int(s.leader)
	if how == copied && len(d.Records) > 0 {
		s.spend(Late)
		again := m
		if !waits {
			again = m.answered(d.Response)
		}
		s.late = append(s.late[:len(s.late):len(s.late)], again)
	}
	if len(d.Records) == 0 {
		return branches
	}
	if how == lost {
		s.spend(Drop)
	}
	if waits {
		after := before.Clone()
		for _, r := range d.Records {
			if err := after.Apply(r); err != nil {
				s.breaks(assertions, "a decision does not fit what it was made on: %v", err)
				return branches
			}
		}
		c.pend = append(c.pend[:len(c.pend):len(c.pend)], pending{seq: d.Seq, records: d.Records, after: after, ask: m, answer: d.Response, told: told})
		return branches
	}
	branches |= w.commit(s, d.Seq, d.Records, m)
	if how != lost && !told {
		w.answered(s, m, d.Response)
	}
	return branches
}

// answered is a copy of a request that stays on its way, and knows what its first one was answered.
func (m *message) answered(answer machine.Response) *message {
	n := *m
	if r, ok := answer.(*machine.AlterPartitionResponse); ok && r.Code == kafka.ErrNone && r.Partitions[0].Code == kafka.ErrNone {
		n.done, n.became = true, r.Partitions[0].PartitionEpoch
	}
	return &n
}

// commit puts a decision of the leader at the end of the log.
func (w *World) commit(s *State, seq int64, records []meta.Record, m *message) (branches uint64) {
	c := &s.seats[s.leader]
	c.m.Committed(seq)
	c.m.Reached(now, s.head.at+1)
	v := &version{at: s.head.at + 1, records: records, image: c.m.Image(), before: s.head}
	if c.at != s.head {
		if v.image = s.replayed(records); v.image == nil {
			return 0
		}
		if !meta.Diff(v.image, c.m.Image()).Empty() {
			s.breaks(prefix, "controller %d has another image than the log", s.leader+1)
		}
	}
	s.head, c.at = v, v
	return w.changed(s, v, m)
}

// replayed is what everybody who reads the log makes of the next records; nil if they do not fit.
func (s *State) replayed(records []meta.Record) *meta.Image {
	image := s.head.image.Clone()
	for _, r := range records {
		if err := image.Apply(r); err != nil {
			s.breaks(prefix, "what is committed does not fit the log: %v", err)
			return nil
		}
	}
	return image
}

// commitNext commits the first decision that waits, whose answer then leaves.
func (w *World) commitNext(s *State) uint64 {
	c := &s.seats[s.leader]
	p := c.pend[0]
	c.m, c.pend = c.m.Clone(), c.pend[1:]
	branches := w.commit(s, p.seq, p.records, p.ask)
	if !p.told {
		w.answered(s, p.ask, p.answer)
	}
	return branches
}

// answered is what the sender of a request does when it hears the answer.
func (w *World) answered(s *State, m *message, r machine.Response) {
	switch r := r.(type) {
	case *machine.RegisterBrokerResponse:
		if b := &s.brokers[m.from-1]; b.up && b.births == m.born && r.Code == kafka.ErrNone {
			b.life, b.wrote = r.BrokerEpoch, kafka.NoBrokerEpoch
		}
	case *machine.BrokerHeartbeatResponse:
		if b := &s.brokers[m.from-1]; r.ShutDown && b.up && b.wants && b.life == m.life {
			w.goes(s, m.from)
			b.end(b.life)
		}
	case *machine.AssignDirsResponse:
		if b := &s.brokers[m.from-1]; r.Code == kafka.ErrNone && b.births == m.born && b.disk == anew {
			b.disk = another
		}
	case *machine.AllocateProducerIDsResponse:
		if r.Code != kafka.ErrNone {
			return
		}
		if r.First < s.given {
			s.breaks(producerIDs, "the block from %d is given out, and was before", r.First)
		}
		s.given = max(s.given, r.First+int64(r.Count))
	}
}

// goes looks at what a broker leads that may go.
func (w *World) goes(s *State, id kafka.NodeID) {
	for slot := range w.slots() {
		if _, p := w.partition(s.head.image, slot); p != nil && p.Leader == id {
			s.breaks(farewells, "b%d may go, and leads: %s", id, state(p))
		}
	}
}

// replay has a standby, or a controller that waits, apply the log up to a version. False: it does not come to the image of
// the log.
func (c *seat) replay(upTo *version) bool {
	var list []*version
	for v := upTo; v != c.at; v = v.before {
		list = append(list, v)
	}
	for i := len(list) - 1; i >= 0; i-- {
		if err := c.m.Replay(list[i].records...); err != nil {
			return false
		}
	}
	c.at = upTo
	c.m.Reached(now, upTo.at)
	return meta.Diff(c.m.Image(), upTo.image).Empty()
}

// elect makes a controller the leader of the log. Of what the one before it has decided, the first few decisions survive,
// without its knowing; the new one has applied all of the log but the last few.
func (s *State) elect(w *World, i, survive, lag int) (branches uint64) {
	old := &s.seats[s.leader]
	for _, p := range old.pend[:survive] {
		s.head = &version{at: s.head.at + 1, records: p.records, image: p.after, before: s.head}
		branches |= w.changed(s, s.head, p.ask)
	}
	switch {
	case survive > 0:
		branches |= bit(bSurvives)
	case len(old.pend) > 0:
		branches |= bit(bDropped)
	}
	for k := range w.cfg.Controllers {
		// One that waited for its barrier has nothing to decide by, and the new one was told that it is that.
		if c := &s.seats[k]; k == i || k == int(s.leader) && !c.m.Active() {
			c.m, c.pend = c.m.Clone(), nil
			c.m.Resign()
		}
	}
	c := &s.seats[i]
	if !c.replay(s.head.back(lag)) {
		s.breaks(prefix, "controller %d has another image than the log", i+1)
	}
	s.term++
	s.leader = uint8(i)
	c.m.Lead(now, s.term, s.head.at)
	if !c.m.Active() {
		branches |= bit(bWaits)
	}
	return branches
}
