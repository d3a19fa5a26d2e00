package seglog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/producers"
)

// A partition may lie on another disk, with a link to it in the log directory; and what only looks like a deleted one is not
// removed.
func TestLinkedPartition(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	d, err := OpenDir(dir, DirConfig{Node: 1, Rules: AllRules(), ProducerRules: producers.AllRules()})
	require.NoError(t, err)
	require.NoError(t, os.Symlink(other, filepath.Join(dir, t0.String())))
	require.NoError(t, os.Symlink(filepath.Join(other, "nothing"), filepath.Join(dir, "broken-0")))
	mine := filepath.Join(dir, "backup.old-delete")
	require.NoError(t, os.Mkdir(mine, 0o755))
	found, err := d.List()
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, t0, found[0].Partition)
	_, err = d.RemoveDeleted(1 << 60)
	require.NoError(t, err)
	require.DirExists(t, mine)
}
