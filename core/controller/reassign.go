package controller

import (
	"slices"
	"sort"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// Reassign moves partitions to other replicas (KIP-455). New replicas are added first; when all of them are in sync the
// old ones leave.
type Reassign struct {
	Partitions []Reassignment
	// SameFactor refuses what gives a partition another number of replicas (KIP-860).
	SameFactor bool
}

// Reassignment is where one partition goes.
type Reassignment struct {
	kafka.TopicPartition
	Replicas []kafka.NodeID // the preferred leader first
	Cancel   bool           // goes back instead; Replicas is not looked at
}

// ReassignResponse has one entry for each partition, in order.
type ReassignResponse struct{ Partitions []Reassigned }

// Reassigned is what became of the request for one partition.
type Reassigned struct {
	kafka.TopicPartition
	Code    kafka.ErrorCode
	Message string // "" with NONE
}

// Moving is a reassignment under way.
type Moving struct {
	kafka.TopicPartition
	Replicas, Adding, Removing []kafka.NodeID
}

func (*Reassign) isRequest()          {}
func (*ReassignResponse) isResponse() {}

func (c *Controller) reassign(req *Reassign) (*ReassignResponse, []meta.Record) {
	resp := &ReassignResponse{}
	var records []meta.Record
	for i := range req.Partitions {
		r := &req.Partitions[i]
		out := Reassigned{TopicPartition: r.TopicPartition}
		g, no := c.planReassignment(r, req.SameFactor)
		if no == nil {
			no = tooLarge(records)
		}
		if no != nil {
			out.Code, out.Message = no.code, no.message
		} else {
			records = append(records, c.decideChange(g)...)
		}
		resp.Partitions = append(resp.Partitions, out)
	}
	return resp, records
}

func (c *Controller) planReassignment(r *Reassignment, sameFactor bool) (*change, *refusal) {
	t, p := c.find(r.TopicPartition)
	switch {
	case t == nil && c.speculative.Topic(r.Topic) == nil:
		return nil, refuse(kafka.ErrUnknownTopicOrPartition, "Unable to find a topic named %s.", r.Topic)
	case t == nil:
		return nil, refuse(kafka.ErrUnknownTopicOrPartition, "Unable to find partition %s:%d.", r.Topic, r.Partition)
	}
	g := c.change(t, r.Partition)
	if r.Cancel {
		return g, g.goBack()
	}
	if now := len(without(p.Replicas, p.Removing...)); sameFactor && now != len(r.Replicas) {
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "The replication factor is changed from %d to %d", now, len(r.Replicas))
	}
	if no := c.checkReplicas(r.Replicas, 0); no != nil {
		return nil, no
	}
	g.election = electClean
	// One on top of another goes on adding what that one added, as KIP-455 has it. In Kafka's controller of today what was
	// being added counts as having been there, and stays when the second one is cancelled.
	original := without(p.Replicas, p.Adding...)
	g.removing, g.adding = sorted(without(p.Replicas, r.Replicas...)), sorted(without(r.Replicas, original...))
	g.replicas = append(slices.Clone(r.Replicas), g.removing...)
	return g, nil
}

func sorted(nodes []kafka.NodeID) []kafka.NodeID {
	sort.Slice(nodes, func(i, j int) bool { return nodes[i] < nodes[j] })
	return nodes
}

// goBack makes the partition what it was before its reassignment.
func (g *change) goBack() *refusal {
	if !g.was.Reassigning() {
		return refuse(kafka.ErrNoReassignmentInProgress, "No partition reassignment is in progress.")
	}
	g.replicas, g.isr = without(g.was.Replicas, g.was.Adding...), without(g.was.ISR, g.was.Adding...)
	g.adding, g.removing = nil, nil
	if len(g.isr) > 0 {
		return nil
	}
	if g.election != electUnclean && g.c.cfg.Rules.CancelInSync {
		return refuse(kafka.ErrInvalidReplicaAssignment, "Unable to revert partition assignment for %s:%d because it would require an "+
			"unclean leader election.", g.topic.Name, g.id)
	}
	g.isr = g.replicas[:1]
	return nil
}

// Reassignments lists what is under way in the committed image, of the partitions that are named; nil means all.
func (c *Controller) Reassignments(named []kafka.TopicPartition) []Moving {
	var all []Moving
	for _, t := range c.committed.Topics() {
		for i := range t.Partitions {
			p, tp := &t.Partitions[i], kafka.TopicPartition{Topic: t.Name, Partition: kafka.PartitionID(i)}
			if p.Reassigning() && (named == nil || slices.Contains(named, tp)) {
				all = append(all, Moving{TopicPartition: tp, Replicas: p.Replicas, Adding: p.Adding, Removing: p.Removing})
			}
		}
	}
	return all
}
