package explore

import "fmt"

// Settler is a world that can say what happens when no more faults come.
type Settler[S any] interface {
	// Heal is the next action of a fair schedule without faults; false when nothing is left to do.
	Heal(s *S) (Action, bool)
	// Settled: the world has converged.
	Settled(s *S) bool
}

// Settles is the property that from a state, without further faults, the world converges within so many steps. As an
// invariant of a search it finds what gets stuck.
func Settles[S any, W interface {
	World[S]
	Settler[S]
}](w W, steps int) Property[S] {
	return Property[S]{
		Name: "settles",
		Doc:  fmt.Sprintf("without further faults the world converges within %d steps", steps),
		Holds: func(s *S) bool {
			state := *s
			for range steps {
				if w.Settled(&state) {
					return true
				}
				a, ok := w.Heal(&state)
				if !ok {
					return false
				}
				var to S
				w.Step(&state, a, &to)
				state = to
			}
			return w.Settled(&state)
		},
	}
}
