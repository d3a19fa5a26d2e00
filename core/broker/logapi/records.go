package logapi

import (
	"errors"

	"trialog/core/broker/serve"
	"trialog/core/kafka"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteRecords moves log start offsets up (KIP-107); -1 means the HW. As in
// Kafka, the new start is durable when the next checkpoint of start offsets is.
func (a *API) DeleteRecords(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DeleteRecordsRequest)
	for i := range req.Topics {
		if err := rq.ChargeEntries(1 + len(req.Topics[i].Partitions)); err != nil {
			return nil, err
		}
	}
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for i := range req.Topics {
		rt := &req.Topics[i]
		topic := kmsg.NewDeleteRecordsResponseTopic()
		topic.Topic = rt.Topic
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			out := kmsg.NewDeleteRecordsResponseTopicPartition()
			code, low := a.deleteRecords(rq, rt.Topic, rp)
			out.Partition, out.ErrorCode, out.LowWatermark = rp.Partition, int16(code), low
			topic.Partitions = append(topic.Partitions, out)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if a.RemoveSoon != nil {
		a.RemoveSoon()
	}
	return rq.Reply(resp)
}

func (a *API) deleteRecords(rq *serve.Request, topic string, rp *kmsg.DeleteRecordsRequestTopicPartition) (kafka.ErrorCode, kafka.Offset) {
	p, code := a.Table.TopicNamed(topic).Find(rp.Partition)
	switch {
	case code != kafka.ErrNone:
		return code, kafka.NoOffset
	case kafka.IsInternalTopic(topic):
		return kafka.ErrInvalidTopic, kafka.NoOffset
	}
	if code := p.CheckEpoch(kafka.NoLeaderEpoch); code != kafka.ErrNone {
		return code, kafka.NoOffset
	}
	if s := p.Settings(); s.CleanupCompact && !s.CleanupDelete {
		return kafka.ErrPolicyViolation, kafka.NoOffset
	}
	before := rp.Offset
	if before == kafka.NoOffset {
		before = p.HighWatermark()
	}
	start, err := p.DeleteRecords(before)
	switch {
	case err == nil:
		return kafka.ErrNone, start
	case errors.Is(err, kafka.ErrOffsetOutOfRange):
		return kafka.ErrOffsetOutOfRange, kafka.NoOffset
	}
	rq.Log.Error("records were not deleted", "partition", p.Name().String(), "err", err)
	return kafka.ErrKafkaStorageError, kafka.NoOffset
}
