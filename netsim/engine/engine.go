// Package engine opens the engine that runs guests: native code where that can be, wasm everywhere.
//
// It owns the choice between the two, and says why it fell as it did. It never builds or runs a guest, and nothing of a
// world depends on it: an engine changes what a guest's calls are, and so the trace, but not what a guest may observe.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"trialog/netsim/guest"
	"trialog/netsim/native"
	"trialog/netsim/wasi"
	"trialog/netsim/world"
)

// Names of engines. Auto stands for the best that can be had.
const (
	Auto   = "auto"
	Native = string(guest.Native)
	Wasm   = string(guest.Wasm)
)

// Suffix is how files of an engine's guests end.
func Suffix(name string) string {
	if name == Native {
		return ".guest"
	}
	return ".wasm"
}

// Choice is an engine by name, never Auto, and in one line why it was chosen.
type Choice struct{ Name, Why string }

// String is the choice in one line.
func (c Choice) String() string { return "engine " + c.Name + ": " + c.Why }

// supported says why native guests cannot run here.
var supported = native.Supported

// Check refuses what is no engine's name.
func Check(name string) error {
	switch name {
	case Auto, Native, Wasm:
		return nil
	}
	return fmt.Errorf("no engine %q: it is %s, %s or %s", name, Auto, Native, Wasm)
}

// Choose settles which engine a name means. Auto is native where ready, which may be nil, answers nil for it: it says
// whether there is a guest.
func Choose(name string, ready func() error) (Choice, error) {
	if name != Auto {
		return Choice{name, "as told"}, Check(name)
	}
	err := supported()
	if err == nil && ready != nil {
		err = ready()
	}
	if err != nil {
		return Choice{Wasm, err.Error()}, nil
	}
	return Choice{Native, "it can run here"}, nil
}

// Beside chooses for a program whose guests lie beside it under its name, and gives the guest's file.
func Beside(name, program string) (Choice, string, error) {
	c, err := Choose(name, func() error {
		_, err := os.Stat(program + Suffix(Native))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no %s", program+Suffix(Native))
		}
		return err
	})
	return c, program + Suffix(c.Name), err
}

// For chooses the engine that a guest's file was built for, and refuses a name that means another.
func For(name, file string) (Choice, error) {
	if err := Check(name); err != nil {
		return Choice{}, err
	}
	of, err := builtFor(file)
	if err != nil {
		return Choice{}, err
	}
	if name != Auto && name != of {
		return Choice{}, fmt.Errorf("engine %s: %s is a guest for engine %s", name, file, of)
	}
	return Choice{of, filepath.Base(file) + " was built for it"}, nil
}

func builtFor(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("guest: %w", err)
	}
	defer f.Close()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("guest: %w", err)
	}
	switch string(magic[:]) {
	case "\x7fELF":
		return Native, nil
	case "\x00asm":
		return Wasm, nil
	}
	return "", fmt.Errorf("%s is no guest of any engine", file)
}

// Engine runs guests. It may serve many worlds at the same time.
type Engine struct {
	Name   string
	native *native.Engine
	wasm   *wasi.Engine
}

// Open prepares an engine: Native or Wasm.
func Open(ctx context.Context, name string) (*Engine, error) {
	e := &Engine{Name: name}
	var err error
	switch name {
	case Native:
		if err = supported(); err == nil {
			e.native, err = native.NewEngine()
		}
	case Wasm:
		e.wasm, err = wasi.NewEngine(ctx, filepath.Join(guest.CacheDir(), "compiled"))
	default:
		err = Check(name)
		if err == nil {
			err = fmt.Errorf("engine %s is a choice, not an engine", name)
		}
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Load prepares a guest's file.
func (e *Engine) Load(ctx context.Context, file string) (world.Program, error) {
	if e.native != nil {
		p, err := e.native.Load(file)
		if err != nil {
			return nil, err // not p: a nil pointer makes no nil interface
		}
		return p, nil
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	p, err := e.wasm.Compile(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// NativeStats gives the counters of a native engine, nil for others.
func (e *Engine) NativeStats() *native.Stats {
	if e.native == nil {
		return nil
	}
	return e.native.Stats()
}

// Close releases the engine and everything it loaded; no guest may be running.
func (e *Engine) Close(ctx context.Context) error {
	if e.native != nil {
		return e.native.Close()
	}
	return e.wasm.Close(ctx)
}
