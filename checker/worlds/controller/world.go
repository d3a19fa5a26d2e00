package controller

import (
	"fmt"
	"slices"

	"trialog/checker/explore"
	machine "trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
)

// Bounds of the largest world.
const (
	MaxBrokers     = 4
	MaxControllers = 3
	maxSlots       = 4 // partitions of all topics
)

// MaxTotal is the most of all kinds together.
const MaxTotal = 12

// Config bounds a world.
type Config struct {
	Brokers     int
	Controllers int
	Topics      int
	Partitions  int // of each topic
	Replicas    int // of each partition
	MinISR      int
	ELR         bool // eligible.leader.replicas.version 1
	Unclean     bool // unclean.leader.election.enable
	// SessionsLast: a process is refused while the one before it has a session.
	SessionsLast bool
	// Dirs: brokers have two log directories, and every replica in the first. Then nothing is moved or removed.
	Dirs    bool
	Lag     int // batches that a controller may lack when it is elected
	Pending int // decisions that a controller makes ahead of its log
	// Most bounds each kind of what befalls the world, and Total all of them together.
	Most  Budget
	Total int
	Rules machine.Rules
}

// Kinds of what befalls the world. What heals is never bounded.
const (
	Fence  = iota // the session of a broker that lives ends
	Crash         // a broker dies, and keeps its data
	Lose          // a broker dies, and loses its data
	Leader        // another controller is elected
	Drop          // an answer is lost
	Late          // a request comes later, or comes twice
	Shrink        // a leader asks to take a follower out
	Elect         // somebody asks for elections
	Move          // somebody asks for a reassignment, or for its end
	Remove        // a topic is removed; it may be made again
	Leave         // a broker wants to shut down
	Forget        // a broker that is down is unregistered
	Block         // a broker asks for producer ids
	Disk          // a log directory fails
	Relax         // min.insync.replicas of a topic, or of one broker alone, is changed
	budgets
)

// BudgetNames are the kinds, for flags and for people, with what they are.
var BudgetNames = [budgets][2]string{
	{"fence", "sessions of live brokers that end"}, {"crash", "deaths of brokers, which keep their data"},
	{"lose", "deaths of brokers that lose their data"}, {"leader", "elections of another controller"},
	{"drop", "answers that are lost"}, {"late", "requests that come later, or twice"},
	{"shrink", "followers that their leader asks to take out"}, {"elect", "elections that are asked for"},
	{"move", "reassignments and cancellations"}, {"remove", "topics that are removed"},
	{"leave", "brokers that want to shut down"}, {"forget", "brokers that are unregistered"},
	{"block", "blocks of producer ids that are asked for"}, {"disk", "log directories that fail, with --dirs"},
	{"relax", "changes of min.insync.replicas"},
}

// MaxBudget is the most of a kind.
const MaxBudget = 9

// Budget is how many of each kind, up to MaxBudget.
type Budget [budgets]uint8

// All is a budget of n of every kind.
func All(n int) (b Budget) {
	for i := range b {
		b[i] = uint8(n)
	}
	return b
}

// String names the kinds that there are.
func (b Budget) String() string {
	text := ""
	for i, n := range b {
		if n > 0 {
			text += fmt.Sprintf(" %s=%d", BudgetNames[i][0], n)
		}
	}
	if text == "" {
		return "nothing"
	}
	return text[1:]
}

// version is the metadata at an offset of the log, and what was committed there. It never changes.
type version struct {
	at      int64
	records []meta.Record
	image   *meta.Image
	before  *version
}

// back is the version n batches earlier, or the first one.
func (v *version) back(n int) *version {
	for ; n > 0 && v.before != nil; n-- {
		v = v.before
	}
	return v
}

// broker is a process.
type broker struct {
	up     bool
	caught bool  // it has applied its registration
	wants  bool  // to shut down
	life   int64 // its broker epoch; -1: it has not been told
	wrote  int64 // the epoch of the life before it, if that ended well, or -1
	births uint8 // counts processes
	disk   disk
}

// disk is what became of the directory that a broker's replicas are in.
type disk uint8

const (
	works   disk = iota
	failed       // and with it the replicas, until the process begins anew
	anew         // replicas are to be made in the other directory
	another      // they are there, and empty
)

// dirs is the directories of a broker; all are in the first, or in the second once that has failed.
func dirs(id kafka.NodeID) []kafka.TopicID {
	return []kafka.TopicID{{4, byte(id), 1}, {4, byte(id), 2}}
}

// pending is a decision that is not committed.
type pending struct {
	seq     int64
	records []meta.Record
	after   *meta.Image // what the metadata then is
	ask     *message
	answer  machine.Response
	told    bool // the answer did not wait
}

// seat is a controller. The machine never changes once a state has it.
type seat struct {
	m    *machine.Controller
	at   *version // how much of the log it has applied
	pend []pending
}

// now is the metadata by which it decides.
func (c *seat) now() *meta.Image {
	if n := len(c.pend); n > 0 {
		return c.pend[n-1].after
	}
	return c.at.image
}

// State is a state of the world. What it points to never changes.
type State struct {
	brokers [MaxBrokers]broker
	seats   [MaxControllers]seat
	leader  uint8 // of the log
	term    int32
	head    *version
	late    []*message
	holds   [maxSlots]uint8 // who holds all data of a partition, as bits
	known   [maxSlots]uint8 // who is known to, with ELR
	unheard [maxSlots]bool  // the leader goes by a min.insync.replicas of 1, which was raised meanwhile
	newest  int64           // broker epoch that was ever committed
	given   kafka.ProducerID
	used    Budget
	total   uint8
	broken  promise
	wrong   string
}

// World is the world of a configuration.
type World struct {
	cfg   Config
	init  State
	perms []explore.Perm
	ids   [2]kafka.TopicID // of the topics that there are in the beginning
}

// New makes a world; the error names what is out of range.
func New(cfg Config) (*World, error) {
	if err := explore.CheckBounds(
		explore.Within("brokers", cfg.Brokers, 1, MaxBrokers), explore.Within("controllers", cfg.Controllers, 1, MaxControllers), explore.Within("topics", cfg.Topics, 1, 2),
		explore.Within("partitions", cfg.Partitions, 1, 2), explore.Within("replicas", cfg.Replicas, 1, cfg.Brokers), explore.Within("min-isr", cfg.MinISR, 1, cfg.Replicas),
		explore.Within("lag", cfg.Lag, 0, 3), explore.Within("pending", cfg.Pending, 1, 3), explore.Within("faults", cfg.Total, 0, MaxTotal),
	); err != nil {
		return nil, err
	}
	if cfg.Dirs {
		cfg.Most[Move], cfg.Most[Remove] = 0, 0
	} else {
		cfg.Most[Disk] = 0
	}
	w := &World{cfg: cfg}
	w.perms = w.renamings()
	base := &meta.Image{}
	if cfg.ELR {
		if err := base.Apply(&meta.FeatureLevel{Name: "eligible.leader.replicas.version", Level: 1}); err != nil {
			return nil, err
		}
	}
	return w, w.begin(base)
}

// begin makes the initial state: everybody registers, and topics are made.
func (w *World) begin(base *meta.Image) error {
	cfg, s := &w.cfg, &w.init
	s.head = &version{image: base}
	for i := range cfg.Controllers {
		s.seats[i] = seat{at: s.head, m: machine.New(machine.Config{
			Node: 100, NumPartitions: 1, DefaultReplicationFactor: 1, MinISR: int32(cfg.MinISR), UncleanElection: cfg.Unclean,
			SessionTimeoutMs: 9, SessionsLast: cfg.SessionsLast, Standby: true, Rules: cfg.Rules,
		}, base)}
	}
	s.elect(w, 0, 0, 0)
	for i := range cfg.Brokers {
		b := &s.brokers[i]
		b.up, b.life, b.wrote = true, kafka.NoBrokerEpoch, kafka.NoBrokerEpoch
		w.ask(s, 0, w.message(s, register, i, 0), atOnce)
		b.caught = true
		w.ask(s, 0, w.message(s, beat, i, 0), atOnce)
	}
	for i := range cfg.Topics {
		m := w.message(s, makeTopic, i, 0)
		w.ids[i] = m.topic
		w.ask(s, 0, m, atOnce)
	}
	for i := range cfg.Brokers {
		if cfg.Dirs {
			w.ask(s, 0, w.message(s, keep, i, 0), atOnce)
		}
	}
	if s.broken != nothing || len(s.head.image.Topics()) < cfg.Topics {
		return fmt.Errorf("the cluster could not be made: %s %s", s.wrong, s.head.image)
	}
	for i := range cfg.Controllers {
		s.seats[i].replay(s.head)
	}
	s.head = &version{at: s.head.at, image: s.head.image} // nobody will ask for what was before
	for i := range cfg.Controllers {
		s.seats[i].at = s.head
	}
	s.used, s.total = Budget{}, 0
	return nil
}

var topicNames = [...]string{"t", "u"}

func topicName(i int) string { return topicNames[i] }

// assignment is the replicas of a partition of a new topic: each begins at the next broker.
func (w *World) assignment(topic, partition int) []kafka.NodeID {
	var nodes []kafka.NodeID
	for i := range w.cfg.Replicas {
		nodes = append(nodes, kafka.NodeID((topic*w.cfg.Partitions+partition+i)%w.cfg.Brokers+1))
	}
	return nodes
}

// slots is how many partitions there may be.
func (w *World) slots() int { return w.cfg.Topics * w.cfg.Partitions }

// partition is nil while its topic is removed.
func (w *World) partition(m *meta.Image, slot int) (*meta.TopicImage, *meta.PartitionImage) {
	t := m.Topic(topicName(slot / w.cfg.Partitions))
	if t == nil {
		return nil, nil
	}
	return t, &t.Partitions[slot%w.cfg.Partitions]
}

// Init is the one initial state: everybody is registered and serves.
func (w *World) Init() []State { return []State{w.init} }

// Perms is the renamings of controllers, and of brokers that have no replica and are asked for nothing that depends on the
// order of their ids.
func (w *World) Perms() []explore.Perm { return w.perms }

// renamings makes the group: brokers first, then controllers.
func (w *World) renamings() []explore.Perm {
	assigned := map[int]bool{}
	for slot := range w.slots() {
		for _, n := range w.assignment(slot/w.cfg.Partitions, slot%w.cfg.Partitions) {
			assigned[int(n)-1] = true
		}
	}
	var free, controllers []int
	for i := range w.cfg.Brokers {
		// Two removed at once are written down by id, and who comes first in the assignment leads. Directories have names.
		if !assigned[i] && w.cfg.Most[Move] <= 1 && !w.cfg.Dirs {
			free = append(free, i)
		}
	}
	for i := range w.cfg.Controllers {
		controllers = append(controllers, w.cfg.Brokers+i)
	}
	identity := make(explore.Perm, w.cfg.Brokers+w.cfg.Controllers)
	for i := range identity {
		identity[i] = uint8(i)
	}
	return permute(permute([]explore.Perm{identity}, free), controllers)
}

// permute is each of the renamings followed by each order of some.
func permute(all []explore.Perm, some []int) []explore.Perm {
	var out []explore.Perm
	var place func(p explore.Perm, at int, left []int)
	place = func(p explore.Perm, at int, left []int) {
		if at == len(some) {
			out = append(out, slices.Clone(p))
			return
		}
		for i, to := range left {
			p[some[at]] = uint8(to)
			place(p, at+1, slices.Concat(left[:i], left[i+1:]))
		}
	}
	for _, p := range all {
		place(slices.Clone(p), 0, some)
	}
	return out
}

// Permute renames brokers and controllers.
func (w *World) Permute(s *State, p explore.Perm, to *State) {
	*to = *s
	name := meta.Renaming(func(n kafka.NodeID) kafka.NodeID { return kafka.NodeID(p[n-1]) + 1 })
	versions := map[*version]*version{}
	for i := range w.cfg.Brokers {
		to.brokers[p[i]] = s.brokers[i]
	}
	for i := range w.cfg.Controllers {
		c := s.seats[i]
		c.m, c.at = c.m.Renamed(name), c.at.renamed(name, versions)
		c.pend = slices.Clone(c.pend)
		for k := range c.pend {
			c.pend[k].after, c.pend[k].ask = c.pend[k].after.Renamed(name), c.pend[k].ask.renamed(name)
			c.pend[k].records = renamedAll(c.pend[k].records, name)
		}
		to.seats[int(p[w.cfg.Brokers+i])-w.cfg.Brokers] = c
	}
	to.leader = p[w.cfg.Brokers+int(s.leader)] - uint8(w.cfg.Brokers)
	to.head = s.head.renamed(name, versions)
	to.late = slices.Clone(s.late)
	for i, m := range to.late {
		to.late[i] = m.renamed(name)
	}
	for slot := range w.slots() {
		to.holds[slot], to.known[slot] = 0, 0
		for i := range w.cfg.Brokers {
			to.holds[slot] |= s.holds[slot] >> i & 1 << p[i]
			to.known[slot] |= s.known[slot] >> i & 1 << p[i]
		}
	}
}

func renamedAll(records []meta.Record, name meta.Renaming) []meta.Record {
	out := make([]meta.Record, len(records))
	for i, r := range records {
		out[i] = name.Record(r)
	}
	return out
}

// renamed keeps what is one version one.
func (v *version) renamed(name meta.Renaming, done map[*version]*version) *version {
	if v == nil {
		return nil
	}
	if done[v] == nil {
		done[v] = &version{at: v.at, records: renamedAll(v.records, name), image: v.image.Renamed(name), before: v.before.renamed(name, done)}
	}
	return done[v]
}
