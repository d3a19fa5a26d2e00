package nemesis

import "fmt"

// World is a place where plans run.
type World string

// The worlds.
const (
	Sim  World = "sim"
	Real World = "real"
)

const (
	noNamespaces = "links of real processes cannot be touched"
	noPower      = "a real machine keeps its power"
	noClock      = "real processes share one clock"
	noDisk       = "a real disk has no faults to order"
	noAdmin      = "it has no client of the system"
	noTriggers   = "steps are triggered by times and system calls only"
	noCalls      = "calls of a real process are not counted"
)

// table says, verb by verb, why a world cannot express it; "" where it can.
var table = []struct {
	verb      Verb
	sim, real string
}{
	{Partition, "", noNamespaces},
	{CutLink, "", noNamespaces},
	{Heal, "", noNamespaces},
	{Kill, "", ""},
	{Stop, "", ""},
	{Start, "", ""},
	{Restart, "", ""},
	{PowerCut, "", noPower},
	{Pause, "", ""},
	{Resume, "", ""},
	{Clock, "", noClock},
	{Link, "", noNamespaces},
	{Conn, "", noNamespaces},
	{Disk, "", noDisk},
	{Wipe, "", noDisk},
	{Elect, noAdmin, noAdmin},
	{Reassign, noAdmin, noAdmin},
	{Alter, noAdmin, noAdmin},
	{Create, noAdmin, noAdmin},
	{Delete, noAdmin, noAdmin},
}

// Obstacle says why a world cannot execute the step, "" if it can.
func (s *Step) Obstacle(w World) string {
	if s.On != nil {
		return noTriggers
	}
	if s.Strike != (Strike{}) && w == Real {
		return noCalls
	}
	for _, row := range table {
		if row.verb == s.Verb {
			if w == Sim {
				return row.sim
			}
			return row.real
		}
	}
	return fmt.Sprintf("there is no verb %q", s.Verb)
}

// Inexpressible lists the steps that this world cannot execute, each as `name:LINE: step: not expressible in WORLD:
// why`. Such a plan must not be run. A generated plan has no lines and counts its steps.
func (p *Plan) Inexpressible(name string, w World) []string {
	var list []string
	for i := range p.Steps {
		s := &p.Steps[i]
		line := s.Line
		if line == 0 {
			line = i + 1
		}
		if why := s.Obstacle(w); why != "" {
			list = append(list, fmt.Sprintf("%s:%d: %s: not expressible in %s: %s", name, line, s, w, why))
		}
	}
	return list
}
