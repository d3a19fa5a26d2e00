// Package explore walks every reachable state of a closed world.
//
// It owns: breadth-first search with provably shortest counterexamples, the set of visited states, symmetry, coverage,
// walks at random, and the check that a world settles when faults end. It knows nothing of what a world is about, and
// never decides what is right: invariants are the world's.
//
// A run says "exhausted" only when every state within the world's own bounds was visited. One that was capped or
// interrupted says "not exhausted", and how far it came.
//
// Search goes level by level, and each level in blocks. All workers first make the successors of a block and look them up,
// without changing anything; then each worker enters those of its own shards, in the order of the block. So numbers,
// counterexamples and the order of states are the same for every count of workers.
//
// Invariants of the search:
//
//	X1  a state is visited at its smallest depth, so the first violation found is one of the shortest
//	X2  a state's number, once given, does not change; its parent's number is given before
//	X3  replaying the choices of a state from its initial state leads to that state
package explore

import (
	"fmt"
	"time"
)

// Action is one step that is enabled in a state, as its world numbers it.
type Action uint32

// Perm renames replicas: replica r becomes Perm[r]. nil renames nothing.
type Perm []uint8

// World is a transition system over states of type S. Its methods may be called by several goroutines at once and must
// depend on their arguments only.
type World[S any] interface {
	// Init is the initial states.
	Init() []S
	// Enabled appends the actions that are enabled in s, at most 65,535, in an order that depends on s alone.
	Enabled(s *S, to []Action) []Action
	// Step makes of from, by an action that is enabled there, the next state in *to, which holds anything before. It
	// returns which of the world's branches the step went through, as bits.
	Step(from *S, a Action, to *S) (branches uint64)
	// Encode appends bytes that are equal for equal states only, of s with its replicas renamed.
	Encode(s *S, p Perm, to []byte) []byte
	// Permute makes s with its replicas renamed in *to.
	Permute(s *S, p Perm, to *S)
	// Perms is the group of renamings under which the world does not change, the identity first.
	Perms() []Perm
	// Kinds names the kinds of actions, and Kind is the index of an action's kind among them.
	Kinds() []string
	Kind(a Action) int
	// Describe says in a few words what the action does in s, Show what s is, on one line.
	Describe(s *S, a Action) string
	Show(s *S) string
}

// Brancher is a world that counts which branches its steps go through: at most 64.
type Brancher interface{ Branches() []string }

// Property is a named predicate of a state.
type Property[S any] struct {
	Name  string
	Doc   string
	Holds func(*S) bool
}

// Mode says what stands for a state in the set of visited ones.
type Mode int

// Modes. With hashes two states may be taken for one; Result.Collision estimates how likely that is.
const (
	Hash64  Mode = iota // 8 bytes of a hash
	Hash128             // 16 bytes of a hash
	Exact               // all bytes
)

// String is the mode's name on the command line.
func (m Mode) String() string { return [...]string{"64", "128", "exact"}[m] }

// ParseMode is the inverse of String.
func ParseMode(text string) (Mode, error) {
	for m := Hash64; m <= Exact; m++ {
		if m.String() == text {
			return m, nil
		}
	}
	return 0, fmt.Errorf("mode %q: want 64, 128 or exact", text)
}

// Options of a search. Zero values: everything, on one core, without an end.
type Options[S any] struct {
	Invariants []Property[S]
	// Sometimes are properties that a search must meet, or its silence means nothing.
	Sometimes  []Property[S]
	NoSymmetry bool
	Mode       Mode
	Seed       uint64 // of the hash: another seed must give the same counts
	Workers    int
	MaxStates  uint64 // 0: no cap
	MaxBytes   uint64 // of the heap; 0: no cap
	MaxDepth   int    // levels; 0: no cap
	// KeepGoing goes on after a violation until every invariant has one, or all states are visited.
	KeepGoing bool
	// Progress is called now and then by the goroutine that called Search.
	Progress func(Progress)
}

// Progress is how far a search is.
type Progress struct {
	Depth               int
	Distinct, Generated uint64
	Frontier            int // states of the level that are still to be expanded
	HeapBytes           uint64
	Elapsed             time.Duration
}

// Verdict is how a search ended.
type Verdict string

// Verdicts.
const (
	Exhausted    Verdict = "exhausted"     // every state was visited
	Violated     Verdict = "violated"      // and the search ended there, unless KeepGoing
	NotExhausted Verdict = "not exhausted" // capped or interrupted
)

// Result of a search. Everything but Seconds, HeapBytes and BytesPerState is a function of world and options.
type Result struct {
	Verdict   Verdict `json:"verdict"`
	Why       string  `json:"why,omitempty"` // of NotExhausted
	Distinct  uint64  `json:"distinct"`
	Generated uint64  `json:"generated"` // successors made, and initial states
	// Depth counts levels, the initial states being 1 (as TLC does). Of a search that was cut short it is the number of
	// levels that are complete.
	Depth      int         `json:"depth"`
	Violations []Violation `json:"violations,omitempty"` // in the order in which they were found
	Kinds      []Count     `json:"kinds"`
	Branches   []Count     `json:"branches,omitempty"`
	Sometimes  []Witness   `json:"sometimes,omitempty"`
	Mode       string      `json:"mode"`
	Perms      int         `json:"permutations"`
	// Collision estimates the probability that some state was missed because its hash was another's.
	Collision     float64 `json:"collision"`
	BytesPerState float64 `json:"bytes_per_state"` // of the set of visited states
	HeapBytes     uint64  `json:"heap_bytes"`
	Seconds       float64 `json:"seconds"`
}

// Count is how often an action kind or a branch was taken.
type Count struct {
	Name string `json:"name"`
	N    uint64 `json:"n"`
}

// Violation is an invariant and a shortest way to a state in which it does not hold.
type Violation struct {
	Invariant string `json:"invariant"`
	Steps     []Step `json:"steps"`
}

// Witness is a way to a state in which a Sometimes property holds; none if there is no such state among those visited.
type Witness struct {
	Name  string `json:"name"`
	Found bool   `json:"found"`
	Depth int    `json:"depth,omitempty"`
}

// Step is one line of a counterexample. The first one has no action: it is the initial state.
type Step struct {
	Action string `json:"action,omitempty"`
	State  string `json:"state"`
}

// Text is the counterexample as lines: number, action, and state.
func (v *Violation) Text() string {
	width := 0
	for _, s := range v.Steps {
		width = max(width, len(s.Action))
	}
	text := fmt.Sprintf("%s is violated after %d steps:\n", v.Invariant, len(v.Steps)-1)
	for i, s := range v.Steps {
		text += fmt.Sprintf("%4d  %-*s  %s\n", i, width, s.Action, s.State)
	}
	return text
}
