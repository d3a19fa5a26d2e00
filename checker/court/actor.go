package court

import (
	"bufio"
	"bytes"
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

// actor is a real process across its lives: what it wrote, and how each life ended.
type actor struct {
	name   string
	binary string
	args   []string
	sink   string // environment variable that names the descriptor of its lines
	start  time.Time
	// patience is how long it may take to stop when it is asked to.
	patience time.Duration

	cmd     *exec.Cmd
	stdin   io.Closer // a broker stops when the court is gone
	done    chan struct{}
	reading sync.WaitGroup

	mu     sync.Mutex
	killed bool // the court kills the current life
	asked  bool // the current life was asked to stop
	lines  []stampedLine
	ends   []Process
	stdout bytes.Buffer
	stderr bytes.Buffer
}

type stampedLine struct {
	at   int64 // ns since the start of the run, when the court read it
	text []byte
}

// errStuck is of a process that does not stop when it is asked to: a doubt of the run, no failure of the court.
var errStuck = errors.New("did not stop")

// sinkFD is the descriptor of the first of exec.Cmd.ExtraFiles.
const sinkFD = 3

func newActor(name, binary string, args []string, sink string, start time.Time) *actor {
	a := &actor{name: name, binary: binary, args: args, sink: sink, start: start, patience: stopWithin, done: make(chan struct{})}
	close(a.done)
	return a
}

// launch begins a life.
func (a *actor) launch() error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("court: real: pipe for %s: %w", a.name, err)
	}
	defer write.Close()
	cmd := exec.Command(a.binary, a.args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", a.sink, sinkFD))
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = dieWithCourt()
	cmd.Stdout, cmd.Stderr = &a.stdout, &a.stderr
	if a.stdin, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		read.Close()
		return fmt.Errorf("court: real: start %s: %w", a.name, err)
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
		a.ends = append(a.ends, Process{Name: a.name, End: a.ending(cmd.ProcessState), Code: cmd.ProcessState.ExitCode(), Time: time.Since(a.start).Nanoseconds()})
		a.mu.Unlock()
		close(done)
	}()
	return nil
}

// ending is how the current life ended. One that was about to be killed may have ended by itself just before.
func (a *actor) ending(s *os.ProcessState) string {
	if how, ok := s.Sys().(syscall.WaitStatus); ok && a.killed && how.Signaled() && how.Signal() == syscall.SIGKILL {
		return kernel.ReasonKill
	}
	return exited
}

// read takes whole lines until the process is gone; what a killed process left of a line is dropped.
func (a *actor) read(from *os.File) {
	defer from.Close()
	r := bufio.NewReaderSize(from, 1<<16)
	for {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		a.mu.Lock()
		a.lines = append(a.lines, stampedLine{time.Since(a.start).Nanoseconds(), text})
		a.mu.Unlock()
	}
}

// gone reports that the current life is over.
func (a *actor) gone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// ended waits for the end of the current life, for at most d.
func (a *actor) ended(d time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(d):
		return false
	}
}

// wait returns when the process is gone and everything it wrote has been read.
func (a *actor) wait() {
	<-a.done
	a.reading.Wait()
}

// signal is not an error when the process is gone.
func (a *actor) signal(s syscall.Signal) error {
	if a.gone() {
		return nil
	}
	if err := a.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("court: real: %v for %s: %w", s, a.name, err)
	}
	return nil
}

// kill ends the process with -9 and waits for its end.
func (a *actor) kill() error {
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

// terminate asks for a clean stop.
func (a *actor) terminate() error {
	a.mu.Lock()
	a.asked = true
	a.mu.Unlock()
	return a.signal(syscall.SIGTERM)
}

func (a *actor) pause() error { return a.signal(syscall.SIGSTOP) }

func (a *actor) resume() error { return a.signal(syscall.SIGCONT) }

// relaunch begins a new life when the current one is over. A process that was asked to stop gets its time; one that
// runs undisturbed is left alone.
func (a *actor) relaunch() error {
	a.mu.Lock()
	asked := a.asked
	a.mu.Unlock()
	if !asked && !a.gone() {
		return nil
	}
	if !a.ended(a.patience) {
		return fmt.Errorf("%s is told to start, and %w within %v of being asked", a.name, errStuck, a.patience)
	}
	return a.launch()
}
