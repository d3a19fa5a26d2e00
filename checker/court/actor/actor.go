// Package actor runs a process of the operating system across its lives, for the real world of the court: it starts, stops,
// pauses and kills it, and keeps what it wrote and how each life ended. It decides nothing. Calls come from one goroutine;
// what an actor wrote may be read once Wait has returned.
package actor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"trialog/netsim/kernel"
)

// Actor is a process across its lives: what it wrote, and how each life ended.
type Actor struct {
	Name string

	binary   string
	args     []string
	sink     string // environment variable that names the descriptor of its lines
	start    time.Time
	patience time.Duration // how long it may take to stop when it is asked to

	cmd     *exec.Cmd
	stdin   io.Closer // a broker stops when the court is gone
	done    chan struct{}
	reading sync.WaitGroup

	mu     sync.Mutex
	killed bool // the court kills the current life
	asked  bool // the current life was asked to stop
	lines  []Line
	ends   []End

	Stdout, Stderr Speech // what it wrote to the standard streams, in all its lives
}

// Line is one that the process wrote to its sink, with its newline.
type Line struct {
	At   int64 // ns since the start of the run, when it was read
	Text []byte
}

// End is how a life ended.
type End struct {
	How  string // kernel.ReasonExit or kernel.ReasonKill
	Code int
	At   int64 // ns since the start of the run
}

// ErrStuck is of a process that does not stop when it is asked to: a doubt of the run, no failure of the court.
var ErrStuck = errors.New("did not stop")

// sinkFD is the descriptor of the first of exec.Cmd.ExtraFiles.
const sinkFD = 3

// New makes an actor that has not begun. sink is the environment variable that names the descriptor of its lines; times
// count from start; patience is how long it may take to stop when it is asked to.
func New(name, binary string, args []string, sink string, start time.Time, patience time.Duration) *Actor {
	a := &Actor{Name: name, binary: binary, args: args, sink: sink, start: start, patience: patience, done: make(chan struct{})}
	a.Stdout.start, a.Stderr.start = start, start
	close(a.done)
	return a
}

// Launch begins a life.
func (a *Actor) Launch() error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("court: real: pipe for %s: %w", a.Name, err)
	}
	defer write.Close()
	cmd := exec.Command(a.binary, a.args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", a.sink, sinkFD))
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = dieWithCourt()
	cmd.Stdout, cmd.Stderr = &a.Stdout, &a.Stderr
	if a.stdin, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		read.Close()
		return fmt.Errorf("court: real: start %s: %w", a.Name, err)
	}
	done := make(chan struct{})
	a.mu.Lock()
	a.cmd, a.done, a.killed, a.asked = cmd, done, false, false
	a.mu.Unlock()
	a.reading.Add(1)
	go func() {
		defer a.reading.Done()
		a.read(read)
	}()
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		a.mu.Lock()
		a.ends = append(a.ends, End{a.ending(cmd.ProcessState), cmd.ProcessState.ExitCode(), time.Since(a.start).Nanoseconds()})
		a.mu.Unlock()
		close(done)
	}()
	return nil
}

// ending is how the current life ended. One that was about to be killed may have ended by itself just before.
func (a *Actor) ending(s *os.ProcessState) string {
	if how, ok := s.Sys().(syscall.WaitStatus); ok && a.killed && how.Signaled() && how.Signal() == syscall.SIGKILL {
		return kernel.ReasonKill
	}
	return kernel.ReasonExit
}

// read takes whole lines until the process is gone; what a killed process left of a line is dropped.
func (a *Actor) read(from *os.File) {
	defer from.Close()
	r := bufio.NewReaderSize(from, 1<<16)
	for {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		a.mu.Lock()
		a.lines = append(a.lines, Line{time.Since(a.start).Nanoseconds(), text})
		a.mu.Unlock()
	}
}

// gone reports that the current life is over.
func (a *Actor) gone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// Ended waits for the end of the current life, for at most d.
func (a *Actor) Ended(d time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(d):
		return false
	}
}

// Wait returns when the process is gone and everything it wrote has been read.
func (a *Actor) Wait() {
	<-a.done
	a.reading.Wait()
}

// signal is not an error when the process is gone.
func (a *Actor) signal(s syscall.Signal) error {
	if a.gone() {
		return nil
	}
	if err := a.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("court: real: %v for %s: %w", s, a.Name, err)
	}
	return nil
}

// Kill ends the process with -9 and waits for its end.
func (a *Actor) Kill() error {
	if a.gone() {
		return nil
	}
	a.mu.Lock()
	a.killed = true
	a.mu.Unlock()
	err := a.signal(syscall.SIGKILL)
	<-a.done
	return err
}

// Terminate asks for a clean stop.
func (a *Actor) Terminate() error {
	a.mu.Lock()
	a.asked = true
	a.mu.Unlock()
	return a.signal(syscall.SIGTERM)
}

// Pause stops the process until Resume.
func (a *Actor) Pause() error { return a.signal(syscall.SIGSTOP) }

// Resume undoes Pause.
func (a *Actor) Resume() error { return a.signal(syscall.SIGCONT) }

// Relaunch begins a new life when the current one is over. A process that was asked to stop gets its time; one that
// runs undisturbed is left alone.
func (a *Actor) Relaunch() error {
	a.mu.Lock()
	asked := a.asked
	a.mu.Unlock()
	if !asked && !a.gone() {
		return nil
	}
	if !a.Ended(a.patience) {
		return fmt.Errorf("%s is told to start, and %w within %v of being asked", a.Name, ErrStuck, a.patience)
	}
	return a.Launch()
}

// Done is closed when the current life is over.
func (a *Actor) Done() <-chan struct{} { return a.done }

// Lines are what it wrote to its sink, in all its lives.
func (a *Actor) Lines() []Line { return a.lines }

// Ends are those of all its lives.
func (a *Actor) Ends() []End { return a.ends }
