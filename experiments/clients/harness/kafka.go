package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kafkaHeap is small: it is compared with, not measured.
var kafkaHeap = []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

// Kafka is a real Kafka of one node that may be stopped and started again on the same port and directory.
type Kafka struct {
	Addr string // host:port of its listener
	Dir  string // what it writes lies in here; removed with the test

	t    *testing.T
	java []string
	cmd  *exec.Cmd
}

// StartKafka starts a real Kafka from the jars of classpath, with the settings that Start gives its broker, and returns when
// it serves clients. It is killed when the test ends. Overrides are settings, name=value.
func StartKafka(t *testing.T, classpath, log4j string, overrides ...string) *Kafka {
	k := &Kafka{t: t, Dir: t.TempDir(), java: append(kafkaHeap, "-Dlog4j2.configurationFile="+log4j, "-cp", classpath)}
	addr, controller := freePair(t)
	k.Addr = addr
	text := append([]string{"process.roles=broker,controller", "node.id=1", "num.partitions=4",
		"listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller, "advertised.listeners=PLAINTEXT://" + addr,
		"controller.listener.names=CONTROLLER", "controller.quorum.voters=1@" + controller,
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + k.Data(), "offsets.topic.replication.factor=1"}, overrides...)
	require.NoError(t, os.WriteFile(k.properties(), []byte(strings.Join(text, "\n")+"\n"), 0o644))

	// With eligible leader replicas a new Kafka begins with a dynamic default of min.insync.replicas.
	format := exec.Command("java", append(k.java, "kafka.tools.StorageTool", "format", "-t", "abcdefghijklmnopqrstuv", "-c", k.properties(),
		"--feature", "eligible.leader.replicas.version=0")...)
	said, err := format.CombinedOutput()
	require.NoError(t, err, "%s", said)
	k.Restart()
	t.Cleanup(k.Kill)
	return k
}

// Data is its log directory.
func (k *Kafka) Data() string { return filepath.Join(k.Dir, "data") }

func (k *Kafka) properties() string { return filepath.Join(k.Dir, "server.properties") }

// Restart starts the process again after a Stop or Kill and returns when it serves clients.
func (k *Kafka) Restart() {
	log, err := os.OpenFile(filepath.Join(k.Dir, "kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(k.t, err)
	defer log.Close()
	k.cmd = exec.Command("java", append(k.java, "kafka.Kafka", k.properties())...)
	k.cmd.Stdout, k.cmd.Stderr = log, log
	require.NoError(k.t, k.cmd.Start())
	require.Eventually(k.t, func() bool {
		conn, err := net.Dial("tcp", k.Addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, time.Minute, 100*time.Millisecond, "Kafka does not listen: %s", tail(log.Name()))
}

// Stop lets it stop cleanly.
func (k *Kafka) Stop() {
	require.NoError(k.t, k.cmd.Process.Signal(syscall.SIGTERM))
	k.cmd.Wait() // 143, as after any SIGTERM that a JVM has heard
}

// Kill is kill -9.
func (k *Kafka) Kill() {
	k.cmd.Process.Kill()
	k.cmd.Wait()
}

func freePair(t *testing.T) (string, string) {
	first := FreeAddr(t)
	ln, err := net.Listen("tcp", first)
	require.NoError(t, err, fmt.Sprint("port ", first))
	defer ln.Close()
	return first, FreeAddr(t)
}
