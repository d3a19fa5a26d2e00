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

// Targets of the native engine beside the portable one, in the same run.
const (
	targetRatio      = 8.0  // CPU of a run, wasm to native; at least 5
	targetWorldStart = 15.0 // ms of CPU: a broker and seven clients
	targetResident   = 25   // MiB of one process
	targetSwarm      = 1000 // runs a minute on two cores
)

// BenchmarkEngines makes the same runs of experiment 001 on both engines in turn, and prints what bounds the native one.
func BenchmarkEngines(b *testing.B) {
	e, err := experiment.Load("", theExperiment)
	require.NoError(b, err)
	dir, err := built()
	require.NoError(b, err)
	sims := map[string]*Sim{}
	for _, name := range engineNames() {
		s, err := NewSim(b.Context(), SimOptions{Engine: name, Program: filepath.Join(dir, "trialog"), Source: strings.Repeat("5", 64)})
		require.NoError(b, err)
		defer s.Close(b.Context())
		sims[name] = s
	}
	native := sims["native"]
	if native == nil {
		b.Skip("there is no native engine here")
	}
	st := native.engine.NativeStats()
	st.Memory.Store(true)
	var cost [2]time.Duration
	n := 0
	for ; b.Loop(); n++ {
		for i, s := range []*Sim{sims["wasm"], native} {
			before := cpu(b)
			_, err := s.Run(b.Context(), &Case{Experiment: e, Cell: &e.Cells[n%len(e.Cells)], Seed: uint64(n)})
			require.NoError(b, err)
			cost[i] += cpu(b) - before
		}
	}
	per := func(v int64) float64 { return float64(v) / float64(n) }
	ratio := cost[0].Seconds() / cost[1].Seconds()
	b.ReportMetric(ratio, "wasm/native")
	b.ReportMetric(per(st.Calls.Load()), "turns/run")
	fmt.Printf("engines: CPU of a run of 001, mean of %d: wasm %.0f ms, native %.0f ms, ratio %.1f (target >= %.0f)\n", n,
		cost[0].Seconds()*1e3/float64(n), cost[1].Seconds()*1e3/float64(n), ratio, targetRatio)
	fmt.Printf("engines: native turns of the kernel a run %.0f, calls without a turn %.0f, polls %.0f of which found nothing at once %.1f%%; CPU a turn %.1f us, all included\n",
		per(st.Calls.Load()), per(st.Posted.Load()), per(st.Polls.Load()), 100*float64(st.Empty.Load())/float64(st.Polls.Load()),
		cost[1].Seconds()*1e6/float64(st.Calls.Load()))
	fmt.Printf("engines: native processes a run %.1f, largest %d MiB (target <= %d)\n", per(st.Starts.Load()), st.PeakKiB.Load()>>10, targetResident)
}

// BenchmarkWorldStart starts and ends a broker and seven clients that do nothing.
func BenchmarkWorldStart(b *testing.B) {
	benchEngines(b, func(b *testing.B, s *Sim) {
		var procs []world.ProcSpec
		for i := range 8 {
			procs = append(procs, world.ProcSpec{Name: fmt.Sprint("p", i), Args: []string{"version"}})
		}
		before, n := cpu(b), 0
		for ; b.Loop(); n++ {
			_, err := world.Run(b.Context(), world.Spec{Seed: uint64(n), Program: s.program, Limit: time.Minute, Procs: procs})
			require.NoError(b, err)
		}
		fmt.Printf("engines: %s: CPU to start and end 8 processes, mean of %d: %.1f ms (target for native <= %.0f ms)\n", s.chosen.Name, n,
			(cpu(b)-before).Seconds()*1e3/float64(n), targetWorldStart)
	})
}

// BenchmarkSwarm makes runs on all cores, as a swarm does.
func BenchmarkSwarm(b *testing.B) {
	e, err := experiment.Load("", theExperiment)
	require.NoError(b, err)
	benchEngines(b, func(b *testing.B, s *Sim) {
		before, n := cpu(b), 0
		for b.Loop() {
			t := Trial{Sim: s}
			seeds := Seeds{1, 20}
			_, err := t.Swarm(b.Context(), s, &Case{Experiment: e, Cell: &e.Cells[0]}, seeds, func(*Run) error { return nil })
			require.NoError(b, err)
			n += seeds.Len()
		}
		wall := b.Elapsed().Seconds()
		fmt.Printf("engines: %s: swarm of 001: %.0f runs a minute (target for native on 2 cores >= %d), %.0f ms of CPU a run, %.2f cores busy\n",
			s.chosen.Name, float64(n)/wall*60, targetSwarm, (cpu(b)-before).Seconds()*1e3/float64(n), (cpu(b)-before).Seconds()/wall)
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
