package topicapi

import (
	"slices"
	"strings"

	"trialog/core/broker/serve"
	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreatePartitions adds partitions to topics; the answer leaves when they are
// durable and open.
func (a *API) CreatePartitions(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.CreatePartitionsRequest)
	if err := rq.ChargeEntries(len(req.Topics)); err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	create := &controller.CreatePartitions{ValidateOnly: req.ValidateOnly}
	for i := range req.Topics {
		rt := &req.Topics[i]
		more := controller.MorePartitions{Topic: rt.Topic, Count: rt.Count}
		if rt.Assignment != nil {
			more.Assignment = make([][]kafka.NodeID, len(rt.Assignment))
			for j := range rt.Assignment {
				more.Assignment[j] = rt.Assignment[j].Replicas
			}
		}
		create.Topics = append(create.Topics, more)
	}
	for _, out := range a.createPartitions(rq, create) {
		t := kmsg.NewCreatePartitionsResponseTopic()
		t.Topic, t.ErrorCode = out.Name, int16(out.Code)
		if out.Code != kafka.ErrNone {
			t.ErrorMessage = messageOf(out.Code, out.Message)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return rq.Reply(resp)
}

// createPartitions asks the controller, or answers for it.
func (a *API) createPartitions(rq *serve.Request, create *controller.CreatePartitions) []controller.TopicOutcome {
	answer, err := a.Controller.Submit(create)
	if err == nil {
		return answer.(*controller.CreatePartitionsResponse).Topics
	}
	rq.Log.Error("partitions were not created", "err", err)
	out := make([]controller.TopicOutcome, len(create.Topics))
	for i := range create.Topics {
		out[i] = controller.TopicOutcome{Name: create.Topics[i].Topic, Code: kafka.ErrKafkaStorageError, Message: err.Error()}
	}
	return out
}

// DescribeTopicPartitions is Metadata of topics in pages (KIP-966): topics in the
// order of their names, at most so many partitions, and a cursor to where the
// next page begins.
func (a *API) DescribeTopicPartitions(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DescribeTopicPartitionsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	image := a.Controller.Image()
	if err := rq.ChargeEntries(len(req.Topics)); err != nil {
		return nil, err
	}
	names, all := a.pageNames(image, req)
	if c := req.Cursor; c != nil && (c.Partition < 0 || !all && !slices.Contains(names, c.Topic)) {
		for i := range req.Topics {
			resp.Topics = append(resp.Topics, undescribed(req.Topics[i].Topic, kafka.ErrInvalidRequest))
		}
		return rq.Reply(resp)
	}
	left := max(1, min(a.Config().DescribePartitionsMax, req.ResponsePartitionLimit))
	for i, name := range names {
		if left == 0 {
			resp.NextCursor = cursor(name, 0)
			break
		}
		first := int32(0)
		if i == 0 && req.Cursor != nil && req.Cursor.Topic == name {
			first = req.Cursor.Partition
		}
		t := image.Topic(name)
		if t == nil {
			if !all {
				resp.Topics = append(resp.Topics, undescribed(name, missing(name)))
			}
			continue
		}
		if err := rq.Charge(int64(min(int(left), len(t.Partitions))) * partitionBytes); err != nil {
			return nil, err
		}
		page := a.page(t, first, left)
		resp.Topics = append(resp.Topics, page)
		if next := first + int32(len(page.Partitions)); int(next) < len(t.Partitions) {
			resp.NextCursor = cursor(name, next)
			break
		}
		left -= int32(len(page.Partitions))
	}
	return rq.Reply(resp)
}

// pageNames is the topics that are asked for from the cursor on, sorted, each
// once; no name at all asks for all of them.
func (a *API) pageNames(image *meta.Image, req *kmsg.DescribeTopicPartitionsRequest) (names []string, all bool) {
	from := ""
	if req.Cursor != nil {
		from = req.Cursor.Topic
	}
	if len(req.Topics) == 0 {
		for _, t := range image.Topics() {
			if t.Name >= from {
				names = append(names, t.Name)
			}
		}
		return names, true
	}
	for i := range req.Topics {
		if name := req.Topics[i].Topic; name >= from {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names), false
}

func missing(name string) kafka.ErrorCode {
	if kafka.CheckTopicName(name) != nil {
		return kafka.ErrInvalidTopic
	}
	return kafka.ErrUnknownTopicOrPartition
}

func cursor(topic string, p int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, p
	return &c
}

func undescribed(name string, code kafka.ErrorCode) kmsg.DescribeTopicPartitionsResponseTopic {
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.ErrorCode = kmsg.StringPtr(name), int16(code)
	if code != kafka.ErrInvalidRequest { // of the request as a whole nothing is said
		out.AuthorizedOperations = authorizedTopic
	}
	return out
}

// page is up to most partitions of a topic from first on.
func (a *API) page(t *meta.TopicImage, first, most int32) kmsg.DescribeTopicPartitionsResponseTopic {
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = kmsg.StringPtr(t.Name), t.ID, kafka.IsInternalTopic(t.Name)
	out.AuthorizedOperations = authorizedTopic
	for i := int(first); i < len(t.Partitions) && len(out.Partitions) < int(most); i++ {
		in := a.describePartition(t, kafka.PartitionID(i))
		p := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		p.Partition, p.LeaderID, p.LeaderEpoch = in.Partition, in.Leader, in.LeaderEpoch // without a leader there is no error here
		p.Replicas, p.ISR, p.OfflineReplicas = in.Replicas, in.ISR, in.OfflineReplicas
		p.EligibleLeaderReplicas, p.LastKnownELR = []int32{}, []int32{} // null breaks Kafka's Java client
		out.Partitions = append(out.Partitions, p)
	}
	return out
}
