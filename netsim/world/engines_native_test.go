//go:build linux && amd64

package world_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/netsim/guest"
	"trialog/netsim/native"
	"trialog/netsim/world"
)

func init() { allEngines = append(allEngines, engine{"native", nativeProgram}) }

var nativeEngine = sync.OnceValues(native.NewEngine)

var nativePrograms sync.Map // example name -> func() (*native.Program, error)

// nativeDir keeps the guests, which are started anew for each process, until the tests are over.
var nativeDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "trialog-world-native-*") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := nativeDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func nativeProgram(t *testing.T, example string) world.Program {
	t.Helper()
	once, _ := nativePrograms.LoadOrStore(example, sync.OnceValues(func() (*native.Program, error) {
		if _, err := os.ReadFile("../examples/" + example + "/main.go"); err != nil { // so that a cached result knows its guest
			return nil, err
		}
		dir, err := nativeDir()
		if err != nil {
			return nil, err
		}
		out := filepath.Join(dir, example)
		o := guest.Options{Engine: guest.Native, Package: "../examples/" + example, Out: out}
		if err := guest.Build(context.Background(), o); err != nil {
			return nil, err
		}
		e, err := nativeEngine()
		if err != nil {
			return nil, err
		}
		return e.Load(out)
	}))
	p, err := once.(func() (*native.Program, error))()
	require.NoError(t, err)
	return p
}
