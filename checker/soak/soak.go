package soak

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"trialog/checker/court"
	"trialog/checker/court/experiment"
	"trialog/netsim/disk"
	"trialog/netsim/kernel"
)

//go:embed soak.txtar
var text string

// every is the time between two samples.
const every = 10 * time.Second

// Options of a soak.
type Options struct {
	Sim  *court.Sim
	Work time.Duration // virtual, a few minutes at least
	Seed uint64
	// RulesOff are safety rules, room.rule, that are switched off.
	RulesOff []string
}

// Sample is what the broker holds at a moment.
type Sample struct {
	At        time.Duration
	DiskBytes int64
	Files     int // open descriptors
}

// Result is what a soak of one cell came to.
type Result struct {
	Cell    string
	Run     *court.Run
	Lives   int // of the broker
	Samples []Sample
	// Third and Last are the most of everything in the third and in the last quarter of the work.
	Third, Last Sample
}

// Cells names the cells.
func Cells() ([]string, error) {
	e, err := load(time.Hour)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range e.Cells {
		names = append(names, e.Cells[i].Name)
	}
	return names, nil
}

// load is the experiment with its times filled in: a fault a minute in its first half.
func load(work time.Duration) (*experiment.Experiment, error) {
	fill := strings.NewReplacer("WORK", work.String(), "LIMIT", (work + 10*time.Minute).String(), "HALF", (work / 2).String(),
		"FAULTS", strconv.Itoa(max(3, int(work/2/time.Minute))))
	return experiment.Parse("soak.txtar", []byte(fill.Replace(text)))
}

// Run soaks one cell. The error is a harness error.
func Run(ctx context.Context, opt Options, cell string) (*Result, error) {
	e, err := load(opt.Work)
	if err != nil {
		return nil, err
	}
	c := &court.Case{Experiment: e, Seed: opt.Seed, RulesOff: opt.RulesOff}
	if c.Cell, err = e.Cell(cell); err != nil {
		return nil, err
	}
	r := &Result{Cell: cell}
	sim := *opt.Sim
	sim.Watch = r.watch
	if r.Run, err = sim.Run(ctx, c); err != nil {
		return nil, err
	}
	r.Third, r.Last = most(r.Samples, opt.Work/2, opt.Work*3/4), most(r.Samples, opt.Work*3/4, opt.Work)
	return r, nil
}

// watch samples a broker at its system calls.
func (r *Result) watch(p *kernel.Proc) {
	r.Lives++
	fs := p.Host.FS.(*disk.FS)
	p.SetTrap(&kernel.Trap{Match: func(kernel.Call) bool {
		now := time.Duration(p.Kernel().Now())
		if n := len(r.Samples); n > 0 && now-r.Samples[n-1].At < every {
			return false
		}
		r.Samples = append(r.Samples, Sample{At: now, DiskBytes: fs.Used(), Files: p.Files()})
		return false
	}})
}

// most is the largest of each value in [from, to).
func most(samples []Sample, from, to time.Duration) (m Sample) {
	for _, s := range samples {
		if s.At >= from && s.At < to {
			m = Sample{At: s.At, DiskBytes: max(m.DiskBytes, s.DiskBytes), Files: max(m.Files, s.Files)}
		}
	}
	return m
}

// Problem says what is wrong, "" if nothing is: the judges' verdict, or that the broker needs more and more. A quarter more
// disk space and 4 descriptors more are within what segments and connections come and go by.
func (r *Result) Problem() string {
	switch {
	case r.Run.Result != court.Valid:
		return r.Run.Verdict.String()
	case r.Third.Files == 0 || r.Last.Files == 0:
		return "the broker was not there in the second half"
	case r.Last.DiskBytes > r.Third.DiskBytes*5/4:
		return fmt.Sprintf("the disk fills up: %d KiB in the third quarter, %d KiB in the last", r.Third.DiskBytes>>10, r.Last.DiskBytes>>10)
	case r.Last.Files > r.Third.Files+4:
		return fmt.Sprintf("descriptors leak: %d in the third quarter, %d in the last", r.Third.Files, r.Last.Files)
	}
	return ""
}

// String is one line.
func (r *Result) String() string {
	verdict := "ok"
	if p := r.Problem(); p != "" {
		verdict = p
	}
	peak := most(r.Samples, 0, 1<<62)
	return fmt.Sprintf("%-11s %6d operations, %9d calls, %4d lives; disk at most %5d KiB, in quarters 3 and 4 %5d and %5d KiB; descriptors %d, %d and %d: %s",
		r.Cell, r.Run.Operations, r.Run.Calls, r.Lives, peak.DiskBytes>>10, r.Third.DiskBytes>>10, r.Last.DiskBytes>>10, peak.Files,
		r.Third.Files, r.Last.Files, verdict)
}
