package seglog

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/seglog/layout"
)

func dirConfig() DirConfig {
	return DirConfig{Node: 1, Rules: AllRules(), ProducerRules: producers.AllRules()}
}

func openDir(t *testing.T, path string, cfg DirConfig) *Dir {
	t.Helper()
	d, err := OpenDir(path, cfg)
	require.NoError(t, err)
	return d
}

func (d *Dir) abandon() {
	for _, l := range d.Logs() {
		l.abandon()
	}
}

func TestDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	d := openDir(t, path, dirConfig())
	require.False(t, d.Clean())
	_, ok, err := d.Properties()
	require.NoError(t, err)
	require.False(t, ok)
	want := layout.Properties{ClusterID: "AAAAAAAAAAAAAAAAAAAAAQ", NodeID: 1, DirectoryID: kafka.TopicID{7}}
	require.NoError(t, d.WriteProperties(want))
	got, ok, err := d.Properties()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, want, got)
	require.Equal(t, "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\nnode.id=1\ndirectory.id=BwAAAAAAAAAAAAAAAAAAAA\n",
		string(readFile(t, path, layout.PropertiesFile)))

	id := kafka.TopicID{1}
	var tps []kafka.TopicPartition
	for _, topic := range []string{"b", "a-1", "a"} {
		for p := range int32(2) {
			tps = append(tps, kafka.TopicPartition{Topic: topic, Partition: p})
		}
	}
	for i, tp := range tps {
		l, err := d.OpenLog(tp, id, small())
		require.NoError(t, err)
		fill(t, l, i+1)
		l.SetHighWatermark(l.EndOffset())
	}
	require.Panics(t, func() { _, _ = d.OpenLog(tps[0], id, small()) })
	found, err := d.List()
	require.NoError(t, err)
	require.Len(t, found, 6)
	require.Equal(t, FoundLog{Partition: kafka.TopicPartition{Topic: "a"}, TopicID: id}, found[0])
	require.Equal(t, "a-1-0", found[2].Partition.String())
	require.Equal(t, "version: 0\ntopic_id: AQAAAAAAAAAAAAAAAAAAAA", string(readFile(t, path, "a-0", layout.PartitionFile)))

	require.NoError(t, d.Checkpoint())
	require.Equal(t, "0\n6\na 0 10\na 1 12\na-1 0 6\na-1 1 8\nb 0 2\nb 1 4\n", string(readFile(t, path, layout.HWFile)))
	require.Equal(t, "0\n6\na 0 0\na 1 0\na-1 0 0\na-1 1 0\nb 0 0\nb 1 0\n", string(readFile(t, path, layout.RecoveryPointFile)))
	require.Equal(t, "0\n0\n", string(readFile(t, path, layout.LogStartFile)))
	require.NoError(t, d.DeleteLog(tps[0], "0123", 0))
	require.NoError(t, d.DeleteLog(tps[0], "0123", 0), "gone already")
	require.Nil(t, d.Log(tps[0]))
	require.Contains(t, files(t, path), "b-0.0123-delete")
	start, err := d.Log(tps[1]).DeleteRecords(3, 0)
	require.NoError(t, err)
	require.Equal(t, kafka.Offset(3), start)

	require.NoError(t, d.Close(42))
	require.Equal(t, `{"version":0,"brokerEpoch":42}`, string(readFile(t, path, layout.CleanMarker)))
	require.Equal(t, "0\n5\na 0 10\na 1 12\na-1 0 6\na-1 1 8\nb 1 4\n", string(readFile(t, path, layout.RecoveryPointFile)))
	require.Equal(t, "0\n1\nb 1 3\n", string(readFile(t, path, layout.LogStartFile)))

	d = openDir(t, path, dirConfig())
	require.True(t, d.Clean())
	require.Equal(t, int64(42), d.BrokerEpoch())
	require.NotContains(t, files(t, path), layout.CleanMarker)
	_, err = d.RemoveDeleted(0)
	require.NoError(t, err)
	require.NotContains(t, files(t, path), "b-0.0123-delete")
	l, err := d.OpenLog(tps[1], id, small())
	require.NoError(t, err)
	require.Equal(t, []kafka.Offset{3, 4, 4, 4}, []kafka.Offset{l.StartOffset(), l.HighWatermark(), l.FlushedTo(), l.EndOffset()})
	require.NoError(t, d.Checkpoint(), "partitions that are not open keep what is known of them")
	require.Equal(t, "0\n5\na 0 10\na 1 12\na-1 0 6\na-1 1 8\nb 1 4\n", string(readFile(t, path, layout.HWFile)))
	_, err = d.OpenLog(tps[2], kafka.TopicID{9}, small())
	require.ErrorIs(t, err, ErrTopicID)
	require.NoError(t, d.Close(-1))
}

// TestMarkerBites: a start takes the marker away before anything else, so a crash later is recovered from (KAFKA-10471).
// Without the rule the second start trusts files that nobody closed: the torn bytes stay, and the next batch comes after
// them.
func TestMarkerBites(t *testing.T) {
	run := func(cfg DirConfig) (recovered string, valid bool) {
		path := t.TempDir()
		d := openDir(t, path, cfg)
		l, err := d.OpenLog(t0, kafka.TopicID{}, large())
		require.NoError(t, err)
		fill(t, l, 2)
		require.NoError(t, d.Close(1))

		d = openDir(t, path, cfg)
		require.True(t, d.Clean())
		l, err = d.OpenLog(t0, kafka.TopicID{}, large())
		require.NoError(t, err)
		fill(t, l, 2)
		d.abandon()
		name := filepath.Join(path, "t-0", "00000000000000000000.log")
		writeFile(t, append(readFile(t, name), at(batch(5, 30, 1), 8, 0)[:100]...), name) // killed in the middle of a write

		var tr trace
		cfg.Emit = tr.emit
		d = openDir(t, path, cfg)
		l, err = d.OpenLog(t0, kafka.TopicID{}, large())
		require.NoError(t, err)
		fill(t, l, 1)
		s, err := l.Read(0, 1<<20, 10, true)
		require.NoError(t, err)
		raw := readAll(t, s)
		d.abandon()
		return tr.last(event.Recover).Text, len(raw) == 5*135
	}
	text, valid := run(dirConfig())
	require.Contains(t, text, "cut 100 bytes")
	require.True(t, valid)
	cfg := dirConfig()
	require.True(t, cfg.Rules.Off("marker-removed-at-start"))
	text, valid = run(cfg)
	require.Equal(t, "clean", text)
	require.False(t, valid)
}

// TestDirFailures: what a directory does about files that are damaged, and about a log that failed.
func TestDirFailures(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, dirConfig())
	l, err := d.OpenLog(t0, kafka.TopicID{}, small())
	require.NoError(t, err)
	fill(t, l, 10)
	l.SetHighWatermark(20)
	l.settle()
	_ = l.fail(fmt.Errorf("disk gone"))
	require.ErrorContains(t, d.Close(1), "disk gone")
	require.NotContains(t, files(t, path), layout.CleanMarker)

	for _, text := range []string{"", "0\n", "0\n2\nt 0 14\n", "0\n1\nt 0 14", "0\n1\nt 0 -1\n", "0\n1\nt x 1\n", "1\n0\n"} {
		for _, name := range checkpointFiles {
			writeFile(t, []byte(text), path, name)
		}
		d = openDir(t, path, dirConfig())
		require.Len(t, d.Warnings(), len(checkpointFiles), "%q", text)
		l, err = d.OpenLog(t0, kafka.TopicID{}, small())
		require.NoError(t, err)
		require.Equal(t, []kafka.Offset{0, 0, 20, 20}, []kafka.Offset{l.StartOffset(), l.HighWatermark(), l.FlushedTo(), l.EndOffset()})
		d.abandon()
	}
	for _, text := range []string{"", "version=2\nnode.id=1\n", "version=1\nnode.id=x\n", "version=1\nnode.id=1\ndirectory.id=!\n"} {
		writeFile(t, []byte(text), path, layout.PropertiesFile)
		_, _, err = d.Properties()
		require.Error(t, err, "%q", text)
	}
	writeFile(t, []byte("#comment\nversion=0\nbroker.id=5\n"), path, layout.PropertiesFile)
	p, ok, err := d.Properties()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, layout.Properties{NodeID: 5}, p)

	writeFile(t, nil, path, layout.CleanMarker)
	require.True(t, openDir(t, path, dirConfig()).Clean(), "older versions leave an empty marker")
	writeFile(t, []byte("x"), path, "file")
	_, err = OpenDir(filepath.Join(path, "file"), dirConfig())
	require.Error(t, err)
}

// TestTruncateSavesRecoveryPoint: the checkpoint is lowered before the file is cut, else the next start would trust what
// was written there since.
func TestTruncateSavesRecoveryPoint(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, dirConfig())
	l, err := d.OpenLog(t0, kafka.TopicID{}, small())
	require.NoError(t, err)
	fill(t, l, 20)
	require.NoError(t, l.Flush(40))
	require.NoError(t, d.Checkpoint())
	require.Equal(t, "0\n1\nt 0 40\n", string(readFile(t, path, layout.RecoveryPointFile)))
	require.NoError(t, l.Truncate(20))
	require.Equal(t, "0\n1\nt 0 20\n", string(readFile(t, path, layout.RecoveryPointFile)))
	require.NoError(t, d.Close(1))
	long := kafka.TopicPartition{Topic: string(make([]byte, 0, 249)), Partition: 0}
	for len(long.Topic) < 249 {
		long.Topic += "x"
	}
	d = openDir(t, path, dirConfig())
	_, err = d.OpenLog(long, kafka.TopicID{}, small())
	require.NoError(t, err)
	require.NoError(t, d.DeleteLog(long, "0123456789abcdef0123456789abcdef", 0))
	_, err = d.RemoveDeleted(0)
	require.NoError(t, err)
	require.Empty(t, d.Logs())
	_, err = os.Stat(filepath.Join(path, long.String()))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestRecoveryPointAboveTheEnd: it is lowered before anything is appended.
func TestRecoveryPointAboveTheEnd(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, dirConfig())
	l, err := d.OpenLog(t0, kafka.TopicID{}, small())
	require.NoError(t, err)
	fill(t, l, 3)
	d.abandon()
	writeFile(t, []byte("0\n1\nt 0 40\n"), path, layout.RecoveryPointFile)
	d = openDir(t, path, dirConfig())
	_, err = d.OpenLog(t0, kafka.TopicID{}, small())
	require.NoError(t, err)
	require.Equal(t, "0\n1\nt 0 6\n", string(readFile(t, path, layout.RecoveryPointFile)))
	d.abandon()
}

// TestRecoveryIsSaved: a long recovery that is cut off does not begin at the same place again.
func TestRecoveryIsSaved(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, dirConfig())
	l, err := d.OpenLog(t0, kafka.TopicID{}, small())
	require.NoError(t, err)
	fill(t, l, 20)
	d.abandon()
	for _, want := range []string{"", "0\n1\nt 0 40\n"} {
		d = openDir(t, path, dirConfig())
		if want != "" {
			d.read = saveAfterBytes - 1 // as if other logs had been read before
		}
		_, err = d.OpenLog(t0, kafka.TopicID{}, small())
		require.NoError(t, err)
		d.abandon()
		text, err := layout.ReadIfThere(filepath.Join(path, layout.RecoveryPointFile))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}
