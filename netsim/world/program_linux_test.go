package world_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
	"trialog/netsim/world"
)

// played is a program that is a Go function.
type played func(p *kernel.Proc)

func (f played) Main(_, _ []string) func(*kernel.Proc) {
	return func(p *kernel.Proc) {
		p.Unwind = func() { panic(f) }
		defer func() {
			if r := recover(); r != nil && !p.Dying() {
				panic(r)
			}
		}()
		f(p)
	}
}

// bound is a program of an engine that needs a thread.
type bound struct {
	played
	enter func() (func(), error)
}

func (b bound) EnterThread() (func(), error) { return b.enter() }

func TestAnEngineKeepsItsThread(t *testing.T) {
	entered, left := 0, 0
	program := bound{
		played: func(p *kernel.Proc) {
			defer func() { assert.Equal(t, entered, syscall.Gettid()) }()
			for range 10 {
				p.PollWait(nil, p.Monotonic()+1e6)
				assert.Equal(t, entered, syscall.Gettid())
			}
			p.PollWait(nil, -1) // is still there when the world ends
		},
		enter: func() (func(), error) {
			entered = syscall.Gettid()
			return func() { left = syscall.Gettid() }, nil
		},
	}
	_, err := world.Run(t.Context(), world.Spec{Program: program, Limit: time.Second, Procs: []world.ProcSpec{{Name: "a"}, {Name: "b"}}})
	require.NoError(t, err)
	assert.NotZero(t, entered)
	assert.Equal(t, entered, left)
}

func TestAnEngineThatCannotHaveItsThread(t *testing.T) {
	program := bound{enter: func() (func(), error) { return nil, errors.New("no such CPU") }}
	_, err := world.Run(t.Context(), world.Spec{Program: program, Limit: time.Second, Procs: []world.ProcSpec{{Name: "a"}}})
	assert.EqualError(t, err, "world: no such CPU")
}

func TestOneWorldHasOneEngine(t *testing.T) {
	_, err := world.Run(t.Context(), world.Spec{Program: played(nil), Limit: time.Second,
		Procs: []world.ProcSpec{{Name: "a"}, {Name: "b", Program: bound{}}}})
	assert.EqualError(t, err, "world: process b is a world_test.bound, those before it are each a world_test.played: one world has guests of one engine")
}

func TestAnEngineThatFailsIsAHarnessError(t *testing.T) {
	broken := errors.New("the guest is gone")
	program := played(func(p *kernel.Proc) { p.Fail(broken) })
	_, err := world.Run(t.Context(), world.Spec{Program: program, Limit: time.Second, Procs: []world.ProcSpec{{Name: "a"}}})
	assert.Equal(t, broken, err)
}
