package topicapi

import (
	"trialog/core/broker/serve"
	"trialog/core/controller"
	"trialog/core/kafka"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopics makes topics; the answer leaves when they are durable and their
// partitions are open.
func (a *API) CreateTopics(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.CreateTopicsRequest)
	if err := rq.Charge(int64(len(req.Topics)) * createdBytes); err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	create := &controller.CreateTopics{ValidateOnly: req.ValidateOnly}
	for i := range req.Topics {
		create.Topics = append(create.Topics, a.newTopic(&req.Topics[i]))
	}
	answer, err := a.Controller.Submit(create)
	if err != nil {
		rq.Log.Error("topics were not created", "err", err)
		for i := range req.Topics {
			resp.Topics = append(resp.Topics, a.created(&controller.CreatedTopic{Name: req.Topics[i].Topic, Code: kafka.ErrKafkaStorageError, Message: err.Error()}))
		}
		return rq.Reply(resp)
	}
	made := answer.(*controller.CreateTopicsResponse).Topics
	for i := range made {
		resp.Topics = append(resp.Topics, a.created(&made[i]))
	}
	return rq.Reply(resp)
}

func (a *API) newTopic(rt *kmsg.CreateTopicsRequestTopic) controller.NewTopic {
	t := controller.NewTopic{Name: rt.Topic, ID: a.NewTopicID(), Partitions: rt.NumPartitions, ReplicationFactor: rt.ReplicationFactor}
	for i := range rt.ReplicaAssignment {
		in := &rt.ReplicaAssignment[i]
		t.Assignment = append(t.Assignment, controller.Assignment{Partition: in.Partition, Replicas: in.Replicas})
	}
	for i := range rt.Configs {
		c := controller.NewConfig{Name: rt.Configs[i].Name, Null: rt.Configs[i].Value == nil}
		if !c.Null {
			c.Value = *rt.Configs[i].Value
		}
		t.Configs = append(t.Configs, c)
	}
	return t
}

func (a *API) created(t *controller.CreatedTopic) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.ErrorCode = t.Name, int16(t.Code)
	out.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // null breaks Kafka's Java client
	if t.Code != kafka.ErrNone {
		out.ErrorMessage = messageOf(t.Code, t.Message)
		return out
	}
	out.TopicID, out.NumPartitions, out.ReplicationFactor = t.ID, t.Partitions, t.ReplicationFactor
	for _, d := range a.Config().DescribeTopic(t.Configs) {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = d.Definition.Name, kmsg.StringPtr(d.Value), int8(d.Source)
		out.Configs = append(out.Configs, c)
	}
	return out
}

func messageOf(code kafka.ErrorCode, message string) *string {
	if message == "" {
		message = code.Error()
	}
	return &message
}

// DeleteTopics removes topics by name or, from v6 on, by id; the answer leaves
// when that is durable and their partitions are closed.
func (a *API) DeleteTopics(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DeleteTopicsRequest)
	if err := rq.ChargeEntries(len(req.Topics) + len(req.TopicNames)); err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	remove := &controller.DeleteTopics{}
	for _, name := range req.TopicNames {
		remove.Topics = append(remove.Topics, controller.TopicRef{Name: name})
	}
	for i := range req.Topics {
		ref := controller.TopicRef{ID: req.Topics[i].TopicID}
		if req.Topics[i].Topic != nil {
			ref.Name = *req.Topics[i].Topic
		}
		remove.Topics = append(remove.Topics, ref)
	}
	for i, t := range a.remove(rq, remove) {
		resp.Topics = append(resp.Topics, deleted(&t, &remove.Topics[i]))
	}
	return rq.Reply(resp)
}

// remove asks the controller, or answers for it. It has one outcome for each
// reference, in order.
func (a *API) remove(rq *serve.Request, req *controller.DeleteTopics) []controller.DeletedTopic {
	code, message := kafka.ErrNone, ""
	if !a.Config().DeleteTopics {
		code, message = kafka.ErrTopicDeletionDisabled, "delete.topic.enable=false"
		if rq.Header.Version < 3 {
			code = kafka.ErrInvalidRequest // older clients do not know 73
		}
	} else {
		answer, err := a.Controller.Submit(req)
		if err == nil {
			return answer.(*controller.DeleteTopicsResponse).Topics
		}
		rq.Log.Error("topics were not deleted", "err", err)
		code, message = kafka.ErrKafkaStorageError, err.Error()
	}
	out := make([]controller.DeletedTopic, len(req.Topics))
	for i, ref := range req.Topics {
		out[i] = controller.DeletedTopic{Name: ref.Name, ID: ref.ID, Code: code, Message: message}
	}
	return out
}

func deleted(t *controller.DeletedTopic, ref *controller.TopicRef) kmsg.DeleteTopicsResponseTopic {
	out := kmsg.NewDeleteTopicsResponseTopic()
	out.ErrorCode, out.TopicID = int16(t.Code), t.ID
	if t.Name != "" || ref.ID.IsZero() {
		out.Topic = kmsg.StringPtr(t.Name)
	}
	if t.Code != kafka.ErrNone {
		out.ErrorMessage = messageOf(t.Code, t.Message)
	}
	return out
}
