package fetchsession

import (
	"math"
	"testing"

	"trialog/core/kafka"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func key(p int32) Key { return Key{Topic: "t", Partition: p} }

func wants(partitions ...int32) []Want {
	var all []Want
	for _, p := range partitions {
		all = append(all, Want{Key: key(p), FetchOffset: 10, MaxBytes: 1})
	}
	return all
}

// quiet is what answers say of partitions where nothing happened.
func quiet(n int) []Said {
	said := make([]Said, n)
	for i := range said {
		said[i] = Said{HighWatermark: 10}
	}
	return said
}

func counter() func() int32 {
	n := int32(-2) // negative ids and 0 are not given out
	return func() int32 { n++; return n }
}

func partitions(all []Want) []int32 {
	var out []int32
	for _, w := range all {
		out = append(out, w.Partition)
	}
	return out
}

func TestEpochs(t *testing.T) {
	c := New(10, 100, counter())
	id := c.Create(wants(0, 1), quiet(2), false, 0)
	require.Equal(t, int32(1), id)
	for _, tc := range []struct {
		id, epoch int32
		byID      bool
		want      kafka.ErrorCode
	}{
		{id + 1, 1, false, kafka.ErrFetchSessionIDNotFound},
		{id, 2, false, kafka.ErrInvalidFetchSessionEpoch},
		{id, -7, false, kafka.ErrInvalidFetchSessionEpoch},
		{id, 1, true, kafka.ErrFetchSessionTopicIDError},
		{id, 1, false, kafka.ErrNone},
		{id, 1, false, kafka.ErrInvalidFetchSessionEpoch},
		{id, 2, false, kafka.ErrNone},
	} {
		s, got, code := c.Continue(tc.id, tc.epoch, tc.byID, nil, nil, 0, nil)
		require.Equal(t, tc.want, code, "%+v", tc)
		require.Equal(t, tc.want == 0, s != nil)
		if s != nil {
			require.Equal(t, []int32{0, 1}, partitions(got))
			require.True(t, s.Open())
			require.True(t, s.Answered(tc.epoch, got, quiet(2), make([]bool, 2)))
			require.False(t, s.Answered(tc.epoch-1, got, quiet(2), make([]bool, 2)), "an answer of before")
			s.Close()
			require.False(t, s.Open())
		}
	}
	c.Find(id).epoch = math.MaxInt32
	_, _, code := c.Continue(id, math.MaxInt32, false, nil, nil, 0, nil)
	require.Zero(t, code)
	_, _, code = c.Continue(id, 1, false, nil, nil, 0, nil)
	require.Zero(t, code, "the epoch after the largest is 1")
	c.End(id)
	c.End(id)
	require.Nil(t, c.Find(id))
}

// Who comes while a request is not answered, or queues, queues; the session is open until all are through.
func TestQueue(t *testing.T) {
	c := New(10, 100, counter())
	id := c.Create(wants(0, 1), quiet(2), false, 0)
	require.Equal(t, [2]int{2, 0}, [2]int{c.Size(id), c.Size(id + 1)})
	s := c.Find(id)
	require.False(t, s.Queue(), "nobody is before it")
	require.False(t, s.Open())
	_, _, code := c.Continue(id, 1, false, nil, nil, 0, nil)
	require.Zero(t, code)
	require.True(t, s.Queue())
	s.Close() // the first is answered, the second has not begun
	require.True(t, s.Queue(), "the third must not overtake the second")
	_, _, code = c.Continue(id, 2, false, wants(2), nil, 0, nil)
	require.Zero(t, code)
	require.Equal(t, 3, c.Size(id))
	s.Close() // the second queues no longer
	s.Close() // and is answered
	require.True(t, s.Open())
	s.Close() // the third is given up
	require.False(t, s.Open())
	require.False(t, s.Queue())
}

// Changes: what is new is added, what is known is updated, then what is forgotten goes; a session of nothing is gone.
func TestChanges(t *testing.T) {
	c := New(10, 100, counter())
	id := c.Create(wants(0, 1, 2), quiet(3), false, 0)
	changed := wants(5, 1)
	changed[1].FetchOffset = 99
	s, got, code := c.Continue(id, 1, false, changed, []Key{key(0), key(7)}, 0, nil)
	require.Zero(t, code)
	require.Equal(t, []int32{1, 2, 5}, partitions(got))
	require.EqualValues(t, 99, got[0].FetchOffset)
	s.Close()
	sessions, held := c.Len()
	require.Equal(t, [2]int{1, 3}, [2]int{sessions, held})
	_, got, _ = c.Continue(id, 2, false, wants(8), []Key{key(8)}, 0, nil)
	require.Equal(t, []int32{1, 2, 5}, partitions(got), "forgotten in the same request")
	s, got, code = c.Continue(id, 3, false, nil, []Key{key(1), key(2), key(5)}, 0, nil)
	require.Zero(t, code)
	require.Nil(t, s)
	require.Empty(t, got)
	sessions, held = c.Len()
	require.Equal(t, [2]int{0, 0}, [2]int{sessions, held})
}

// What an answer must hold: data, errors, and what is news.
func TestIncludes(t *testing.T) {
	c := New(10, 100, counter())
	id := c.Create(wants(0, 1, 2), quiet(3), false, 0)
	epoch := int32(0)
	answer := func(said ...Said) []bool {
		epoch++
		s, got, code := c.Continue(id, epoch, false, nil, nil, 0, nil)
		require.Zero(t, code)
		defer s.Close()
		require.Equal(t, []int32{0, 1, 2}, partitions(got))
		include := make([]bool, 3)
		require.True(t, s.Answered(epoch, got, said, include))
		return include
	}
	same := Said{HighWatermark: 10}
	require.Equal(t, []bool{false, false, false}, answer(same, same, same))
	require.Equal(t, []bool{false, true, true}, answer(same, Said{HighWatermark: 11}, Said{HighWatermark: 10, LogStartOffset: 1}))
	require.Equal(t, []bool{false, false, false}, answer(same, Said{HighWatermark: 11}, Said{HighWatermark: 10, LogStartOffset: 1}))
	require.Equal(t, []bool{true, false, false}, answer(Said{HighWatermark: -1, LogStartOffset: -1, Error: true}, Said{HighWatermark: 11}, Said{HighWatermark: 10, LogStartOffset: 1}))
	require.Equal(t, []bool{true, false, false}, answer(same, Said{HighWatermark: 11}, Said{HighWatermark: 10, LogStartOffset: 1}), "the first without the error is news")
	require.Equal(t, []bool{false, false, true}, answer(same, Said{HighWatermark: 11}, Said{HighWatermark: 10, LogStartOffset: 1, Bytes: 5}))
}

// A partition that gave data goes to the end (F10).
func TestRotation(t *testing.T) {
	c := New(10, 100, counter())
	id := c.Create(wants(0, 1, 2, 3), quiet(4), false, 0)
	s, got, _ := c.Continue(id, 1, false, nil, nil, 0, nil)
	said := quiet(4)
	said[0].Bytes, said[2].Bytes = 5, 5
	require.True(t, s.Answered(1, got, said, make([]bool, 4)))
	_, got, _ = c.Continue(id, 2, false, nil, nil, 0, nil)
	require.Equal(t, []int32{1, 3, 0, 2}, partitions(got))
}

// Who goes when the cache is full, and who gets none.
func TestEviction(t *testing.T) {
	const late = evictAfterNs + 1
	c := New(2, 100, counter())
	small := c.Create(wants(0), quiet(1), false, 0)
	large := c.Create(wants(0, 1, 2), quiet(3), false, 0)
	require.Zero(t, c.Create(wants(0, 1, 2, 3), quiet(4), false, evictAfterNs), "the young stay")
	touch := func(id, epoch int32, now int64) {
		_, _, code := c.Continue(id, epoch, false, nil, nil, now, nil)
		require.Zero(t, code)
	}
	touch(small, 1, late-1)
	touch(large, 1, late-1)
	require.Zero(t, c.Create(wants(0), quiet(1), false, late), "as small as the smallest")
	next := c.Create(wants(0, 1), quiet(2), false, late)
	require.NotZero(t, next)
	require.Nil(t, c.Find(small), "the smallest of the old goes for a larger one")
	require.NotZero(t, c.Create(wants(0), quiet(1), false, 3*late))
	require.Nil(t, c.Find(large), "whoever was not used for long goes for anyone")

	require.Zero(t, New(0, 100, counter()).Create(wants(0), quiet(1), false, 0), "no slots")
	require.Zero(t, New(5, 100, counter()).Create(nil, nil, false, 0), "no partitions")
}

func TestBoundOfPartitions(t *testing.T) {
	c := New(10, 5, counter())
	id := c.Create(wants(0, 1, 2), quiet(3), false, 0)
	require.Zero(t, c.Create(wants(0, 1, 2), quiet(3), false, 0))
	_, _, code := c.Continue(id, 1, false, wants(0, 1, 2, 3, 4), nil, 0, nil)
	require.Zero(t, code, "full, not over")
	_, _, code = c.Continue(id, 2, false, wants(0, 1, 2, 3, 4), nil, 0, nil)
	require.Zero(t, code, "changes of what is there cost nothing")
	_, _, code = c.Continue(id, 3, false, wants(5), nil, 0, nil)
	require.Equal(t, kafka.ErrFetchSessionIDNotFound, code)
	sessions, held := c.Len()
	require.Equal(t, [2]int{0, 0}, [2]int{sessions, held})
}

// A consumer that applies incremental answers knows what one with full answers knows, whatever happens to partitions
// and whatever it adds and forgets.
func TestIncrementalKnowsAsMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(3, 1000, counter())
		truth := map[Key]Said{}
		wanted := map[Key]bool{}
		known := map[Key]Said{}
		var id, epoch int32
		state := rapid.Custom(func(t *rapid.T) Said {
			if rapid.IntRange(0, 4).Draw(t, "error") == 0 {
				return Said{HighWatermark: -1, LogStartOffset: -1, Error: true}
			}
			return Said{HighWatermark: rapid.Int64Range(0, 3).Draw(t, "hw"), LogStartOffset: rapid.Int64Range(0, 2).Draw(t, "low")}
		})
		for p := range int32(6) {
			truth[key(p)] = Said{}
		}
		read := func(all []Want) (said []Said) {
			for _, w := range all {
				said = append(said, truth[w.Key])
			}
			return said
		}
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for p := range int32(6) {
				if rapid.Bool().Draw(t, "changes") {
					truth[key(p)] = state.Draw(t, "state")
				}
			}
			var add []Want
			var forget []Key
			for p := range int32(6) {
				switch rapid.IntRange(0, 5).Draw(t, "wish") {
				case 0:
					add, wanted[key(p)] = append(add, Want{Key: key(p)}), true
				case 1:
					forget = append(forget, key(p))
					delete(wanted, key(p))
					delete(known, key(p))
				}
			}
			if id == 0 {
				var all []Want
				for p := range int32(6) {
					if wanted[key(p)] {
						all = append(all, Want{Key: key(p)})
					}
				}
				known = map[Key]Said{}
				for i, said := range read(all) {
					known[all[i].Key] = said
				}
				id, epoch = c.Create(all, read(all), false, 0), 1
				continue
			}
			s, all, code := c.Continue(id, epoch, false, add, forget, 0, nil)
			require.Zero(t, code)
			require.Len(t, all, len(wanted))
			if s == nil {
				id = 0
				continue
			}
			include := make([]bool, len(all))
			require.True(t, s.Answered(epoch, all, read(all), include))
			s.Close()
			for i, said := range read(all) {
				if include[i] {
					known[all[i].Key] = said
				}
			}
			epoch++
			for k := range wanted {
				require.Equal(t, truth[k], known[k], "%v", k)
			}
		}
	})
}
