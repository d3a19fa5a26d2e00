package logdirs

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"

	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/seglog"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/openfiles"
)

// ErrOffline: the partition lies in a directory that failed, or nobody knows that it does not.
var ErrOffline = errors.New("broker: its log directory is offline")

// errInUse is how another broker shows.
var errInUse = errors.New("is in use by another broker (.lock is held)")

// Config is what a set of directories is told when it opens.
type Config struct {
	Paths     []string // log.dirs, at least one; the first holds the metadata
	ClusterID string   // "" takes what is there, or a new one
	Dir       seglog.DirConfig
	NewUUID   func() kafka.TopicID
	Log       *slog.Logger
}

// Set is the log directories of one broker. All methods may be called from any goroutine once Open has returned.
type Set struct {
	cfg       Config
	dirs      []*entry // as in log.dirs
	clusterID string

	mu      sync.Mutex
	found   map[kafka.TopicPartition][]place // partitions on disk that are not open; several of different topics of one name
	missing []kafka.TopicPartition           // looked for in vain at the start
}

// entry is one directory.
type entry struct {
	path   string
	logs   *seglog.Dir // nil if it failed before it was open
	lock   io.Closer
	failed error // Set.mu; nil: online
	unsure bool  // it is empty, others are not: is its disk mounted?
}

type place struct {
	dir *entry
	id  kafka.TopicID
}

// Open locks and opens every directory. One that cannot be opened is offline (see Failures). Errors are of what an
// operator must settle: a directory that another broker uses, or of another cluster or node, one partition in two
// directories.
func Open(cfg Config) (*Set, error) {
	if cfg.Dir.Files == nil {
		cfg.Dir.Files = openfiles.New(openfiles.DefaultMax)
	}
	s := &Set{cfg: cfg, clusterID: cfg.ClusterID, found: map[kafka.TopicPartition][]place{}}
	if err := s.open(); err != nil {
		s.Abandon()
		return nil, err
	}
	return s, nil
}

func (s *Set) open() error {
	for _, path := range s.cfg.Paths {
		e := &entry{path: path}
		s.dirs = append(s.dirs, e)
		if e.failed = makeDir(path); e.failed != nil {
			continue
		}
		var err error
		if e.lock, err = lockDir(path); errors.Is(err, errInUse) {
			return err
		}
		e.failed = err
	}
	for _, e := range s.online() {
		e.logs, e.failed = seglog.OpenDir(e.path, s.cfg.Dir)
	}
	if err := s.checkProperties(); err != nil {
		return err
	}
	return s.list()
}

// online are the directories that did not fail.
func (s *Set) online() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.dirs), func(e *entry) bool { return e.failed != nil })
}

// checkProperties holds every directory to one cluster and this node. Where none has properties all are new, and signed;
// where some have, the others wait for Settle.
func (s *Set) checkProperties() error {
	var unsigned []*entry
	signed := false
	for _, e := range s.online() {
		p, ok, err := e.logs.Properties()
		switch {
		case isBadText(err):
			return fmt.Errorf("broker: log directory %s: %w", e.path, err)
		case err != nil:
			e.failed = err
			continue
		case !ok:
			unsigned = append(unsigned, e)
			continue
		case p.NodeID != s.cfg.Dir.Node:
			return fmt.Errorf("broker: log directory %s belongs to node.id=%d, the configuration says node.id=%d", e.path, p.NodeID, s.cfg.Dir.Node)
		case s.clusterID != "" && p.ClusterID != s.clusterID:
			return fmt.Errorf("broker: log directory %s belongs to cluster %s, expected %s", e.path, p.ClusterID, s.clusterID)
		}
		s.clusterID, signed = p.ClusterID, true
	}
	if s.clusterID == "" {
		s.clusterID = s.cfg.NewUUID().String()
	}
	for _, e := range unsigned {
		e.unsure = signed
		if !signed {
			e.failed = s.sign(e)
		}
	}
	return nil
}

// isBadText tells properties that can be read but not understood from a disk that cannot be read.
func isBadText(err error) bool {
	var onPath *os.PathError
	return err != nil && !errors.As(err, &onPath)
}

func (s *Set) sign(e *entry) error {
	return e.logs.WriteProperties(layout.Properties{ClusterID: s.clusterID, NodeID: s.cfg.Dir.Node, DirectoryID: s.cfg.NewUUID()})
}

func (s *Set) list() error {
	for _, e := range s.online() {
		found, err := e.logs.List()
		if err != nil {
			e.failed = err
			continue
		}
		for _, f := range found {
			for _, other := range s.found[f.Partition] {
				if other.id == f.TopicID {
					return fmt.Errorf("broker: partition %s is in two log directories, %s and %s", f.Partition, other.dir.path, e.path)
				}
			}
			s.found[f.Partition] = append(s.found[f.Partition], place{e, f.TopicID})
		}
	}
	return nil
}

// Settle takes directories into use that are new, once every partition of the metadata was looked for. If some were not
// found they may lie on a disk that is not mounted there: then the directory is offline, and they are, until it is back or
// their topics are deleted (KAFKA-16157).
func (s *Set) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.dirs {
		if !e.unsure || e.failed != nil {
			continue
		}
		e.unsure = false
		if n := len(s.missing); n > 0 {
			e.failed = fmt.Errorf("it has no %s, and %s (and %d more partitions) are in no directory: is its disk mounted? Without them it is used when their topics are deleted",
				layout.PropertiesFile, s.missing[0], n-1)
			continue
		}
		e.failed = s.sign(e)
	}
	s.missing = nil
}

// ClusterID is the cluster that the directories belong to.
func (s *Set) ClusterID() string { return s.clusterID }

// Warnings are one line each: what was damaged on disk and could be done without.
func (s *Set) Warnings() []string {
	var all []string
	for _, e := range s.online() {
		all = append(all, e.logs.Warnings()...)
	}
	return all
}

// Clean reports that the last process stopped cleanly, in every directory that is online.
func (s *Set) Clean() bool {
	return !slices.ContainsFunc(s.online(), func(e *entry) bool { return !e.logs.Clean() })
}

// OpenMetadata opens the metadata log, in the first directory.
func (s *Set) OpenMetadata(tp kafka.TopicPartition, settings config.Topic) (*seglog.Log, error) {
	s.mu.Lock()
	delete(s.found, tp)
	failed := s.dirs[0].failed
	s.mu.Unlock()
	if failed != nil {
		return nil, fmt.Errorf("broker: log directory %s, which holds the metadata, failed: %w", s.dirs[0].path, failed)
	}
	return s.dirs[0].logs.OpenLog(tp, kafka.MetadataTopicID, settings)
}

// Metadata is the open metadata log.
func (s *Set) Metadata() *seglog.Log {
	return s.dirs[0].logs.Log(kafka.TopicPartition{Topic: kafka.ClusterMetadataTopic})
}

// OpenLog opens a partition where it lies. A partition that is new is made in the directory with the fewest; any other
// that is nowhere is made only when all directories are online, or a failed disk would come back as an empty log: it is
// ErrOffline. A directory of that name that belongs to another topic is set aside: what is known to be deleted was
// removed before (Strays), so the metadata may have lost that topic, and its records are nobody's to remove.
func (s *Set) OpenLog(tp kafka.TopicPartition, id kafka.TopicID, settings config.Topic, isNew bool) (*seglog.Log, error) {
	e, others, err := s.choose(tp, id, isNew)
	if err != nil {
		return nil, err
	}
	for _, at := range others {
		s.cfg.Log.Warn("a partition of an unknown topic of the same name is set aside, its directory ends in -stray", "partition", tp.String(), "topic_id", at.id.String())
		if err := at.dir.logs.SetAside(tp, hexOf(s.cfg.NewUUID())); err != nil {
			return nil, err
		}
	}
	log, err := e.logs.OpenLog(tp, id, settings)
	if err != nil {
		s.mu.Lock()
		s.found[tp] = append(s.found[tp], place{e, id}) // something of it may be there
		s.mu.Unlock()
	}
	return log, err
}

// choose is the directory to open a partition in, and where others of its name have to be set aside first.
func (s *Set) choose(tp kafka.TopicPartition, id kafka.TopicID, isNew bool) (e *entry, others []place, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.found[tp] {
		switch mine := at.id == id || at.id.IsZero(); {
		case mine && at.dir.failed != nil:
			return nil, nil, fmt.Errorf("%w: %s", ErrOffline, at.dir.path)
		case mine:
			e = at.dir
		case at.dir.failed == nil:
			others = append(others, at)
		}
	}
	if e == nil {
		if e, err = s.emptiest(tp, isNew); err != nil {
			return nil, nil, err
		}
	}
	delete(s.found, tp)
	return e, others, nil
}

// emptiest is where a partition is made that is nowhere.
func (s *Set) emptiest(tp kafka.TopicPartition, isNew bool) (e *entry, err error) {
	for _, d := range s.dirs {
		if !isNew && (d.failed != nil || d.unsure) {
			s.missing = append(s.missing, tp)
			return nil, fmt.Errorf("%w: it is in no other", ErrOffline)
		}
		if d.failed == nil && !d.unsure && (e == nil || len(d.logs.Logs()) < len(e.logs.Logs())) {
			e = d
		}
	}
	if e == nil {
		return nil, fmt.Errorf("%w: all are", ErrOffline)
	}
	return e, nil
}

// Strays removes partitions on disk whose topic is known to be deleted (removed),
// and reports those that no topic claims, which are left where they lie. A directory in which that fails is offline.
func (s *Set) Strays(removed map[kafka.TopicID]bool) (left []kafka.TopicPartition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := slices.Collect(maps.Keys(s.found))
	sort.Slice(found, func(i, j int) bool { return found[i].Compare(found[j]) < 0 })
	for _, tp := range found {
		s.found[tp] = slices.DeleteFunc(s.found[tp], func(at place) bool {
			if removed[at.id] && at.dir.failed == nil {
				at.dir.failed = at.dir.logs.DeleteLog(tp, hexOf(s.cfg.NewUUID()), 0)
			}
			return removed[at.id]
		})
		if len(s.found[tp]) > 0 {
			left = append(left, tp)
			continue
		}
		delete(s.found, tp)
	}
	return left
}

// DeleteLog closes the log of a deleted topic's partition and marks its directory for
// removal; so it does with what is left of one that could not be opened. In a directory that failed nothing is done: the
// next start that can read it does. nowMs is the wall time.
func (s *Set) DeleteLog(tp kafka.TopicPartition, id kafka.TopicID, nowMs int64) error {
	s.mu.Lock()
	for i, at := range s.found[tp] {
		if at.id == id {
			s.found[tp] = slices.Delete(s.found[tp], i, i+1)
			offline := at.dir.failed != nil
			s.mu.Unlock()
			if offline {
				return nil
			}
			return at.dir.logs.DeleteLog(tp, hexOf(s.cfg.NewUUID()), nowMs)
		}
	}
	s.mu.Unlock()
	for _, e := range s.online() {
		if e.logs.Log(tp) != nil {
			return e.logs.DeleteLog(tp, hexOf(s.cfg.NewUUID()), nowMs)
		}
	}
	return nil
}

func hexOf(id kafka.TopicID) string { return fmt.Sprintf("%x", id[:]) }

// Close closes all logs, writes checkpoints and clean-shutdown markers, and
// unlocks. After an error the next start recovers. Directories that failed are left as they are.
func (s *Set) Close(brokerEpoch int64) error {
	var all []error
	for _, e := range s.online() {
		if err := e.logs.Close(brokerEpoch); err != nil {
			all = append(all, fmt.Errorf("broker: log directory %s: %w", e.path, err))
		}
	}
	s.Abandon()
	return seglog.Several(all)
}

// Abandon unlocks and leaves everything as it is, as a crash would.
func (s *Set) Abandon() {
	for _, e := range s.dirs {
		if e.lock != nil {
			_ = e.lock.Close()
			e.lock = nil
		}
	}
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
