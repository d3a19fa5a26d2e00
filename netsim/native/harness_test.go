//go:build linux && amd64

package native

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	guests "trialog/netsim/guest"
	"trialog/netsim/nemesis"
	"trialog/netsim/world"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := guestDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// guestDir keeps the guests, which are started anew for each process, until the tests are over.
var guestDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "trialog-native-*") })

var guestFiles sync.Map // package -> func() (string, error)

// built gives the file of a guest: a directory below testdata, or below netsim if the name has a slash.
func built(t *testing.T, name string) string {
	t.Helper()
	once, _ := guestFiles.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		pkg := "./testdata/" + name
		if strings.Contains(name, "/") {
			pkg = "../" + name
		}
		if _, err := os.ReadFile(pkg + "/main.go"); err != nil { // so that a cached result knows its guest
			return "", err
		}
		dir, err := guestDir()
		if err != nil {
			return "", err
		}
		out := filepath.Join(dir, filepath.Base(name))
		return out, guests.Build(context.Background(), guests.Options{Engine: guests.Native, Package: pkg, Out: out})
	}))
	file, err := once.(func() (string, error))()
	require.NoError(t, err)
	return file
}

// newEngine is an engine of the test's own, changed by set.
func newEngine(t *testing.T, set func(*Engine)) *Engine {
	t.Helper()
	e, err := NewEngine()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	if set != nil {
		set(e)
	}
	return e
}

// play simulates processes ("name: args") of one guest for at most 10 virtual seconds.
func play(t *testing.T, seed uint64, guest string, procs ...string) *world.Result {
	t.Helper()
	res, err := world.Run(t.Context(), specOf(t, newEngine(t, nil), seed, guest, procs...))
	require.NoError(t, err)
	return res
}

func specOf(t *testing.T, e *Engine, seed uint64, guest string, procs ...string) world.Spec {
	t.Helper()
	p, err := e.Load(built(t, guest))
	require.NoError(t, err)
	spec := world.Spec{Seed: seed, Program: p, Limit: 10 * time.Second}
	for _, s := range procs {
		name, args, _ := strings.Cut(s, ":")
		spec.Procs = append(spec.Procs, world.ProcSpec{Name: name, Args: strings.Fields(args)})
	}
	return spec
}

// planned adds a fault plan to a spec.
func planned(t *testing.T, spec world.Spec, plan string) world.Spec {
	t.Helper()
	var err error
	spec.Plan, err = nemesis.Parse("test", plan)
	require.NoError(t, err)
	return spec
}
