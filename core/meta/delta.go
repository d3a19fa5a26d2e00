package meta

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"trialog/core/kafka"
)

// Delta is what differs between two images. It is about states, not about records: what was changed and changed back is
// not in it, and what came in a snapshot is as much in it as what came in records.
type Delta struct {
	Was, Now *Image

	Gone    []*TopicImage // topics by id that are no more, as they were
	Made    []*TopicImage // topics that are new; one that was made again under its name is in both, by its two ids
	Changed []TopicChange // topics that are another; all three are sorted by id
	Brokers []BrokerChanged
	// Configs names the brokers whose own dynamic settings differ, by node id as text; "" stands for those of all.
	Configs  []string
	Features []FeatureLevel // levels that differ, as they are now: 0 is none
	// ProducerIDs: blocks of producer ids were handed out.
	ProducerIDs bool
}

// TopicChange is a topic that differs: in settings, in partitions, or both.
type TopicChange struct {
	Was, Now   *TopicImage
	Configs    bool
	Partitions []kafka.PartitionID // those that differ or are new
}

// BrokerChanged is a broker that differs; Was is nil for one that was not there, Now for one that is not there any more.
type BrokerChanged struct {
	ID       kafka.NodeID
	Was, Now *BrokerImage
}

// NewLife: the process that is registered is another one than before, or the first.
func (b *BrokerChanged) NewLife() bool {
	return b.Now != nil && (b.Was == nil || b.Was.Epoch != b.Now.Epoch)
}

// Diff is what leads from one image of a cluster to another. Parts that the two share are passed over, so that it costs little where
// one was made from the other.
func Diff(was, now *Image) *Delta {
	d := &Delta{Was: was, Now: now, ProducerIDs: was.nextPID != now.nextPID}
	byID := func(a, b *TopicImage) int {
		if a == b {
			return 0
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	}
	pairs(was.ids, now.ids, byID, d.topic)
	pairs(was.brokers, now.brokers, func(a, b *BrokerImage) int { return cmp.Compare(a.ID, b.ID) }, d.broker)
	byName := func(a, b brokerConfigs) int { return strings.Compare(a.name, b.name) }
	pairs(was.configs, now.configs, byName, func(a, b *brokerConfigs) {
		if a == nil || b == nil || !slices.Equal(a.pairs, b.pairs) {
			d.Configs = append(d.Configs, either(a, b).name)
		}
	})
	byFeature := func(a, b FeatureLevel) int { return strings.Compare(a.Name, b.Name) }
	pairs(was.features, now.features, byFeature, func(a, b *FeatureLevel) {
		switch {
		case b == nil:
			d.Features = append(d.Features, FeatureLevel{Name: a.Name})
		case a == nil || a.Level != b.Level:
			d.Features = append(d.Features, *b)
		}
	})
	return d
}

// Empty: the images are the same.
func (d *Delta) Empty() bool {
	return len(d.Gone)+len(d.Made)+len(d.Changed)+len(d.Brokers)+len(d.Configs)+len(d.Features) == 0 && !d.ProducerIDs
}

// pairs goes through two sorted lists at once; whatever stands in one of them alone comes with nil.
func pairs[T any](was, now []T, compare func(a, b T) int, visit func(was, now *T)) {
	for len(was) > 0 || len(now) > 0 {
		order := 0
		switch {
		case len(was) == 0:
			order = 1
		case len(now) == 0:
			order = -1
		default:
			order = compare(was[0], now[0])
		}
		var a, b *T
		if order <= 0 {
			a, was = &was[0], was[1:]
		}
		if order >= 0 {
			b, now = &now[0], now[1:]
		}
		visit(a, b)
	}
}

// either is the one that there is.
func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func (d *Delta) topic(was, now **TopicImage) {
	switch {
	case now == nil:
		d.Gone = append(d.Gone, *was)
		return
	case was == nil:
		d.Made = append(d.Made, *now)
		return
	case *was == *now:
		return
	}
	c := TopicChange{Was: *was, Now: *now, Configs: !slices.Equal((*was).Configs, (*now).Configs)}
	for i := range c.Now.Partitions {
		if i >= len(c.Was.Partitions) || !c.Was.Partitions[i].equal(&c.Now.Partitions[i]) {
			c.Partitions = append(c.Partitions, kafka.PartitionID(i))
		}
	}
	if c.Configs || len(c.Partitions) > 0 {
		d.Changed = append(d.Changed, c)
	}
}

func (d *Delta) broker(was, now **BrokerImage) {
	c := BrokerChanged{ID: (*either(was, now)).ID}
	if was != nil {
		c.Was = *was
	}
	if now != nil {
		c.Now = *now
	}
	if c.Was == nil || c.Now == nil || c.Was != c.Now && !c.Was.equal(c.Now) {
		d.Brokers = append(d.Brokers, c)
	}
}

// equal compares what differs in a record.
func (p *PartitionImage) equal(o *PartitionImage) bool {
	return p.Leader == o.Leader && p.LeaderEpoch == o.LeaderEpoch && p.PartitionEpoch == o.PartitionEpoch && p.Recovering == o.Recovering &&
		slices.Equal(p.Replicas, o.Replicas) && slices.Equal(p.ISR, o.ISR) && slices.Equal(p.ELR, o.ELR) &&
		slices.Equal(p.LastKnownELR, o.LastKnownELR) && slices.Equal(p.Adding, o.Adding) && slices.Equal(p.Removing, o.Removing) &&
		slices.Equal(p.Directories, o.Directories)
}

func (b *BrokerImage) equal(o *BrokerImage) bool {
	return b.ID == o.ID && b.Incarnation == o.Incarnation && b.Epoch == o.Epoch && b.Rack == o.Rack && b.Fenced == o.Fenced &&
		b.InControlledShutdown == o.InControlledShutdown && slices.Equal(b.Endpoints, o.Endpoints) && slices.Equal(b.LogDirs, o.LogDirs) &&
		slices.Equal(b.Features, o.Features)
}

// Role is what a broker has to do with a partition.
type Role uint8

// Roles.
const (
	NoRole Role = iota // it has no replica
	Follows
	Leads
)

// String is the name.
func (r Role) String() string { return [...]string{"none", "follows", "leads"}[r] }

// Role is that of a broker. Without a leader every replica follows nobody.
func (p *PartitionImage) Role(node kafka.NodeID) Role {
	switch {
	case p.Leader == node:
		return Leads
	case slices.Contains(p.Replicas, node):
		return Follows
	}
	return NoRole
}

// Event is what a change is to a replica.
type Event uint8

// Events.
const (
	// Elected: leader and leader epoch are to be taken up, whatever the role was before.
	Elected Event = iota
	// Committed: in the same leader epoch ISR, partition epoch, or assignment are others (KIP-497). Positions and the
	// start of the epoch stay (KAFKA-13790).
	Committed
	// Lost: the replica is on this broker no longer, its log goes.
	Lost
)

// String is the name.
func (e Event) String() string { return [...]string{"elected", "committed", "lost"}[e] }

// LocalChange is a change of a partition as it concerns one broker.
type LocalChange struct {
	Event Event
	// Topic is as it is now; with Lost as it was.
	Topic     *TopicImage
	Partition kafka.PartitionID
	Role      Role
	Was       *PartitionImage // nil: the broker had no replica
	Now       *PartitionImage // nil with Lost
}

// Local is what a broker has to do with its replicas: those that it lost first, so that a topic that was made again finds
// its place free, then by topic id and partition. All of it concerns replicas of this broker, before or now.
func (d *Delta) Local(node kafka.NodeID) []LocalChange {
	var lost, rest []LocalChange
	visit := func(was, now *TopicImage, i int) {
		c := LocalChange{Partition: kafka.PartitionID(i)}
		if was != nil && i < len(was.Partitions) && was.Partitions[i].Role(node) != NoRole {
			c.Topic, c.Was = was, &was.Partitions[i]
		}
		if now != nil && now.Partitions[i].Role(node) != NoRole {
			c.Topic, c.Now = now, &now.Partitions[i]
		}
		switch {
		case c.Now == nil && c.Was == nil:
		case c.Now == nil:
			c.Event = Lost
			lost = append(lost, c)
		default:
			c.Role = c.Now.Role(node)
			if c.Was != nil && c.Was.LeaderEpoch == c.Now.LeaderEpoch {
				c.Event = Committed
			}
			rest = append(rest, c)
		}
	}
	for _, t := range d.Gone {
		for i := range t.Partitions {
			visit(t, nil, i)
		}
	}
	byID := func(a, b TopicChange) int { return bytes.Compare(a.Now.ID[:], b.Now.ID[:]) }
	made := make([]TopicChange, len(d.Made))
	for i, t := range d.Made {
		made[i] = TopicChange{Now: t}
		for p := range t.Partitions {
			made[i].Partitions = append(made[i].Partitions, kafka.PartitionID(p))
		}
	}
	pairs(made, d.Changed, byID, func(m, c *TopicChange) {
		t := either(m, c)
		for _, p := range t.Partitions {
			visit(t.Was, t.Now, int(p))
		}
	})
	return append(lost, rest...)
}
