package seglog

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

// bothWays runs a case with all rules on, and with the one that guards it off, and wants what differs.
func bothWays[T any](t *testing.T, rule string, run func(t *testing.T, r Rules) T, with, without T) {
	t.Run("on", func(t *testing.T) { require.Equal(t, with, run(t, AllRules())) })
	t.Run("off", func(t *testing.T) { require.Equal(t, without, run(t, off(t, rule))) })
}

// L01: a start that dies after it has opened one log leaves no marker: the next one recovers all of them, and cuts what the
// first had torn.
func TestL01MarkerOfAnEarlierStop(t *testing.T) {
	run := func(t *testing.T, r Rules) string {
		path, cfg := t.TempDir(), dirConfig()
		cfg.Rules = r
		d := openDir(t, path, cfg)
		for p := range int32(3) {
			l, err := d.OpenLog(kafka.TopicPartition{Topic: "t", Partition: p}, kafka.TopicID{}, large())
			require.NoError(t, err)
			fill(t, l, 2)
		}
		require.NoError(t, d.Close(1))
		d = openDir(t, path, cfg)
		require.True(t, d.Clean(), "what the marker said is kept in memory")
		l, err := d.OpenLog(t0, kafka.TopicID{}, large())
		require.NoError(t, err)
		fill(t, l, 1)
		d.abandon() // two of three are not open
		name := filepath.Join(path, "t-0", "00000000000000000000.log")
		writeFile(t, append(readFile(t, name), at(batch(5, 30, 1), 6, 0)[:100]...), name)
		d = openDir(t, path, cfg)
		defer d.abandon()
		l, err = d.OpenLog(t0, kafka.TopicID{}, large())
		require.NoError(t, err)
		return fmt.Sprintf("clean=%v bytes=%d", d.Clean(), l.Size())
	}
	bothWays(t, "marker-removed-at-start", run, "clean=false bytes=405", "clean=true bytes=505")
}

// L02: what Flush reports has its name on the disk, too: without the directory nothing counts as flushed. (Power cuts:
// experiments/002, and the sweep's script roll.)
func TestL02NameOfANewSegment(t *testing.T) {
	run := func(t *testing.T, r Rules) kafka.Offset {
		dir, cfg := newDir(t), testConfig(small())
		cfg.Rules = r
		l := open(t, dir, cfg, Start{})
		defer l.abandon()
		fill(t, l, 7)
		require.NoError(t, l.Flush(14))
		fill(t, l, 1) // rolls
		l.settle()
		l.dirDirty.Store(true) // as the roll left it
		require.NoError(t, os.Rename(dir, dir+".away"))
		err := l.Flush(16)
		require.Equal(t, r.FsyncDirectory, err != nil)
		return l.FlushedTo()
	}
	bothWays(t, "fsync-directory", run, 14, 16)
}

// L06: after a truncation to the base of a segment, and a long idle time, an append goes into the empty segment; no file
// that holds data is touched, and one segment has that base.
func TestL06EmptyActiveSegment(t *testing.T) {
	dir, cfg := newDir(t), testConfig(small())
	cfg.Settings.SegmentMs, cfg.Settings.SegmentIndexBytes = 1000, layout.TimeEntrySize
	l := open(t, dir, cfg, Start{})
	fill(t, l, 10)
	bases := l.SegmentBases()
	base := bases[len(bases)-1]
	require.NoError(t, l.Truncate(base))
	for i := range int64(3) {
		_, err := l.Append(batch(2, 900, 1e9*(i+1)), 0, now(1e9*(i+1)))
		require.NoError(t, err)
		require.NoError(t, l.Truncate(base))
	}
	fill(t, l, 1)
	require.Equal(t, bases, l.SegmentBases())
	require.Equal(t, base+2, l.EndOffset())
	require.NoError(t, l.Close())
	l = open(t, dir, cfg, Start{})
	require.Equal(t, base+2, l.EndOffset())
	l.abandon()
}

// L16: whatever the tail is, the log ends at the last good batch, what was cut off is told, and appends go on from there.
func TestL16TornTails(t *testing.T) {
	sized := func(n int32) []byte {
		b := at(batch(2, 30, 1), 8, 0)
		binary.BigEndian.PutUint32(b[8:], uint32(n))
		return b
	}
	flipped := at(batch(2, 30, 1), 8, 0)
	flipped[len(flipped)-3] ^= 1
	for name, tail := range map[string][]byte{
		"crc": flipped, "size 0": sized(0), "size -1": sized(-1), "size 2^31-1": sized(1<<31 - 1), "size beyond the file": sized(5000),
		"zeros": make([]byte, 4096), "half a header": at(batch(2, 30, 1), 8, 0)[:30],
	} {
		t.Run(name, func(t *testing.T) {
			dir, cfg := newDir(t), testConfig(large())
			var tr trace
			cfg.Emit = tr.emit
			l := open(t, dir, cfg, Start{})
			for i := range 4 {
				mustAppend(t, l, batchOf(2, 30, 1000, 4, 0, int32(2*i)), int32(i/2))
			}
			want := contents(t, l)
			path := l.active().path(layout.LogSuffix)
			l.abandon()
			writeFile(t, append(readFile(t, path), tail...), path)
			l = open(t, dir, cfg, Start{RecoveryPoint: 1008})
			require.Equal(t, want, contents(t, l))
			require.Contains(t, tr.last(event.Recover).Text, fmt.Sprintf("cut %d bytes", len(tail)))
			require.Equal(t, kafka.Offset(8), l.FlushedTo(), "no recovery point is above the end")
			require.Equal(t, int32(1), l.LatestEpoch())
			a, err := l.Append(batchOf(2, 30, 1000, 4, 0, 8), 1, now(1000))
			require.NoError(t, err)
			require.Equal(t, Appended{Base: 8, Next: 10, Timestamp: 1001}, a, "the sequence goes on")
			l.abandon()
		})
	}
}

// L20: a broker that is killed in the middle of its recovery, again and again, gets further each time.
func TestL20RecoveryGoesOn(t *testing.T) {
	path := t.TempDir()
	const logs = 10
	tp := func(p int) kafka.TopicPartition { return kafka.TopicPartition{Topic: "t", Partition: int32(p)} }
	d := openDir(t, path, dirConfig())
	total := int64(0)
	for p := range logs {
		l, err := d.OpenLog(tp(p), kafka.TopicID{}, small())
		require.NoError(t, err)
		fill(t, l, 60)
		total += l.Size()
	}
	d.abandon()
	work, rounds := int64(0), 0
	for done := 0; done < logs; rounds++ {
		require.Less(t, rounds, logs)
		d = openDir(t, path, dirConfig())
		read := int64(0)
		for done = 0; done < logs && read < total/4; done++ { // the supervisor's patience
			d.read = saveAfterBytes // a long recovery has gone before
			l, err := d.OpenLog(tp(done), kafka.TopicID{}, small())
			require.NoError(t, err)
			read += l.read
		}
		work += read
		d.abandon()
	}
	require.Less(t, work, 3*total, "in %d rounds", rounds)
}
