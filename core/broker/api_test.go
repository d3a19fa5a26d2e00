package broker

import (
	"fmt"
	"testing"

	"trialog/core/kafka"
	"trialog/core/wire"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAPIVersions(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	for version := int16(0); version <= 4; version++ {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "a-client", "1.2.3"
		resp := ask[*kmsg.ApiVersionsResponse](c, req)
		require.Zero(t, resp.ErrorCode)
		var got []string
		for _, k := range resp.ApiKeys {
			got = append(got, fmt.Sprintf("%s %d-%d", wire.APIName(k.ApiKey), k.MinVersion, k.MaxVersion))
		}
		require.Equal(t, []string{
			"Produce 0-11", "Fetch 4-17", "ListOffsets 1-9", "Metadata 0-12", "FindCoordinator 0-5", "ListGroups 0-5",
			"ApiVersions 0-4", "CreateTopics 2-7", "DeleteTopics 1-6", "DeleteRecords 0-2", "InitProducerId 0-4",
			"OffsetForLeaderEpoch 2-4", "DescribeConfigs 1-4", "AlterConfigs 0-2", "DescribeLogDirs 1-4",
			"CreatePartitions 0-3", "IncrementalAlterConfigs 0-1", "DescribeCluster 0-1", "DescribeProducers 0-0",
			"DescribeTopicPartitions 0-0",
		}, got)
	}
	for _, name := range []string{"", "-x", "x-", "a b", "ключ"} {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, name, "1"
		require.EqualValues(t, kafka.ErrInvalidRequest, ask[*kmsg.ApiVersionsResponse](c, req).ErrorCode, "%q", name)
	}
}

// KIP-511: a version from the future is answered in the v0 form, whatever its
// body, and the connection stays usable.
func TestAPIVersionsFromTheFuture(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.write([]byte{0, 0, 0, 11, 0, 18, 0, 99, 0x7f, 0xff, 0xff, 0xff, 0xde, 0xad, 0xbe})
	body := c.frame()
	require.Equal(t, []byte{0x7f, 0xff, 0xff, 0xff}, body[:4])
	resp := kmsg.NewPtrApiVersionsResponse()
	require.NoError(t, resp.ReadFrom(body[4:]))
	require.EqualValues(t, kafka.ErrUnsupportedVersion, resp.ErrorCode)
	require.Len(t, resp.ApiKeys, 1)
	require.Equal(t, [3]int16{18, 0, 4}, [3]int16{resp.ApiKeys[0].ApiKey, resp.ApiKeys[0].MinVersion, resp.ApiKeys[0].MaxVersion})
	c.write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff})
	require.NotEmpty(t, c.frame())
}

func metadata(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func TestMetadataVersions(t *testing.T) {
	in := start(t, t.TempDir(), "auto.create.topics.enable=false", "broker.rack=r1")
	c := in.dial()
	id := c.create("t", 2)
	c.create("u", 1)
	for version := int16(0); version <= 12; version++ {
		resp := ask[*kmsg.MetadataResponse](c, metadata(version, "t"))
		require.Len(t, resp.Brokers, 1)
		require.EqualValues(t, 1, resp.Brokers[0].NodeID)
		require.Equal(t, in.Addr().String(), fmt.Sprintf("%s:%d", resp.Brokers[0].Host, resp.Brokers[0].Port))
		if version >= 1 {
			require.EqualValues(t, 1, resp.ControllerID)
			require.Equal(t, "r1", *resp.Brokers[0].Rack)
		}
		if version >= 2 {
			require.Equal(t, in.ClusterID(), *resp.ClusterID)
		}
		require.Len(t, resp.Topics, 1)
		topic := resp.Topics[0]
		require.Zero(t, topic.ErrorCode)
		require.Equal(t, "t", *topic.Topic)
		if version >= 10 {
			require.EqualValues(t, id, topic.TopicID)
		}
		if version >= 8 {
			require.EqualValues(t, kafka.NoAuthorizedOperations, topic.AuthorizedOperations)
		}
		require.Len(t, topic.Partitions, 2)
		for i, p := range topic.Partitions {
			require.Equal(t, []int32{int32(i), 1}, []int32{p.Partition, p.Leader})
			require.Equal(t, [][]int32{{1}, {1}}, [][]int32{p.Replicas, p.ISR})
			if version >= 7 {
				require.GreaterOrEqual(t, p.LeaderEpoch, int32(0))
			}
		}
		all := metadata(version)
		if version >= 1 {
			all.Topics = nil
			require.Empty(t, ask[*kmsg.MetadataResponse](c, metadata(version)).Topics, "an empty list means none")
		}
		require.Len(t, ask[*kmsg.MetadataResponse](c, all).Topics, 2, "all")
		unknown := ask[*kmsg.MetadataResponse](c, metadata(version, "nobody")).Topics[0]
		require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, unknown.ErrorCode)
		require.Equal(t, "nobody", *unknown.Topic)
	}
	byID := metadata(12)
	for _, id := range [][16]byte{id, {9}} {
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = id
		byID.Topics = append(byID.Topics, rt)
	}
	got := ask[*kmsg.MetadataResponse](c, byID).Topics
	require.Equal(t, "t", *got[0].Topic)
	require.EqualValues(t, kafka.ErrUnknownTopicID, got[1].ErrorCode)
	require.Nil(t, got[1].Topic)
	operations := metadata(8, "t")
	operations.IncludeTopicAuthorizedOperations, operations.IncludeClusterAuthorizedOperations = true, true
	resp := ask[*kmsg.MetadataResponse](c, operations)
	require.Positive(t, resp.AuthorizedOperations)
	require.Positive(t, resp.Topics[0].AuthorizedOperations)
}

func TestAutoCreate(t *testing.T) {
	in := start(t, t.TempDir(), "num.partitions=3")
	c := in.dial()
	for version := int16(0); version <= 12; version++ {
		name := fmt.Sprint("auto-", version)
		no := metadata(version, name)
		no.AllowAutoTopicCreation = false
		if version >= 4 {
			require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, ask[*kmsg.MetadataResponse](c, no).Topics[0].ErrorCode)
		}
		yes := metadata(version, name, name)
		yes.AllowAutoTopicCreation = true
		for _, topic := range ask[*kmsg.MetadataResponse](c, yes).Topics {
			require.Zero(t, topic.ErrorCode)
			require.Len(t, topic.Partitions, 3)
		}
		require.Equal(t, kafka.ErrNone, code(c.produce(-1, name, 2, batch("x"))))
	}
	bad := metadata(9, "a.b", "a_b", "__consumer_offsets")
	bad.AllowAutoTopicCreation = true
	topics := ask[*kmsg.MetadataResponse](c, bad).Topics
	require.Zero(t, topics[0].ErrorCode)
	require.EqualValues(t, kafka.ErrInvalidTopic, topics[1].ErrorCode, "collides with the first")
	require.NotZero(t, topics[2].ErrorCode, "internal")
}

// Who names a topic again and again is told of it once: an answer is far longer than its request.
func TestMetadataNamesTopicsOnce(t *testing.T) {
	in := start(t, t.TempDir(), "auto.create.topics.enable=false")
	c := in.dial()
	id := c.create("t", 3)
	got := ask[*kmsg.MetadataResponse](c, metadata(9, "t", "nobody", "t", "nobody", "t")).Topics
	require.Len(t, got, 2)
	require.Equal(t, "t", *got[0].Topic)
	require.Equal(t, "nobody", *got[1].Topic)
	byID := metadata(12)
	for _, id := range []kafka.TopicID{id, {9}, id, {9}} {
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = id
		byID.Topics = append(byID.Topics, rt)
	}
	got = ask[*kmsg.MetadataResponse](c, byID).Topics
	require.Len(t, got, 2)
	require.Equal(t, "t", *got[0].Topic)
	require.EqualValues(t, kafka.ErrUnknownTopicID, got[1].ErrorCode)
}

func TestCreateTopics(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	creation := func(version int16, name string, partitions int32, replicas int16) *kmsg.CreateTopicsRequest {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = version
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, replicas
		req.Topics = append(req.Topics, rt)
		return req
	}
	for version := int16(2); version <= 7; version++ {
		name := fmt.Sprint("t", version)
		validate := creation(version, name, 1, 1)
		validate.ValidateOnly = true
		require.Zero(t, ask[*kmsg.CreateTopicsResponse](c, validate).Topics[0].ErrorCode)
		require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, c.fetch(name, 0, 0).ErrorCode)
		got := ask[*kmsg.CreateTopicsResponse](c, creation(version, name, 2, 1)).Topics[0]
		require.Zero(t, got.ErrorCode)
		require.Nil(t, got.ErrorMessage)
		if version >= 5 {
			require.Equal(t, [2]int32{2, 1}, [2]int32{got.NumPartitions, int32(got.ReplicationFactor)})
			require.NotEmpty(t, got.Configs)
		}
		if version >= 7 {
			require.NotZero(t, got.TopicID)
		}
		again := ask[*kmsg.CreateTopicsResponse](c, creation(version, name, 2, 1)).Topics[0]
		require.EqualValues(t, kafka.ErrTopicAlreadyExists, again.ErrorCode)
		require.NotNil(t, again.ErrorMessage)
		if version >= 5 {
			require.NotNil(t, again.Configs, "null breaks Kafka's Java client")
		}
		require.Zero(t, c.fetch(name, 1, 0).ErrorCode, "open before the answer leaves")
	}
	for _, tc := range []struct {
		name string
		req  *kmsg.CreateTopicsRequest
		want kafka.ErrorCode
	}{
		{"no partitions", creation(7, "x", 0, 1), kafka.ErrInvalidPartitions},
		{"no replicas", creation(7, "x", 1, 0), kafka.ErrInvalidReplicationFactor},
		{"more replicas than brokers", creation(7, "x", 1, 2), kafka.ErrInvalidReplicationFactor},
		{"defaults", creation(7, "defaults", -1, -1), kafka.ErrNone},
	} {
		require.Equal(t, tc.want, kafka.ErrorCode(ask[*kmsg.CreateTopicsResponse](c, tc.req).Topics[0].ErrorCode), tc.name)
	}
	settings := creation(7, "x", 1, 1)
	rc := kmsg.NewCreateTopicsRequestTopicConfig()
	rc.Name, rc.Value = "retention.ms", kmsg.StringPtr("soon")
	settings.Topics[0].Configs = append(settings.Topics[0].Configs, rc)
	require.EqualValues(t, kafka.ErrInvalidConfig, ask[*kmsg.CreateTopicsResponse](c, settings).Topics[0].ErrorCode)
	twice := creation(7, "x", 1, 1)
	twice.Topics = append(twice.Topics, twice.Topics[0])
	for _, topic := range ask[*kmsg.CreateTopicsResponse](c, twice).Topics {
		require.EqualValues(t, kafka.ErrInvalidRequest, topic.ErrorCode)
	}
}

func TestDeleteTopics(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	for version := int16(1); version <= 6; version++ {
		name := fmt.Sprint("t", version)
		id := c.create(name, 2)
		c.produce(-1, name, 1, batch("x"))
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version = version
		req.TopicNames = []string{name, "nobody"}
		byID := kmsg.NewDeleteTopicsRequestTopic()
		byID.TopicID = id
		byName := kmsg.NewDeleteTopicsRequestTopic()
		byName.Topic = kmsg.StringPtr("nobody")
		req.Topics = append(req.Topics, byID, byName)
		got := ask[*kmsg.DeleteTopicsResponse](c, req).Topics
		require.Equal(t, []int16{0, 3}, []int16{got[0].ErrorCode, got[1].ErrorCode}, "v%d", version)
		require.Equal(t, name, *got[0].Topic)
		require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, c.fetch(name, 1, 0).ErrorCode)
		again := c.create(name, 1)
		require.NotEqual(t, id, again, "a topic of the same name is another topic")
		require.Empty(t, c.readAll(name, 0))
	}
	unknown := kmsg.NewPtrDeleteTopicsRequest()
	unknown.Version = 6
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.TopicID = [16]byte{9}
	unknown.Topics = append(unknown.Topics, rt)
	got := ask[*kmsg.DeleteTopicsResponse](c, unknown).Topics[0]
	require.EqualValues(t, kafka.ErrUnknownTopicID, got.ErrorCode)
	require.Nil(t, got.Topic)
}

func TestDeletionDisabled(t *testing.T) {
	in := start(t, t.TempDir(), "delete.topic.enable=false")
	c := in.dial()
	c.create("t", 1)
	for version, want := range map[int16]kafka.ErrorCode{2: kafka.ErrInvalidRequest, 5: kafka.ErrTopicDeletionDisabled} {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TopicNames = version, []string{"t"}
		require.EqualValues(t, want, ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode)
	}
}

// Producer ids are unique over restarts and crashes, whatever the client sends.
func TestInitProducerID(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	seen := map[int64]bool{}
	take := func(n int) {
		c := in.dial()
		for i := range n {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.Version = int16(i % 5)
			req.ProducerID, req.ProducerEpoch = 5, 3
			got := ask[*kmsg.InitProducerIDResponse](c, req)
			require.Zero(t, got.ErrorCode)
			require.Zero(t, got.ProducerEpoch)
			require.False(t, seen[got.ProducerID], "id %d twice", got.ProducerID)
			seen[got.ProducerID] = true
		}
	}
	take(1010)
	in.crash()
	in = start(t, dir)
	take(10)
	in.end()
	in = start(t, dir)
	take(10)
	for version := int16(0); version <= 4; version++ {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID = version, kmsg.StringPtr("tx")
		got := ask[*kmsg.InitProducerIDResponse](in.dial(), req)
		require.EqualValues(t, kafka.ErrInvalidRequest, got.ErrorCode, "there are no transactions")
		require.EqualValues(t, -1, got.ProducerID)
	}
}
