package inspect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/seglog/inspect"
	"trialog/core/seglog/layout"
)

func sortStrings(s []string) { slices.Sort(s) }

func check(t *testing.T, dir string) *inspect.Report {
	r, err := inspect.Check(dir, inspect.Options{})
	require.NoError(t, err)
	return r
}

// A directory that nothing happened to is sound, and the fixture has what there is to damage.
func TestSound(t *testing.T) {
	dir := makeDir(t, 40)
	r, err := inspect.Check(dir, inspect.Options{Deep: true})
	require.NoError(t, err)
	require.Empty(t, r.Findings)
	files := readTree(t, dir)
	for _, suffix := range binary {
		require.NotEmpty(t, files.names(suffix), suffix)
	}
	t.Logf("%d files, %d batches", len(files), r.Batches)
}

// Bits of every .log, .index, .timeindex, .snapshot and .txnindex are turned over, each eleventh, or with
// TRIALOG_EVERY_FLIP=1 every single one, and the check says so. What the formats cannot show is listed: a base offset that
// moves within a gap of a compacted log, and numbers in text files.
func TestCheckFindsEveryFlip(t *testing.T) {
	dir := makeDir(t, 24)
	require.Empty(t, check(t, dir).Findings)
	files := readTree(t, dir)
	hidden := map[string]int{}
	flips := 0
	for _, name := range files.names("") {
		step := 11
		if raceDetector {
			step = 307
		}
		if os.Getenv("TRIALOG_EVERY_FLIP") != "" {
			step = 1
		}
		path := filepath.Join(dir, name)
		where := dir
		if strings.Contains(name, string(filepath.Separator)) {
			where = filepath.Dir(path) // its partition alone: the rest is as it was
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		data := files[name]
		for bit := 0; bit < 8*len(data); bit += step {
			_, err := f.WriteAt([]byte{data[bit/8] ^ 1<<(bit%8)}, int64(bit/8))
			require.NoError(t, err)
			flips++
			if check(t, where).Count(inspect.Damage) == 0 {
				hidden[kind(name)]++
				require.False(t, mustShow(name), "%s: bit %d of byte %d is not found", name, bit%8, bit/8)
			}
			_, err = f.WriteAt(data[bit/8:bit/8+1], int64(bit/8))
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
	}
	var list []string
	for what, n := range hidden {
		list = append(list, fmt.Sprintf("%6d  %s", n, what))
	}
	sortStrings(list)
	t.Logf("%d flips; what the formats cannot show:\n%s", flips, strings.Join(list, "\n"))
}

// mustShow is where the format itself tells: everywhere in files of a partition that are not text, but for the base
// offsets of a compacted log.
func mustShow(name string) bool {
	if !slices.Contains(binary, filepath.Ext(name)) {
		return false
	}
	return !(strings.HasPrefix(name, keyed.Topic) && filepath.Ext(name) == layout.LogSuffix)
}

func kind(name string) string {
	if slices.Contains(binary, filepath.Ext(name)) {
		return "base offset of a batch in a compacted log"
	}
	return filepath.Base(name)
}

// In a directory that was not stopped cleanly, the recovery point says which of it is damage: what lies below. What lies
// beyond, the next start settles.
func TestTheRecoveryPointDecides(t *testing.T) {
	dir := makeDir(t, 24)
	files := readTree(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, layout.CleanMarker)))
	logs := files.names(layout.LogSuffix)
	logs = slices.DeleteFunc(logs, func(name string) bool { return filepath.Dir(name) != plain.String() })
	middle, _, _ := layout.ParseFileName(filepath.Base(logs[len(logs)/2]))
	require.NoError(t, os.WriteFile(filepath.Join(dir, layout.RecoveryPointFile),
		layout.AppendCheckpoints(nil, []layout.Checkpoint{{Partition: plain, Offset: middle}}), 0o644))
	where := filepath.Join(dir, plain.String())
	require.Empty(t, check(t, where).Findings)
	below, beyond := 0, 0
	for _, name := range files.names(binary...) {
		base, suffix, _ := layout.ParseFileName(filepath.Base(name))
		if filepath.Dir(name) != plain.String() || suffix == layout.SnapshotSuffix && base == middle {
			continue
		}
		data := slices.Clone(files[name])
		for bit := 0; bit < 8*len(data); bit += 131 {
			data[bit/8] ^= 1 << (bit % 8)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
			r := check(t, where)
			require.NotEmpty(t, r.Findings, "%s: bit %d of byte %d", name, bit%8, bit/8)
			if base < middle {
				below++
				require.NotZero(t, r.Count(inspect.Damage), "%s: %v", name, r.Findings)
			} else {
				beyond++
				require.Zero(t, r.Count(inspect.Damage), "%s: %v", name, r.Findings)
			}
			data[bit/8] ^= 1 << (bit % 8)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), files[name], 0o644))
	}
	t.Logf("%d flips below, %d beyond", below, beyond)
}

// A process may be killed when it has made the directory of a new partition and nothing in it: no damage, unless it stopped
// cleanly.
func TestAPartitionThatWasBeingMade(t *testing.T) {
	dir := makeDir(t, 24)
	made := filepath.Join(dir, "made-0")
	require.NoError(t, os.Mkdir(made, 0o755))
	require.NotZero(t, check(t, dir).Count(inspect.Damage))
	require.NoError(t, os.Remove(filepath.Join(dir, layout.CleanMarker)))
	r := check(t, dir)
	require.Zero(t, r.Count(inspect.Damage), "%v", r.Findings)
	require.NotZero(t, r.Count(inspect.Recoverable))
}

// A partition that is a link to a directory elsewhere is checked like any other.
func TestALinkedPartition(t *testing.T) {
	dir := makeDir(t, 24)
	want := check(t, dir)
	elsewhere := filepath.Join(filepath.Dir(dir), "elsewhere")
	require.NoError(t, os.Rename(filepath.Join(dir, plain.String()), elsewhere))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, plain.String())))
	require.Equal(t, want, check(t, dir))
}
