package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/core/kafka"
	"trialog/core/meta"
)

// TestSpeculation drives a controller with requests, commits of some prefix, and drops: the speculative image is always
// the committed one and the pending records (C1), and blocks of producer ids that were committed never overlap (C3).
func TestSpeculation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{NumPartitions: 2, DefaultReplicationFactor: 1, Rules: AllRules()}
		committed := &meta.Image{}
		if rapid.Bool().Draw(t, "sessions") {
			cfg.SessionTimeoutMs = 9
			cfg.UncleanElection = rapid.Bool().Draw(t, "unclean")
			require.NoError(t, committed.Apply(&meta.FeatureLevel{Name: "eligible.leader.replicas.version", Level: rapid.Int16Range(0, 1).Draw(t, "elr")}))
		}
		c := New(cfg, committed)
		offset := int64(0)
		var pending []Decision
		handed := map[int64]bool{}
		ids := byte(0)
		handle := func(req Request) {
			before := c.speculative.String()
			d := c.Handle(kafka.Now{}, req)
			if len(d.Records) == 0 {
				require.Equal(t, before, c.speculative.String(), "C2")
				require.False(t, d.Durable)
				return
			}
			require.True(t, d.Durable)
			pending = append(pending, d)
		}
		name := rapid.SampledFrom([]string{"a", "b", "a.b", "a_b", ""})
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				handle(&RegisterBroker{Broker: rapid.Int32Range(1, 3).Draw(t, "broker"), Incarnation: kafka.TopicID{rapid.ByteRange(0, 9).Draw(t, "incarnation")}})
			},
			"create": func(t *rapid.T) {
				req := &CreateTopics{ValidateOnly: rapid.Bool().Draw(t, "validate only")}
				for range rapid.IntRange(1, 3).Draw(t, "topics") {
					ids++
					req.Topics = append(req.Topics, NewTopic{Name: name.Draw(t, "name"), ID: kafka.TopicID{1, ids},
						Partitions: rapid.Int32Range(-2, 3).Draw(t, "partitions"), ReplicationFactor: rapid.Int16Range(-1, 3).Draw(t, "rf")})
				}
				handle(req)
			},
			"delete": func(t *rapid.T) {
				req := &DeleteTopics{}
				for range rapid.IntRange(1, 3).Draw(t, "topics") {
					req.Topics = append(req.Topics, TopicRef{Name: name.Draw(t, "name")})
				}
				handle(req)
			},
			"partitions": func(t *rapid.T) {
				req := &CreatePartitions{ValidateOnly: rapid.Bool().Draw(t, "validate only")}
				for range rapid.IntRange(1, 3).Draw(t, "topics") {
					req.Topics = append(req.Topics, MorePartitions{Topic: name.Draw(t, "name"), Count: rapid.Int32Range(-1, 5).Draw(t, "count")})
				}
				handle(req)
			},
			"alter": func(t *rapid.T) {
				req := &AlterConfigs{ValidateOnly: rapid.Bool().Draw(t, "validate only"), Incremental: rapid.Bool().Draw(t, "incremental")}
				for range rapid.IntRange(1, 3).Draw(t, "resources") {
					r := AlterResource{Resource: Resource{Type: rapid.SampledFrom([]int8{2, 4, 9}).Draw(t, "type"), Name: rapid.SampledFrom([]string{"a", "b", "", "1"}).Draw(t, "resource")}}
					for range rapid.IntRange(0, 2).Draw(t, "changes") {
						r.Changes = append(r.Changes, ConfigChange{Name: rapid.SampledFrom([]string{"flush.ms", "cleanup.policy", "max.connections", "x"}).Draw(t, "key"),
							Op: ConfigOp(rapid.Int8Range(0, 3).Draw(t, "op")), Value: rapid.SampledFrom([]string{"1", "compact", "delete"}).Draw(t, "value")})
					}
					req.Resources = append(req.Resources, r)
				}
				handle(req)
			},
			"producer ids": func(t *rapid.T) {
				id := rapid.Int32Range(1, 3).Draw(t, "broker")
				epoch := int64(0)
				if b := c.speculative.Broker(id); b != nil {
					epoch = b.Epoch
				}
				handle(&AllocateProducerIDs{Broker: id, BrokerEpoch: epoch})
			},
			"heartbeat": func(t *rapid.T) {
				id := rapid.Int32Range(1, 3).Draw(t, "broker")
				if b := c.speculative.Broker(id); b != nil {
					handle(&BrokerHeartbeat{Broker: id, BrokerEpoch: b.Epoch - rapid.Int64Range(0, 1).Draw(t, "stale"), MetadataOffset: offset,
						WantFence: rapid.IntRange(0, 9).Draw(t, "fence") == 0, WantShutDown: rapid.IntRange(0, 9).Draw(t, "shut down") == 0})
				}
			},
			"expire": func(t *rapid.T) {
				id := rapid.Int32Range(1, 3).Draw(t, "broker")
				if b := c.speculative.Broker(id); b != nil {
					handle(&SessionExpired{Broker: id, BrokerEpoch: b.Epoch})
				}
			},
			"unregister": func(t *rapid.T) { handle(&UnregisterBroker{Broker: rapid.Int32Range(1, 4).Draw(t, "broker")}) },
			"isr": func(t *rapid.T) {
				topic := c.speculative.Topic(name.Draw(t, "name"))
				if topic == nil || len(topic.Partitions) == 0 {
					return
				}
				p := topic.Partitions[0]
				req := &AlterPartition{Broker: p.Leader, Partitions: []AlterISR{{Topic: topic.ID, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch}}}
				if b := c.speculative.Broker(p.Leader); b != nil {
					req.BrokerEpoch = b.Epoch
				}
				for _, n := range rapid.SliceOfN(rapid.Int32Range(1, 4), 0, 3).Draw(t, "isr") {
					req.Partitions[0].ISR = append(req.Partitions[0].ISR, InSync{Node: n, BrokerEpoch: kafka.NoBrokerEpoch})
				}
				handle(req)
			},
			"elect": func(t *rapid.T) { handle(&ElectLeaders{Type: ElectionType(rapid.Int8Range(0, 2).Draw(t, "type"))}) },
			"reassign": func(t *rapid.T) {
				handle(&Reassign{Partitions: []Reassignment{{TopicPartition: kafka.TopicPartition{Topic: name.Draw(t, "name")},
					Replicas: rapid.SliceOfN(rapid.Int32Range(1, 4), 0, 3).Draw(t, "replicas"), Cancel: rapid.Bool().Draw(t, "cancel")}}})
			},
			"commit": func(t *rapid.T) {
				if len(pending) == 0 {
					t.Skip()
				}
				n := rapid.IntRange(1, len(pending)).Draw(t, "decisions")
				var want []meta.Record
				for _, d := range pending[:n] {
					want = append(want, d.Records...)
					if ids, ok := d.Response.(*AllocateProducerIDsResponse); ok {
						require.False(t, handed[ids.First], "block %d is handed out twice", ids.First)
						handed[ids.First] = true
					}
				}
				published := c.Image()
				before := published.String()
				require.Equal(t, want, c.Committed(pending[n-1].Seq))
				offset++
				c.Reached(kafka.Now{}, offset)
				require.Equal(t, before, published.String(), "a published image never changes")
				for _, r := range want {
					require.NoError(t, committed.Apply(r))
				}
				pending = pending[n:]
			},
			"drop": func(t *rapid.T) {
				c.Drop()
				pending = nil
			},
			"": func(t *rapid.T) {
				require.Equal(t, committed.String(), c.Image().String())
				require.Equal(t, len(pending), c.Pending())
				m := committed.Clone()
				for _, d := range pending {
					for _, r := range d.Records {
						require.NoError(t, m.Apply(r))
					}
				}
				require.Equal(t, m.String(), c.speculative.String(), "C1")
				clone := c.Clone()
				require.Equal(t, c.AppendTo(nil), clone.AppendTo(nil))
				require.Equal(t, c.String(), clone.String())
			},
		})
	})
}

// TestProducerIDsDurableBites: with the rule off the block's record need not be durable, so a power cut brings the same
// block back.
func TestProducerIDsDurableBites(t *testing.T) {
	twice := func(rules Rules) bool {
		seen := map[int64]bool{}
		image := &meta.Image{}
		require.NoError(t, image.Apply(&meta.RegisterBroker{Broker: 1}))
		for range 2 { // two lives: what is not durable is gone in the second
			c := New(Config{NumPartitions: 1, DefaultReplicationFactor: 1, Rules: rules}, image)
			d := c.Handle(kafka.Now{}, &AllocateProducerIDs{Broker: 1})
			if d.Durable {
				for _, r := range d.Records {
					require.NoError(t, image.Apply(r))
				}
			}
			first := d.Response.(*AllocateProducerIDsResponse).First
			if seen[first] {
				return true
			}
			seen[first] = true
		}
		return false
	}
	require.False(t, twice(AllRules()))
	off := AllRules()
	require.True(t, off.Off("producer-ids-durable"))
	require.True(t, twice(off))
	require.False(t, off.Off("no-such-rule"))
}

func TestProducerIDsEnd(t *testing.T) {
	image := &meta.Image{}
	require.NoError(t, image.Apply(&meta.RegisterBroker{Broker: 1}))
	require.NoError(t, image.Apply(&meta.ProducerIDs{Next: 1<<63 - 1000}))
	c := New(Config{Rules: AllRules()}, image)
	d := c.Handle(kafka.Now{}, &AllocateProducerIDs{Broker: 1})
	require.Equal(t, kafka.ErrUnknownServerError, d.Response.(*AllocateProducerIDsResponse).Code)
}

// TestManyNames: the work for a request of many names is bounded.
func TestManyNames(t *testing.T) {
	c := newController(AllRules())
	c.Committed(c.Handle(kafka.Now{}, &RegisterBroker{Broker: 1, Incarnation: kafka.TopicID{1}}).Seq)
	req := &CreateTopics{}
	for i := range 20_000 {
		req.Topics = append(req.Topics, NewTopic{Name: fmt.Sprint("t", i/2), ID: kafka.TopicID{1, byte(i), byte(i >> 8)}, Partitions: 1, ReplicationFactor: 1})
	}
	d := c.Handle(kafka.Now{}, req)
	require.Empty(t, d.Records)
	require.Len(t, d.Response.(*CreateTopicsResponse).Topics, 20_000)
	require.Panics(t, func() { c.Handle(kafka.Now{}, nil) })
}

// A list is changed word by word, however many there are, as one who does it the plain way would.
func TestChangedList(t *testing.T) {
	plain := func(old, words string, op ConfigOp) string {
		list := strings.FieldsFunc(old, func(r rune) bool { return r == ',' })
		for _, w := range strings.Split(words, ",") {
			at := slices.Index(list, w)
			switch {
			case op == ConfigAppend && at < 0:
				list = append(list, w)
			case op == ConfigSubtract && at >= 0:
				list = slices.Delete(list, at, at+1)
			}
		}
		return strings.Join(list, ",")
	}
	words := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 6).Draw(t, "words"), ",")
	})
	rapid.Check(t, func(t *rapid.T) {
		old, change := words.Draw(t, "old"), words.Draw(t, "change")
		for _, op := range []ConfigOp{ConfigAppend, ConfigSubtract} {
			require.Equal(t, plain(old, change, op), changedList(old, change, op), "%q %s %q", old, op, change)
		}
	})
	var many []string
	for i := range 200_000 { // word by word against a list this would take minutes
		many = append(many, strconv.Itoa(i))
	}
	all := strings.Join(many, ",")
	require.Equal(t, all, changedList("", all, ConfigAppend))
	require.Empty(t, changedList(all, all, ConfigSubtract))
}

// Beyond as many topics as a request may make partitions nobody looks at names any more.
func TestTopicsOfARequestAreBounded(t *testing.T) {
	c := newController(AllRules())
	req := &CreateTopics{}
	for i := range PartitionsMax + 2 {
		req.Topics = append(req.Topics, NewTopic{Name: fmt.Sprint("t.", i), Partitions: 0, ReplicationFactor: 1})
	}
	made := c.Handle(kafka.Now{}, req).Response.(*CreateTopicsResponse).Topics
	require.Len(t, made, PartitionsMax+2)
	require.Equal(t, kafka.ErrInvalidPartitions, made[PartitionsMax-1].Code)
	require.Equal(t, kafka.ErrPolicyViolation, made[PartitionsMax].Code)
	require.Equal(t, kafka.ErrPolicyViolation, made[PartitionsMax+1].Code)
}

// What one request may change is bounded, whatever the request is (C17).
func TestRequestsAreBounded(t *testing.T) {
	c := New(Config{Node: 100, SessionTimeoutMs: 9, Rules: AllRules()}, &meta.Image{})
	do := func(req Request) Decision {
		d := c.Handle(kafka.Now{}, req)
		c.Committed(d.Seq)
		c.Reached(kafka.Now{}, d.Seq)
		return d
	}
	for b := range kafka.NodeID(2) {
		epoch := do(&RegisterBroker{Broker: b, Incarnation: kafka.TopicID{byte(b), 1}}).Response.(*RegisterBrokerResponse).BrokerEpoch
		do(&BrokerHeartbeat{Broker: b, BrokerEpoch: epoch, MetadataOffset: epoch})
	}
	const topics = PartitionsMax/1000 + 1
	remove := &DeleteTopics{}
	for i := range topics {
		do(&CreateTopics{Topics: []NewTopic{{Name: fmt.Sprint("t", i), ID: kafka.TopicID{9, byte(i)}, Partitions: 1000, ReplicationFactor: 2}}})
	}
	swap, elect := &Reassign{}, &ElectLeaders{}
	for _, topic := range c.Image().Topics() {
		for i, p := range topic.Partitions {
			tp := kafka.TopicPartition{Topic: topic.Name, Partition: kafka.PartitionID(i)}
			swap.Partitions = append(swap.Partitions, Reassignment{TopicPartition: tp, Replicas: []kafka.NodeID{p.Replicas[1], p.Replicas[0]}})
		}
	}
	swapped := do(swap)
	require.Equal(t, PartitionsMax, len(swapped.Records))
	require.Equal(t, kafka.ErrNone, swapped.Response.(*ReassignResponse).Partitions[PartitionsMax-1].Code)
	require.Equal(t, kafka.ErrPolicyViolation, swapped.Response.(*ReassignResponse).Partitions[PartitionsMax].Code)
	do(&Reassign{Partitions: swap.Partitions[PartitionsMax:]})
	elected := do(elect)
	require.Equal(t, PartitionsMax, len(elected.Records))
	require.Equal(t, kafka.ErrPolicyViolation, elected.Response.(*ElectLeadersResponse).Partitions[PartitionsMax].Code)
	require.Equal(t, topics*1000-PartitionsMax, len(do(elect).Records), "the rest, when it is asked for again")
	more := [3]*CreateTopics{{}, {}, {}}
	for i := range PartitionsMax + 1 {
		name := fmt.Sprint("s", i)
		into := more[i/4000]
		into.Topics = append(into.Topics, NewTopic{Name: name, ID: kafka.TopicID{8, byte(i), byte(i >> 8)}, Partitions: 1, ReplicationFactor: 1})
		remove.Topics = append(remove.Topics, TopicRef{Name: name})
	}
	for _, req := range more {
		do(req)
	}
	removed := do(remove)
	require.Equal(t, PartitionsMax, len(removed.Records))
	require.Equal(t, kafka.ErrPolicyViolation, removed.Response.(*DeleteTopicsResponse).Topics[PartitionsMax].Code)
}

// What a placement promises, for any brokers and racks: a partition's replicas are on different brokers and on as many racks
// as there are, its leader is live, and a fenced broker is taken only when its rack has no live one left; brokers of one rack
// lead in turn.
func TestPlacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &meta.Image{}
		racks, live := map[string][]kafka.NodeID{}, map[kafka.NodeID]bool{}
		rack := rapid.SampledFrom([]string{"", "a", "b", "c"})
		n := rapid.IntRange(1, 8).Draw(t, "brokers")
		for id := range kafka.NodeID(n) {
			r := &meta.RegisterBroker{Broker: id, Incarnation: kafka.TopicID{1}, Rack: rack.Draw(t, "rack"), Fenced: id > 0 && rapid.IntRange(0, 2).Draw(t, "fenced") == 0}
			require.NoError(t, m.Apply(r))
			racks[r.Rack], live[id] = append(racks[r.Rack], id), !r.Fenced
		}
		c := New(Config{SessionTimeoutMs: 9, Rules: AllRules()}, m)
		factor := rapid.IntRange(1, n).Draw(t, "factor")
		placed, no := c.place(rapid.Uint64().Draw(t, "draw"), rapid.IntRange(1, 20).Draw(t, "partitions"), factor)
		require.Nil(t, no)
		for _, replicas := range placed {
			require.Len(t, replicas, factor)
			require.True(t, live[replicas[0]])
			used := map[string]bool{}
			for i, id := range replicas {
				require.NotContains(t, replicas[:i], id)
				used[m.Broker(id).Rack] = true
				for _, other := range racks[m.Broker(id).Rack] {
					require.True(t, live[id] || !live[other] || slices.Contains(replicas[:i], other), "%d is fenced, and %d was there", id, other)
				}
			}
			require.Len(t, used, min(factor, len(racks)))
		}
		if all := slices.DeleteFunc(slices.Clone(racks[""]), func(id kafka.NodeID) bool { return !live[id] }); len(racks) == 1 && len(racks[""]) > 0 && len(placed) >= len(all) {
			var leaders []kafka.NodeID
			for _, replicas := range placed[:len(all)] {
				leaders = append(leaders, replicas[0])
			}
			require.ElementsMatch(t, all, leaders)
		}
	})
}
