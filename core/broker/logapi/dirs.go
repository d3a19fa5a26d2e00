package logapi

import (
	"slices"
	"sort"

	"trialog/core/broker/logdirs"
	"trialog/core/broker/serve"
	"trialog/core/kafka"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeLogDirs answers which log directory holds what (KIP-113, KIP-827). The
// metadata log is no topic and does not appear, as in Kafka.
func (a *API) DescribeLogDirs(rq *serve.Request) (serve.Answer, error) {
	decoded, err := rq.Decode()
	if err != nil {
		return nil, err
	}
	req := decoded.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	if err := rq.ChargeEntries(a.Table.Len()); err != nil {
		return nil, err
	}
	var wanted map[kafka.TopicPartition]bool // nil: all
	if req.Topics != nil {
		wanted = map[kafka.TopicPartition]bool{}
		for i := range req.Topics {
			for _, p := range req.Topics[i].Partitions {
				wanted[kafka.TopicPartition{Topic: req.Topics[i].Topic, Partition: p}] = true
			}
		}
	}
	for _, dir := range a.Dirs.Describe() {
		resp.Dirs = append(resp.Dirs, describeDir(&dir, wanted))
	}
	return rq.Reply(resp)
}

func describeDir(dir *logdirs.Described, wanted map[kafka.TopicPartition]bool) kmsg.DescribeLogDirsResponseDir {
	out := kmsg.NewDescribeLogDirsResponseDir()
	out.Dir, out.TotalBytes, out.UsableBytes = dir.Path, dir.TotalBytes, dir.UsableBytes
	if dir.Offline {
		out.ErrorCode = int16(kafka.ErrKafkaStorageError)
	}
	logs := slices.Clone(dir.Logs)
	sort.Slice(logs, func(i, j int) bool { return logs[i].Partition.Compare(logs[j].Partition) < 0 })
	for _, l := range logs {
		if wanted != nil && !wanted[l.Partition] {
			continue
		}
		if n := len(out.Topics); n == 0 || out.Topics[n-1].Topic != l.Partition.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = l.Partition.Topic
			out.Topics = append(out.Topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size = l.Partition.Partition, l.Bytes
		t := &out.Topics[len(out.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return out
}
