package controller

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/explore"
	machine "trialog/core/controller"
	"trialog/core/meta"
)

// The worlds of these tests, each with up to n of everything.
var worlds = map[string]func(n int) Config{
	"two brokers":  func(n int) Config { return config(n, func(*Config) {}) },
	"two, elr":     func(n int) Config { return config(n, func(c *Config) { c.MinISR, c.ELR = 2, true }) },
	"two, unclean": func(n int) Config { return config(n, func(c *Config) { c.Unclean = true }) },
	"three":        func(n int) Config { return config(n, func(c *Config) { c.Brokers, c.Replicas, c.MinISR = 3, 3, 2 }) },
	"three, elr": func(n int) Config {
		return config(n, func(c *Config) { c.Brokers, c.Replicas, c.MinISR, c.ELR = 3, 3, 2, true })
	},
	"one to spare": func(n int) Config { return config(n, func(c *Config) { c.Brokers, c.Controllers = 3, 3 }) },
	"four slots":   func(n int) Config { return config(n, func(c *Config) { c.Topics, c.Partitions = 2, 2 }) },
	"far behind":   func(n int) Config { return config(n, func(c *Config) { c.Lag, c.Pending = 2, 2 }) },
	"disks":        func(n int) Config { return config(n, func(c *Config) { c.Dirs, c.SessionsLast = true, true }) },
	"disks, elr":   func(n int) Config { return config(n, func(c *Config) { c.MinISR, c.ELR, c.Dirs = 2, true, true }) },
	"moves": func(n int) Config {
		return config(n, func(c *Config) { c.Brokers, c.Most = 3, Budget{Move: 2, Fence: 1, Shrink: 1} })
	},
	"moves, unclean": func(n int) Config {
		return config(n, func(c *Config) { c.Brokers, c.Unclean, c.Most = 3, true, Budget{Move: 2, Fence: 1, Shrink: 1} })
	},
	// An election for a moment, of who says in the same heartbeat that its directory failed, cost somebody's eligibility.
	"disk and setting": func(n int) Config {
		return config(n, func(c *Config) { c.MinISR, c.ELR, c.Dirs, c.Most = 2, true, true, Budget{Fence: 2, Disk: 1, Relax: 1} })
	},
	"two to rename": func(n int) Config {
		return config(n, func(c *Config) { c.Brokers, c.Replicas, c.Most[Move] = 3, 1, 1 })
	},
}

func config(n int, change func(*Config)) Config {
	c := Config{Brokers: 2, Controllers: 2, Topics: 1, Partitions: 1, Replicas: 2, MinISR: 1, Lag: 1, Pending: 1, Most: All(n), Total: n, Rules: machine.AllRules()}
	change(&c)
	return c
}

func newWorld(t require.TestingT, cfg Config) *World {
	w, err := New(cfg)
	require.NoError(t, err)
	return w
}

func search(t *testing.T, w *World, o explore.Options[State]) explore.Result {
	o.Invariants, o.Sometimes, o.Workers = append(w.Invariants(), o.Invariants...), w.Sometimes(), 2
	return explore.Search(t.Context(), w, o)
}

// All states of small worlds are visited, no promise is broken, and each heals when no more befalls it. The counts are
// pinned: a change of the machines that changes them is looked at.
func TestExhausted(t *testing.T) {
	taken := map[string]uint64{}
	for _, c := range []struct {
		world    string
		most     int
		distinct uint64
		depth    int
	}{
		{"two brokers", 0, 1, 1},
		{"two brokers", 1, 53, 7},
		{"two brokers", 2, 1_920, 11},
		{"two brokers", 3, 43_125, 17},
		{"two, elr", 1, 73, 7},
		{"two, elr", 2, 3_090, 10},
		{"two, unclean", 2, 1_907, 11},
		{"three", 1, 79, 8},
		{"three", 2, 4_418, 12},
		{"three, elr", 1, 79, 8},
		{"three, elr", 2, 4_842, 12},
		{"one to spare", 2, 3_750, 12},
		{"four slots", 1, 159, 7},
		{"far behind", 2, 5_805, 20},
		{"disks", 1, 82, 9},
		{"disks", 2, 4_704, 16},
		{"disks, elr", 2, 5_842, 15},
		{"moves", 4, 1_630, 10},
		{"moves, unclean", 4, 1_841, 10},
		{"disk and setting", 4, 1_846, 13},
		{"two to rename", 2, 1_543, 10},
	} {
		w := newWorld(t, worlds[c.world](c.most))
		var o explore.Options[State]
		if c.most != 3 {
			o.Invariants = []explore.Property[State]{explore.Settles(w, 40)}
		}
		r := search(t, w, o)
		require.Equal(t, explore.Exhausted, r.Verdict, "%s: %+v", c.world, r.Violations)
		require.Equal(t, []any{c.distinct, c.depth}, []any{r.Distinct, r.Depth}, "%s, %d", c.world, c.most)
		for _, b := range r.Branches {
			taken[b.Name] += b.N
		}
		for _, s := range r.Sometimes {
			if c.most == 2 || c.most == 3 {
				require.True(t, s.Found, "%s: never %s", c.world, s.Name)
			}
		}
	}
	for _, name := range branchNames {
		require.NotZero(t, taken[name], "no world goes through %q", name)
	}
}

// Rules that a search of a small world finds when they are off: which promise breaks, and the length of the shortest way.
func TestKills(t *testing.T) {
	killed := map[string]bool{}
	for _, c := range []struct {
		rule, world string
		most        int
		broken      string
		steps       int
	}{
		{"producer-ids-durable", "two brokers", 2, "producer-ids", 3},
		{"alter-checks-leader-epoch", "two brokers", 2, "answers", 3},
		{"alter-checks-partition-epoch", "two brokers", 3, "candidates", 4},
		{"alter-checks-broker-epochs", "two brokers", 2, "candidates", 9},
		{"alter-checks-eligible", "two brokers", 1, "live", 2},
		{"elect-live-only", "two brokers", 2, "live", 3},
		{"elect-in-sync", "two brokers", 2, "holders", 2},
		{"elect-raises-epoch", "two brokers", 1, "epochs", 1},
		{"elr-kept", "two, elr", 2, "eligible", 3},
		{"unclean-restart-leaves-isr", "two brokers", 1, "candidates", 2},
		{"last-isr-member-stays", "two brokers", 2, "isr-not-empty", 2},
		{"preferred-in-isr", "two brokers", 2, "holders", 3},
		{"heartbeat-checks-epoch", "two brokers", 2, "stale-lives", 4},
		{"unfence-when-caught-up", "two brokers", 1, "knows", 3},
		{"recovery-state-kept", "two, elr", 2, "holders", 6},
		{"elect-online-directory", "disks", 2, "live", 4},
		{"made-anew-not-eligible", "disks, elr", 1, "candidates", 6},
		{"reassignment-in-sync", "one to spare", 1, "holders", 1},
		{"cancel-in-sync", "moves", 4, "holders", 5},
		{"eligible-below-min-isr", "two, elr", 2, "candidates", 2},
		{"larger-min-isr-new-epoch", "two, elr", 3, "candidates", 3},
		{"one-min-isr", "two, elr", 2, "candidates", 2},
		{"barrier-before-decisions", "two brokers", 2, "prefix", 4},
	} {
		t.Run(c.rule, func(t *testing.T) {
			cfg := worlds[c.world](c.most)
			require.True(t, cfg.Rules.Off(c.rule))
			w := newWorld(t, cfg)
			for _, p := range w.Invariants() {
				if p.Name == c.broken {
					r := explore.Search(t.Context(), w, explore.Options[State]{Invariants: []explore.Property[State]{p}, Workers: 2})
					require.Equal(t, explore.Violated, r.Verdict)
					require.Len(t, r.Violations[0].Steps, c.steps+1, r.Violations[0].Text())
				}
			}
		})
		killed[c.rule] = true
	}
	for _, doc := range machine.RuleDocs {
		require.True(t, killed[doc.Name] || unseen[doc.Name] != "", "%s: neither found nor explained", doc.Name)
	}
}

// unseen says why a rule that is off changes nothing here that the world promises.
var unseen = map[string]string{
	"elr-ends-with-feature":       "features do not change here",
	"register-checks-features":    "all brokers here are of the same program and say nothing of features",
	"register-checks-directories": "no disk here is a copy of another broker's",
}

// TestSymmetry: renaming brokers and controllers commutes with all steps, on walks at random.
func TestSymmetry(t *testing.T) {
	for _, name := range []string{"two to rename", "one to spare", "two, elr", "disks, elr"} {
		cfg := worlds[name](3)
		w := newWorld(t, cfg)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 25 {
			s := w.Init()[0]
			for range 25 {
				require.NoError(t, explore.CheckSymmetry(w, w.Invariants(), &s), name)
				all := w.Enabled(&s, nil)
				if len(all) == 0 {
					break
				}
				var to State
				w.Step(&s, all[rng.IntN(len(all))], &to)
				s = to
			}
		}
	}
}

// TestEncoding: states with the same encoding go on in the same way. Every state that is met is compared with the first of
// its encoding, whose epochs and offsets may be others.
func TestEncoding(t *testing.T) {
	for _, name := range []string{"two brokers", "two, elr", "one to spare", "far behind", "disks", "disks, elr"} {
		w := newWorld(t, worlds[name](2))
		next := func(s *State) string {
			var all []string
			for _, a := range w.Enabled(s, nil) {
				var to State
				branches := w.Step(s, a, &to)
				all = append(all, fmt.Sprintf("%d %x %x", w.Kind(a), branches, w.Encode(&to, nil, nil)))
			}
			sort.Strings(all)
			return strings.Join(all, "\n")
		}
		first := map[string]string{}
		compared, queue := 0, w.Init()
		for len(queue) > 0 && len(first) < 3000 {
			s := queue[0]
			queue = queue[1:]
			for _, a := range w.Enabled(&s, nil) {
				var to State
				w.Step(&s, a, &to)
				key := string(w.Encode(&to, nil, nil))
				if was, ok := first[key]; ok {
					compared++
					require.Equal(t, was, next(&to), "%s: %s", name, w.Show(&to))
					continue
				}
				first[key] = next(&to)
				queue = append(queue, to)
			}
		}
		require.Greater(t, compared, 1000)
	}
}

func TestBounds(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"brokers 5: want 1 to 4":     func(c *Config) { c.Brokers = 5 },
		"controllers 0: want 1 to 3": func(c *Config) { c.Controllers = 0 },
		"replicas 3: want 1 to 2":    func(c *Config) { c.Replicas = 3 },
		"min-isr 3: want 1 to 2":     func(c *Config) { c.MinISR = 3 },
	} {
		_, err := New(config(1, change))
		require.EqualError(t, err, want)
	}
}

// BenchmarkSearch prints generated states a second and core; the target is 100,000.
func BenchmarkSearch(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			w := newWorld(b, worlds["two, elr"](3))
			generated := uint64(0)
			for b.Loop() {
				generated += explore.Search(b.Context(), w, explore.Options[State]{Invariants: w.Invariants(), Workers: workers}).Generated
			}
			b.ReportMetric(float64(generated)/b.Elapsed().Seconds()/float64(workers), "states/s/core")
		})
	}
}

// TestWalks goes where no search comes: large worlds, and much that befalls them.
func TestWalks(t *testing.T) {
	large := func(c *Config) { c.Brokers, c.Controllers, c.Pending, c.Lag, c.Replicas = 4, 3, 3, 3, 3 }
	for name, change := range map[string]func(*Config){
		"elr, topics": func(c *Config) { c.Topics, c.MinISR, c.ELR = 2, 2, true },
		"elr, disks":  func(c *Config) { c.MinISR, c.ELR, c.Dirs, c.SessionsLast = 2, true, true, true },
		"old":         func(c *Config) { c.Partitions, c.MinISR = 2, 2 },
		"unclean":     func(c *Config) { c.Partitions, c.Unclean = 2, true },
	} {
		w := newWorld(t, config(MaxTotal, func(c *Config) { large(c); change(c); c.Most = All(MaxBudget) }))
		r := explore.Walk(t.Context(), w, explore.WalkOptions[State]{Invariants: w.Invariants(), Walks: 1000, Depth: 100, Seed: 7})
		require.Nil(t, r.Violation, name)
	}
}

// TestSnapshots: what a snapshot of an image comes to is that image, on walks at random.
func TestSnapshots(t *testing.T) {
	for _, name := range []string{"two, elr", "one to spare", "disks, elr"} {
		w := newWorld(t, worlds[name](4))
		rng := rand.New(rand.NewPCG(3, 4))
		for range 20 {
			s := w.Init()[0]
			for range 30 {
				again := &meta.Image{}
				for _, r := range s.head.image.AppendRecords(nil) {
					require.NoError(t, again.Apply(r))
				}
				require.True(t, meta.Diff(s.head.image, again).Empty(), "%s", s.head.image)
				all := w.Enabled(&s, nil)
				if len(all) == 0 {
					break
				}
				var to State
				w.Step(&s, all[rng.IntN(len(all))], &to)
				s = to
			}
		}
	}
}
