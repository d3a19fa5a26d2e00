package txnindex

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/seglog/layout"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.txnindex")
	require.NoError(t, Sync(path))
	require.NoError(t, Cut(path, 5))
	rows := []layout.TxnEntry{
		{Producer: 1, First: 0, Last: 4, LastStable: 2}, {Producer: 2, First: 2, Last: 9, LastStable: 10},
		{Producer: 1, First: 11, Last: 20, LastStable: 21},
	}
	for _, e := range rows {
		require.NoError(t, Append(path, e))
	}
	require.NoError(t, Sync(path))
	for _, c := range []struct {
		from, to int64
		want     []layout.TxnEntry
		done     bool
	}{
		{0, 100, rows, false}, {0, 5, rows[:2], true}, {5, 11, rows[1:2], true}, {10, 11, nil, true}, {10, 30, rows[2:], false},
		{21, 30, nil, false},
	} {
		got, done, err := Collect(nil, path, c.from, c.to)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "[%d,%d)", c.from, c.to)
		require.Equal(t, c.done, done, "[%d,%d)", c.from, c.to)
	}
	require.NoError(t, Cut(path, 20))
	got, _, err := Collect(nil, path, 0, 100)
	require.NoError(t, err)
	require.Equal(t, rows[:2], got)

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b[:len(b)-3], 0o644))
	_, _, err = Collect(nil, path, 0, 100)
	require.Error(t, err, "half an entry")
	require.NoError(t, Cut(path, 100), "recovery drops it")
	got, _, err = Collect(nil, path, 0, 100)
	require.NoError(t, err)
	require.Equal(t, rows[:1], got)
	require.NoError(t, Cut(path, 0))
	require.NoFileExists(t, path)
}

// What stays of an index that is cut is never gone, not even for a moment: a crash in between would lose it for good.
func TestCutKeepsWhatStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.txnindex")
	for _, e := range []layout.TxnEntry{{Producer: 1, First: 0, Last: 4, LastStable: 5}, {Producer: 1, First: 5, Last: 9, LastStable: 10}} {
		require.NoError(t, Append(path, e))
	}
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	crash := errors.New("crash")
	defer func(was func(*os.File, int64) error) { truncate = was }(truncate)
	truncate = func(_ *os.File, size int64) error {
		require.EqualValues(t, layout.TxnEntrySize, size)
		return crash
	}
	require.ErrorIs(t, Cut(path, 9), crash)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
