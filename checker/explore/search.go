package explore

import (
	"bytes"
	"context"
	"fmt"
	"runtime/metrics"
	"sort"
	"sync"
	"time"
)

// Sizes of the work: a block is merged at once, a chunk is what a worker takes.
const (
	blockLen  = 1 << 15
	chunkWork = 1 << 9
)

// entry is a state that waits to be expanded.
type entry[S any] struct {
	state S
	ref   uint32
}

// candidate is a successor that was not in the store when it was made.
type candidate[S any] struct {
	entry[S] // ref is the parent's number
	print    print64
	choice   uint16
	encoded  []byte // mode Exact
}

// search is one breadth-first search.
type search[S any] struct {
	world   World[S]
	opt     Options[S]
	store   store
	workers []*worker[S]

	level    []entry[S]
	next     [shards][]entry[S]
	depth    int
	started  time.Time
	reported time.Time
	open     []int // indexes of invariants without a violation
	unseen   []int // of Sometimes properties without a witness
	result   Result
}

// worker is what one goroutine of a search owns.
type worker[S any] struct {
	canon     *canon[S]
	actions   []Action
	generated uint64
	kinds     []uint64
	branches  [64]uint64
	hits      []hit
}

// hit is a new state in which an invariant fails, or (met) in which a Sometimes property holds.
type hit struct {
	property int
	met      bool
	ref      uint32
}

// Search walks all states, breadth first. The error is the context's: then the result says how far it came.
func Search[S any](ctx context.Context, w World[S], opt Options[S]) Result {
	opt.Workers = max(opt.Workers, 1)
	s := &search[S]{world: w, opt: opt, started: time.Now()}
	s.reported = s.started
	s.store.mode = opt.Mode
	for range opt.Workers {
		s.workers = append(s.workers, &worker[S]{canon: newCanon(w, &opt), kinds: make([]uint64, len(w.Kinds()))})
	}
	for i := range opt.Invariants {
		s.open = append(s.open, i)
	}
	for i := range opt.Sometimes {
		s.unseen = append(s.unseen, i)
		s.result.Sometimes = append(s.result.Sometimes, Witness{Name: opt.Sometimes[i].Name})
	}
	s.begin()
	for len(s.level) > 0 && s.goOn(ctx) {
		if !s.expand(ctx) {
			break
		}
		s.depth++
		s.takeNext()
	}
	return s.finish()
}

// begin enters the initial states.
func (s *search[S]) begin() {
	var all []candidate[S]
	w := s.workers[0]
	for i, state := range s.world.Init() {
		w.generated++
		c := candidate[S]{entry: entry[S]{state: state, ref: noRef}, choice: uint16(i)}
		var encoded []byte
		c.print, encoded = w.canon.fingerprint(&c.state)
		c.encoded = s.keep(encoded)
		all = append(all, c)
	}
	s.merge([][]candidate[S]{all})
	s.takeNext()
	s.depth = 1
}

// takeNext makes the states that were entered the level that is expanded.
func (s *search[S]) takeNext() {
	s.level = nil
	for i := range s.next {
		s.level = append(s.level, s.next[i]...)
		s.next[i] = nil
	}
}

// keep is a copy of the bytes if they will be needed.
func (s *search[S]) keep(encoded []byte) []byte {
	if s.opt.Mode != Exact {
		return nil
	}
	return append([]byte(nil), encoded...)
}

// goOn reports that another level may be begun.
func (s *search[S]) goOn(ctx context.Context) bool {
	if s.done() || s.stopped(ctx) {
		return false
	}
	if s.opt.MaxDepth > 0 && s.depth >= s.opt.MaxDepth {
		s.result.Why = fmt.Sprintf("depth %d", s.opt.MaxDepth)
		return false
	}
	return true
}

// done: nothing more is asked for.
func (s *search[S]) done() bool {
	return len(s.result.Violations) > 0 && (!s.opt.KeepGoing || len(s.open) == 0)
}

// stopped says why the search must end here.
func (s *search[S]) stopped(ctx context.Context) bool {
	states, _ := s.store.size()
	switch {
	case ctx.Err() != nil:
		s.result.Why = "interrupted"
	case s.opt.MaxStates > 0 && states >= s.opt.MaxStates:
		s.result.Why = fmt.Sprintf("cap of %d states", s.opt.MaxStates)
	case s.opt.MaxBytes > 0 && heapBytes() >= s.opt.MaxBytes:
		s.result.Why = fmt.Sprintf("cap of %d MiB of memory", s.opt.MaxBytes>>20)
	case s.anyFull():
		s.result.Why = "4 billion states, more than can be numbered"
	}
	return s.result.Why != ""
}

func (s *search[S]) anyFull() bool {
	for i := range s.store.shards {
		// What one block may add must still fit.
		if s.store.shards[i].n > 1<<localBits-1-1<<20 {
			return true
		}
	}
	return false
}

// expand makes all successors of the level; false if it ended before.
func (s *search[S]) expand(ctx context.Context) bool {
	for from := 0; from < len(s.level); from += blockLen {
		block := s.level[from:min(from+blockLen, len(s.level))]
		lists := make([][]candidate[S], (len(block)+chunkWork-1)/chunkWork)
		s.parallel(func(w *worker[S], n int) {
			for i := n; i < len(lists); i += len(s.workers) {
				lists[i] = s.successors(w, block[i*chunkWork:min((i+1)*chunkWork, len(block))])
			}
		})
		s.merge(lists)
		clear(block) // the states are not needed any more
		s.progress(len(s.level) - from - len(block))
		if s.done() || s.stopped(ctx) {
			return false
		}
	}
	return true
}

func (s *search[S]) parallel(do func(w *worker[S], n int)) {
	if len(s.workers) == 1 {
		do(s.workers[0], 0)
		return
	}
	var wg sync.WaitGroup
	for n, w := range s.workers {
		wg.Go(func() { do(w, n) })
	}
	wg.Wait()
}

// successors makes those of a chunk that are not in the store. Nobody writes to it meanwhile.
func (s *search[S]) successors(w *worker[S], chunk []entry[S]) []candidate[S] {
	var out []candidate[S]
	var c candidate[S]
	for i := range chunk {
		w.actions = s.world.Enabled(&chunk[i].state, w.actions[:0])
		if len(w.actions) > 1<<16 {
			panic(fmt.Sprintf("explore: %d actions in %s", len(w.actions), s.world.Show(&chunk[i].state)))
		}
		for n, a := range w.actions {
			branches := s.world.Step(&chunk[i].state, a, &c.state)
			w.generated++
			w.kinds[s.world.Kind(a)]++
			w.count(branches)
			p, encoded := w.canon.fingerprint(&c.state)
			if s.store.shards[shardOf(p)].find(s.opt.Mode, p, encoded) >= 0 {
				continue
			}
			c.ref, c.print, c.choice, c.encoded = chunk[i].ref, p, uint16(n), s.keep(encoded)
			out = append(out, c)
		}
	}
	return out
}

func (w *worker[S]) count(branches uint64) {
	for i := 0; branches != 0; i, branches = i+1, branches>>1 {
		w.branches[i] += branches & 1
	}
}

// merge enters the candidates, in their order, and collects the next level.
func (s *search[S]) merge(lists [][]candidate[S]) {
	s.parallel(func(w *worker[S], n int) {
		for _, list := range lists {
			for i := range list {
				if at := shardOf(list[i].print); at%len(s.workers) == n {
					s.enter(w, at, &list[i])
				}
			}
		}
	})
	s.collect()
}

func (s *search[S]) enter(w *worker[S], at int, c *candidate[S]) {
	sh := &s.store.shards[at]
	if sh.find(s.opt.Mode, c.print, c.encoded) >= 0 {
		return
	}
	ref := refOf(at, sh.add(s.opt.Mode, c.print, c.encoded, c.ref, c.choice))
	for _, i := range s.open {
		if !s.opt.Invariants[i].Holds(&c.state) {
			w.hits = append(w.hits, hit{property: i, ref: ref})
		}
	}
	for _, i := range s.unseen {
		if s.opt.Sometimes[i].Holds(&c.state) {
			w.hits = append(w.hits, hit{property: i, met: true, ref: ref})
		}
	}
	s.next[at] = append(s.next[at], entry[S]{state: c.state, ref: ref})
}

// collect takes the hits of a merge: of each property the one with the smallest print, so that the choice depends neither
// on the workers nor on the order of actions.
func (s *search[S]) collect() {
	var hits []hit
	for _, w := range s.workers {
		hits = append(hits, w.hits...)
		w.hits = w.hits[:0]
	}
	sort.Slice(hits, func(i, j int) bool {
		if hits[i].property != hits[j].property {
			return hits[i].property < hits[j].property
		}
		return bytes.Compare(s.store.printOf(hits[i].ref), s.store.printOf(hits[j].ref)) < 0
	})
	for _, h := range hits {
		if h.met {
			if at := index(s.unseen, h.property); at >= 0 {
				s.unseen = append(s.unseen[:at:at], s.unseen[at+1:]...)
				w := &s.result.Sometimes[h.property]
				w.Found, w.Depth = true, len(s.path(h.ref))
			}
		} else if at := index(s.open, h.property); at >= 0 {
			s.open = append(s.open[:at:at], s.open[at+1:]...)
			s.result.Violations = append(s.result.Violations, Violation{
				Invariant: s.opt.Invariants[h.property].Name, Steps: s.steps(h.ref),
			})
		}
	}
}

func index(list []int, v int) int {
	for i, have := range list {
		if have == v {
			return i
		}
	}
	return -1
}

func (s *search[S]) progress(left int) {
	if s.opt.Progress == nil || time.Since(s.reported) < time.Second {
		return
	}
	s.reported = time.Now()
	p := Progress{Depth: s.depth, Frontier: left, HeapBytes: heapBytes(), Elapsed: time.Since(s.started)}
	p.Distinct, _ = s.store.size()
	for _, w := range s.workers {
		p.Generated += w.generated
	}
	s.opt.Progress(p)
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func (s *search[S]) finish() Result {
	r := &s.result
	states, size := s.store.size()
	r.Distinct, r.Depth = states, s.depth
	r.Mode, r.Perms = s.opt.Mode.String(), len(s.workers[0].canon.perms)
	r.Collision, r.BytesPerState, r.HeapBytes = collision(s.opt.Mode, states), float64(size)/float64(max(states, 1)), heapBytes()
	r.Seconds = time.Since(s.started).Seconds()
	for i, name := range s.world.Kinds() {
		c := Count{Name: name}
		for _, w := range s.workers {
			c.N += w.kinds[i]
		}
		r.Kinds = append(r.Kinds, c)
	}
	if b, ok := s.world.(Brancher); ok {
		for i, name := range b.Branches() {
			c := Count{Name: name}
			for _, w := range s.workers {
				c.N += w.branches[i]
			}
			r.Branches = append(r.Branches, c)
		}
	}
	for _, w := range s.workers {
		r.Generated += w.generated
	}
	switch {
	case len(r.Violations) > 0:
		r.Verdict = Violated
	case r.Why != "":
		r.Verdict = NotExhausted
	default:
		r.Verdict = Exhausted
		r.Depth-- // the level that turned out to be empty
	}
	return *r
}
