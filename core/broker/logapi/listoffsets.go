package logapi

import (
	"trialog/core/broker/partition"
	"trialog/core/broker/serve"
	"trialog/core/kafka"
	"trialog/core/seglog"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListOffsets answers with offsets for timestamps and for the special values -1
// to -5.
func (a *API) ListOffsets(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.ListOffsetsRequest)
	for i := range req.Topics {
		if err := rq.ChargeEntries(1 + len(req.Topics[i].Partitions)); err != nil {
			return nil, err
		}
	}
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	seen := map[kafka.TopicPartition]int{}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			seen[kafka.TopicPartition{Topic: req.Topics[i].Topic, Partition: req.Topics[i].Partitions[j].Partition}]++
		}
	}
	for i := range req.Topics {
		rt := &req.Topics[i]
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = rt.Topic
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			if seen[kafka.TopicPartition{Topic: rt.Topic, Partition: rp.Partition}] > 1 {
				topic.Partitions = append(topic.Partitions, listed(rp, kafka.ErrInvalidRequest, noneFound))
				continue
			}
			code, found := a.listPartition(rq, req, rt.Topic, rp)
			topic.Partitions = append(topic.Partitions, listed(rp, code, found))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return rq.Reply(resp)
}

var noneFound = seglog.Found{Offset: kafka.NoOffset, Timestamp: kafka.NoTimestamp, Epoch: kafka.NoLeaderEpoch}

func listed(rp *kmsg.ListOffsetsRequestTopicPartition, code kafka.ErrorCode, found seglog.Found) kmsg.ListOffsetsResponseTopicPartition {
	out := kmsg.NewListOffsetsResponseTopicPartition()
	out.Partition, out.ErrorCode = rp.Partition, int16(code)
	out.Offset, out.Timestamp, out.LeaderEpoch = found.Offset, found.Timestamp, found.Epoch
	return out
}

func (a *API) listPartition(rq *serve.Request, req *kmsg.ListOffsetsRequest, topic string, rp *kmsg.ListOffsetsRequestTopicPartition) (kafka.ErrorCode, seglog.Found) {
	p, code := a.Table.TopicNamed(topic).Find(rp.Partition)
	if code != kafka.ErrNone {
		return code, noneFound
	}
	if code := p.CheckEpoch(rp.CurrentLeaderEpoch); code != kafka.ErrNone {
		return code, noneFound
	}
	if !specialSupported(rp.Timestamp, req.Version) {
		return kafka.ErrUnsupportedVersion, noneFound
	}
	if rp.Timestamp == kafka.LatestTimestamp && !p.EndKnown() {
		if req.Version >= 5 {
			return kafka.ErrOffsetNotAvailable, noneFound
		}
		return kafka.ErrLeaderNotAvailable, noneFound
	}
	found, err := find(p, rp.Timestamp, p.VisibleTo(req.ReplicaID, req.IsolationLevel))
	if err != nil {
		p.CheckLog(err)
		rq.Log.Error("list offsets failed", "partition", p.Name().String(), "err", err)
		return kafka.ErrKafkaStorageError, noneFound
	}
	return kafka.ErrNone, found
}

// specialSupported reports whether the version knows the special timestamp.
func specialSupported(ts int64, version int16) bool {
	switch {
	case ts >= kafka.EarliestTimestamp:
		return true
	case ts == kafka.MaxTimestamp:
		return version >= 7
	case ts == kafka.EarliestLocalTimestamp:
		return version >= 8
	case ts == kafka.LatestTieredTimestamp:
		return version >= 9
	}
	return false
}

// find answers for one partition; end bounds what the asker may know of.
func find(p *partition.Partition, ts int64, end kafka.Offset) (seglog.Found, error) {
	log := p.Log()
	switch ts {
	case kafka.LatestTimestamp:
		return seglog.Found{Offset: end, Timestamp: kafka.NoTimestamp, Epoch: p.Epoch()}, nil
	case kafka.EarliestTimestamp, kafka.EarliestLocalTimestamp:
		start := log.StartOffset()
		return seglog.Found{Offset: start, Timestamp: kafka.NoTimestamp, Epoch: log.EpochAt(start)}, nil
	case kafka.LatestTieredTimestamp:
		return noneFound, nil // no tiered storage
	case kafka.MaxTimestamp:
		return log.MaxTimestamp(end)
	}
	return log.OffsetForTimestamp(ts, end)
}
