package files

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"trialog/experiments/clients/driver"
	"trialog/experiments/clients/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// kafka starts a real Kafka whose cleaner is in a hurry.
func kafka(t *testing.T) *harness.Kafka {
	return harness.StartKafka(t, driver.JavaClasspath(harness.Root), log4j(t), "log.cleaner.backoff.ms=100",
		"transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"offsets.topic.num.partitions=3", "transaction.state.log.num.partitions=3")
}

func log4j(t *testing.T) string {
	path, err := filepath.Abs(filepath.Join(harness.Root, "java", "log4j2.properties"))
	require.NoError(t, err)
	return path
}

// read is every record of a partition, with control records, as text.
func read(t *testing.T, addr, topic string, partition int32, isolation kgo.IsolationLevel) []string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cl := client(t, addr, kgo.KeepControlRecords(), kgo.FetchIsolationLevel(isolation),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	var end kadm.ListedOffset
	require.Eventually(t, func() bool { // a broker that has just started may not lead yet
		ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
		end, _ = ends.Lookup(topic, partition)
		return err == nil && end.Err == nil
	}, 20*time.Second, 50*time.Millisecond)
	var all []string
	for at := int64(0); at < end.Offset; {
		fetches := cl.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "%s-%d after %d of %d", topic, partition, at, end.Offset)
		fetches.EachRecord(func(r *kgo.Record) {
			at = r.Offset + 1
			all = append(all, fmt.Sprintf("%d at %d, %v: %q=%q %q", r.Offset, r.Timestamp.UnixMilli(), r.Attrs, r.Key, r.Value, r.Headers))
		})
	}
	return all
}

// readAll reads partitions, by the names of their directories.
func readAll(t *testing.T, addr string, partitions []string) map[string][]string {
	all := map[string][]string{}
	for _, p := range partitions {
		topic, number := split(p)
		all[p] = read(t, addr, topic, number, kgo.ReadUncommitted())
		require.NotEmpty(t, all[p], p)
	}
	return all
}

func split(partition string) (topic string, number int32) {
	dash := strings.LastIndexByte(partition, '-')
	fmt.Sscan(partition[dash+1:], &number)
	return partition[:dash], number
}

// segmentFiles are the files of partitions that Kafka's tool prints, in order.
func segmentFiles(t *testing.T, dir string, partitions []string) []string {
	var all []string
	for _, p := range partitions {
		for _, kind := range []string{"log", "index", "timeindex", "snapshot", "txnindex"} {
			found, err := filepath.Glob(filepath.Join(dir, p, "*."+kind))
			require.NoError(t, err)
			all = append(all, found...)
		}
	}
	slices.Sort(all)
	return all
}

// kafkaDump runs Kafka's tool; with JVM start-up it takes a second or two.
func kafkaDump(t *testing.T, files []string, flags ...string) (out, errs string) {
	cmd := exec.Command("java", append([]string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=" + log4j(t),
		"-cp", driver.JavaClasspath(harness.Root), "org.apache.kafka.tools.DumpLogSegments", "--files", strings.Join(files, ",")}, flags...)...)
	return output(t, cmd)
}

func trialogDump(t *testing.T, files []string, flags ...string) (out, errs string) {
	return output(t, harness.Trialog(t, append([]string{"log", "dump", "--files", strings.Join(files, ",")}, flags...)...))
}

func output(t *testing.T, cmd *exec.Cmd) (out, errs string) {
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	require.NoError(t, cmd.Run(), "%s", e.String())
	return o.String(), e.String()
}

// sameDump sees that both tools print the same, and returns it. On standard error Kafka 4.4 takes the first record of every
// segment but the one at 0 for one that does not follow -1, and the header of a batch without records, which its own cleaner
// puts into the time index, for one without a timestamp; nobody has to repeat that.
func sameDump(t *testing.T, files []string) string {
	want, wantErr := kafkaDump(t, files, "--deep-iteration", "--print-data-log")
	got, gotErr := trialogDump(t, files, "--print-data-log")
	if want != got {
		a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
		for i := range a {
			require.Equal(t, a[i], b[min(i, len(b)-1)], "line %d", i+1)
		}
	}
	require.Equal(t, complaints(wantErr), complaints(gotErr))
	return want
}

// complaints are blocks of a title and its lines, sorted, without those that are Kafka's mistake.
func complaints(text string) []string {
	var blocks []string
	title := ""
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "Indexed offset") {
			title = line
		} else if !strings.HasPrefix(line, "  -1 is followed by ") && !strings.HasSuffix(line, ", log timestamp: -1\n") {
			blocks = append(blocks, title+line)
		}
	}
	slices.Sort(blocks)
	return blocks
}

// check runs `trialog log check`, which must find the directory sound.
func check(t *testing.T, dir string) {
	out, err := harness.Trialog(t, "log", "check", "--deep", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "recoverable:")
	t.Logf("%s", out)
}

// replace puts the directories of partitions into another broker's place, as the package comment says: they keep the
// partition.metadata of where they go, and what was said about the logs there is forgotten.
func replace(t *testing.T, from, to string, partitions []string) {
	for _, p := range partitions {
		id, err := os.ReadFile(filepath.Join(to, p, "partition.metadata"))
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(filepath.Join(to, p)))
		require.NoError(t, os.CopyFS(filepath.Join(to, p), os.DirFS(filepath.Join(from, p))))
		require.NoError(t, os.WriteFile(filepath.Join(to, p, "partition.metadata"), id, 0o644))
	}
	for _, name := range []string{".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "replication-offset-checkpoint",
		"log-start-offset-checkpoint"} {
		err := os.Remove(filepath.Join(to, name))
		require.True(t, err == nil || os.IsNotExist(err), "%v", err)
	}
	var rows []string
	text, _ := os.ReadFile(filepath.Join(from, "cleaner-offset-checkpoint")) // there is none where nothing was compacted
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && slices.Contains(partitions, f[0]+"-"+f[1]) {
			rows = append(rows, line)
		}
	}
	text = fmt.Appendf(nil, "0\n%d\n%s", len(rows), strings.Join(rows, ""))
	require.NoError(t, os.WriteFile(filepath.Join(to, "cleaner-offset-checkpoint"), text, 0o644))
}

// same compares records, and shows the first difference alone.
func same(t *testing.T, want, got map[string][]string) {
	for p, records := range want {
		for i, r := range records {
			require.Less(t, i, len(got[p]), "%s ends too early", p)
			require.Equal(t, r, got[p][i], "%s, record %d", p, i)
		}
		require.Len(t, got[p], len(records), p)
	}
}
