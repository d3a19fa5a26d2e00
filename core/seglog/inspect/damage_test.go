package inspect_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog"
	"trialog/core/seglog/inspect"
	"trialog/core/seglog/layout"
)

// cases is how many directories are damaged.
const cases = 2000

// harm is what was done to a directory.
type harm struct {
	what  string
	files []string // that are not what they were
}

// hurt does one thing to a file, or to two: a byte is changed, the end cut off, the file removed, or two change places.
func (f tree) hurt(rnd *rand.Rand) harm {
	names := f.names("")
	name := names[rnd.Intn(len(names))]
	if rnd.Intn(3) > 0 { // most often where records are
		logs := f.names(binary...)
		name = logs[rnd.Intn(len(logs))]
	}
	data := f[name]
	switch rnd.Intn(6) {
	case 0, 1, 2:
		if len(data) == 0 {
			return f.hurt(rnd)
		}
		at, was := rnd.Intn(len(data)), byte(0)
		f[name] = bytes.Clone(data)
		was, f[name][at] = data[at], data[at]^byte(1+rnd.Intn(255))
		return harm{fmt.Sprintf("%s: byte %d is %#x instead of %#x", name, at, f[name][at], was), []string{name}}
	case 3:
		if len(data) == 0 {
			return f.hurt(rnd)
		}
		f[name] = data[:rnd.Intn(len(data))]
		return harm{fmt.Sprintf("%s: cut to %d of %d bytes", name, len(f[name]), len(data)), []string{name}}
	case 4:
		delete(f, name)
		return harm{name + ": removed", []string{name}}
	}
	other := names[rnd.Intn(len(names))]
	if same := f.names(filepath.Ext(name)); filepath.Ext(name) != "" && rnd.Intn(2) == 0 {
		other = same[rnd.Intn(len(same))]
	}
	if bytes.Equal(f[name], f[other]) {
		return f.hurt(rnd)
	}
	f[name], f[other] = f[other], f[name]
	return harm{name + " and " + other + ": changed places", []string{name, other}}
}

// stored are the batches of a log as they were appended, by their first offset.
type stored struct {
	batches map[kafka.Offset][]byte
	order   []kafka.Offset
	end     kafka.Offset
}

func storedIn(t *testing.T, files tree, tp kafka.TopicPartition) (s stored) {
	s.batches = map[kafka.Offset][]byte{}
	for _, name := range files.names(layout.LogSuffix) {
		if filepath.Dir(name) != tp.String() {
			continue
		}
		it := record.NewBatches(files[name])
		for it.Next() {
			h := it.Header()
			s.batches[h.BaseOffset] = it.Batch()
			s.order = append(s.order, h.BaseOffset)
			s.end = h.NextOffset()
		}
		require.NoError(t, it.Err())
	}
	return s
}

// intact is how far the log reaches before the first thing that is not as it was.
func intact(files, hurt tree, tp kafka.TopicPartition) (end kafka.Offset) {
	for _, name := range files.names(layout.LogSuffix) {
		if filepath.Dir(name) != tp.String() {
			continue
		}
		base, _, _ := layout.ParseFileName(filepath.Base(name))
		have, there := hurt[name]
		if !there {
			return max(end, 0)
		}
		end = max(end, base)
		pos := 0
		for it := record.NewBatches(files[name]); it.Next(); pos = it.Position() {
			if !bytes.HasPrefix(have[min(pos, len(have)):], it.Batch()) {
				return end
			}
			h := it.Header()
			end = h.NextOffset()
		}
		if len(have) > pos {
			return end
		}
	}
	return end
}

// opened is what a start made of a damaged directory.
type opened struct {
	dir      *seglog.Dir
	logs     map[kafka.TopicPartition]*seglog.Log
	refusals []error
}

func openAll(dir string) (o opened) {
	var err error
	o.logs = map[kafka.TopicPartition]*seglog.Log{}
	if o.dir, err = seglog.OpenDir(dir, dirConfig()); err != nil {
		o.refusals = append(o.refusals, err)
		return o
	}
	if _, _, err := o.dir.Properties(); err != nil {
		o.refusals = append(o.refusals, err)
	}
	for _, tp := range topics {
		l, err := o.dir.OpenLog(tp, topicID(tp), settings(tp))
		if err != nil {
			o.refusals = append(o.refusals, err)
			continue
		}
		o.logs[tp] = l
	}
	return o
}

// served reads the whole log as fetches do, and checks the CRC of every batch.
func served(t *testing.T, l *seglog.Log) map[kafka.Offset][]byte {
	got := map[kafka.Offset][]byte{}
	for at := l.StartOffset(); at < l.EndOffset(); {
		s, err := l.Read(at, 1<<20, l.EndOffset(), true)
		require.NoError(t, err)
		b := make([]byte, s.Len())
		_, err = s.ReadAt(b, 0)
		require.NoError(t, err)
		s.Close()
		it := record.NewBatches(b)
		from := at
		for it.Next() {
			h, err := record.Validate(it.Batch())
			require.NoError(t, err, "served at %d", h.BaseOffset)
			got[h.BaseOffset] = bytes.Clone(it.Batch())
			at = max(at, h.NextOffset())
		}
		require.Greater(t, at, from, "nothing is served at %d of %d", from, l.EndOffset())
	}
	return got
}

// outcomes counts what became of damaged directories.
type outcomes struct {
	refused, cut, whole int
	listed              map[string]int // what nobody could have known, or recovery leaves as it is
}

// Two thousand directories are damaged in one place, left without their marker and recovery point, and opened. The start
// succeeds, or refuses and names the file; no batch with a wrong CRC is served; nothing panics; what is intact from the
// beginning of a log on is there; and the logs that a start accepted are sound when it is stopped, with their indexes.
func TestDamage(t *testing.T) {
	n := cases
	if testing.Short() || raceDetector {
		n /= 20
	}
	made := readTree(t, makeDir(t, 24))
	delete(made, layout.CleanMarker)
	delete(made, layout.RecoveryPointFile)
	want := map[kafka.TopicPartition]stored{}
	for _, tp := range topics {
		want[tp] = storedIn(t, made, tp)
	}
	root := memoryDir(t)
	sum := outcomes{listed: map[string]int{}}
	for seed := range int64(n) {
		hurt := maps.Clone(made)
		h := hurt.hurt(draw(seed))
		h.what = fmt.Sprintf("seed %d, %s", seed, h.what)
		dir := filepath.Join(root, fmt.Sprint(seed))
		hurt.write(t, dir)
		sum.open(t, dir, made, hurt, want, &h)
		require.NoError(t, os.RemoveAll(dir))
	}
	var list []string
	for what, n := range sum.listed {
		list = append(list, fmt.Sprintf("%6d  %s", n, what))
	}
	sortStrings(list)
	t.Logf("%d directories: %d refusals, %d logs cut, %d whole; what Kafka's formats cannot show, and what is left as it is:\n%s", n,
		sum.refused, sum.cut, sum.whole, strings.Join(list, "\n"))
}

// open opens one damaged directory, looks at what is served, and stops it.
func (sum *outcomes) open(t *testing.T, dir string, made, hurt tree, want map[kafka.TopicPartition]stored, h *harm) {
	o := openAll(dir)
	for _, err := range o.refusals {
		require.True(t, slices.ContainsFunc(h.files, func(f string) bool { return strings.Contains(err.Error(), filepath.Base(f)) }),
			"%s: the refusal does not name it: %v", h.what, err)
		sum.refused++
	}
	for _, tp := range topics {
		l := o.logs[tp]
		if l == nil {
			continue
		}
		got := served(t, l)
		sum.compare(t, want[tp].batches, got, intact(made, hurt, tp), h, l)
		if l.EndOffset() < want[tp].end {
			sum.cut++
		} else {
			sum.whole++
		}
	}
	if len(o.refusals) > 0 {
		for _, l := range o.logs {
			require.NoError(t, l.Close())
		}
		return
	}
	require.NoError(t, o.dir.Close(5))
	for _, f := range check(t, dir).Findings {
		if f.Level == inspect.Damage {
			require.True(t, leftAsItIs(f, h), "%s: after recovery: %s", h.what, f)
			sum.listed["left by a recovery: "+filepath.Ext(f.Path)+" that does not fit its log"]++
		}
	}
}

// compare sees that what is intact is served as it was.
func (sum *outcomes) compare(t *testing.T, was, got map[kafka.Offset][]byte, whole kafka.Offset, h *harm, l *seglog.Log) {
	for at, b := range was {
		if at < whole && !bytes.Equal(b, got[at]) {
			require.True(t, slices.Contains(h.files, layout.LogStartFile), "%s: intact to %d, but %s is served from %d to %d, and not at %d", h.what, whole,
				l.Partition(), l.StartOffset(), l.EndOffset(), at)
			sum.listed["a log start that is as possible as the right one"]++
			break
		}
	}
	for at, b := range got {
		if !bytes.Equal(was[at], b) {
			sum.listed["batches that are sound, and of another log or place"]++
		}
	}
}

// leftAsItIs is what a recovery does not settle: snapshots that it does not need, the cleaner's checkpoint, which it cannot
// make, and what changed places with something as sound.
func leftAsItIs(f inspect.Finding, h *harm) bool {
	return slices.Contains(h.files, layout.CleanerFile) || len(h.files) > 1 || filepath.Ext(f.Path) == layout.SnapshotSuffix
}

// memoryDir is where files cost no disk, if there is such a place: an fsync is none here.
func memoryDir(t *testing.T) string {
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "trialog-damage-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
