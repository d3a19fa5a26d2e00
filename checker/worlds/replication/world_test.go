package replication

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/checker/explore"
	"trialog/core/controller"
	"trialog/core/replica"
)

// The worlds of these tests: small enough for a second or a few.
var (
	oneFault    = Config{Brokers: 2, Records: 2, MaxEpoch: 2, MinISR: 1, Faults: all(0), Total: 1}
	twoFaults   = Config{Brokers: 2, Records: 1, MaxEpoch: 3, MinISR: 1, Faults: all(0), Total: 2}
	onePowerCut = Config{Brokers: 2, Records: 1, MaxEpoch: 3, MinISR: 2, ELR: true, AcksOne: true, Faults: noDeath, Total: 2}
	noDeath     = Budget{0, 1, explore.AsManyAsFaults, explore.AsManyAsFaults, explore.AsManyAsFaults, explore.AsManyAsFaults}
	threeOne    = Config{Brokers: 3, Records: 1, MaxEpoch: 2, MinISR: 1, Faults: all(0), Total: 1}
	threeCut    = Config{Brokers: 3, Records: 1, MaxEpoch: 2, MinISR: 2, ELR: true, AcksOne: true, Faults: noDeath, Total: 1}
)

// all is every kind of fault, as many as the total, and so many power cuts.
func all(lose int) Budget {
	return Budget{explore.AsManyAsFaults, lose, explore.AsManyAsFaults, explore.AsManyAsFaults, explore.AsManyAsFaults, explore.AsManyAsFaults}
}

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

// All states of small worlds are visited, no promise is broken, and from each of them the world converges when no more
// faults come. The counts are pinned: a change of the machines that changes them is looked at. checker/worlds/bounds.txt has
// larger ones.
func TestExhausted(t *testing.T) {
	for name, c := range map[string]struct {
		cfg      Config
		distinct uint64
		depth    int
	}{
		"two brokers, one fault":    {oneFault, 2433, 14},
		"two brokers, two faults":   {twoFaults, 28275, 19},
		"two brokers, a power cut":  {onePowerCut, 18367, 21},
		"three brokers":             {threeOne, 8879, 17},
		"three brokers, power cuts": {threeCut, 7159, 18},
	} {
		w, err := New(sound(c.cfg))
		require.NoError(t, err)
		r := explore.Search(t.Context(), w, explore.Options[State]{
			Invariants: append(w.Invariants(), explore.Settles(w, 100)), Sometimes: w.Sometimes(), Workers: 2,
		})
		require.Equal(t, explore.Exhausted, r.Verdict, "%s: %+v", name, r.Violations)
		assert.Equal(t, []any{c.distinct, c.depth}, []any{r.Distinct, r.Depth}, name)
		for _, witness := range r.Sometimes {
			require.True(t, witness.Found, "%s: never: %s", name, witness.Name)
		}
	}
}

// Together the worlds go through every branch but some that cannot be reached here: nothing is ever deleted, and nobody is
// elected who may lack something; a broker that does not lead knows of another epoch than who asks it; a proposal does not
// outlive its broker.
func TestBranches(t *testing.T) {
	taken := map[string]uint64{}
	for _, cfg := range []Config{oneFault, twoFaults, onePowerCut, threeOne, threeCut} {
		for _, b := range search(t, sound(cfg), 0).Branches {
			taken[b.Name] += b.N
		}
	}
	var never []string
	for name, n := range taken {
		if n == 0 {
			never = append(never, name)
		}
	}
	slices.Sort(never)
	require.Equal(t, []string{
		"AlterPartition: INVALID_REQUEST", "AlterPartition: STALE_BROKER_EPOCH", "AlterPartition: any other code",
		"elected: last known leader", "fetch: NOT_LEADER_OR_FOLLOWER", "fetch: OFFSET_OUT_OF_RANGE", "fetch: any other code",
	}, never)
}

// What needs longer than it may is found out.
func TestSettles(t *testing.T) {
	w, err := New(sound(oneFault))
	require.NoError(t, err)
	r := explore.Search(t.Context(), w, explore.Options[State]{Invariants: []explore.Property[State]{explore.Settles(w, 5)}})
	require.Equal(t, explore.Violated, r.Verdict, "after a death five steps are not enough")
	cfg := sound(twoFaults)
	require.True(t, cfg.Controller.Off("last-isr-member-stays"))
	w, err = New(cfg)
	require.NoError(t, err)
	r = explore.Search(t.Context(), w, explore.Options[State]{Invariants: []explore.Property[State]{explore.Settles(w, 100)}})
	require.Equal(t, explore.Violated, r.Verdict, "nobody may ever lead again")
}

// Rules that a search of a small world finds when they are off, and the length of the shortest way to break a promise. The
// table of all rules is checker/worlds/killers.txt.
func TestKills(t *testing.T) {
	for _, c := range []struct {
		rule  string
		world Config
		steps int
	}{
		{"replica.drop-stale-answers", oneFault, 8},
		{"replica.divergence-is-no-progress", oneFault, 6},
		{"replica.maximal-isr", twoFaults, 7},
		{"replica.answer-matches", twoFaults, 8},
		{"replica.hw-needs-min-isr", onePowerCut, 4},
		{"controller.alter-checks-broker-epochs", onePowerCut, 11},
		{"controller.alter-checks-eligible", twoFaults, 6},
		{"controller.elect-in-sync", twoFaults, 3},
		{"controller.elr-kept", onePowerCut, 8},
		{"controller.unclean-restart-leaves-isr", onePowerCut, 3},
		{"controller.preferred-in-isr", twoFaults, 5},
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
		"brokers 5: want 2 to 4": func(c *Config) { c.Brokers = 5 },
		"records 0: want 1 to 6": func(c *Config) { c.Records = 0 },
		"min-isr 3: want 1 to 2": func(c *Config) { c.MinISR = 3 },
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
