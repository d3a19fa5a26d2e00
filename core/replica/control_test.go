package replica

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// control is the controller that ships. What it decides is committed at once; a broker hears of it when the story says so.
type control struct {
	cfg   controller.Config
	base  *meta.Image
	c     *controller.Controller
	log   [][]meta.Record
	next  *controller.Controller // a standby
	heard int                    // how much of the log it has applied
	views []view                 // the metadata after each decision that changed it
	seen  map[kafka.NodeID]int
	term  int32
	held  *Effect // a copy of a proposal that is still on its way
}

type view struct {
	partition meta.PartitionImage
	brokers   []Broker
}

var topic = kafka.TopicID{1}

// newControl has every broker registered and unfenced, and the topic made: b1 leads, and nobody has heard of it.
func newControl(t require.TestingT, c *cluster, elr bool, rules controller.Rules) *control {
	base := &meta.Image{}
	if elr {
		require.NoError(t, base.Apply(&meta.FeatureLevel{Name: "eligible.leader.replicas.version", Level: 1}))
	}
	k := &control{seen: map[kafka.NodeID]int{}, base: base, cfg: controller.Config{
		Node: 100, NumPartitions: 1, DefaultReplicationFactor: 1, MinISR: int32(c.minISR), SessionTimeoutMs: 9, Rules: rules,
	}}
	k.c = controller.New(k.cfg, base)
	a := controller.Assignment{Replicas: c.replicas}
	for _, b := range c.brokers {
		k.register(t, c, b, kafka.NoBrokerEpoch)
		k.seen[b.node] = len(k.views)
		k.beat(c, b, false)
	}
	k.do(c, &controller.CreateTopics{Topics: []controller.NewTopic{{
		Name: "t", ID: topic, Partitions: -1, ReplicationFactor: -1, Assignment: []controller.Assignment{a},
	}}})
	require.NotNil(t, k.c.Image().Topic("t"))
	return k
}

// do decides, commits, and tells what changed.
func (k *control) do(c *cluster, req controller.Request) (controller.Response, string) {
	d := k.c.Handle(c.now, req)
	if _, not := d.Response.(*controller.NotController); not {
		return d.Response, "  NOT_CONTROLLER\n"
	}
	records := k.c.Committed(d.Seq)
	if len(records) == 0 {
		return d.Response, ""
	}
	k.log = append(k.log, records)
	v := view{}
	if t := k.c.Image().Topic("t"); t != nil {
		v.partition = t.Partitions[0]
	}
	for _, b := range k.c.Image().Brokers() {
		v.brokers = append(v.brokers, Broker{Node: b.ID, Epoch: b.Epoch, Barred: !b.Active(), Fenced: b.Fenced})
	}
	k.views = append(k.views, v)
	k.c.Reached(c.now, int64(len(k.views)))
	if c.quiet {
		return d.Response, ""
	}
	return d.Response, "  controller: " + v.String() + "\n"
}

func (v *view) String() string {
	p := &v.partition
	text := "nobody leads"
	if p.Leader != kafka.NoNode {
		text = fmt.Sprintf("b%d leads", p.Leader)
	}
	text += fmt.Sprintf(" e%d isr %v", p.LeaderEpoch, p.ISR)
	if len(p.ELR) > 0 {
		text += fmt.Sprintf(" elr %v", p.ELR)
	}
	if len(p.LastKnownELR) > 0 {
		text += fmt.Sprintf(" last leader b%d", p.LastKnownELR[0])
	}
	if p.Recovering {
		text += " recovering"
	}
	for _, b := range v.brokers {
		if b.Barred {
			text += fmt.Sprintf("; b%d is out", b.Node)
		}
	}
	return text
}

func (k *control) register(t require.TestingT, c *cluster, b *broker, before int64) string {
	r, text := k.do(c, &controller.RegisterBroker{Broker: b.node, Incarnation: kafka.TopicID{2, byte(len(k.views)), 1}, PreviousEpoch: before})
	answer := r.(*controller.RegisterBrokerResponse)
	require.Equal(t, kafka.ErrNone, answer.Code)
	b.life, k.seen[b.node] = answer.BrokerEpoch, 0
	return text
}

func (k *control) beat(c *cluster, b *broker, leave bool) string {
	r, text := k.do(c, &controller.BrokerHeartbeat{
		Broker: b.node, BrokerEpoch: b.life, MetadataOffset: int64(k.seen[b.node]), WantShutDown: leave,
	})
	answer := r.(*controller.BrokerHeartbeatResponse)
	switch {
	case answer.Code != kafka.ErrNone:
		return fmt.Sprintf("  %s\n", answer.Code) + text
	case answer.ShutDown:
		return text + "  it may go\n"
	case text == "":
		return "  nothing changes\n"
	}
	return text
}

// fromBroker is: b1 registers [clean] | b1 returns (registers, hears and beats) | b1 beats | b1 leaves (asks to shut down) |
// b1 expires (its session)
func (k *control) fromBroker(t *testing.T, c *cluster, b *broker, verb string, args []string) string {
	before := kafka.NoBrokerEpoch
	if slices.Contains(args, "clean") {
		before = b.life
	}
	switch verb {
	case "registers":
		return k.register(t, c, b, before)
	case "returns":
		return k.register(t, c, b, before) + k.hear(t, c, b) + k.beat(c, b, false)
	case "beats":
		return k.beat(c, b, false)
	case "leaves":
		return k.beat(c, b, true)
	case "expires":
		_, text := k.do(c, &controller.SessionExpired{Broker: b.node, BrokerEpoch: k.c.Image().Broker(b.node).Epoch})
		return text
	}
	t.Fatalf("unknown verb %q", verb)
	return ""
}

// hear has a broker apply all of the metadata.
func (k *control) hear(t require.TestingT, c *cluster, b *broker) string {
	k.seen[b.node] = len(k.views)
	return c.do(t, b, k.take(c, b, &k.views[len(k.views)-1]), nil)
}

// take has a replica take up the metadata of a moment.
func (k *control) take(c *cluster, b *broker, v *view) []Effect {
	p, leo := &v.partition, b.leo()
	switch {
	case p.LeaderEpoch <= b.m.Epoch():
		return b.m.Assigned(c.now, Assignment{PartitionEpoch: p.PartitionEpoch, Replicas: p.Replicas, ISR: p.ISR, Brokers: v.brokers}, nil)
	case p.Leader != b.node:
		return b.m.BecomeFollower(c.now, Following{
			Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Leader: p.Leader, LogStart: b.start, LEO: leo, Flushed: leo, HW: b.hw,
		}, nil)
	}
	b.epochs.Assign(p.LeaderEpoch, leo)
	return b.m.BecomeLeader(c.now, Leadership{
		Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Replicas: p.Replicas, ISR: p.ISR, Brokers: v.brokers, LogStart: b.start,
		LEO: leo, Flushed: leo, HW: b.hw,
	}, nil)
}

// decides is: controller decides b1 [unheard] (on the newest proposal of b1) | controller late b1 (the answer arrives) |
// controller holds b1 (the proposal is on its way, and b1 has waited for too long) | controller gets b1 (what was held) |
// controller prefers (elects the preferred leader)
func (k *control) decides(t *testing.T, c *cluster, words []string) string {
	if words[0] == "prefers" {
		_, text := k.do(c, &controller.ElectLeaders{Type: controller.Preferred, Partitions: []kafka.TopicPartition{{Topic: "t"}}})
		return text
	}
	if len(words) == 1 {
		return k.another(c, words[0])
	}
	b := c.brokers[number(t, words[1])-1]
	switch words[0] {
	case "holds":
		if k.held = b.alter; k.held == nil {
			return "  nothing is proposed\n"
		}
		a := Altered{Code: kafka.ErrRequestTimedOut, Asked: k.held.PartitionEpoch}
		return c.do(t, b, b.m.ProposalAnswered(c.now, a, nil), nil) + c.show(b)
	case "gets":
		return k.alter(c, b, k.held)
	case "decides":
		text := k.alter(c, b, b.alter)
		if b.committed == nil || slices.Contains(words, "unheard") {
			return text
		}
		return text + c.do(t, b, b.m.ProposalAnswered(c.now, *b.committed, nil), nil) + c.show(b)
	case "late":
		if b.committed == nil {
			return "  there is no answer\n"
		}
		return c.do(t, b, b.m.ProposalAnswered(c.now, *b.committed, nil), nil) + c.show(b)
	}
	t.Fatalf("controller: %q", words)
	return ""
}

// another is a second controller: controller second (it has applied all that there is) | controller fails (the second one
// leads) | controller applies (the second one, all that it lacks)
func (k *control) another(c *cluster, verb string) string {
	switch verb {
	case "second":
		cfg := k.cfg
		cfg.Standby = true
		k.next, k.heard = controller.New(cfg, k.base), 0
	case "fails":
		k.c.Resign()
		k.c = k.next
		k.c.Lead(c.now, 2, int64(len(k.log)))
	}
	if verb != "fails" {
		for ; k.heard < len(k.log); k.heard++ {
			if k.next.Replay(k.log[k.heard]...) != nil {
				return "  what was committed does not fit any more\n"
			}
		}
		k.next.Reached(c.now, int64(k.heard))
	}
	return fmt.Sprintf("  the second controller has applied %d of %d, decides: %t\n", k.heard, len(k.log), k.next.Active())
}

// alter decides on a proposal of a broker, and keeps the answer.
func (k *control) alter(c *cluster, b *broker, e *Effect) string {
	b.committed = nil
	if e == nil {
		return "  nothing is proposed\n"
	}
	req := controller.AlterISR{Topic: topic, LeaderEpoch: e.Epoch, PartitionEpoch: e.PartitionEpoch}
	for _, m := range e.ISR {
		req.ISR = append(req.ISR, controller.InSync{Node: m.Node, BrokerEpoch: m.BrokerEpoch})
	}
	r, text := k.do(c, &controller.AlterPartition{Broker: b.node, BrokerEpoch: b.life, Partitions: []controller.AlterISR{req}})
	answer := r.(*controller.AlterPartitionResponse)
	b.committed = &Altered{Asked: e.PartitionEpoch, Code: answer.Code}
	if answer.Code == kafka.ErrNone {
		p := answer.Partitions[0]
		b.committed = &Altered{Asked: e.PartitionEpoch, Code: p.Code, Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: p.ISR}
	}
	return fmt.Sprintf("  controller answers b%d: %s\n", b.node, b.committed.Code) + text
}
