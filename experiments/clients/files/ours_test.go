package files

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/experiments/clients/harness"
)

// Kafka's tool reads our files clean, and a real Kafka serves exactly our records from our segments: after a clean stop, and
// after a kill, when the last segment has no indexes.
func TestOurFiles(t *testing.T) {
	b := harness.Start(t)
	var partitions []string
	for _, c := range codecNames {
		topic(t, b.Addr, c, 1)
		fill(t, b.Addr, c, 0, 2000, codecs[c])
		partitions = append(partitions, c+"-0")
	}
	topic(t, b.Addr, "stamped", 1, "message.timestamp.type=LogAppendTime")
	fill(t, b.Addr, "stamped", 0, 500, codecs["zstd"])
	partitions = append(partitions, "stamped-0")
	want := readAll(t, b.Addr, partitions)
	b.Stop()
	check(t, b.Data())

	files := segmentFiles(t, b.Data(), partitions)
	dump := sameDump(t, notEmpty(t, files))
	require.NotContains(t, dump, "isvalid: false")
	require.NotContains(t, dump, "invalid bytes")
	var indexes []string
	for _, f := range files {
		if strings.HasSuffix(f, "index") {
			indexes = append(indexes, f)
		}
	}
	sane, errs := kafkaDump(t, indexes, "--index-sanity-check")
	require.Empty(t, errs)
	ours, errs := trialogDump(t, indexes, "--index-sanity-check")
	require.Empty(t, errs)
	require.Equal(t, sane, ours)
	require.Greater(t, strings.Count(sane, " passed sanity check."), 2*len(partitions))

	k := kafka(t)
	for _, c := range codecNames {
		topic(t, k.Addr, c, 1)
	}
	topic(t, k.Addr, "stamped", 1, "message.timestamp.type=LogAppendTime")
	k.Stop()
	replace(t, b.Data(), k.Data(), partitions)
	k.Restart()
	same(t, want, readAll(t, k.Addr, partitions))
	k.Stop()
	check(t, k.Data())

	b.Restart()
	fill(t, b.Addr, "none", 0, 777, codecs["none"])
	want = readAll(t, b.Addr, partitions)
	b.Kill()
	replace(t, b.Data(), k.Data(), partitions)
	k.Restart()
	same(t, want, readAll(t, k.Addr, partitions))
}
