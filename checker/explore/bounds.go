package explore

import "fmt"

// Bound is one number that bounds a world, and what it may be.
type Bound struct {
	name           string
	have, low, top int
}

// Within is the bound that a number, named as its flag is, keeps to low and top.
func Within(name string, have, low, top int) Bound { return Bound{name, have, low, top} }

// CheckBounds names the first number that is out of range.
func CheckBounds(bounds ...Bound) error {
	for _, b := range bounds {
		if b.have < b.low || b.have > b.top {
			return fmt.Errorf("%s %d: want %d to %d", b.name, b.have, b.low, b.top)
		}
	}
	return nil
}

// AsManyAsFaults is a budget of one kind of fault that only the total bounds.
const AsManyAsFaults = -1

// CapBudgets makes the budget of each kind no larger than the total of all.
func CapBudgets(total int, kinds ...*int) error {
	for _, most := range kinds {
		if *most == AsManyAsFaults || *most > total {
			*most = total
		}
		if *most < 0 {
			return fmt.Errorf("a budget of %d: want 0 or more, or -1 for as many as faults", *most)
		}
	}
	return nil
}
