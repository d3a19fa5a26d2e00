package inspect_test

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/codec"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/record"
	"trialog/core/seglog"
	"trialog/core/seglog/cleaning"
	"trialog/core/seglog/layout"
)

// Partitions of the directory that is damaged, each with a topic id of its own.
var (
	plain = kafka.TopicPartition{Topic: "plain"} // every codec, several producers, two epochs
	keyed = kafka.TopicPartition{Topic: "keyed"} // compacted
	txns  = kafka.TopicPartition{Topic: "txns"}  // transactions, committed and aborted

	topics = []kafka.TopicPartition{keyed, plain, txns}
)

func topicID(tp kafka.TopicPartition) kafka.TopicID { return kafka.TopicID{0: tp.Topic[0], 15: 7} }

func settings(tp kafka.TopicPartition) config.Topic {
	return config.Topic{
		SegmentBytes: 900, SegmentMs: 1 << 60, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 150, RetentionMs: -1, RetentionBytes: -1,
		CleanupDelete: tp != keyed, CleanupCompact: tp == keyed, MaxCompactionLagMs: 1<<63 - 1, DeleteRetentionMs: 1 << 40,
	}
}

func dirConfig() seglog.DirConfig {
	return seglog.DirConfig{Node: 1, Rules: seglog.AllRules(), ProducerRules: producers.AllRules()}
}

// writer appends to one log.
type writer struct {
	t   *testing.T
	l   *seglog.Log
	now int64
	seq map[kafka.ProducerID]kafka.Sequence

	open   map[kafka.ProducerID]kafka.Offset // where transactions began
	aborts []layout.TxnEntry
}

// append appends a batch of n records of a producer, or of none.
func (w *writer) append(producer kafka.ProducerID, n int, c record.Codec, attrs record.Attributes, epoch kafka.LeaderEpoch) {
	var b record.Builder
	b.Reset(nil)
	if producer >= 0 {
		b.SetProducer(producer, 0, w.seq[producer])
		w.seq[producer] += int32(n)
	}
	b.SetAttributes(attrs)
	for i := range n {
		w.now += 5
		key := fmt.Appendf(nil, "k%d", (w.now*w.now)%7)
		b.Append(w.now-int64(i%2), key, []byte(strings.Repeat("v", int(w.now%40))))
	}
	if _, open := w.open[producer]; attrs&record.Transactional != 0 && !open {
		w.open[producer] = w.l.EndOffset()
	}
	batch := b.Finish()
	if c != record.Uncompressed {
		batch = codec.Compress(nil, batch, c, codec.DefaultLevel(c))
	}
	a, err := w.l.Append(batch, epoch, kafka.Now{WallMs: w.now})
	require.NoError(w.t, err)
	require.Equal(w.t, kafka.ErrNone, a.Code)
}

// end appends a marker of a transaction, as a coordinator does: past the check of sequences.
func (w *writer) end(producer kafka.ProducerID, kind record.ControlType, epoch kafka.LeaderEpoch) {
	var b record.Builder
	w.now += 5
	at := w.l.EndOffset()
	e := layout.TxnEntry{Producer: producer, First: w.open[producer], Last: at, LastStable: at + 1}
	delete(w.open, producer)
	for _, first := range w.open {
		e.LastStable = min(e.LastStable, first)
	}
	if kind == record.ControlAbort {
		w.aborts = append(w.aborts, e)
	}
	b.Reset(nil)
	b.SetProducer(producer, 0, kafka.NoSequence)
	b.SetAttributes(record.Control | record.Transactional)
	b.SetBaseOffset(at)
	b.SetLeaderEpoch(epoch)
	b.Append(w.now, []byte{0, 0, 0, byte(kind)}, []byte{0, 0, 0, 0, 0, 3})
	_, err := w.l.AppendFollower(b.Finish(), kafka.Now{WallMs: w.now})
	require.NoError(w.t, err)
}

// compareTxnIndexes sees that each .txnindex has the aborted transactions whose markers lie in the segment.
func (w *writer) compareTxnIndexes(dir string) {
	files := readTree(w.t, dir)
	var have []layout.TxnEntry
	for _, name := range files.names(layout.TxnIndexSuffix) {
		rows, err := layout.ParseTxnIndex(files[name])
		require.NoError(w.t, err)
		base, _, _ := layout.ParseFileName(name)
		for _, r := range rows {
			require.GreaterOrEqual(w.t, r.Last, base)
		}
		have = append(have, rows...)
	}
	require.Equal(w.t, w.aborts, have)
}

// fill writes the three logs; n is how much.
func fill(t *testing.T, d *seglog.Dir, n int) (last *writer) {
	for _, tp := range topics {
		l, err := d.OpenLog(tp, topicID(tp), settings(tp))
		require.NoError(t, err)
		w := &writer{t: t, l: l, now: 1_700_000_000_000, seq: map[kafka.ProducerID]kafka.Sequence{},
			open: map[kafka.ProducerID]kafka.Offset{}}
		last = w
		switch tp {
		case plain:
			for i := range n {
				w.append(int64(i%3)-1, 1+i%4, record.Codec(i%5), 0, int32(2*i/n))
			}
		case keyed:
			for i := range n {
				w.append(int64(i%2), 1+i%3, record.Codec(i%5), 0, 0)
			}
		case txns:
			w.transactions(n)
		}
		l.SetHighWatermark(l.EndOffset())
		require.NoError(t, l.Flush(l.EndOffset()))
	}
	return last
}

// transactions are two at a time, which end in turn, one half of them with an abort.
func (w *writer) transactions(n int) {
	for i := range n {
		p := int64(5 + i%2)
		w.append(p, 1+i%2, record.Uncompressed, record.Transactional, 0)
		if i%3 == 2 {
			w.end(p, record.ControlType(i%2), 0)
		}
	}
}

// makeDir is a directory that was stopped cleanly, and holds one of every kind of file.
func makeDir(t *testing.T, n int) string {
	dir := filepath.Join(memoryDir(t), "data")
	d, err := seglog.OpenDir(dir, dirConfig())
	require.NoError(t, err)
	w := fill(t, d, n)
	_, stats, err := d.Log(keyed).Clean(cleaning.NewWorker(cleaning.Limits{MapBytes: 1 << 20, MapLoad: 0.9, BufferBytes: 1 << 16}), 1_800_000_000_000)
	require.NoError(t, err, "%+v", stats)
	require.NoError(t, d.WriteProperties(layout.Properties{ClusterID: "abcdefghijklmnopqrstuv", NodeID: 1, DirectoryID: kafka.TopicID{1: 1}}))
	_, err = d.RemoveDeleted(1 << 62)
	require.NoError(t, err)
	require.NoError(t, d.Close(4))
	w.compareTxnIndexes(filepath.Join(dir, txns.String()))
	return dir
}

// tree is what lies in a directory, by path below it.
type tree map[string][]byte

func readTree(t *testing.T, dir string) tree {
	all := tree{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			all[name], err = os.ReadFile(path)
		}
		return err
	}))
	return all
}

func (f tree) write(t *testing.T, dir string) {
	for name, data := range f {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
}

// names are the paths with one of these endings, in order.
func (f tree) names(suffixes ...string) (names []string) {
	for name := range f {
		for _, s := range suffixes {
			if strings.HasSuffix(name, s) {
				names = append(names, name)
			}
		}
	}
	sortStrings(names)
	return names
}

var binary = []string{layout.LogSuffix, layout.IndexSuffix, layout.TimeIndexSuffix, layout.SnapshotSuffix, layout.TxnIndexSuffix}

func draw(seed int64) *rand.Rand { return rand.New(rand.NewSource(seed)) }
