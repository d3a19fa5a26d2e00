package benchcmd

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"trialog/core/client"
)

// What Kafka's own perf producer is told: it is bound by itself more than by the broker, so it compares brokers by their
// processor time, and says whether a user's program would see a difference.
const (
	perfRecords    = 2_000_000
	perfBytes      = 100 // of a record
	perfPartitions = 6
	perfBatch      = 128 << 10
)

// perfLine is the last line of the perf producer.
var perfLine = regexp.MustCompile(`(?m)^(\d+) records sent, ([0-9.]+) records/sec .* ([0-9]+) ms 99th`)

// perf runs Kafka's perf producer against a broker. Elapsed is the time that it says it sent for, without the start of its
// virtual machine; clientCPU is unknown.
func perf(ctx context.Context, on *target, jars string) (r result, err error) {
	topic := client.NewTopic{Name: "compare-perf", Partitions: perfPartitions, ReplicationFactor: 1}
	err = withTopic(ctx, on, topic, func() error {
		before := on.cpu()
		said, err := exec.CommandContext(ctx, "java", "-Xmx512m", "-cp", filepath.Join(jars, "*"), "org.apache.kafka.tools.ProducerPerformance",
			"--bootstrap-server", on.addr, "--topic", topic.Name, "--num-records", strconv.Itoa(perfRecords), "--record-size", strconv.Itoa(perfBytes),
			"--throughput", "-1", "--command-property", fmt.Sprintf("batch.size=%d", perfBatch)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("bench: Kafka's perf producer: %w\n%s", err, said)
		}
		r, err = perfResult(said)
		r.brokerCPU = on.cpu() - before
		return err
	})
	return r, err
}

// perfResult reads what the perf producer said.
func perfResult(said []byte) (result, error) {
	lines := perfLine.FindAllSubmatch(said, -1)
	if len(lines) == 0 {
		return result{}, fmt.Errorf("bench: Kafka's perf producer gave no result: %s", said)
	}
	last := lines[len(lines)-1]
	records, err1 := strconv.ParseInt(string(last[1]), 10, 64)
	rate, err2 := strconv.ParseFloat(string(last[2]), 64)
	if err1 != nil || err2 != nil || records <= 0 || rate <= 0 {
		return result{}, fmt.Errorf("bench: Kafka's perf producer said %q", last[0])
	}
	return result{
		records: records, requests: records, bytes: records * perfBytes, clientCPU: -1,
		elapsed: time.Duration(float64(records) / rate * float64(time.Second)),
	}, nil
}
