package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Deps is the directory, below that of the module, where ../setup puts what the clients need.
const Deps = ".deps"

// process is a program that answers jobs on its standard output.
type process struct {
	hello  Hello
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr complaints
}

// complaints is what a program writes to standard error.
type complaints struct {
	mu   sync.Mutex
	text []byte
}

func (c *complaints) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, b...)
	c.text = c.text[max(0, len(c.text)-3000):]
	return len(b), nil
}

func (c *complaints) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}

// Python is ../python/name, run by the Python that setup has prepared.
func Python(name string) func(root string) (Driver, error) {
	return func(root string) (Driver, error) {
		return Start(root, filepath.Join(root, Deps, "python", "bin", "python"), filepath.Join(root, "python", name))
	}
}

// OldPython is the same with the packages of ../python/requirements-old.txt, under a name of its own.
func OldPython(program, name string) func(root string) (Driver, error) {
	return func(root string) (Driver, error) {
		return Start(root, "env", "PYTHONPATH="+filepath.Join(root, Deps, "python-old"),
			filepath.Join(root, Deps, "python", "bin", "python"), filepath.Join(root, "python", program), name)
	}
}

// Node is ../node/name, run by the Node that setup has prepared.
func Node(name string) func(root string) (Driver, error) {
	return func(root string) (Driver, error) {
		return Start(root, filepath.Join(root, Deps, "python", "bin", "node"), filepath.Join(root, "node", name))
	}
}

// Java is the class Driver of ../java.
func Java(root string) (Driver, error) {
	return java(root, JavaClasspath(root), "java")
}

// OldJava is the same before the client of ../java/old.xml, under a name of its own.
func OldJava(name string) func(root string) (Driver, error) {
	return func(root string) (Driver, error) {
		old := filepath.Join(root, Deps, "java", "old", "*")
		return java(root, old+string(filepath.ListSeparator)+JavaClasspath(root), name)
	}
}

func java(root, classpath, name string) (Driver, error) {
	return Start(root, "java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dlog4j2.configurationFile="+filepath.Join(root, "java", "log4j2.properties"), "-cp", classpath, "Driver", name)
}

// JavaClasspath is where the classes of ../java and everything that they need lie.
func JavaClasspath(root string) string {
	java := filepath.Join(root, Deps, "java")
	return filepath.Join(java, "classes") + string(filepath.ListSeparator) + filepath.Join(java, "jars", "*")
}

// Start runs a program and waits for its hello.
func Start(root string, argv ...string) (Driver, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("driver: is %s done? %w", filepath.Join(root, "setup"), err)
	}
	p.out = bufio.NewReader(out)
	if err := p.read(context.Background(), &p.hello); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *process) Hello() Hello { return p.hello }

// Close lets the program end, and reports what it wrote to standard error if it did not end well.
func (p *process) Close() error {
	p.in.Close()
	stop := time.AfterFunc(20*time.Second, func() { p.cmd.Process.Kill() })
	defer stop.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("driver: %s: %w\n%s", p.cmd, err, &p.stderr)
	}
	return nil
}

func (p *process) Do(ctx context.Context, job Job) (Answer, error) {
	line, err := json.Marshal(job)
	if err != nil {
		return Answer{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return Answer{}, fmt.Errorf("driver: %s: %w", p.cmd, err)
	}
	var a Answer
	if err := p.read(ctx, &a); err != nil {
		return Answer{}, err
	}
	if a.Error != "" {
		return Answer{}, fmt.Errorf("driver: %s %s: %s", p.hello.Client, job.Op, a.Error)
	}
	return a, nil
}

// read takes the next line. A program that says nothing until ctx is over is killed.
func (p *process) read(ctx context.Context, into any) error {
	stop := context.AfterFunc(ctx, func() { p.cmd.Process.Kill() })
	defer stop()
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.cmd.Process.Kill()
		return fmt.Errorf("driver: %s says nothing: %w (%v)\n%s", p.cmd, err, context.Cause(ctx), &p.stderr)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("driver: %s says %q: %w", p.cmd, line, err)
	}
	return nil
}
