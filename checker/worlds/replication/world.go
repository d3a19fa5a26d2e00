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
	Lose  int // a power cut: it loses the last record, too
	Fence int // the session of a broker that lives expires
	Lag   int // a follower is behind for replica.lag.time.max.ms
	Drop  int // a message is lost, or answered too late
	Elect int // somebody asks for the preferred leader
}

// entry is a record in a log.
type entry struct {
	id    uint8
	epoch kafka.LeaderEpoch
}

// node is a broker. It never changes once a state has it.
type node struct {
	up     bool
	life   int64 // broker epoch
	seen   int   // how much of the metadata it has applied
	m      *replica.Replica
	log    []entry
	epochs *epochs.Cache
	hw     kafka.Offset // checkpointed
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

// view is the metadata as it was at a moment.
type view struct {
	partition meta.PartitionImage
	brokers   []replica.Broker
}

// State is a state of the world. What it points to never changes.
type State struct {
	nodes   [MaxBrokers]*node
	fetches [MaxBrokers][]fetch
	alters  [MaxBrokers][]alter
	ctl     *controller.Controller
	views   []view
	used    Budget
	total   int
	written uint8
	acked   []entry // by offset: what acks=all was told
	wrong   string  // a machine's assertion failed, or two records were acked at one offset
}

// World is the world of a configuration.
type World struct {
	cfg  Config
	init State
}

var topicID = kafka.TopicID{1}

// New makes a world; the error names what is out of range.
func New(cfg Config) (*World, error) {
	for _, c := range []struct {
		name           string
		have, low, top int
	}{
		{"brokers", cfg.Brokers, 2, MaxBrokers}, {"records", cfg.Records, 1, 6}, {"epochs", cfg.MaxEpoch, 0, 9},
		{"min.insync.replicas", cfg.MinISR, 1, cfg.Brokers}, {"faults", cfg.Total, 0, 20},
	} {
		if c.have < c.low || c.have > c.top {
			return nil, fmt.Errorf("%s %d: want %d to %d", c.name, c.have, c.low, c.top)
		}
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
		s.decide(&controller.BrokerHeartbeat{Broker: n, BrokerEpoch: r.BrokerEpoch, MetadataOffset: int64(len(s.views))})
		s.nodes[n-1] = &node{up: true, life: r.BrokerEpoch, m: replica.New(w.replicaConfig(n)), epochs: &epochs.Cache{}}
	}
	s.decide(&controller.CreateTopics{Topics: []controller.NewTopic{{
		Name: "t", ID: topicID, Partitions: -1, ReplicationFactor: -1, Assignment: []controller.Assignment{a},
	}}})
	if s.ctl.Image().Topic("t") == nil {
		return nil, fmt.Errorf("the topic could not be made: %s", s.ctl)
	}
	return w, nil
}

func (w *World) replicaConfig(n kafka.NodeID) replica.Config {
	return replica.Config{
		Node: n, FlushMessages: replica.NoFlushPolicy, FlushMs: replica.NoFlushPolicy, MinISR: w.cfg.MinISR, LagMs: 1, Rules: w.cfg.Replica,
	}
}

var now = kafka.Now{MonoNs: 1, WallMs: 1}

// decide has the controller decide, and commits it. s.ctl is the state's own.
func (s *State) decide(req controller.Request) controller.Response {
	d := s.ctl.Handle(now, req)
	if len(s.ctl.Committed(d.Seq)) > 0 {
		v := view{}
		if t := s.ctl.Image().Topic("t"); t != nil {
			v.partition = t.Partitions[0]
		}
		for _, b := range s.ctl.Image().Brokers() {
			v.brokers = append(v.brokers, replica.Broker{Node: b.ID, Epoch: b.Epoch, Barred: !b.Active()})
		}
		s.views = append(s.views[:len(s.views):len(s.views)], v)
		s.ctl.Reached(now, int64(len(s.views)))
	}
	return d.Response
}

// Init is the one initial state: everybody is registered, nobody has heard of the partition.
func (w *World) Init() []State { return []State{w.init} }

// Perms: replicas are not alike, since the order of the assignment says who leads.
func (w *World) Perms() []explore.Perm { return []explore.Perm{nil} }

// Permute renames nobody.
func (w *World) Permute(s *State, _ explore.Perm, to *State) { *to = *s }

func (s *State) now() *view { return &s.views[len(s.views)-1] }

func (n *node) leo() kafka.Offset { return int64(len(n.log)) }
