package nemesis

import (
	"fmt"
	"slices"
	"time"

	"trialog/netsim/kernel"
)

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

// Bounds of what is drawn. Each fault has a slot of the plan's time for itself.
const (
	slotMin    = 500 * time.Millisecond
	downMin    = 50 * time.Millisecond
	downMax    = 2 * time.Second
	breakMax   = 4 * time.Second // of a link or a pause
	callsMax   = 600             // how far ahead a call is chosen
	slowMax    = 200 * time.Millisecond
	skewMax    = time.Hour
	throttleTo = 20_000  // bytes/s, at most
	roomTo     = 200_000 // bytes, at most
)

// profile is a set of faults, and perhaps a clean stop and start before the first of them.
type profile struct {
	name      string
	cleanStop bool // in half of the plans
	faults    []Fault
}

var profiles = []profile{
	{"kill", true, []Fault{{"kill", 4}, {"kill-call", 6}, {"kill-midwrite", 2}}},
	{"powercut", true, []Fault{{"powercut", 4}, {"powercut-call", 6}, {"powercut-midwrite", 2}, {"kill-call", 1}}},
	{"pause-partition", false, []Fault{{"pause", 4}, {"partition", 3}, {"cut", 4}, {"reset", 2}, {"hold", 1}}},
	{"torn", true, []Fault{{"kill-midwrite", 4}, {"torn", 2}, {"torn-call", 3}, {"torn-midwrite", 3}}},
}

// kind draws one fault. It sets everything but the time.
type kind struct {
	name string
	peer bool // needs Peers
	draw func(g *generator, s *Step)
}

var kinds = []kind{
	{"stop", false, func(g *generator, s *Step) { g.down(s, Stop) }},
	{"kill", false, func(g *generator, s *Step) { g.down(s, Kill) }},
	{"kill-call", false, func(g *generator, s *Step) { g.down(s, Kill); g.call(s) }},
	{"kill-midwrite", false, func(g *generator, s *Step) { g.down(s, Kill); g.midwrite(s) }},
	{"powercut", false, func(g *generator, s *Step) { g.power(s, false) }},
	{"powercut-call", false, func(g *generator, s *Step) { g.power(s, false); g.call(s) }},
	{"powercut-midwrite", false, func(g *generator, s *Step) { g.power(s, false); g.midwrite(s) }},
	{"torn", false, func(g *generator, s *Step) { g.power(s, true) }},
	{"torn-call", false, func(g *generator, s *Step) { g.power(s, true); g.call(s) }},
	{"torn-midwrite", false, func(g *generator, s *Step) { g.power(s, true); g.midwrite(s) }},
	{"pause", false, func(g *generator, s *Step) { g.down(s, Pause); s.For = g.span(downMin, breakMax) }},
	{"partition", true, (*generator).partition},
	{"cut", true, func(g *generator, s *Step) { g.link(s, CutLink, "") }},
	{"reset", true, func(g *generator, s *Step) { g.link(s, Link, Reset); s.For = 0 }},
	{"hold", true, func(g *generator, s *Step) { g.link(s, Link, Hold) }},
	{"delay", true, func(g *generator, s *Step) { g.link(s, Link, Delay); s.Amount = g.span(time.Millisecond, slowMax) }},
	{"throttle", true, func(g *generator, s *Step) { g.link(s, Link, Throttle); s.Number = g.rng.Between(1000, throttleTo) }},
	{"loss", true, func(g *generator, s *Step) { g.link(s, Link, Loss); s.Number = g.rng.Between(1, 30) }},
	{"clock", false, func(g *generator, s *Step) {
		g.one(s, Clock)
		if s.Amount = g.span(time.Millisecond, skewMax); g.rng.Chance(1, 2) {
			s.Amount = -s.Amount
		}
	}},
	{"disk-slow", false, func(g *generator, s *Step) { g.disk(s, Slow); s.Amount = g.span(time.Millisecond, slowMax) }},
	{"disk-stuck", false, func(g *generator, s *Step) { g.disk(s, Stuck) }},
	{"disk-full", false, func(g *generator, s *Step) { g.disk(s, Full) }},
	{"disk-room", false, func(g *generator, s *Step) { g.disk(s, Room); s.Number = g.rng.Between(0, roomTo) }},
	{"disk-short", false, func(g *generator, s *Step) { g.disk(s, Short) }},
	{"disk-eio-read", false, func(g *generator, s *Step) { g.disk(s, EIORead) }},
	{"disk-eio", false, func(g *generator, s *Step) { g.disk(s, []string{EIOWrite, EIOSync}[g.rng.Intn(2)]) }},
}

// Kinds lists the faults that Generate knows, for Spec.Faults.
func Kinds() []string {
	var list []string
	for _, k := range kinds {
		list = append(list, k.name)
	}
	return list
}

// Profiles lists the profiles that Generate knows.
func Profiles() []string {
	var list []string
	for _, p := range profiles {
		list = append(list, p.name)
	}
	return list
}

// generator draws one plan.
type generator struct {
	Spec
	rng   *kernel.Rand
	stop  bool
	total int // of the weights
}

// Generate draws a plan: one fault after the other, each undone before the next begins. It depends on rng and s only.
func Generate(rng *kernel.Rand, s Spec) (*Plan, error) {
	g := &generator{Spec: s, rng: rng}
	if err := g.check(); err != nil {
		return nil, fmt.Errorf("nemesis: generate: %w", err)
	}
	g.stop = g.stop && rng.Chance(1, 2)
	most := min(g.Budget.Faults, int((g.To-g.From)/slotMin))
	least := min(most, 1)
	if g.stop {
		least = min(most, 2)
	}
	count := int(rng.Between(int64(least), int64(most)))
	plan := &Plan{Budget: &Budget{Faults: g.Budget.Faults, Down: g.Budget.Down}}
	slot := (g.To - g.From) / time.Duration(max(count, 1))
	for i := range count {
		k := g.choose()
		if g.stop && i == 0 {
			k = kindNamed("stop")
		}
		plan.Steps = append(plan.Steps, g.fault(k, g.From+time.Duration(i)*slot, slot)...)
	}
	plan.Steps = append(plan.Steps, g.calm(plan)...)
	return plan, nil
}

// check fills in defaults and refuses what makes no plan.
func (g *generator) check() error {
	if g.Budget.Faults == 0 {
		g.Budget.Faults = 5
	}
	if g.Budget.Down == 0 {
		g.Budget.Down = 1
	}
	if g.Files == "" {
		g.Files = "*.log"
	}
	if g.Profile != "" {
		i := slices.IndexFunc(profiles, func(p profile) bool { return p.name == g.Profile })
		if i < 0 {
			return fmt.Errorf("there is no profile %q; there are %v", g.Profile, Profiles())
		}
		g.Faults, g.stop = profiles[i].faults, profiles[i].cleanStop
	}
	for _, f := range g.Faults {
		k := kindNamed(f.Kind)
		switch {
		case k == nil:
			return fmt.Errorf("there is no fault %q; there are %v", f.Kind, Kinds())
		case f.Weight < 0:
			return fmt.Errorf("fault %s: weight %d is negative", f.Kind, f.Weight)
		case k.peer && len(g.Peers) == 0:
			return fmt.Errorf("fault %s needs peers", f.Kind)
		}
		g.total += f.Weight
	}
	switch {
	case g.total == 0:
		return fmt.Errorf("no fault to choose from")
	case len(g.Targets) == 0:
		return fmt.Errorf("no targets")
	case g.From < 0 || g.To-g.From < slotMin:
		return fmt.Errorf("from %v to %v is shorter than %v", g.From, g.To, slotMin)
	case g.Budget.Faults < 0 || g.Budget.Down < 0:
		return fmt.Errorf("budget faults=%d down=%d is negative", g.Budget.Faults, g.Budget.Down)
	}
	return nil
}

func kindNamed(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}

func (g *generator) choose() *kind {
	at := g.rng.Intn(g.total)
	for _, f := range g.Faults {
		if at -= f.Weight; at < 0 {
			return kindNamed(f.Kind)
		}
	}
	panic("nemesis: weights do not add up")
}

// fault draws the steps of one slot: a fault, and for one that waits for a call a start at the end, which also gives
// up waiting.
func (g *generator) fault(k *kind, from, slot time.Duration) []Step {
	s := Step{At: milli(from + time.Duration(g.rng.Int63n(int64(slot)*2/5)))}
	k.draw(g, &s)
	end := milli(from + slot - time.Millisecond)
	s.For = min(s.For, milli((end-s.At)*3/4))
	steps := []Step{s}
	if s.Strike != (Strike{}) {
		steps = append(steps, Step{At: end, Verb: Start, Targets: s.Targets})
	}
	return steps
}

func milli(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// calm ends whatever may be left of the plan.
func (g *generator) calm(p *Plan) []Step {
	steps := []Step{{At: g.To, Verb: Heal}}
	if p.has(Disk) {
		steps = append(steps, Step{At: g.To, Verb: Disk, Targets: g.Targets, Mode: HealDisk})
	}
	if p.has(Pause) {
		steps = append(steps, Step{At: g.To, Verb: Resume, Targets: g.Targets})
	}
	if p.has(Kill) || p.has(Stop) || p.has(PowerCut) {
		steps = append(steps, Step{At: g.To, Verb: Start, Targets: g.Targets})
	}
	if !p.has(Partition) && !p.has(CutLink) && !p.has(Link) {
		steps = steps[1:]
	}
	return steps
}

func (p *Plan) has(v Verb) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Verb == v })
}

// span draws a duration so that short ones are as likely as long ones.
func (g *generator) span(least, most time.Duration) time.Duration {
	return max(milli(time.Duration(g.spread(int64(least), int64(most)))), time.Millisecond)
}

// spread draws a doubling of least and then a number in it. It needs no logarithms, which machines round differently.
func (g *generator) spread(least, most int64) int64 {
	doublings := 0
	for least<<(doublings+1) <= most {
		doublings++
	}
	from := least << g.rng.Intn(doublings+1)
	return g.rng.Between(from, min(2*from, most))
}

// one sets verb, one target and a duration.
func (g *generator) one(s *Step, v Verb) {
	s.Verb, s.Targets = v, []string{g.pick(g.Targets)}
	s.For = g.span(downMin, breakMax)
}

func (g *generator) pick(list []string) string { return list[g.rng.Intn(len(list))] }

// down is one for what takes a process away; sometimes as many as the budget allows.
func (g *generator) down(s *Step, v Verb) {
	g.one(s, v)
	s.For = g.span(downMin, downMax)
	for len(s.Targets) < min(g.Budget.Down, len(g.Targets)) && g.rng.Chance(1, 3) {
		if t := g.pick(g.Targets); !slices.Contains(s.Targets, t) {
			s.Targets = append(s.Targets, t)
		}
	}
}

func (g *generator) power(s *Step, torn bool) {
	g.down(s, PowerCut)
	s.Torn = torn
	s.Lose = []string{"unsynced", "some", "some"}[g.rng.Intn(3)]
}

func (g *generator) call(s *Step) {
	s.Strike = Strike{Call: g.spread(1, callsMax), Relative: true, After: g.rng.Chance(1, 2)}
}

func (g *generator) midwrite(s *Step) { s.Strike = Strike{MidWrite: g.Files} }

// partition keeps one target away from some peers, or from all and the other targets.
func (g *generator) partition(s *Step) {
	g.one(s, Partition)
	lonely := s.Targets
	s.Targets = nil
	all := g.rng.Chance(1, 2)
	var others []string
	for _, name := range append(slices.Clone(g.Targets), g.Peers...) {
		if !slices.Contains(lonely, name) && !slices.Contains(others, name) && (all || g.rng.Chance(1, 2)) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		others = []string{g.pick(g.Peers)}
	}
	s.Groups = [][]string{lonely, others}
}

// link picks a target, a peer and a direction.
func (g *generator) link(s *Step, v Verb, mode string) {
	g.one(s, v)
	s.From, s.To, s.Mode = s.Targets[0], g.pick(g.Peers), mode
	s.Targets = nil
	if g.rng.Chance(1, 2) {
		s.From, s.To = s.To, s.From
	}
}

func (g *generator) disk(s *Step, mode string) {
	g.one(s, Disk)
	s.Mode = mode
}
