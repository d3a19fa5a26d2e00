package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// API keys that this broker knows. The numbers are Kafka's.
const (
	KeyProduce                 int16 = 0
	KeyFetch                   int16 = 1
	KeyListOffsets             int16 = 2
	KeyMetadata                int16 = 3
	KeyFindCoordinator         int16 = 10
	KeyListGroups              int16 = 16
	KeyAPIVersions             int16 = 18
	KeyCreateTopics            int16 = 19
	KeyDeleteTopics            int16 = 20
	KeyDeleteRecords           int16 = 21
	KeyInitProducerID          int16 = 22
	KeyOffsetForLeaderEpoch    int16 = 23
	KeyDescribeConfigs         int16 = 32
	KeyAlterConfigs            int16 = 33
	KeyDescribeLogDirs         int16 = 35
	KeyCreatePartitions        int16 = 37
	KeyIncrementalAlterConfigs int16 = 44
	KeyDescribeCluster         int16 = 60
	KeyDescribeProducers       int16 = 61
	KeyDescribeTopicPartitions int16 = 75

	// KeyMax bounds the keys: tables may be indexed by them.
	KeyMax = KeyDescribeTopicPartitions
)

// API is one row of the version table.
type API struct {
	Key  int16
	Name string

	// Min and Max are what ApiVersions answers.
	Min, Max int16

	// ServeMin is the lowest version that is really served. It differs from Min
	// for Produce only: librdkafka before 2.15 sends records uncompressed to a
	// broker whose minimum is 3 (KAFKA-18659), so 0 is advertised; a request below
	// ServeMin closes the connection, as in Kafka.
	ServeMin int16

	// Flexible is the first version with compact fields and tag buffers (KIP-482).
	Flexible int16

	// FrameMax bounds the size of a request frame in bytes; 0 means that only
	// socket.request.max.bytes does. Requests without records stay small, and what
	// they decode to is much larger than they are.
	FrameMax int

	// request makes an empty request. Naming the types here, rather than asking kmsg by key, keeps the other
	// ninety out of the program, which matters in the simulator.
	request func() kmsg.Request
}

const (
	// controlFrameMax bounds frames of every API but Produce: 4 MiB hold a Fetch of
	// 80,000 partitions.
	controlFrameMax = 4 << 20

	// adminFrameMax bounds frames of the APIs that nobody calls in a loop: 1 MiB
	// names 10,000 topics of a hundred characters.
	adminFrameMax = 1 << 20

	// smallFrameMax bounds frames that have no reason to be long.
	smallFrameMax = 64 << 10
)

var apis = []API{
	{Key: KeyProduce, Name: "Produce", Min: 0, Max: 11, ServeMin: 3, Flexible: 9, request: func() kmsg.Request { return kmsg.NewPtrProduceRequest() }},
	{Key: KeyFetch, Name: "Fetch", Min: 4, Max: 17, ServeMin: 4, Flexible: 12, FrameMax: controlFrameMax, request: func() kmsg.Request { return kmsg.NewPtrFetchRequest() }},
	{Key: KeyListOffsets, Name: "ListOffsets", Min: 1, Max: 9, ServeMin: 1, Flexible: 6, FrameMax: controlFrameMax, request: func() kmsg.Request { return kmsg.NewPtrListOffsetsRequest() }},
	{Key: KeyMetadata, Name: "Metadata", Min: 0, Max: 12, ServeMin: 0, Flexible: 9, FrameMax: controlFrameMax, request: func() kmsg.Request { return kmsg.NewPtrMetadataRequest() }},
	{Key: KeyFindCoordinator, Name: "FindCoordinator", Min: 0, Max: 5, ServeMin: 0, Flexible: 3, FrameMax: smallFrameMax, request: func() kmsg.Request { return kmsg.NewPtrFindCoordinatorRequest() }},
	{Key: KeyListGroups, Name: "ListGroups", Min: 0, Max: 5, ServeMin: 0, Flexible: 3, FrameMax: smallFrameMax, request: func() kmsg.Request { return kmsg.NewPtrListGroupsRequest() }},
	{Key: KeyAPIVersions, Name: "ApiVersions", Min: 0, Max: 4, ServeMin: 0, Flexible: 3, FrameMax: controlFrameMax, request: func() kmsg.Request { return kmsg.NewPtrApiVersionsRequest() }},
	{Key: KeyCreateTopics, Name: "CreateTopics", Min: 2, Max: 7, ServeMin: 2, Flexible: 5, FrameMax: controlFrameMax, request: func() kmsg.Request { return kmsg.NewPtrCreateTopicsRequest() }},
	{Key: KeyDeleteTopics, Name: "DeleteTopics", Min: 1, Max: 6, ServeMin: 1, Flexible: 4, FrameMax: controlFrameMax, request: func() kmsg.Request { return kmsg.NewPtrDeleteTopicsRequest() }},
	{Key: KeyDeleteRecords, Name: "DeleteRecords", Min: 0, Max: 2, ServeMin: 0, Flexible: 2, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrDeleteRecordsRequest() }},
	{Key: KeyInitProducerID, Name: "InitProducerId", Min: 0, Max: 4, ServeMin: 0, Flexible: 2, FrameMax: controlFrameMax, request: func() kmsg.Request { return kmsg.NewPtrInitProducerIDRequest() }},
	{Key: KeyOffsetForLeaderEpoch, Name: "OffsetForLeaderEpoch", Min: 2, Max: 4, ServeMin: 2, Flexible: 4, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrOffsetForLeaderEpochRequest() }},
	{Key: KeyDescribeConfigs, Name: "DescribeConfigs", Min: 1, Max: 4, ServeMin: 1, Flexible: 4, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrDescribeConfigsRequest() }},
	{Key: KeyAlterConfigs, Name: "AlterConfigs", Min: 0, Max: 2, ServeMin: 0, Flexible: 2, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrAlterConfigsRequest() }},
	{Key: KeyDescribeLogDirs, Name: "DescribeLogDirs", Min: 1, Max: 4, ServeMin: 1, Flexible: 2, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrDescribeLogDirsRequest() }},
	{Key: KeyCreatePartitions, Name: "CreatePartitions", Min: 0, Max: 3, ServeMin: 0, Flexible: 2, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrCreatePartitionsRequest() }},
	{Key: KeyIncrementalAlterConfigs, Name: "IncrementalAlterConfigs", Min: 0, Max: 1, ServeMin: 0, Flexible: 1, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrIncrementalAlterConfigsRequest() }},
	{Key: KeyDescribeCluster, Name: "DescribeCluster", Min: 0, Max: 1, ServeMin: 0, Flexible: 0, FrameMax: smallFrameMax, request: func() kmsg.Request { return kmsg.NewPtrDescribeClusterRequest() }},
	{Key: KeyDescribeProducers, Name: "DescribeProducers", Min: 0, Max: 0, ServeMin: 0, Flexible: 0, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrDescribeProducersRequest() }},
	{Key: KeyDescribeTopicPartitions, Name: "DescribeTopicPartitions", Min: 0, Max: 0, ServeMin: 0, Flexible: 0, FrameMax: adminFrameMax, request: func() kmsg.Request { return kmsg.NewPtrDescribeTopicPartitionsRequest() }},
}

// APIs is the table, ordered by key. The caller owns the copy.
func APIs() []API { return slices.Clone(apis) }

// Lookup finds the row of a key.
func Lookup(key int16) (API, bool) {
	for i := range apis {
		if apis[i].Key == key {
			return apis[i], true
		}
	}
	return API{}, false
}

// Serves reports whether a request of that version is handled.
func (a API) Serves(version int16) bool { return version >= a.ServeMin && version <= a.Max }

// IsFlexible reports whether that version has tag buffers.
func (a API) IsFlexible(version int16) bool { return version >= a.Flexible }

// APIName is Kafka's name of a key, for logs.
func APIName(key int16) string {
	if a, ok := Lookup(key); ok {
		return a.Name
	}
	return "unknown"
}
