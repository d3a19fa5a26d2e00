package seglog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

// image is what a directory was after one step.
type image struct {
	dir   string
	names string
}

// watch copies the directory after each name that changes in a replacement, until the test ends or stop is called.
func watch(t *testing.T, dir string) (images *[]image, stop func()) {
	images = &[]image{{copyDir(t, dir), strings.Join(files(t, dir), " ")}}
	was := stepped
	stop = func() { stepped = was }
	t.Cleanup(stop)
	stepped = func() { *images = append(*images, image{copyDir(t, dir), strings.Join(files(t, dir), " ")}) }
	return images, stop
}

// stateOf is what must be the same before and after a replacement: the newest value of each key at its offset, the end, the
// producers and the epochs; and what may differ, the records.
func stateOf(t *testing.T, l *Log) (same, all string) {
	newest := map[string]string{}
	for _, word := range strings.Fields(records(t, l)) {
		_, rest, _ := strings.Cut(word, ":")
		key, _, _ := strings.Cut(rest, "=")
		newest[key] = word
	}
	l.appendMu.Lock()
	state := l.producers.String()
	l.appendMu.Unlock()
	return fmt.Sprint(newest, " end ", l.EndOffset(), " start ", l.StartOffset(), " producers ", state, " epochs ", l.Epochs()), records(t, l)
}

// filledForSwap is a log of three sealed segments, the batches of two producers in them, and one active segment.
func filledForSwap(t *testing.T, dir string, cfg Config) *Log {
	l := open(t, dir, cfg, Start{})
	for i := range kafka.Sequence(10) {
		mustAppend(t, l, keyed(1000, kafka.ProducerID(7+i%2), i/2*2, fmt.Sprintf("k%d=%d", i%2, i), fmt.Sprintf("u%d=1", i)), kafka.LeaderEpoch(i/4))
	}
	require.Equal(t, 4, l.Segments())
	commit(t, l)
	return l
}

// TestL08EveryStep: a replacement of three segments by one, or by two, is stopped after each name that it changes; the
// recovery of that is stopped after each of its own, and recovered in turn. Whatever is opened holds the old segments or
// the new one of each group, never a mix; with it the newest value of each key, the end, producers and epochs.
func TestL08EveryStep(t *testing.T) {
	for _, c := range []struct {
		name         string
		segmentBytes int32
		groups       int
		clean        bool // how the images are opened
	}{
		{"three to one", 10_000, 1, false}, {"three to two", 640, 2, false}, {"after a clean stop", 10_000, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := compacted()
			s.SegmentBytes = 280
			cfg := testConfig(s)
			dir := newDir(t)
			l := filledForSwap(t, dir, cfg)
			want, old := stateOf(t, l)
			s.SegmentBytes = c.segmentBytes
			l.SetSettings(s)
			images, stop := watch(t, dir)
			clean(t, l, 0)
			stop()
			_, after := stateOf(t, l)
			require.NotEqual(t, old, after)
			require.Equal(t, 1+c.groups, l.Segments())
			l.abandon()

			contents := map[string]bool{}
			opened := 0
			for _, img := range *images {
				for _, again := range recoverWatched(t, img, cfg, c.clean) {
					l := open(t, again.dir, cfg, Start{Clean: c.clean})
					same, all := stateOf(t, l)
					require.Equal(t, want, same, "after\n%s\nthen\n%s", img.names, again.names)
					contents[all] = true
					l.abandon()
					for _, name := range files(t, again.dir) {
						require.False(t, strings.HasSuffix(name, ".swap") || strings.HasSuffix(name, ".cleaned") || strings.HasSuffix(name, ".deleted"), name)
					}
					opened++
				}
			}
			require.Len(t, contents, 1+c.groups, "the states before, after, and between two groups; nothing else")
			require.Greater(t, len(*images), 10*c.groups)
			t.Logf("%d steps, %d images recovered", len(*images), opened)
		})
	}
}

// recoverWatched recovers an image; it returns the image, and the directory after each step of the recovery.
func recoverWatched(t *testing.T, img image, cfg Config, clean bool) []image {
	first := image{copyDir(t, img.dir), img.names}
	images, stop := watch(t, img.dir)
	l := open(t, img.dir, cfg, Start{Clean: clean})
	stop()
	l.abandon()
	return append([]image{first}, *images...)
}

// TestSwapBeforeDelete: without the rule the old segments go first, and a crash then has nothing left.
func TestSwapBeforeDelete(t *testing.T) {
	for _, off := range []bool{false, true} {
		s := compacted()
		s.SegmentBytes = 280
		cfg := testConfig(s)
		if off {
			require.True(t, cfg.Rules.Off("swap-before-delete"))
		}
		dir := newDir(t)
		l := filledForSwap(t, dir, cfg)
		want, _ := stateOf(t, l)
		images, stop := watch(t, dir)
		clean(t, l, 0)
		stop()
		l.abandon()
		lost := 0
		for _, img := range *images {
			l := open(t, img.dir, cfg, Start{})
			if same, _ := stateOf(t, l); same != want {
				lost++
			}
			l.abandon()
		}
		require.Equal(t, off, lost > 0)
	}
}

// TestSwapsOfOthers: leftovers that a crash of ours does not leave, but a directory of Kafka's may.
func TestSwapsOfOthers(t *testing.T) {
	build := func(t *testing.T, names map[string][]byte) string {
		dir := newDir(t)
		l := open(t, dir, testConfig(compacted()), Start{})
		for i := range 9 {
			put(t, l, fmt.Sprintf("k=%d", i))
		}
		commit(t, l)
		require.NoError(t, l.Close())
		for name, b := range names {
			writeFile(t, b, dir, name)
		}
		return dir
	}
	swap := at(keyed(1000, -1, -1, "k=s"), 4, 0)
	all := "0:k=0 1:k=1 2:k=2 3:k=3 4:k=4 5:k=5 6:k=6 7:k=7 8:k=8"
	for _, c := range []struct {
		name  string
		extra map[string][]byte
		want  string
	}{
		{"a swap of two segments", map[string][]byte{"00000000000000000000.log.swap": swap}, "4:k=s 6:k=6 7:k=7 8:k=8"},
		{"a cleaned of the same base", map[string][]byte{"00000000000000000000.log.swap": swap, "00000000000000000000.index.cleaned": nil}, all},
		{"a cleaned of a later one", map[string][]byte{"00000000000000000000.log.swap": swap, "00000000000000000006.log.cleaned": nil}, "4:k=s 6:k=6 7:k=7 8:k=8"},
		{"a cleaned of an earlier one", map[string][]byte{"00000000000000000003.log.swap": at(keyed(1000, -1, -1, "k=s"), 3, 0), "00000000000000000000.log.cleaned": nil}, all},
		{"an empty one", map[string][]byte{"00000000000000000000.log.swap": {}}, "3:k=3 4:k=4 5:k=5 6:k=6 7:k=7 8:k=8"},
		{"an index only", map[string][]byte{"00000000000000000000.index.swap": nil}, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := build(t, c.extra)
			l := open(t, dir, testConfig(compacted()), Start{Clean: true})
			require.Equal(t, c.want, records(t, l))
			l.abandon()
			for _, name := range files(t, dir) {
				require.False(t, strings.HasSuffix(name, ".swap") || strings.HasSuffix(name, ".cleaned"), name)
			}
		})
	}
}

// TestSnapshotsOfReplaced: the snapshots of bases that are no more go with them; the one below the active segment stays.
func TestSnapshotsOfReplaced(t *testing.T) {
	s := compacted()
	s.SegmentBytes = 280
	dir := newDir(t)
	l := filledForSwap(t, dir, testConfig(s))
	s.SegmentBytes = 10_000
	l.SetSettings(s)
	clean(t, l, 0)
	require.NoError(t, removed(l))
	var left []string
	for _, name := range files(t, dir) {
		if strings.HasSuffix(name, ".snapshot") {
			left = append(left, name)
		}
	}
	require.Equal(t, []string{fmt.Sprintf("%020d.snapshot", l.active().base)}, left)
	l.abandon()
}
