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
		want := checkBytes(t, c.r, c.want, c.string)
		_, err := ParseRecord(append(want, 0))
		require.Error(t, err)
		withTag := append(append(bytes.Clone(want[:len(want)-1]), 1, 5, 2), "xy"...)
		got, err := ParseRecord(withTag)
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
	f.Funcs(func(turn *Turn, k fuzz.Continue) { *turn = Turn(k.Intn(3) - 1) })
	f.Funcs(func(c *Config, k fuzz.Continue) {
		c.Resource, c.Name, c.Key, c.Delete = int8(k.Int31()), k.RandString(), k.RandString(), k.RandBool()
		if !c.Delete {
			c.Value = k.RandString()
		}
	})
	for range 300 {
		for _, r := range []Record{&RegisterBroker{}, &Topic{}, &Partition{}, &Config{}, &RemoveTopic{}, &FeatureLevel{}, &ProducerIDs{},
			&PartitionChange{}, &BrokerChange{}, &UnregisterBroker{}} {
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
		b := append([]byte{1, rapid.SampledFrom([]byte{0, 1, 2, 3, 4, 5, 9, 12, 15, 17}).Draw(t, "type"), rapid.ByteRange(0, 3).Draw(t, "version")}, rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, "body")...)
		r, err := ParseRecord(b)
		if err != nil {
			return
		}
		again, err := ParseRecord(AppendRecord(nil, r))
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}

// TestVersions has the bytes of what later versions of the records carry, as Kafka's serializer writes them.
func TestVersions(t *testing.T) {
	id, dir := "0a000000000000000000000000000001", "0b000000000000000000000000000002"
	for _, c := range []struct {
		r      Record
		want   string
		string string
	}{
		{
			&Partition{Topic: idA, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, LeaderEpoch: 5, PartitionEpoch: 6, Recovering: true},
			"01 03 00 00000000" + id + "02 00000001 02 00000001 01 01 00000001 00000005 00000006 01 00 01 01",
			"partition CgAAAAAAAAAAAAAAAAAAAQ-0 leader=1 e5 replicas=[1] isr=[1] partition-epoch=6 recovering",
		},
		{
			&Partition{Topic: idA, Replicas: []int32{1}, Leader: -1, Adding: []int32{1}, Removing: []int32{2}, ELR: []int32{1}, LastKnownELR: []int32{3},
				Directories: []kafka.TopicID{idB}},
			"01 03 02 00000000" + id + "02 00000001 01 02 00000002 02 00000001 ffffffff 00000000 00000000 02" + dir +
				"02 01 05 02 00000001 02 05 02 00000003",
			"partition CgAAAAAAAAAAAAAAAAAAAQ-0 leader=-1 e0 replicas=[1] isr=[] partition-epoch=0 elr=[1] last-known-elr=[3] adding=[1] removing=[2] dirs=[CwAAAAAAAAAAAAAAAAAAAg]",
		},
		{
			&PartitionChange{Topic: idA, Partition: 1, ISR: []int32{}, Leader: 2, Recovering: Ends},
			"01 05 00 00000001" + id + "03 00 01 01 01 04 00000002 05 01 00",
			"change CgAAAAAAAAAAAAAAAAAAAQ-1 leader=2 isr=[] recovered",
		},
		{
			&PartitionChange{Topic: idA, Leader: NoLeaderChange, Replicas: []int32{7}, Adding: []int32{}, Recovering: Becomes,
				ELR: []int32{1}, LastKnownELR: []int32{}, Directories: []kafka.TopicID{idB}},
			"01 05 02 00000000" + id + "06 02 05 02 00000007 04 01 01 05 01 01 06 05 02 00000001 07 01 01 08 11 02" + dir,
			"change CgAAAAAAAAAAAAAAAAAAAQ-0 replicas=[7] elr=[1] last-known-elr=[] adding=[] recovering dirs=[CwAAAAAAAAAAAAAAAAAAAg]",
		},
		{
			&BrokerChange{Broker: 1, BrokerEpoch: 9, Fenced: Ends}, "01 11 00 00000001 0000000000000009 01 00 01 ff",
			"broker 1 epoch=9 unfenced",
		},
		{
			&BrokerChange{Broker: 1, BrokerEpoch: 9, Fenced: Becomes, InControlledShutdown: true, LogDirs: []kafka.TopicID{idB}},
			"01 11 02 00000001 0000000000000009 03 00 01 01 01 01 01 02 11 02" + dir,
			"broker 1 epoch=9 fenced shutting-down dirs=[CwAAAAAAAAAAAAAAAAAAAg]",
		},
		{&UnregisterBroker{Broker: 1, BrokerEpoch: 9}, "01 01 00 00000001 0000000000000009 00", "unregister-broker 1 epoch=9"},
		{
			&RegisterBroker{Broker: 1, Incarnation: idA, Fenced: true, InControlledShutdown: true, Features: []Feature{{Name: "f", Min: 1, Max: 2}}},
			"01 00 01 00000001" + id + "0000000000000000 01 02 02 66 0001 0002 00 00 01 01 00",
			"register-broker 1 epoch=0 incarnation=CgAAAAAAAAAAAAAAAAAAAQ f=1-2 fenced shutting-down",
		},
		{
			&RegisterBroker{Broker: 1, Incarnation: idA, LogDirs: []kafka.TopicID{idB}},
			"01 00 03 00000001 00" + id + "0000000000000000 01 01 00 00 00 01 00 11 02" + dir,
			"register-broker 1 epoch=0 incarnation=CgAAAAAAAAAAAAAAAAAAAQ dirs=[CwAAAAAAAAAAAAAAAAAAAg]",
		},
	} {
		checkBytes(t, c.r, c.want, c.string)
	}
	for bad, why := range map[string]string{
		"01 11 00 00000001 0000000000000009 01 00 01 05":    "5 is no change of fencing",
		"01 11 00 00000001 0000000000000009 01 00 02 01 01": "length out of range",
		"01 05 00 00000001" + id + "01 05 01 07":            "7 is no recovery state",
		"01 11 03 00000001 0000000000000009 00":             "not known",
		"01 00 02 00000001 01":                              "a migration from ZooKeeper",
	} {
		b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(bad), []byte(" "), nil)))
		require.NoError(t, err)
		_, err = ParseRecord(b)
		require.ErrorContains(t, err, why)
	}
}

// TestChanges: changes of a partition and of a broker add up, and raise the epochs that they have to.
func TestChanges(t *testing.T) {
	m := &Image{}
	apply(t, m, &RegisterBroker{Broker: 1, BrokerEpoch: 4, Fenced: true, LogDirs: []kafka.TopicID{idA, idB}}, &Topic{Name: "a", ID: idA}, partition(idA, 0, 5))
	published := m.Clone()
	before := published.String()
	show := func() string { return (&m.Topic("a").Partitions[0]).record(idA, 0).state() }
	apply(t, m, &PartitionChange{Topic: idA, Leader: NoLeaderChange, ISR: []int32{1}, ELR: []int32{2}})
	require.Equal(t, "leader=1 e5 replicas=[1 2] isr=[1] partition-epoch=6 elr=[2]", show())
	apply(t, m, &PartitionChange{Topic: idA, Leader: kafka.NoNode, ISR: []int32{}, ELR: []int32{2, 1}, LastKnownELR: []int32{1}})
	require.Equal(t, "leader=-1 e6 replicas=[1 2] isr=[] partition-epoch=7 elr=[2 1] last-known-elr=[1]", show())
	apply(t, m, &PartitionChange{Topic: idA, Leader: 2, ISR: []int32{2}, ELR: []int32{}, Recovering: Becomes, Replicas: []int32{1, 2, 3}, Adding: []int32{3}})
	require.Equal(t, "leader=2 e7 replicas=[1 2 3] isr=[2] partition-epoch=8 recovering last-known-elr=[1] adding=[3]", show())
	require.True(t, m.Topic("a").Partitions[0].Reassigning())
	again := &Image{}
	apply(t, again, m.AppendRecords(nil)...)
	require.Equal(t, m.String(), again.String())
	apply(t, m, &BrokerChange{Broker: 1, BrokerEpoch: 4, Fenced: Ends})
	require.True(t, m.Broker(1).Active())
	require.True(t, m.Broker(1).HasDir(idB) && m.Broker(1).HasDir(kafka.TopicID{}))
	require.False(t, m.Broker(1).HasDir(DirLost))
	apply(t, m, &BrokerChange{Broker: 1, BrokerEpoch: 4, InControlledShutdown: true, LogDirs: []kafka.TopicID{idA}})
	require.False(t, m.Broker(1).Active())
	require.False(t, m.Broker(1).HasDir(idB))
	now := m.String()
	for _, r := range []Record{
		&BrokerChange{Broker: 1, BrokerEpoch: 3, Fenced: Becomes}, &BrokerChange{Broker: 2}, &UnregisterBroker{Broker: 1, BrokerEpoch: 5},
		&PartitionChange{Topic: idB}, &PartitionChange{Topic: idA, Partition: 1}, &PartitionChange{Topic: idA, Leader: 3},
		&PartitionChange{Topic: idA, Leader: NoLeaderChange, ELR: []int32{2}}, &PartitionChange{Topic: idA, Leader: NoLeaderChange, ELR: []int32{9}},
		&PartitionChange{Topic: idA, Leader: NoLeaderChange, Directories: []kafka.TopicID{idA}},
	} {
		require.Error(t, m.Apply(r), "%s", r)
		require.Equal(t, now, m.String())
	}
	apply(t, m, &UnregisterBroker{Broker: 1, BrokerEpoch: 4})
	require.Nil(t, m.Broker(1))
	require.Equal(t, before, published.String(), "M6")
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

// randomRecord is one of few topics and brokers, so that it often fits what came before.
func randomRecord(t *rapid.T) Record {
	names := []string{"a", "b", "a.b", "a_b"}
	id := kafka.TopicID{0: rapid.ByteRange(1, 4).Draw(t, "id")}
	broker, epoch := rapid.Int32Range(0, 3).Draw(t, "broker"), rapid.Int64Range(0, 9).Draw(t, "broker epoch")
	dirs := rapid.SampledFrom([][]kafka.TopicID{nil, {idA}, {idA, idB}})
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0, 1:
		return &Topic{Name: rapid.SampledFrom(names).Draw(t, "name"), ID: id}
	case 2, 3:
		p := partition(id, rapid.Int32Range(0, 3).Draw(t, "partition"), rapid.Int32Range(0, 9).Draw(t, "epoch"))
		if rapid.Bool().Draw(t, "moving") {
			p.Adding, p.Removing, p.Recovering, p.Directories = []int32{2}, []int32{1}, true, []kafka.TopicID{idA, idB}
		}
		return p
	case 4:
		return &Config{Resource: rapid.SampledFrom([]int8{2, 4}).Draw(t, "resource"), Name: rapid.SampledFrom(names).Draw(t, "name"),
			Key: rapid.SampledFrom(names).Draw(t, "key"), Value: "1", Delete: rapid.Bool().Draw(t, "delete")}
	case 5:
		return &RemoveTopic{Topic: id}
	case 6, 7, 8:
		return &PartitionChange{Topic: id, Partition: rapid.Int32Range(0, 3).Draw(t, "partition"), Leader: rapid.Int32Range(-2, 2).Draw(t, "leader"),
			ISR: rapid.SampledFrom([][]int32{nil, {}, {1}, {2}, {1, 2}}).Draw(t, "isr"), ELR: rapid.SampledFrom([][]int32{nil, {}, {1}, {2}}).Draw(t, "elr"),
			LastKnownELR: rapid.SampledFrom([][]int32{nil, {}, {1}}).Draw(t, "last known elr"),
			Replicas:     rapid.SampledFrom([][]int32{nil, nil, {1, 2}, {1, 2, 3}, {2, 0}}).Draw(t, "replicas")}
	case 9:
		return &BrokerChange{Broker: broker, BrokerEpoch: epoch, Fenced: Turn(rapid.Int8Range(-1, 1).Draw(t, "fenced")),
			InControlledShutdown: rapid.Bool().Draw(t, "shutdown"), LogDirs: dirs.Draw(t, "dirs")}
	case 10:
		return &UnregisterBroker{Broker: broker, BrokerEpoch: epoch}
	case 11:
		return &FeatureLevel{Name: rapid.SampledFrom(names).Draw(t, "feature"), Level: rapid.Int16Range(0, 2).Draw(t, "level")}
	case 12:
		return &ProducerIDs{Next: rapid.Int64Range(0, 5000).Draw(t, "next producer id")}
	}
	return &RegisterBroker{Broker: broker, BrokerEpoch: epoch, Fenced: rapid.Bool().Draw(t, "fenced"), Rack: rapid.SampledFrom(names).Draw(t, "rack"),
		LogDirs: dirs.Draw(t, "dirs"), Features: []Feature{{Name: "f", Max: 1}}}
}

// TestClonesAreIndependent drives two images that were one, and compares each with one that was never cloned.
func TestClonesAreIndependent(t *testing.T) {
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
			r := randomRecord(t)
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
		for i := range topic.Partitions {
			require.NoError(t, checkReplicas(topic.Partitions[i].record(topic.ID, int32(i))), "M3")
		}
	}
	require.Len(t, m.ids, len(m.topics))
}

// checkBytes holds a record to its bytes, in hex, and to its line, both ways; cut anywhere they are no record.
func checkBytes(t *testing.T, r Record, inHex, line string) []byte {
	t.Helper()
	want, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(inHex), []byte(" "), nil)))
	require.NoError(t, err)
	require.Equal(t, want, AppendRecord(nil, r), "%s", r)
	require.Equal(t, line, r.String())
	got, err := ParseRecord(want)
	require.NoError(t, err)
	require.Equal(t, r, got)
	for n := range want {
		_, err := ParseRecord(want[:n])
		require.Error(t, err, "%s cut at %d", r, n)
	}
	return want
}
