package producer

import (
	"trialog/core/client/retry"
	"trialog/core/kafka"
	"trialog/core/producers"
)

// knows is who leads by the word of a broker, or 0.
func (s *State) knows(i int) uint8 {
	n := s.nodes[i]
	switch {
	case !n.up:
		return 0
	case n.m.LeaderID() != kafka.NoNode:
		return uint8(n.m.LeaderID())
	case n.m.CheckEpoch(n.m.Epoch()) == kafka.ErrNone:
		return uint8(i + 1)
	}
	return 0
}

// next numbers the batch that is sent next.
func (w *World) next(s *State) uint8 {
	s.lane = s.lane.Clone()
	b, _ := s.lane.Next()
	s.lane.Begin(b)
	if !s.lane.Numbered(b) && s.lane.Number(b, w.identityOf(s.identity)).Identity != w.identityOf(s.identity) {
		s.revived = true
	}
	return b
}

// send has the producer send to whom it believes to lead, or to learn that first.
func (w *World) send(s *State, to uint8) {
	b := w.next(s)
	s.target = to
	i := int(to - 1)
	if !s.nodes[i].up {
		s.took(didDial)
		s.target = 0
		w.failed(s, b, retry.Failure{Outcome: retry.Failed})
		return
	}
	for _, q := range s.lane.Batches() {
		if q.Payload == b {
			s.conns[i] = append(s.conns[i][:len(s.conns[i]):len(s.conns[i])],
				request{batch: b, identity: w.counted(q.Identity), sequence: q.Sequence})
		}
	}
	s.lane.Left(b)
}

// take has the producer take the oldest answer of a connection.
func (w *World) take(s *State, i int, late bool) {
	r := s.conns[i][0]
	s.conns[i] = s.conns[i][1:]
	s.lane = s.lane.Clone()
	if r.code == kafka.ErrNone {
		s.lane.Done(r.batch)
		s.ended[r.batch] = ending{over: true, outcome: retry.OK, offset: r.base}
		w.resume(s)
		return
	}
	if retry.Refreshes(r.code) && s.target == uint8(i+1) {
		s.target = 0
	}
	f := retry.Failure{Outcome: retry.Unknown, Code: r.code, Late: late}
	if retry.Definite(r.code) {
		f.Outcome = retry.Failed
	}
	w.failed(s, r.batch, f)
}

// breakUp breaks a connection. What has not arrived may still do so.
func (w *World) breakUp(s *State, i int) {
	w.lost(s, i, s.strand(i))
}

// strand empties a connection, and leaves behind what has not arrived.
func (s *State) strand(i int) []request {
	requests := s.conns[i]
	s.conns[i] = nil
	conn := uint8(0)
	if k := len(s.strays); k > 0 {
		conn = s.strays[k-1].conn + 1
	}
	s.strays = s.strays[:len(s.strays):len(s.strays)]
	for _, r := range requests {
		if r.stage == sent {
			s.strays = append(s.strays, stray{broker: uint8(i), conn: conn, request: r})
		}
	}
	return requests
}

// lost tells the producer that there is no answer to these.
func (w *World) lost(s *State, i int, requests []request) {
	if s.target == uint8(i+1) {
		s.target = 0
	}
	if len(requests) == 0 {
		return
	}
	s.lane = s.lane.Clone()
	for _, r := range requests {
		w.failed(s, r.batch, retry.Failure{Outcome: retry.Unknown})
	}
}

// failed has the producer take in the end of an attempt. The lane is the state's own.
func (w *World) failed(s *State, b uint8, f retry.Failure) {
	d := s.lane.Failed(b, f)
	if d.Again {
		s.took(didRetry)
		if f.Code == kafka.ErrOutOfOrderSequenceNumber {
			s.took(didOutOfOrderRetry)
		}
	}
	for _, e := range d.Ended {
		s.ended[e.Batch.Payload] = ending{over: true, outcome: e.Outcome}
		if e.Outcome == retry.Failed {
			s.took(didEndFailed)
		} else {
			s.took(didEndUnknown)
		}
	}
	if d.Retired {
		s.took(didGiveUp)
		if d.Identity == w.identityOf(s.identity) {
			s.identity++
		}
	}
	if d.Retired && !f.Late && retry.Disowned(f.Code) {
		s.refused = f.Code
	}
	w.resume(s)
}

// resume pauses for no time when all are home. Next is asked at once, so that it changes nothing when it is asked later.
func (w *World) resume(s *State) {
	if s.lane.Home() {
		s.lane.Resume()
	}
	s.lane.Next()
}

// renew has the producer's process die, and another send the rest under an identity of its own.
func (w *World) renew(s *State) {
	for i := range brokers {
		s.strand(i)
	}
	lane := w.newLane()
	for _, q := range s.lane.Batches() {
		if q.Left > 0 {
			s.took(didEndUnknown)
			s.ended[q.Payload] = ending{over: true, outcome: retry.Unknown}
			continue
		}
		lane.Add(q.Payload, 1)
	}
	s.lane, s.target = lane, 0
	s.identity++
}

// recover finds the producers of a broker that comes back. A snapshot that is not believed is as none.
func (w *World) recover(n *node) {
	if n.snapshot <= n.leo() {
		state, err := producers.ParseSnapshot(w.cfg.Producers, n.snapshot, n.producers.AppendSnapshot(nil))
		if err == nil {
			n.producers = state
			return
		}
	}
	w.rebuild(n)
}
