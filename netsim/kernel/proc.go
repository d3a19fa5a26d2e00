package kernel

import (
	"fmt"
	"iter"
	"math"
	"runtime/debug"
)

// Host is a machine: an address, a disk, a clock. It outlives its processes.
type Host struct {
	Name string
	IP   [4]byte
	FS   FS
	// WallOffset is added to the wall clock of this host's processes, in nanoseconds.
	WallOffset int64
}

// Reasons a process ended, as reported in Exit.
const (
	ReasonExit     = "exit"      // the guest said so
	ReasonKill     = "kill"      // kill -9
	ReasonPowerCut = "power cut" // its host lost power
	ReasonEnd      = "end"       // the world was over
	ReasonCrash    = "crash"     // the engine reports that the guest trapped
	ReasonFailed   = "failed"    // the engine itself failed; Run returns why
)

// Exit tells how and when a process ended.
type Exit struct {
	At     int64 // virtual ns
	Code   int
	Reason string
}

type procState uint8

const (
	stateRunnable procState = iota
	statePolling
	stateDead
)

// Proc is one process. Its methods that make system calls are for the engine, in the coroutine that runs the guest;
// the others are for whoever holds no baton (events, traps, the world).
type Proc struct {
	Host *Host
	Name string
	// Unwind leaves the guest: it must not return but panic, and main recovers. The engine sets it before the first
	// call.
	Unwind func()

	k         *Kernel
	life      string
	main      func(*Proc)
	next      func() (struct{}, bool) // gives it the baton; nil before it first had it
	yield     func(struct{}) bool     // gives the baton back
	state     procState
	paused    bool
	dying     bool
	exit      *Exit
	onExit    func(*Proc)
	files     []File
	subs      []Poll
	deadline  int64
	seenRound uint64
	ready     bool // one of subs was, in seenRound
	calls     int64
	call      Call   // the current or last one
	operand   string // path of the call that begins
	cost      *Rand
	entropy   *Rand
	tear      *Rand
	traps     []*Trap
	deferred  *deferredCall
	resumed   *deferredCall
	nextToken int32
	tokens    []*deferredCall
	written   int64
}

// Spawn makes a process that runs main in a coroutine of its own. main runs the guest and returns when it is over;
// onExit (may be nil) is told in kernel context, after the descriptors are closed. incarnation makes the process's
// random streams differ from those of its namesake before a restart.
func (k *Kernel) Spawn(h *Host, name, incarnation string, main func(*Proc), onExit func(*Proc)) *Proc {
	p := &Proc{
		Host: h, Name: name, life: incarnation, k: k, onExit: onExit, main: main,
		cost:      k.Stream(name+"/"+incarnation, "call cost"),
		entropy:   k.Stream(name+"/"+incarnation, "entropy"),
		tear:      k.Stream(name+"/"+incarnation, "torn call"),
		nextToken: firstToken,
	}
	k.procs = append(k.procs, p)
	k.Note(name, "spawn", 0, 0, 0)
	return p
}

// run gives the baton to the process and returns when that gave it back or is over. The coroutine is made when it first
// runs: one that was made on a locked OS thread can only run there.
func (p *Proc) run() {
	if p.next == nil {
		p.next, _ = iter.Pull(func(yield func(struct{}) bool) {
			defer keepStack()
			p.yield = yield
			p.main(p)
			p.finish(0, ReasonExit)
		})
	}
	p.next()
}

// keepStack puts the stack of a panic into its value: a panic that leaves a coroutine goes on without it.
func keepStack() {
	if r := recover(); r != nil {
		panic(fmt.Sprintf("%v\n\n%s", r, debug.Stack()))
	}
}

// runnableAt is the time from which the process can go on: now or earlier if it can at once, -1 if only an event
// can make it runnable.
func (p *Proc) runnableAt() int64 {
	if p.state == stateDead || p.paused {
		return -1
	}
	if p.state == stateRunnable {
		return 0
	}
	if p.seenRound != p.k.round {
		p.seenRound, p.ready = p.k.round, false
		for i := range p.subs {
			p.ready = p.ready || p.subs[i].ready()
		}
	}
	if p.ready { // and stays so until it has run, whoever runs before
		return 0
	}
	if p.deadline == math.MaxInt64 {
		return -1
	}
	return p.deadline
}

// pass gives the baton back to the kernel and waits for it.
func (p *Proc) pass() { p.yield(struct{}{}) }

// checkpoint is where a process that holds the baton feels what events and traps did to it.
func (p *Proc) checkpoint() {
	for p.paused && !p.dying {
		p.pass()
	}
	if p.dying {
		p.Unwind()
		panic("kernel: Unwind returned")
	}
}

// finish closes what is open and records the exit; later calls change nothing.
func (p *Proc) finish(code int, reason string) {
	if p.state == stateDead {
		return
	}
	p.state = stateDead
	p.dying = true
	p.exit = &Exit{At: p.k.now, Code: code, Reason: reason}
	for fd, f := range p.files {
		if f != nil {
			p.files[fd] = nil
			f.Close(p)
		}
	}
	p.k.Note(p.Name, "exit: "+reason, int64(code), 0, 0)
	p.k.round++
	if p.onExit != nil {
		p.onExit(p)
	}
}

// Kill ends the process at once. Its descriptors are closed as the operating system would. Harmless if it is dead.
func (k *Kernel) Kill(p *Proc, reason string) {
	if p.state == stateDead {
		return
	}
	p.finish(137, reason)
	if k.current.Load() == p {
		return // it unwinds at its next checkpoint, before anything else of it runs
	}
	if p.next != nil {
		p.run()
	}
}

// Fail is for an engine that cannot go on with this guest through no fault of the guest's: Run returns err, a harness
// error (the first, if there are several). Fail does not return but unwinds the process, unless that is dying already.
func (p *Proc) Fail(err error) {
	if p.k.failed == nil {
		p.k.failed = err
	}
	if !p.dying {
		p.finish(134, ReasonFailed)
		p.checkpoint()
	}
}

// Pause stops scheduling the process; its timers and sockets go on without it.
func (p *Proc) Pause() {
	p.paused = true
	p.k.Note(p.Name, "pause", 0, 0, 0)
}

// Resume undoes Pause.
func (p *Proc) Resume() {
	p.paused = false
	p.k.Note(p.Name, "resume", 0, 0, 0)
}

// Dying is true while and after the process ends, by whatever cause.
func (p *Proc) Dying() bool { return p.dying }

// Alive is true until the process has ended.
func (p *Proc) Alive() bool { return p.state != stateDead }

// Exited tells how the process ended, or nil.
func (p *Proc) Exited() *Exit { return p.exit }

// CallNumber is the number of the current (or last) call of the process, from 1.
func (p *Proc) CallNumber() int64 { return p.calls }

// Kernel returns the kernel the process runs on.
func (p *Proc) Kernel() *Kernel { return p.k }

// FilesMax bounds a process's descriptors.
const FilesMax = 4096

// Install puts f at descriptor fd, growing the table. It panics if fd is taken or out of range.
func (p *Proc) Install(fd int, f File) {
	if fd < 0 || fd >= FilesMax {
		panic("kernel: Install: descriptor out of range")
	}
	for len(p.files) <= fd {
		p.files = append(p.files, nil)
	}
	if p.files[fd] != nil {
		panic("kernel: Install: descriptor taken")
	}
	p.files[fd] = f
}

// free is the lowest free descriptor from 3 on, or -1.
func (p *Proc) free() int {
	for fd := 3; fd < FilesMax; fd++ {
		if fd >= len(p.files) || p.files[fd] == nil {
			return fd
		}
	}
	return -1
}

// allocate gives f the lowest free descriptor from 3 on. If there is none, f is closed.
func (p *Proc) allocate(f File) (int, Errno) {
	fd := p.free()
	if fd < 0 {
		f.Close(p)
		return -1, EMFILE
	}
	p.Install(fd, f)
	return fd, OK
}

// Files is the number of open descriptors. It is no system call.
func (p *Proc) Files() int {
	n := 0
	for _, f := range p.files {
		if f != nil {
			n++
		}
	}
	return n
}

// File returns the open file behind fd, or nil. It is no system call.
func (p *Proc) File(fd int) File {
	if fd < 0 || fd >= len(p.files) {
		return nil
	}
	return p.files[fd]
}
