package oracle

import (
	"slices"

	"trialog/core/event"
)

// loss is what one power cut may have taken from one partition: every record at or above from.
type loss struct {
	cut       int64 // ns
	recovered int64 // ns, when the log was open again
	from      int64 // no record below it is excused: the higher of the durable end at the cut and the end after recovery
	fault     *Fault
}

// trail follows one process's copy of one partition through the events.
type trail struct {
	flushed int64        // durable end
	end     int64        // log end, -1 before the first event that tells
	flush   *event.Event // the event that said so
	moved   *event.Event // the event that said so
	cuts    []loss       // power cuts after which it has not been recovered yet; from is the durable end
}

type trailKey struct {
	proc string
	id   tp
}

// eventScan walks events and faults in the order of time.
type eventScan struct {
	j      *judge
	trails map[trailKey]*trail
	logs   map[tp]*log
	leader map[leaderKey]*event.Event
	did    map[tp]*deeds
}

// deeds are what brokers did to one partition, in the order of time.
type deeds struct{ appends, flushes, recovers []*event.Event }

type leaderKey struct {
	id    tp
	epoch int32
}

// scanEvents finds losses and what events alone convict.
func (j *judge) scanEvents() *eventScan {
	s := &eventScan{
		j: j, trails: map[trailKey]*trail{}, logs: map[tp]*log{}, leader: map[leaderKey]*event.Event{},
		did: map[tp]*deeds{},
	}
	for _, l := range j.g.logs {
		s.logs[l.id] = l
	}
	f := 0
	for i := range j.in.Events {
		e := &j.in.Events[i]
		for ; f < len(j.in.Faults) && j.in.Faults[f].Time < e.Time; f++ {
			s.fault(&j.in.Faults[f])
		}
		s.event(e)
	}
	return s
}

// fault opens a possible loss on every partition of a process whose power was cut.
func (s *eventScan) fault(f *Fault) {
	if f.Verb != "powercut" {
		return
	}
	for key, t := range s.trails {
		if key.proc == f.Target {
			t.cuts = append(t.cuts, loss{cut: f.Time, from: t.flushed, fault: f})
		}
	}
}

func (s *eventScan) event(e *event.Event) {
	if e.Kind == event.Assert {
		s.j.v.Asserts = append(s.j.v.Asserts, e.String())
		return
	}
	if e.Topic == "" || slices.Contains(s.j.g.deleted, e.Topic) {
		return
	}
	id := tp{e.Topic, e.Partition}
	t := s.trails[trailKey{e.Proc, id}]
	if t == nil {
		t = &trail{end: -1}
		s.trails[trailKey{e.Proc, id}] = t
	}
	did := s.of(id)
	switch e.Kind {
	case event.Recover:
		s.recovered(t, id, e)
		did.recovers = append(did.recovers, e)
	case event.Leader:
		s.recovered(t, id, e)
		s.leads(id, e)
	case event.Append:
		if t.end >= 0 && e.Base != t.end {
			s.j.report(Anomaly{Class: AppendMisfits, Time: e.Time, Witnesses: []Witness{eventWitness(t.moved), eventWitness(e)}}, id,
				"%s appended at offset %d while its log ended at %d", e.Proc, e.Base, t.end)
		}
		t.end, t.moved = e.Next, e
		did.appends = append(did.appends, e)
	case event.Flush:
		if e.Next > t.flushed {
			t.flushed, t.flush = e.Next, e
		}
		did.flushes = append(did.flushes, e)
	case event.Truncate:
		t.flushed = min(t.flushed, e.Next)
		t.end, t.moved = e.Next, e
	}
}

func (s *eventScan) of(id tp) *deeds {
	did := s.did[id]
	if did == nil {
		did = &deeds{}
		s.did[id] = did
	}
	return did
}

// recovered closes the open cuts: the log ends at e.Next now. A leader event stands in for a missing recover event.
func (s *eventScan) recovered(t *trail, id tp, e *event.Event) {
	if e.Kind == event.Recover && t.flush != nil && e.Next < t.flushed {
		s.j.report(Anomaly{Class: LostFlushed, Time: e.Time, Witnesses: []Witness{eventWitness(t.flush), eventWitness(e)}}, id,
			"%s had fsynced the log up to offset %d and recovered it up to %d", e.Proc, t.flushed, e.Next)
	}
	l := s.logs[id]
	for _, c := range t.cuts {
		c.from, c.recovered = max(c.from, e.Next), e.Time
		lost := t.end < 0 || t.end > e.Next
		if l != nil && lost && s.j.in.Promises.DocumentedLoss {
			l.losses = append(l.losses, c)
		}
	}
	t.cuts = nil
	if e.Kind == event.Recover {
		t.flushed = min(t.flushed, e.Next)
		t.end, t.moved = e.Next, e
	}
}

func (s *eventScan) leads(id tp, e *event.Event) {
	k := leaderKey{id, e.Epoch}
	first, ok := s.leader[k]
	if ok && first.Proc != e.Proc {
		s.j.report(Anomaly{Class: TwoLeaders, Time: e.Time, Witnesses: []Witness{eventWitness(first), eventWitness(e)}}, id,
			"%s and %s both led in leader epoch %d", first.Proc, e.Proc, e.Epoch)
	}
	if !ok {
		s.leader[k] = e
	}
}

// before reports that the evidence may be older than the cut: the operation began before it, and its answer did not
// come from the broker that recovered.
func (j *judge) before(e evidence, l *loss) bool {
	if e.op.Call >= l.cut {
		return false
	}
	// An operation that was sent again and answered after the recovery was answered by the recovered broker: the old
	// connection is gone. A held or slow link, or a paused client, could deliver an older answer; then nothing is sure.
	return !(j.crashesOnly && e.op.Retried() && e.ret > l.recovered)
}

// takes reports that the loss explains why a record, known by the evidence up to the denial, is missing at time denied.
func (j *judge) takes(l *loss, r *record, known, denied int64) bool {
	if r.offset < l.from || denied <= l.cut {
		return false
	}
	for _, e := range r.evidence {
		if e.ret >= known {
			break
		}
		if !j.before(e, l) {
			return false
		}
	}
	return true
}

// gone is the loss that explains why a record, known by the evidence that returned before known, is missing or replaced
// at time denied; from is the lowest offset that was lost with it. A lost record comes back only when its producer sends
// it again.
func (j *judge) gone(l *log, r *record, from, known, denied int64) *loss {
	for i := range l.losses {
		loss := &l.losses[i]
		if from < loss.from || !j.takes(loss, r, known, denied) {
			continue
		}
		if r.since(denied) == nil || r.write.op.Retried() || r.write.op.Complete == nil {
			return loss
		}
	}
	return nil
}

// crashesOnly reports that no fault can keep an answer on its way: processes start and end, and disks misbehave.
func crashesOnly(faults []Fault) bool {
	for _, f := range faults {
		switch f.Verb {
		case "kill", "powercut", "restart", "start", "stop", "heal", "disk", "wipe", "clock":
		default:
			return false
		}
	}
	return true
}
