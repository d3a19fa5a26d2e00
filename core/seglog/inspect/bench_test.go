package inspect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/inspect"
	"trialog/core/seglog/layout"
)

// BenchmarkCheck is of 64 MiB in 64 KiB batches, from page cache: every CRC and every index entry.
func BenchmarkCheck(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "bench-0")
	require.NoError(b, os.Mkdir(dir, 0o755))
	var builder record.Builder
	var log []byte
	for len(log) < 64<<20 {
		builder.Reset(nil)
		builder.SetLeaderEpoch(0)
		for range 64 {
			builder.Append(1_700_000_000_000, nil, bytes.Repeat([]byte{byte(len(log) >> 16)}, 1000))
		}
		batch := builder.Finish()
		record.SetBaseOffset(batch, int64(64*(len(log)/len(batch))))
		log = append(log, batch...)
	}
	require.NoError(b, os.WriteFile(filepath.Join(dir, layout.FileName(0, layout.LogSuffix)), log, 0o644))
	require.NoError(b, os.WriteFile(filepath.Join(dir, layout.EpochFile), []byte("0\n1\n0 0\n"), 0o644))
	require.NoError(b, os.WriteFile(filepath.Join(dir, layout.PartitionFile), layout.AppendPartitionMetadata(nil, kafka.TopicID{1: 1}), 0o644))
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		r, err := inspect.Check(dir, inspect.Options{})
		if err != nil || len(r.Findings) > 0 {
			b.Fatal(err, r.Findings)
		}
	}
}
