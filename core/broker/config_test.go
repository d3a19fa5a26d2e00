package broker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"trialog/core/kafka"
	"trialog/core/wire"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	ofTopic  = kmsg.ConfigResourceTypeTopic
	ofBroker = kmsg.ConfigResourceTypeBroker
)

func describeConfigs(version int16, kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version, req.IncludeSynonyms, req.IncludeDocumentation = version, true, true
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, rr)
	return req
}

// setting is one setting as DescribeConfigs v4 tells it: value source read-only, then the synonyms.
func (c *client) setting(kind kmsg.ConfigResourceType, name, key string) string {
	c.t.Helper()
	r := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, kind, name, key)).Resources[0]
	require.Zero(c.t, r.ErrorCode)
	if len(r.Configs) == 0 {
		return "absent"
	}
	require.Len(c.t, r.Configs, 1)
	got := r.Configs[0]
	value := "null"
	if got.Value != nil {
		value = *got.Value
	}
	out := fmt.Sprint(value, " ", int8(got.Source), " ", got.ReadOnly)
	for _, s := range got.ConfigSynonyms {
		out += fmt.Sprint(" ", s.Name, "=", *s.Value, "(", int8(s.Source), ")")
	}
	return out
}

// alter changes settings: key=value sets, key+=value appends, key-=value subtracts, key- deletes.
func alter(kind kmsg.ConfigResourceType, name string, changes ...string) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kind, name
	for _, ch := range changes {
		key, value, set := strings.Cut(ch, "=")
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Name, rc.Value = strings.TrimRight(key, "+-"), kmsg.StringPtr(value)
		switch {
		case !set:
			rc.Op, rc.Value = kmsg.IncrementalAlterConfigOpDelete, nil
		case strings.HasSuffix(key, "+"):
			rc.Op = kmsg.IncrementalAlterConfigOpAppend
		case strings.HasSuffix(key, "-"):
			rc.Op = kmsg.IncrementalAlterConfigOpSubtract
		}
		rr.Configs = append(rr.Configs, rc)
	}
	req.Resources = append(req.Resources, rr)
	return req
}

func (c *client) alter(kind kmsg.ConfigResourceType, name string, changes ...string) (kafka.ErrorCode, string) {
	c.t.Helper()
	r := ask[*kmsg.IncrementalAlterConfigsResponse](c, alter(kind, name, changes...)).Resources[0]
	require.Equal(c.t, []any{kind, name}, []any{r.ResourceType, r.ResourceName})
	if r.ErrorMessage == nil {
		return kafka.ErrorCode(r.ErrorCode), ""
	}
	return kafka.ErrorCode(r.ErrorCode), *r.ErrorMessage
}

func (c *client) altered(kind kmsg.ConfigResourceType, name string, changes ...string) {
	c.t.Helper()
	code, message := c.alter(kind, name, changes...)
	require.Zero(c.t, code, message)
}

func TestDescribeConfigs(t *testing.T) {
	in := start(t, t.TempDir(), "log.retention.hours=2", "trialog.rules.off=broker.ack-after-append")
	c := in.dial()
	c.create("t", 1, "flush.messages", "5")
	versions(t, wire.KeyDescribeConfigs, func(t *testing.T, version int16) {
		for _, tc := range []struct {
			kind kmsg.ConfigResourceType
			name string
			want kafka.ErrorCode
		}{
			{ofTopic, "t", 0}, {ofTopic, "nobody", kafka.ErrUnknownTopicOrPartition}, {ofTopic, "a/b", kafka.ErrInvalidTopic}, {ofTopic, "", kafka.ErrInvalidTopic},
			{ofBroker, "1", 0}, {ofBroker, "", 0}, {ofBroker, "2", kafka.ErrInvalidRequest}, {ofBroker, "x", kafka.ErrInvalidRequest},
			{8, "1", 0}, {8, "", kafka.ErrInvalidRequest}, {8, "2", kafka.ErrInvalidRequest}, {16, "m", 0}, {32, "g", 0}, {32, "", kafka.ErrInvalidRequest},
			{0, "x", kafka.ErrInvalidRequest}, {99, "x", kafka.ErrInvalidRequest}, {-3, "x", kafka.ErrInvalidRequest},
		} {
			r := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(version, tc.kind, tc.name)).Resources[0]
			require.Equal(t, tc.want, kafka.ErrorCode(r.ErrorCode), "%d %q", tc.kind, tc.name)
			require.Equal(t, []any{tc.kind, tc.name}, []any{r.ResourceType, r.ResourceName})
		}
		topic := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(version, ofTopic, "t")).Resources[0].Configs
		require.Greater(t, len(topic), 20)
		for _, got := range topic {
			require.False(t, got.ReadOnly)
			require.NotNil(t, got.Value)
			if version >= 3 {
				require.NotZero(t, got.ConfigType)
				require.NotEmpty(t, *got.Documentation)
			}
		}
		broker := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(version, ofBroker, "1", "node.id", "max.connections", "nope")).Resources[0].Configs
		require.Len(t, broker, 2)
		require.Equal(t, []any{"max.connections", false, "node.id", true}, []any{broker[0].Name, broker[0].ReadOnly, broker[1].Name, broker[1].ReadOnly})
		bare := describeConfigs(version, ofTopic, "t")
		bare.IncludeSynonyms, bare.IncludeDocumentation = false, false
		for _, got := range ask[*kmsg.DescribeConfigsResponse](c, bare).Resources[0].Configs {
			require.Empty(t, got.ConfigSynonyms)
			require.Nil(t, got.Documentation)
		}
	})
	require.Equal(t, "5 1 false flush.messages=5(1) log.flush.interval.messages=9223372036854775807(5)", c.setting(ofTopic, "t", "flush.messages"))
	require.Equal(t, "7200000 5 false", c.setting(ofTopic, "t", "retention.ms"))
	require.Equal(t, "null 5 false", c.setting(ofBroker, "1", "log.retention.ms"))
	require.Equal(t, "broker.ack-after-append 4 true trialog.rules.off=broker.ack-after-append(4)", c.setting(ofBroker, "1", "trialog.rules.off"))
	require.Equal(t, "absent", c.setting(ofBroker, "", "max.connections"))
	twice := describeConfigs(4, ofBroker, "1")
	for _, name := range []string{"1", "+1", "0001"} {
		twice.Resources = append(twice.Resources, describeConfigs(4, ofBroker, name).Resources...)
	}
	got := ask[*kmsg.DescribeConfigsResponse](c, twice).Resources
	require.Len(t, got, 4)
	require.Zero(t, got[0].ErrorCode)
	for _, again := range got[1:] {
		require.EqualValues(t, kafka.ErrInvalidRequest, again.ErrorCode, "an answer is far longer than its request")
	}
}

// Settings of a topic take effect at once and stay over a restart.
func TestIncrementalAlterConfigs(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir)
	c := in.dial()
	versions(t, wire.KeyIncrementalAlterConfigs, func(t *testing.T, version int16) {
		name := fmt.Sprint("t", version)
		c.create(name, 1)
		big := batch(strings.Repeat("x", 1000))
		validate := alter(ofTopic, name, "max.message.bytes=500")
		validate.Version, validate.ValidateOnly = version, true
		require.Zero(t, ask[*kmsg.IncrementalAlterConfigsResponse](c, validate).Resources[0].ErrorCode)
		require.Zero(t, c.produce(-1, name, 0, big).ErrorCode)
		validate.ValidateOnly = false
		require.Zero(t, ask[*kmsg.IncrementalAlterConfigsResponse](c, validate).Resources[0].ErrorCode)
		require.EqualValues(t, kafka.ErrMessageTooLarge, c.produce(-1, name, 0, big).ErrorCode)
	})
	c.altered(ofTopic, "t0", "cleanup.policy+=compact", "flush.messages=1")
	require.EqualValues(t, 1, in.table.TopicNamed("t0").Partition(0).Settings().FlushMessages)
	require.Equal(t, "delete,compact 1 false cleanup.policy=delete,compact(1) log.cleanup.policy=delete(5)", c.setting(ofTopic, "t0", "cleanup.policy"))
	c.altered(ofTopic, "t0", "cleanup.policy-=compact", "flush.messages-", "never.set-")
	for _, tc := range []struct {
		kind   kmsg.ConfigResourceType
		name   string
		change string
		want   kafka.ErrorCode
		says   string
	}{
		{ofTopic, "t0", "flush.ms=-1", kafka.ErrInvalidConfig, "flush.ms=-1: must be"},
		{ofTopic, "t0", "nope=1", kafka.ErrInvalidConfig, "no topic setting is named nope"},
		{ofTopic, "t0", "flush.ms+=1", kafka.ErrInvalidConfig, "not LIST"},
		{ofTopic, "nobody", "flush.ms=1", kafka.ErrUnknownTopicOrPartition, "does not exist"},
		{ofTopic, "", "flush.ms=1", kafka.ErrInvalidRequest, "Default topic resources"},
		{ofTopic, "../x", "flush.ms=1", kafka.ErrInvalidTopic, "topic name"},
		{ofBroker, "1", "node.id=5", kafka.ErrInvalidRequest, "Cannot update these configs dynamically: [node.id]"},
		{ofBroker, "", "trialog.rules.off=seglog.fsync-directory", kafka.ErrInvalidRequest, "Cannot update these configs dynamically"},
		{ofBroker, "1", "max.connections=x", kafka.ErrInvalidRequest, "max.connections=x: must be"},
		{ofBroker, "2", "max.connections=1", kafka.ErrInvalidRequest, "Unexpected broker id, expected 1, but received 2"},
		{ofBroker, "one", "max.connections=1", kafka.ErrInvalidRequest, "Node id must be an integer, but it is: one"},
		{8, "1", "root=INFO", kafka.ErrInvalidRequest, "Unknown resource type 8"},
		{99, "1", "x=y", kafka.ErrInvalidRequest, "Unknown resource type 99"},
	} {
		code, message := c.alter(tc.kind, tc.name, tc.change)
		require.Equal(t, tc.want, code, "%v", tc)
		require.Contains(t, message, tc.says)
	}
	in.crash()
	in = start(t, dir)
	c = in.dial()
	require.Equal(t, "500 1 false max.message.bytes=500(1) message.max.bytes=1048588(5)", c.setting(ofTopic, "t0", "max.message.bytes"))
	require.EqualValues(t, 500, in.table.TopicNamed("t0").Partition(0).Settings().MaxMessageBytes)
}

// AlterConfigs replaces: what is not mentioned is gone.
func TestAlterConfigs(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	versions(t, wire.KeyAlterConfigs, func(t *testing.T, version int16) {
		name := fmt.Sprint("t", version)
		c.create(name, 1, "flush.messages", "5", "retention.ms", "1000")
		req := kmsg.NewPtrAlterConfigsRequest()
		req.Version = version
		rr := kmsg.NewAlterConfigsRequestResource()
		rr.ResourceType, rr.ResourceName = ofTopic, name
		rc := kmsg.NewAlterConfigsRequestResourceConfig()
		rc.Name, rc.Value = "retention.ms", kmsg.StringPtr("2000")
		rr.Configs = append(rr.Configs, rc)
		req.Resources = append(req.Resources, rr)
		req.ValidateOnly = true
		require.Zero(t, ask[*kmsg.AlterConfigsResponse](c, req).Resources[0].ErrorCode)
		require.Contains(t, c.setting(ofTopic, name, "retention.ms"), "1000 1")
		req.ValidateOnly = false
		require.Zero(t, ask[*kmsg.AlterConfigsResponse](c, req).Resources[0].ErrorCode)
		require.Contains(t, c.setting(ofTopic, name, "retention.ms"), "2000 1")
		require.Contains(t, c.setting(ofTopic, name, "flush.messages"), "9223372036854775807 5")
		req.Resources[0].Configs[0].Value = nil
		got := ask[*kmsg.AlterConfigsResponse](c, req).Resources[0]
		require.EqualValues(t, kafka.ErrInvalidRequest, got.ErrorCode)
		require.Equal(t, "Null value not supported for : retention.ms", *got.ErrorMessage)
		req.Resources = append(req.Resources, req.Resources[0])
		for _, got := range ask[*kmsg.AlterConfigsResponse](c, req).Resources {
			require.Equal(t, "Each resource must appear at most once.", *got.ErrorMessage)
		}
	})
}

// Settings of brokers: those of one win over those of all, both over the file; topics inherit; a restart keeps them.
func TestDynamicBrokerConfigs(t *testing.T) {
	dir := t.TempDir()
	in := start(t, dir, "message.max.bytes=2000")
	c := in.dial()
	c.create("t", 1)
	c.create("own", 1, "max.message.bytes", "3000")
	size := func(topic string) int32 { return in.table.TopicNamed(topic).Partition(0).Settings().MaxMessageBytes }
	c.altered(ofBroker, "", "message.max.bytes=1000", "log.retention.ms=77")
	require.Equal(t, []int32{1000, 3000}, []int32{size("t"), size("own")})
	c.altered(ofBroker, "1", "message.max.bytes=500")
	require.EqualValues(t, 500, size("t"))
	require.EqualValues(t, kafka.ErrMessageTooLarge, c.produce(-1, "t", 0, batch(strings.Repeat("x", 600))).ErrorCode)
	const all = "message.max.bytes=500(2) message.max.bytes=1000(3) message.max.bytes=2000(4) message.max.bytes=1048588(5)"
	require.Equal(t, "500 2 false "+all, c.setting(ofBroker, "1", "message.max.bytes"))
	require.Equal(t, "500 2 false "+all, c.setting(ofTopic, "t", "max.message.bytes"))
	require.Equal(t, "1000 3 false message.max.bytes=1000(3)", c.setting(ofBroker, "", "message.max.bytes"))
	require.Equal(t, "77 3 false log.retention.ms=77(3) log.retention.hours=168(5)", c.setting(ofTopic, "t", "retention.ms"))
	c.create("later", 1)
	require.EqualValues(t, 500, size("later"), "topics made afterwards inherit too")
	in.end()
	in = start(t, dir, "message.max.bytes=2000")
	c = in.dial()
	require.EqualValues(t, 500, size("t"))
	c.altered(ofBroker, "1", "message.max.bytes-")
	c.altered(ofBroker, "", "message.max.bytes-", "log.retention.ms-")
	require.EqualValues(t, 2000, size("t"), "and back")

	// Limits of connections: those that are there stay.
	other := in.dial()
	require.NotEmpty(t, ask[*kmsg.ApiVersionsResponse](other, kmsg.NewPtrApiVersionsRequest()).ApiKeys)
	c.altered(ofBroker, "1", "max.connections=1")
	in.dial().closed()
	require.NotEmpty(t, ask[*kmsg.ApiVersionsResponse](other, kmsg.NewPtrApiVersionsRequest()).ApiKeys)
	c.altered(ofBroker, "1", "max.connections-", "max.connections.per.ip=0", "max.connections.per.ip.overrides=127.0.0.1:3")
	require.NotEmpty(t, ask[*kmsg.ApiVersionsResponse](in.dial(), kmsg.NewPtrApiVersionsRequest()).ApiKeys)
	in.dial().closed()
}

// What clients may make of the broker's defaults: topics that come into being by being asked for.
func TestAutoCreatedDefaults(t *testing.T) {
	in := start(t, t.TempDir(), "num.partitions=3", "log.retention.ms=5000")
	c := in.dial()
	req := metadata(9, "auto")
	req.AllowAutoTopicCreation = true
	require.Len(t, ask[*kmsg.MetadataResponse](c, req).Topics[0].Partitions, 3)
	require.Equal(t, "5000 4 false log.retention.ms=5000(4) log.retention.hours=168(5)", c.setting(ofTopic, "auto", "retention.ms"))
}

// Settings change although a name server does not answer; what it says later counts from then on.
func TestMetadataWaitsForNoNameServer(t *testing.T) {
	b, err := New(loadConfig(t, t.TempDir()), Options{})
	require.NoError(t, err)
	asked, answer := make(chan string), make(chan struct{})
	b.hosts.lookUp = func(ctx context.Context, host string) ([]string, error) {
		select {
		case asked <- host:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case <-answer:
			return []string{"127.0.0.1"}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	require.NoError(t, b.Start())
	in := &instance{Broker: b, t: t}
	c := in.dial()
	c.altered(ofBroker, "1", "max.connections.per.ip.overrides=slow.example:0")
	require.Equal(t, "slow.example", <-asked)
	c.create("t", 1)
	require.NotEmpty(t, ask[*kmsg.MetadataResponse](in.dial(), metadata(9)).Brokers, "nobody knows yet whom it limits")
	c.altered(ofBroker, "1", "max.connections.per.ip.overrides=slow.example:0,slower.example:0")
	answer <- struct{}{}
	require.Equal(t, "slower.example", <-asked, "what came meanwhile")
	answer <- struct{}{}
	b.hosts.worker.Wait()
	in.dial().closed()
	c.altered(ofBroker, "1", "max.connections.per.ip.overrides=stuck.example:5")
	require.Equal(t, "stuck.example", <-asked)
	require.NoError(t, b.Stop(context.Background()), "a lookup does not hold the end up")
}

// The send buffer is Kafka's unless it is configured, the receive buffer the system's.
func TestSocketBuffers(t *testing.T) {
	of := func(overrides ...string) [2]int {
		in := start(t, t.TempDir(), overrides...)
		defer in.crash()
		l := in.limits()
		return [2]int{l.SendBuffer, l.ReceiveBuffer}
	}
	require.Equal(t, [2]int{102400, -1}, of())
	require.Equal(t, [2]int{65536, 102400}, of("socket.send.buffer.bytes=65536", "socket.receive.buffer.bytes=102400"))
	require.Equal(t, [2]int{-1, -1}, of("socket.send.buffer.bytes=-1"))
}
