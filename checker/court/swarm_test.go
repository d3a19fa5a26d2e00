package court

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fake is a world in which seed s gives the verdict that answer says.
type fake struct {
	workers int
	answer  func(c *Case) *Verdict
	runs    atomic.Int64
}

func (f *fake) Name() string { return "sim" }
func (f *fake) Workers() int { return f.workers }
func (f *fake) Run(ctx context.Context, c *Case) (*Run, error) {
	f.runs.Add(1)
	v := f.answer(c)
	if v == nil {
		return nil, errors.New("no verdict")
	}
	r := newRun(c, c.identity("sim", "wasm", "guest"), "trialog")
	r.Verdict, r.Result = v, v.Result
	return r, ctx.Err()
}

func TestSwarmDeliversInOrder(t *testing.T) {
	c := someCase(t)
	w := &fake{workers: 4, answer: func(c *Case) *Verdict {
		if c.Seed%3 == 0 {
			time.Sleep(time.Millisecond) // some are slower: the order must not care
		}
		return verdict(Valid)
	}}
	var seen []uint64
	require.NoError(t, Swarm(t.Context(), w, Seeds{1, 40}.Cases(c.Experiment, c.Cell, nil), func(c *Case, r *Run) bool {
		require.Equal(t, c.Seed, r.Seed)
		seen = append(seen, c.Seed)
		return true
	}))
	require.Len(t, seen, 40)
	require.True(t, slices.IsSorted(seen))
}

func TestSwarmEndsEarly(t *testing.T) {
	c := someCase(t)
	w := &fake{workers: 2, answer: func(*Case) *Verdict { return verdict(Valid) }}
	n := 0
	require.NoError(t, Swarm(t.Context(), w, Seeds{1, 1000}.Cases(c.Experiment, c.Cell, nil), func(*Case, *Run) bool {
		n++
		return n < 5
	}))
	require.Equal(t, 5, n)
	require.Less(t, w.runs.Load(), int64(40), "what lies beyond is not begun")
}

func TestSwarmReportsTheHarness(t *testing.T) {
	c := someCase(t)
	w := &fake{workers: 2, answer: func(c *Case) *Verdict {
		if c.Seed == 7 {
			return nil
		}
		return verdict(Valid)
	}}
	n := 0
	err := Swarm(t.Context(), w, Seeds{1, 1000}.Cases(c.Experiment, c.Cell, nil), func(*Case, *Run) bool { n++; return true })
	require.EqualError(t, err, "court: 001-small cell kill seed 7: no verdict")
	require.Equal(t, 6, n)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = Swarm(ctx, w, Seeds{1, 3}.Cases(c.Experiment, c.Cell, nil), func(*Case, *Run) bool { return true })
	require.ErrorIs(t, err, context.Canceled)
}

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string]Seeds{"1..200": {1, 200}, "7": {7, 7}, "0..0": {0, 0}} {
		got, err := ParseSeeds(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "..", "1..", "..2", "5..4", "a..b", "1..9999999999", "-1..2"} {
		_, err := ParseSeeds(text)
		require.ErrorContains(t, err, "want A..B", text)
	}
}

func TestProgressLine(t *testing.T) {
	require.Equal(t, "sim kill  0/40", progressLine("sim kill", 0, 40, nil, 0))
	require.Equal(t, "sim kill  10/40  valid 9  invalid 1  30s left at most",
		progressLine("sim kill", 10, 40, map[Result]int{Valid: 9, Invalid: 1}, 10*time.Second))
	var quiet *Progress
	quiet.Begin("x", 1)
	quiet.Done(Valid)
	quiet.End()
	var log bytes.Buffer
	plain := NewProgress(&log)
	plain.Begin("sim kill", 40)
	plain.Done(Valid)
	require.Empty(t, log.String(), "where there is no terminal, a phase speaks at its end")
	plain.started = time.Now()
	plain.End()
	require.Equal(t, "sim kill  1/1  valid 1  0s\n", log.String())
}
