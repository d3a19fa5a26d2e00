package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kafkaHeap is small: it is compared with, not measured.
var kafkaHeap = []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

// StartKafka starts a real Kafka of one node, from the jars of classpath, with the settings that Start gives its broker,
// and returns its address and the directory that its files lie in. It is killed when the test ends.
func StartKafka(t *testing.T, classpath, log4j string) (addr, dir string) {
	dir = t.TempDir()
	addr, controller := freePair(t)
	properties := filepath.Join(dir, "server.properties")
	text := []string{"process.roles=broker,controller", "node.id=1", "num.partitions=4",
		"listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller, "advertised.listeners=PLAINTEXT://" + addr,
		"controller.listener.names=CONTROLLER", "controller.quorum.voters=1@" + controller,
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + filepath.Join(dir, "data"), "offsets.topic.replication.factor=1"}
	require.NoError(t, os.WriteFile(properties, []byte(strings.Join(text, "\n")+"\n"), 0o644))

	java := append(kafkaHeap, "-Dlog4j2.configurationFile="+log4j, "-cp", classpath)
	// With eligible leader replicas a new Kafka begins with a dynamic default of min.insync.replicas.
	format := exec.Command("java", append(java, "kafka.tools.StorageTool", "format", "-t", "abcdefghijklmnopqrstuv", "-c", properties,
		"--feature", "eligible.leader.replicas.version=0")...)
	said, err := format.CombinedOutput()
	require.NoError(t, err, "%s", said)

	log, err := os.Create(filepath.Join(dir, "kafka.log"))
	require.NoError(t, err)
	defer log.Close()
	cmd := exec.Command("java", append(java, "kafka.Kafka", properties)...)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, time.Minute, 100*time.Millisecond, "Kafka does not listen: %s", tail(log.Name()))
	return addr, dir
}

func freePair(t *testing.T) (string, string) {
	first := FreeAddr(t)
	ln, err := net.Listen("tcp", first)
	require.NoError(t, err, fmt.Sprint("port ", first))
	defer ln.Close()
	return first, FreeAddr(t)
}
