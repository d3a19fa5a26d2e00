package cleaning

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

// TestMemory: 30,000 keys through a map that has room for some 9,800: several passes, and the live heap never grows by more
// than the buffers that were configured.
func TestMemory(t *testing.T) {
	const keys = 30_000
	l := Limits{MapBytes: 256 << 10, MapLoad: 0.9, BufferBytes: 64 << 10}
	value := strings.Repeat("v", 100)
	var batches [][]byte
	for i := kafka.Offset(0); i < keys; i += 10 {
		var words []string
		for j := range kafka.Offset(10) {
			words = append(words, fmt.Sprintf("key-%d=%s", i+j, value))
		}
		batches = append(batches, data(i, words...))
	}
	f := newFiles(t, keys+1, batches[:len(batches)/2], batches[len(batches)/2:], [][]byte{data(keys, "z=9")})
	batches = nil

	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most, calls := live(), int64(0), 0
	l.Pace = func(int, func() error) error {
		if calls++; calls%20 == 0 {
			most = max(most, live())
		}
		return nil
	}
	w := NewWorker(l)
	task := f.task()
	task.Group.SegmentBytes = 1
	passes := 0
	for task.First < task.Bound {
		end, stats, err := w.Run(task)
		require.NoError(t, err)
		require.LessOrEqual(t, stats.MapBytes, l.MapBytes)
		require.Greater(t, end, task.First)
		next := f.task()
		next.First, next.Group = end, task.Group
		task = next
		passes++
	}
	require.Equal(t, 4, passes)
	configured := l.MapBytes + 2*int64(l.BufferBytes)
	t.Logf("%d passes; %d KiB of live heap at most, %d KiB configured", passes, (most-before)>>10, configured>>10)
	require.Less(t, most-before, configured+2*indexBuffer+64<<10)
}
