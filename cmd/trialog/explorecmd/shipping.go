package explorecmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trialog/checker/explore"
)

// shipping is what the commands of worlds of machines that ship have in common: rules that are switched off, budgets of
// faults that are searched in turn, and whether the world converges.
type shipping struct {
	flags
	mutants []string
	settle  bool
}

// add declares the flags; faults is the budget of all kinds together.
func (s *shipping) add(fs *pflag.FlagSet, faults *int, settles string) {
	fs.IntVar(faults, "faults", 0, "most faults of all kinds together")
	fs.BoolVar(&s.settle, "settle", false, settles)
	fs.StringSliceVar(&s.mutants, "mutant", nil, "switch these rules off")
	s.flags.add(fs)
}

// kind is a kind of fault that has a budget of its own.
type kind struct {
	most       *int
	name, text string
}

// addKinds declares the budgets of kinds, which are as large as that of all together where they are not given.
func addKinds(fs *pflag.FlagSet, kinds ...kind) {
	for _, k := range kinds {
		fs.IntVar(k.most, k.name, explore.AsManyAsFaults, k.text+"; -1: as many as faults")
	}
}

// ruleRoom is a room whose rules may be switched off.
type ruleRoom struct {
	name string
	off  func(rule string) bool
}

// switchOff switches the rules of --mutant off.
func (s *shipping) switchOff(rooms ...ruleRoom) error {
	for _, name := range s.mutants {
		room, rule, _ := strings.Cut(name, ".")
		if !slices.ContainsFunc(rooms, func(r ruleRoom) bool { return r.name == room && r.off(rule) }) {
			return fmt.Errorf("explore: --mutant %q: no such rule of %s", name, either(rooms))
		}
	}
	return nil
}

// either is the names of rooms, as in "a, b or c".
func either(rooms []ruleRoom) string {
	text := rooms[0].name
	for i, r := range rooms[1:] {
		if i == len(rooms)-2 {
			text += " or " + r.name
		} else {
			text += ", " + r.name
		}
	}
	return text
}

// shippingWorld is a world of machines that ship.
type shippingWorld[S any] interface {
	explore.World[S]
	explore.Settler[S]
	Invariants() []explore.Property[S]
	Sometimes() []explore.Property[S]
}

// exploreShipping explores the world that make makes with a budget of so many faults, and before it those with fewer. steps
// bounds how long it may take to converge.
func exploreShipping[S any, W shippingWorld[S]](c *cobra.Command, f *shipping, faults, steps int, makeWorld func(faults int) (W, error),
	title func(W) string) error {
	w, err := makeWorld(faults)
	if err != nil {
		return fmt.Errorf("explore: --%w", err)
	}
	s := subject[S]{title: title(w), world: w, invariants: w.Invariants(), sometimes: w.Sometimes(), faults: faults}
	s.below = func(n int) (explore.World[S], error) { return makeWorld(n) }
	if f.settle {
		s.invariants = append(s.invariants, explore.Settles(w, steps))
	}
	if len(f.mutants) > 0 {
		s.title += ", without " + strings.Join(f.mutants, ", ")
	}
	return s.run(c, &f.flags)
}
