package controller

import (
	"encoding/binary"
	"fmt"
	"slices"
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
}

// pending is a decision that is not committed yet.
type pending struct {
	seq     int64
	records []meta.Record
}

// New starts from the committed image, which is cloned.
func New(cfg Config, committed *meta.Image) *Controller {
	return &Controller{cfg: cfg, committed: committed.Clone(), speculative: committed.Clone()}
}

// Handle decides a request on top of all earlier decisions. It never fails: refusals are in the response.
func (c *Controller) Handle(_ kafka.Now, req Request) Decision {
	d := Decision{Durable: true}
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
}

// Image is the committed image; read-only, it never changes: later commits make another one.
func (c *Controller) Image() *meta.Image { return c.committed }

// Pending is how many decisions wait for Committed.
func (c *Controller) Pending() int { return len(c.pending) }

// Clone is an independent copy.
func (c *Controller) Clone() *Controller {
	n := *c
	n.speculative = c.speculative.Clone()
	n.pending = slices.Clone(c.pending)
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
	return b
}

// String is the committed image and the pending records.
func (c *Controller) String() string {
	var b strings.Builder
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
	if code := c.checkBroker(req.Broker, req.BrokerEpoch); code != kafka.ErrNone {
		return &AllocateProducerIDsResponse{Code: code, First: kafka.NoProducerID}, nil
	}
	first := c.speculative.NextProducerID()
	if first > 1<<63-1-kafka.ProducerIDBlock {
		return &AllocateProducerIDsResponse{Code: kafka.ErrUnknownServerError, First: kafka.NoProducerID}, nil
	}
	records := c.decide(&meta.ProducerIDs{Broker: req.Broker, BrokerEpoch: req.BrokerEpoch, Next: first + kafka.ProducerIDBlock})
	return &AllocateProducerIDsResponse{First: first, Count: kafka.ProducerIDBlock}, records
}

// checkBroker refuses a process that is not the registered one.
func (c *Controller) checkBroker(id kafka.NodeID, epoch int64) kafka.ErrorCode {
	switch b := c.speculative.Broker(id); {
	case b == nil:
		return kafka.ErrBrokerIDNotRegistered
	case b.Epoch != epoch:
		return kafka.ErrStaleBrokerEpoch
	}
	return kafka.ErrNone
}

// registerBroker gives a new process a new broker epoch, and a new leader epoch to every partition that it leads or may
// lead again: what the process before it wrote and lost must not be taken for what this one writes (KIP-101). The same
// process asking again gets the same answer.
func (c *Controller) registerBroker(req *RegisterBroker) (*RegisterBrokerResponse, []meta.Record) {
	if req.Broker < 0 || req.Incarnation.IsZero() {
		return &RegisterBrokerResponse{Code: kafka.ErrInvalidRequest, BrokerEpoch: kafka.NoBrokerEpoch}, nil
	}
	if b := c.speculative.Broker(req.Broker); b != nil && b.Incarnation == req.Incarnation {
		return &RegisterBrokerResponse{BrokerEpoch: b.Epoch}, nil
	}
	epoch := int64(0)
	for _, b := range c.speculative.Brokers() {
		epoch = max(epoch, b.Epoch+1)
	}
	records := []meta.Record{&meta.RegisterBroker{Broker: req.Broker, Incarnation: req.Incarnation, BrokerEpoch: epoch,
		Endpoints: req.Endpoints, Rack: req.Rack}}
	for _, t := range c.speculative.Topics() {
		for i, p := range t.Partitions {
			if p.Leader == req.Broker || p.Leader == kafka.NoNode && slices.Contains(p.ISR, req.Broker) {
				records = append(records, &meta.Partition{Topic: t.ID, Partition: kafka.PartitionID(i), Replicas: p.Replicas, ISR: p.ISR,
					Leader: req.Broker, LeaderEpoch: p.LeaderEpoch + 1, PartitionEpoch: p.PartitionEpoch + 1})
			}
		}
	}
	return &RegisterBrokerResponse{BrokerEpoch: epoch}, c.decide(records...)
}
