package controller

import (
	"slices"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// AlterPartition is a leader's wish for an ISR (KIP-497), as in versions 2 and 3 of Kafka's request, which are those that
// Kafka 4 knows: by topic id (KIP-841), in version 2 without broker epochs.
type AlterPartition struct {
	Broker      kafka.NodeID
	BrokerEpoch int64
	Partitions  []AlterISR
}

// AlterISR is what a leader proposes for one partition.
type AlterISR struct {
	Topic          kafka.TopicID
	Partition      kafka.PartitionID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32 // of the state that the proposal was made on top of
	ISR            []InSync
	Recovering     bool // the leader has not yet recovered from its unclean election (KIP-704)
}

// InSync is a member of a proposed ISR, in the life in which it fetched; -1: not checked.
type InSync struct {
	Node        kafka.NodeID
	BrokerEpoch int64
}

// AlterPartitionResponse has one entry for each partition, in order; none if Code is not NONE.
type AlterPartitionResponse struct {
	Code       kafka.ErrorCode
	Partitions []AlteredISR
}

// AlteredISR is the state of a partition now, if Code is NONE.
type AlteredISR struct {
	Topic          kafka.TopicID
	Partition      kafka.PartitionID
	Code           kafka.ErrorCode
	Leader         kafka.NodeID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32
	ISR            []kafka.NodeID
	Recovering     bool
}

func (*AlterPartition) isRequest()          {}
func (*AlterPartitionResponse) isResponse() {}

func (c *Controller) alterPartition(req *AlterPartition) (*AlterPartitionResponse, []meta.Record) {
	if code := c.checkLife(req.Broker, req.BrokerEpoch); code != kafka.ErrNone {
		return &AlterPartitionResponse{Code: code}, nil
	}
	resp := &AlterPartitionResponse{}
	var records []meta.Record
	for i := range req.Partitions {
		out, more := c.alterISR(req.Broker, &req.Partitions[i])
		resp.Partitions = append(resp.Partitions, out)
		records = append(records, more...)
	}
	return resp, records
}

func (c *Controller) alterISR(from kafka.NodeID, a *AlterISR) (AlteredISR, []meta.Record) {
	out := AlteredISR{Topic: a.Topic, Partition: a.Partition}
	t := c.speculative.TopicByID(a.Topic)
	switch {
	case t == nil:
		out.Code = kafka.ErrUnknownTopicID
		return out, nil
	case a.Partition < 0 || int(a.Partition) >= len(t.Partitions):
		out.Code = kafka.ErrUnknownTopicOrPartition
		return out, nil
	}
	p := t.Partitions[a.Partition]
	isr := make([]kafka.NodeID, len(a.ISR))
	for i, m := range a.ISR {
		isr[i] = m.Node
	}
	var records []meta.Record
	out.Code = c.checkISR(from, a, &p, isr)
	if repeated := p; out.Code == kafka.ErrInvalidUpdateVersion && sameNodes(isr, repeated.ISR) && a.Recovering == repeated.Recovering {
		out.Code = kafka.ErrNone // it is committed, and only its answer was lost (KAFKA-14144)
	} else if out.Code == kafka.ErrNone {
		g := c.change(t, a.Partition)
		g.isr, g.recovering = isr, a.Recovering
		records = c.decideChange(g)
		p = c.speculative.TopicByID(a.Topic).Partitions[a.Partition]
		if p.Leader != from { // it completed a reassignment that took the leader away
			out.Code = kafka.ErrNewLeaderElected
		}
	}
	if out.Code == kafka.ErrNone {
		out.Leader, out.LeaderEpoch, out.PartitionEpoch, out.ISR, out.Recovering = p.Leader, p.LeaderEpoch, p.PartitionEpoch, p.ISR, p.Recovering
	}
	return out, records
}

func sameNodes(a, b []kafka.NodeID) bool {
	return len(a) == len(b) && containsAll(a, b)
}

// checkISR is the refusal of a proposal, in the order in which Kafka checks.
func (c *Controller) checkISR(from kafka.NodeID, a *AlterISR, p *meta.PartitionImage, isr []kafka.NodeID) kafka.ErrorCode {
	rules := &c.cfg.Rules
	switch {
	case rules.AlterChecksLeaderEpoch && a.LeaderEpoch > p.LeaderEpoch, rules.AlterChecksPartitionEpoch && a.PartitionEpoch > p.PartitionEpoch:
		return kafka.ErrNotController // the leader knows more than this controller
	case rules.AlterChecksLeaderEpoch && a.LeaderEpoch < p.LeaderEpoch:
		return kafka.ErrFencedLeaderEpoch
	case from != p.Leader:
		return kafka.ErrInvalidRequest
	case rules.AlterChecksPartitionEpoch && a.PartitionEpoch < p.PartitionEpoch:
		return kafka.ErrInvalidUpdateVersion
	}
	for i, n := range isr {
		if !slices.Contains(p.Replicas, n) || slices.Contains(isr[:i], n) {
			return kafka.ErrInvalidRequest
		}
	}
	recovering := rules.RecoveryStateKept && a.Recovering
	if !slices.Contains(isr, from) || recovering && (len(isr) > 1 || !p.Recovering) {
		return kafka.ErrInvalidRequest
	}
	for _, m := range a.ISR {
		if !c.eligible(m) {
			return kafka.ErrIneligibleReplica
		}
	}
	return kafka.ErrNone
}

// eligible: a broker may be in an ISR, in the life in which it fetched.
func (c *Controller) eligible(m InSync) bool {
	b := c.speculative.Broker(m.Node)
	switch {
	case b == nil:
		return false
	case c.cfg.Rules.AlterChecksEligible && !b.Active():
		return false
	}
	return !c.cfg.Rules.AlterChecksBrokerEpochs || m.BrokerEpoch == kafka.NoBrokerEpoch || m.BrokerEpoch == b.Epoch
}

// ElectionType is whom ElectLeaders asks for, with Kafka's numbers.
type ElectionType int8

// Types of elections.
const (
	Preferred ElectionType = 0
	Unclean   ElectionType = 1
)

// ElectLeaders elects on demand (KIP-460). Partitions nil means all.
type ElectLeaders struct {
	Type       ElectionType
	Partitions []kafka.TopicPartition
}

// ElectLeadersResponse has one entry for each partition, in order. Where all were meant, those that need no election are
// left out. None if Code is not NONE.
type ElectLeadersResponse struct {
	Code       kafka.ErrorCode
	Partitions []Elected
}

// Elected is what became of one partition.
type Elected struct {
	kafka.TopicPartition
	Code    kafka.ErrorCode
	Message string // "" where the code says it all
}

// BalanceLeaders is what a controller asks of itself every leader.imbalance.check.interval.seconds: preferred elections
// where somebody else leads (auto.leader.rebalance.enable), and unclean ones where nobody leads and the topic allows it.
// At most Max at a time; 0 counts as Kafka's 1000.
type BalanceLeaders struct {
	Max int
	// UncleanOnly leaves preferred elections out: auto.leader.rebalance.enable is off.
	UncleanOnly bool
}

// BalanceLeadersResponse says whether there may be more to do.
type BalanceLeadersResponse struct {
	Elected int
	More    bool
}

func (*ElectLeaders) isRequest()            {}
func (*BalanceLeaders) isRequest()          {}
func (*ElectLeadersResponse) isResponse()   {}
func (*BalanceLeadersResponse) isResponse() {}

func (c *Controller) electLeaders(req *ElectLeaders) (*ElectLeadersResponse, []meta.Record) {
	if req.Type != Preferred && req.Type != Unclean {
		return &ElectLeadersResponse{Code: kafka.ErrInvalidRequest}, nil
	}
	resp := &ElectLeadersResponse{}
	var records []meta.Record
	for _, tp := range c.orAll(req.Partitions) {
		if no := tooLarge(records); no != nil {
			resp.Partitions = append(resp.Partitions, Elected{TopicPartition: tp, Code: no.code, Message: no.message})
			continue
		}
		code, more := c.electLeader(req.Type, tp)
		records = append(records, more...)
		out := Elected{TopicPartition: tp, Code: code}
		switch {
		case code == kafka.ErrUnknownTopicOrPartition && c.speculative.Topic(tp.Topic) == nil:
			out.Message = "No such topic as " + tp.Topic
		case code == kafka.ErrUnknownTopicOrPartition:
			out.Message = "No such partition as " + tp.String()
		}
		if req.Partitions != nil || code != kafka.ErrElectionNotNeeded {
			resp.Partitions = append(resp.Partitions, out)
		}
	}
	return resp, records
}

// orAll is every partition if none is named.
func (c *Controller) orAll(named []kafka.TopicPartition) []kafka.TopicPartition {
	if named != nil {
		return named
	}
	for _, t := range c.speculative.Topics() {
		for i := range t.Partitions {
			named = append(named, kafka.TopicPartition{Topic: t.Name, Partition: kafka.PartitionID(i)})
		}
	}
	return named
}

// find is nil for a partition that there is not.
func (c *Controller) find(tp kafka.TopicPartition) (*meta.TopicImage, *meta.PartitionImage) {
	t := c.speculative.Topic(tp.Topic)
	if t == nil || tp.Partition < 0 || int(tp.Partition) >= len(t.Partitions) {
		return nil, nil
	}
	return t, &t.Partitions[tp.Partition]
}

// electLeader elects for one partition. An attempt that changes nothing raises no epoch (KAFKA-9866).
func (c *Controller) electLeader(how ElectionType, tp kafka.TopicPartition) (kafka.ErrorCode, []meta.Record) {
	t, p := c.find(tp)
	if t == nil {
		return kafka.ErrUnknownTopicOrPartition, nil
	}
	preferred := how == Preferred
	if preferred && p.Leader == p.Replicas[0] || !preferred && p.Leader != kafka.NoNode {
		return kafka.ErrElectionNotNeeded, nil
	}
	g := c.change(t, tp.Partition)
	g.election = electUnclean
	if preferred {
		g.election = electPreferred
	}
	records := c.decideChange(g)
	switch {
	case len(records) > 0:
		return kafka.ErrNone, records
	case preferred:
		return kafka.ErrPreferredLeaderNotAvailable, nil
	}
	return kafka.ErrEligibleLeadersNotAvailable, nil
}

func (c *Controller) balanceLeaders(req *BalanceLeaders) (*BalanceLeadersResponse, []meta.Record) {
	most := req.Max
	if most <= 0 {
		most = 1000
	}
	var records []meta.Record
	for _, tp := range c.orAll(nil) {
		if len(records) >= most {
			break
		}
		t, p := c.find(tp)
		how := Preferred
		if p.Leader == kafka.NoNode && c.uncleanAllowed(t) {
			how = Unclean
		}
		if how == Preferred && req.UncleanOnly {
			continue
		}
		_, more := c.electLeader(how, tp)
		records = append(records, more...)
	}
	return &BalanceLeadersResponse{Elected: len(records), More: len(records) >= most}, records
}
