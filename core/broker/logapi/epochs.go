package logapi

import (
	"trialog/core/broker/serve"
	"trialog/core/kafka"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetForLeaderEpoch answers where epochs end (KIP-101, KIP-320): of the
// largest epoch at or below the one that is asked for, that epoch and its end
// offset; -1 and -1 when there is none.
func (a *API) OffsetForLeaderEpoch(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.OffsetForLeaderEpochRequest)
	for i := range req.Topics {
		if err := rq.ChargeEntries(1 + len(req.Topics[i].Partitions)); err != nil {
			return nil, err
		}
	}
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for i := range req.Topics {
		rt := &req.Topics[i]
		topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
		topic.Topic = rt.Topic
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			out.Partition, out.LeaderEpoch, out.EndOffset = rp.Partition, kafka.NoLeaderEpoch, kafka.NoOffset
			p, code := a.Table.TopicNamed(rt.Topic).Find(rp.Partition)
			if code != kafka.ErrNone {
				out.ErrorCode = int16(code)
			} else if code := p.CheckEpoch(rp.CurrentLeaderEpoch); code != kafka.ErrNone {
				out.ErrorCode = int16(code)
			} else if rp.LeaderEpoch >= 0 {
				out.LeaderEpoch, out.EndOffset = p.Log().EpochEndOffset(rp.LeaderEpoch)
			}
			topic.Partitions = append(topic.Partitions, out)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return rq.Reply(resp)
}

// DescribeProducers answers which producers partitions know (KIP-664).
func (a *API) DescribeProducers(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DescribeProducersRequest)
	for i := range req.Topics {
		if err := rq.ChargeEntries(1 + len(req.Topics[i].Partitions)); err != nil {
			return nil, err
		}
	}
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	described := map[kafka.TopicPartition]bool{}
	for i := range req.Topics {
		rt := &req.Topics[i]
		topic := kmsg.NewDescribeProducersResponseTopic()
		topic.Topic = rt.Topic
		for _, index := range rt.Partitions {
			tp := kafka.TopicPartition{Topic: rt.Topic, Partition: index}
			out := kmsg.NewDescribeProducersResponseTopicPartition()
			out.Partition = index
			if described[tp] { // an answer is far longer than its request
				out.ErrorCode = int16(kafka.ErrInvalidRequest)
				out.ErrorMessage = kmsg.StringPtr("Each partition must appear at most once.")
			} else {
				described[tp] = true
				if err := a.describeProducers(rq, &out, tp); err != nil {
					return nil, err
				}
			}
			topic.Partitions = append(topic.Partitions, out)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return rq.Reply(resp)
}

func (a *API) describeProducers(rq *serve.Request, out *kmsg.DescribeProducersResponseTopicPartition, tp kafka.TopicPartition) error {
	p, code := a.Table.TopicNamed(tp.Topic).Find(tp.Partition)
	switch {
	case kafka.CheckTopicName(tp.Topic) != nil:
		out.ErrorCode, out.ErrorMessage = int16(kafka.ErrInvalidTopic), kmsg.StringPtr(kafka.CheckTopicName(tp.Topic).Error())
		return nil
	case code != kafka.ErrNone:
		out.ErrorCode = int16(code)
		return nil
	}
	if code := p.CheckEpoch(kafka.NoLeaderEpoch); code != kafka.ErrNone {
		out.ErrorCode = int16(code)
		return nil
	}
	if err := rq.ChargeEntries(p.Log().ProducerCount()); err != nil {
		return err
	}
	known := p.Log().Producers()
	for i := range known {
		in := &known[i]
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch, a.LastSequence = in.ID, int32(in.Epoch), kafka.NoSequence
		if last, ok := in.Last(); ok {
			a.LastSequence = last.LastSeq
		}
		a.LastTimestamp, a.CoordinatorEpoch, a.CurrentTxnStartOffset = in.LastTimestamp, in.CoordinatorEpoch, in.TxnFirstOffset
		out.ActiveProducers = append(out.ActiveProducers, a)
	}
	return nil
}
