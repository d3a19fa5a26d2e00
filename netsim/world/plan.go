package world

import (
	"fmt"
	"strings"
	"time"

	"trialog/netsim/disk"
	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
)

// strike is a fault armed on a system call of a process.
type strike struct {
	step *nemesis.Step
	trap *kernel.Trap
}

// check refuses a plan that names a process which is not there. Roles can only be known when they are resolved.
func (w *world) check(plan *nemesis.Plan) error {
	if w.spec.Resolve != nil {
		return nil
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if s.On != nil {
			continue // never struck, and reported so
		}
		names := append([]string(nil), s.Targets...)
		if s.From != "" {
			names = append(names, s.From, s.To)
		}
		for _, g := range s.Groups {
			names = append(names, g...)
		}
		if _, err := w.targets(names); err != nil {
			return fmt.Errorf("%s: %s: %w", plan.Place(s), s, err)
		}
	}
	return nil
}

// schedule puts every step of the plan into the event queue.
func (w *world) schedule(plan *nemesis.Plan) {
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if s.On != nil {
			w.miss(s)
			continue
		}
		w.pending++
		w.k.After(s.At.Nanoseconds(), func() {
			w.pending--
			if err := w.do(s); err != nil && w.err == nil {
				w.err = fmt.Errorf("%s: %s: %w", plan.Place(s), s, err)
			}
		})
	}
}

func (w *world) miss(s *nemesis.Step) { w.missed = append(w.missed, s.String()) }

// note records that a fault happened (or was undone), for the result and the trace.
func (w *world) note(verb nemesis.Verb, target, text string) {
	w.faults = append(w.faults, Fault{At: time.Duration(w.k.Now()), Verb: string(verb), Target: target, Text: text})
	w.k.Note(target, "fault: "+text, 0, 0, 0)
}

// later undoes a step after its duration.
func (w *world) later(s *nemesis.Step, target, text string, undo func()) {
	if s.For <= 0 {
		return
	}
	w.pending++
	w.k.After(s.For.Nanoseconds(), func() {
		w.pending--
		undo()
		w.note(s.Verb, target, text+" ends")
	})
}

// revive starts a node again that a step took down, after the step's duration.
func (w *world) revive(s *nemesis.Step, n *node) {
	if s.For <= 0 {
		return
	}
	w.pending++
	w.k.After(s.For.Nanoseconds(), func() {
		w.pending--
		w.startOrQueue(n)
		w.note(nemesis.Start, n.spec.Name, "start "+n.spec.Name)
	})
}

func (w *world) do(s *nemesis.Step) error {
	switch s.Verb {
	case nemesis.Partition, nemesis.CutLink, nemesis.Heal, nemesis.Link, nemesis.Conn:
		return w.doNetwork(s)
	case nemesis.Kill, nemesis.Stop, nemesis.Start, nemesis.Restart, nemesis.PowerCut, nemesis.Pause,
		nemesis.Resume, nemesis.Clock, nemesis.Disk, nemesis.Wipe:
		nodes, err := w.targets(s.Targets)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if err := w.doNode(s, n); err != nil {
				return err
			}
		}
		return nil
	default: // admin verbs need a client of the system under test, which a world does not have
		w.miss(s)
		return nil
	}
}

// targets resolves names and roles.
func (w *world) targets(names []string) ([]*node, error) {
	var out []*node
	for _, name := range names {
		if n := w.node(name); n != nil {
			out = append(out, n)
			continue
		}
		if w.spec.Resolve == nil {
			return nil, fmt.Errorf("no process is called %q", name)
		}
		resolved, err := w.spec.Resolve(name)
		if err != nil {
			return nil, err
		}
		for _, r := range resolved {
			n := w.node(r)
			if n == nil {
				return nil, fmt.Errorf("role %q is %q, which is no process", name, r)
			}
			out = append(out, n)
		}
	}
	return out, nil
}

func (w *world) doNode(s *nemesis.Step, n *node) error {
	name := n.spec.Name
	text := strings.TrimSpace(string(s.Verb) + " " + name)
	switch s.Verb {
	case nemesis.Kill, nemesis.PowerCut, nemesis.Pause:
		w.strikeOrHit(s, n)
	case nemesis.Stop:
		if n.alive() {
			n.stdin.End()
			w.note(s.Verb, name, text)
			w.revive(s, n)
		}
	case nemesis.Start:
		w.disarm(n)
		w.startOrQueue(n)
		w.note(s.Verb, name, text)
	case nemesis.Restart:
		w.disarm(n)
		if n.alive() {
			w.k.Kill(n.proc, kernel.ReasonKill)
		}
		w.start(n)
		w.note(s.Verb, name, text)
	case nemesis.Resume:
		if n.alive() {
			n.proc.Resume()
		}
		w.note(s.Verb, name, text)
	case nemesis.Clock:
		n.host.WallOffset += s.Amount.Nanoseconds()
		w.note(s.Verb, name, s.String())
		w.later(s, name, text, func() { n.host.WallOffset -= s.Amount.Nanoseconds() })
	case nemesis.Disk:
		return w.doDisk(s, n)
	case nemesis.Wipe:
		n.disk.Wipe()
		if err := w.install(n); err != nil {
			return err
		}
		w.note(s.Verb, name, text)
	}
	return nil
}

// startOrQueue starts the node, or lets it start when the stop it was told to make is done.
func (w *world) startOrQueue(n *node) {
	if n.alive() {
		n.again = n.stdin.Ready(kernel.Readable)
		return
	}
	w.start(n)
}

// strikeOrHit applies kill, powercut or pause at once, or arms it on a call.
func (w *world) strikeOrHit(s *nemesis.Step, n *node) {
	st := s.Strike
	if st == (nemesis.Strike{}) {
		w.hit(s, n)
		return
	}
	if !n.alive() {
		w.miss(s)
		return
	}
	trap := &kernel.Trap{Call: st.Call}
	if st.Relative {
		trap.Call += n.proc.CallNumber()
	}
	switch {
	case st.MidWrite != "":
		trap.When = kernel.Middle
		trap.Match = func(c kernel.Call) bool { return disk.Match(st.MidWrite, disk.PathOf(c.File)) }
	case st.After:
		trap.When = kernel.After
	}
	a := &strike{step: s, trap: trap}
	trap.Fire = func(*kernel.Proc) {
		w.drop(n, a)
		w.hit(s, n)
	}
	n.strikes = append(n.strikes, a)
	n.proc.SetTrap(trap)
}

func (w *world) drop(n *node, a *strike) {
	for i, have := range n.strikes {
		if have == a {
			n.strikes = append(n.strikes[:i:i], n.strikes[i+1:]...)
			return
		}
	}
}

// disarm gives up the strikes that have not fired.
func (w *world) disarm(n *node) {
	for _, a := range n.strikes {
		n.proc.RemoveTrap(a.trap)
		w.miss(a.step)
	}
	n.strikes = nil
}

// hit applies kill, powercut or pause now.
func (w *world) hit(s *nemesis.Step, n *node) {
	name := n.spec.Name
	text := strings.TrimSpace(string(s.Verb) + " " + name)
	switch s.Verb {
	case nemesis.Kill:
		if n.alive() {
			n.again = false // whoever is killed stays down, whatever was to follow a stop
			w.note(s.Verb, name, text)
			w.k.Kill(n.proc, kernel.ReasonKill)
			w.revive(s, n)
		}
	case nemesis.PowerCut:
		n.cutOff, n.again = true, false
		w.note(s.Verb, name, text)
		w.net.HostDown(name)
		if n.alive() {
			w.k.Kill(n.proc, kernel.ReasonPowerCut)
		}
		n.disk.PowerCut(cutOf(s))
		w.revive(s, n)
	case nemesis.Pause:
		if !n.alive() {
			return
		}
		p := n.proc
		p.Pause()
		w.note(s.Verb, name, text)
		w.later(s, name, text, func() {
			if p.Alive() {
				p.Resume()
			}
		})
	}
}

func cutOf(s *nemesis.Step) disk.Cut {
	c := disk.Cut{Torn: s.Torn}
	switch s.Lose {
	case "some":
		c.Lose = disk.LoseSome
	case "none":
		c.Lose = disk.LoseNone
	}
	return c
}

func (w *world) doDisk(s *nemesis.Step, n *node) error {
	d, name := n.disk, n.spec.Name
	undo := func() {}
	switch s.Mode {
	case nemesis.Slow:
		d.Slow(s.Amount)
		undo = func() { d.Slow(0) }
	case nemesis.Stuck:
		d.Stick()
		undo = d.Release
	case nemesis.Full:
		d.Full(true)
		undo = func() { d.Full(false) }
	case nemesis.Room:
		d.Room(s.Number)
		undo = func() { d.Room(-1) }
	case nemesis.Short:
		d.ShortWrites(true)
		undo = func() { d.ShortWrites(false) }
	case nemesis.EIORead:
		d.FailReads(true)
		undo = func() { d.FailReads(false) }
	case nemesis.EIOWrite:
		d.FailWrites(true)
		undo = func() { d.FailWrites(false) }
	case nemesis.EIOSync:
		d.FailSyncs(true)
		undo = func() { d.FailSyncs(false) }
	case nemesis.HealDisk:
		d.Heal()
	case nemesis.Flip:
		if _, err := d.Flip(s.Pattern, s.Number, disk.FlipBoth); err != nil {
			w.miss(s)
			return nil
		}
	default:
		return fmt.Errorf("unknown disk fault %q", s.Mode)
	}
	w.note(s.Verb, name, s.String())
	w.later(s, name, "disk "+name+" "+s.Mode, undo)
	return nil
}

func (w *world) doNetwork(s *nemesis.Step) error {
	link := s.From + "->" + s.To
	switch s.Verb {
	case nemesis.Partition:
		groups, err := w.groups(s.Groups)
		if err != nil {
			return err
		}
		w.net.Partition(groups...)
		w.note(s.Verb, "", s.String())
		w.later(s, "", "partition", func() { w.net.HealPartition(groups...) })
		return nil
	case nemesis.Heal:
		if s.From == "" {
			w.net.HealAll()
			w.note(s.Verb, "", "heal")
			return nil
		}
		return w.eachLink(s, w.net.HealLink)
	case nemesis.CutLink:
		if err := w.eachLink(s, w.net.Cut); err != nil {
			return err
		}
		w.later(s, link, "cut", func() { _ = w.eachLink(s, w.net.Heal) })
		return nil
	case nemesis.Conn:
		return w.doConn(s)
	default:
		return w.doLink(s, link)
	}
}

func (w *world) doLink(s *nemesis.Step, link string) error {
	var on, off func(a, b string)
	switch s.Mode {
	case nemesis.Drop:
		on, off = w.net.Cut, w.net.Heal
	case nemesis.Delay:
		on = func(a, b string) { w.net.Delay(a, b, s.Amount) }
		off = func(a, b string) { w.net.Delay(a, b, 0) }
	case nemesis.Throttle:
		on = func(a, b string) { w.net.Throttle(a, b, s.Number) }
		off = func(a, b string) { w.net.Throttle(a, b, 0) }
	case nemesis.Loss:
		on = func(a, b string) { w.net.Lossy(a, b, int(s.Number)) }
		off = func(a, b string) { w.net.Lossy(a, b, 0) }
	case nemesis.Hold:
		on, off = w.net.Hold, w.net.Release
	case nemesis.Reset:
		on = w.net.ResetLink
	case nemesis.Release:
		on = w.net.Release
	default:
		return fmt.Errorf("unknown link fault %q", s.Mode)
	}
	if err := w.eachLink(s, on); err != nil {
		return err
	}
	if off != nil {
		w.later(s, link, "link "+link+" "+s.Mode, func() { _ = w.eachLink(s, off) })
	}
	return nil
}

// eachLink applies a fault to every pair that the step's two ends resolve to.
func (w *world) eachLink(s *nemesis.Step, do func(a, b string)) error {
	from, err := w.targets([]string{s.From})
	if err != nil {
		return err
	}
	to, err := w.targets([]string{s.To})
	if err != nil {
		return err
	}
	for _, a := range from {
		for _, b := range to {
			do(a.spec.Name, b.spec.Name)
		}
	}
	w.note(s.Verb, s.From+"->"+s.To, s.String())
	return nil
}

func (w *world) doConn(s *nemesis.Step) error {
	return w.eachLink(s, func(a, b string) {
		n := 0
		switch s.Mode {
		case nemesis.Hold:
			n = w.net.HoldConn(a, b, s.Nth)
			w.later(s, a+"->"+b, "conn hold", func() { w.net.ReleaseConn(a, b, s.Nth) })
		case nemesis.Release:
			n = w.net.ReleaseConn(a, b, s.Nth)
		case nemesis.Reset:
			n = w.net.ResetConn(a, b, s.Nth)
		}
		if n == 0 {
			w.miss(s)
		}
	})
}

func (w *world) groups(groups [][]string) ([][]string, error) {
	out := make([][]string, len(groups))
	for i, g := range groups {
		nodes, err := w.targets(g)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			out[i] = append(out[i], n.spec.Name)
		}
	}
	return out, nil
}
