package inspect_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/rehearse"
)

// What a rehearsal says is what a start then does, of whatever was done to the directory; and the rehearsal changes nothing.
func TestARehearsalIsWhatHappens(t *testing.T) {
	made := readTree(t, makeDir(t, 24))
	root := memoryDir(t)
	clean, refused, changed := 0, 0, 0
	n := int64(300)
	if raceDetector {
		n /= 20
	}
	for seed := range n {
		hurt := maps.Clone(made)
		h := hurt.hurt(draw(seed))
		if seed%3 > 0 {
			delete(hurt, layout.CleanMarker)
		}
		if seed%3 > 1 {
			delete(hurt, layout.RecoveryPointFile)
		}
		dir, scratch := filepath.Join(root, fmt.Sprint(seed)), filepath.Join(root, fmt.Sprint(seed, "-scratch"))
		hurt.write(t, dir)
		require.NoError(t, os.Mkdir(scratch, 0o755))
		r, err := rehearse.Run(dir, scratch, rehearse.Options{Settings: settings, TopicID: topicID})
		require.NoError(t, err, h.what)
		require.Equal(t, map[string][]byte(hurt), map[string][]byte(readTree(t, dir)), "%s: the rehearsal changed something", h.what)

		o := openAll(dir)
		after := readTree(t, dir)
		if o.dir == nil {
			require.NotEmpty(t, r.Refused, h.what)
			refused++
			continue
		}
		require.Equal(t, o.dir.Clean(), r.Clean)
		require.Len(t, r.Partitions, len(topics))
		for _, p := range r.Partitions {
			require.Equal(t, hurt.changed(after, p.Name), changedIn(p.Changes, p.Name), "%s: %s: %+v", h.what, p.Name, p)
			changed += len(p.Changes)
			l := o.logs[p.Partition]
			if l == nil {
				refused++
				require.NotEmpty(t, p.Refused, h.what)
				continue
			}
			require.Empty(t, p.Refused, h.what)
			require.Equal(t, [2]kafka.Offset{l.StartOffset(), l.EndOffset()}, [2]kafka.Offset{p.Start, p.End}, h.what)
			require.NoError(t, l.Close())
		}
		if r.Clean {
			clean++
		}
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.RemoveAll(scratch))
	}
	t.Logf("%d were clean, %d refusals, %d files changed", clean, refused, changed)
	require.NotZero(t, changed)
}

// changed is the files below dir that differ, with their sizes.
func (f tree) changed(after tree, dir string) (all []string) {
	for name := range f {
		if _, there := after[name]; !there && filepath.Dir(name) == dir {
			all = append(all, name+" removed")
		}
	}
	for name, data := range after {
		if was, there := f[name]; filepath.Dir(name) == dir && (!there || string(was) != string(data)) {
			all = append(all, fmt.Sprintf("%s now", name))
		}
	}
	sortStrings(all)
	return all
}

func changedIn(changes []rehearse.Change, dir string) (all []string) {
	for _, c := range changes {
		how := " now"
		if strings.HasPrefix(c.What, "removed") {
			how = " removed"
		}
		all = append(all, filepath.Join(dir, c.File)+how)
	}
	sortStrings(all)
	return all
}
