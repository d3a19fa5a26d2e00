package explore

import (
	"bytes"
	"fmt"
	"sort"
)

// CheckSymmetry reports the first way in which a renaming changes what the world does in the state s: the encoding of the
// renamed state must be the renamed encoding, the successors of the renamed state the renamed successors, and no invariant
// may tell them apart. A search with symmetry silently misses states when this does not hold somewhere.
func CheckSymmetry[S any](w World[S], invariants []Property[S], s *S) error {
	for _, p := range w.Perms() {
		var renamed S
		w.Permute(s, p, &renamed)
		if !bytes.Equal(w.Encode(s, p, nil), w.Encode(&renamed, nil, nil)) {
			return fmt.Errorf("renaming %v: encoding with it and encoding what it makes differ in %s", p, w.Show(s))
		}
		for _, inv := range invariants {
			if inv.Holds(s) != inv.Holds(&renamed) {
				return fmt.Errorf("renaming %v: %s holds in one only: %s and %s", p, inv.Name, w.Show(s), w.Show(&renamed))
			}
		}
		if there, here := successors(w, &renamed, nil), successors(w, s, p); !bytes.Equal(there, here) {
			return fmt.Errorf("renaming %v: it does not commute with the steps of %s", p, w.Show(s))
		}
	}
	return nil
}

// successors is the encodings of all successors, renamed, in order.
func successors[S any](w World[S], s *S, p Perm) []byte {
	var all []string
	for _, a := range w.Enabled(s, nil) {
		var to S
		w.Step(s, a, &to)
		all = append(all, fmt.Sprintf("%d:%x", w.Kind(a), w.Encode(&to, p, nil)))
	}
	sort.Strings(all)
	return fmt.Append(nil, all)
}
