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

var guestFiles sync.Map // go command and package -> func() (string, error)

// built gives the file of a guest: a directory below testdata, or below netsim if the name has a slash.
func built(t *testing.T, name string) string {
	t.Helper()
	file, err := build("go", name)
	require.NoError(t, err)
	return file
}

// build is built with a go command.
func build(command, name string) (string, error) {
	once, _ := guestFiles.LoadOrStore(command+" "+name, sync.OnceValues(func() (string, error) {
		pkg := "./testdata/" + name
		if strings.Contains(name, "/") {
			pkg = "../" + name
		}
		if _, err := os.ReadFile(pkg + "/main.go"); err != nil { // so that a cached result knows its guest
			return "", err
		}
		base, err := guestDir()
		if err != nil {
			return "", err
		}
		dir, err := os.MkdirTemp(base, filepath.Base(name)+"-*")
		if err != nil {
			return "", err
		}
		out := filepath.Join(dir, filepath.Base(name))
		o := guests.Options{Engine: guests.Native, GoCommand: command, Package: pkg, Out: out}
		return out, guests.Build(context.Background(), o)
	}))
	return once.(func() (string, error))()
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
	return world.Spec{Seed: seed, Program: p, Procs: procsOf(procs), Limit: 10 * time.Second}
}

func procsOf(list []string) (procs []world.ProcSpec) {
	for _, s := range list {
		name, args, _ := strings.Cut(s, ":")
		procs = append(procs, world.ProcSpec{Name: name, Args: strings.Fields(args)})
	}
	return procs
}

// planned adds a fault plan to a spec.
func planned(t *testing.T, spec world.Spec, plan string) world.Spec {
	t.Helper()
	var err error
	spec.Plan, err = nemesis.Parse("test", plan)
	require.NoError(t, err)
	return spec
}
