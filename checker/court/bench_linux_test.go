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

// cpu is the time this process and the children it has waited for have computed so far, in user and system mode.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		u := usage(b, who)
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// peakMiB is the largest resident size that this process has had, and the largest of its children.
func peakMiB(b *testing.B) (own, child int64) {
	b.Helper()
	return usage(b, unix.RUSAGE_SELF).Maxrss >> 10, usage(b, unix.RUSAGE_CHILDREN).Maxrss >> 10
}

func usage(b *testing.B, who int) (u unix.Rusage) {
	b.Helper()
	require.NoError(b, unix.Getrusage(who, &u))
	return u
}

// benchEngines runs a benchmark on every engine.
func benchEngines(b *testing.B, bench func(b *testing.B, s *Sim)) {
	b.Helper()
	dir, err := built()
	require.NoError(b, err)
	for _, name := range engineNames() {
		b.Run(name, func(b *testing.B) {
			s, err := NewSim(b.Context(), SimOptions{Engine: name, Program: filepath.Join(dir, "trialog"), Source: strings.Repeat("5", 64)})
			require.NoError(b, err)
			defer s.Close(b.Context())
			bench(b, s)
		})
	}
}

// BenchmarkExperiment001 makes runs of the first experiment, one seed each, spread over its cells: the same on every
// engine.
func BenchmarkExperiment001(b *testing.B) {
	e, err := experiment.Load("", theExperiment)
	require.NoError(b, err)
	benchEngines(b, func(b *testing.B, s *Sim) {
		var costs []time.Duration
		operations, virtual, calls := 0, int64(0), int64(0)
		for i := 0; b.Loop(); i++ {
			before := cpu(b)
			r, err := s.Run(b.Context(), &Case{Experiment: e, Cell: &e.Cells[i%len(e.Cells)], Seed: uint64(i)})
			require.NoError(b, err)
			costs = append(costs, cpu(b)-before)
			operations += r.Operations
			virtual += r.VirtualNs
			calls += r.Calls
		}
		n := len(costs)
		slices.Sort(costs)
		median := costs[n/2]
		b.ReportMetric(float64(operations)/float64(n), "ops/run")
		b.ReportMetric(float64(calls)/float64(n), "calls/run")
		b.ReportMetric(time.Duration(virtual/int64(n)).Seconds(), "virtual-s/run")
		own, child := peakMiB(b)
		fmt.Printf("simulation, %s: CPU of a run, median of %d: %.2f s (target <= %.2f s)\n", s.chosen.Name, n, median.Seconds(), targetRunCPU.Seconds())
		fmt.Printf("simulation, %s: peak memory so far: %d MiB (target <= %d MiB), of a child %d MiB\n", s.chosen.Name, own, targetMemory, child)
	})
}

// BenchmarkInstanceStart starts a guest that does nothing, many times in one world each.
func BenchmarkInstanceStart(b *testing.B) {
	benchEngines(b, func(b *testing.B, s *Sim) {
		st, err := os.Stat(s.file)
		require.NoError(b, err)
		before, n := cpu(b), 0
		for b.Loop() {
			_, err := world.Run(b.Context(), world.Spec{Seed: uint64(n), Program: s.program, Limit: time.Minute,
				Procs: []world.ProcSpec{{Name: "a", Args: []string{"version"}}}})
			require.NoError(b, err)
			n++
		}
		each := (cpu(b) - before) / time.Duration(n)
		fmt.Printf("simulation, %s: CPU to start and end an instance, mean of %d: %.1f ms (target <= %d ms)\n", s.chosen.Name, n,
			float64(each.Microseconds())/1000, targetStartCPU.Milliseconds())
		fmt.Printf("simulation, %s: size of the guest: %.2f MB (target <= %.0f MB)\n", s.chosen.Name, float64(st.Size())/1e6, targetGuest)
	})
}
