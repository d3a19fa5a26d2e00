package world_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
	"trialog/netsim/world"
)

func raftSpec(t *testing.T, e engine, seed uint64, record *bytes.Buffer) world.Spec {
	plan, err := nemesis.Parse("raft", `
at 5s  partition n1 | n2 n3 for 4s
at 12s cut n2->n3 for 4s
at 18s partition n1 n2 | n3 for 4s
at 24s kill n1
`)
	require.NoError(t, err)
	spec := world.Spec{Seed: seed, Program: e.program(t, "raft"), Limit: time.Minute, Plan: plan}
	if record != nil {
		spec.Record = record
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		spec.Procs = append(spec.Procs, world.ProcSpec{Name: n, Args: []string{n, "32", "n1", "n2", "n3"}})
	}
	return spec
}

// applied returns the commands a node applied, and those it saw committed.
func applied(text string) (list, committed []string) {
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[0] == "applied":
			list = append(list, f[2])
		case len(f) == 2 && f[0] == "committed":
			committed = append(committed, f[1])
		}
	}
	return list, committed
}

// TestRaftSurvivesPartitions runs a consensus library that has never heard of the simulator.
func TestRaftSurvivesPartitions(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		res, err := world.Run(t.Context(), raftSpec(t, e, 11, nil))
		require.NoError(t, err)
		require.Empty(t, res.NotFired)
		two, c2 := applied(res.Text("n2", "stdout"))
		three, c3 := applied(res.Text("n3", "stdout"))
		_, c1 := applied(res.Text("n1", "stdout"))
		require.Greater(t, len(two), 50)
		n := min(len(two), len(three))
		assert.Equal(t, two[:n], three[:n])
		longest := two
		if len(three) > n {
			longest = three
		}
		have := map[string]bool{}
		for _, c := range longest {
			have[c] = true
		}
		for _, c := range append(append(c1, c2...), c3...) {
			assert.True(t, have[c], "%s was committed and is lost", c)
		}
	})
}

func TestRaftIsOneExecutionPerSeed(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		var a, b bytes.Buffer
		first, err := world.Run(t.Context(), raftSpec(t, e, 5, &a))
		require.NoError(t, err)
		t.Setenv("TZ", "Asia/Tokyo")
		t.Setenv("SOMETHING", "else")
		second, err := world.Run(t.Context(), raftSpec(t, e, 5, &b))
		require.NoError(t, err)
		d, err := kernel.FirstDifference(&a, &b)
		require.NoError(t, err)
		require.Nil(t, d, "%v", d)
		assert.Equal(t, first.TraceHash, second.TraceHash)
		assert.Equal(t, first.Lines, second.Lines)
		other, err := world.Run(t.Context(), raftSpec(t, e, 6, nil))
		require.NoError(t, err)
		assert.NotEqual(t, first.TraceHash, other.TraceHash)
	})
}
