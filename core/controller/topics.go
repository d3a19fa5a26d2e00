package controller

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// PartitionsMax is how many partitions one request may make: Kafka's bound on a batch of metadata records.
const PartitionsMax = 10_000

// refusal is why a topic is not made or not removed.
type refusal struct {
	code    kafka.ErrorCode
	message string
}

func refuse(code kafka.ErrorCode, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

func (c *Controller) createTopics(req *CreateTopics) (*CreateTopicsResponse, []meta.Record) {
	names := make([]string, len(req.Topics))
	for i := range req.Topics {
		names[i] = req.Topics[i].Name
	}
	made := make([]CreatedTopic, len(req.Topics))
	refused, records := c.planEach(names, req.ValidateOnly, func(i, have int) (records []meta.Record, no *refusal) {
		if no = tooMany(1, i); no == nil { // each has a partition at least, and a name costs a look at all topics
			made[i], records, no = c.planTopic(&req.Topics[i], req, have)
		}
		return records, no
	})
	for i, no := range refused {
		if no != nil {
			made[i] = CreatedTopic{Name: names[i], Code: no.code, Message: no.message, Partitions: -1, ReplicationFactor: -1}
		} else if !req.ValidateOnly {
			made[i].ID = req.Topics[i].ID
		}
	}
	return &CreateTopicsResponse{Topics: made}, records
}

// planEach plans what a request wants of each of its topics, one after the other, refuses names that are there twice, and
// decides what may be unless the request is only validated. plan is given how many records were planned before: those
// that were made or, where nothing is, would have been. Either is bounded. A topic that is not refused has nil.
func (c *Controller) planEach(names []string, validateOnly bool, plan func(i, have int) ([]meta.Record, *refusal)) (refused []*refusal, decided []meta.Record) {
	refused = make([]*refusal, len(names))
	planned := 0
	twice := duplicates(names, strings.Compare)
	for i, name := range names {
		if _, dup := slices.BinarySearch(twice, name); dup {
			refused[i] = refuse(kafka.ErrInvalidRequest, "Duplicate topic name.")
			continue
		}
		records, no := plan(i, planned)
		planned += len(records)
		refused[i] = no
		if no == nil && !validateOnly {
			decided = append(decided, c.decide(records...)...)
		}
	}
	return refused, decided
}

// duplicates are the values that are there more than once, sorted.
func duplicates[T any](values []T, compare func(a, b T) int) []T {
	sorted := slices.Clone(values)
	sort.Slice(sorted, func(i, j int) bool { return compare(sorted[i], sorted[j]) < 0 })
	var twice []T
	for i := 1; i < len(sorted); i++ {
		if compare(sorted[i-1], sorted[i]) == 0 {
			twice = append(twice, sorted[i])
		}
	}
	return twice
}

// planTopic is a topic as it would be made, in the order in which Kafka checks. have is how many records the request has
// planned so far.
func (c *Controller) planTopic(t *NewTopic, req *CreateTopics, have int) (made CreatedTopic, records []meta.Record, no *refusal) {
	if no = c.checkName(t.Name, req.Internal); no != nil {
		return made, nil, no
	}
	configs, no := checkConfigs(t.Configs)
	if no != nil {
		return made, nil, no
	}
	replicas, no := c.assign(t, req.Draw, have)
	if no != nil {
		return made, nil, no
	}
	if t.ID.IsReserved() {
		panic(fmt.Sprintf("controller: topic id %s for %s", t.ID, t.Name))
	}
	records = append(records, &meta.Topic{Name: t.Name, ID: t.ID})
	for _, p := range configs {
		records = append(records, &meta.Config{Resource: meta.ResourceTopic, Name: t.Name, Key: p.Name, Value: p.Value})
	}
	if records, no = c.newPartitions(records, t.ID, 0, replicas); no != nil {
		return made, nil, no
	}
	made = CreatedTopic{Name: t.Name, Partitions: int32(len(replicas)), ReplicationFactor: int16(len(replicas[0])), Configs: configs}
	return made, records, nil
}

func (c *Controller) checkName(name string, internal bool) *refusal {
	if name == kafka.ClusterMetadataTopic || kafka.IsInternalTopic(name) && !internal {
		return refuse(kafka.ErrInvalidRequest, "Creation of internal topic %s is prohibited.", name)
	}
	if err := kafka.CheckTopicName(name); err != nil {
		return refuse(kafka.ErrInvalidTopic, "%v", err)
	}
	if c.speculative.Topic(name) != nil {
		return refuse(kafka.ErrTopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if t := c.speculative.Colliding(name); t != nil {
		return refuse(kafka.ErrInvalidTopic, "Topic '%s' collides with existing topic: %s", name, t.Name)
	}
	return nil
}

func checkConfigs(configs []NewConfig) ([]config.Pair, *refusal) {
	pairs := make([]config.Pair, 0, len(configs))
	for _, n := range configs {
		if n.Null {
			return nil, refuse(kafka.ErrInvalidConfig, "Null value not supported for topic configs: %s", n.Name)
		}
		if no := tooLong(n.Value); no != nil {
			return nil, no
		}
		pairs = append(pairs, config.Pair{Name: n.Name, Value: n.Value})
	}
	pairs, err := config.SortPairs(pairs)
	if err == nil {
		err = config.ValidateTopic(pairs)
	}
	if err != nil {
		return nil, refuse(kafka.ErrInvalidConfig, "%v", err)
	}
	return pairs, nil
}

// assign is the replicas of each partition.
func (c *Controller) assign(t *NewTopic, draw uint64, have int) ([][]kafka.NodeID, *refusal) {
	if len(t.Assignment) > 0 {
		return c.assignManually(t, have)
	}
	switch {
	case t.ReplicationFactor == 0 || t.ReplicationFactor < -1:
		return nil, refuse(kafka.ErrInvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case t.Partitions == 0 || t.Partitions < -1:
		return nil, refuse(kafka.ErrInvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	partitions, factor := t.Partitions, t.ReplicationFactor
	if partitions == -1 {
		partitions = c.cfg.NumPartitions
	}
	if factor == -1 {
		factor = c.cfg.DefaultReplicationFactor
	}
	if no := tooMany(int(partitions), have); no != nil {
		return nil, no
	}
	replicas, no := c.place(draw, int(partitions), int(factor))
	if no != nil {
		no.message = fmt.Sprintf("Unable to replicate the partition %d time(s): %s", factor, no.message)
	}
	return replicas, no
}

func tooMany(partitions, have int) *refusal {
	if partitions+have > PartitionsMax {
		return refuse(kafka.ErrPolicyViolation, "Excessively large number of partitions per request: at most %d", PartitionsMax)
	}
	return nil
}

// tooLarge refuses what would make the batch of a request larger than Kafka allows.
func tooLarge(records []meta.Record) *refusal {
	if len(records) >= PartitionsMax {
		return refuse(kafka.ErrPolicyViolation, "Unable to perform excessively large batch operation.")
	}
	return nil
}

// assignManually checks the replicas that the client chose.
func (c *Controller) assignManually(t *NewTopic, have int) ([][]kafka.NodeID, *refusal) {
	switch {
	case t.ReplicationFactor != -1:
		return nil, refuse(kafka.ErrInvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case t.Partitions != -1:
		return nil, refuse(kafka.ErrInvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	if no := tooMany(len(t.Assignment), have); no != nil {
		return nil, no
	}
	out := make([][]kafka.NodeID, len(t.Assignment))
	outside, factor := false, 0
	for _, a := range t.Assignment {
		i := int(a.Partition)
		inside := i >= 0 && i < len(out)
		outside = outside || !inside
		if inside && out[i] != nil {
			return nil, refuse(kafka.ErrInvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", i)
		}
		if no := c.checkReplicas(a.Replicas, factor); no != nil {
			return nil, no
		}
		if len(c.inSync(a.Replicas)) == 0 {
			return nil, allFenced(i)
		}
		factor = len(a.Replicas)
		if inside {
			out[i] = slices.Clone(a.Replicas)
		}
	}
	if outside {
		return nil, refuse(kafka.ErrInvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
	}
	return out, nil
}

// checkReplicas looks at them in the order of their ids, as Kafka does. want is how many there have to be; 0: any number.
func (c *Controller) checkReplicas(replicas []kafka.NodeID, want int) *refusal {
	if len(replicas) == 0 {
		return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	ids := sorted(slices.Clone(replicas))
	for i, n := range ids {
		if c.speculative.Broker(n) == nil {
			return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker "+
				"is registered.", n)
		}
		if i > 0 && ids[i-1] == n {
			return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", n)
		}
	}
	if want > 0 && len(replicas) != want {
		return refuse(kafka.ErrInvalidReplicaAssignment, "The manual partition assignment includes a partition with %d replica(s), "+
			"but this is not consistent with previous partitions, which have %d replica(s).", len(replicas), want)
	}
	return nil
}

func (c *Controller) deleteTopics(req *DeleteTopics) (*DeleteTopicsResponse, []meta.Record) {
	resp := &DeleteTopicsResponse{}
	var records []meta.Record
	twice := duplicates(req.Topics, compareRefs)
	for _, ref := range req.Topics {
		t, no := c.findTopic(ref, twice)
		if no == nil {
			no = tooLarge(records)
		}
		out := DeletedTopic{Name: ref.Name, ID: ref.ID}
		if no != nil {
			out.Code, out.Message = no.code, no.message
		} else {
			out.Name, out.ID = t.Name, t.ID
			records = append(records, c.decide(&meta.RemoveTopic{Topic: t.ID})...)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, records
}

func compareRefs(a, b TopicRef) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), bytes.Compare(a.ID[:], b.ID[:]))
}

// findTopic is the topic that a reference means. Of a name and an id that mean the same topic the second finds nothing.
func (c *Controller) findTopic(ref TopicRef, twice []TopicRef) (*meta.TopicImage, *refusal) {
	_, dup := slices.BinarySearchFunc(twice, ref, compareRefs)
	switch {
	case ref.Name == "" && ref.ID.IsZero():
		return nil, refuse(kafka.ErrInvalidRequest, "Neither topic name nor id were specified.")
	case ref.Name != "" && !ref.ID.IsZero():
		return nil, refuse(kafka.ErrInvalidRequest, "You may not specify both topic name and topic id.")
	case dup && ref.Name != "":
		return nil, refuse(kafka.ErrInvalidRequest, "Duplicate topic name.")
	case dup:
		return nil, refuse(kafka.ErrInvalidRequest, "Duplicate topic id.")
	}
	if ref.Name != "" {
		if t := c.speculative.Topic(ref.Name); t != nil {
			return t, nil
		}
		return nil, refuse(kafka.ErrUnknownTopicOrPartition, "This server does not host this topic-partition.")
	}
	if t := c.speculative.TopicByID(ref.ID); t != nil {
		return t, nil
	}
	return nil, refuse(kafka.ErrUnknownTopicID, "This server does not host this topic ID.")
}
