package explore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// boxes is a world of n boxes that each count to top; one of them may be taken back to zero, once in all. Its states can be
// counted by hand: n boxes of top+1 values, times two for whether the step back is spent.
type boxes struct {
	n, top    int
	asymmetry bool // box 0 counts by two: then renaming is wrong
}

type boxState struct {
	count [4]uint8
	spent bool
}

const (
	kindCount = iota
	kindBack
)

func (b boxes) Init() []boxState { return []boxState{{}} }

func (b boxes) Enabled(s *boxState, to []Action) []Action {
	for i := range b.n {
		if int(s.count[i]) < b.top {
			to = append(to, Action(kindCount<<8|i))
		}
		if !s.spent && s.count[i] > 0 {
			to = append(to, Action(kindBack<<8|i))
		}
	}
	return to
}

func (b boxes) Step(from *boxState, a Action, to *boxState) uint64 {
	*to = *from
	i := int(a & 255)
	if a>>8 == kindBack {
		to.count[i], to.spent = 0, true
		return 1
	}
	to.count[i]++
	if b.asymmetry && i == 0 && int(to.count[i]) < b.top {
		to.count[i]++
	}
	return 2
}

func (b boxes) Encode(s *boxState, p Perm, to []byte) []byte {
	var renamed boxState
	b.Permute(s, p, &renamed)
	to = append(to, renamed.count[:b.n]...)
	if s.spent {
		to = append(to, 1)
	}
	return to
}

func (b boxes) Permute(s *boxState, p Perm, to *boxState) {
	*to = *s
	for i := range p {
		to.count[p[i]] = s.count[i]
	}
}

func (b boxes) Perms() []Perm {
	if b.n != 2 {
		return []Perm{nil}
	}
	return []Perm{{0, 1}, {1, 0}}
}

func (b boxes) Kinds() []string    { return []string{"count", "back"} }
func (b boxes) Branches() []string { return []string{"went back", "went on"} }
func (b boxes) Kind(a Action) int  { return int(a >> 8) }
func (b boxes) Describe(_ *boxState, a Action) string {
	return fmt.Sprintf("%s %d", b.Kinds()[a>>8], a&255)
}
func (b boxes) Show(s *boxState) string { return fmt.Sprint(s.count[:b.n], s.spent) }

func (b boxes) Heal(s *boxState) (Action, bool) {
	for i := range b.n {
		if int(s.count[i]) < b.top {
			return Action(kindCount<<8 | i), true
		}
	}
	return 0, false
}

func (b boxes) Settled(s *boxState) bool {
	_, ok := b.Heal(s)
	return !ok
}

func never(sum int, spent bool) Property[boxState] {
	return Property[boxState]{Name: "never", Holds: func(s *boxState) bool {
		total := 0
		for _, c := range s.count {
			total += int(c)
		}
		return total != sum || s.spent != spent
	}}
}

func TestCounts(t *testing.T) {
	plain := Search(t.Context(), boxes{n: 2, top: 5}, Options[boxState]{NoSymmetry: true})
	require.Equal(t, Exhausted, plain.Verdict)
	require.EqualValues(t, 2*6*6, plain.Distinct)
	require.Equal(t, 1+2+10, plain.Depth, "farthest is all at the top and the step back spent: one up, back, ten up")
	folded := Search(t.Context(), boxes{n: 2, top: 5}, Options[boxState]{})
	require.EqualValues(t, 2*(6*7/2), folded.Distinct, "unordered pairs")
	require.Equal(t, 2, folded.Perms)
}

// Nothing in a result depends on how many work, what stands for a state, or the seed of the hash.
func TestSameForAll(t *testing.T) {
	w := boxes{n: 4, top: 9}
	base := Options[boxState]{
		Invariants: []Property[boxState]{never(30, true), never(33, false), never(99, false)}, KeepGoing: true,
		Sometimes: []Property[boxState]{never(1000, true), {Name: "impossible", Holds: func(*boxState) bool { return false }}},
	}
	strip := func(r Result) Result {
		r.Seconds, r.HeapBytes, r.BytesPerState, r.Mode, r.Collision = 0, 0, 0, "", 0
		return r
	}
	want := strip(Search(t.Context(), w, base))
	require.EqualValues(t, 2*10*10*10*10, want.Distinct)
	require.Len(t, want.Violations, 2)
	require.Len(t, want.Violations[0].Steps, 1+2+30, "one up, back, thirty up")
	require.Len(t, want.Violations[1].Steps, 33+1)
	require.True(t, want.Sometimes[0].Found)
	require.False(t, want.Sometimes[1].Found)
	require.Equal(t, want.Kinds[1].N, want.Branches[0].N)
	for _, workers := range []int{2, 3, 7} {
		o := base
		o.Workers = workers
		require.Equal(t, want, strip(Search(t.Context(), w, o)), "%d workers", workers)
	}
	for _, mode := range []Mode{Hash128, Exact} {
		o := base
		o.Mode = mode
		got := Search(t.Context(), w, o)
		require.Equal(t, mode.String(), got.Mode)
		require.Equal(t, want.Distinct, got.Distinct)
		require.Equal(t, want.Depth, got.Depth)
	}
	o := base
	o.Seed = 99
	require.Equal(t, want.Distinct, Search(t.Context(), w, o).Distinct)
}

// A search that was cut short never says exhausted.
func TestCaps(t *testing.T) {
	w := boxes{n: 4, top: 9}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for want, r := range map[string]Result{
		"depth 5":                Search(t.Context(), w, Options[boxState]{MaxDepth: 5}),
		"cap of 100 states":      Search(t.Context(), w, Options[boxState]{MaxStates: 100}),
		"cap of 0 MiB of memory": Search(t.Context(), w, Options[boxState]{MaxBytes: 1}),
		"interrupted":            Search(ctx, w, Options[boxState]{}),
	} {
		require.Equal(t, NotExhausted, r.Verdict)
		require.Equal(t, want, r.Why)
		require.Less(t, r.Distinct, uint64(2*10*10*10*10))
	}
}

func TestDive(t *testing.T) {
	w := boxes{n: 2, top: 5}
	r := Dive(t.Context(), w, Options[boxState]{NoSymmetry: true})
	require.Equal(t, Exhausted, r.Verdict)
	require.EqualValues(t, 2*6*6, r.Distinct)
	found := Dive(t.Context(), w, Options[boxState]{Invariants: []Property[boxState]{never(10, true)}})
	require.Equal(t, Violated, found.Verdict)
	steps := found.Violations[0].Steps
	require.Contains(t, steps[len(steps)-1].State, "[5 5] true")
	require.Equal(t, NotExhausted, Dive(t.Context(), w, Options[boxState]{MaxDepth: 4}).Verdict)
	require.Equal(t, NotExhausted, Dive(t.Context(), w, Options[boxState]{MaxStates: 10}).Verdict)
}

// A dive that is never deep, and a walk that is long, end soon after they are told to.
func TestInterruptedOnTheWay(t *testing.T) {
	w := boxes{n: 4, top: 9}
	begun := func() (context.Context, []Property[boxState]) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		return ctx, []Property[boxState]{{Name: "cancels", Holds: func(*boxState) bool { cancel(); return true }}}
	}
	ctx, cancels := begun()
	r := Dive(ctx, w, Options[boxState]{Invariants: cancels, MaxDepth: 12})
	require.Equal(t, NotExhausted, r.Verdict)
	require.Equal(t, "interrupted", r.Why)
	require.LessOrEqual(t, r.Generated, uint64(512))

	ctx, cancels = begun()
	walk := Walk(ctx, w, WalkOptions[boxState]{Invariants: cancels, Walks: 1, Depth: 1000})
	require.Equal(t, "interrupted", walk.Why)
	require.EqualValues(t, 1, walk.Generated)
}

func TestWalk(t *testing.T) {
	w := boxes{n: 2, top: 5}
	o := WalkOptions[boxState]{Walks: 200, Depth: 30, Seed: 1, NoSymmetry: true}
	r := Walk(t.Context(), w, o)
	require.Nil(t, r.Violation)
	require.LessOrEqual(t, r.Distinct, uint64(2*6*6))
	require.Greater(t, r.Distinct, uint64(36))
	again := Walk(t.Context(), w, o)
	require.Equal(t, r.Generated, again.Generated)
	o.Invariants = []Property[boxState]{never(3, true)}
	require.NotNil(t, Walk(t.Context(), w, o).Violation)
}

func TestSettles(t *testing.T) {
	w := boxes{n: 2, top: 5}
	ok := Search(t.Context(), w, Options[boxState]{Invariants: []Property[boxState]{Settles(w, 10)}})
	require.Equal(t, Exhausted, ok.Verdict)
	slow := Search(t.Context(), w, Options[boxState]{Invariants: []Property[boxState]{Settles(w, 9)}})
	require.Equal(t, Violated, slow.Verdict, "the initial state needs ten steps")
	require.Len(t, slow.Violations[0].Steps, 1)
}

// Symmetry is checked, not believed.
func TestCheckSymmetry(t *testing.T) {
	s := boxState{count: [4]uint8{1, 3}}
	require.NoError(t, CheckSymmetry(boxes{n: 2, top: 5}, nil, &s))
	require.ErrorContains(t, CheckSymmetry(boxes{n: 2, top: 5, asymmetry: true}, nil, &s), "does not commute")
	first := []Property[boxState]{{Name: "first", Holds: func(s *boxState) bool { return s.count[0] == 1 }}}
	require.ErrorContains(t, CheckSymmetry(boxes{n: 2, top: 5}, first, &s), "first holds in one only")
}

func TestGraph(t *testing.T) {
	g, err := Draw(boxes{n: 2, top: 1}, "boxes", []Property[boxState]{never(2, true)}, true, 100)
	require.NoError(t, err)
	require.Len(t, g.Nodes, 8)
	var page strings.Builder
	require.NoError(t, g.HTML(&page))
	require.Contains(t, page.String(), `"violates":["never"]`)
	require.NotContains(t, page.String(), "http://localhost")
	_, err = Draw(boxes{n: 4, top: 9}, "boxes", nil, true, 100)
	require.ErrorContains(t, err, "more than 100 states")
}
