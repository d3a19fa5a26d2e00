package controller

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// Controller is the machine. Make it with New.
type Controller struct {
	cfg         Config
	committed   *meta.Image // published: replaced, never changed
	speculative *meta.Image // committed and the pending decisions
	pending     []pending   // in order
	seq         int64       // of the last decision with records

	active    bool  // decides
	leads     bool  // chosen, and active when it has reached the barrier
	term      int32 // controller epoch
	barrier   int64 // offset of the log up to which its predecessors may have written
	reached   int64 // offset of the log up to which the committed image goes; -1 while that is not known
	lastEpoch int64 // the last broker epoch that it gave
	sessions  []session
}

// pending is a decision that is not committed yet.
type pending struct {
	seq     int64
	records []meta.Record
}

// New starts from the committed image, which is cloned. It decides at once unless cfg.Standby.
func New(cfg Config, committed *meta.Image) *Controller {
	return &Controller{cfg: cfg, committed: committed.Clone(), speculative: committed.Clone(), active: !cfg.Standby, reached: -1}
}

// Handle decides a request on top of all earlier decisions. It never fails: refusals are in the response.
func (c *Controller) Handle(now kafka.Now, req Request) Decision {
	if !c.active {
		return Decision{Seq: c.seq, Term: c.term, Response: &NotController{}}
	}
	d := Decision{Durable: true, Term: c.term}
	switch req := req.(type) {
	case *CreateTopics:
		d.Response, d.Records = c.createTopics(req)
	case *DeleteTopics:
		d.Response, d.Records = c.deleteTopics(req)
	case *CreatePartitions:
		d.Response, d.Records = c.createPartitions(req)
	case *AlterConfigs:
		d.Response, d.Records = c.alterConfigs(req)
	case *AllocateProducerIDs:
		d.Response, d.Records = c.allocateProducerIDs(req)
		d.Durable = c.cfg.Rules.ProducerIDsDurable
	case *RegisterBroker:
		d.Response, d.Records = c.registerBroker(req)
	case *BrokerHeartbeat:
		d.Response, d.Records, d.Timers = c.heartbeat(now, req)
	case *SessionExpired:
		d.Response, d.Records = c.sessionExpired(req)
	case *UnregisterBroker:
		d.Response, d.Records = c.unregisterBroker(req)
	case *AlterPartition:
		d.Response, d.Records = c.alterPartition(req)
	case *ElectLeaders:
		d.Response, d.Records = c.electLeaders(req)
	case *BalanceLeaders:
		d.Response, d.Records = c.balanceLeaders(req)
	case *AssignDirs:
		d.Response, d.Records = c.assignDirs(req)
	case *Reassign:
		d.Response, d.Records = c.reassign(req)
	case *UpdateFeatures:
		d.Response, d.Records = c.updateFeatures(req)
	default:
		panic(fmt.Sprintf("controller: handle %T", req))
	}
	if len(d.Records) > 0 {
		c.seq++
		c.pending = append(c.pending, pending{seq: c.seq, records: d.Records})
	} else {
		d.Durable = false
	}
	d.Seq = c.seq
	return d
}

// decide applies records to the speculative image. They fit, or this room has a bug.
func (c *Controller) decide(records ...meta.Record) []meta.Record {
	mustApply(c.speculative, records)
	return records
}

func mustApply(m *meta.Image, records []meta.Record) {
	for _, r := range records {
		if err := m.Apply(r); err != nil {
			panic("controller: its own record does not fit: " + err.Error())
		}
	}
}

// Committed applies the records of all pending decisions up to seq to the committed image and returns them in order. A
// seq that is committed already, or was dropped, does nothing.
func (c *Controller) Committed(seq int64) []meta.Record {
	var records []meta.Record
	n := 0
	for n < len(c.pending) && c.pending[n].seq <= seq {
		records = append(records, c.pending[n].records...)
		n++
	}
	if n == 0 {
		return nil
	}
	next := c.committed.Clone()
	mustApply(next, records)
	c.committed = next
	c.pending = slices.Delete(c.pending, 0, n)
	return records
}

// Drop forgets all pending decisions: the speculative image becomes the committed one again.
func (c *Controller) Drop() {
	c.pending = nil
	c.speculative = c.committed.Clone()
	// Broker epochs that nobody was told may be given again, and have to be: one above its offset in the log could be given
	// by the next controller, too, once its broker is forgotten.
	c.lastEpoch = 0
}

// Lead makes the machine the controller of a term. It decides nothing before Reached has come to barrier, the offset up to
// which anybody before it may have written (C06).
func (c *Controller) Lead(now kafka.Now, term int32, barrier int64) []Timer {
	c.leads, c.term, c.barrier = true, term, barrier
	return c.activate(now)
}

// activate begins to decide if nothing is missing. Brokers that are not fenced get a session: who is silent from now on is
// fenced by this controller.
func (c *Controller) activate(now kafka.Now) []Timer {
	if !c.leads || c.active || c.reached < c.barrier && c.cfg.Rules.BarrierBeforeDecisions {
		return nil
	}
	c.active = true
	if c.cfg.SessionTimeoutMs == 0 {
		return nil
	}
	var timers []Timer
	for _, b := range c.committed.Brokers() {
		s := c.session(b)
		if s.Registered = c.reached; b.InControlledShutdown {
			s.ShutDown = c.reached
		}
		if !b.Fenced {
			timers = append(timers, c.timer(now, b))
		}
	}
	return timers
}

// Resign makes a standby of the machine, and drops what is pending.
func (c *Controller) Resign() {
	c.active, c.leads, c.sessions = false, false, nil
	c.Drop()
}

// Replay applies records that another controller wrote. An error is corruption and leaves the image as it was before the
// record. It panics in a controller that has begun to decide: nobody else writes now.
func (c *Controller) Replay(records ...meta.Record) error {
	if c.active && c.cfg.Rules.BarrierBeforeDecisions {
		panic("controller: replay beside decisions")
	}
	next := c.committed.Clone()
	var err error
	for _, r := range records {
		if err = next.Apply(r); err != nil {
			break
		}
	}
	c.committed, c.speculative = next, next.Clone()
	return err
}

// Reached says that the committed image is that of the log up to an offset, inclusive. What was committed before is known
// to stand there or before; a controller that waits for its barrier may begin.
func (c *Controller) Reached(now kafka.Now, offset int64) []Timer {
	c.reached = max(c.reached, offset)
	for i := range c.sessions {
		s := &c.sessions[i]
		b := c.committed.Broker(s.broker)
		if b == nil || b.Epoch != s.epoch {
			continue
		}
		if s.Registered < 0 {
			s.Registered = c.reached
		}
		if s.ShutDown < 0 && b.InControlledShutdown {
			s.ShutDown = c.reached
		}
	}
	return c.activate(now)
}

// Active: it decides.
func (c *Controller) Active() bool { return c.active }

// Image is the committed image; read-only, it never changes: later commits make another one.
func (c *Controller) Image() *meta.Image { return c.committed }

// LastEpoch is the last broker epoch that it gave, committed or pending; the next one is larger.
func (c *Controller) LastEpoch() int64 { return c.lastEpoch }

// Pending is how many decisions wait for Committed.
func (c *Controller) Pending() int { return len(c.pending) }

// Clone is an independent copy.
func (c *Controller) Clone() *Controller {
	n := *c
	n.speculative = c.speculative.Clone()
	n.pending, n.sessions = slices.Clone(c.pending), slices.Clone(c.sessions)
	return &n
}

// Renamed is the machine that would be if the brokers had had other names from the beginning. What goes by the order of
// their ids (placement, and in which order several replicas are removed) is decided anew by the new ids.
func (c *Controller) Renamed(to meta.Renaming) *Controller {
	n := *c
	n.committed, n.speculative = c.committed.Renamed(to), c.speculative.Renamed(to)
	n.pending, n.sessions = slices.Clone(c.pending), slices.Clone(c.sessions)
	for i := range n.pending {
		n.pending[i].records = slices.Clone(n.pending[i].records)
		for k, r := range n.pending[i].records {
			n.pending[i].records[k] = to.Record(r)
		}
	}
	for i := range n.sessions {
		n.sessions[i].broker = to(n.sessions[i].broker)
	}
	slices.SortFunc(n.sessions, func(a, b session) int { return compareSessions(a, b.broker) })
	return &n
}

// AppendTo appends a canonical binary form: equal states, equal bytes. Decisions are numbered from the last one, so that
// the length of the history is not in it.
func (c *Controller) AppendTo(b []byte) []byte {
	image := c.committed.AppendTo(nil)
	b = append(binary.AppendUvarint(b, uint64(len(image))), image...)
	for _, p := range c.pending {
		b = binary.AppendUvarint(b, uint64(len(p.records)))
		for _, r := range p.records {
			b = meta.AppendRecord(b, r)
		}
	}
	b = append(b, 0)
	for _, flag := range []bool{c.active, c.leads} {
		b = strconv.AppendBool(b, flag)
	}
	for _, v := range []int64{int64(c.term), c.barrier, c.reached, c.lastEpoch} {
		b = binary.AppendVarint(b, v)
	}
	for _, s := range c.sessions {
		for _, v := range []int64{int64(s.broker), s.epoch, s.Registered, s.ShutDown, s.Heard} {
			b = binary.AppendVarint(b, v)
		}
	}
	return b
}

// String is the committed image and the pending records.
func (c *Controller) String() string {
	var b strings.Builder
	if c.cfg.Standby {
		fmt.Fprintf(&b, "controller active=%t term=%d reached=%d barrier=%d\n", c.active, c.term, c.reached, c.barrier)
	}
	b.WriteString(c.committed.String())
	for _, p := range c.pending {
		for _, r := range p.records {
			fmt.Fprintf(&b, "pending %d: %s\n", p.seq, r)
		}
	}
	return b.String()
}

// allocateProducerIDs hands out the next block (KIP-730). Blocks may be lost, never used twice (C3).
func (c *Controller) allocateProducerIDs(req *AllocateProducerIDs) (*AllocateProducerIDsResponse, []meta.Record) {
	if code := c.checkLife(req.Broker, req.BrokerEpoch); code != kafka.ErrNone {
		return &AllocateProducerIDsResponse{Code: code, First: kafka.NoProducerID}, nil
	}
	first := c.speculative.NextProducerID()
	if first > 1<<63-1-kafka.ProducerIDBlock {
		return &AllocateProducerIDsResponse{Code: kafka.ErrUnknownServerError, First: kafka.NoProducerID}, nil
	}
	records := c.decide(&meta.ProducerIDs{Broker: req.Broker, BrokerEpoch: req.BrokerEpoch, Next: first + kafka.ProducerIDBlock})
	return &AllocateProducerIDsResponse{First: first, Count: kafka.ProducerIDBlock}, records
}
