package replication

import (
	"fmt"

	"trialog/checker/explore"
	"trialog/core/controller"
	"trialog/core/epochs"
	"trialog/core/kafka"
	"trialog/core/meta"
	"trialog/core/replica"
)

// MaxBrokers is the largest world.
const MaxBrokers = 4

// Config bounds a world.
type Config struct {
	Brokers  int
	Records  int // that are ever appended
	MaxEpoch int // largest leader epoch that is looked at
	MinISR   int
	ELR      bool // eligible.leader.replicas.version 1
	AcksOne  bool // producers append with acks=1, too, which fewer replicas than min.insync.replicas do not keep from
	// Faults bounds each kind of fault, and Total all of them together.
	Faults Budget
	Total  int
	// Replica and Controller are the rules in force.
	Replica    replica.Rules
	Controller controller.Rules
}

// Budget is how many of each kind of fault there may be.
type Budget struct {
	Crash int // a process dies, and keeps its log
	Lose  int // a power cut: it loses the last record, and the checkpoint of its HW
	Fence int // the session of a broker that lives expires
	Lag   int // a follower is behind for replica.lag.time.max.ms
	Drop  int // an answer is lost, or a proposal is answered too late
	Elect int // somebody makes a replica the preferred one, and asks for the preferred leader
}

func (b *Budget) kinds() []*int {
	return []*int{&b.Crash, &b.Lose, &b.Fence, &b.Lag, &b.Drop, &b.Elect}
}

// entry is a record in a log.
type entry struct {
	id    uint8
	epoch kafka.LeaderEpoch
}

// fetch is a fetch on its way, or its answer.
type fetch struct {
	at       kafka.NodeID
	ask      replica.Fetch
	answered bool
	answer   replica.Answer
	records  []entry
}

// alter is a proposal on its way, or its answer.
type alter struct {
	ask      replica.Effect
	answered bool
	answer   replica.Altered
}

// node is a broker, and what is on its way from it or to it. It never changes once a state has it.
type node struct {
	up      bool
	life    int64 // broker epoch
	m       *replica.Replica
	log     []entry
	epochs  *epochs.Cache
	hw      kafka.Offset // checkpointed when it died; taken up once
	answer  *fetch       // what its leader answered, and it has not taken in
	late    *fetch       // a fetch of an epoch that is over for this broker, or its answer
	alters  []alter
	encoded []byte
}

// view is the metadata as it was at a moment.
type view struct {
	partition  meta.PartitionImage
	brokers    []replica.Broker
	registered int64 // lives that were ever registered
	encoded    []byte
}

// State is a state of the world. What it points to never changes.
type State struct {
	nodes   [MaxBrokers]*node
	seen    [MaxBrokers]int // how much of the metadata each has applied
	ctl     *controller.Controller
	views   []*view
	used    Budget
	total   int
	written uint8
	shown   []entry // by offset: what consumers could read; what acks=all was told is among it
	wrong   string  // a machine's assertion failed, or two records were shown at one offset

	// While a step is made.
	owned [MaxBrokers]ownership
	marks uint64
}

// ownership says what of a node is the state's own.
type ownership uint8

const (
	shared  ownership = iota
	copied            // the node
	deepend           // and its machine
)

// World is the world of a configuration.
type World struct {
	cfg  Config
	init State
}

var topicID = kafka.TopicID{1}

// New makes a world; the error names what is out of range.
func New(cfg Config) (*World, error) {
	if err := explore.CheckBounds(
		explore.Within("brokers", cfg.Brokers, 2, MaxBrokers), explore.Within("records", cfg.Records, 1, 6), explore.Within("epochs", cfg.MaxEpoch, 0, 9),
		explore.Within("min-isr", cfg.MinISR, 1, cfg.Brokers), explore.Within("faults", cfg.Total, 0, 20),
	); err != nil {
		return nil, err
	}
	if err := explore.CapBudgets(cfg.Total, cfg.Faults.kinds()...); err != nil {
		return nil, err
	}
	w := &World{cfg: cfg}
	base := &meta.Image{}
	if cfg.ELR {
		if err := base.Apply(&meta.FeatureLevel{Name: "eligible.leader.replicas.version", Level: 1}); err != nil {
			return nil, err
		}
	}
	s := &w.init
	s.ctl = controller.New(controller.Config{
		Node: 100, NumPartitions: 1, DefaultReplicationFactor: 1, MinISR: int32(cfg.MinISR), SessionTimeoutMs: 9, Rules: cfg.Controller,
	}, base)
	a := controller.Assignment{}
	for n := kafka.NodeID(1); int(n) <= cfg.Brokers; n++ {
		a.Replicas = append(a.Replicas, n)
		r := s.decide(&controller.RegisterBroker{Broker: n, Incarnation: kafka.TopicID{2, byte(n)}, PreviousEpoch: kafka.NoBrokerEpoch}).(*controller.RegisterBrokerResponse)
		s.decide(&controller.BrokerHeartbeat{Broker: n, BrokerEpoch: r.BrokerEpoch, MetadataOffset: r.BrokerEpoch})
		s.nodes[n-1] = &node{up: true, life: r.BrokerEpoch, m: replica.New(w.replicaConfig(n)), epochs: &epochs.Cache{}}
	}
	s.decide(&controller.CreateTopics{Topics: []controller.NewTopic{{
		Name: "t", ID: topicID, Partitions: -1, ReplicationFactor: -1, Assignment: []controller.Assignment{a},
	}}})
	if s.ctl.Image().Topic("t") == nil {
		return nil, fmt.Errorf("the topic could not be made: %s", s.ctl)
	}
	for i := range cfg.Brokers {
		s.hear(i, len(s.views))
	}
	s.seal(w)
	return w, nil
}

func (w *World) replicaConfig(n kafka.NodeID) replica.Config {
	c := replica.Config{
		Node: n, FlushMessages: replica.NoFlushPolicy, FlushMs: replica.NoFlushPolicy, MinISR: w.cfg.MinISR, Rules: w.cfg.Replica,
	}
	if w.cfg.Faults.Lag > 0 {
		c.LagMs = 1
	}
	return c
}

// String is the bounds of the world.
func (w *World) String() string {
	c, b := &w.cfg, &w.cfg.Faults
	text := fmt.Sprintf("%d brokers, %d records, epochs 0 to %d, min.insync.replicas %d", c.Brokers, c.Records, c.MaxEpoch, c.MinISR)
	if c.ELR {
		text += ", ELR"
	}
	if c.AcksOne {
		text += ", acks=1 too"
	}
	return text + fmt.Sprintf(", up to %d faults of crash %d, lose %d, fence %d, lag %d, drop %d, elect %d", c.Total, b.Crash, b.Lose, b.Fence,
		b.Lag, b.Drop, b.Elect)
}

var now = kafka.Now{MonoNs: 1, WallMs: 1}

// decide has the controller decide, and commits it. Offsets of the metadata count registrations: nothing but a
// registration is ever waited for.
func (s *State) decide(req controller.Request) controller.Response {
	s.ctl = s.ctl.Clone()
	d := s.ctl.Handle(now, req)
	if len(s.ctl.Committed(d.Seq)) > 0 {
		v := &view{}
		if t := s.ctl.Image().Topic("t"); t != nil {
			v.partition = t.Partitions[0]
		}
		for _, b := range s.ctl.Image().Brokers() {
			v.brokers = append(v.brokers, replica.Broker{Node: b.ID, Epoch: b.Epoch, Barred: !b.Active(), Fenced: b.Fenced})
			v.registered = max(v.registered, b.Epoch)
		}
		v.encoded = v.appendTo(nil)
		s.views = append(s.views[:len(s.views):len(s.views)], v)
		s.ctl.Reached(now, v.registered)
	}
	return d.Response
}

// Init is the one initial state: everybody is registered and has heard of the partition, which is empty.
func (w *World) Init() []State { return []State{w.init} }

// Perms: replicas are not alike, since the order of the assignment says who leads.
func (w *World) Perms() []explore.Perm { return []explore.Perm{nil} }

// Permute renames nobody.
func (w *World) Permute(s *State, _ explore.Perm, to *State) { *to = *s }

func (s *State) now() *view { return s.views[len(s.views)-1] }

func (n *node) leo() kafka.Offset { return int64(len(n.log)) }

// own is a copy of a node for this state alone.
func (s *State) own(i int) *node {
	if s.owned[i] == shared {
		n := *s.nodes[i]
		s.nodes[i], s.owned[i] = &n, copied
	}
	return s.nodes[i]
}

// machine is a copy of a node with a machine of its own.
func (s *State) machine(i int) *node {
	n := s.own(i)
	if s.owned[i] == copied {
		n.m, n.epochs = n.m.Clone(), n.epochs.Clone()
		s.owned[i] = deepend
	}
	return n
}
