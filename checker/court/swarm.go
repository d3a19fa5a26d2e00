package court

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"trialog/checker/court/experiment"
)

// World is a place where a case can be run.
type World interface {
	// Name of the world: sim or real.
	Name() string
	// Workers is how many runs may be made at the same time.
	Workers() int
	// Run makes one run and judges it. An error is a failure of the harness, never a verdict.
	Run(ctx context.Context, c *Case) (*Run, error)
}

// Swarm makes the runs of all cases, as many at a time as the world allows, and hands each to each, in the order of the
// cases, so that what is seen first does not depend on the machine. It ends early, without an error, when each returns
// false; runs that were begun beyond are given up.
func Swarm(ctx context.Context, w World, cases iter.Seq[*Case], each func(*Case, *Run) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()

	type job struct {
		c    *Case
		run  *Run
		err  error
		done chan struct{}
	}
	queue := make(chan *job)                  // to the workers
	ordered := make(chan *job, 4*w.Workers()) // bounds how far the workers run ahead of each
	for range w.Workers() {
		workers.Go(func() {
			for j := range queue {
				j.run, j.err = w.Run(ctx, j.c)
				close(j.done)
			}
		})
	}
	workers.Go(func() {
		defer close(ordered)
		defer close(queue)
		for c := range cases {
			j := &job{c: c, done: make(chan struct{})}
			select {
			case ordered <- j:
			case <-ctx.Done():
				return
			}
			select {
			case queue <- j:
			case <-ctx.Done():
				j.err = ctx.Err()
				close(j.done)
				return
			}
		}
	})
	for j := range ordered {
		<-j.done
		if j.err != nil {
			return fmt.Errorf("court: %s: %w", j.c, j.err)
		}
		if !each(j.c, j.run) {
			return nil
		}
	}
	return ctx.Err()
}

// String names the case in messages.
func (c *Case) String() string {
	s := fmt.Sprintf("%s cell %s seed %d", c.Experiment.Name, c.Cell.Name, c.Seed)
	if len(c.RulesOff) > 0 {
		s += " without " + strings.Join(c.RulesOff, ",")
	}
	return s
}

// Seeds is a range of seeds, both ends included.
type Seeds struct{ From, To uint64 }

// ParseSeeds reads A..B, or one number.
func ParseSeeds(text string) (Seeds, error) {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	a, err := strconv.ParseUint(from, 10, 64)
	b, err2 := strconv.ParseUint(to, 10, 64)
	if err != nil || err2 != nil || b < a || b-a >= 1<<32 {
		return Seeds{}, fmt.Errorf("court: seeds %q: want A..B with A <= B, for example 1..200", text)
	}
	return Seeds{a, b}, nil
}

// Len is how many seeds there are.
func (s Seeds) Len() int { return int(s.To-s.From) + 1 }

// Cases are the runs of one cell, one for each seed.
func (s Seeds) Cases(e *experiment.Experiment, cell *experiment.Cell, rulesOff []string) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for i := range s.Len() {
			if !yield(&Case{Experiment: e, Cell: cell, RulesOff: rulesOff, Seed: s.From + uint64(i)}) {
				return
			}
		}
	}
}

// Progress tells how far a swarm is: on a terminal one line that changes, elsewhere one line at the end of each phase.
// The nil Progress is silent.
type Progress struct {
	w        io.Writer
	terminal bool
	label    string
	total    int
	done     int
	counts   map[Result]int
	started  time.Time
	shown    time.Time
}

// NewProgress shows progress on w.
func NewProgress(w io.Writer) *Progress {
	f, isFile := w.(*os.File)
	return &Progress{w: w, terminal: isFile && term.IsTerminal(int(f.Fd()))}
}

// Begin starts a phase of total runs at most.
func (p *Progress) Begin(label string, total int) {
	if p == nil {
		return
	}
	p.label, p.total, p.done, p.counts = label, total, 0, map[Result]int{}
	p.started, p.shown = time.Now(), time.Time{}
	p.show()
}

// Done counts one run.
func (p *Progress) Done(r Result) {
	if p == nil {
		return
	}
	p.done++
	p.counts[r]++
	if time.Since(p.shown) > 200*time.Millisecond {
		p.show()
	}
}

// End closes the phase.
func (p *Progress) End() {
	switch {
	case p == nil:
	case p.terminal:
		fmt.Fprint(p.w, "\r\x1b[K")
	default:
		spent := time.Since(p.started).Round(100 * time.Millisecond)
		fmt.Fprintf(p.w, "%s  %v\n", progressLine(p.label, p.done, p.done, p.counts, 0), spent)
	}
}

func (p *Progress) show() {
	if p.terminal {
		p.shown = time.Now()
		fmt.Fprintf(p.w, "\r\x1b[K%s", progressLine(p.label, p.done, p.total, p.counts, time.Since(p.started)))
	}
}

// progressLine is the text of the line.
func progressLine(label string, done, total int, counts map[Result]int, spent time.Duration) string {
	parts := []string{fmt.Sprintf("%s  %d/%d", label, done, total)}
	for _, r := range Results {
		if counts[r] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", r, counts[r]))
		}
	}
	if done > 0 && done < total {
		left := spent / time.Duration(done) * time.Duration(total-done)
		parts = append(parts, fmt.Sprintf("%v left at most", left.Round(time.Second)))
	}
	return strings.Join(parts, "  ")
}
