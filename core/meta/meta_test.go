package meta

import (
	"bytes"
	"encoding/hex"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
)

var (
	idA = kafka.TopicID{0: 0xa, 15: 1}
	idB = kafka.TopicID{0: 0xb, 15: 2}
)

// TestBytes has the bytes as Kafka's serializer writes them (MetadataRecordSerde, AbstractApiMessageSerde).
func TestBytes(t *testing.T) {
	for _, c := range []struct {
		r      Record
		want   string
		string string
	}{
		{&Topic{Name: "foo", ID: idA}, "01 02 00 04 666f6f 0a000000000000000000000000000001 00", "topic foo id=CgAAAAAAAAAAAAAAAAAAAQ"},
		{
			&Partition{Topic: idA, Partition: 2, Replicas: []int32{1, 2}, ISR: []int32{1}, Leader: 1, LeaderEpoch: 5, PartitionEpoch: 6},
			"01 03 00 00000002 0a000000000000000000000000000001 03 00000001 00000002 02 00000001 01 01 00000001 00000005 00000006 00",
			"partition CgAAAAAAAAAAAAAAAAAAAQ-2 leader=1 e5 replicas=[1 2] isr=[1] partition-epoch=6",
		},
		{&Config{Resource: ResourceTopic, Name: "foo", Key: "a", Value: "1"}, "01 04 00 02 04 666f6f 02 61 02 31 00", `config topic "foo" a=1`},
		{&Config{Resource: ResourceBroker, Key: "a", Delete: true}, "01 04 00 04 01 02 61 00 00", `config broker "" delete a`},
		{&RemoveTopic{Topic: idA}, "01 09 00 0a000000000000000000000000000001 00", "remove-topic CgAAAAAAAAAAAAAAAAAAAQ"},
		{&FeatureLevel{Name: "m", Level: 7}, "01 0c 00 02 6d 0007 00", "feature m=7"},
		{&ProducerIDs{Broker: 1, BrokerEpoch: 3, Next: 1000}, "01 0f 00 00000001 0000000000000003 00000000000003e8 00", "producer-ids below 1000 to broker 1 epoch=3"},
		{
			&RegisterBroker{Broker: 1, Incarnation: idB, BrokerEpoch: 9, Endpoints: []Endpoint{{Name: "P", Host: "h", Port: 0xffff}}, Rack: "r"},
			"01 00 00 00000001 0b000000000000000000000000000002 0000000000000009 02 02 50 02 68 ffff 0000 00 01 02 72 00 00",
			"register-broker 1 epoch=9 incarnation=CwAAAAAAAAAAAAAAAAAAAg P://h:65535 rack=r",
		},
	} {
		want, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(c.want), []byte(" "), nil)))
		require.NoError(t, err)
		require.Equal(t, want, AppendRecord(nil, c.r), "%s", c.r)
		require.Equal(t, c.string, c.r.String())
		got, err := ParseRecord(want)
		require.NoError(t, err)
		require.Equal(t, c.r, got)
		for n := range want {
			_, err := ParseRecord(want[:n])
			require.Error(t, err, "%s cut at %d", c.r, n)
		}
		_, err = ParseRecord(append(want, 0))
		require.Error(t, err)
		withTag := append(append(bytes.Clone(want[:len(want)-1]), 1, 5, 2), "xy"...)
		got, err = ParseRecord(withTag)
		require.NoError(t, err, "unknown tagged fields are skipped")
		require.Equal(t, c.r, got)
	}
	for _, bad := range []string{"", "02 02 00", "01 63 00 00", "01 02 01 00", "01 02 00 00", "01 03 00", "ffffffffff 02", "01 03 00 00000002 0a000000000000000000000000000001 ffffffff0f"} {
		b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(bad), []byte(" "), nil)))
		require.NoError(t, err)
		_, err = ParseRecord(b)
		require.ErrorContains(t, err, "meta: record", "%q", bad)
	}
}

// TestAnyRecord: what gofuzz makes of the structures survives the bytes.
func TestAnyRecord(t *testing.T) {
	f := fuzz.NewWithSeed(1).NilChance(0.2).NumElements(1, 5)
	f.Funcs(func(c *Config, k fuzz.Continue) {
		c.Resource, c.Name, c.Key, c.Delete = int8(k.Int31()), k.RandString(), k.RandString(), k.RandBool()
		if !c.Delete {
			c.Value = k.RandString()
		}
	})
	for range 300 {
		for _, r := range []Record{&RegisterBroker{}, &Topic{}, &Partition{}, &Config{}, &RemoveTopic{}, &FeatureLevel{}, &ProducerIDs{}} {
			f.Fuzz(r)
			got, err := ParseRecord(AppendRecord(nil, r))
			require.NoError(t, err)
			require.Equal(t, r, got)
		}
	}
}

// TestAnyBytes: no bytes make the parser panic, and what it takes it writes the same way, but for what it skips.
func TestAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := append([]byte{1, rapid.SampledFrom([]byte{0, 2, 3, 4, 9, 12, 15}).Draw(t, "type"), 0}, rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, "body")...)
		r, err := ParseRecord(b)
		if err != nil {
			return
		}
		again, err := ParseRecord(AppendRecord(nil, r))
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}

func FuzzParseRecord(f *testing.F) {
	f.Add(AppendRecord(nil, &Topic{Name: "foo", ID: idA}))
	f.Add(AppendRecord(nil, &RegisterBroker{Endpoints: []Endpoint{{Name: "P"}}}))
	f.Add(AppendRecord(nil, &Partition{Replicas: []int32{1}, ISR: []int32{1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Image{}
		if r, err := ParseRecord(b); err == nil {
			_ = r.String()
			_ = m.Apply(r)
		}
	})
}

func apply(t require.TestingT, m *Image, records ...Record) {
	for _, r := range records {
		require.NoError(t, m.Apply(r))
	}
}

// partition is a partition with replicas 1 and 2.
func partition(id kafka.TopicID, p int32, epoch int32) *Partition {
	return &Partition{Topic: id, Partition: p, Replicas: []int32{1, 2}, ISR: []int32{1, 2}, Leader: 1, LeaderEpoch: epoch, PartitionEpoch: epoch}
}

func TestImage(t *testing.T) {
	m := &Image{}
	apply(t, m,
		&FeatureLevel{Name: "metadata.version", Level: 20},
		&RegisterBroker{Broker: 2, BrokerEpoch: 3, Endpoints: []Endpoint{{Name: "P", Host: "h", Port: 1}}},
		&RegisterBroker{Broker: 1, BrokerEpoch: 4},
		&Config{Resource: ResourceBroker, Name: "1", Key: "x", Value: "y"},
		&Topic{Name: "b.x", ID: idB}, partition(idB, 0, 0),
		&Topic{Name: "a", ID: idA},
		&Config{Resource: ResourceTopic, Name: "a", Key: "retention.ms", Value: "5"},
		&Config{Resource: ResourceTopic, Name: "a", Key: "flush.ms", Value: "6"},
		partition(idA, 0, 0), partition(idA, 1, 0), partition(idA, 0, 7),
		&ProducerIDs{Next: 1000},
	)
	require.Equal(t, `feature metadata.version=20
register-broker 1 epoch=4 incarnation=AAAAAAAAAAAAAAAAAAAAAA
register-broker 2 epoch=3 incarnation=AAAAAAAAAAAAAAAAAAAAAA P://h:1
x=y
topic a id=CgAAAAAAAAAAAAAAAAAAAQ
  flush.ms=6
  retention.ms=5
  0 leader=1 e7 replicas=[1 2] isr=[1 2] partition-epoch=7
  1 leader=1 e0 replicas=[1 2] isr=[1 2] partition-epoch=0
topic b.x id=CwAAAAAAAAAAAAAAAAAAAg
  0 leader=1 e0 replicas=[1 2] isr=[1 2] partition-epoch=0
next producer id 1000
`, m.String())
	require.Equal(t, "a", m.TopicByID(idA).Name)
	require.Equal(t, idB, m.Topic("b.x").ID)
	require.Nil(t, m.Topic("c"))
	require.Nil(t, m.TopicByID(kafka.TopicID{}))
	require.Equal(t, "b.x", m.Colliding("b_x").Name)
	require.Nil(t, m.Colliding("b.x"))
	require.Nil(t, m.Colliding("a"))
	require.Len(t, m.Topics(), 2)
	require.Len(t, m.Brokers(), 2)
	require.Equal(t, int64(4), m.Broker(1).Epoch)
	require.Nil(t, m.Broker(3))
	require.Equal(t, int16(20), m.FeatureLevel("metadata.version"))
	require.Zero(t, m.FeatureLevel("x"))
	require.Len(t, m.BrokerConfigs("1"), 1)
	require.Empty(t, m.BrokerConfigs(""))
	require.Equal(t, int64(1000), m.NextProducerID())

	again := &Image{}
	apply(t, again, m.AppendRecords(nil)...)
	require.Equal(t, m.AppendTo(nil), again.AppendTo(nil), "a snapshot makes the same image")
	apply(t, again, &RemoveTopic{Topic: idA}, &FeatureLevel{Name: "metadata.version"}, &FeatureLevel{Name: "x"},
		&Config{Resource: ResourceBroker, Name: "1", Key: "x", Delete: true}, &Topic{Name: "a", ID: kafka.TopicID{9}})
	require.Empty(t, again.Topic("a").Configs, "a topic takes its settings with it")
	require.Empty(t, again.BrokerConfigs("1"))
	require.Nil(t, again.TopicByID(idA))
}

// TestRefused: records that do not fit change nothing.
func TestRefused(t *testing.T) {
	m := &Image{}
	apply(t, m, &RegisterBroker{Broker: 1, BrokerEpoch: 4}, &Topic{Name: "a", ID: idA}, partition(idA, 0, 5), &ProducerIDs{Next: 1000})
	before := m.AppendTo(nil)
	edit := func(f func(*Partition)) *Partition { p := partition(idA, 0, 6); f(p); return p }
	for _, r := range []Record{
		&RegisterBroker{Broker: -1},
		&RegisterBroker{Broker: 1, BrokerEpoch: 3},
		&Topic{Name: "a", ID: idB},
		&Topic{Name: "b", ID: idA},
		&Topic{Name: "b"},
		&Topic{Name: "b/c", ID: idB},
		partition(idB, 0, 0),
		partition(idA, 2, 0),
		partition(idA, -1, 0),
		partition(idA, 0, 4),
		edit(func(p *Partition) { p.Replicas = nil }),
		edit(func(p *Partition) { p.Replicas = []int32{1, 1} }),
		edit(func(p *Partition) { p.Replicas = []int32{-1, 1, 2} }),
		edit(func(p *Partition) { p.ISR = []int32{3} }),
		edit(func(p *Partition) { p.ISR = []int32{1, 1} }),
		edit(func(p *Partition) { p.ISR = []int32{2} }),
		edit(func(p *Partition) { p.PartitionEpoch = 4 }),
		edit(func(p *Partition) { p.LeaderEpoch = -1 }),
		&Config{Resource: ResourceTopic, Name: "b"},
		&Config{Resource: 7, Name: "b"},
		&RemoveTopic{Topic: idB},
		&ProducerIDs{Next: 999},
	} {
		require.ErrorContains(t, m.Apply(r), "meta: apply ", "%s", r)
		require.Equal(t, before, m.AppendTo(nil), "%s", r)
	}
}

// TestClonesAreIndependent drives two images that were one, and compares each with one that was never cloned.
func TestClonesAreIndependent(t *testing.T) {
	random := func(t *rapid.T, m *Image) Record {
		names := []string{"a", "b", "a.b", "a_b"}
		id := kafka.TopicID{0: rapid.ByteRange(1, 4).Draw(t, "id")}
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0, 1:
			return &Topic{Name: rapid.SampledFrom(names).Draw(t, "name"), ID: id}
		case 2, 3:
			return partition(id, rapid.Int32Range(0, 3).Draw(t, "partition"), rapid.Int32Range(0, 9).Draw(t, "epoch"))
		case 4:
			return &Config{Resource: rapid.SampledFrom([]int8{2, 4}).Draw(t, "resource"), Name: rapid.SampledFrom(names).Draw(t, "name"),
				Key: rapid.SampledFrom(names).Draw(t, "key"), Value: "1", Delete: rapid.Bool().Draw(t, "delete")}
		case 5:
			return &RemoveTopic{Topic: id}
		}
		return &RegisterBroker{Broker: rapid.Int32Range(0, 3).Draw(t, "broker"), BrokerEpoch: rapid.Int64Range(0, 9).Draw(t, "epoch")}
	}
	rapid.Check(t, func(t *rapid.T) {
		images := []*Image{{}}
		histories := [][]Record{nil}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i := rapid.IntRange(0, len(images)-1).Draw(t, "image")
			if len(images) < 4 && rapid.IntRange(0, 4).Draw(t, "clone") == 0 {
				images = append(images, images[i].Clone())
				histories = append(histories, append([]Record(nil), histories[i]...))
				continue
			}
			r := random(t, images[i])
			if images[i].Apply(r) == nil {
				histories[i] = append(histories[i], r)
			}
			for j, m := range images {
				alone := &Image{}
				apply(t, alone, histories[j]...)
				require.Equal(t, alone.String(), m.String(), "image %d after %s to %d", j, r, i)
				checkInvariants(t, m)
			}
		}
	})
}

func checkInvariants(t require.TestingT, m *Image) {
	for i, topic := range m.Topics() {
		require.True(t, i == 0 || m.Topics()[i-1].Name < topic.Name, "M1")
		require.Same(t, topic, m.TopicByID(topic.ID), "M1")
	}
	require.Len(t, m.ids, len(m.topics))
}
