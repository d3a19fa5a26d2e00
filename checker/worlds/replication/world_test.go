package replication

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/explore"
	"trialog/core/controller"
	"trialog/core/replica"
)

// The worlds of these tests: small enough for a second or a few.
var (
	oneFault     = Config{Brokers: 2, Records: 1, MaxEpoch: 2, MinISR: 1, Faults: Budget{Crash: 1, Fence: 1, Lag: 1, Drop: 1, Elect: 1}, Total: 1}
	onePowerCut  = Config{Brokers: 2, Records: 1, MaxEpoch: 2, MinISR: 2, ELR: true, Faults: Budget{1, 1, 1, 1, 1, 1}, Total: 1}
	twoFaults    = Config{Brokers: 2, Records: 1, MaxEpoch: 2, MinISR: 1, Faults: Budget{2, 0, 2, 2, 2, 1}, Total: 2}
	twoElections = Config{Brokers: 2, Records: 2, MaxEpoch: 3, MinISR: 1, Faults: Budget{2, 0, 2, 0, 1, 1}, Total: 2}
)

func search(t *testing.T, cfg Config, most uint64) explore.Result {
	w, err := New(cfg)
	require.NoError(t, err)
	return explore.Search(t.Context(), w, explore.Options[State]{
		Invariants: w.Invariants(), Sometimes: w.Sometimes(), Workers: 2, MaxStates: most,
	})
}

func sound(cfg Config) Config {
	cfg.Replica, cfg.Controller = replica.AllRules(), controller.AllRules()
	return cfg
}

// All states of small worlds are visited, and no promise is broken. The counts are pinned: a change of the machines that
// changes them is looked at.
func TestExhausted(t *testing.T) {
	for name, c := range map[string]struct {
		cfg      Config
		distinct uint64
		depth    int
	}{
		"one fault":         {oneFault, 13_289, 26},
		"one power cut":     {onePowerCut, 19_857, 30},
		"three brokers":     {Config{Brokers: 3, Records: 1, MaxEpoch: 1, MinISR: 1}, 265, 24},
		"three, lost fetch": {Config{Brokers: 3, Records: 1, MaxEpoch: 1, MinISR: 1, Faults: Budget{Drop: 1}, Total: 1}, 587, 24},
	} {
		r := search(t, sound(c.cfg), 0)
		require.Equal(t, explore.Exhausted, r.Verdict, "%s: %+v", name, r.Violations)
		require.Equal(t, []any{c.distinct, c.depth}, []any{r.Distinct, r.Depth}, name)
		require.True(t, r.Sometimes[0].Found, name)
	}
}

// Rules that a search of a small world finds when they are off, and the length of the shortest way to break a promise.
func TestKills(t *testing.T) {
	for _, c := range []struct {
		rule  string
		world Config
		steps int
	}{
		{"replica.truncate-by-epoch", twoFaults, 12},
		{"replica.truncate-on-epoch-change", twoElections, 13},
		{"replica.drop-stale-answers", twoElections, 13},
		{"replica.divergence-is-no-progress", twoElections, 10},
		{"replica.join-at-epoch-start", onePowerCut, 16},
		{"replica.maximal-isr", oneFault, 8},
		{"replica.hw-counts-isr", oneFault, 2},
		{"replica.isr-by-controller", oneFault, 3},
		{"replica.answer-matches", oneFault, 10},
		{"replica.repeated-proposal-stands", twoFaults, 12},
		{"controller.alter-checks-broker-epochs", onePowerCut, 14},
		{"controller.elect-in-sync", twoFaults, 6},
		{"controller.elect-raises-epoch", twoElections, 10},
		{"controller.unclean-restart-leaves-isr", onePowerCut, 11},
		{"controller.preferred-in-isr", twoFaults, 6},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cfg := sound(c.world)
			room, name, _ := strings.Cut(c.rule, ".")
			if room == "replica" {
				require.True(t, cfg.Replica.Off(name))
			} else {
				require.True(t, cfg.Controller.Off(name))
			}
			r := search(t, cfg, 150_000)
			require.Equal(t, explore.Violated, r.Verdict)
			require.Len(t, r.Violations[0].Steps, c.steps+1, r.Violations[0].Text())
		})
	}
}

func TestBounds(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"brokers 5: want 2 to 4":             func(c *Config) { c.Brokers = 5 },
		"records 0: want 1 to 6":             func(c *Config) { c.Records = 0 },
		"min.insync.replicas 3: want 1 to 2": func(c *Config) { c.MinISR = 3 },
	} {
		cfg := sound(oneFault)
		change(&cfg)
		_, err := New(cfg)
		require.EqualError(t, err, want)
	}
}

// BenchmarkSearch prints generated states a second and core; the target is 100,000.
func BenchmarkSearch(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			w, err := New(sound(oneFault))
			require.NoError(b, err)
			generated := uint64(0)
			for b.Loop() {
				generated += explore.Search(b.Context(), w, explore.Options[State]{Invariants: w.Invariants(), Workers: workers}).Generated
			}
			b.ReportMetric(float64(generated)/b.Elapsed().Seconds()/float64(workers), "states/s/core")
		})
	}
}
