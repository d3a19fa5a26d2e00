package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

// syncDir makes the names in a directory durable; nothing under rule fsync-directory off.
func syncDir(dir string, rules Rules) error {
	if !rules.FsyncDirectory {
		return nil
	}
	return layout.SyncDir(dir)
}

// writeDurable replaces a file as far as the rules say.
func writeDurable(dir, name string, data []byte, rules Rules) error {
	return layout.WriteDurable(dir, name, data, rules.durability())
}

// listing is what a partition's directory holds, in order.
type listing struct {
	logs      []kafka.Offset
	snapshots []kafka.Offset
	// fsyncFailed: an fsync of the log failed since it was recovered.
	fsyncFailed bool
}

// listFiles lists a partition's directory and tidies it: leftovers of deletions and of unfinished writes go.
// Deletions may go on beside it.
func listFiles(dir string) (listing, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return listing{}, err
	}
	var l listing
	var indexes []string
	for _, e := range entries {
		base, suffix, ok := layout.ParseFileName(e.Name())
		switch {
		case strings.HasSuffix(e.Name(), layout.DeletedSuffix) || strings.HasSuffix(e.Name(), layout.TmpSuffix):
			if err := layout.RemoveIfThere(filepath.Join(dir, e.Name())); err != nil {
				return l, err
			}
		case e.Name() == layout.FsyncFailedFile:
			l.fsyncFailed = true
		case ok && suffix == layout.LogSuffix:
			l.logs = append(l.logs, base)
		case ok && suffix == layout.SnapshotSuffix:
			l.snapshots = append(l.snapshots, base)
		case ok && (suffix == layout.IndexSuffix || suffix == layout.TimeIndexSuffix || suffix == layout.TxnIndexSuffix):
			indexes = append(indexes, e.Name())
		}
	}
	slices.Sort(l.logs)
	slices.Sort(l.snapshots)
	return l, l.removeOrphans(dir, indexes)
}

// removeOrphans removes indexes without a log: nobody would ever, and a segment that is made there must not inherit them.
func (l *listing) removeOrphans(dir string, indexes []string) error {
	for _, name := range indexes {
		base, _, _ := layout.ParseFileName(name)
		if _, ok := slices.BinarySearch(l.logs, base); ok {
			continue
		}
		if err := layout.RemoveIfThere(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// removeSnapshots removes the snapshots that belong to no segment, except the newest at or below end, and all above end.
func (l *listing) removeSnapshots(dir string, segs []*segment, end kafka.Offset) error {
	newest := kafka.NoOffset
	for _, at := range l.snapshots {
		if at <= end {
			newest = at
		}
	}
	for _, at := range l.snapshots {
		if at <= end && (at == newest || segs[find(segs, at)].base == at) {
			continue
		}
		if err := layout.RemoveIfThere(filepath.Join(dir, layout.FileName(at, layout.SnapshotSuffix))); err != nil {
			return err
		}
	}
	return nil
}

// prepareDir makes the partition's directory, or checks that it belongs to the topic. fresh: it was not there. That a log
// exists is durable under all rules: rule fsync-directory concerns what comes into it later.
func (l *Log) prepareDir() (fresh bool, err error) {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		fresh = true
		if err := os.Mkdir(l.dir, 0o755); err != nil {
			return false, err
		}
		if err := syncDir(filepath.Dir(l.dir), AllRules()); err != nil {
			return false, err
		}
	} else if err != nil {
		return false, err
	}
	text, err := layout.ReadIfThere(filepath.Join(l.dir, layout.PartitionFile))
	if err != nil {
		return false, err
	}
	if text == nil {
		if l.cfg.TopicID.IsZero() {
			return fresh, nil
		}
		return fresh, writeDurable(l.dir, layout.PartitionFile, layout.AppendPartitionMetadata(nil, l.cfg.TopicID), AllRules())
	}
	id, err := layout.ParsePartitionMetadata(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", layout.PartitionFile, err)
	}
	if !l.cfg.TopicID.IsZero() && id != l.cfg.TopicID {
		return false, fmt.Errorf("%w: %s has %s, the topic %s", ErrTopicID, layout.PartitionFile, id, l.cfg.TopicID)
	}
	l.topicID = id
	return fresh, nil
}
