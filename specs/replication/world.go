package replication

import (
	"slices"

	"trialog/checker/explore"
)

// Largest bounds: a state is a value of fixed size.
const (
	MaxReplicas = 4
	MaxLog      = 5
	MaxRecords  = 6
	MaxEpochs   = 8 // so the largest epoch is 7
)

// Bounds close the world.
type Bounds struct {
	Replicas int
	LogSize  int // records in a log
	Records  int // that are ever written
	MaxEpoch int // epochs are 0 to MaxEpoch
}

// Config is a world.
type Config struct {
	Bounds Bounds
	Flags  Flags
	// Leaderless lets replicas process requests that name no leader, as brokers do. The published modules cannot: their
	// quantifier over leaders leaves that branch dead.
	Leaderless bool
	// History remembers which records a leader had below its high watermark, which [AckedOnLeader] needs. It multiplies
	// the states.
	History bool
}

// Replica is what one replica knows. Replicas are numbered from 0; none is none.
type Replica struct {
	n      uint8         // log end offset
	log    [MaxLog]entry // log[n:] is zero
	hw     uint8
	epoch  int8
	leader int8
	isr    uint8 // bits
}

const none = -1

// entry is a record: its id and the epoch in which it was written.
type entry uint8

func (e entry) id() uint8   { return uint8(e) >> 4 }
func (e entry) epoch() int8 { return int8(e & 15) }

// request names the leader of an epoch.
type request struct {
	leader int8
	isr    uint8
}

// State is a state of the world.
type State struct {
	replicas [MaxReplicas]Replica
	// quorum is the newest request: what the controller decided, and leaders changed of the ISR.
	quorum    request
	epoch     int8 // of the quorum
	requests  [MaxEpochs]request
	nextID    uint8
	nextEpoch int8
	acked     uint8             // History: bits of ids
	ackedAt   [MaxRecords]uint8 // History: offset<<4 | epoch
}

// World is the relation within bounds.
type World struct {
	cfg   Config
	perms []explore.Perm
}

// New is the world of a configuration; the error names the bound that is out of range.
func New(cfg Config) (*World, error) {
	b := cfg.Bounds
	if err := explore.CheckBounds(
		explore.Within("replicas", b.Replicas, 2, MaxReplicas), explore.Within("log", b.LogSize, 1, MaxLog), explore.Within("records", b.Records, 1, MaxRecords),
		explore.Within("epochs", b.MaxEpoch, 0, MaxEpochs-1),
	); err != nil {
		return nil, err
	}
	w := &World{cfg: cfg}
	w.permute(nil)
	return w, nil
}

// permute lists all renamings, the identity first.
func (w *World) permute(p explore.Perm) {
	if len(p) == w.cfg.Bounds.Replicas {
		w.perms = append(w.perms, slices.Clone(p))
		return
	}
	for r := range uint8(w.cfg.Bounds.Replicas) {
		if !slices.Contains(p, r) {
			w.permute(append(p, r))
		}
	}
}

// Perms is all renamings of replicas: nothing in the world knows one from another.
func (w *World) Perms() []explore.Perm { return w.perms }

// Init is the one initial state: everybody in the ISR, nobody leads.
func (w *World) Init() []State {
	s := State{quorum: request{leader: none, isr: 1<<w.cfg.Bounds.Replicas - 1}, epoch: none}
	for r := range s.replicas {
		s.replicas[r].epoch, s.replicas[r].leader = none, none
	}
	return []State{s}
}

// Encode writes the parts of a state that the bounds leave room for.
func (w *World) Encode(s *State, p explore.Perm, to []byte) []byte {
	b := w.cfg.Bounds
	each := 5 + b.LogSize
	from := len(to)
	size := b.Replicas*each + 5 + 2*int(s.nextEpoch)
	to = slices.Grow(to, size)[:from+size]
	at := to[from:]
	for r := range b.Replicas {
		have := &s.replicas[r]
		e := at[place(p, r)*each:][:each]
		e[0], e[1], e[2], e[3], e[4] = have.n, have.hw, byte(have.epoch), renamed(p, have.leader), renamedSet(p, have.isr)
		for i := range b.LogSize {
			e[5+i] = byte(have.log[i])
		}
	}
	at = at[b.Replicas*each:]
	at[0], at[1], at[2], at[3], at[4] = byte(s.epoch), renamed(p, s.quorum.leader), renamedSet(p, s.quorum.isr), s.nextID,
		byte(s.nextEpoch)
	at = at[5:]
	for i := range int(s.nextEpoch) {
		at[2*i], at[2*i+1] = renamed(p, s.requests[i].leader), renamedSet(p, s.requests[i].isr)
	}
	if w.cfg.History {
		to = append(append(to, s.acked), s.ackedAt[:b.Records]...)
	}
	return to
}

func place(p explore.Perm, r int) int {
	if p == nil {
		return r
	}
	return int(p[r])
}

func renamed(p explore.Perm, r int8) byte {
	if p == nil || r < 0 {
		return byte(r)
	}
	return p[r]
}

func renamedSet(p explore.Perm, set uint8) uint8 {
	if p == nil {
		return set
	}
	out := uint8(0)
	for r, to := range p {
		out |= set >> r & 1 << to
	}
	return out
}

// Permute renames the replicas.
func (w *World) Permute(s *State, p explore.Perm, to *State) {
	*to = *s
	rename := func(q request) request { return request{int8(renamed(p, q.leader)), renamedSet(p, q.isr)} }
	for r := range w.cfg.Bounds.Replicas {
		have := s.replicas[r]
		have.leader, have.isr = int8(renamed(p, have.leader)), renamedSet(p, have.isr)
		to.replicas[place(p, r)] = have
	}
	to.quorum = rename(s.quorum)
	for i := range s.nextEpoch {
		to.requests[i] = rename(s.requests[i])
	}
}
