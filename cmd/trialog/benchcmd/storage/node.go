package storage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// node is a broker that is started and stopped again on the same directory.
type node interface {
	name() string
	home() string // everything of it lies in here
	data() string // its log directory
	addr() string
	start() (began time.Time, err error) // returns when it listens
	stop() error                         // cleanly
	kill()
	dump(segment string, deep bool) *exec.Cmd
}

// settings are those of both: a cleaner that does not wait, and as many threads.
var settings = []string{"log.cleaner.backoff.ms=100", "log.cleaner.threads=1", "num.recovery.threads.per.data.dir=2", "log.segment.delete.delay.ms=0"}

// process is what both have.
type process struct {
	cmd    *exec.Cmd
	listen string
}

func (p *process) addr() string { return p.listen }

func (p *process) kill() {
	if p.cmd != nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		p.cmd = nil
	}
}

// term asks it to stop, and waits.
func (p *process) term() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Wait() // a JVM says 143 after SIGTERM
	p.cmd = nil
	return err
}

type ownNode struct {
	process
	dir string
}

func (n *ownNode) name() string { return "trialog" }
func (n *ownNode) home() string { return n.dir }
func (n *ownNode) data() string { return filepath.Join(n.dir, "logs") }
func (n *ownNode) stop() error  { return n.term() }

func (n *ownNode) start() (began time.Time, err error) {
	args := []string{"broker", "--json"}
	for _, o := range append([]string{"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + n.data()}, settings...) {
		args = append(args, "--override", o)
	}
	cmd, err := own(args...)
	if err != nil {
		return began, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return began, err
	}
	began = time.Now()
	if err := cmd.Start(); err != nil {
		return began, err
	}
	n.cmd = cmd
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return began, fmt.Errorf("it did not start: %w", err)
	}
	go io.Copy(io.Discard, out)
	var up struct {
		Listening string `json:"listening"`
	}
	err = json.Unmarshal([]byte(line), &up)
	n.listen = up.Listening
	return began, err
}

func (n *ownNode) dump(segment string, deep bool) *exec.Cmd {
	args := []string{"log", "dump", segment}
	if deep {
		args = append(args, "--deep-iteration")
	}
	cmd, err := own(args...)
	if err != nil {
		cmd = &exec.Cmd{Err: err}
	}
	return cmd
}

// own is a command of this program.
func own(args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	return exec.Command(program, args...), err
}

type kafkaNode struct {
	process
	dir, jars  string
	controller string
}

func (n *kafkaNode) name() string { return "kafka" }
func (n *kafkaNode) home() string { return n.dir }
func (n *kafkaNode) data() string { return filepath.Join(n.dir, "logs") }
func (n *kafkaNode) stop() error  { return n.term() }

// java is a command with the heap that Kafka's scripts give a broker.
func (n *kafkaNode) java(args ...string) *exec.Cmd {
	return exec.Command("java", append([]string{"-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-cp", filepath.Join(n.jars, "*")}, args...)...)
}

func (n *kafkaNode) start() (began time.Time, err error) {
	properties := filepath.Join(n.dir, "server.properties")
	if n.listen == "" {
		if err := n.format(properties); err != nil {
			return began, err
		}
	}
	log, err := os.Create(filepath.Join(n.dir, "kafka.log"))
	if err != nil {
		return began, err
	}
	defer log.Close()
	cmd := n.java("kafka.Kafka", properties)
	cmd.Stdout, cmd.Stderr = log, log
	began = time.Now()
	if err := cmd.Start(); err != nil {
		return began, err
	}
	n.cmd = cmd
	for {
		nc, err := net.Dial("tcp", n.listen)
		if err == nil {
			return began, nc.Close()
		}
		if time.Since(began) > 5*time.Minute {
			text, _ := os.ReadFile(log.Name())
			return began, fmt.Errorf("it does not listen: %s", text[max(0, len(text)-2000):])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (n *kafkaNode) format(properties string) (err error) {
	var err1, err2 error
	n.listen, err1 = freeAddr()
	n.controller, err2 = freeAddr()
	text := strings.Join(append([]string{
		"process.roles=broker,controller", "node.id=1", "listeners=PLAINTEXT://" + n.listen + ",CONTROLLER://" + n.controller,
		"advertised.listeners=PLAINTEXT://" + n.listen, "controller.listener.names=CONTROLLER", "controller.quorum.voters=1@" + n.controller,
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "log.dirs=" + n.data(),
	}, settings...), "\n")
	if err := errors.Join(err1, err2, os.WriteFile(properties, []byte(text+"\n"), 0o600)); err != nil {
		return err
	}
	said, err := n.java("kafka.tools.StorageTool", "format", "-t", "abcdefghijklmnopqrstuv", "-c", properties).CombinedOutput()
	if err != nil {
		return fmt.Errorf("formatting its directory: %w\n%s", err, said)
	}
	return nil
}

// dump has the heap that kafka-run-class.sh gives tools.
func (n *kafkaNode) dump(segment string, deep bool) *exec.Cmd {
	args := []string{"-Xmx256M", "-cp", filepath.Join(n.jars, "*"), "org.apache.kafka.tools.DumpLogSegments", "--files", segment}
	if deep {
		args = append(args, "--deep-iteration")
	}
	return exec.Command("java", args...)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// timed runs a command whose output nobody wants.
func timed(cmd *exec.Cmd) (time.Duration, error) {
	began := time.Now()
	err := cmd.Run()
	return time.Since(began), err
}
