package court

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"trialog/checker/court/experiment"
	"trialog/netsim/world"
)

// Targets of the simulation; the benchmarks print them beside what they measure.
const (
	targetRunCPU   = 1500 * time.Millisecond // median of a run of experiment 001, judged
	targetMemory   = 400                     // MiB, peak of the process with the compiled guest
	targetGuest    = 10.0                    // MB
	targetStartCPU = 25 * time.Millisecond   // one instance
)

// cpu is the time this process has computed so far, in user and system mode.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMiB is the largest resident size this process has had.
func peakMiB(b *testing.B) int64 {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Maxrss >> 10
}

func benchSim(b *testing.B) *Sim {
	b.Helper()
	dir, err := built()
	require.NoError(b, err)
	s, err := NewSim(b.Context(), filepath.Join(dir, "trialog.wasm"), strings.Repeat("5", 64))
	require.NoError(b, err)
	b.Cleanup(func() { s.Close(b.Context()) })
	return s
}

// BenchmarkExperiment001 makes runs of the first experiment, one seed each, spread over its cells.
func BenchmarkExperiment001(b *testing.B) {
	s := benchSim(b)
	e, err := experiment.Load("", theExperiment)
	require.NoError(b, err)
	var costs []time.Duration
	operations, virtual := 0, int64(0)
	for i := 0; b.Loop(); i++ {
		before := cpu(b)
		r, err := s.Run(b.Context(), &Case{Experiment: e, Cell: &e.Cells[i%len(e.Cells)], Seed: uint64(i)})
		require.NoError(b, err)
		costs = append(costs, cpu(b)-before)
		operations += r.Operations
		virtual += r.VirtualNs
	}
	slices.Sort(costs)
	median := costs[len(costs)/2]
	b.ReportMetric(float64(operations)/float64(len(costs)), "ops/run")
	b.ReportMetric(time.Duration(virtual/int64(len(costs))).Seconds(), "virtual-s/run")
	fmt.Printf("simulation: CPU of a run, median of %d: %.2f s (target <= %.2f s)\n", len(costs), median.Seconds(), targetRunCPU.Seconds())
	fmt.Printf("simulation: peak memory with the compiled guest: %d MiB (target <= %d MiB)\n", peakMiB(b), targetMemory)
}

// BenchmarkInstanceStart starts a guest that does nothing, many times in one world each.
func BenchmarkInstanceStart(b *testing.B) {
	s := benchSim(b)
	dir, err := built()
	require.NoError(b, err)
	st, err := os.Stat(filepath.Join(dir, "trialog.wasm"))
	require.NoError(b, err)
	before, n := cpu(b), 0
	for b.Loop() {
		_, err := world.Run(b.Context(), world.Spec{Seed: uint64(n), Program: s.program, Limit: time.Minute,
			Procs: []world.ProcSpec{{Name: "a", Args: []string{"version"}}}})
		require.NoError(b, err)
		n++
	}
	each := (cpu(b) - before) / time.Duration(n)
	fmt.Printf("simulation: CPU to start and end an instance, mean of %d: %.1f ms (target <= %d ms)\n", n,
		float64(each.Microseconds())/1000, targetStartCPU.Milliseconds())
	fmt.Printf("simulation: size of the guest: %.2f MB (target <= %.0f MB)\n", float64(st.Size())/1e6, targetGuest)
}
