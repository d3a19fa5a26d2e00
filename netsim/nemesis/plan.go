package nemesis

import (
	"fmt"
	"slices"
	"time"
)

// Verb names what a step does.
type Verb string

// The verbs.
const (
	Partition Verb = "partition"
	CutLink   Verb = "cut"
	Heal      Verb = "heal"
	Kill      Verb = "kill"
	Stop      Verb = "stop"
	Start     Verb = "start"   // no effect on a running process, but its armed strikes are dropped
	Restart   Verb = "restart" // kill if it runs, then start
	PowerCut  Verb = "powercut"
	Pause     Verb = "pause"
	Resume    Verb = "resume"
	Clock     Verb = "clock"
	Link      Verb = "link"
	Conn      Verb = "conn"
	Disk      Verb = "disk"
	Wipe      Verb = "wipe"
	Elect     Verb = "elect"
	Reassign  Verb = "reassign"
	Alter     Verb = "alter"
	Create    Verb = "create"
	Delete    Verb = "delete"
)

// Modes of link, conn and disk.
const (
	Drop     = "drop"
	Delay    = "delay"    // Amount
	Throttle = "throttle" // Number, bytes/s
	Loss     = "loss"     // Number, percent
	Reset    = "reset"
	Hold     = "hold"
	Release  = "release"
	Slow     = "slow" // Amount
	Stuck    = "stuck"
	Full     = "full"
	Room     = "room"  // Number, bytes
	Short    = "short" // writes
	EIORead  = "eio read"
	EIOWrite = "eio write"
	EIOSync  = "eio sync"
	Flip     = "flip" // Pattern, Number = offset
	HealDisk = "heal"
)

// Strike ties kill, powercut or pause to a system call of the target. The zero value means at once.
type Strike struct {
	Call     int64  // number of the call, from 1; 0: none
	Relative bool   // Call counts from the moment the step is due
	After    bool   // strike after the call instead of before
	MidWrite string // pattern of file paths: in the middle of the next write to such a file
}

// Step is one line of a plan.
type Step struct {
	Line int // in the text it was parsed from, from 1; not part of equality

	At time.Duration // virtual time since the start of the world; when On is nil
	On *Trigger

	Verb    Verb
	Targets []string   // kill, stop, start, restart, powercut, pause, resume, clock, disk, wipe: one or more
	Groups  [][]string // partition: two or more
	From    string     // cut, link, conn, and heal of one link
	To      string
	Nth     int // conn: which connection of those from From to To; 0 all

	Strike  Strike
	Lose    string // powercut: "" or "unsynced", "some", "none"
	Torn    bool   // powercut
	Mode    string // link, conn, disk
	Amount  time.Duration
	Number  int64
	Pattern string
	Args    []string // admin verbs, as written

	// For undoes the step so long after it took effect; what kill, stop and powercut took down is started again.
	// 0: never.
	For time.Duration
}

// Trigger is an event to wait for, as data: the world resolves it.
type Trigger struct {
	Words []string // e.g. "leader(t-0)" "acked" "10"
}

// Budget is what a plan promises to stay inside.
type Budget struct {
	Faults int // steps that hurt, at most
	Down   int // processes down or paused at once, at most
}

// Plan is a list of steps in the order of the text.
type Plan struct {
	Name   string  // where it was parsed from; not part of equality
	Budget *Budget // nil: none stated
	Steps  []Step
}

// Place names a step of the plan in messages: the plan's name and the step's line, or its number in a generated plan.
func (p *Plan) Place(s *Step) string {
	name, line := p.Name, s.Line
	if name == "" {
		name = "plan"
	}
	for i := range p.Steps {
		if line == 0 && s == &p.Steps[i] {
			line = i + 1
		}
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// Equal compares two plans by all but names and line numbers.
func (p *Plan) Equal(q *Plan) bool {
	if (p.Budget == nil) != (q.Budget == nil) || (p.Budget != nil && *p.Budget != *q.Budget) {
		return false
	}
	return slices.EqualFunc(p.Steps, q.Steps, func(a, b Step) bool { return a.equal(&b) })
}

func (s *Step) equal(o *Step) bool {
	if (s.On == nil) != (o.On == nil) || (s.On != nil && !slices.Equal(s.On.Words, o.On.Words)) {
		return false
	}
	return s.At == o.At && s.Verb == o.Verb && slices.Equal(s.Targets, o.Targets) &&
		slices.EqualFunc(s.Groups, o.Groups, slices.Equal[[]string]) &&
		s.From == o.From && s.To == o.To && s.Nth == o.Nth && s.Strike == o.Strike &&
		s.Lose == o.Lose && s.Torn == o.Torn && s.Mode == o.Mode && s.Amount == o.Amount &&
		s.Number == o.Number && s.Pattern == o.Pattern && slices.Equal(s.Args, o.Args) && s.For == o.For
}

// Hurts tells whether the step is a fault, not the end of one.
func (s *Step) Hurts() bool {
	switch s.Verb {
	case Heal, Start, Resume:
		return false
	case Link, Conn, Disk:
		return s.Mode != Release && s.Mode != HealDisk
	case Elect, Reassign, Alter, Create, Delete:
		return false
	}
	return true
}
