package meta

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/config"
	"trialog/core/kafka"
)

// randomHistory is images that follow one another, each with the records that lead to it. Records that do not fit are left
// out, and no topic id is used twice.
func randomHistory(t *rapid.T) (images []*Image, records [][]Record) {
	images, records = []*Image{{}}, [][]Record{nil}
	used := map[kafka.TopicID]bool{}
	for range rapid.IntRange(1, 12).Draw(t, "commits") {
		next := images[len(images)-1].Clone()
		var batch []Record
		for range rapid.IntRange(1, 8).Draw(t, "records") {
			r := randomRecord(t)
			topic, isTopic := r.(*Topic)
			if isTopic && used[topic.ID] || next.Apply(r) != nil {
				continue
			}
			if isTopic {
				used[topic.ID] = true
			}
			batch = append(batch, r)
		}
		images, records = append(images, next), append(records, batch)
	}
	return images, records
}

// reload is the image of a snapshot of m, through bytes: it shares nothing with m.
func reload(t require.TestingT, m *Image) *Image {
	again := &Image{}
	for _, r := range m.AppendRecords(nil) {
		parsed, err := ParseRecord(AppendRecord(nil, r))
		require.NoError(t, err)
		require.NoError(t, again.Apply(parsed))
	}
	return again
}

// TestSnapshots: all records of a history, and a snapshot of its first part with the records of the rest, make the same
// image, whose snapshots are the same to the byte.
func TestSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		images, records := randomHistory(t)
		last := images[len(images)-1]
		for i, m := range images {
			again := reload(t, m)
			require.Equal(t, m.AppendTo(nil), again.AppendTo(nil))
			require.True(t, Diff(m, again).Empty())
			for _, batch := range records[i+1:] {
				apply(t, again, batch...)
			}
			require.Equal(t, last.AppendTo(nil), again.AppendTo(nil), "snapshot of %d of %d", i, len(images))
			require.Equal(t, last.String(), again.String())
			checkInvariants(t, again)
		}
	})
}

// consumer is who only hears of deltas: what a broker's shell keeps of the metadata, in the obvious way.
type consumer struct {
	node     kafka.NodeID
	replicas map[string]string // by topic id and partition
	places   map[string]string // directories of replicas, by topic name and partition
	topics   map[string]string
	brokers  map[kafka.NodeID]string
	configs  map[string][]config.Pair
	features map[string]int16
}

func newConsumer(node kafka.NodeID) *consumer {
	return &consumer{node, map[string]string{}, map[string]string{}, map[string]string{}, map[kafka.NodeID]string{}, map[string][]config.Pair{}, map[string]int16{}}
}

func describeBroker(b *BrokerImage) string {
	return fmt.Sprint(b.Epoch, b.Incarnation, b.Fenced, b.InControlledShutdown, b.Rack, b.LogDirs)
}

func (c *consumer) hear(t require.TestingT, d *Delta) {
	for _, g := range d.Gone {
		require.Contains(t, c.topics, g.ID.String())
		delete(c.topics, g.ID.String())
	}
	for _, n := range d.Made {
		require.NotContains(t, c.topics, n.ID.String())
		c.topics[n.ID.String()] = fmt.Sprint(n.Name, len(n.Partitions), n.Configs)
	}
	for _, n := range d.Changed {
		require.True(t, n.Configs || len(n.Partitions) > 0)
		c.topics[n.Now.ID.String()] = fmt.Sprint(n.Now.Name, len(n.Now.Partitions), n.Now.Configs)
	}
	for _, b := range d.Brokers {
		if b.Now == nil {
			delete(c.brokers, b.ID)
			continue
		}
		c.brokers[b.ID] = describeBroker(b.Now)
	}
	for _, name := range d.Configs {
		c.configs[name] = d.Now.BrokerConfigs(name)
		if len(c.configs[name]) == 0 {
			delete(c.configs, name)
		}
	}
	for _, f := range d.Features {
		c.features[f.Name] = f.Level
		if f.Level == 0 {
			delete(c.features, f.Name)
		}
	}
	for _, l := range d.Local(c.node) {
		c.hearLocal(t, &l)
	}
}

func (c *consumer) hearLocal(t require.TestingT, l *LocalChange) {
	key, place := fmt.Sprintf("%s-%d", l.Topic.ID, l.Partition), fmt.Sprintf("%s-%d", l.Topic.Name, l.Partition)
	was, had := c.replicas[key]
	require.Equal(t, had, l.Was != nil, "%s %s", l.Event, key)
	switch l.Event {
	case Lost:
		require.Nil(t, l.Now)
		delete(c.replicas, key)
		require.Equal(t, key, c.places[place])
		delete(c.places, place)
		return
	case Committed:
		require.True(t, strings.HasPrefix(was, fmt.Sprintf("e%d ", l.Now.LeaderEpoch)), "%s in another epoch: %s", key, was)
	case Elected:
		require.True(t, !had || l.Now.LeaderEpoch > l.Was.LeaderEpoch)
		if !had {
			require.NotContains(t, c.places, place, "the place of one that was there before is free")
			c.places[place] = key
		}
	}
	c.replicas[key] = describeReplica(l.Role, l.Now)
}

func describeReplica(role Role, p *PartitionImage) string {
	return fmt.Sprintf("e%d p%d %s leader=%d %v isr=%v elr=%v recovering=%t", p.LeaderEpoch, p.PartitionEpoch, role, p.Leader, p.Replicas, p.ISR, p.ELR, p.Recovering)
}

// of is a consumer that looks at an image instead.
func (c *consumer) of(m *Image) {
	for _, t := range m.Topics() {
		c.topics[t.ID.String()] = fmt.Sprint(t.Name, len(t.Partitions), t.Configs)
		for i := range t.Partitions {
			if p := &t.Partitions[i]; p.Leader == c.node || slices.Contains(p.Replicas, c.node) {
				role := Follows
				if p.Leader == c.node {
					role = Leads
				}
				key := fmt.Sprintf("%s-%d", t.ID, i)
				c.replicas[key], c.places[fmt.Sprintf("%s-%d", t.Name, i)] = describeReplica(role, p), key
			}
		}
	}
	for _, b := range m.Brokers() {
		c.brokers[b.ID] = describeBroker(b)
	}
	for _, k := range m.configs {
		c.configs[k.name] = k.pairs
	}
	for _, f := range m.features {
		c.features[f.Name] = f.Level
	}
}

// TestDeltasAddUp: who hears of every delta, and who hears of some, over several commits at once, know what is in the
// image in the end; and so does who starts over with a snapshot.
func TestDeltasAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		images, _ := randomHistory(t)
		node := rapid.Int32Range(0, 3).Draw(t, "node")
		each, some := newConsumer(node), newConsumer(node)
		heard := images[0]
		for i, m := range images {
			if i > 0 {
				each.hear(t, Diff(images[i-1], m))
			}
			if i == len(images)-1 || rapid.Bool().Draw(t, "hears") {
				if rapid.Bool().Draw(t, "snapshot") {
					m = reload(t, m)
				}
				some.hear(t, Diff(heard, m))
				heard = m
			}
		}
		want := newConsumer(node)
		want.of(heard)
		require.Equal(t, want, each)
		require.Equal(t, want, some)
		back := Diff(heard, images[0])
		some.hear(t, back)
		require.Equal(t, newConsumer(node), some, "all the way back")
		require.Equal(t, heard.nextPID > 0, back.ProducerIDs)
	})
}

// TestLocal tells what each kind of record is to broker 1.
func TestLocal(t *testing.T) {
	m := &Image{}
	apply(t, m, &RegisterBroker{Broker: 1, BrokerEpoch: 4}, &Topic{Name: "a", ID: idA}, partition(idA, 0, 5), partition(idA, 1, 0))
	tell := func(records ...Record) string {
		was := m.Clone()
		apply(t, m, records...)
		d := Diff(was, m)
		var b strings.Builder
		for _, l := range d.Local(1) {
			fmt.Fprintf(&b, "%s-%d %s", l.Topic.Name, l.Partition, l.Event)
			if l.Now != nil {
				fmt.Fprintf(&b, " %s e%d p%d isr=%v", l.Role, l.Now.LeaderEpoch, l.Now.PartitionEpoch, l.Now.ISR)
			}
			b.WriteString("; ")
		}
		for _, k := range d.Brokers {
			fmt.Fprintf(&b, "broker %d new life %t, gone %t; ", k.ID, k.NewLife(), k.Now == nil)
		}
		return strings.TrimSuffix(b.String(), "; ")
	}
	require.Equal(t, "a-0 committed leads e5 p6 isr=[1]", tell(&PartitionChange{Topic: idA, Leader: NoLeaderChange, ISR: []int32{1}}))
	require.Equal(t, "a-0 elected follows e6 p8 isr=[1 2]", tell(&PartitionChange{Topic: idA, Leader: NoLeaderChange, ISR: []int32{1, 2}}, &PartitionChange{Topic: idA, Leader: 2}))
	require.Equal(t, "a-0 elected follows e7 p9 isr=[1 2]", tell(&PartitionChange{Topic: idA, Leader: kafka.NoNode}))
	require.Equal(t, "a-0 elected leads e8 p10 isr=[1 2]", tell(&PartitionChange{Topic: idA, Leader: 1}))
	require.Equal(t, "a-0 elected leads e9 p11 isr=[1 2]", tell(&PartitionChange{Topic: idA, Leader: 1}), "the same leader in a new epoch")
	require.Equal(t, "a-0 lost", tell(&PartitionChange{Topic: idA, Leader: 2, Replicas: []int32{2, 3}, ISR: []int32{2, 3}}))
	require.Empty(t, tell(&PartitionChange{Topic: idA, Leader: 3}), "none of its business any more")
	require.Equal(t, "a-0 elected follows e12 p14 isr=[2 3]", tell(&PartitionChange{Topic: idA, Leader: 2, Replicas: []int32{2, 3, 1}}))
	require.Equal(t, "a-1 committed leads e0 p1 isr=[1 2]", tell(&PartitionChange{Topic: idA, Partition: 1, Leader: NoLeaderChange, Recovering: Becomes}))
	require.Equal(t, "broker 1 new life false, gone false", tell(&BrokerChange{Broker: 1, BrokerEpoch: 4, Fenced: Becomes}))
	require.Equal(t, "broker 1 new life true, gone false", tell(&RegisterBroker{Broker: 1, BrokerEpoch: 5}))
	require.Equal(t, "broker 1 new life false, gone true; broker 2 new life true, gone false", tell(&UnregisterBroker{Broker: 1, BrokerEpoch: 5}, &RegisterBroker{Broker: 2}))
	require.Empty(t, tell(&Config{Resource: ResourceTopic, Name: "a", Key: "x", Value: "y"}))
	require.Equal(t, "a-0 lost; a-1 lost; a-0 elected leads e0 p0 isr=[1 2]", tell(&RemoveTopic{Topic: idA}, &Topic{Name: "a", ID: idB}, partition(idB, 0, 0)))
}

// TestDiffNamesWhatDiffers has the rest of a delta.
func TestDiffNamesWhatDiffers(t *testing.T) {
	m := &Image{}
	apply(t, m, &Topic{Name: "a", ID: idA}, partition(idA, 0, 5), &FeatureLevel{Name: "f", Level: 1}, &Config{Resource: ResourceBroker, Name: "1", Key: "x", Value: "y"})
	require.True(t, Diff(m, m.Clone()).Empty())
	now := m.Clone()
	apply(t, now, &Config{Resource: ResourceTopic, Name: "a", Key: "k", Value: "v"}, partition(idA, 1, 0), &FeatureLevel{Name: "f"}, &FeatureLevel{Name: "g", Level: 2},
		&Config{Resource: ResourceBroker, Key: "x", Value: "z"}, &Config{Resource: ResourceBroker, Name: "1", Key: "x", Delete: true}, &ProducerIDs{Next: 1000})
	d := Diff(m, now)
	require.False(t, d.Empty())
	require.Equal(t, []FeatureLevel{{Name: "f"}, {Name: "g", Level: 2}}, d.Features)
	require.Equal(t, []string{"", "1"}, d.Configs)
	require.True(t, d.ProducerIDs)
	require.Equal(t, []TopicChange{{Was: m.Topic("a"), Now: now.Topic("a"), Configs: true, Partitions: []kafka.PartitionID{1}}}, d.Changed)
	apply(t, now, &Config{Resource: ResourceTopic, Name: "a", Key: "k", Delete: true}, &Config{Resource: ResourceTopic, Name: "a", Key: "k", Value: "v"})
	require.Empty(t, Diff(d.Now, now).Changed, "changed and changed back")
}

// BenchmarkDiff is what a broker pays for each commit: one partition of 10,000 topics changed.
func BenchmarkDiff(b *testing.B) {
	m := &Image{}
	for i := range 10_000 {
		id := kafka.TopicID{byte(i >> 8), byte(i), 1}
		apply(b, m, &Topic{Name: fmt.Sprint("t", i), ID: id}, partition(id, 0, 0))
	}
	was := m.Clone()
	now := was.Clone()
	apply(b, now, &PartitionChange{Topic: kafka.TopicID{7, 7, 1}, Leader: 2})
	b.ReportAllocs()
	for b.Loop() {
		if d := Diff(was, now); len(d.Local(1)) != 1 {
			b.Fatal("one partition changed")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "us/commit-of-10000-topics(target<200)")
}
