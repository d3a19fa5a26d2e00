package storage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/seglog/inspect"
	"trialog/core/seglog/layout"
)

// What is handed to both brokers is sound, and after that is an unclean directory with batches alone.
func TestLogs(t *testing.T) {
	root := t.TempDir()
	made, err := makeLogs(filepath.Join(root, "made"), 8<<20)
	require.NoError(t, err)
	r, err := inspect.Check(made.dir, inspect.Options{Deep: true})
	require.NoError(t, err)
	require.Zero(t, r.Count(inspect.Damage), "%v", r.Findings)
	require.GreaterOrEqual(t, r.Bytes, int64(16<<20))
	require.Len(t, made.ends, partitions+1)
	require.Positive(t, made.active)

	to := filepath.Join(root, "data")
	for tp := range made.ends {
		require.NoError(t, os.MkdirAll(filepath.Join(to, tp.String()), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(to, tp.String(), layout.PartitionFile), layout.AppendPartitionMetadata(nil, kafka.TopicID{1: 1}), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(to, layout.CleanMarker), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(to, layout.CleanerFile), []byte("0\n1\ncompaction 0 42\n"), 0o644))
	require.NoError(t, made.handOver(to))
	require.NoFileExists(t, filepath.Join(to, layout.CleanMarker))
	for tp := range made.ends {
		entries, err := os.ReadDir(filepath.Join(to, tp.String()))
		require.NoError(t, err)
		for _, e := range entries {
			require.Contains(t, []string{layout.LogSuffix, ".metadata"}, filepath.Ext(e.Name()))
		}
	}
	at, err := cleanedTo(to)
	require.NoError(t, err)
	require.Equal(t, kafka.Offset(42), at)
}
