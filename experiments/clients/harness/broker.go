// Package harness starts the process under test: one Trialog broker, on a port and a directory of its own, that tests of
// foreign clients speak with over TCP and nothing else.
//
// TRIALOG_BIN names the program; without it, it is built once from the module around this one.
package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Root is the directory of this module, seen from a package directly below it, where go test runs.
const Root = ".."

var trialog = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("TRIALOG_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	out := filepath.Join(os.TempDir(), fmt.Sprintf("trialog-clients-%d", os.Getpid()))
	cmd := exec.Command("go", "build", "-o", out, "./cmd/trialog")
	cmd.Dir = filepath.Join(Root, "..", "..")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/trialog: %w\n%s", err, text)
	}
	return out, nil
})

// Main is for TestMain: it runs the tests and removes the program if it was built for them.
func Main(m *testing.M) {
	code := m.Run()
	if os.Getenv("TRIALOG_BIN") == "" {
		if bin, err := trialog(); err == nil {
			os.Remove(bin)
		}
	}
	os.Exit(code)
}

// Broker is one real process that may be killed and started again on the same port and directory.
type Broker struct {
	Addr string // host:port of its listener
	Dir  string // what it writes lies in here; removed with the test

	t    *testing.T
	bin  string
	args []string
	cmd  *exec.Cmd
}

// Start returns when the broker serves clients. It is killed when the test ends, and a failed test shows the end of its
// log. Overrides are settings, name=value.
func Start(t *testing.T, overrides ...string) *Broker {
	bin, err := trialog()
	require.NoError(t, err)
	b := &Broker{t: t, bin: bin, Addr: FreeAddr(t), Dir: t.TempDir(), args: overrides}
	b.Restart()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the broker's log ends with:\n%s", tail(b.log()))
		}
		b.Kill()
	})
	return b
}

// FreeAddr finds a port below those that outgoing connections are given: a client that dials a dead broker's port must
// not meet itself.
func FreeAddr(t *testing.T) string {
	for port := 20000 + os.Getpid()%9000; port < 32000; port++ {
		if ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			ln.Close()
			return ln.Addr().String()
		}
	}
	require.Fail(t, "no free port")
	return ""
}

func tail(path string) []byte {
	text, _ := os.ReadFile(path)
	return text[max(0, len(text)-4000):]
}

func (b *Broker) log() string { return filepath.Join(b.Dir, "broker.log") }

// Restart starts the process again after a Kill and returns when it serves clients.
func (b *Broker) Restart() {
	args := []string{"broker", "--json", "--override", "node.id=1", "--override", "listeners=PLAINTEXT://" + b.Addr,
		"--override", "log.dirs=" + b.Data(), "--override", "num.partitions=4"}
	for _, o := range b.args {
		args = append(args, "--override", o)
	}
	b.cmd = exec.Command(b.bin, args...)
	log, err := os.OpenFile(b.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(b.t, err)
	defer log.Close()
	b.cmd.Stderr = log
	out, err := b.cmd.StdoutPipe()
	require.NoError(b.t, err)
	require.NoError(b.t, b.cmd.Start())
	var up struct{ Listening string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(b.t, err, "the broker did not start: %s", tail(b.log()))
	require.NoError(b.t, json.Unmarshal(line, &up))
	go io.Copy(io.Discard, out)
}

// Data is its log directory.
func (b *Broker) Data() string { return filepath.Join(b.Dir, "data") }

// Stop lets it stop cleanly.
func (b *Broker) Stop() {
	require.NoError(b.t, b.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(b.t, b.cmd.Wait(), "the broker did not stop cleanly: %s", tail(b.log()))
}

// Trialog is the program, for its other commands.
func Trialog(t *testing.T, args ...string) *exec.Cmd {
	bin, err := trialog()
	require.NoError(t, err)
	return exec.Command(bin, args...)
}

// Kill is kill -9.
func (b *Broker) Kill() {
	b.cmd.Process.Kill()
	b.cmd.Wait()
}
