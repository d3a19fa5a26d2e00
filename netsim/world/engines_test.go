package world_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/guest"
	"trialog/netsim/nemesis"
	"trialog/netsim/wasi"
	"trialog/netsim/world"
)

// engine runs guests. What guests observe is equal on all; what they call, and when, is not.
type engine struct {
	name string
	// program builds and prepares a program of netsim/examples, once. It may skip the test.
	program func(t *testing.T, example string) world.Program
}

var allEngines = []engine{
	{"wasm", wasmProgram},
}

// engines runs a test on every engine.
func engines(t *testing.T, test func(t *testing.T, e engine)) {
	t.Helper()
	for _, e := range allEngines {
		t.Run(e.name, func(t *testing.T) { test(t, e) })
	}
}

// run simulates probe processes ("name: args") under a plan.
func (e engine) run(t *testing.T, seed uint64, limit time.Duration, plan string, procs ...string) *world.Result {
	t.Helper()
	spec := world.Spec{Seed: seed, Program: e.program(t, "probe"), Limit: limit}
	for _, p := range procs {
		name, args, _ := strings.Cut(p, ":")
		spec.Procs = append(spec.Procs, world.ProcSpec{Name: name, Args: strings.Fields(args)})
	}
	if plan != "" {
		var err error
		spec.Plan, err = nemesis.Parse("test", plan)
		require.NoError(t, err)
	}
	res, err := world.Run(t.Context(), spec)
	require.NoError(t, err)
	assert.Empty(t, res.NotFired)
	return res
}

var wasmEngine = sync.OnceValues(func() (*wasi.Engine, error) {
	return wasi.NewEngine(context.Background(), filepath.Join(guest.CacheDir(), "compiled"))
})

var wasmPrograms sync.Map // example name -> func() (*wasi.Program, error)

func wasmProgram(t *testing.T, example string) world.Program {
	t.Helper()
	once, _ := wasmPrograms.LoadOrStore(example, sync.OnceValues(func() (*wasi.Program, error) {
		if _, err := os.ReadFile("../examples/" + example + "/main.go"); err != nil { // so that a cached result knows its guest
			return nil, err
		}
		wasm, err := guest.Bytes(context.Background(), guest.Options{Package: "../examples/" + example})
		if err != nil {
			return nil, err
		}
		e, err := wasmEngine()
		if err != nil {
			return nil, err
		}
		return e.Compile(context.Background(), wasm)
	}))
	p, err := once.(func() (*wasi.Program, error))()
	require.NoError(t, err)
	return p
}
