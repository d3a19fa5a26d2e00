package config

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// load makes a Broker from the text of a file.
func load(t *testing.T, text string, overrides ...string) (*Broker, error) {
	t.Helper()
	p, err := ParseProperties("server.properties", text)
	require.NoError(t, err)
	return LoadBroker(p, overrides)
}

// kafkaFile is the server.properties of a Kafka 4 distribution without its comments.
const kafkaFile = `
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.flush.interval.messages=10000
log.flush.interval.ms=1000
log.retention.hours=168
log.retention.bytes=1073741824
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
`

func TestKafkaFileLoads(t *testing.T) {
	b, err := load(t, kafkaFile, "log.dirs=d1,d2", "num.partitions = 7")
	require.NoError(t, err)
	assert.Empty(t, b.Warnings)
	assert.Equal(t, int32(1), b.NodeID)
	assert.Equal(t, []string{"d1", "d2"}, b.LogDirs)
	assert.Equal(t, []Listener{{Name: "PLAINTEXT", Port: 9092}}, b.Listeners)
	assert.Equal(t, []Listener{{Name: "CONTROLLER", Port: 9093}}, b.ControllerListeners)
	assert.Equal(t, []Listener{{Name: "PLAINTEXT", Host: "localhost", Port: 9092}}, b.AdvertisedListeners)
	assert.Equal(t, int32(7), b.NumPartitions)
	topic := b.Topic(nil)
	assert.Equal(t, int64(10000), topic.FlushMessages)
	assert.Equal(t, int64(1000), topic.FlushMs)
	assert.Equal(t, int64(1<<30), topic.RetentionBytes)
}

func TestDefaults(t *testing.T) {
	b, err := LoadBroker(nil, []string{"node.id=3"})
	require.NoError(t, err)
	assert.Equal(t, &Broker{
		NodeID: 3, LogDirs: []string{"/tmp/kafka-logs"},
		Listeners:           []Listener{{Name: "PLAINTEXT", Port: 9092}},
		AdvertisedListeners: []Listener{{Name: "PLAINTEXT", Port: 9092}},
		NumPartitions:       1, DefaultReplicationFactor: 1, AutoCreateTopics: true, DeleteTopics: true, ControlledShutdown: true, Sendfile: true,
		SocketRequestMaxBytes: 100 << 20, SocketSendBufferBytes: 100 << 10, SocketReceiveBufferBytes: 100 << 10,
		QueuedMaxRequests: 500, MaxConnections: math.MaxInt32, MaxConnectionsPerIP: math.MaxInt32,
		ConnectionsMaxIdleMs: 600_000, FetchMaxBytes: 55 << 20, FetchSessionSlots: 1000,
		FlushSchedulerIntervalMs: math.MaxInt64, RecoveryThreads: 2, FlushOffsetCheckpointIntervalMs: 60_000,
		FlushStartOffsetCheckpointIntervalMs: 60_000, RetentionCheckIntervalMs: 300_000,
		ProducerIDExpirationMs: 86_400_000, ProducerIDExpirationCheckIntervalMs: 600_000,
		Cleaner: Cleaner{
			Enable: true, Threads: 1, BackoffMs: 15000, DedupeBufferSize: 128 << 20, IOBufferSize: 512 << 10, LoadFactor: 0.9,
			MaxBytesPerSec: math.MaxFloat64,
		},
		QueuedMaxRequestBytes: -1, MaxConnectionCreationRate: math.MaxInt32, DescribePartitionsMax: 2000,
		set: []Pair{{"node.id", "3"}}, layers: []layer{{SourceStaticBroker, []Pair{{"node.id", "3"}}}},
	}, b)
	assert.Equal(t, Topic{
		SegmentBytes: 1 << 30, SegmentMs: 7 * 86_400_000, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64, RetentionMs: 7 * 86_400_000, RetentionBytes: -1,
		FileDeleteDelayMs: 60_000, CleanupDelete: true, DeleteRetentionMs: 86_400_000, MinCleanableDirtyRatio: 0.5,
		MaxCompactionLagMs: math.MaxInt64, MaxMessageBytes: 1048588, TimestampBeforeMaxMs: math.MaxInt64,
		TimestampAfterMaxMs: 3_600_000, CompressionType: "producer", UncompressedMaxBytes: 100 << 20, UncompressedRecordMax: 2147483639,
		MinInsyncReplicas: 1,
	}, b.Topic(nil))
}

func TestBadBroker(t *testing.T) {
	const at = "config: server.properties:1: "
	for _, c := range []struct{ text, want string }{
		{"log.segment.bytes=1024", at + "log.segment.bytes=1024: must be an integer of 32 bits, at least 1048576"},
		{"log.segment.bytes=3000000000", at + "log.segment.bytes=3000000000: must be an integer of 32 bits, at least 1048576"},
		{"num.partitions=x", at + "num.partitions=x: must be an integer of 32 bits, at least 1"},
		{"node.id=-1", at + "node.id=-1: must be an integer of 32 bits, at least 0"},
		{"delete.topic.enable=yes", at + "delete.topic.enable=yes: must be true or false"},
		{"log.cleanup.policy=delete,delete", at + "log.cleanup.policy=delete,delete: must be a list separated by commas, any of delete, compact, each once"},
		{"log.message.timestamp.type=Log", at + "log.message.timestamp.type=Log: must be a string, one of CreateTime, LogAppendTime"},
		{"log.retention.ms=0", at + "log.retention.ms=0: must be an integer of 64 bits, -1 (no limit) or at least 1"},
		{"log.cleaner.min.cleanable.ratio=1.5", "must be a number, 0 to 1"},
		{"log.cleaner.min.cleanable.ratio=NaN", "must be a number, 0 to 1"},
		{"internal.segment.bytes=13", "at least 14"},
		{"log.dirs=a,a", "not empty, each entry once"},
		{"trialog.cluster.id=abc", "trialog.cluster.id=abc: must be a string, 22 characters of [A-Za-z0-9_-]"},
		{"trialog.cluster.id=AAAAAAAAAAAAAAAAAAAA+/", "trialog.cluster.id=AAAAAAAAAAAAAAAAAAAA+/: must be a string, 22 characters"},
		{"trialog.rules.off=fsync", "trialog.rules.off=fsync: must be a list separated by commas, of the form room.rule"},
		{"trialog.rule.off=a.b", at + "no setting is named trialog.rule.off"},
		{"default.replication.factor=32768", "1 to 32767"},
		{"num.io.threads=0", "num.io.threads=0: must be an integer of 32 bits, at least 1"},
		{"", "config: node.id is required: an integer of 32 bits, at least 0"},
		{"node.id=1\nlisteners=PLAINTEXT//:1", `config: listeners: "PLAINTEXT//:1" is not of the form NAME://host:port`},
		{"node.id=1\nlisteners=PLAINTEXT://h:65536", `port "65536" is not 0 to 65535`},
		{"node.id=1\nlisteners=PLAINTEXT://a:b:1", `host "a:b" is not a name`},
		{"node.id=1\nlisteners=PLAINTEXT://:1,PLAINTEXT://:2", "two listeners are named PLAINTEXT"},
		{"node.id=1\nlisteners=SSL://:1", "SSL://:1 has protocol SSL: only PLAINTEXT is served"},
		{"node.id=1\nlisteners=MINE://:1", "listener.security.protocol.map has no MINE"},
		{"node.id=1\nlisteners=A://:1,B://:1\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT", "A://:1 and B://:1 are one address"},
		{"node.id=1\nlistener.security.protocol.map=A", `"A" is not of the form NAME:PROTOCOL`},
		{"node.id=1\nlistener.security.protocol.map=A:SSL,a:SSL", "A is given twice"},
		{"node.id=1\ncontroller.listener.names=plaintext", "clients have none"},
		{"node.id=1\nadvertised.listeners=PLAINTEXT://0.0.0.0:1", "PLAINTEXT://0.0.0.0:1 is not an address that clients can dial"},
		{"node.id=1\nadvertised.listeners=PLAINTEXT://[::]:1", "PLAINTEXT://[::]:1 is not an address"},
		{"node.id=1\nadvertised.listeners=SSL://h:1", "only PLAINTEXT"},
		{"node.id=1\nlistener.security.protocol.map=A:PLAINTEXT,PLAINTEXT:PLAINTEXT\nadvertised.listeners=A://h:1", "listeners has no A"},
	} {
		_, err := load(t, c.text)
		assert.ErrorContains(t, err, c.want, c.text)
	}
	_, err := load(t, "num.partitions=0\nok=1\nlog.roll.hours=0", "max.connections=-1")
	assert.EqualError(t, err, strings.Join([]string{
		"config: server.properties:1: num.partitions=0: must be an integer of 32 bits, at least 1",
		"config: server.properties:3: log.roll.hours=0: must be an integer of 32 bits, at least 1",
		"config: --override: max.connections=-1: must be an integer of 32 bits, at least 0",
	}, "\n"))
	_, err = load(t, "", "novalue")
	assert.EqualError(t, err, `config: --override "novalue" is not of the form key=value`)
}

func TestOurSettings(t *testing.T) {
	b, err := load(t, "node.id=1\ntrialog.cluster.id=MkU3OEVBNTcwNTJENDM2Qg\nbroker.rack=r", "trialog.rules.off=b.y, a.x,b.y")
	require.NoError(t, err)
	assert.Equal(t, "MkU3OEVBNTcwNTJENDM2Qg", b.ClusterID)
	assert.Equal(t, "r", b.Rack)
	assert.Equal(t, []string{"a.x", "b.y"}, b.RulesOff)
	assert.Panics(t, func() { (&reader{}).int("no.such.key") })
}

func TestListenerString(t *testing.T) {
	for _, text := range []string{"A://:1", "A://host:0", "A://[::1]:9092", "A://10.0.0.1:65535"} {
		l, err := parseListener(text)
		require.NoError(t, err)
		assert.Equal(t, text, l.String())
	}
}

func TestWarnings(t *testing.T) {
	b, err := load(t, "broker.id=4\nzookeeper.connect=z\nsegment.bytes=1\nnum.partitions=2\nnum.partitions=3\n", "what=1", "num.partitions=9")
	require.NoError(t, err)
	assert.Equal(t, []string{
		"server.properties:2: unknown setting zookeeper.connect is ignored",
		"server.properties:3: segment.bytes is a setting of topics and is ignored; see log.segment.bytes",
		"server.properties:5: num.partitions replaces that of server.properties:4",
		"--override: unknown setting what is ignored",
	}, b.Warnings)
	assert.Equal(t, int32(4), b.NodeID)
	assert.Equal(t, int32(9), b.NumPartitions)
}

// What is meant for a process of a larger cluster does not begin one of its own.
func TestLargerClustersAreRefused(t *testing.T) {
	for props, want := range map[string]string{
		"process.roles=controller":                                "process.roles=controller: there are no controllers without a broker",
		"controller.quorum.voters=1@a:9093,2@b:9093":              "controller.quorum.voters: 2@b:9093 is not node.id=1",
		"controller.quorum.voters=11@a:9093":                      "11@a:9093 is not node.id=1",
		"controller.quorum.bootstrap.servers=a:9093,b:9093":       "controller.quorum.bootstrap.servers: there are 2",
		"process.roles=broker":                                    "",
		"process.roles=broker,controller":                         "",
		"process.roles=":                                          "",
		"controller.quorum.voters=1@a:9093":                       "",
		"controller.quorum.bootstrap.servers=controller.lan:9093": "",
	} {
		_, err := load(t, "node.id=1\n"+props+"\n")
		if want == "" {
			require.NoError(t, err, props)
			continue
		}
		require.ErrorContains(t, err, want, props)
	}
}

func TestTopicInherits(t *testing.T) {
	for _, c := range []struct {
		broker string
		own    []Pair
		want   func(Topic) any
		is     any
	}{
		{"log.retention.hours=1", nil, func(t Topic) any { return t.RetentionMs }, int64(3_600_000)},
		{"log.retention.hours=1\nlog.retention.minutes=2", nil, func(t Topic) any { return t.RetentionMs }, int64(120_000)},
		{"log.retention.hours=1\nlog.retention.minutes=2\nlog.retention.ms=3", nil, func(t Topic) any { return t.RetentionMs }, int64(3)},
		{"log.retention.hours=-1", nil, func(t Topic) any { return t.RetentionMs }, int64(-1)},
		{"log.retention.ms=3", []Pair{{"retention.ms", " 0 "}}, func(t Topic) any { return t.RetentionMs }, int64(0)},
		{"log.retention.ms=3", []Pair{{"retention.ms", "bad"}}, func(t Topic) any { return t.RetentionMs }, int64(3)},
		{"log.roll.hours=2147483647", nil, func(t Topic) any { return t.SegmentMs }, int64(2147483647 * 3_600_000)},
		{"log.flush.scheduler.interval.ms=9", nil, func(t Topic) any { return t.FlushMs }, int64(9)},
		{"log.flush.scheduler.interval.ms=9\nlog.flush.interval.ms=5", nil, func(t Topic) any { return t.FlushMs }, int64(5)},
		{"internal.segment.bytes=16384", nil, func(t Topic) any { return t.SegmentBytes }, int32(16384)},
		{"internal.segment.bytes=16384", []Pair{{"internal.segment.bytes", "14"}, {"segment.bytes", "1048576"}}, func(t Topic) any { return t.SegmentBytes }, int32(14)},
		{"log.segment.bytes=2000000", []Pair{{"segment.bytes", "1048576"}}, func(t Topic) any { return t.SegmentBytes }, int32(1 << 20)},
		{"message.max.bytes=5", nil, func(t Topic) any { return t.MaxMessageBytes }, int32(5)},
		{"min.insync.replicas=2", nil, func(t Topic) any { return t.MinInsyncReplicas }, int32(2)},
		{"min.insync.replicas=2", []Pair{{"min.insync.replicas", "3"}}, func(t Topic) any { return t.MinInsyncReplicas }, int32(3)},
		{"log.cleanup.policy=compact,delete", nil, func(t Topic) any { return []bool{t.CleanupCompact, t.CleanupDelete} }, []bool{true, true}},
		{"", []Pair{{"cleanup.policy", ""}}, func(t Topic) any { return []bool{t.CleanupCompact, t.CleanupDelete} }, []bool{false, false}},
		{"", []Pair{{"cleanup.policy", "compact"}}, func(t Topic) any { return []bool{t.CleanupCompact, t.CleanupDelete} }, []bool{true, false}},
		{"log.cleaner.max.compaction.lag.ms=7", []Pair{{"cleanup.policy", "compact"}}, func(t Topic) any { return t.SegmentMs }, int64(7)},
		{"log.cleaner.max.compaction.lag.ms=7", nil, func(t Topic) any { return t.SegmentMs }, int64(7 * 24 * 3_600_000)},
		{"log.message.timestamp.type=LogAppendTime", nil, func(t Topic) any { return t.LogAppendTime }, true},
		{"", nil, func(t Topic) any { return []any{t.CompressionType, t.CompressionLevel, t.UncompressedMaxBytes} }, []any{"producer", int32(0), int64(100 << 20)}},
		{"compression.type=lz4\ntrialog.uncompressed.batch.max.bytes=7", nil, func(t Topic) any { return []any{t.CompressionType, t.CompressionLevel, t.UncompressedMaxBytes} }, []any{"lz4", int32(9), int64(7)}},
		{"compression.type=lz4\ncompression.zstd.level=-5", []Pair{{"compression.type", "zstd"}}, func(t Topic) any { return []any{t.CompressionType, t.CompressionLevel} }, []any{"zstd", int32(-5)}},
		{"", []Pair{{"compression.gzip.level", "4"}, {"compression.type", "gzip"}}, func(t Topic) any { return []any{t.CompressionType, t.CompressionLevel} }, []any{"gzip", int32(4)}},
		{"unclean.leader.election.enable=TRUE", nil, func(t Topic) any { return t.UncleanLeaderElection }, true},
	} {
		b, err := load(t, c.broker, "node.id=1")
		require.NoError(t, err, c.broker)
		assert.Equal(t, c.is, c.want(b.Topic(c.own)), "%s %v", c.broker, c.own)
	}
}

func TestValidateTopic(t *testing.T) {
	assert.NoError(t, ValidateTopic(nil))
	assert.NoError(t, ValidateTopic([]Pair{{"retention.ms", "-1"}, {"cleanup.policy", "compact, delete"}, {"flush.messages", "1"}}))
	for _, c := range []struct {
		own  []Pair
		want string
	}{
		{[]Pair{{"nope", "1"}}, "config: no topic setting is named nope"},
		{[]Pair{{"log.segment.bytes", "1"}}, "config: no topic setting is named log.segment.bytes"},
		{[]Pair{{"segment.bytes", "1"}}, "config: segment.bytes=1: must be an integer of 32 bits, at least 1048576"},
		{[]Pair{{"flush.ms", "1"}, {"flush.ms", "2"}}, "config: flush.ms is given twice"},
		{[]Pair{{"min.compaction.lag.ms", "5"}, {"max.compaction.lag.ms", "4"}}, "must not be above"},
		{[]Pair{{"remote.storage.enable", "true"}}, "only false"},
		{[]Pair{{"compression.gzip.level", "0"}}, "compression.gzip.level=0: must be an integer of 32 bits, 1 to 9, or -1 (the default level)"},
		{[]Pair{{"compression.lz4.level", "18"}}, "1 to 17"},
		{[]Pair{{"compression.zstd.level", "23"}}, "-131072 to 22"},
		{[]Pair{{"compression.type", "none"}}, "one of producer, uncompressed, gzip, snappy, lz4, zstd"},
	} {
		assert.ErrorContains(t, ValidateTopic(c.own), c.want)
	}
	assert.EqualError(t, ValidateTopic([]Pair{{"b", ""}, {"a", ""}}),
		"config: no topic setting is named a\nconfig: no topic setting is named b")
}

func TestDescribe(t *testing.T) {
	b, err := load(t, "node.id=1\nlog.retention.hours=2\nlog.flush.interval.ms=3")
	require.NoError(t, err)
	find := func(all []Described, name string) string {
		for _, d := range all {
			if d.Definition.Name == name {
				return fmt.Sprint(d.Value, " ", d.Source, " ", d.Synonyms)
			}
		}
		return "absent"
	}
	own := []Pair{{"retention.ms", "9"}}
	assert.Equal(t, "9 1 [{retention.ms 9 1}]", find(b.DescribeTopic(own), "retention.ms"))
	assert.Equal(t, "7200000 5 []", find(b.DescribeTopic(nil), "retention.ms"))
	assert.Equal(t, "604800000 5 []", find(b.DescribeTopic(nil), "segment.ms"))
	assert.Equal(t, "absent", find(b.DescribeTopic(nil), "internal.segment.bytes"))
	assert.Equal(t, "absent", find(b.DescribeTopic(nil), "node.id"))
	assert.Equal(t, "2 4 [{log.retention.hours 2 4} {log.retention.hours 168 5}]", find(b.DescribeBroker(), "log.retention.hours"))
	assert.Equal(t, " 5 []", find(b.DescribeBroker(), "log.retention.ms"))
	assert.Equal(t, "absent", find(b.DescribeBroker(), "retention.ms"))
}

func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, d := range Definitions() {
		assert.Equal(t, d.Name, Lookup(d.Name).Name)
		assert.False(t, names[d.Name], "%s stands twice", d.Name)
		names[d.Name] = true
		if d.Default != "" {
			_, err := d.parse(d.Default)
			assert.NoError(t, err, "default")
		}
		assert.NotEmpty(t, d.Doc, d.Name)
		assert.NotZero(t, d.Scope, d.Name)
		assert.NotContains(t, d.Type.String(), "type ", d.Name)
		for _, s := range d.Synonyms {
			syn := Lookup(s)
			require.NotNil(t, syn, "%s: synonym %s", d.Name, s)
			assert.NotZero(t, syn.Scope&ScopeBroker, "%s: synonym %s", d.Name, s)
			assert.Equal(t, d.Type == List, syn.Type == List, "%s: synonym %s", d.Name, s)
		}
		if len(d.Synonyms) > 0 && d.Default != "" { // the topic's default is that of its synonyms
			r := topicReader{}
			want, _ := d.Type.parse(d.Default)
			assert.Equal(t, want, r.value(d.Name), d.Name)
		}
	}
	assert.Nil(t, Lookup("nope"))
}

func TestParseRulesOff(t *testing.T) {
	names, err := ParseRulesOff(" seglog.fsync-directory, producers.detect-duplicates,,seglog.fsync-directory")
	require.NoError(t, err)
	assert.Equal(t, []string{"producers.detect-duplicates", "seglog.fsync-directory"}, names)
	names, err = ParseRulesOff("")
	require.NoError(t, err)
	assert.Empty(t, names)
	for _, bad := range []string{"x", ".x", "x.", "a.b.c", "A.b", "a.b c"} {
		_, err := ParseRulesOff(bad)
		assert.ErrorContains(t, err, "is not of the form room.rule", bad)
	}
	assert.Equal(t, "a.b", RuleDoc{Room: "a", Name: "b"}.FullName())
}
