package logapi

import (
	"trialog/core/broker/fetchsession"
	"trialog/core/kafka"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// incremental reports a request that says only what changed since the last one of
// its session (KIP-227).
func (fa *fetchAnswer) incremental() bool {
	return fa.req.SessionEpoch != fetchsession.Initial && fa.req.SessionEpoch != fetchsession.Final && fa.req.Version >= 7
}

// begin finds out what to read.
func (fa *fetchAnswer) begin() {
	req := fa.req
	fa.wants = appendWants(fa.wants[:0], req)
	switch {
	case fa.incremental():
		fa.session, fa.all, fa.code = fa.api.Sessions.Continue(req.SessionID, req.SessionEpoch, req.Version >= fetchByID, fa.wants, forgotten(req), fa.began.MonoNs, fa.all[:0])
		if fa.session != nil {
			fa.wants, fa.all = fa.all, fa.wants
		} // else nothing is left of the session, and this is a request without one, or it is refused
		return
	case req.Version >= 7 && req.SessionID != 0:
		fa.api.Sessions.End(req.SessionID)
	}
	fa.create = req.Version >= 7 && req.SessionEpoch == fetchsession.Initial && fa.reader == kafka.ConsumerReplica
}

func appendWants(dst []fetchsession.Want, req *kmsg.FetchRequest) []fetchsession.Want {
	for i := range req.Topics {
		rt := &req.Topics[i]
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			dst = append(dst, fetchsession.Want{
				Key:         keyOf(req, rt.Topic, rt.TopicID, rp.Partition),
				FetchOffset: rp.FetchOffset, MaxBytes: rp.PartitionMaxBytes,
				LeaderEpoch: rp.CurrentLeaderEpoch, LastFetchedEpoch: rp.LastFetchedEpoch,
			})
		}
	}
	return dst
}

func forgotten(req *kmsg.FetchRequest) []fetchsession.Key {
	var keys []fetchsession.Key
	for i := range req.ForgottenTopics {
		ft := &req.ForgottenTopics[i]
		for _, p := range ft.Partitions {
			keys = append(keys, keyOf(req, ft.Topic, ft.TopicID, p))
		}
	}
	return keys
}

// keyOf keeps only the name that the version has.
func keyOf(req *kmsg.FetchRequest, topic string, id kafka.TopicID, p int32) fetchsession.Key {
	if req.Version >= fetchByID {
		return fetchsession.Key{ID: id, Partition: p}
	}
	return fetchsession.Key{Topic: topic, Partition: p}
}

// answerSession tells the session what the answer says. The id of the result goes
// into the answer.
func (fa *fetchAnswer) answerSession() (id int32) {
	if fa.session == nil && (!fa.create || fa.code != kafka.ErrNone) {
		return 0
	}
	fa.said = fa.said[:0]
	for i := range fa.parts {
		out := &fa.parts[i].out
		fa.said = append(fa.said, fetchsession.Said{
			HighWatermark: out.HighWatermark, LogStartOffset: out.LogStartOffset, Bytes: out.RecordBytes,
			Error: out.ErrorCode != 0 || out.DivergingEpoch != -1,
		})
	}
	if fa.session == nil {
		return fa.api.Sessions.Create(fa.wants, fa.said, fa.req.Version >= fetchByID, fa.began.MonoNs)
	}
	fa.include = append(fa.include[:0], make([]bool, len(fa.parts))...)
	if !fa.session.Answered(fa.req.SessionEpoch, fa.wants, fa.said, fa.include) {
		fa.code = kafka.ErrInvalidFetchSessionEpoch
	}
	return fa.session.ID()
}

func (fa *fetchAnswer) includes(i int) bool { return fa.session == nil || fa.include[i] }

// run is how many partitions of the answer belong to the topic entry that begins
// at i, and where it ends.
func (fa *fetchAnswer) run(parts []fetchPart, i int) (n, end int) {
	for end = i; end < len(parts) && sameTopic(&fa.wants[i], &fa.wants[end]); end++ {
		if fa.includes(end) {
			n++
		}
	}
	return n, end
}

// runs is how many topic entries the answer has.
func (fa *fetchAnswer) runs(parts []fetchPart) int {
	topics := 0
	for i := 0; i < len(parts); {
		n, end := fa.run(parts, i)
		if n > 0 {
			topics++
		}
		i = end
	}
	return topics
}
