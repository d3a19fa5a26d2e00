package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

// Options say how closely to look.
type Options struct {
	// Deep decompresses every batch and parses its records too.
	Deep bool
	// Only, when it is not nil, chooses the partitions of a log directory.
	Only func(kafka.TopicPartition) bool
}

// Check checks path: one entry of log.dirs with all its partitions, or the directory of one partition, which is judged by
// the checkpoints in the directory above it if there are any. The error is of the file system, and then the report is not
// complete.
func Check(path string, o Options) (*Report, error) {
	r := &Report{}
	if IsPartition(path) {
		d, err := readFacts(&Report{}, filepath.Dir(filepath.Clean(path)))
		if err != nil {
			return r, fmt.Errorf("inspect: %w", err)
		}
		_, err = checkPartition(r, path, &d, o)
		return r, err
	}
	return r, checkDir(r, path, o)
}

// IsPartition tells the directory of a partition from one that holds many: it has its files.
func IsPartition(path string) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	for _, e := range entries {
		_, suffix, ok := layout.ParseFileName(e.Name())
		if e.Name() == layout.PartitionFile || e.Name() == layout.EpochFile || ok && suffix == layout.LogSuffix {
			return true
		}
	}
	return false
}

// checkDir checks one entry of log.dirs.
func checkDir(r *Report, dir string, o Options) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	d, err := readFacts(r, dir)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	if err := checkProperties(r, dir); err != nil {
		return err
	}
	ids := topicIDs{r: r, of: map[string]kafka.TopicID{}}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		tp, err := kafka.ParseTopicPartition(e.Name())
		switch {
		case err == nil && layout.IsDir(dir, e):
			if o.Only != nil && !o.Only(tp) {
				continue
			}
			id, err := checkPartition(r, path, &d, o)
			if err != nil {
				return err
			}
			ids.see(path, tp.Topic, id)
		case e.IsDir():
			r.add(Note, path, NoPos, "%s", dirNote(e.Name()))
		case !knownDirFile(e.Name()):
			r.add(Note, path, NoPos, "no name of a file that belongs here")
		}
	}
	return nil
}

func dirNote(name string) string {
	switch {
	case strings.HasSuffix(name, layout.DeleteDirSuffix):
		return "a deleted partition, to be removed"
	case strings.HasSuffix(name, layout.StrayDirSuffix):
		return "a partition that no topic claimed"
	case strings.HasSuffix(name, "-future"):
		return "a replica that was being moved here"
	}
	return "no name of a partition's directory"
}

func knownDirFile(name string) bool {
	for _, known := range append([]string{layout.CleanMarker, layout.PropertiesFile, ".lock", "bootstrap.checkpoint"}, offsetFiles[:]...) {
		if name == known || name == known+layout.TmpSuffix {
			return true
		}
	}
	return false
}

func checkProperties(r *Report, dir string) error {
	path := filepath.Join(dir, layout.PropertiesFile)
	text, err := layout.ReadIfThere(path)
	switch {
	case err != nil:
		return fmt.Errorf("inspect: %w", err)
	case text == nil:
		r.add(Note, path, NoPos, "it is missing: no broker has formatted this directory")
		return nil
	}
	r.Files++
	if _, err := layout.ParseProperties(string(text)); err != nil {
		r.add(Damage, path, NoPos, "%v", err)
	}
	return nil
}

// topicIDs sees that the partitions of a topic agree.
type topicIDs struct {
	r  *Report
	of map[string]kafka.TopicID
}

func (t *topicIDs) see(path, topic string, id kafka.TopicID) {
	if id.IsZero() {
		return
	}
	if other, ok := t.of[topic]; ok && other != id {
		t.r.add(Damage, filepath.Join(path, layout.PartitionFile), NoPos, "topic id %s, but another partition of %s has %s", id, topic, other)
	}
	t.of[topic] = id
}
