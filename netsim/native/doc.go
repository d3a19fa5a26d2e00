// Package native is the fast engine of the simulated operating system: guests are linux/amd64 code, built by the stock
// Go toolchain with a generated overlay (package guest), and run as real processes that never touch the real system.
//
// It owns: the start and end of those processes, the page of memory that each shares with its kernel, the confinement,
// and the translation of Linux system calls into the numbered calls of [kernel.Proc]. It never decides anything about
// time, disks, networks or faults: that is the kernel's, whatever the engine.
//
// A guest has one thread. It makes a system call by describing it in the page, giving the turn away and sleeping on a
// futex; the kernel serves the call and gives the turn back. So at most one guest of a world runs, and a world with its
// guests is best kept on one processor: [Program.EnterThread] pins it there.
//
// # What the overlay changes
//
// Package guest lists every edit with the nondeterminism that it removes. In short: one thread and one P, no monitor; a
// clock that the kernel sets at each call and that advances 50 ns with each reading; entropy from the kernel's streams;
// goroutines in seeded order, preempted by counts; waiting for descriptors and timers in one call of the kernel; processor
// features masked to one baseline; every system call routed to the page.
//
// # Deny by default
//
// What the overlay does not catch (a system call in somebody's assembly, golang.org/x/sys's wrappers that bypass
// package syscall) meets a seccomp filter that lets through only what manages the process's own memory, signals and
// futexes. The guest's handler of SIGSYS makes the same call on the page, so it too is served by the kernel or refused.
// RDTSC and RDTSCP trap likewise and read the virtual clock. A call that the simulated system does not have answers
// ENOSYS, and says so once on the guest's standard error.
//
// What would be wrong if it were ignored is refused as well: mapped files and executable memory, copies of
// descriptors, MSG_PEEK, SO_LINGER, links. Modes, owners, locks and other socket options are agreed to and change nothing. The answers of
// what is served are Linux's: testdata/linux.txt has those of the real one. A call that a program makes past package
// os and net on a descriptor that waits (no O_NONBLOCK, or a slow disk) lets the whole process wait, its one thread.
//
// # The host
//
// Guests see nothing of the real system, and it does nothing to them: their limits are the engine's, signals that others
// send are ignored, descriptors are closed. One that the host kills, or for which it has no room, is a harness error
// ([kernel.Proc.Fail]); a guest that raised a signal which its handler could not take has crashed.
//
// # Preemption
//
// Nobody can stop a thread at a repeatable instruction from outside. So a goroutine is preempted after a seeded number of
// readings of the clock, system calls and refilled spans of the allocator, counted by the runtime, at the next function
// call; and each of these lets a little virtual time pass, so that timers are due in the end. A loop that does none of
// them keeps the guest busy without time passing; it is given up as a harness error after [kernel.SilenceMax] of real
// time. The compiler's preemptible loops would not help: nothing repeatable could ask for the preemption.
//
// # What cannot be shown
//
// CPUID and RDRAND in assembly of third parties (golang.org/x/sys/cpu, compression libraries) see the real processor;
// their results steer which code computes the same answer. Real parallelism and data races do not happen on one thread.
//
// # Another Go release
//
//  1. go run ./netsim/guest/guestbuild -engine native with that release names the first declaration that has changed.
//  2. Read the change in GOROOT/src, adapt the edit in netsim/guest/native.go, and repeat until it builds.
//  3. go test ./netsim/guest -rewrite puts the hashes of the release before those of others, which stay while they work.
//  4. make repeat runs the repeat suite with it, and with every other release that go has fetched (GOTOOLCHAIN=go1.27.0
//     go version); then go test ./netsim/... with it.
package native
