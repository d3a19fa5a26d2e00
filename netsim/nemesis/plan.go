package nemesis

import (
	"time"

	"trialog/netsim/kernel"
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
	Lose    string // powercut: "unsynced" (default), "some", "none"
	Torn    bool   // powercut
	Mode    string // link, conn, disk
	Amount  time.Duration
	Number  int64
	Pattern string
	Args    []string // admin verbs, as written

	For time.Duration // undo after; 0: never
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
	Budget *Budget // nil: none stated
	Steps  []Step
}

// Parse reads a plan. Errors read `name:LINE: what and where`.
func Parse(name, text string) (*Plan, error) { panic("nemesis: Parse") }

// String prints the plan so that Parse reads it back.
func (p *Plan) String() string { panic("nemesis: String") }

// String prints the step as one line.
func (s *Step) String() string { panic("nemesis: String") }

// Equal compares two plans by all but line numbers.
func (p *Plan) Equal(q *Plan) bool { panic("nemesis: Equal") }

// World is a place where plans run.
type World string

// The worlds.
const (
	Sim  World = "sim"
	Real World = "real"
)

// Inexpressible lists the steps that this world cannot execute, each as `name:LINE: step: not expressible in WORLD:
// why`. Such a plan must not be run.
func (p *Plan) Inexpressible(name string, w World) []string { panic("nemesis: Inexpressible") }

// Fault is a kind of fault that Generate may choose, with its relative weight.
type Fault struct {
	Kind   string // see Kinds
	Weight int
}

// Spec says what to generate.
type Spec struct {
	Profile string  // "kill", "powercut", "pause-partition", "torn"; "" to choose from Faults
	Faults  []Fault // used when Profile is ""
	Targets []string
	Peers   []string // who talks to the targets; the other side of network faults
	From    time.Duration
	To      time.Duration // everything is undone by then
	Budget  Budget        // zero fields mean the defaults, 5 and 1
	Files   string        // pattern for kills in the middle of a write; default "*.log"
}

// Generate draws a plan.
func Generate(rng *kernel.Rand, s Spec) (*Plan, error) { panic("nemesis: Generate") }
