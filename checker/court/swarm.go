package court

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
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
func (s Seeds) Cases(e *Experiment, cell *Cell, rulesOff []string) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for i := range s.Len() {
			if !yield(&Case{Experiment: e, Cell: cell, RulesOff: rulesOff, Seed: s.From + uint64(i)}) {
				return
			}
		}
	}
}
