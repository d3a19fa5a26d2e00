package seglog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

// What the checkpoints say of a deleted topic must not be taken for its successor of the same name: the start offset of
// the first would cut the second away, its recovery point would have bytes trusted that were never fsynced.
func TestDirForgetsDeletedLog(t *testing.T) {
	for _, c := range []struct {
		name   string
		killed bool
	}{{"the process goes on", false}, {"killed after the deletion", true}} {
		t.Run(c.name, func(t *testing.T) {
			path := t.TempDir()
			d := openDir(t, path, dirConfig())
			first, err := d.OpenLog(t0, kafka.TopicID{1}, small())
			require.NoError(t, err)
			fill(t, first, 20)
			first.SetHighWatermark(40)
			_, err = first.DeleteRecords(30, 0)
			require.NoError(t, err)
			require.NoError(t, first.Flush(40))
			require.NoError(t, d.Checkpoint())
			require.NoError(t, d.DeleteLog(t0, "0123", 0))
			if c.killed {
				d.abandon()
				d = openDir(t, path, dirConfig())
			}

			second, err := d.OpenLog(t0, kafka.TopicID{2}, small())
			require.NoError(t, err)
			require.Equal(t, kafka.Offset(0), second.EndOffset(), "a new log begins at 0")
			fill(t, second, 10)
			require.NoError(t, second.Flush(20))
			want := contents(t, second)
			d.abandon()

			d = openDir(t, path, dirConfig())
			defer d.abandon()
			again, err := d.OpenLog(t0, kafka.TopicID{2}, small())
			require.NoError(t, err)
			require.Equal(t, kafka.Offset(0), again.StartOffset())
			require.Equal(t, want, contents(t, again))
		})
	}
}
