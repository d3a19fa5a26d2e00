package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A setting of this broker wins over one of all brokers, that over the file, and all of them over the default; topics
// inherit the result. The broker that was loaded stays as it was.
func TestWithDynamic(t *testing.T) {
	b, err := load(t, "node.id=1\nlog.retention.hours=2\nmax.connections=7\nmessage.max.bytes=50")
	require.NoError(t, err)
	all := []Pair{{"log.retention.ms", "30"}, {"max.connections", "8"}, {"node.id", "9"}, {"nope", "1"}}
	own := []Pair{{"max.connections", "9"}, {"max.connections.per.ip", "bad"}, {"message.max.bytes", "60"}}
	next := b.WithDynamic(all, own)
	assert.Equal(t, []int32{7, 9}, []int32{b.MaxConnections, next.MaxConnections})
	assert.Equal(t, []int64{7_200_000, 30}, []int64{b.Topic(nil).RetentionMs, next.Topic(nil).RetentionMs})
	assert.Equal(t, []int32{50, 60}, []int32{b.Topic(nil).MaxMessageBytes, next.Topic(nil).MaxMessageBytes})
	assert.Equal(t, []int32{1, 1<<31 - 1}, []int32{next.NodeID, next.MaxConnectionsPerIP}, "what may not change does not")
	assert.Equal(t, b.MaxConnections, next.WithDynamic(nil, nil).MaxConnections, "and it goes back")
	find := func(all []Described, name string) Described {
		for _, d := range all {
			if d.Definition.Name == name {
				return d
			}
		}
		t.Fatal(name)
		return Described{}
	}
	d := find(next.DescribeBroker(), "max.connections")
	assert.Equal(t, []Synonym{{"max.connections", "9", SourceDynamicBroker}, {"max.connections", "8", SourceDynamicDefault},
		{"max.connections", "7", SourceStaticBroker}, {"max.connections", "2147483647", SourceDefault}}, d.Synonyms)
	assert.Equal(t, "9", d.Value)
	topic := find(next.DescribeTopic(nil), "retention.ms")
	assert.Equal(t, []Synonym{{"log.retention.ms", "30", SourceDynamicDefault}, {"log.retention.hours", "2", SourceStaticBroker},
		{"log.retention.hours", "168", SourceDefault}}, topic.Synonyms)
	defaults := next.DescribeDefaults()
	assert.Len(t, defaults, 2)
	assert.Equal(t, "log.retention.ms", defaults[0].Definition.Name)
	assert.Empty(t, b.DescribeDefaults())
	assert.True(t, find(b.DescribeBroker(), "broker.rack").Absent)
	assert.False(t, find(b.DescribeBroker(), "controller.quorum.voters").Absent, "an empty list is a value")
	assert.True(t, find(b.DescribeBroker(), "advertised.listeners").Absent, "where it may be empty")
}

func TestConnectionOverrides(t *testing.T) {
	b, err := load(t, "node.id=1\nmax.connections.per.ip.overrides=127.0.0.1:5, [::1]:0,fe80::1:7,h.example:2147483647")
	require.NoError(t, err)
	assert.Equal(t, []ConnectionOverride{{"127.0.0.1", 5}, {"::1", 0}, {"fe80::1", 7}, {"h.example", 1<<31 - 1}}, b.ConnectionOverrides)
	for _, bad := range []string{"x", ":5", "h:", "h:-1", "h:2147483648", "h:5 g"} {
		_, err := load(t, "node.id=1\nmax.connections.per.ip.overrides="+bad)
		assert.ErrorContains(t, err, "host:number", bad)
	}
}

func TestValidateDynamic(t *testing.T) {
	assert.NoError(t, ValidateDynamic([]Pair{{"max.connections", "5"}, {"log.retention.ms", "-1"}, {"num.io.threads", "4"}}))
	for _, c := range []struct {
		pairs []Pair
		want  string
	}{
		{[]Pair{{"nope", "1"}}, "no broker setting is named nope"},
		{[]Pair{{"retention.ms", "1"}}, "no broker setting is named retention.ms"},
		{[]Pair{{"node.id", "1"}}, "node.id does not change while the broker runs"},
		{[]Pair{{"max.connections", "-1"}}, "max.connections=-1: must be an integer of 32 bits, at least 0"},
		{[]Pair{{"max.connections", "1"}, {"max.connections", "2"}}, "given twice"},
	} {
		assert.ErrorContains(t, ValidateDynamic(c.pairs), c.want)
	}
	assert.Equal(t, []string{"log.dirs", "node.id"}, NotDynamic([]Pair{{"log.dirs", "/x"}, {"max.connections", "1"}, {"nope", "1"}, {"node.id", "1"}}))
}
