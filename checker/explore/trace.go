package explore

import "fmt"

// path is the choices that lead to a state: the index of the initial state first, then of each action among the enabled.
func (s *search[S]) path(ref uint32) []uint16 {
	var back []uint16
	for ref != noRef {
		parent, choice := s.store.parent(ref)
		back = append(back, choice)
		ref = parent
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// steps is the way to a state, as text.
func (s *search[S]) steps(ref uint32) []Step { return Replay(s.world, s.path(ref)) }

// Replay takes the choices one after the other and tells what happens. It panics when one is not there (X3).
func Replay[S any](w World[S], path []uint16) []Step {
	if len(path) == 0 {
		return nil
	}
	state := w.Init()[path[0]]
	steps := []Step{{State: w.Show(&state)}}
	for i, choice := range path[1:] {
		actions := w.Enabled(&state, nil)
		if int(choice) >= len(actions) {
			panic(fmt.Sprintf("explore: step %d takes choice %d of %d in %s", i+1, choice, len(actions), w.Show(&state)))
		}
		text := w.Describe(&state, actions[choice])
		var to S
		w.Step(&state, actions[choice], &to)
		state = to
		steps = append(steps, Step{Action: text, State: w.Show(&state)})
	}
	return steps
}
