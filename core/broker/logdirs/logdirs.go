package logdirs

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/seglog"
	"trialog/core/seglog/layout"
)

// Config is what a set of directories is told when it opens.
type Config struct {
	Paths     []string // log.dirs, at least one; the first holds the metadata
	ClusterID string   // "" takes what is there, or a new one
	Dir       seglog.DirConfig
	NewUUID   func() kafka.TopicID
	Log       *slog.Logger
}

// Set is the open log directories of one broker.
type Set struct {
	cfg       Config
	dirs      []*seglog.Dir
	locks     []io.Closer
	clusterID string
	found     map[kafka.TopicPartition]place // partitions on disk that are not open
}

type place struct {
	dir *seglog.Dir
	id  kafka.TopicID
}

// Open locks and opens every directory. The error of a directory that another
// broker uses is one line that says so.
func Open(cfg Config) (*Set, error) {
	s := &Set{cfg: cfg, clusterID: cfg.ClusterID, found: map[kafka.TopicPartition]place{}}
	if err := s.open(); err != nil {
		s.Abandon()
		return nil, err
	}
	return s, nil
}

func (s *Set) open() error {
	for _, path := range s.cfg.Paths {
		if err := makeDir(path); err != nil {
			return fmt.Errorf("broker: log directory: %w", err)
		}
		lock, err := lockDir(path)
		if err != nil {
			return err
		}
		s.locks = append(s.locks, lock)
	}
	for _, path := range s.cfg.Paths {
		dir, err := seglog.OpenDir(path, s.cfg.Dir)
		if err != nil {
			return fmt.Errorf("broker: log directory %s: %w", path, err)
		}
		s.dirs = append(s.dirs, dir)
	}
	if err := s.checkProperties(); err != nil {
		return err
	}
	return s.list()
}

// checkProperties holds every directory to one cluster and this node, and signs
// directories that are new.
func (s *Set) checkProperties() error {
	var unsigned []*seglog.Dir
	for _, dir := range s.dirs {
		p, ok, err := dir.Properties()
		switch {
		case err != nil:
			return fmt.Errorf("broker: log directory %s: %w", dir.Path(), err)
		case !ok:
			unsigned = append(unsigned, dir)
			continue
		case p.NodeID != s.cfg.Dir.Node:
			return fmt.Errorf("broker: log directory %s belongs to node.id=%d, the configuration says node.id=%d", dir.Path(), p.NodeID, s.cfg.Dir.Node)
		case s.clusterID != "" && p.ClusterID != s.clusterID:
			return fmt.Errorf("broker: log directory %s belongs to cluster %s, expected %s", dir.Path(), p.ClusterID, s.clusterID)
		}
		s.clusterID = p.ClusterID
	}
	if s.clusterID == "" {
		s.clusterID = s.cfg.NewUUID().String()
	}
	for _, dir := range unsigned {
		p := layout.Properties{ClusterID: s.clusterID, NodeID: s.cfg.Dir.Node, DirectoryID: s.cfg.NewUUID()}
		if err := dir.WriteProperties(p); err != nil {
			return fmt.Errorf("broker: log directory %s: %w", dir.Path(), err)
		}
	}
	return nil
}

func (s *Set) list() error {
	for _, dir := range s.dirs {
		found, err := dir.List()
		if err != nil {
			return fmt.Errorf("broker: log directory %s: %w", dir.Path(), err)
		}
		for _, f := range found {
			if other, twice := s.found[f.Partition]; twice {
				return fmt.Errorf("broker: partition %s is in two log directories, %s and %s", f.Partition, other.dir.Path(), dir.Path())
			}
			s.found[f.Partition] = place{dir, f.TopicID}
		}
	}
	return nil
}

// ClusterID is the cluster that the directories belong to.
func (s *Set) ClusterID() string { return s.clusterID }

// Warnings are one line each: what was damaged on disk and could be done without.
func (s *Set) Warnings() []string {
	var all []string
	for _, dir := range s.dirs {
		all = append(all, dir.Warnings()...)
	}
	return all
}

// Clean reports that the last process stopped cleanly, in every directory.
func (s *Set) Clean() bool {
	for _, dir := range s.dirs {
		if !dir.Clean() {
			return false
		}
	}
	return true
}

// OpenMetadata opens the metadata log, in the first directory.
func (s *Set) OpenMetadata(tp kafka.TopicPartition, settings config.Topic) (*seglog.Log, error) {
	delete(s.found, tp)
	return s.dirs[0].OpenLog(tp, kafka.MetadataTopicID, settings)
}

// Metadata is the open metadata log.
func (s *Set) Metadata() *seglog.Log {
	return s.dirs[0].Log(kafka.TopicPartition{Topic: kafka.ClusterMetadataTopic})
}

// OpenLog opens a partition where it lies, or makes it in the directory with the
// fewest partitions. A directory of that name that belongs to another topic is
// set aside: what is known to be deleted was removed before (Strays), so the
// metadata may have lost that topic, and its records are nobody's to remove.
func (s *Set) OpenLog(tp kafka.TopicPartition, id kafka.TopicID, settings config.Topic) (*seglog.Log, error) {
	dir := s.emptiest()
	if at, ok := s.found[tp]; ok {
		delete(s.found, tp)
		if at.id != id && !at.id.IsZero() {
			s.cfg.Log.Warn("a partition of an unknown topic of the same name is set aside, its directory ends in -stray", "partition", tp.String(), "topic_id", at.id.String())
			if err := at.dir.SetAside(tp, hexOf(s.cfg.NewUUID())); err != nil {
				return nil, err
			}
		} else {
			dir = at.dir
		}
	}
	log, err := dir.OpenLog(tp, id, settings)
	if err != nil {
		s.found[tp] = place{dir, id} // something of it may be there
	}
	return log, err
}

func (s *Set) emptiest() *seglog.Dir {
	best := s.dirs[0]
	for _, dir := range s.dirs[1:] {
		if len(dir.Logs()) < len(best.Logs()) {
			best = dir
		}
	}
	return best
}

// Strays removes partitions on disk whose topic is known to be deleted (removed),
// and reports those that no topic claims, which are left where they lie.
func (s *Set) Strays(removed map[kafka.TopicID]bool) ([]kafka.TopicPartition, error) {
	var left []kafka.TopicPartition
	var failed []error
	found := slices.Collect(maps.Keys(s.found))
	sort.Slice(found, func(i, j int) bool { return found[i].Compare(found[j]) < 0 })
	for _, tp := range found {
		at := s.found[tp]
		if !removed[at.id] {
			left = append(left, tp)
			continue
		}
		if e := at.dir.DeleteLog(tp, hexOf(s.cfg.NewUUID())); e != nil {
			failed = append(failed, e)
			continue
		}
		delete(s.found, tp)
	}
	return left, seglog.Several(failed)
}

// DeleteLog closes the log of a deleted topic's partition and marks its directory for
// removal; so it does with what is left of one that could not be opened.
func (s *Set) DeleteLog(tp kafka.TopicPartition, id kafka.TopicID) error {
	if at, ok := s.found[tp]; ok && at.id == id {
		delete(s.found, tp)
		return at.dir.DeleteLog(tp, hexOf(s.cfg.NewUUID()))
	}
	for _, dir := range s.dirs {
		if dir.Log(tp) != nil {
			return dir.DeleteLog(tp, hexOf(s.cfg.NewUUID()))
		}
	}
	return nil
}

func hexOf(id kafka.TopicID) string { return fmt.Sprintf("%x", id[:]) }

// Checkpoint writes the checkpoints of all directories.
func (s *Set) Checkpoint() error { return s.each((*seglog.Dir).Checkpoint) }

// RemoveDeleted removes files and directories that are marked for removal.
func (s *Set) RemoveDeleted() error { return s.each((*seglog.Dir).RemoveDeleted) }

func (s *Set) each(do func(*seglog.Dir) error) error {
	var all []error
	for _, dir := range s.dirs {
		if err := do(dir); err != nil {
			all = append(all, fmt.Errorf("broker: log directory %s: %w", dir.Path(), err))
		}
	}
	return seglog.Several(all)
}

// Close closes all logs, writes checkpoints and clean-shutdown markers, and
// unlocks. After an error the next start recovers.
func (s *Set) Close(brokerEpoch int64) error {
	err := s.each(func(dir *seglog.Dir) error { return dir.Close(brokerEpoch) })
	s.Abandon()
	return err
}

// Abandon unlocks and leaves everything as it is, as a crash would.
func (s *Set) Abandon() {
	for _, lock := range s.locks {
		_ = lock.Close()
	}
	s.locks = nil
}

// makeDir makes the directory durably: its entry in the parent is fsynced. So is that of a directory that is there
// already, where the system lets us: whoever made it may have died before.
func makeDir(path string) error {
	_, err := os.Stat(path)
	exists := err == nil
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(filepath.Clean(path)))
	if err == nil {
		defer parent.Close()
		err = parent.Sync()
	}
	if exists {
		return nil
	}
	return err
}
