package replication

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"trialog/checker/explore"
)

func world(t require.TestingT, variant string, r, log, records, epoch int, change func(*Config)) *World {
	flags, err := FlagsOf(variant)
	require.NoError(t, err)
	cfg := Config{Bounds: Bounds{r, log, records, epoch}, Flags: flags}
	if change != nil {
		change(&cfg)
	}
	w, err := New(cfg)
	require.NoError(t, err)
	return w
}

// Distinct states and depths as TLC and rumur give them for the published modules; the third with leaderless requests.
func TestPublishedCounts(t *testing.T) {
	for _, c := range []struct {
		variant    string
		r          int
		leaderless bool
		distinct   uint64
		depth      int
	}{
		{"kip279", 2, false, 4_514, 18},
		{"kip320-first-try", 2, false, 4_215, 18},
		{"kip320", 2, false, 2_987, 18},
		{"kip320", 3, false, 123_311, 26},
		{"kip320", 3, true, 162_517, 26},
	} {
		t.Run(fmt.Sprintf("%s/%d/%v", c.variant, c.r, c.leaderless), func(t *testing.T) {
			w := world(t, c.variant, c.r, 2, 2, 2, func(cfg *Config) { cfg.Leaderless = c.leaderless })
			var invariants []explore.Property[State]
			if c.variant == "kip320" || c.r == 2 {
				invariants = w.Invariants()
			}
			res := search(w, explore.Options[State]{Invariants: invariants, Sometimes: w.Sometimes()})
			require.Equal(t, explore.Exhausted, res.Verdict, "%+v", res.Violations)
			require.Equal(t, c.distinct, res.Distinct)
			require.Equal(t, c.depth, res.Depth)
			for _, witness := range res.Sometimes {
				require.True(t, witness.Found, witness.Name)
			}
			for _, kind := range res.Kinds {
				require.Equal(t, kind.Name == kindNames[truncateOnFetch] && c.variant != "kip320-first-try", kind.N == 0, kind.Name)
			}
		})
	}
}

// shortest is what a search of a variant within bounds must find: an invariant and the steps of its shortest violation.
type shortest struct {
	variant   string
	bounds    Bounds
	invariant string
	steps     int // 0: it holds
}

// someSteps: violated, after a number of steps that the source does not give for these bounds.
const someSteps = -1

// Each version of the protocol and what breaks it, after the table of the notes on specifications; steps are exact.
var published = []shortest{
	{"truncate-to-hw", Bounds{2, 1, 1, 1}, "strong-isr", 9},
	{"truncate-to-hw", Bounds{2, 1, 1, 2}, "acked", 11},
	{"truncate-to-hw", Bounds{2, 3, 3, 3}, "log-matching", 13},
	{"truncate-to-hw", Bounds{3, 2, 2, 2}, "weak-isr", 8},
	{"truncate-to-hw", Bounds{3, 2, 2, 2}, "strong-isr", 8},
	{"truncate-to-hw", Bounds{3, 2, 2, 2}, "acked", 10},
	{"kip101", Bounds{2, 2, 2, 2}, "weak-isr", 11},
	{"kip101", Bounds{2, 2, 2, 2}, "strong-isr", 11},
	{"kip101", Bounds{2, 3, 3, 2}, "acked", 16},
	{"kip101", Bounds{2, 3, 3, 3}, "acked", 13},
	{"kip101", Bounds{2, 3, 3, 3}, "log-matching", 12},
	{"kip101", Bounds{3, 2, 2, 2}, "strong-isr", 10},
	{"kip101", Bounds{3, 2, 2, 3}, "acked", 12},
	{"kip279", Bounds{2, 2, 2, 2}, "strong-isr", 0},
	{"kip279", Bounds{3, 1, 1, 1}, "strong-isr", someSteps},
	{"kip279", Bounds{3, 1, 1, 2}, "acked", someSteps},
	{"kip279", Bounds{3, 2, 2, 2}, "weak-isr", 10},
	{"kip279", Bounds{3, 2, 2, 2}, "strong-isr", 10},
	{"kip279", Bounds{3, 2, 2, 3}, "acked", 12},
	{"kip320-first-try", Bounds{3, 1, 1, 2}, "weak-isr", 11},
	{"kip320-first-try", Bounds{3, 1, 1, 2}, "strong-isr", 12},
	{"kip320-first-try", Bounds{3, 1, 1, 3}, "acked", 14},
	{"kip320", Bounds{3, 1, 1, 2}, "acked", 0},
	{"truncation-unfenced", Bounds{3, 1, 2, 3}, "acked", 15},
	{"truncation-one-shot", Bounds{2, 2, 2, 3}, "acked", 14},
	{"truncation-one-shot", Bounds{2, 3, 3, 3}, "acked", 13},
	{"truncation-to-hw", Bounds{2, 1, 1, 3}, "acked", 12},
	{"hw-unfenced", Bounds{3, 1, 1, 3}, "acked", 14},
	{"expand-before-epoch-start", Bounds{3, 1, 1, 2}, "acked", 13},
	{"expand-unfenced", Bounds{3, 1, 1, 2}, "acked", 13},
	{"fetch-unfenced", Bounds{3, 2, 2, 2}, "weak-isr", 12},
	{"fetch-unfenced", Bounds{3, 1, 1, 2}, "acked", 0},
}

func TestShortest(t *testing.T) {
	for _, c := range published {
		t.Run(fmt.Sprintf("%s/%v/%s", c.variant, c.bounds, c.invariant), func(t *testing.T) {
			w := world(t, c.variant, c.bounds.Replicas, c.bounds.LogSize, c.bounds.Records, c.bounds.MaxEpoch, func(cfg *Config) {
				cfg.Leaderless, cfg.History = true, c.invariant == "acked"
			})
			all := append(w.Invariants(), w.AckedOnLeader())
			i := slices.IndexFunc(all, func(p explore.Property[State]) bool { return p.Name == c.invariant })
			res := search(w, explore.Options[State]{Invariants: all[i : i+1]})
			if c.steps == 0 {
				require.Equal(t, explore.Exhausted, res.Verdict, "%+v", res.Violations)
				return
			}
			require.Equal(t, explore.Violated, res.Verdict)
			if c.steps != someSteps {
				require.Len(t, res.Violations[0].Steps, c.steps+1, res.Violations[0].Text())
			}
		})
	}
}

func search(w *World, o explore.Options[State]) explore.Result {
	o.Workers = runtime.NumCPU()
	return explore.Search(context.Background(), w, o)
}

func TestSymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := world(t, rapid.SampledFrom(Variants).Draw(t, "variant").Name, 3, 2, 2, 2, func(c *Config) { c.Leaderless, c.History = true, true })
		s := w.Init()[0]
		for range rapid.IntRange(0, 25).Draw(t, "steps") {
			actions := w.Enabled(&s, nil)
			if len(actions) == 0 {
				break
			}
			var to State
			w.Step(&s, rapid.SampledFrom(actions).Draw(t, "action"), &to)
			s = to
		}
		require.NoError(t, explore.CheckSymmetry[State](w, append(w.Invariants(), w.AckedOnLeader()), &s))
	})
}
