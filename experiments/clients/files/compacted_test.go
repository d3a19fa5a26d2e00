package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"trialog/experiments/clients/harness"
)

// What our cleaner leaves of a log is what Kafka's leaves of the same one: every codec, tombstones, transactions that were
// committed and aborted, with their markers. Kafka's tool reads our files clean.
func TestCompactedAlike(t *testing.T) {
	const patient, eager = "min.cleanable.dirty.ratio=1", "min.cleanable.dirty.ratio=0.01"
	names := append([]string{"transactions"}, codecNames...)
	var partitions []string
	k := kafka(t)
	for _, name := range names {
		topic(t, k.Addr, name, 1, "cleanup.policy=compact", patient)
		partitions = append(partitions, name+"-0")
	}
	for _, c := range codecNames {
		fillKeyed(t, k.Addr, c, 2000, codecs[c])
	}
	fillTransactions(t, k.Addr, "transactions", 60, true)
	before := readAll(t, k.Addr, partitions)
	k.Stop()
	require.NotContains(t, cleanerFile(k.Data()), " 0 ")
	ours := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.CopyFS(ours, os.DirFS(k.Data())))

	k.Restart()
	admin := kadm.NewClient(client(t, k.Addr))
	value := strings.TrimPrefix(eager, "min.cleanable.dirty.ratio=")
	_, err := admin.AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "min.cleanable.dirty.ratio", Value: &value}}, names...)
	require.NoError(t, err)
	cleanedAll(t, k.Data(), names)
	want := readAll(t, k.Addr, partitions)
	k.Stop()

	b := harness.Start(t, "log.cleaner.backoff.ms=100")
	for _, name := range names {
		topic(t, b.Addr, name, 1, "cleanup.policy=compact", eager)
	}
	b.Stop()
	replace(t, ours, b.Data(), partitions)
	b.Restart()
	cleanedAll(t, b.Data(), names)
	got := readAll(t, b.Addr, partitions)
	b.Stop()
	same(t, want, got)
	for _, p := range partitions {
		require.Less(t, len(got[p]), len(before[p])*3/4, "%s is compacted", p)
	}
	require.ElementsMatch(t, strings.Split(cleanerFile(k.Data()), "\n"), strings.Split(cleanerFile(b.Data()), "\n"))
	check(t, b.Data())
	dump := sameDump(t, notEmpty(t, segmentFiles(t, b.Data(), partitions)))
	require.NotContains(t, dump, "isvalid: false")
	require.Contains(t, dump, "deleteHorizonMs: OptionalLong[")
}

func cleanerFile(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "cleaner-offset-checkpoint")) // there is none where nothing was compacted
	return string(text)
}

// cleanedAll waits until every topic was cleaned once.
func cleanedAll(t *testing.T, dir string, names []string) {
	require.Eventually(t, func() bool {
		text := cleanerFile(dir)
		for _, name := range names {
			if !strings.Contains(text, name+" 0 ") {
				return false
			}
		}
		return true
	}, time.Minute, 100*time.Millisecond)
}
