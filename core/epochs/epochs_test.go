package epochs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// twin is the obvious cache: an unordered set of entries, every question answered by looking at all of them.
type twin []Entry

func (t twin) keep(ok func(Entry) bool) twin {
	kept := twin{}
	for _, e := range t {
		if ok(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// best is the entry with the largest epoch among those that qualify.
func (t twin) best(ok func(Entry) bool) Entry {
	best := Entry{Undefined, Undefined}
	for _, e := range t {
		if ok(e) && e.Epoch > best.Epoch {
			best = e
		}
	}
	return best
}

func (t twin) latest() Entry { return t.best(func(Entry) bool { return true }) }

func (t twin) assign(epoch int32, start int64) twin {
	if latest := t.latest(); latest.Epoch == epoch && latest.Start <= start {
		return t
	}
	return append(t.keep(func(e Entry) bool { return e.Epoch < epoch && e.Start < start }), Entry{epoch, start})
}

func (t twin) truncateFromStart(start int64) twin {
	first := t.best(func(e Entry) bool { return e.Start <= start })
	if first.Epoch == Undefined {
		return t
	}
	return append(t.keep(func(e Entry) bool { return e.Start > start }), Entry{first.Epoch, start})
}

func (t twin) endOffsetFor(epoch int32, leo int64) (int32, int64) {
	latest := t.latest().Epoch
	if epoch < 0 || latest < epoch {
		return Undefined, Undefined
	}
	end := leo
	for _, e := range t {
		if e.Epoch > epoch && e.Start < end {
			end = e.Start
		}
	}
	if floor := t.best(func(e Entry) bool { return e.Epoch <= epoch }); floor.Epoch >= 0 {
		return floor.Epoch, end
	}
	return epoch, end
}

// The small domain of the exhaustive comparison.
const (
	epochs  = 4
	offsets = 5
)

// compare asks both the same questions.
func compare(t require.TestingT, c *Cache, w twin) {
	require.ElementsMatch(t, w, c.Entries())
	for i := 1; i < c.Len(); i++ {
		a, b := c.Entries()[i-1], c.Entries()[i]
		require.True(t, a.Epoch < b.Epoch && a.Start < b.Start, "E1, E2: %v", c)
	}
	latest, ok := c.Latest()
	require.Equal(t, w.latest(), latest)
	require.Equal(t, len(w) > 0, ok)
	require.Equal(t, latest.Epoch, c.LatestEpoch())
	for epoch := int32(-2); epoch <= epochs; epoch++ {
		e, end := c.EndOffsetFor(epoch, offsets+3)
		we, wend := w.endOffsetFor(epoch, offsets+3)
		require.Equal(t, []any{we, wend}, []any{e, end}, "%v: end of epoch %d", c, epoch)
		require.Equal(t, w.best(func(e Entry) bool { return e.Epoch < epoch }).Epoch, c.Previous(epoch), "%v: before %d", c, epoch)
	}
	for o := int64(-1); o <= offsets+1; o++ {
		require.Equal(t, w.best(func(e Entry) bool { return e.Start <= o }).Epoch, c.EpochAt(o), "%v: epoch at %d", c, o)
	}
}

type op struct {
	name string
	real func(*Cache) bool
	twin func(twin) twin
}

func allOps() []op {
	var ops []op
	for e := range int32(epochs) {
		for o := range int64(offsets) {
			ops = append(ops, op{"assign", func(c *Cache) bool { return c.Assign(e, o) }, func(t twin) twin { return t.assign(e, o) }})
		}
	}
	for o := range int64(offsets + 2) {
		ops = append(ops,
			op{"truncate from end", func(c *Cache) bool { return c.TruncateFromEnd(o) }, func(t twin) twin {
				return t.keep(func(e Entry) bool { return e.Start < o })
			}},
			op{"truncate from start", func(c *Cache) bool { return c.TruncateFromStart(o) }, func(t twin) twin {
				return t.truncateFromStart(o)
			}})
	}
	return append(ops, op{"clear", (*Cache).Clear, func(twin) twin { return nil }})
}

// TestTwinExhaustive visits every state that the operations reach in the small domain, and there every operation and
// every question.
func TestTwinExhaustive(t *testing.T) {
	type state struct {
		real *Cache
		twin twin
	}
	seen := map[string]bool{"-": true}
	queue := []state{{&Cache{}, twin{}}}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		compare(t, s.real, s.twin)
		before := string(s.real.AppendTo(nil))
		for _, o := range allOps() {
			c := s.real.Clone()
			changed := o.real(c)
			require.Equal(t, changed, string(c.AppendTo(nil)) != before, "E3: %s of %v gives %v", o.name, s.real, c)
			require.Equal(t, before, string(s.real.AppendTo(nil)), "a clone shares nothing")
			next := o.twin(s.twin)
			if key := c.String(); !seen[key] {
				seen[key] = true
				queue = append(queue, state{c, next})
			}
			require.ElementsMatch(t, next, c.Entries(), "%s of %v", o.name, s.real)
		}
	}
	t.Logf("%d states", len(seen))
	require.Greater(t, len(seen), 100)
}

func TestCheckpointRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Cache{}
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			c.Assign(rapid.Int32Min(0).Draw(t, "epoch"), rapid.Int64Min(0).Draw(t, "start"))
		}
		text := c.AppendCheckpoint([]byte("x"))[1:]
		back, err := ParseCheckpoint(text)
		require.NoError(t, err)
		require.Equal(t, c.AppendTo(nil), back.AppendTo(nil))
		for cut := range text {
			_, err := ParseCheckpoint(text[:cut])
			require.Error(t, err, "torn at %d: %q", cut, text[:cut])
		}
	})
}

func TestCheckpoint(t *testing.T) {
	c := &Cache{}
	assert.Equal(t, "0\n0\n", string(c.AppendCheckpoint(nil)))
	c.Assign(0, 0)
	c.Assign(2, 17)
	assert.Equal(t, "0\n2\n0 0\n2 17\n", string(c.AppendCheckpoint(nil)))
	for _, bad := range []struct{ text, want string }{
		{"", "checkpoint of 0 bytes does not end in a newline"},
		{"\n", "has 1 lines"},
		{"0\n", "has 1 lines"},
		{"1\n0\n", `line 1: version "1"`},
		{"0\n2\n0 0\n", `line 2: count "2", but 1 entries follow`},
		{"0\nx\n", `line 2: count "x"`},
		{"0\n0\n\n", `line 2: count "0", but 1 entries follow`},
		{"0\n1\n0\n", `line 3: "0" is not of the form epoch offset`},
		{"0\n1\n0 1 2\n", `line 3: "1 2" is not a number`},
		{"0\n1\n-1 1\n", `line 3: "-1" is not a number of 31 bits`},
		{"0\n1\n01 1\n", `line 3: "01" is not a number`},
		{"0\n1\n2147483648 1\n", `line 3: "2147483648" is not a number of 31 bits`},
		{"0\n2\n1 5\n2 5\n", `line 4: "2 5" does not follow 1@5`},
		{"0\n2\n1 5\n1 6\n", `line 4: "1 6" does not follow 1@5`},
		{"\x00\x00\x00\n", "has 1 lines"},
	} {
		_, err := ParseCheckpoint([]byte(bad.text))
		assert.ErrorContains(t, err, bad.want, "%q", bad.text)
	}
}

// TestKnownFailures are the cases of the failure modes, told on the cache of the leader.
func TestKnownFailures(t *testing.T) {
	cache := func(entries ...Entry) *Cache {
		c := &Cache{}
		for _, e := range entries {
			c.Assign(e.Epoch, e.Start)
		}
		return c
	}
	t.Run("R03 the answer names an epoch below the one asked for", func(t *testing.T) {
		epoch, end := cache(Entry{1, 0}, Entry{3, 2}).EndOffsetFor(2, 3)
		assert.Equal(t, []any{int32(1), int64(2)}, []any{epoch, end})
	})
	t.Run("R04 a leader without appends knows its epoch", func(t *testing.T) {
		epoch, end := cache(Entry{1, 0}, Entry{3, 10}).EndOffsetFor(2, 10)
		assert.Equal(t, []any{int32(1), int64(10)}, []any{epoch, end})
	})
	t.Run("R05 a truncation that cuts no byte removes the entry at the end", func(t *testing.T) {
		c := cache(Entry{1, 0}, Entry{2, 10})
		assert.True(t, c.TruncateFromEnd(10))
		assert.Equal(t, "1@0", c.String())
		assert.False(t, c.TruncateFromEnd(10))
	})
	t.Run("below the first entry", func(t *testing.T) {
		epoch, end := cache(Entry{5, 7}).EndOffsetFor(3, 10)
		assert.Equal(t, []any{int32(3), int64(7)}, []any{epoch, end})
	})
	assert.PanicsWithValue(t, "epochs: assign of epoch -1 at offset 0 to -", func() { cache(Entry{-1, 0}) })
	assert.Panics(t, func() { cache(Entry{0, -1}) })
}
