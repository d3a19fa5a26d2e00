package benchcmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/cmd/trialog/benchcmd/raw"
)

// clockTicks is USER_HZ, the unit of /proc/PID/stat: 100 on every Linux of today.
const clockTicks = 100

// target is a broker to measure.
type target struct {
	name  string
	addr  string
	pid   int           // 0: nobody knows its process
	ready time.Duration // from the start of its process until it answered; 0: somebody else started it
	raw   bool          // no broker: it has no topics
	stop  func()
}

// cpu is the processor time of its process so far in s; below 0: unknown.
func (t *target) cpu() float64 {
	if t.pid == 0 {
		return -1
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.pid))
	if err != nil {
		return -1
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return -1
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return -1
	}
	return float64(user+system) / clockTicks
}

// status is a line of /proc/PID/status, without its unit; 0: unknown.
func (t *target) status(name string) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

func selfCPU() float64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e9
}

// startTrialog starts this program as a broker of its own in a fresh directory under dir, which stop removes.
func startTrialog(dir, name string, overrides ...string) (*target, error) {
	t, err := startSelf(dir, name, func(data string) []string {
		args := []string{"broker", "--json", "--stop-on-eof"}
		for _, o := range append([]string{
			"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + filepath.Join(data, "logs"), "log.segment.delete.delay.ms=0",
		}, overrides...) {
			args = append(args, "--override", o)
		}
		return args
	})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := awaitAnswer(t.addr, began.Add(time.Minute)); err != nil {
		t.stop()
		return nil, fmt.Errorf("bench: %s does not answer: %w", name, err)
	}
	t.ready += time.Since(began)
	return t, nil
}

// startRaw starts the limit in the same way.
func startRaw(dir string) (*target, error) {
	t, err := startSelf(dir, "limit", func(data string) []string { return []string{"bench", "raw", "--dir", data} })
	if err == nil {
		t.raw = true
	}
	return t, err
}

// startSelf starts this program, which must say where it listens, and end with its standard input.
func startSelf(dir, name string, args func(data string) []string) (*target, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	data, err := os.MkdirTemp(dir, "trialog-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	cmd := exec.Command(program, args(data)...)
	remove := func() { os.RemoveAll(data) }
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	began := time.Now()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		remove()
		return nil, fmt.Errorf("bench: %s did not start: %w", name, err)
	}
	t := &target{name: name, pid: cmd.Process.Pid, stop: func() {
		in.Close()
		cmd.Wait()
		remove()
	}}
	var up struct {
		Listening string `json:"listening"`
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), &up)
	}
	if err != nil {
		t.stop()
		return nil, fmt.Errorf("bench: %s did not start: %w", name, err)
	}
	t.addr, t.ready = up.Listening, time.Since(began)
	return t, nil
}

// startKafka starts a real Kafka of one node from the jars of a directory, with its own default heap.
func startKafka(dir, jars string) (*target, error) {
	data, err := os.MkdirTemp(dir, "kafka-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	addr, err1 := freeAddr()
	controller, err2 := freeAddr()
	properties := filepath.Join(data, "server.properties")
	text := strings.Join([]string{
		"process.roles=broker,controller", "node.id=1", "listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller,
		"advertised.listeners=PLAINTEXT://" + addr, "controller.listener.names=CONTROLLER",
		"controller.quorum.voters=1@" + controller, "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + filepath.Join(data, "logs"), "offsets.topic.replication.factor=1", "log.segment.delete.delay.ms=0",
	}, "\n")
	if err := errors.Join(err1, err2, os.WriteFile(properties, []byte(text+"\n"), 0o600)); err != nil {
		os.RemoveAll(data)
		return nil, fmt.Errorf("bench: %w", err)
	}
	java := []string{"-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-cp", filepath.Join(jars, "*")}
	said, err := exec.Command("java", append(java, "kafka.tools.StorageTool", "format", "-t", "abcdefghijklmnopqrstuv", "-c", properties)...).CombinedOutput()
	if err != nil {
		os.RemoveAll(data)
		return nil, fmt.Errorf("bench: formatting Kafka's directory: %w\n%s", err, said)
	}
	cmd := exec.Command("java", append(java, "kafka.Kafka", properties)...)
	log, err := os.Create(filepath.Join(data, "kafka.log"))
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		os.RemoveAll(data)
		return nil, fmt.Errorf("bench: Kafka did not start: %w", err)
	}
	t := &target{name: "kafka", addr: addr, pid: cmd.Process.Pid, stop: func() {
		cmd.Process.Kill()
		cmd.Wait()
		os.RemoveAll(data)
	}}
	if err := awaitAnswer(addr, began.Add(time.Minute)); err != nil {
		text, _ := os.ReadFile(log.Name())
		t.stop()
		return nil, fmt.Errorf("bench: Kafka does not answer at %s: %w:\n%s", addr, err, text[max(0, len(text)-2000):])
	}
	t.ready = time.Since(began)
	return t, nil
}

// awaitAnswer returns when a broker answers. It may listen long before.
func awaitAnswer(addr string, until time.Time) error {
	for {
		err := askVersions(addr, until)
		if err == nil || time.Now().After(until) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func askVersions(addr string, until time.Time) error {
	nc, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer nc.Close()
	nc.SetDeadline(until)
	if _, err := nc.Write(kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1)); err != nil {
		return err
	}
	_, err = raw.ReadFrame(nc, nil)
	return err
}

// freeAddr is a local address that nobody listens on now.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
