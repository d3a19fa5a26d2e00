package producer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/explore"
	"trialog/core/client/retry"
	"trialog/core/config"
	"trialog/core/producers"
	"trialog/core/replica"
)

func sound(cfg Config) Config {
	cfg.Client, cfg.Producers, cfg.Replica = retry.AllRules(), producers.AllRules(), replica.AllRules()
	return cfg
}

// all is every kind of fault, as many as the total.
func all(n int) Budget { return Budget{n, n, n, n, n, n, n, n} }

// The worlds of these tests: small enough for a second or a few.
var (
	one      = Config{Batches: 3, InFlight: 2, MinISR: 1, Faults: all(1), Total: 1}
	oneOfTwo = Config{Batches: 3, InFlight: 2, MinISR: 2, Faults: all(1), Total: 1}
	two      = Config{Batches: 2, InFlight: 2, MinISR: 1, Faults: all(2), Total: 2}
	bump     = Config{Batches: 2, InFlight: 2, MinISR: 1, Bump: true, Faults: all(2), Total: 2}
	twoMore  = Config{Batches: 3, InFlight: 2, MinISR: 1, Faults: all(2), Total: 2}
	twoOfTwo = Config{Batches: 3, InFlight: 2, MinISR: 2, Faults: all(2), Total: 2}
	late     = Config{Batches: 4, InFlight: 3, MinISR: 1, Faults: Budget{Elect: 1, Late: 1}, Total: 2}
	anew     = Config{Batches: 2, InFlight: 2, MinISR: 1, Bump: true, Faults: Budget{Break: 1, Elect: 2, Restart: 1}, Total: 4}
	six      = Config{Batches: 7, InFlight: 6, MinISR: 1, Faults: Budget{Break: 1}, Total: 1}
)

func search(t *testing.T, cfg Config, invariants ...explore.Property[State]) explore.Result {
	w, err := New(cfg)
	require.NoError(t, err)
	return explore.Search(t.Context(), w, explore.Options[State]{
		Invariants: append(w.Invariants(), invariants...), Sometimes: w.Sometimes(), Workers: 2, MaxStates: 600_000,
	})
}

// All states of small worlds are visited, no promise is broken, and from each of them every batch gets its outcome when no
// more faults come. The counts are pinned: a change of the machines that changes them is looked at.
func TestExhausted(t *testing.T) {
	taken := map[string]uint64{}
	for _, c := range []struct {
		name     string
		cfg      Config
		distinct uint64
		depth    int
	}{
		{"no fault", Config{Batches: 3, InFlight: 2, MinISR: 1}, 29, 14},
		{"one", one, 8271, 25}, {"one, min.insync.replicas 2", oneOfTwo, 8566, 26}, {"two", two, 65022, 25}, {"two, epochs", bump, 64019, 25}, {"six", six, 14506, 34},
	} {
		w, err := New(sound(c.cfg))
		require.NoError(t, err)
		r := search(t, sound(c.cfg), explore.Settles(w, 100))
		require.Equal(t, explore.Exhausted, r.Verdict, "%s: %+v", c.name, r.Violations)
		require.Equal(t, []any{c.distinct, c.depth}, []any{r.Distinct, r.Depth}, c.name)
		for _, s := range r.Sometimes {
			require.True(t, s.Found, "%s: never %s", c.name, s.Name)
		}
		for _, b := range r.Branches {
			taken[b.Name] += b.N
		}
	}
	var never []string
	for name, n := range taken {
		if n == 0 {
			never = append(never, name)
		}
	}
	// An answer leaves as soon as the HW has come, and the HW waits while the ISR is too small.
	require.Equal(t, []string{"broker: NOT_ENOUGH_REPLICAS_AFTER_APPEND"}, never)
}

// Rules that a search finds when they are off, and the length of the shortest way to break a promise.
func TestKills(t *testing.T) {
	killed := map[string]bool{}
	for _, c := range []struct {
		rule   string
		world  Config
		broken string
		steps  int
	}{
		{"client.first-alone", one, "no-gap", 7},
		{"client.five-in-flight", six, "refused", 21},
		{"client.retry-in-order", twoMore, "refused", 23},
		{"client.out-of-order-behind-another", one, "refused", 14},
		{"client.doubt-lasts", two, "failed", 4},
		{"client.give-up-in-doubt", two, "offset", 8},
		{"client.give-up-at-gap", twoOfTwo, "refused", 17},
		{"client.one-identity", twoMore, "no-duplicate", 13},
		{"client.void-comes-home", late, "given-up", 12},
		{"producers.rebuild-after-cut", anew, "no-duplicate", 15},
		{"producers.detect-duplicates", one, "no-duplicate", 5},
		{"producers.remember-five", one, "refused", 13},
		{"producers.check-order", one, "no-gap", 12},
		{"producers.answer-original-offset", one, "offset", 14},
		{"producers.fence-epochs", bump, "fenced", 5},
		{"producers.learn-from-leader", one, "no-duplicate", 8},
		{"producers.truncate-with-log", twoMore, "no-gap", 15},
		{"producers.snapshot-keeps-five", one, "refused", 15},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cfg := sound(c.world)
			room, name, _ := strings.Cut(c.rule, ".")
			require.True(t, room == "client" && cfg.Client.Off(name) || room == "producers" && cfg.Producers.Off(name))
			r := search(t, cfg)
			require.Equal(t, explore.Violated, r.Verdict)
			require.Equal(t, c.broken, r.Violations[0].Invariant)
			require.Len(t, r.Violations[0].Steps, c.steps+1, r.Violations[0].Text())
		})
		killed[c.rule] = true
	}
	for _, docs := range [][]config.RuleDoc{retry.RuleDocs, producers.RuleDocs} {
		for _, d := range docs {
			rule := d.Room + "." + d.Name
			require.True(t, killed[rule] != (Unseen[rule] != ""), "%s: neither found nor explained, or both", rule)
		}
	}
}

func TestBounds(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"batches 9: want 1 to 8":   func(c *Config) { c.Batches = 9 },
		"in-flight 0: want 1 to 8": func(c *Config) { c.InFlight = 0 },
		"min-isr 3: want 1 to 2":   func(c *Config) { c.MinISR = 3 },
	} {
		cfg := sound(one)
		change(&cfg)
		_, err := New(cfg)
		require.EqualError(t, err, want)
	}
}

// BenchmarkSearch prints generated states a second on one core; the target is 100,000.
func BenchmarkSearch(b *testing.B) {
	w, err := New(sound(one))
	require.NoError(b, err)
	generated := uint64(0)
	for b.Loop() {
		generated += explore.Search(b.Context(), w, explore.Options[State]{Invariants: w.Invariants()}).Generated
	}
	b.ReportMetric(float64(generated)/b.Elapsed().Seconds(), "states/s/core")
}
