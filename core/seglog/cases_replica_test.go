package seglog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

// R25: of an offset below the log start only OFFSET_OUT_OF_RANGE is said, whatever its epoch.
func TestR25BelowTheStart(t *testing.T) {
	l := open(t, newDir(t), testConfig(small()), Start{})
	defer l.abandon()
	fill(t, l, 10)
	mustAppend(t, l, batch(2, 30, 2000), 3)
	l.SetHighWatermark(22)
	_, err := l.DeleteRecords(16, 0)
	require.NoError(t, err)
	_, err = l.Read(4, 1000, 22, true)
	require.ErrorIs(t, err, kafka.ErrOffsetOutOfRange)
	require.Equal(t, kafka.NoLeaderEpoch, l.EpochAt(4))
}

// R32: a leader-epoch checkpoint that is empty, torn or wrong is made anew from the batches: never an empty cache over a log
// that has epochs.
func TestR32TornEpochs(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	for i := range int32(9) {
		mustAppend(t, l, batch(2, 30, 1000), i/3)
	}
	want := l.Epochs()
	require.Len(t, want, 3)
	require.NoError(t, l.Close())
	good := readFile(t, dir, layout.EpochFile)
	for name, text := range map[string][]byte{
		"empty": {}, "half a line": good[:len(good)-2], "a wrong count": append([]byte("0\n7\n"), good[4:]...), "garbage": []byte("\x00\x00\x00"),
	} {
		for _, clean := range []bool{true, false} {
			fork := copyDir(t, dir)
			writeFile(t, text, fork, layout.EpochFile)
			l := open(t, fork, testConfig(small()), Start{Clean: clean, RecoveryPoint: 18})
			require.Equal(t, want, l.Epochs(), "%s, clean=%v", name, clean)
			require.Equal(t, good, readFile(t, fork, layout.EpochFile))
			l.abandon()
		}
	}
}

// A leader of an epoch that is over is refused: what it appends a recovery would cut.
func TestEpochsDoNotGoBack(t *testing.T) {
	dir := newDir(t)
	l := open(t, dir, testConfig(small()), Start{})
	mustAppend(t, l, batch(1, 30, 1000), 5)
	_, err := l.Append(batch(1, 30, 1000), 3, now(1))
	require.ErrorContains(t, err, "epoch 3 after 5")
	require.ErrorContains(t, l.StartEpoch(4), "epoch 4 after 5")
	mustAppend(t, l, batch(1, 30, 1000), 5)
	l.abandon()
	l = open(t, dir, testConfig(small()), Start{})
	defer l.abandon()
	require.EqualValues(t, 2, l.EndOffset())
}
