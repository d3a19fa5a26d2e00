package world

import (
	"fmt"
	"reflect"
	"runtime"

	"trialog/netsim/kernel"
)

// Program is what a process runs: guest code, prepared by an engine.
type Program interface {
	// Main returns the main function of a process, for [kernel.Kernel.Spawn]. args[0] is the program's name; env entries
	// are KEY=value.
	Main(args, env []string) func(*kernel.Proc)
}

// Threaded is for programs of an engine that needs a whole world on one OS thread.
type Threaded interface {
	Program
	// EnterThread prepares the calling thread, which is locked, for a world. leave undoes it.
	EnterThread() (leave func(), err error)
}

// sameKind refuses a program of another engine than the programs before it.
func (w *world) sameKind(proc string, p Program) error {
	if w.program == nil {
		w.program = p
	}
	if have, got := reflect.TypeOf(w.program), reflect.TypeOf(p); have != got {
		return fmt.Errorf("world: process %s is a %v, those before it are each a %v: one world has guests of one engine", proc, got, have)
	}
	return nil
}

// enter does what the engine needs before the first process starts, and returns what undoes it.
func (w *world) enter() (leave func(), err error) {
	t, ok := w.program.(Threaded)
	if !ok {
		return func() {}, nil
	}
	runtime.LockOSThread()
	back, err := t.EnterThread()
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("world: %w", err)
	}
	return func() {
		back()
		runtime.UnlockOSThread()
	}, nil
}
