package client

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/client/retry"
	"trialog/core/kafka"
)

// Setting is one setting of a topic or broker as a broker describes it.
type Setting struct {
	Name      string
	Value     string
	Source    string // Kafka's word, as DEFAULT_CONFIG
	Sensitive bool   // Value is hidden
}

// TopicSettings asks any broker for the effective settings of a topic: all of them when none is named.
func (c *Client) TopicSettings(ctx context.Context, topic string, names ...string) ([]Setting, error) {
	return c.describeSettings(ctx, kmsg.ConfigResourceTypeTopic, topic, names)
}

// BrokerSettings asks any broker for what is set on all brokers and, if it is the node itself, for all that is in force
// there: node is its id in decimal, or "".
func (c *Client) BrokerSettings(ctx context.Context, node string, names ...string) ([]Setting, error) {
	return c.describeSettings(ctx, kmsg.ConfigResourceTypeBroker, node, names)
}

func (c *Client) describeSettings(ctx context.Context, kind kmsg.ConfigResourceType, name string, names []string) ([]Setting, error) {
	const op = "describe-configs"
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kind, name, names
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{resource}
	answer, terr := c.askAny(ctx, req)
	if terr != nil {
		return nil, terr.in(op, name)
	}
	resources := answer.(*kmsg.DescribeConfigsResponse).Resources
	if len(resources) != 1 {
		return nil, unmentioned(op, name)
	}
	if err := codeError(op, name, resources[0].ErrorCode, resources[0].ErrorMessage); err != nil {
		return nil, err
	}
	var all []Setting
	for _, s := range resources[0].Configs {
		setting := Setting{Name: s.Name, Source: s.Source.String(), Sensitive: s.IsSensitive}
		if s.Value != nil {
			setting.Value = *s.Value
		}
		all = append(all, setting)
	}
	return all, nil
}

// SettingChange sets one setting of a topic, or takes it away.
type SettingChange struct {
	Name   string
	Value  string
	Delete bool
}

// AlterTopic changes settings of one topic, once and all or none (KIP-339).
func (c *Client) AlterTopic(ctx context.Context, topic string, changes []SettingChange) error {
	const op = "alter-configs"
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for _, change := range changes {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Op = change.Name, kmsg.IncrementalAlterConfigOpSet
		if change.Delete {
			config.Op = kmsg.IncrementalAlterConfigOpDelete
		} else {
			config.Value = kmsg.StringPtr(change.Value)
		}
		resource.Configs = append(resource.Configs, config)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{resource}
	answer, err := c.askController(ctx, op, topic, req)
	if err != nil {
		return err
	}
	for _, r := range answer.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if r.ResourceName == topic {
			return codeError(op, topic, r.ErrorCode, r.ErrorMessage)
		}
	}
	return unmentioned(op, topic)
}

// AddPartitions makes a topic have count partitions, once; it cannot have fewer than before.
func (c *Client) AddPartitions(ctx context.Context, topic string, count int32) error {
	const op = "create-partitions"
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, count
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(c.cfg.RequestTimeout.Milliseconds())
	req.Topics = []kmsg.CreatePartitionsRequestTopic{rt}
	answer, err := c.askController(ctx, op, topic, req)
	if err != nil {
		return err
	}
	for _, r := range answer.(*kmsg.CreatePartitionsResponse).Topics {
		if r.Topic == topic {
			return codeError(op, topic, r.ErrorCode, r.ErrorMessage)
		}
	}
	return unmentioned(op, topic)
}

// DeleteRecords deletes the records of one partition below an offset, once; -1 is up to the high watermark. It returns
// where the log begins then.
func (c *Client) DeleteRecords(ctx context.Context, topic string, partition int32, before int64) (int64, error) {
	const op = "delete-records"
	tp := kafka.TopicPartition{Topic: topic, Partition: partition}
	at, err := c.leaderOf(ctx, op, tp)
	if err != nil {
		return -1, err
	}
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Partition, rp.Offset = partition, before
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic, rt.Partitions = topic, []kmsg.DeleteRecordsRequestTopicPartition{rp}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = int32(c.cfg.RequestTimeout.Milliseconds())
	req.Topics = []kmsg.DeleteRecordsRequestTopic{rt}
	answer, terr := c.request(at.addr, forAdmin, req, c.cfg.RequestTimeout+time.Second)
	if terr != nil {
		c.stale(tp, at.generation)
		return -1, terr.in(op, tp.String())
	}
	for _, t := range answer.(*kmsg.DeleteRecordsResponse).Topics {
		for _, p := range t.Partitions {
			if t.Topic == topic && p.Partition == partition {
				if retry.Refreshes(kafka.ErrorCode(p.ErrorCode)) {
					c.stale(tp, at.generation)
				}
				return p.LowWatermark, codeError(op, tp.String(), p.ErrorCode, nil)
			}
		}
	}
	return -1, unmentioned(op, tp.String())
}
