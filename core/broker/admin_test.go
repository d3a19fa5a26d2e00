package broker

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"trialog/core/broker/serve"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/wire"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// versions runs f once for every served version of a key.
func versions(t *testing.T, key int16, f func(t *testing.T, version int16)) {
	api, ok := wire.Lookup(key)
	require.True(t, ok)
	for v := api.ServeMin; v <= api.Max; v++ {
		t.Run(fmt.Sprint("v", v), func(t *testing.T) { f(t, v) })
	}
}

// What is advertised has a row, and the other way round: a key without one would end the process.
func TestEveryKeyHasARow(t *testing.T) {
	in := start(t, t.TempDir())
	rows := map[int16]serve.Row{}
	for _, row := range in.rows() {
		require.NotContains(t, rows, row.Key)
		rows[row.Key] = row
	}
	for _, api := range wire.APIs() {
		require.NotNil(t, rows[api.Key].Handle, api.Name)
	}
	require.Len(t, rows, len(wire.APIs()))
}

func TestFindCoordinator(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	versions(t, wire.KeyFindCoordinator, func(t *testing.T, version int16) {
		for kind, want := range map[int8]kafka.ErrorCode{0: kafka.ErrCoordinatorNotAvailable, 1: kafka.ErrInvalidRequest, 2: kafka.ErrInvalidRequest, -1: kafka.ErrInvalidRequest} {
			if version == 0 && kind != 0 {
				continue // v0 knows groups only
			}
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorType = version, kind
			req.CoordinatorKey, req.CoordinatorKeys = "g", []string{"g", "h", "g"}
			resp := ask[*kmsg.FindCoordinatorResponse](c, req)
			if version < 4 {
				require.Equal(t, want, kafka.ErrorCode(resp.ErrorCode))
				require.Equal(t, []any{int32(-1), "", int32(-1)}, []any{resp.NodeID, resp.Host, resp.Port})
				if version >= 1 {
					require.NotEmpty(t, *resp.ErrorMessage)
				}
				continue
			}
			require.Len(t, resp.Coordinators, 3)
			for i, got := range resp.Coordinators {
				require.Equal(t, want, kafka.ErrorCode(got.ErrorCode))
				require.Equal(t, req.CoordinatorKeys[i], got.Key)
				require.Equal(t, []any{int32(-1), "", int32(-1)}, []any{got.NodeID, got.Host, got.Port})
				if kind == 1 {
					require.Contains(t, *got.ErrorMessage, "transactions are not supported")
				}
			}
		}
	})
}

func TestListGroups(t *testing.T) {
	c := start(t, t.TempDir()).dial()
	versions(t, wire.KeyListGroups, func(t *testing.T, version int16) {
		req := kmsg.NewPtrListGroupsRequest()
		req.Version, req.StatesFilter, req.TypesFilter = version, []string{"Stable"}, []string{"classic"}
		resp := ask[*kmsg.ListGroupsResponse](c, req)
		require.Zero(t, resp.ErrorCode)
		require.Empty(t, resp.Groups)
	})
}

func TestDescribeCluster(t *testing.T) {
	in := start(t, t.TempDir(), "broker.rack=r1")
	c := in.dial()
	versions(t, wire.KeyDescribeCluster, func(t *testing.T, version int16) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version = version
		resp := ask[*kmsg.DescribeClusterResponse](c, req)
		require.Zero(t, resp.ErrorCode)
		require.Equal(t, in.ClusterID(), resp.ClusterID)
		require.EqualValues(t, 1, resp.ControllerID)
		require.Len(t, resp.Brokers, 1)
		require.Equal(t, in.Addr().String(), fmt.Sprintf("%s:%d", resp.Brokers[0].Host, resp.Brokers[0].Port))
		require.Equal(t, "r1", *resp.Brokers[0].Rack)
		require.Equal(t, kafka.NoAuthorizedOperations, resp.ClusterAuthorizedOperations)
		req.IncludeClusterAuthorizedOperations = true
		require.Positive(t, ask[*kmsg.DescribeClusterResponse](c, req).ClusterAuthorizedOperations)
	})
	for kind, want := range map[int8]kafka.ErrorCode{1: 0, 2: kafka.ErrMismatchedEndpointType, 9: kafka.ErrUnsupportedEndpointType} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.EndpointType = 1, kind
		require.Equal(t, want, kafka.ErrorCode(ask[*kmsg.DescribeClusterResponse](c, req).ErrorCode))
	}
}

// Several listeners: each client is told the address of the one it came through.
func TestListeners(t *testing.T) {
	in := start(t, t.TempDir(), "listeners=PLAINTEXT://127.0.0.1:0,INSIDE://127.0.0.1:0",
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT", "advertised.listeners=PLAINTEXT://outside.example:19092,INSIDE://inside.example:29092")
	for i, want := range []string{"outside.example:19092", "inside.example:29092"} {
		c := in.dialTo(in.listeners[i].Addr().String())
		m := ask[*kmsg.MetadataResponse](c, metadata(12)).Brokers[0]
		require.Equal(t, want, fmt.Sprintf("%s:%d", m.Host, m.Port))
		req := kmsg.NewPtrDescribeClusterRequest()
		d := ask[*kmsg.DescribeClusterResponse](c, req).Brokers[0]
		require.Equal(t, want, fmt.Sprintf("%s:%d", d.Host, d.Port))
	}
}

func TestCreatePartitions(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	more := func(version int16, topic string, count int32) *kmsg.CreatePartitionsRequest {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version = version
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = topic, count
		req.Topics = append(req.Topics, rt)
		return req
	}
	code := func(req *kmsg.CreatePartitionsRequest) kafka.ErrorCode {
		got := ask[*kmsg.CreatePartitionsResponse](c, req).Topics[0]
		require.Equal(t, got.ErrorCode == 0, got.ErrorMessage == nil)
		return kafka.ErrorCode(got.ErrorCode)
	}
	versions(t, wire.KeyCreatePartitions, func(t *testing.T, version int16) {
		name := fmt.Sprint("t", version)
		c.create(name, 1)
		validate := more(version, name, 3)
		validate.ValidateOnly = true
		require.Zero(t, code(validate))
		require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, c.fetch(name, 2, 0).ErrorCode)
		require.Zero(t, code(more(version, name, 3)))
		require.Zero(t, c.produce(-1, name, 2, batch("x")).ErrorCode, "open before the answer leaves")
		require.Equal(t, kafka.ErrInvalidPartitions, code(more(version, name, 3)))
		require.Equal(t, kafka.ErrInvalidPartitions, code(more(version, name, -1)))
		require.Equal(t, kafka.ErrUnknownTopicOrPartition, code(more(version, "nobody", 3)))
		assigned := more(version, name, 4)
		at := kmsg.NewCreatePartitionsRequestTopicAssignment()
		at.Replicas = []int32{7}
		assigned.Topics[0].Assignment = append(assigned.Topics[0].Assignment, at)
		require.Equal(t, kafka.ErrInvalidReplicaAssignment, code(assigned))
		assigned.Topics[0].Assignment[0].Replicas = []int32{1}
		require.Zero(t, code(assigned))
		twice := more(version, name, 9)
		twice.Topics = append(twice.Topics, twice.Topics[0])
		require.Equal(t, kafka.ErrInvalidRequest, code(twice))
	})
	in.end()
	in = start(t, dir)
	require.Equal(t, []string{"0=x"}, in.dial().readAll("t0", 2), "they are there after a restart")
}

func TestDescribeTopicPartitions(t *testing.T) {
	in := start(t, t.TempDir(), "max.request.partition.size.limit=3")
	c := in.dial()
	id := c.create("b", 2)
	c.create("a", 2)
	c.create("c", 1)
	page := func(limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, names ...string) (got string, next *kmsg.DescribeTopicPartitionsResponseNextCursor) {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit, req.Cursor = limit, cursor
		for _, name := range names {
			rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
			rt.Topic = name
			req.Topics = append(req.Topics, rt)
		}
		resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, req)
		for _, topic := range resp.Topics {
			got += fmt.Sprint(*topic.Topic, ":", topic.ErrorCode)
			for _, p := range topic.Partitions {
				require.Equal(t, []any{int32(1), []int32{1}, []int32{1}}, []any{p.LeaderID, p.Replicas, p.ISR})
				require.NotNil(t, p.EligibleLeaderReplicas, "null breaks Kafka's Java client")
				require.NotNil(t, p.LastKnownELR)
				got += fmt.Sprint(" ", p.Partition)
			}
			got += "; "
			if *topic.Topic == "b" && topic.ErrorCode == 0 {
				require.EqualValues(t, id, topic.TopicID)
			}
		}
		return got, resp.NextCursor
	}
	at := func(topic string, p int32) *kmsg.DescribeTopicPartitionsRequestCursor {
		cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
		cursor.Topic, cursor.Partition = topic, p
		return &cursor
	}
	for _, tc := range []struct {
		name   string
		limit  int32
		cursor *kmsg.DescribeTopicPartitionsRequestCursor
		topics []string
		want   string
		next   string
	}{
		{"all, the broker's limit", 2000, nil, nil, "a:0 0 1; b:0 0; ", "b 1"},
		{"the rest", 2000, at("b", 1), nil, "b:0 1; c:0 0; ", ""},
		{"one partition", 1, nil, nil, "a:0 0; ", "a 1"},
		{"no limit is one", 0, at("a", 1), nil, "a:0 1; ", "b 0"},
		{"negative limit", -5, nil, []string{"c"}, "c:0 0; ", ""},
		{"sorted, each once", 3, nil, []string{"c", "a", "c", "a"}, "a:0 0 1; c:0 0; ", ""},
		{"unknown and bad names", 3, nil, []string{"c", "nobody", "x/y"}, "c:0 0; nobody:3; x/y:17; ", ""},
		{"a cursor beyond", 3, at("a", 9), []string{"a", "c"}, "a:0; c:0 0; ", ""},
		{"a cursor of a topic that is gone", 3, at("aa", 1), nil, "b:0 0 1; c:0 0; ", ""},
		{"a cursor outside the list", 3, at("b", 0), []string{"a", "c"}, "a:42; c:42; ", ""},
		{"a negative cursor", 3, at("a", -1), []string{"a"}, "a:42; ", ""},
		{"the last cursor", 3, at("a", 1<<31-1), []string{"a"}, "a:0; ", ""},
	} {
		got, next := page(tc.limit, tc.cursor, tc.topics...)
		require.Equal(t, tc.want, got, tc.name)
		if tc.next == "" {
			require.Nil(t, next, tc.name)
		} else {
			require.Equal(t, tc.next, fmt.Sprint(next.Topic, " ", next.Partition), tc.name)
		}
	}
}

func deleteRecords(version int16, topic string, p int32, offset int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version = version
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Partition, rp.Offset = p, offset
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

func TestDeleteRecords(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("compacted", 1, "cleanup.policy", "compact")
	c.create("both", 1, "cleanup.policy", "compact,delete")
	c.create("neither", 1, "cleanup.policy", "")
	c.create("slow", 1, "flush.ms", "3600000")
	versions(t, wire.KeyDeleteRecords, func(t *testing.T, version int16) {
		name := fmt.Sprint("t", version)
		c.create(name, 1)
		for i := range 5 {
			c.produce(-1, name, 0, batch(fmt.Sprint(i)))
		}
		del := func(topic string, p int32, offset int64) string {
			got := ask[*kmsg.DeleteRecordsResponse](c, deleteRecords(version, topic, p, offset)).Topics[0].Partitions[0]
			return fmt.Sprint(kafka.ErrorCode(got.ErrorCode).String(), " ", got.LowWatermark)
		}
		require.Equal(t, "NONE 2", del(name, 0, 2))
		require.EqualValues(t, 2, c.listOffset(name, 0, kafka.EarliestTimestamp).Offset)
		require.EqualValues(t, kafka.ErrOffsetOutOfRange, c.fetch(name, 0, 1).ErrorCode)
		require.Equal(t, []string{"2=2"}, values(t, c.fetch(name, 0, 2).RecordBatches)[:1])
		require.Equal(t, "NONE 2", del(name, 0, 1), "never back")
		require.Equal(t, "OFFSET_OUT_OF_RANGE -1", del(name, 0, 6))
		require.Equal(t, "OFFSET_OUT_OF_RANGE -1", del(name, 0, -2))
		require.Equal(t, "NONE 5", del(name, 0, -1), "up to the HW")
		require.EqualValues(t, 5, c.produce(-1, name, 0, batch("next")).BaseOffset)
		require.Equal(t, "UNKNOWN_TOPIC_OR_PARTITION -1", del("nobody", 0, 0))
		require.Equal(t, "UNKNOWN_TOPIC_OR_PARTITION -1", del(name, 7, 0))
		require.Equal(t, "POLICY_VIOLATION -1", del("compacted", 0, 0))
		require.Equal(t, "NONE 0", del("both", 0, 0))
		require.Equal(t, "NONE 0", del("neither", 0, 0))
	})
	req := produceRequest(9, 1, "slow", 0, batch("x"))
	req.TimeoutMillis = 1
	ask[*kmsg.ProduceResponse](c, req)
	got := ask[*kmsg.DeleteRecordsResponse](c, deleteRecords(2, "slow", 0, 1)).Topics[0].Partitions[0]
	require.EqualValues(t, kafka.ErrOffsetOutOfRange, got.ErrorCode, "what is not committed cannot be deleted")
	in.end()
	in = start(t, dir)
	require.EqualValues(t, 5, in.dial().listOffset("t0", 0, kafka.EarliestTimestamp).Offset, "kept over a clean stop")
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	c.create("t", 1)
	c.produce(-1, "t", 0, batch("a", "b"))
	first := in.table.TopicNamed("t").Partition(0).Epoch()
	in.end()
	in = start(t, dir)
	c = in.dial()
	c.produce(-1, "t", 0, batch("c"))
	second := in.table.TopicNamed("t").Partition(0).Epoch()
	versions(t, wire.KeyOffsetForLeaderEpoch, func(t *testing.T, version int16) {
		end := func(topic string, p, current, epoch int32) string {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.Version, req.ReplicaID = version, -1
			rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = p, current, epoch
			rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
			rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
			req.Topics = append(req.Topics, rt)
			got := ask[*kmsg.OffsetForLeaderEpochResponse](c, req).Topics[0].Partitions[0]
			return fmt.Sprint(kafka.ErrorCode(got.ErrorCode).String(), " ", got.LeaderEpoch-first, " ", got.EndOffset)
		}
		none := fmt.Sprint(-1-first, " -1")
		require.Equal(t, "NONE 0 2", end("t", 0, -1, first))
		require.Equal(t, fmt.Sprintf("NONE %d 3", second-first), end("t", 0, second, second))
		require.Equal(t, "NONE "+none, end("t", 0, -1, second+1))
		require.Equal(t, "NONE "+none, end("t", 0, -1, -1))
		require.Equal(t, "FENCED_LEADER_EPOCH "+none, end("t", 0, second-1, first))
		require.Equal(t, "UNKNOWN_LEADER_EPOCH "+none, end("t", 0, second+1, first))
		require.Equal(t, "UNKNOWN_TOPIC_OR_PARTITION "+none, end("t", 5, -1, first))
		require.Equal(t, "UNKNOWN_TOPIC_OR_PARTITION "+none, end("u", 0, -1, first))
	})
}

func TestDescribeProducers(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	c.create("t", 1)
	with := func(pid int64, epoch int16, seq int32, values ...string) []byte {
		return batchOf(func(b *record.Builder) { b.SetProducer(pid, epoch, seq) }, values...)
	}
	require.Zero(t, c.produce(-1, "t", 0, with(9, 2, 0, "a", "b")).ErrorCode)
	require.Zero(t, c.produce(-1, "t", 0, with(9, 2, 2, "c")).ErrorCode)
	require.Zero(t, c.produce(-1, "t", 0, with(5, 0, 0, "d")).ErrorCode)
	describe := func(topic string, partitions ...int32) []kmsg.DescribeProducersResponseTopicPartition {
		req := kmsg.NewPtrDescribeProducersRequest()
		rt := kmsg.NewDescribeProducersRequestTopic()
		rt.Topic, rt.Partitions = topic, partitions
		req.Topics = append(req.Topics, rt)
		return ask[*kmsg.DescribeProducersResponse](c, req).Topics[0].Partitions
	}
	got := describe("t", 0, 1, 0)
	require.Equal(t, []int16{0, 3, 42}, []int16{got[0].ErrorCode, got[1].ErrorCode, got[2].ErrorCode})
	require.Len(t, got[0].ActiveProducers, 2)
	for i, want := range [][]int64{{5, 0, 0}, {9, 2, 2}} {
		p := got[0].ActiveProducers[i]
		require.Equal(t, want, []int64{p.ProducerID, int64(p.ProducerEpoch), int64(p.LastSequence)})
		require.Positive(t, p.LastTimestamp)
		require.Equal(t, []int64{-1, -1}, []int64{int64(p.CoordinatorEpoch), p.CurrentTxnStartOffset})
	}
	require.EqualValues(t, kafka.ErrInvalidTopic, describe("a/b", 0)[0].ErrorCode)
	require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, describe("u", 0)[0].ErrorCode)
}

func TestDescribeLogDirs(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	in := start(t, one, "log.dirs="+one+","+two)
	c := in.dial()
	c.create("t", 4)
	c.create("u", 1)
	payload := batch(strings.Repeat("x", 1000))
	require.Zero(t, c.produce(-1, "u", 0, payload).ErrorCode)
	versions(t, wire.KeyDescribeLogDirs, func(t *testing.T, version int16) {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Version = version
		all := map[string]int64{}
		resp := ask[*kmsg.DescribeLogDirsResponse](c, req)
		require.Zero(t, resp.ErrorCode)
		for i, dir := range resp.Dirs {
			require.Zero(t, dir.ErrorCode)
			require.Equal(t, []string{one, two}[i], dir.Dir)
			require.True(t, filepath.IsAbs(dir.Dir))
			if version >= 4 {
				require.GreaterOrEqual(t, dir.TotalBytes, dir.UsableBytes)
			}
			for _, topic := range dir.Topics {
				for _, p := range topic.Partitions {
					all[fmt.Sprint(topic.Topic, "-", p.Partition)] = p.Size
				}
			}
		}
		require.Equal(t, map[string]int64{"t-0": 0, "t-1": 0, "t-2": 0, "t-3": 0, "u-0": int64(len(payload))}, all, "the metadata log is no topic")
		rt := kmsg.NewDescribeLogDirsRequestTopic()
		rt.Topic, rt.Partitions = "t", []int32{2, 2, 9}
		req.Topics = append(req.Topics, rt, rt)
		n := 0
		for _, dir := range ask[*kmsg.DescribeLogDirsResponse](c, req).Dirs {
			for _, topic := range dir.Topics {
				n += len(topic.Partitions)
			}
		}
		require.Equal(t, 1, n, "what is asked for and there, once")
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
		for _, dir := range ask[*kmsg.DescribeLogDirsResponse](c, req).Dirs {
			require.Empty(t, dir.Topics, "an empty list is none")
		}
	})
}
