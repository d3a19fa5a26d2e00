package wasi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"trialog/netsim/kernel"
)

// MemoryMax bounds the linear memory of one guest, in bytes.
const MemoryMax = 1 << 30

const wasmPage = 1 << 16

// Engine compiles and runs guests. It may serve many kernels at the same time.
type Engine struct {
	rt    wazero.Runtime
	cache wazero.CompilationCache
}

// NewEngine returns an engine that keeps compiled code in cacheDir, so that a program is compiled once per machine;
// with "" it compiles in every run.
func NewEngine(ctx context.Context, cacheDir string) (*Engine, error) {
	cfg := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(MemoryMax / wasmPage)
	e := &Engine{}
	if cacheDir != "" {
		if err := os.MkdirAll(cacheDir, 0o755); err != nil {
			return nil, fmt.Errorf("wasi: compilation cache: %w", err)
		}
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, fmt.Errorf("wasi: compilation cache %s: %w", cacheDir, err)
		}
		e.cache = cache
		cfg = cfg.WithCompilationCache(cache)
	}
	e.rt = wazero.NewRuntimeWithConfig(ctx, cfg)
	if err := exportHost(ctx, e.rt); err != nil {
		e.rt.Close(ctx)
		return nil, err
	}
	return e, nil
}

// Close releases everything; no guest may be running.
func (e *Engine) Close(ctx context.Context) error {
	err := e.rt.Close(ctx)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(ctx))
	}
	return err
}

// Program is compiled guest code.
type Program struct {
	e   *Engine
	mod wazero.CompiledModule
}

// Compile prepares a wasip1 module.
func (e *Engine) Compile(ctx context.Context, wasm []byte) (*Program, error) {
	mod, err := e.rt.CompileModule(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("wasi: compile: %w", err)
	}
	for _, f := range mod.ImportedFunctions() {
		module, name, _ := f.Import()
		x := exported(module, name)
		if x == nil {
			return nil, fmt.Errorf("wasi: the guest imports %s.%s, which the simulated system does not have", module, name)
		}
		if params, results := x.types(); !slices.Equal(params, f.ParamTypes()) || !slices.Equal(results, f.ResultTypes()) {
			return nil, fmt.Errorf("wasi: the guest imports %s.%s with other operands than the simulated system has", module, name)
		}
	}
	if _, ok := mod.ExportedFunctions()["_start"]; !ok {
		return nil, errors.New("wasi: the guest is no program: it exports no function _start")
	}
	return &Program{e: e, mod: mod}, nil
}

// Close releases the compiled code.
func (pr *Program) Close(ctx context.Context) error { return pr.mod.Close(ctx) }

// guest is the engine's state of one process.
type guest struct {
	p         *kernel.Proc
	args, env []string
	dirs      []openDir // paths of open directories, for calls relative to a descriptor
	subs      []kernel.Poll
}

type openDir struct {
	fd   int32
	path string
	list []kernel.DirEntry // as it was when reading began, so that changes skip and repeat nothing
}

// rootFD is where WASI programs look for the first directory they were given.
const rootFD = 3

type guestKey struct{}

// Main returns the main function of a process of this program, for [kernel.Kernel.Spawn]. args[0] is the program's
// name; env entries are KEY=value.
func (pr *Program) Main(args, env []string) func(*kernel.Proc) {
	return func(p *kernel.Proc) {
		g := &guest{p: p, args: args, env: env, dirs: []openDir{{fd: rootFD, path: "/"}}}
		p.Unwind = func() { panic(sys.NewExitError(137)) }
		ctx := context.WithValue(context.Background(), guestKey{}, g)
		ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(allocate))
		mod, err := pr.e.rt.InstantiateModule(ctx, pr.mod, wazero.NewModuleConfig().WithName(""))
		var exit *sys.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.Crash("netsim: guest crashed: " + firstLines(err.Error(), 12))
		}
		if mod != nil {
			mod.Close(ctx)
		}
	}
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	if len(lines) > n {
		lines = lines[:n]
	}
	return strings.Join(lines, "\n")
}
