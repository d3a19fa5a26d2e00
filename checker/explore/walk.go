package explore

import (
	"context"
	"math/rand/v2"
	"time"
)

// WalkOptions of walks at random.
type WalkOptions[S any] struct {
	Invariants []Property[S]
	Walks      int
	Depth      int // steps of one walk
	Seed       uint64
	NoSymmetry bool
	Progress   func(Progress)
}

// WalkResult is what walks met. Distinct is how many states they saw, of a number that is not known.
type WalkResult struct {
	Walks     int        `json:"walks"`
	Generated uint64     `json:"generated"`
	Distinct  uint64     `json:"distinct"`
	Violation *Violation `json:"violation,omitempty"` // not a shortest one
	Why       string     `json:"why,omitempty"`       // it ended before
	Seconds   float64    `json:"seconds"`
}

// Walk takes actions at random, each enabled one equally likely, until a walk meets a violation or all have ended. The
// result depends on the world and the options only.
func Walk[S any](ctx context.Context, w World[S], o WalkOptions[S]) WalkResult {
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	started := time.Now()
	reported := started
	c := newCanon(w, &Options[S]{NoSymmetry: o.NoSymmetry})
	var seen store
	var r WalkResult
	for ; r.Walks < o.Walks && r.Violation == nil; r.Walks++ {
		if ctx.Err() != nil {
			r.Why = "interrupted"
			break
		}
		r.Violation = walk(ctx, w, &o, rng, c, &seen, &r.Generated)
		if o.Progress != nil && time.Since(reported) > time.Second {
			reported = time.Now()
			distinct, _ := seen.size()
			o.Progress(Progress{Depth: o.Depth, Distinct: distinct, Generated: r.Generated, Frontier: o.Walks - r.Walks, HeapBytes: heapBytes(),
				Elapsed: time.Since(started)})
		}
	}
	if ctx.Err() != nil && r.Violation == nil {
		r.Why = "interrupted"
	}
	r.Distinct, _ = seen.size()
	r.Seconds = time.Since(started).Seconds()
	return r
}

// walk is one walk; an interrupted one ends where it is.
func walk[S any](ctx context.Context, w World[S], o *WalkOptions[S], rng *rand.Rand, c *canon[S], seen *store, generated *uint64) *Violation {
	inits := w.Init()
	first := rng.IntN(len(inits))
	state := inits[first]
	path := []uint16{uint16(first)}
	var actions []Action
	for {
		*generated++
		p, _ := c.fingerprint(&state)
		if sh := &seen.shards[shardOf(p)]; sh.find(Hash64, p, nil) < 0 {
			sh.add(Hash64, p, nil, noRef, 0)
		}
		for _, inv := range o.Invariants {
			if !inv.Holds(&state) {
				return &Violation{Invariant: inv.Name, Steps: Replay(w, path)}
			}
		}
		if actions = w.Enabled(&state, actions[:0]); len(actions) == 0 || len(path) > o.Depth || ctx.Err() != nil {
			return nil
		}
		n := rng.IntN(len(actions))
		var to S
		w.Step(&state, actions[n], &to)
		state = to
		path = append(path, uint16(n))
	}
}

// Dive searches depth first, no deeper than MaxDepth: it holds one path of states and not a level, and finds violations
// that lie deep, not the shortest. A state that was met at some depth is not entered again, so with MaxDepth it proves
// nothing, and never says Exhausted.
func Dive[S any](ctx context.Context, w World[S], opt Options[S]) Result {
	s := &search[S]{world: w, opt: opt, started: time.Now()}
	s.opt.Workers = 1
	s.reported = s.started
	me := &worker[S]{canon: newCanon(w, &opt), kinds: make([]uint64, len(w.Kinds()))}
	s.workers = []*worker[S]{me}
	for i := range opt.Invariants {
		s.open = append(s.open, i)
	}
	for i, init := range w.Init() {
		me.generated++
		s.dive(ctx, me, noRef, uint16(i), &init)
	}
	r := s.finish()
	r.Depth = s.depth
	return r
}

// plunge is one state of the path of a dive, and its actions that are not taken yet.
type plunge[S any] struct {
	state   S
	ref     uint32
	actions []Action
	next    int
}

func (s *search[S]) dive(ctx context.Context, me *worker[S], parent uint32, choice uint16, state *S) {
	var path []plunge[S]
	visit := func(parent uint32, choice uint16, state *S) {
		p, encoded := me.canon.fingerprint(state)
		at := shardOf(p)
		if s.store.shards[at].find(s.opt.Mode, p, encoded) >= 0 {
			return
		}
		s.enter(me, at, &candidate[S]{entry: entry[S]{state: *state, ref: parent}, print: p, choice: choice, encoded: s.keep(encoded)})
		made := s.next[at][len(s.next[at])-1]
		s.next[at] = s.next[at][:0]
		s.collect()
		s.depth = max(s.depth, len(path)+1)
		if s.opt.MaxDepth > 0 && len(path)+1 >= s.opt.MaxDepth {
			s.result.Why = "depth first, cut at its depth"
			return
		}
		path = append(path, plunge[S]{state: made.state, ref: made.ref, actions: s.world.Enabled(&made.state, nil)})
	}
	visit(parent, choice, state)
	for len(path) > 0 && !s.done() {
		// By steps made and not by depth: a dive that is cut may never be deep.
		if me.generated&255 == 0 || s.opt.MaxStates > 0 {
			why := s.result.Why
			if s.result.Why = ""; s.stopped(ctx) {
				return
			}
			s.result.Why = why
		}
		top := &path[len(path)-1]
		if top.next == len(top.actions) {
			path = path[:len(path)-1]
			continue
		}
		n := top.next
		top.next++
		var to S
		me.count(s.world.Step(&top.state, top.actions[n], &to))
		me.generated++
		me.kinds[s.world.Kind(top.actions[n])]++
		visit(top.ref, uint16(n), &to)
		s.progress(len(path))
	}
}
