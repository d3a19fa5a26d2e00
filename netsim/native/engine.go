//go:build linux && amd64

package native

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/native/code"
	"trialog/netsim/native/page"
)

// MemoryMax bounds the private memory of one guest, in bytes.
const MemoryMax = 1 << 30

// addressesMax bounds what it may reserve, in bytes.
const addressesMax = 64 << 30

// Engine runs guests. It may serve many worlds at the same time, each on a thread of its own.
type Engine struct {
	null   *os.File
	cpus   []int
	next   atomic.Uint32
	filter []uint64
	cpu    uint32 // processor features that guests see
	noASLR bool
	stats  Stats
	mu     sync.Mutex
	pages  []*shared // to be used again

	programs []*os.File
}

// Stats count what the engine did so far, in all worlds.
type Stats struct {
	Starts  atomic.Int64 // processes
	StartNs atomic.Int64 // real time from fork to their first call
	Calls   atomic.Int64 // through the page
	Posted  atomic.Int64 // calls that needed no turn of their own
	Polls   atomic.Int64 // of Calls, epoll_pwait
	Empty   atomic.Int64 // polls that returned at once without an event
	PeakKiB atomic.Int64 // the largest resident size that a process had at its end, if Memory is set
	Memory  atomic.Bool  // read the sizes of processes, which costs some microseconds for each
}

// look reads the largest resident size that a process had. The rusage of a process counts what its parent held when it
// was forked, too.
func (s *Stats) look(pid int) {
	if !s.Memory.Load() {
		return
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			s.PeakKiB.Store(max(kib, s.PeakKiB.Load()))
		}
	}
}

// Stats gives the counters.
func (e *Engine) Stats() *Stats { return &e.stats }

// NewEngine prepares the engine.
func NewEngine() (*Engine, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("native: %w", err)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("native: sched_getaffinity: %w", err)
	}
	e := &Engine{null: null, filter: filter(), cpu: page.SimCPU, noASLR: true}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			e.cpus = append(e.cpus, cpu)
		}
	}
	return e, nil
}

// Close releases everything; no guest may be running.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.null.Close()
	for _, s := range e.pages {
		err = errors.Join(err, s.free())
	}
	for _, f := range e.programs {
		err = errors.Join(err, f.Close())
	}
	e.pages, e.programs = nil, nil
	return err
}

// Program is a guest's file.
type Program struct {
	e    *Engine
	f    *os.File // held open: a file of the same name that is made meanwhile is another program
	sees []string
	trap bool
}

// Sees lists the instructions in the program's code that read the real machine, as "CPUID in FUNCTION". RDTSC and
// RDTSCP are trapped and read the virtual clock; CPUID cannot be.
func (pr *Program) Sees() []string { return pr.sees }

// Load checks a file that was built for this engine.
func (e *Engine) Load(file string) (*Program, error) {
	opened, err := os.Open(file)
	if err == nil {
		opened, err = lift(opened, page.SimPageFD+1)
	}
	if err != nil {
		return nil, fmt.Errorf("native: %w", err)
	}
	pr := &Program{e: e, f: opened}
	if err := pr.inspect(file); err != nil {
		opened.Close()
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.programs = append(e.programs, opened)
	return pr, nil
}

// lift gives a file a descriptor of at least this number: a process is started from it when the lower ones have been
// replaced by its own.
func lift(f *os.File, least int) (*os.File, error) {
	if int(f.Fd()) >= least {
		return f, nil
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, least)
	if err != nil {
		return nil, fmt.Errorf("dup %s: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// inspect refuses what is no guest.
func (pr *Program) inspect(file string) error {
	f, err := elf.NewFile(pr.f)
	if err != nil {
		return fmt.Errorf("native: %s is no linux program: %w", file, err)
	}
	if f.Machine != elf.EM_X86_64 || f.Type != elf.ET_EXEC {
		return fmt.Errorf("native: %s is %v %v, expected a static x86-64 program", file, f.Machine, f.Type)
	}
	if f.Section(".interp") != nil || f.Section(".dynamic") != nil {
		return fmt.Errorf("native: %s is linked dynamically (cgo?): guests are pure Go", file)
	}
	if pr.sees, pr.trap, err = code.Search(f); err != nil {
		return fmt.Errorf("native: %s %w", file, err)
	}
	return nil
}

// EnterThread prepares the calling thread, which must be locked to its goroutine, for running a world: it keeps to one
// processor, and its children have no randomised addresses where the host allows that. leave undoes both.
func (pr *Program) EnterThread() (leave func(), err error) {
	var old, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return nil, fmt.Errorf("native: sched_getaffinity: %w", err)
	}
	one.Set(pr.e.cpus[int(pr.e.next.Add(1)-1)%len(pr.e.cpus)])
	_ = unix.SchedSetaffinity(0, &one) // it is only slower elsewhere
	back := func() {}
	if pr.e.noASLR {
		back = fixAddresses()
	}
	return func() {
		back()
		_ = unix.SchedSetaffinity(0, &old)
	}, nil
}

// fixAddresses switches off the randomisation of addresses for what the thread starts, until back is called. A host that
// refuses is no obstacle: results do not depend on addresses.
func fixAddresses() (back func()) {
	const addrNoRandomize, query = 0x0040000, 0xffffffff
	old, _, e := unix.RawSyscall(unix.SYS_PERSONALITY, query, 0, 0)
	if e != 0 {
		return func() {}
	}
	if _, _, e := unix.RawSyscall(unix.SYS_PERSONALITY, old|addrNoRandomize, 0, 0); e != 0 {
		return func() {}
	}
	return func() { _, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, old, 0, 0) }
}

// unwound is the panic that leaves a guest's main.
type unwound struct{}

// Main returns the main function of a process of this program, for [kernel.Kernel.Spawn]. args[0] is the program's
// name; env entries are KEY=value and all that the guest's environment holds.
func (pr *Program) Main(args, env []string) func(*kernel.Proc) {
	return func(p *kernel.Proc) {
		g := &guest{p: p, e: pr.e, name: args[0]}
		p.Unwind = func() { panic(unwound{}) }
		defer func() {
			g.end()
			if r := recover(); r != nil && r != (unwound{}) {
				panic(r)
			}
		}()
		if err := g.start(pr, args, env); err != nil {
			p.Fail(err)
			return
		}
		for {
			g.await()
			g.serve()
			g.resume()
		}
	}
}
