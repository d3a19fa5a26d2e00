// Package kernel is the heart of the simulated operating system: processes, one virtual clock, numbered system
// calls, seeded randomness and the trace.
//
// It owns: the table of processes and their descriptors, the event queue, the choice of who runs next, traps that
// kill, pause or cut power at a chosen call, and the running hash of everything observable. It never: reads the wall
// clock, iterates a map, knows an engine (packages wasi and native run guests on it), a network or a disk
// (they come in through [Net] and [FS]), or what the guests are for.
//
// Exactly one process runs at a time. It keeps the baton from one system call to the next; a call takes seeded
// virtual time, may hand the baton over, and may be the point where a trap strikes. When nobody can run, time jumps to
// the next event. The schedule is therefore a function of the seed and of what the guests do.
//
// Invariants:
//
//	K1  virtual time never goes back
//	K2  at most one guest executes between two baton passes
//	K3  events run in order of (time, insertion)
//	K4  a dead process never returns from a call
package kernel
