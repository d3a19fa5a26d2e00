package producer

import (
	"fmt"

	"trialog/checker/explore"
	"trialog/core/client/retry"
	"trialog/core/epochs"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/replica"
)

// brokers is how many there are.
const brokers = 2

// MaxBatches is the most that a producer sends.
const MaxBatches = 8

// Config bounds a world.
type Config struct {
	Batches  int // that are ever sent
	InFlight int // at most, of the producer
	MinISR   int
	// Bump: the producer's next identity is the same id in the next epoch, and not another id.
	Bump bool
	// Faults bounds each kind of fault, and Total all of them together.
	Faults Budget
	Total  int
	// Rules in force.
	Client    retry.Rules
	Producers producers.Rules
	Replica   replica.Rules
}

// Budget is how many of each kind of fault there may be.
type Budget struct {
	Break   int // a connection breaks, or a request times out at the broker
	Elect   int // another member of the ISR is made leader while one leads
	Crash   int // a broker dies, and keeps its log
	Lose    int // a power cut: it loses its last record, too
	Lag     int // a follower is behind for replica.lag.time.max.ms
	Unclean int // somebody outside of the ISR is made leader
	Late    int // a batch has no time left for another attempt
	Restart int // the producer dies, and another process sends the rest
}

func (b *Budget) kinds() []*int {
	return []*int{&b.Break, &b.Elect, &b.Crash, &b.Lose, &b.Lag, &b.Unclean, &b.Late, &b.Restart}
}

// entry is a record in a log.
type entry struct {
	id       uint8 // of the batch, in the order of sending
	identity uint8
	sequence kafka.Sequence
	epoch    kafka.LeaderEpoch
}

// node is a broker. It never changes once a state has it, nor does what it points to.
type node struct {
	up        bool
	unclean   bool  // it lost its tail, and has not registered since
	life      int64 // broker epoch
	m         *replica.Replica
	log       []entry
	epochs    *epochs.Cache
	producers *producers.State
	hw        kafka.Offset // checkpointed, while it is down
	snapshot  kafka.Offset // where the state of producers was when it went down
}

func (n *node) leo() kafka.Offset { return int64(len(n.log)) }

// stage of a request.
type stage uint8

const (
	sent     stage = iota
	waiting        // appended, for the HW
	answered       // the answer is on its way
)

// request is a Produce, or its answer.
type request struct {
	batch    uint8
	identity uint8
	stage    stage
	code     kafka.ErrorCode
	sequence kafka.Sequence
	base     kafka.Offset // of the record, once it is in the log
	next     kafka.Offset // acked when the HW has reached it
}

// stray is a request of a connection that is broken: it may still arrive, after those of its connection before it.
type stray struct {
	broker, conn uint8
	request
}

// partition is what the controller has decided last.
type partition struct {
	leader    uint8 // 1, 2, or 0
	epoch     kafka.LeaderEpoch
	partEpoch int32
	isr       uint8 // bit 0 is broker 1
	fenced    uint8 // those who were taken for dead, and have not come back
}

// ending is how a batch ended.
type ending struct {
	over    bool
	outcome retry.Outcome
	offset  kafka.Offset
}

// State is a state of the world. What it points to never changes.
type State struct {
	nodes    [brokers]*node
	part     partition
	lane     *retry.Lane[uint8]
	identity uint8              // the producer's, counted
	target   uint8              // who leads as far as the producer knows, or 0
	conns    [brokers][]request // oldest first
	strays   []stray            // by connection
	ended    [MaxBatches]ending
	used     Budget
	total    int
	lossy    bool            // what was acked may be lost
	refused  kafka.ErrorCode // a batch ended because the broker did not accept the producer's standing
	misplace bool            // a batch was acked at an offset where it is not
	revived  bool            // a batch was numbered under an identity that was given up
	wrong    string          // a machine's assertion failed

	branches uint64 // of the last step; no part of the state
}

// World is the world of a configuration.
type World struct {
	cfg  Config
	init State
}

// New makes a world; the error names what is out of range.
func New(cfg Config) (*World, error) {
	if err := explore.CheckBounds(
		explore.Within("batches", cfg.Batches, 1, MaxBatches), explore.Within("in-flight", cfg.InFlight, 1, MaxBatches), explore.Within("min-isr", cfg.MinISR, 1, brokers),
		explore.Within("faults", cfg.Total, 0, 20),
	); err != nil {
		return nil, err
	}
	if err := explore.CapBudgets(cfg.Total, cfg.Faults.kinds()...); err != nil {
		return nil, err
	}
	w := &World{cfg: cfg}
	s := &w.init
	s.part = partition{leader: 1, isr: 3}
	s.lane = w.newLane()
	for i := range cfg.Batches {
		s.lane.Add(uint8(i), 1)
	}
	for i := range s.nodes {
		s.nodes[i] = &node{up: true, life: 1, m: w.machine(i), epochs: &epochs.Cache{}, producers: producers.New(cfg.Producers)}
	}
	for i := range s.nodes {
		w.hear(s, i)
	}
	s.branches = 0
	return w, nil
}

// String is the bounds of the world.
func (w *World) String() string {
	c, b := &w.cfg, &w.cfg.Faults
	text := fmt.Sprintf("%d batches, %d in flight, min.insync.replicas %d", c.Batches, c.InFlight, c.MinISR)
	if c.Bump {
		text += ", epochs"
	}
	return text + fmt.Sprintf(", up to %d faults of break %d, elect %d, crash %d, lose %d, lag %d, unclean %d, late %d, restart %d", c.Total, b.Break,
		b.Elect, b.Crash, b.Lose, b.Lag, b.Unclean, b.Late, b.Restart)
}

func (w *World) newLane() *retry.Lane[uint8] {
	return retry.New[uint8](retry.Config{Idempotent: true, MaxInFlight: w.cfg.InFlight, Retries: -1, Rules: w.cfg.Client})
}

func (w *World) machine(i int) *replica.Replica {
	return replica.New(replica.Config{
		Node: kafka.NodeID(i + 1), FlushMessages: replica.NoFlushPolicy, FlushMs: replica.NoFlushPolicy, MinISR: w.cfg.MinISR, LagMs: 1,
		Rules: w.cfg.Replica,
	})
}

var now = kafka.Now{MonoNs: 1, WallMs: 1}

// Init is the one initial state: broker 1 leads, both know it and are in sync, nothing is sent.
func (w *World) Init() []State { return []State{w.init} }

// Perms: the brokers are not alike, for one of them leads first.
func (w *World) Perms() []explore.Perm { return []explore.Perm{nil} }

// Permute renames nobody.
func (w *World) Permute(s *State, _ explore.Perm, to *State) { *to = *s }

// identityOf is a counted identity as it stands in a batch.
func (w *World) identityOf(n uint8) retry.Identity {
	if w.cfg.Bump {
		return retry.Identity{ID: 1, Epoch: kafka.ProducerEpoch(n)}
	}
	return retry.Identity{ID: 1 + kafka.ProducerID(n)}
}

func (w *World) counted(id retry.Identity) uint8 {
	if w.cfg.Bump {
		return uint8(id.Epoch)
	}
	return uint8(id.ID - 1)
}

// header is that of a batch at an offset.
func (w *World) header(identity uint8, sequence kafka.Sequence, at kafka.Offset) record.Header {
	id := w.identityOf(identity)
	return record.Header{BaseOffset: at, Count: 1, ProducerID: id.ID, ProducerEpoch: id.Epoch, BaseSequence: sequence}
}
