package broker

import (
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"testing"

	"trialog/core/record"
	"trialog/core/wire"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// wideRequests ask for far more than they say: of everything that there is, or of many things in few bytes each.
func wideRequests(topics []string, n int) []kmsg.Request {
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version = 12
	unknown := kmsg.NewPtrMetadataRequest()
	unknown.Version, unknown.Topics = 4, make([]kmsg.MetadataRequestTopic, n)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.ValidateOnly, create.Topics = 7, true, make([]kmsg.CreateTopicsRequestTopic, n/10)
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.Version, remove.Topics = 6, make([]kmsg.DeleteTopicsRequestTopic, n)
	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Version, grow.Topics = 3, make([]kmsg.CreatePartitionsRequestTopic, n)
	pages := kmsg.NewPtrDescribeTopicPartitionsRequest()
	pages.ResponsePartitionLimit, pages.Topics = 2000, make([]kmsg.DescribeTopicPartitionsRequestTopic, n)
	coordinators := kmsg.NewPtrFindCoordinatorRequest()
	coordinators.Version, coordinators.CoordinatorKeys = 5, make([]string, n)
	configs := kmsg.NewPtrDescribeConfigsRequest()
	configs.Version, configs.IncludeDocumentation, configs.IncludeSynonyms = 4, true, true
	set := kmsg.NewPtrAlterConfigsRequest()
	set.Version, set.Resources = 2, make([]kmsg.AlterConfigsRequestResource, n)
	change := kmsg.NewPtrIncrementalAlterConfigsRequest()
	change.Version, change.Resources = 1, make([]kmsg.IncrementalAlterConfigsRequestResource, n)
	for i := range n {
		name := fmt.Sprint(i)
		unknown.Topics[i].Topic, remove.Topics[i].Topic = &name, &name
		grow.Topics[i].Topic, pages.Topics[i].Topic, coordinators.CoordinatorKeys[i] = name, name, name
		set.Resources[i].ResourceType, set.Resources[i].ResourceName = kmsg.ConfigResourceTypeTopic, name
		change.Resources[i].ResourceType, change.Resources[i].ResourceName = kmsg.ConfigResourceTypeTopic, name
	}
	for i := range create.Topics {
		create.Topics[i] = kmsg.NewCreateTopicsRequestTopic()
		create.Topics[i].Topic, create.Topics[i].NumPartitions, create.Topics[i].ReplicationFactor = fmt.Sprint(i), 1, 1
	}
	for _, name := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		configs.Resources = append(configs.Resources, r)
	}
	dirs := kmsg.NewPtrDescribeLogDirsRequest()
	dirs.Version = 4
	return append(widePartitions(n), metadata, unknown, create, remove, grow, pages, coordinators, configs, set, change, dirs)
}

// widePartitions are the requests that name partitions, most of which there are not.
func widePartitions(n int) []kmsg.Request {
	list := kmsg.NewPtrListOffsetsRequest()
	list.Version, list.Topics = 7, []kmsg.ListOffsetsRequestTopic{{Topic: "t"}}
	list.Topics[0].Partitions = make([]kmsg.ListOffsetsRequestTopicPartition, n)
	epochs := kmsg.NewPtrOffsetForLeaderEpochRequest()
	epochs.Version, epochs.Topics = 4, []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t"}}
	epochs.Topics[0].Partitions = make([]kmsg.OffsetForLeaderEpochRequestTopicPartition, n)
	remove := kmsg.NewPtrDeleteRecordsRequest()
	remove.Version, remove.Topics = 2, []kmsg.DeleteRecordsRequestTopic{{Topic: "t"}}
	remove.Topics[0].Partitions = make([]kmsg.DeleteRecordsRequestTopicPartition, n)
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "producers", Partitions: make([]int32, n)}}
	for i := range n {
		p := int32(i)
		list.Topics[0].Partitions[i].Partition, epochs.Topics[0].Partitions[i].Partition = p, p
		remove.Topics[0].Partitions[i].Partition, producers.Topics[0].Partitions[i] = p, p
	}
	return []kmsg.Request{list, epochs, remove, producers}
}

// An answer counts in the request memory before it is built, whatever is asked for in however few bytes.
func TestAnswersAreCharged(t *testing.T) {
	if racing {
		t.Skip("the race detector allocates")
	}
	in := start(t, t.TempDir(), "auto.create.topics.enable=false")
	c := in.dial()
	var topics []string
	for i := range 10 {
		topics = append(topics, fmt.Sprint("topic-", i))
		c.create(topics[i], 50)
	}
	c.create("producers", 1)
	for id := range int64(500) {
		require.Zero(t, c.produce(1, "producers", 0, batchOf(func(b *record.Builder) { b.SetProducer(id, 0, 0) }, "x")).ErrorCode)
	}
	sink := make([]byte, 32<<20)
	for _, req := range wideRequests(topics, 5000) {
		frame := formatter.AppendRequest(nil, req, 1)
		conn := in.dial().conn
		eventually(t, "nothing is held", func() bool { return in.server.HeldBytes() == 0 })
		in.server.HighestBytes()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := conn.Write(frame)
		require.NoError(t, err)
		_, err = io.ReadFull(conn, sink[:4])
		require.NoError(t, err)
		size := int(binary.BigEndian.Uint32(sink))
		_, err = io.ReadFull(conn, sink[:size])
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		took, highest := int64(after.TotalAlloc-before.TotalAlloc), in.server.HighestBytes()
		name := wire.APIName(req.Key())
		t.Logf("%-24s %7d bytes in, %8d out, %9d allocated, %9d charged", name, len(frame), size, took, highest)
		require.LessOrEqual(t, took, 2*highest, name)
	}
}
