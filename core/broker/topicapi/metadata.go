package topicapi

import (
	"trialog/core/broker/serve"
	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metadata answers who leads what, and makes the topics that a producer asks for
// if auto.create.topics.enable allows it.
func (a *API) Metadata(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.MetadataRequest)
	if err := rq.ChargeEntries(len(req.Topics)); err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	codes := a.autoCreate(rq, req)
	image := a.Controller.Image()
	resp.ClusterID = kmsg.StringPtr(a.ClusterID)
	resp.ControllerID = a.Config().NodeID
	for _, b := range image.Brokers() {
		resp.Brokers = append(resp.Brokers, brokerOf(b, rq.Session.Listener))
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = authorizedCluster
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		if err := rq.ChargeEntries(len(image.Topics())); err != nil {
			return nil, err
		}
		for _, t := range image.Topics() {
			described, err := a.describe(rq, t)
			if err != nil {
				return nil, err
			}
			resp.Topics = append(resp.Topics, described)
		}
	}
	if resp.Topics, err = a.lookUpAll(resp.Topics, rq, image, req.Topics, codes); err != nil {
		return nil, err
	}
	for i := range resp.Topics {
		if req.IncludeTopicAuthorizedOperations && resp.Topics[i].ErrorCode == 0 {
			resp.Topics[i].AuthorizedOperations = authorizedTopic
		}
	}
	return rq.Reply(resp)
}

// brokerOf names the endpoint of the listener that the client came through.
func brokerOf(b *meta.BrokerImage, listener string) kmsg.MetadataResponseBroker {
	out := kmsg.NewMetadataResponseBroker()
	out.NodeID = b.ID
	e := b.Endpoint(listener)
	out.Host, out.Port = e.Host, int32(e.Port)
	if b.Rack != "" {
		out.Rack = kmsg.StringPtr(b.Rack)
	}
	return out
}

// lookUpAll describes requested topics, each once however often it is named, as in
// Kafka: otherwise a megabyte that names one wide topic again and again would ask
// for gigabytes.
func (a *API) lookUpAll(dst []kmsg.MetadataResponseTopic, rq *serve.Request, image *meta.Image, topics []kmsg.MetadataRequestTopic, codes map[string]kafka.ErrorCode) ([]kmsg.MetadataResponseTopic, error) {
	type key struct {
		name  string
		id    kafka.TopicID
		named bool
	}
	seen := make(map[key]bool, len(topics))
	for i := range topics {
		rt := &topics[i]
		k := key{id: rt.TopicID}
		if rt.Topic != nil {
			k = key{name: *rt.Topic, named: true}
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		described, err := a.lookUp(rq, image, rt, codes)
		if err != nil {
			return nil, err
		}
		dst = append(dst, described)
	}
	return dst, nil
}

// lookUp describes one requested topic. codes has the outcome of topics that
// could not be made.
func (a *API) lookUp(rq *serve.Request, image *meta.Image, rt *kmsg.MetadataRequestTopic, codes map[string]kafka.ErrorCode) (kmsg.MetadataResponseTopic, error) {
	var found *meta.TopicImage
	code := kafka.ErrUnknownTopicOrPartition
	if rt.Topic == nil {
		code = kafka.ErrUnknownTopicID
		found = image.TopicByID(rt.TopicID)
	} else if kafka.CheckTopicName(*rt.Topic) != nil {
		code = kafka.ErrInvalidTopic
	} else {
		found = image.Topic(*rt.Topic)
		if c, ok := codes[*rt.Topic]; ok {
			code = c
		}
	}
	if found != nil {
		return a.describe(rq, found)
	}
	out := kmsg.NewMetadataResponseTopic()
	out.ErrorCode, out.Topic, out.TopicID = int16(code), rt.Topic, rt.TopicID
	return out, nil
}

// describe names as leader only who leads: a partition of this broker whose log could not be opened is offline, as in
// Kafka after the failure of a log directory (KIP-112).
func (a *API) describe(rq *serve.Request, t *meta.TopicImage) (kmsg.MetadataResponseTopic, error) {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = kmsg.StringPtr(t.Name), t.ID, kafka.IsInternalTopic(t.Name)
	if err := rq.Charge(int64(len(t.Partitions)) * partitionBytes); err != nil {
		return out, err
	}
	out.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, len(t.Partitions))
	for i := range t.Partitions {
		out.Partitions = append(out.Partitions, a.describePartition(t, kafka.PartitionID(i)))
	}
	return out, nil
}

func (a *API) describePartition(t *meta.TopicImage, i kafka.PartitionID) kmsg.MetadataResponseTopicPartition {
	in, node := &t.Partitions[i], a.Config().NodeID
	p := kmsg.NewMetadataResponseTopicPartition()
	p.Partition, p.Leader, p.LeaderEpoch = i, in.Leader, in.LeaderEpoch
	p.Replicas, p.ISR = in.Replicas, in.ISR
	if in.Leader == node && !a.Leads(t.ID, i) {
		p.Leader, p.OfflineReplicas = kafka.NoNode, []int32{node}
	}
	if p.Leader == kafka.NoNode {
		p.ErrorCode = int16(kafka.ErrLeaderNotAvailable)
	}
	return p
}

// autoCreate makes the requested topics that do not exist, all in one decision.
// Versions before 4 have no flag and mean yes (KIP-204). The result has the
// outcomes of those that could not be made.
func (a *API) autoCreate(rq *serve.Request, req *kmsg.MetadataRequest) map[string]kafka.ErrorCode {
	if !a.Config().AutoCreateTopics || req.Version >= 4 && !req.AllowAutoTopicCreation {
		return nil
	}
	image := a.Controller.Image()
	codes := map[string]kafka.ErrorCode{}
	create := &controller.CreateTopics{}
	for i := range req.Topics {
		name := req.Topics[i].Topic
		if name == nil || kafka.CheckTopicName(*name) != nil || image.Topic(*name) != nil {
			continue
		}
		if _, twice := codes[*name]; twice {
			continue
		}
		codes[*name] = kafka.ErrUnknownTopicOrPartition
		create.Topics = append(create.Topics, controller.NewTopic{Name: *name, ID: a.NewTopicID(), Partitions: -1, ReplicationFactor: -1})
	}
	if len(create.Topics) == 0 {
		return nil
	}
	answer, err := a.Controller.Submit(create)
	if err != nil {
		rq.Log.Error("topics were not created", "err", err)
		for name := range codes {
			codes[name] = kafka.ErrLeaderNotAvailable // retried by clients
		}
		return codes
	}
	for _, t := range answer.(*controller.CreateTopicsResponse).Topics {
		codes[t.Name] = autoCreateCode(t.Code)
	}
	return codes
}

// autoCreateCode is what Metadata says of a topic that was not made.
func autoCreateCode(code kafka.ErrorCode) kafka.ErrorCode {
	switch code {
	case kafka.ErrNone, kafka.ErrTopicAlreadyExists:
		return kafka.ErrLeaderNotAvailable
	case kafka.ErrInvalidTopic, kafka.ErrInvalidReplicationFactor, kafka.ErrInvalidPartitions:
		return code
	}
	return kafka.ErrUnknownTopicOrPartition
}
