package wasi

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/disk"
	build "trialog/netsim/guest"
	"trialog/netsim/kernel"
)

var testEngine = sync.OnceValues(func() (*Engine, error) {
	return NewEngine(context.Background(), filepath.Join(build.CacheDir(), "compiled"))
})

var probe = sync.OnceValues(func() (*Program, error) {
	if _, err := os.ReadFile("../examples/probe/main.go"); err != nil { // so that a cached result knows its guest
		return nil, err
	}
	wasm, err := build.Bytes(context.Background(), build.Options{Package: "../examples/probe"})
	if err != nil {
		return nil, err
	}
	e, err := testEngine()
	if err != nil {
		return nil, err
	}
	return e.Compile(context.Background(), wasm)
})

// life runs one probe alone and returns how it ended and what it wrote.
func life(t *testing.T, env []string, args ...string) (*kernel.Exit, string) {
	t.Helper()
	pr, err := probe()
	require.NoError(t, err)
	k := kernel.New(kernel.Options{Seed: 1})
	h := &kernel.Host{Name: "a", FS: disk.New(k, "a", disk.Options{})}
	p := k.Spawn(h, "a", "0", pr.Main(append([]string{"probe"}, args...), env), nil)
	p.Install(0, k.NewStdin())
	p.Install(1, k.NewSink("stdout"))
	p.Install(2, k.NewSink("stderr"))
	require.NoError(t, k.Run(func() bool { return !p.Alive() }))
	k.Close()
	var text strings.Builder
	for _, o := range k.Outputs() {
		text.Write(o.Data)
	}
	return p.Exited(), text.String()
}

func TestArgumentsAndEnvironment(t *testing.T) {
	x, out := life(t, []string{"ONE=1", "EMPTY="}, "say", "b c", "")
	assert.Equal(t, 0, x.Code)
	assert.Equal(t, "args [\"b c\" \"\"] env [\"ONE=1\" \"EMPTY=\"]\n", out)
}

func TestHowGuestsEnd(t *testing.T) {
	x, out := life(t, nil, "nothing of the kind")
	assert.Equal(t, []any{3, kernel.ReasonExit}, []any{x.Code, x.Reason}, out)
	x, out = life(t, nil, "panic")
	assert.Equal(t, []any{2, kernel.ReasonExit}, []any{x.Code, x.Reason}, "Go reports its own panics")
	assert.Contains(t, out, "panic: as told")
}

func TestTheGuestsMemoryEndsBeforeTheHosts(t *testing.T) {
	x, out := life(t, nil, "hog")
	assert.Equal(t, 2, x.Code)
	assert.Contains(t, out, "out of memory")
}

// wasm modules, by hand: header, and then sections of (id, length, content).
func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

const (
	typeNothing = "\x01\x04\x01\x60\x00\x00" // one type: () -> ()
	oneFunction = "\x03\x02\x01\x00"
	startExport = "\x07\x0a\x01\x06_start\x00\x00"
	unreachable = "\x0a\x05\x01\x03\x00\x00\x0b"
)

func TestATrapOfTheGuestIsACrash(t *testing.T) {
	e, err := testEngine()
	require.NoError(t, err)
	pr, err := e.Compile(t.Context(), module(typeNothing, oneFunction, startExport, unreachable))
	require.NoError(t, err)
	k := kernel.New(kernel.Options{Seed: 1})
	p := k.Spawn(&kernel.Host{Name: "a"}, "a", "0", pr.Main([]string{"a"}, nil), nil)
	require.NoError(t, k.Run(func() bool { return !p.Alive() }))
	assert.Equal(t, []any{134, kernel.ReasonCrash}, []any{p.Exited().Code, p.Exited().Reason})
	require.Len(t, k.Outputs(), 1)
	assert.Contains(t, string(k.Outputs()[0].Data), "unreachable")
}

func TestWhatIsNoGuestIsRefused(t *testing.T) {
	e, err := testEngine()
	require.NoError(t, err)
	imports := func(module, name string) string {
		body := "\x01" + string(rune(len(module))) + module + string(rune(len(name))) + name + "\x00\x00"
		return "\x02" + string(rune(len(body))) + body
	}
	for _, c := range []struct {
		why  string
		wasm []byte
	}{
		{"wasi: compile: invalid magic number", []byte("#!/bin/sh\n")},
		{"exports no function _start", module(typeNothing)},
		{"imports env.magic, which the simulated system does not have", module(typeNothing, imports("env", "magic"))},
		{"imports netsim.dial with other operands", module(typeNothing, imports("netsim", "dial"))},
	} {
		_, err := e.Compile(t.Context(), c.wasm)
		assert.ErrorContains(t, err, c.why)
	}
}
