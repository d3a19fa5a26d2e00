package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/experiments/clients/harness"
)

// What a real Kafka wrote is sound, our dump of it is its own tool's, and our broker serves it: every codec, timestamps of
// the broker, a compacted topic, transactions that were committed and aborted, and Kafka's internal topics.
func TestKafkasFiles(t *testing.T) {
	k := kafka(t)
	partitions := []string{"stamped-0", "compacted-0", "transactions-0"}
	settings := map[string][]string{"stamped": {"message.timestamp.type=LogAppendTime"},
		"compacted": {"cleanup.policy=compact", "min.cleanable.dirty.ratio=0.01", "delete.retention.ms=100"}, "transactions": nil}
	for _, c := range codecNames {
		settings[c] = nil
		partitions = append(partitions, c+"-0")
	}
	for name, s := range settings {
		topic(t, k.Addr, name, 1, s...)
	}
	for _, c := range codecNames {
		fill(t, k.Addr, c, 0, 2000, codecs[c])
	}
	fill(t, k.Addr, "stamped", 0, 500, codecs["zstd"])
	fillKeyed(t, k.Addr, "compacted", 6000, codecs["lz4"])
	fillTransactions(t, k.Addr, "transactions", 60, false)
	commitOffsets(t, k.Addr, "none")
	require.Eventually(t, func() bool { // the cleaner has been there
		text, err := os.ReadFile(filepath.Join(k.Data(), "cleaner-offset-checkpoint"))
		return err == nil && strings.Contains(string(text), "compacted 0 ")
	}, time.Minute, 100*time.Millisecond)
	want := readAll(t, k.Addr, partitions)
	k.Stop()

	check(t, k.Data())
	internal := []string{"__consumer_offsets-0", "__consumer_offsets-1", "__consumer_offsets-2", "__transaction_state-0",
		"__transaction_state-1", "__transaction_state-2", "__cluster_metadata-0"}
	dump := sameDump(t, notEmpty(t, segmentFiles(t, k.Data(), append(internal, partitions...))))
	for _, sign := range []string{"endTxnMarker: COMMIT", "endTxnMarker: ABORT", "version: 0 producerId", "compresscodec: zstd", "LogAppendTime",
		"currentTxnFirstOffset: OptionalLong[", "deleteHorizonMs: OptionalLong[", "LeaderChange"} {
		require.Contains(t, dump, sign)
	}

	all := notEmpty(t, segmentFiles(t, k.Data(), partitions)) // not of KRaft's log: Kafka leaves its indexes insane
	for _, flags := range [][]string{{"--verify-index-only"}, {"--index-sanity-check"}, {"--print-data-log", "--skip-record-metadata"},
		{"--max-bytes", "5000"}} {
		want, _ := kafkaDump(t, all, flags...)
		got, _ := trialogDump(t, all, flags...)
		require.Equal(t, want, got, "%v", flags)
	}

	b := harness.Start(t)
	for name, s := range settings {
		topic(t, b.Addr, name, 1, s...)
	}
	b.Stop()
	replace(t, k.Data(), b.Data(), partitions)
	b.Restart()
	same(t, want, readAll(t, b.Addr, partitions))
	b.Stop()
	check(t, b.Data())
	sameDump(t, notEmpty(t, segmentFiles(t, b.Data(), partitions)))
}

// notEmpty leaves out empty files: Kafka's tool cannot map them, or stops at them.
func notEmpty(t *testing.T, files []string) (kept []string) {
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(t, err)
		if info.Size() > 0 {
			kept = append(kept, f)
		}
	}
	return kept
}
