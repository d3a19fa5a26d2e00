//go:build linux

package cleaning

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/seglog/compact"
)

// BenchmarkClean is the compaction of uncompressed 1 KiB records, half of which are superseded, from the page cache. The
// target is for one core: bytes of log for a second of processor time, the system's part included. By the clock it is
// less where others work or the disk is slow, since what is written is fsynced.
func BenchmarkClean(b *testing.B) {
	const records = 128 << 10
	value := strings.Repeat("v", 1000)
	var batches [][]byte
	for i := kafka.Offset(0); i < records; i += 16 {
		var words []string
		for j := range kafka.Offset(16) {
			words = append(words, fmt.Sprintf("key-%016d=%s", (i+j)*7919%(records/2), value))
		}
		batches = append(batches, data(i, words...))
	}
	l := Limits{MapBytes: 128 << 20, MapLoad: 0.9, BufferBytes: 256 << 10}
	w := NewWorker(l)
	var read int64
	var stats compact.Stats
	var clock, processor time.Duration
	for range b.N {
		f := newFiles(b, records+1, batches, [][]byte{data(records, "z=9")})
		began, used := time.Now(), processorTime(b)
		_, s, err := w.Run(f.task())
		clock += time.Since(began)
		processor += processorTime(b) - used
		require.NoError(b, err)
		require.EqualValues(b, records/2, s.Kept)
		stats, read = s, read+s.Read
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(read)/1e6/processor.Seconds(), "MB/s-of-a-core(target>=200)")
	b.ReportMetric(float64(read)/1e6/clock.Seconds(), "MB/s")
	b.ReportMetric(float64(stats.MapBytes+stats.IOBuffer)/(1<<20), "MiB-held")
	require.LessOrEqual(b, stats.MapBytes, l.MapBytes)
	require.LessOrEqual(b, stats.IOBuffer, int64(5*l.BufferBytes/2))
}

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
