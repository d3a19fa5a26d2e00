package controller

import (
	"slices"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// MorePartitions asks for partitions of one topic (KIP-195).
type MorePartitions struct {
	Topic string
	Count int32 // of all its partitions afterwards, not of the new ones
	// Assignment is the replicas of each new partition, the preferred leader first; nil lets the controller choose.
	Assignment [][]kafka.NodeID
}

// CreatePartitions adds partitions to topics, each topic on its own.
type CreatePartitions struct {
	Topics       []MorePartitions
	ValidateOnly bool
	Draw         uint64 // as in CreateTopics
}

// CreatePartitionsResponse has one entry for each requested topic, in order; for a name that is there twice one for each
// occurrence.
type CreatePartitionsResponse struct{ Topics []TopicOutcome }

// TopicOutcome is what became of the request for one topic.
type TopicOutcome struct {
	Name    string
	Code    kafka.ErrorCode
	Message string // "" with NONE
}

func (*CreatePartitions) isRequest()          {}
func (*CreatePartitionsResponse) isResponse() {}

func (c *Controller) createPartitions(req *CreatePartitions) (*CreatePartitionsResponse, []meta.Record) {
	names := make([]string, len(req.Topics))
	for i := range req.Topics {
		names[i] = req.Topics[i].Topic
	}
	refused, records := c.planEach(names, req.ValidateOnly, func(i, have int) ([]meta.Record, *refusal) {
		return c.planPartitions(&req.Topics[i], req.Draw, have)
	})
	resp := &CreatePartitionsResponse{Topics: make([]TopicOutcome, len(names))}
	for i, no := range refused {
		resp.Topics[i].Name = names[i]
		if no != nil {
			resp.Topics[i].Code, resp.Topics[i].Message = no.code, no.message
		}
	}
	return resp, records
}

// planPartitions is the partitions as they would be made, in the order in which Kafka checks. have is how many records
// the request has planned so far.
func (c *Controller) planPartitions(t *MorePartitions, draw uint64, have int) ([]meta.Record, *refusal) {
	topic := c.speculative.Topic(t.Topic)
	if topic == nil {
		return nil, refuse(kafka.ErrUnknownTopicOrPartition, "This server does not host this topic-partition.")
	}
	now := len(topic.Partitions)
	switch {
	case int(t.Count) == now:
		return nil, refuse(kafka.ErrInvalidPartitions, "Topic already has %d partition(s).", now)
	case int(t.Count) < now:
		return nil, refuse(kafka.ErrInvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.",
			t.Topic, now, t.Count)
	}
	more := int(t.Count) - now
	if t.Assignment != nil && len(t.Assignment) != more {
		return nil, refuse(kafka.ErrInvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) "+
			"were specified.", more, len(t.Assignment))
	}
	if no := tooMany(more, have); no != nil {
		return nil, no
	}
	replicas, no := c.placeMore(t, draw, more, len(topic.Partitions[0].Replicas))
	if no != nil {
		return nil, no
	}
	return c.newPartitions(make([]meta.Record, 0, more), topic.ID, now, replicas)
}

// newPartitions appends the records of partitions from a number on. Replicas that are fenced or shut down are not in sync;
// where none is, nothing is made.
func (c *Controller) newPartitions(records []meta.Record, topic kafka.TopicID, from int, replicas [][]kafka.NodeID) ([]meta.Record, *refusal) {
	for i, r := range replicas {
		isr := c.inSync(r)
		if len(isr) == 0 {
			return nil, allFenced(from + i)
		}
		records = append(records, &meta.Partition{Topic: topic, Partition: kafka.PartitionID(from + i), Replicas: r, ISR: isr, Leader: isr[0],
			Directories: c.defaultDirs(r)})
	}
	return records, nil
}

// inSync is those of the replicas of a new partition that are in its ISR.
func (c *Controller) inSync(replicas []kafka.NodeID) []kafka.NodeID {
	return slices.DeleteFunc(slices.Clone(replicas), func(n kafka.NodeID) bool { return !c.speculative.Broker(n).Active() })
}

func allFenced(partition int) *refusal {
	return refuse(kafka.ErrInvalidReplicaAssignment, "All brokers specified in the manual partition assignment for partition %d "+
		"are fenced or in controlled shutdown.", partition)
}

// placeMore is the replicas of each new partition: as many as the topic's first partition has.
func (c *Controller) placeMore(t *MorePartitions, draw uint64, more, factor int) ([][]kafka.NodeID, *refusal) {
	if t.Assignment == nil {
		return c.place(draw, more, factor)
	}
	out := make([][]kafka.NodeID, 0, more)
	for _, replicas := range t.Assignment {
		if no := c.checkReplicas(replicas, factor); no != nil {
			return nil, no
		}
		out = append(out, slices.Clone(replicas))
	}
	return out, nil
}
