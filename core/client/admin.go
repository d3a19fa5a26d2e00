package client

import (
	"context"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/client/retry"
	"trialog/core/kafka"
)

// The two questions of ListOffsets that have no time.
const (
	Latest   = kafka.LatestTimestamp
	Earliest = kafka.EarliestTimestamp
)

// NewTopic is a topic to create. Zero counts leave the choice to the broker.
type NewTopic struct {
	Name              string
	Partitions        int32
	ReplicationFactor int16
	Config            []ConfigPair
}

// ConfigPair is one setting of a topic.
type ConfigPair struct{ Name, Value string }

// Cluster is what one broker says of the whole cluster.
type Cluster struct {
	ID         string // "" if the broker names none
	Controller int32  // -1 if it names none
	Brokers    []BrokerInfo
	Topics     []TopicInfo // by name
}

// Metadata asks one broker for brokers and topics: all topics when none is named. A topic that does not exist is a
// Failed error.
func (c *Client) Metadata(ctx context.Context, topics ...string) (*Cluster, error) {
	resp, err := c.askMetadata(ctx, "metadata", topics)
	if err != nil {
		return nil, err
	}
	c.meta.store(resp)
	cluster := &Cluster{Controller: resp.ControllerID, Brokers: brokersOf(resp)}
	if resp.ClusterID != nil {
		cluster.ID = *resp.ClusterID
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if code := kafka.ErrorCode(t.ErrorCode); code != kafka.ErrNone {
			return nil, answered("metadata", nameOf(t.Topic), code, nil)
		}
		if t.Topic != nil {
			cluster.Topics = append(cluster.Topics, topicOf(t))
		}
	}
	sort.Slice(cluster.Topics, func(i, j int) bool { return cluster.Topics[i].Name < cluster.Topics[j].Name })
	return cluster, nil
}

func nameOf(name *string) string {
	if name == nil {
		return "topic without a name"
	}
	return *name
}

// CreateTopic creates one topic, once: a lost answer is Unknown, not tried again.
func (c *Client) CreateTopic(ctx context.Context, t NewTopic) error {
	const op = "create-topic"
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.Name, t.Partitions, t.ReplicationFactor
	if t.Partitions == 0 {
		rt.NumPartitions = -1
	}
	if t.ReplicationFactor == 0 {
		rt.ReplicationFactor = -1
	}
	for _, p := range t.Config {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = p.Name, kmsg.StringPtr(p.Value)
		rt.Configs = append(rt.Configs, rc)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(c.cfg.RequestTimeout.Milliseconds())
	req.Topics = []kmsg.CreateTopicsRequestTopic{rt}
	answer, err := c.askController(ctx, op, t.Name, req)
	if err != nil {
		return err
	}
	for _, r := range answer.(*kmsg.CreateTopicsResponse).Topics {
		if r.Topic == t.Name {
			return codeError(op, t.Name, r.ErrorCode, r.ErrorMessage)
		}
	}
	return unmentioned(op, t.Name)
}

// DeleteTopic deletes one topic, once.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	const op = "delete-topic"
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(name)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(c.cfg.RequestTimeout.Milliseconds())
	req.TopicNames, req.Topics = []string{name}, []kmsg.DeleteTopicsRequestTopic{rt}
	answer, err := c.askController(ctx, op, name, req)
	if err != nil {
		return err
	}
	for _, r := range answer.(*kmsg.DeleteTopicsResponse).Topics {
		if r.Topic != nil && *r.Topic == name {
			return codeError(op, name, r.ErrorCode, r.ErrorMessage)
		}
	}
	return unmentioned(op, name)
}

// ListedOffset is the answer of ListOffsets.
type ListedOffset struct {
	Offset      int64 // -1: no record at or after the time
	Timestamp   int64 // of that record, ms; -1 for Latest and Earliest
	LeaderEpoch int32
}

// ListOffset asks the leader of one partition, once, for the offset at a time: Latest, Earliest, or ms since 1970
// (the first record at or after it). Its errors are Failed: a read has no effect.
func (c *Client) ListOffset(ctx context.Context, topic string, partition int32, timestamp int64) (ListedOffset, error) {
	const op = "list-offsets"
	tp := kafka.TopicPartition{Topic: topic, Partition: partition}
	at, err := c.leaderOf(ctx, op, tp)
	if err != nil {
		return ListedOffset{}, err
	}
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = partition, timestamp, at.epoch
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic, rt.Partitions = topic, []kmsg.ListOffsetsRequestTopicPartition{rp}
	req := kmsg.NewPtrListOffsetsRequest()
	req.Topics = []kmsg.ListOffsetsRequestTopic{rt}
	answer, terr := c.request(at.addr, forAdmin, req, c.cfg.RequestTimeout)
	if terr != nil {
		c.stale(tp, at.generation)
		e := terr.in(op, tp.String())
		e.Outcome = Failed
		return ListedOffset{}, e
	}
	for _, t := range answer.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if t.Topic != topic || p.Partition != partition {
				continue
			}
			if code := kafka.ErrorCode(p.ErrorCode); code != kafka.ErrNone {
				if retry.Refreshes(code) {
					c.stale(tp, at.generation)
				}
				e := answered(op, tp.String(), code, nil)
				e.Outcome = Failed
				return ListedOffset{}, e
			}
			return ListedOffset{p.Offset, p.Timestamp, p.LeaderEpoch}, nil
		}
	}
	return ListedOffset{}, unmentioned(op, tp.String())
}

// askController sends an admin request to the broker that the cluster names as its controller; where it names none, to
// the first.
func (c *Client) askController(ctx context.Context, op, target string, req kmsg.Request) (kmsg.Response, error) {
	resp, err := c.askMetadata(ctx, op, []string{})
	if err != nil {
		return nil, err
	}
	c.meta.store(resp)
	addr := ""
	for _, b := range brokersOf(resp) {
		if b.Node == resp.ControllerID || addr == "" {
			addr = b.Addr
		}
	}
	if addr == "" {
		return nil, unsentCode(op, target, kafka.ErrBrokerNotAvailable)
	}
	answer, terr := c.request(addr, forAdmin, req, c.cfg.RequestTimeout+time.Second)
	if terr != nil {
		return nil, terr.in(op, target)
	}
	return answer, nil
}

// codeError is nil for NONE.
func codeError(op, target string, code int16, message *string) error {
	if kafka.ErrorCode(code) == kafka.ErrNone {
		return nil
	}
	return answered(op, target, kafka.ErrorCode(code), message)
}

// unmentioned is the error for an answer that does not speak of what was asked.
func unmentioned(op, target string) error {
	return lost(op, target, NameConnectionLost, errUnmentioned)
}
