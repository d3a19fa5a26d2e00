package world_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/nemesis"
	"trialog/netsim/world"
)

func TestBadSpecs(t *testing.T) {
	engines(t, func(t *testing.T, e engine) {
		p := e.program(t, "probe")
		for _, c := range []struct {
			why  string
			spec world.Spec
		}{
			{"no time limit", world.Spec{Program: p}},
			{"no name", world.Spec{Program: p, Limit: time.Second, Procs: []world.ProcSpec{{}}}},
			{`process 1 has no name of its own: "a"`, world.Spec{Program: p, Limit: time.Second, Procs: []world.ProcSpec{{Name: "a"}, {Name: "a"}}}},
			{`process 1 has no name of its own: "A"`, world.Spec{Program: p, Limit: time.Second, Procs: []world.ProcSpec{{Name: "a"}, {Name: "A"}}}},
			{`"a b" is no name for a host`, world.Spec{Program: p, Limit: time.Second, Procs: []world.ProcSpec{{Name: "a b"}}}},
			{"no program", world.Spec{Limit: time.Second, Procs: []world.ProcSpec{{Name: "a"}}}},
			{`"b", which is no process`, world.Spec{Program: p, Limit: time.Second, WaitFor: []string{"b"}}},
		} {
			_, err := world.Run(t.Context(), c.spec)
			assert.ErrorContains(t, err, c.why)
		}
		plan, err := nemesis.Parse("x", "at 1s kill ghost")
		require.NoError(t, err)
		_, err = world.Run(t.Context(), world.Spec{Program: p, Limit: 500 * time.Millisecond, Plan: plan, Procs: []world.ProcSpec{{Name: "a", Args: []string{"spin"}}}})
		assert.EqualError(t, err, `x:1: at 1s kill ghost: no process is called "ghost"`, "before anything runs")
		crowd := world.Spec{Program: p, Limit: time.Second}
		for i := range 255 {
			crowd.Procs = append(crowd.Procs, world.ProcSpec{Name: fmt.Sprint("p", i)})
		}
		_, err = world.Run(t.Context(), crowd)
		assert.ErrorContains(t, err, "255 processes, at most 254")
	})
}
