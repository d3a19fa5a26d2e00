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

// readIndexFiles reads both index files of a sealed segment; ok is false when they are missing or cannot be right. A
// segment that holds data has a time entry (written at roll and close) unless no batch has a timestamp: then it is
// rebuilt each time, which is rare and right.
func (s *segment) readIndexFiles() (offsets []layout.OffsetEntry, times []layout.TimeEntry, ok bool, err error) {
	next, size := s.bounds()
	rawOffsets, err := layout.ReadIfThere(s.path(layout.IndexSuffix))
	if err != nil {
		return nil, nil, false, err
	}
	rawTimes, err := layout.ReadIfThere(s.path(layout.TimeIndexSuffix))
	if err != nil {
		return nil, nil, false, err
	}
	offsets, okOffsets := layout.ParseOffsetIndex(rawOffsets, size)
	times, okTimes := layout.ParseTimeIndex(rawTimes, next-s.base)
	ok = rawOffsets != nil && rawTimes != nil && okOffsets && okTimes && (size == 0 || len(times) > 0)
	return offsets, times, ok, nil
}

// writeIndexFiles writes and fsyncs both index files.
func (s *segment) writeIndexFiles() error {
	if err := layout.WriteSynced(s.path(layout.IndexSuffix), layout.AppendOffsetEntries(nil, s.offsets.load())); err != nil {
		return err
	}
	return layout.WriteSynced(s.path(layout.TimeIndexSuffix), layout.AppendTimeEntries(nil, s.times.load()))
}

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
}

// listFiles lists a partition's directory and tidies it: leftovers of deletions and of unfinished writes go, and a
// replacement of segments that was cut off is finished or undone.
func listFiles(dir string) (listing, error) {
	if err := finishSwaps(dir); err != nil {
		return listing{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return listing{}, err
	}
	var l listing
	for _, e := range entries {
		base, suffix, ok := layout.ParseFileName(e.Name())
		switch {
		case strings.HasSuffix(e.Name(), layout.DeletedSuffix) || strings.HasSuffix(e.Name(), layout.TmpSuffix):
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return l, err
			}
		case ok && suffix == layout.LogSuffix:
			l.logs = append(l.logs, base)
		case ok && suffix == layout.SnapshotSuffix:
			l.snapshots = append(l.snapshots, base)
		}
	}
	slices.Sort(l.logs)
	slices.Sort(l.snapshots)
	return l, nil
}

// finishSwaps deals with a replacement of segments that a crash cut off (KAFKA-12520): new segments are written as
// .cleaned, all renamed to .swap, the old ones removed, .swap removed from the names. While a .cleaned is there the old
// set counts, afterwards the new one.
func finishSwaps(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var swaps []string
	minCleaned := kafka.Offset(1<<63 - 1)
	for _, e := range entries {
		base, _, ok := layout.ParseFileName(e.Name())
		if ok && strings.HasSuffix(e.Name(), layout.CleanedSuffix) {
			minCleaned = min(minCleaned, base)
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		} else if ok && strings.HasSuffix(e.Name(), layout.SwapSuffix) {
			swaps = append(swaps, e.Name())
		}
	}
	for _, name := range swaps {
		if base, suffix, _ := layout.ParseFileName(name); base < minCleaned && suffix == layout.LogSuffix+layout.SwapSuffix {
			if err := removeReplaced(dir, base, entries); err != nil {
				return err
			}
		}
	}
	for _, name := range swaps {
		path := filepath.Join(dir, name)
		if base, _, _ := layout.ParseFileName(name); base >= minCleaned {
			err = os.Remove(path)
		} else {
			err = os.Rename(path, strings.TrimSuffix(path, layout.SwapSuffix))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeReplaced removes the segments whose offsets a .log.swap covers.
func removeReplaced(dir string, base kafka.Offset, entries []fs.DirEntry) error {
	f, err := os.Open(filepath.Join(dir, layout.FileName(base, layout.LogSuffix+layout.SwapSuffix)))
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	s := newSegment(dir, base, base, info.Size(), f, nil)
	defer s.release()
	if err := s.findEnd(layout.DefaultIndexInterval); err != nil {
		return err
	}
	for _, e := range entries {
		at, suffix, ok := layout.ParseFileName(e.Name())
		if ok && (suffix == layout.LogSuffix || suffix == layout.IndexSuffix || suffix == layout.TimeIndexSuffix || suffix == layout.TxnIndexSuffix) &&
			at >= base && (at < s.next() || at == base) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
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
