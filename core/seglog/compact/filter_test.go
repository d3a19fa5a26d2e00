package compact

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

// TestFilter: what stays of a log, case by case. The whole log but its last batch is dirty and below the bound.
func TestFilter(t *testing.T) {
	for _, c := range []struct {
		name string
		log  []byte
		want string
	}{
		{"a later record of the key", join(data(t, 0, "a=1", "b=1"), data(t, 2, "a=2"), data(t, 3, "z=9")),
			"[0..1: 1 b=1] [2..2: 2 a=2] [3..3: 3 z=9]"},
		{"within a batch", join(data(t, 0, "a=1", "a=2", "b=1", "a=3"), data(t, 4, "z=9")), "[0..3: 2 b=1 3 a=3] [4..4: 4 z=9]"},
		{"a batch goes whole", join(data(t, 0, "a=1"), data(t, 1, "a=2"), data(t, 2, "z=9")), "[1..1: 1 a=2] [2..2: 2 z=9]"},
		{"an empty value is no tombstone, an empty key no null", join(data(t, 0, "a=", "a="), data(t, 2, "z=9")), "[0..1: 1 a=] [2..2: 2 z=9]"},
		{"no key", join(data(t, 0, "a=1", "=1"), data(t, 2, "=2"), data(t, 3, "b=1"), data(t, 4, "z=9")),
			"[0..1: 0 a=1] [3..3: 3 b=1] [4..4: 4 z=9]"},
		{"above the bound nothing is looked at", join(data(t, 0, "a=1"), data(t, 1, "a=2", "a=3")), "[0..0: 0 a=1] [1..2: 1 a=2 2 a=3]"},
		{"L11: a gap stays a gap", join(data(t, 0, "a=1"), data(t, 57, "b=1"), data(t, 59, "a=2"), data(t, 99, "z=9")),
			"[57..57: 57 b=1] [59..59: 59 a=2] [99..99: 99 z=9]"},
		{"a tombstone gets its horizon", join(data(t, 0, "a=1"), data(t, 1, "a"), data(t, 2, "z=9")), "[1..1 until 24h: 1 a] [2..2: 2 z=9]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			heads, _ := parsed(t, c.log)
			out, _ := round(t, c.log, 0, heads[len(heads)-1].BaseOffset, start, Round{Rules: allRules})
			require.Equal(t, c.want, show(t, out))
		})
	}
}

// TestL12Tombstones: the horizon is fixed by the first round that saw the tombstone as the newest of its key, whatever
// is written meanwhile, and the first round after it removes it; the old value is gone by then.
func TestL12Tombstones(t *testing.T) {
	for _, c := range codecs {
		log := join(put(t, 0, c, -1, 0, "k=v1", "x=1"), put(t, 2, c, -1, 0, "x=2", "k", "y=1"), data(t, 5, "z=9"))
		out, _ := round(t, log, 0, 5, start, Round{Rules: allRules})
		require.Equal(t, "[2..4 until 24h: 2 x=2 3 k 4 y=1] [5..5: 5 z=9]", show(t, out), c)
		for i, ms := range []int64{hour, 12 * hour, retention - 1} {
			at := kafka.Offset(6 + i)
			out = join(out, data(t, at, "t=1"))
			out, _ = round(t, out, at-1, at, start+ms, Round{Rules: allRules})
			require.Contains(t, show(t, out), "[2..4 until 24h: 2 x=2 3 k 4 y=1]")
		}
		out, _ = round(t, join(out, data(t, 9, "t=1")), 8, 9, start+retention, Round{Rules: allRules})
		require.Equal(t, "[2..4 until 24h: 2 x=2 4 y=1] [5..5: 5 z=9] [8..8: 8 t=1] [9..9: 9 t=1]", show(t, out))
	}
}

// TestDeleteHorizonOff: without the rule a consumer that has read the value never learns that it was deleted.
func TestDeleteHorizonOff(t *testing.T) {
	log := join(data(t, 0, "k=v1"), data(t, 1, "k", "y=1"), data(t, 3, "z=9"))
	for _, c := range []struct {
		rules Rules
		want  string
	}{
		{allRules, "[1..2 until 24h: 1 k 2 y=1] [3..3: 3 z=9]"},
		{only(t, "compact-delete-horizon", allRules), "[1..2: 2 y=1] [3..3: 3 z=9]"},
	} {
		out, _ := round(t, log, 0, 3, start, Round{Rules: c.rules})
		require.Equal(t, c.want, show(t, out))
	}
}

// TestHorizonWaitsForItsRound: a tombstone beyond the end of a full map gets no horizon yet, although the value before it
// goes.
func TestHorizonWaitsForItsRound(t *testing.T) {
	m, err := NewMap(3*SlotSize, 0.7, 100) // two keys
	require.NoError(t, err)
	log := join(data(t, 0, "k=1"), data(t, 1, "a=1", "k", "b=1"), data(t, 4, "z=9"))
	out, f := round(t, log, 0, 4, start, Round{Map: m, Rules: allRules})
	require.EqualValues(t, 1, f.Map.End())
	require.Equal(t, "[0..0:] [1..3: 1 a=1 2 k 3 b=1] [4..4: 4 z=9]", show(t, out))
}

// TestKeepsTimes: a batch that gets a horizon keeps the timestamps of its records, and its largest one follows the
// records that stay.
func TestKeepsTimes(t *testing.T) {
	times := func(log []byte) (all []int64) {
		_, batches := parsed(t, log)
		it, err := codec.Records(batches[0], 1<<30)
		require.NoError(t, err)
		for it.Next() {
			all = append(all, it.Record().Timestamp)
			require.Equal(t, []record.RecordHeader{{Key: "h", Value: it.Record().Key}}, it.Record().AppendHeaders(nil))
		}
		return all
	}
	for _, c := range codecs {
		log := join(put(t, 0, c, 7, 0, "a", "b=1", "c=1", "d=1"), data(t, 4, "c=2", "d=2"), data(t, 6, "z=9"))
		out, _ := round(t, log, 0, 6, start, Round{Rules: allRules})
		require.Equal(t, "[0..3 until 24h: 0 a 1 b=1] [4..5: 4 c=2 5 d=2] [6..6: 6 z=9]", show(t, out))
		require.Equal(t, []int64{start - 1000, start - 999}, times(out))
		before, _ := parsed(t, log)
		after, _ := parsed(t, out)
		want := before[0]
		want.Length, want.CRC, want.Count, want.MaxTimestamp = after[0].Length, after[0].CRC, 2, start-999
		want.BaseTimestamp, want.Attributes = start+retention, want.Attributes|record.HasDeleteHorizon
		require.Equal(t, want, after[0]) // codec, producer, sequence, epoch and offsets stay
	}
}

func TestHorizonDoesNotWrap(t *testing.T) {
	out, _ := round(t, join(data(t, 0, "a"), data(t, 1, "z=9")), 0, 1, start, Round{Rules: allRules, DeleteRetentionMs: math.MaxInt64})
	heads, _ := parsed(t, out)
	require.EqualValues(t, int64(math.MaxInt64), heads[0].BaseTimestamp)
	out, _ = round(t, join(out, data(t, 2, "z=9")), 1, 2, start+1e12, Round{Rules: allRules})
	require.Contains(t, show(t, out), "0 a")
}

// TestUntouched: what loses nothing is the same bytes; a compressed batch that loses something keeps its codec.
func TestUntouched(t *testing.T) {
	for _, c := range codecs {
		first, second := put(t, 0, c, 4, 0, "a=1", "b=1"), put(t, 2, c, 4, 0, "a=2", "c=1")
		out, f := round(t, join(first, second, data(t, 4, "z=9")), 0, 4, start, Round{Rules: allRules})
		_, batches := parsed(t, out)
		require.Equal(t, second, batches[1])
		heads, _ := parsed(t, out)
		require.Equal(t, c, heads[0].Codec())
		require.EqualValues(t, 1, f.Stats.Copied)
		require.EqualValues(t, 1, f.Stats.Rebuilt)
	}
}

// TestL13EmptyBatches: the newest batch of a producer stays without records, with its last sequence; one of an expired
// producer goes.
func TestL13EmptyBatches(t *testing.T) {
	for _, c := range codecs {
		log := join(put(t, 0, c, 7, 0, "k=1", "l=1"), put(t, 2, c, 8, 0, "k=2", "l=2"), data(t, 4, "z=9"))
		newest := []Newest{{ID: 7, Epoch: 1, LastOffset: 1}, {ID: 8, Epoch: 1, LastOffset: 3}}
		out, f := round(t, log, 0, 4, start, Round{Rules: allRules, Newest: newest})
		require.Equal(t, "[0..1:] [2..3: 2 k=2 3 l=2] [4..4: 4 z=9]", show(t, out))
		require.EqualValues(t, 1, f.Stats.Emptied)
		before, _ := parsed(t, log)
		after, _ := parsed(t, out)
		require.Equal(t, before[0].LastSequence(), after[0].LastSequence())
		require.Equal(t, before[0].MaxTimestamp, after[0].MaxTimestamp)
		require.Equal(t, record.Uncompressed, after[0].Codec())

		again, _ := round(t, join(out, data(t, 5, "z=9")), 4, 5, start, Round{Rules: allRules, Newest: newest})
		require.Equal(t, out, again[:len(out)]) // and stays in later rounds
		again, _ = round(t, join(out, data(t, 5, "z=9")), 4, 5, start, Round{Rules: allRules, Newest: newest[1:]})
		require.Equal(t, "[2..3: 2 k=2 3 l=2] [4..4: 4 z=9] [5..5: 5 z=9]", show(t, again))
	}
}

// TestKeepsLogEnd: the last batch below the bound stays when all of it is removed; without the rule nothing leads to the
// log end.
func TestKeepsLogEnd(t *testing.T) {
	log := data(t, 0, "k")
	log, _ = round(t, join(log, data(t, 1, "k")), 0, 2, start, Round{Rules: allRules})
	require.Equal(t, "[1..1 until 24h: 1 k]", show(t, log))
	out, _ := round(t, log, 0, 2, start+retention, Round{Rules: allRules})
	require.Equal(t, "[1..1:]", show(t, out))
	out, _ = round(t, out, 0, 2, start+2*retention, Round{Rules: allRules})
	require.Equal(t, "[1..1:]", show(t, out))
	off, _ := round(t, log, 0, 2, start+retention, Round{Rules: only(t, "compact-keeps-log-end", allRules)})
	require.Empty(t, off)
}

// TestTransactions: aborted data goes; a marker stays as long as there was data, then until its horizon.
func TestTransactions(t *testing.T) {
	const a, b = 7, 8
	log := join(
		data(t, 0, "k=0"), txn(t, 1, a, "k=1"), txn(t, 2, b, "j=1"), end(3, a, record.ControlAbort),
		txn(t, 4, a, "i=1"), end(5, b, record.ControlCommit), end(6, a, record.ControlCommit), data(t, 7, "z=9"))
	out, _ := round(t, log, 0, 7, start, Round{Rules: allRules})
	require.Equal(t, "[0..0: 0 k=0] [2..2: 2 j=1] [3..3: 3 marker] [4..4: 4 i=1] [5..5: 5 marker] [6..6: 6 marker] [7..7: 7 z=9]", show(t, out))

	out, _ = round(t, join(out, data(t, 8, "j=2")), 7, 8, start+hour, Round{Rules: allRules})
	require.Contains(t, show(t, out), "[2..2: 2 j=1] [3..3 until 25h: 3 marker] [4..4: 4 i=1] [5..5: 5 marker]")
	out, _ = round(t, join(out, data(t, 9, "z=10")), 8, 9, start+2*hour, Round{Rules: allRules})
	require.Contains(t, show(t, out), "[0..0: 0 k=0] [3..3 until 25h: 3 marker] [4..4: 4 i=1] [5..5: 5 marker]")
	out, _ = round(t, join(out, data(t, 10, "z=11")), 9, 10, start+25*hour, Round{Rules: allRules})
	require.Contains(t, show(t, out), "[0..0: 0 k=0] [4..4: 4 i=1] [5..5 until 49h: 5 marker] [6..6: 6 marker]")

	// A marker that is all that is known of a producer stays, for its epoch.
	out, _ = round(t, join(out, data(t, 11, "z=12")), 10, 11, start+60*hour, Round{Rules: allRules, Newest: []Newest{{ID: b, Epoch: 1, LastOffset: -1}}})
	require.Contains(t, show(t, out), "[4..4: 4 i=1] [5..5:] [6..6: 6 marker]")
}

// TestOpenTransactions: nothing from the first offset of a transaction without a marker may be cleaned, and data of an
// earlier round is never taken for aborted.
func TestOpenTransactions(t *testing.T) {
	log := join(txn(t, 0, 7, "a=1"), end(1, 7, record.ControlCommit), txn(t, 2, 8, "a=2"), txn(t, 3, 7, "b=1"), end(4, 7, record.ControlAbort))
	heads, batches := parsed(t, log)
	tx := NewTxns(2)
	for i := range heads {
		require.NoError(t, tx.Note(&heads[i], batches[i]))
	}
	first, open := tx.Open()
	require.True(t, open)
	require.EqualValues(t, 2, first)
	for i, want := range []bool{false, false, false, true, false} {
		require.Equal(t, want, tx.Aborted(&heads[i]), i)
	}
	tx = NewTxns(0)
	for i := range heads {
		require.NoError(t, tx.Note(&heads[i], batches[i]))
	}
	require.False(t, tx.Aborted(&heads[0]), "an abort marker stands for what follows the marker before it")
	require.True(t, tx.Aborted(&heads[3]))
}

// TestUnreadable: damage inside a batch is an error, whatever it is.
func TestUnreadable(t *testing.T) {
	for _, c := range codecs {
		for at := record.HeaderSize; at < record.HeaderSize+24; at++ {
			batch := put(t, 0, c, -1, 0, "a=1", "b=2", "c=3")
			batch[at] ^= 0x41
			h, err := record.ParseHeader(batch)
			require.NoError(t, err)
			m, err := NewMap(1000, 0.9, 10)
			require.NoError(t, err)
			m.Reset(0)
			f := NewFilter(Round{Map: m, Rules: allRules})
			if _, err := f.Put(&h, batch); err != nil {
				require.ErrorIs(t, err, ErrUnreadable)
			}
			if _, _, err := f.Batch(nil, &h, batch); err != nil {
				require.ErrorIs(t, err, ErrUnreadable)
			}
		}
	}
	bad := data(t, 0, "a=1")
	binary.BigEndian.PutUint16(bad[21:], 7) // a codec that does not exist
	h, err := record.ParseHeader(bad)
	require.NoError(t, err)
	m, _ := NewMap(1000, 0.9, 10)
	_, err = NewFilter(Round{Map: m}).Put(&h, bad)
	require.ErrorIs(t, err, ErrUnreadable)
}
