package seglog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/seglog/layout"
	"trialog/core/seglog/openfiles"
)

// DirConfig is what a log directory is told when it opens.
type DirConfig struct {
	Node          kafka.NodeID // for events only
	Rules         Rules
	ProducerRules producers.Rules
	Emit          func(event.Event)                           // see Config.Emit
	Recovering    func(tp kafka.TopicPartition, segments int) // see Config.Recovering; from the goroutine that opens the log
	// Files bounds the open files of all directories that share it. nil: this directory has a bound of its own.
	Files *openfiles.Cache
}

// Dir is one entry of log.dirs: the logs in it, the clean-shutdown marker, the checkpoints. All methods may be called
// from any goroutine.
type Dir struct {
	path        string
	cfg         DirConfig
	clean       bool
	brokerEpoch int64

	mu       sync.Mutex
	logs     []*Log // by partition
	known    []known
	warnings []string
	read     int64         // bytes that recoveries read since the last checkpoint
	stale    bool          // the checkpoint files may have rows of logs that are gone
	deleted  []deletedFile // directories that this process renamed

	saveMu  sync.Mutex // checkpoint files are written one at a time
	written [len(checkpointFiles)][]byte
}

// known is what the checkpoints say of a partition, -1 for what they do not say. A log that is open is asked instead.
type known struct {
	tp      kafka.TopicPartition
	offsets [len(checkpointFiles)]kafka.Offset
}

// checkpointFiles are Kafka's offset checkpoints; the order is that of known.offsets.
var checkpointFiles = [...]string{layout.HWFile, layout.RecoveryPointFile, layout.LogStartFile, layout.CleanerFile}

const (
	knownHW = iota
	knownRecoveryPoint
	knownLogStart
	knownCleanedTo
)

// OpenDir opens the log directory at path, making it (and what is above it) if it does not exist. The clean-shutdown
// marker is read and removed, durably, before anything else (KAFKA-10471, rule marker-removed-at-start). It opens no log.
func OpenDir(path string, cfg DirConfig) (*Dir, error) {
	if cfg.Files == nil {
		cfg.Files = openfiles.New(openfiles.DefaultMax)
	}
	d := &Dir{path: path, cfg: cfg, brokerEpoch: kafka.NoBrokerEpoch}
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("seglog: open log directory %s: %w", path, err)
	}
	return d, nil
}

func (d *Dir) open() error {
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return err
	}
	if err := d.takeMarker(); err != nil {
		return err
	}
	for i, name := range checkpointFiles {
		text, err := layout.ReadIfThere(filepath.Join(d.path, name))
		if err != nil {
			return err
		}
		if text == nil {
			continue
		}
		rows, err := layout.ParseCheckpoints(text)
		if err != nil {
			// Like Kafka: without a recovery point everything is read, an unknown HW or start is found in the log.
			d.warnings = append(d.warnings, fmt.Sprintf("%s: %v: taken as empty", filepath.Join(d.path, name), err))
			continue
		}
		for _, r := range rows {
			d.knownOf(r.Partition).offsets[i] = r.Offset
		}
	}
	return d.forgetMissing()
}

// forgetMissing drops what the checkpoints say of partitions that have no directory: those were deleted, and a later
// topic of the same name has nothing to do with them.
func (d *Dir) forgetMissing() error {
	if len(d.known) == 0 {
		return nil
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	before := len(d.known)
	d.known = slices.DeleteFunc(d.known, func(k known) bool {
		_, there := slices.BinarySearchFunc(entries, k.tp.String(), func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return !there
	})
	d.stale = len(d.known) < before
	return nil
}

// takeMarker reads the marker and removes it. What it says is kept in memory.
func (d *Dir) takeMarker() error {
	path := filepath.Join(d.path, layout.CleanMarker)
	text, err := layout.ReadIfThere(path)
	if err != nil || text == nil {
		return err
	}
	d.clean = true
	d.brokerEpoch = layout.ParseMarker(text).BrokerEpoch
	if !d.cfg.Rules.MarkerRemovedAtStart {
		return nil
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(d.path, d.cfg.Rules)
}

// Path is the directory's path.
func (d *Dir) Path() string { return d.path }

// Clean reports that the marker was there: the last process stopped cleanly.
func (d *Dir) Clean() bool { return d.clean }

// BrokerEpoch is the broker epoch that the marker carried, or -1.
func (d *Dir) BrokerEpoch() int64 { return d.brokerEpoch }

// Warnings are one line each: what was damaged and could be done without, and what the recoveries of logs cut off.
func (d *Dir) Warnings() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.warnings)
}

// Properties reads meta.properties; ok is false when there is no such file. Versions 0 and 1 are read.
func (d *Dir) Properties() (p layout.Properties, ok bool, err error) {
	path := filepath.Join(d.path, layout.PropertiesFile)
	text, err := layout.ReadIfThere(path)
	if err != nil || text == nil {
		return p, false, err
	}
	if p, err = layout.ParseProperties(string(text)); err != nil {
		return p, false, fmt.Errorf("seglog: %s: %w", path, err)
	}
	return p, true, nil
}

// WriteProperties writes meta.properties in version 1, durably.
func (d *Dir) WriteProperties(p layout.Properties) error {
	text := layout.AppendProperties(nil, p)
	if err := writeDurable(d.path, layout.PropertiesFile, text, AllRules()); err != nil {
		return fmt.Errorf("seglog: write %s: %w", filepath.Join(d.path, layout.PropertiesFile), err)
	}
	return nil
}

// FoundLog is a partition's directory as it lies on disk.
type FoundLog struct {
	Partition kafka.TopicPartition
	TopicID   kafka.TopicID // zero: no partition.metadata, or one that cannot be read
}

// List is the partitions on disk, sorted. Directories that are marked for deletion are not among them.
func (d *Dir) List() ([]FoundLog, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("seglog: list %s: %w", d.path, err)
	}
	var found []FoundLog
	for _, e := range entries {
		tp, err := kafka.ParseTopicPartition(e.Name())
		if err != nil || !layout.IsDir(d.path, e) {
			continue
		}
		f := FoundLog{Partition: tp}
		if text, err := layout.ReadIfThere(filepath.Join(d.path, e.Name(), layout.PartitionFile)); err == nil && text != nil {
			f.TopicID, _ = layout.ParsePartitionMetadata(text)
		}
		found = append(found, f)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Partition.Compare(found[j].Partition) < 0 })
	return found, nil
}

// OpenLog opens or makes the log of a partition with what the checkpoints say of it. To open one twice is a bug.
func (d *Dir) OpenLog(tp kafka.TopicPartition, id kafka.TopicID, settings config.Topic) (*Log, error) {
	if d.Log(tp) != nil {
		panic(fmt.Sprintf("seglog: open %s: it is open", tp))
	}
	path := filepath.Join(d.path, tp.String())
	if err := d.freshen(path); err != nil {
		return nil, err
	}
	var recovering func(int)
	if d.cfg.Recovering != nil {
		recovering = func(segments int) { d.cfg.Recovering(tp, segments) }
	}
	d.mu.Lock()
	k := *d.knownOf(tp)
	d.mu.Unlock()
	l, err := Open(path, Config{
		Node: d.cfg.Node, Partition: tp, TopicID: id, Settings: settings, Rules: d.cfg.Rules, ProducerRules: d.cfg.ProducerRules,
		Emit: d.cfg.Emit, SaveRecoveryPoint: func(kafka.Offset) error { return d.Checkpoint() }, Recovering: recovering, Files: d.cfg.Files,
	}, Start{
		Clean: d.clean, RecoveryPoint: max(k.offsets[knownRecoveryPoint], 0), LogStart: max(k.offsets[knownLogStart], 0),
		HighWatermark: max(k.offsets[knownHW], 0), CleanedTo: k.offsets[knownCleanedTo],
	})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	i, _ := d.search(tp)
	d.logs = slices.Insert(d.logs, i, l)
	d.read += l.read
	if l.cut != "" {
		d.warnings = append(d.warnings, fmt.Sprintf("recovery of %s: %s", path, l.cut))
	}
	// A recovery point above the end would have the next start trust what is appended there from now on (L16), and a first
	// dirty offset above it would have a tombstone there outlived by the value that it deletes.
	save := d.read >= saveAfterBytes || k.offsets[knownRecoveryPoint] > l.FlushedTo() || k.offsets[knownCleanedTo] > l.CleanedTo()
	if save {
		d.read = 0
	}
	d.mu.Unlock()
	if save {
		if err := d.Checkpoint(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// freshen sees to it that the checkpoint files say nothing of a log that is about to be made: rows of a deleted one of
// the same name would have the next start cut the new log off below the old start, or trust what was never fsynced.
func (d *Dir) freshen(path string) error {
	d.mu.Lock()
	stale := d.stale
	d.mu.Unlock()
	if !stale {
		return nil
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.Checkpoint()
}

// saveAfterBytes is after how many bytes of recovery the checkpoints are written, so that a process which is killed in the
// middle of a long recovery does not begin anew for ever.
const saveAfterBytes = 64 << 20

func (d *Dir) search(tp kafka.TopicPartition) (int, bool) {
	return slices.BinarySearchFunc(d.logs, tp, func(l *Log, tp kafka.TopicPartition) int { return l.cfg.Partition.Compare(tp) })
}

// knownOf is the entry of a partition, made if it is not there. d.mu is held, or nobody else knows d.
func (d *Dir) knownOf(tp kafka.TopicPartition) *known {
	i, ok := slices.BinarySearchFunc(d.known, tp, func(k known, tp kafka.TopicPartition) int { return k.tp.Compare(tp) })
	if !ok {
		d.known = slices.Insert(d.known, i, known{tp: tp, offsets: [len(checkpointFiles)]kafka.Offset{-1, -1, -1, -1}})
	}
	return &d.known[i]
}

// Log is the open log of a partition, or nil.
func (d *Dir) Log(tp kafka.TopicPartition) *Log {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := d.search(tp); ok {
		return d.logs[i]
	}
	return nil
}

// Logs is all open logs, sorted by partition.
func (d *Dir) Logs() []*Log {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.logs)
}

// DeleteLog closes the log if it is open and renames its directory to `<topic>-<partition>.<unique>-delete`, durably.
// unique is 32 hex digits in Kafka. RemoveDeleted removes what is so marked, once file.delete.delay.ms of the log have
// passed since nowMs (wall time). A partition that is not there is no error.
func (d *Dir) DeleteLog(tp kafka.TopicPartition, unique string, nowMs int64) error {
	return d.rename(tp, unique, layout.DeleteDirSuffix, nowMs)
}

// SetAside does the same with `<topic>-<partition>.<unique>-stray`, which nobody removes: Kafka's place for a partition of
// which the metadata does not know whether its topic was ever deleted.
func (d *Dir) SetAside(tp kafka.TopicPartition, unique string) error {
	return d.rename(tp, unique, layout.StrayDirSuffix, 0)
}

// rename takes a partition out of the directory's logs; kind is the suffix that says why.
func (d *Dir) rename(tp kafka.TopicPartition, unique, kind string, nowMs int64) error {
	var open *Log
	d.mu.Lock()
	if i, ok := d.search(tp); ok {
		open = d.logs[i]
		d.logs = slices.Delete(d.logs, i, i+1)
	}
	d.known = slices.DeleteFunc(d.known, func(k known) bool { return k.tp == tp })
	d.stale = true
	d.mu.Unlock()
	if open != nil {
		_ = open.Close() // what it could not write is not needed
	}
	// Kafka shortens the topic so that the name stays within 255 bytes.
	suffix := fmt.Sprintf("-%d.%s%s", tp.Partition, unique, kind)
	topic := tp.Topic[:min(len(tp.Topic), 255-len(suffix))]
	to := filepath.Join(d.path, topic+suffix)
	err := os.Rename(filepath.Join(d.path, tp.String()), to)
	if err == nil && open != nil && kind == layout.DeleteDirSuffix {
		d.mu.Lock()
		d.deleted = append(d.deleted, deletedFile{to, nowMs + open.settings.Load().FileDeleteDelayMs})
		d.mu.Unlock()
	}
	if err == nil {
		err = syncDir(d.path, d.cfg.Rules)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("seglog: rename %s to %s%s: %w", tp, topic, suffix, err)
	}
	return nil
}

// RemoveDeleted removes directories that are marked for deletion, and deleted segments of all logs, if their time has come;
// of what an earlier process has marked, it has. It says when the next one is due (ms, wall time), or 0.
func (d *Dir) RemoveDeleted(nowMs int64) (nextMs int64, err error) {
	for _, l := range d.Logs() {
		next, err := l.RemoveDeleted(nowMs)
		if err != nil {
			return 0, err
		}
		nextMs = sooner(nextMs, next)
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nextMs, fmt.Errorf("seglog: list %s: %w", d.path, err)
	}
	for _, e := range entries {
		if !e.IsDir() || !layout.IsDeletedDir(e.Name()) {
			continue
		}
		path := filepath.Join(d.path, e.Name())
		if due := d.dueAt(path); nowMs < due {
			nextMs = sooner(nextMs, due)
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return nextMs, fmt.Errorf("seglog: remove %s: %w", e.Name(), err)
		}
		d.mu.Lock()
		d.deleted = slices.DeleteFunc(d.deleted, func(f deletedFile) bool { return f.path == path })
		d.mu.Unlock()
	}
	return nextMs, nil
}

// dueAt is when a directory that is marked may be removed; 0 for one that this process did not mark.
func (d *Dir) dueAt(path string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.deleted {
		if f.path == path {
			return f.dueMs
		}
	}
	return 0
}

// Checkpoint writes the files replication-offset-checkpoint (HW), recovery-point-offset-checkpoint,
// log-start-offset-checkpoint and cleaner-offset-checkpoint, durably; a file whose content did not change is left alone.
func (d *Dir) Checkpoint() error {
	d.saveMu.Lock()
	defer d.saveMu.Unlock()
	d.mu.Lock()
	for _, l := range d.logs {
		d.knownOf(l.cfg.Partition).offsets = [...]kafka.Offset{l.HighWatermark(), l.FlushedTo(), l.StartOffset(), l.CleanedTo()}
	}
	known := slices.Clone(d.known)
	stale := d.stale
	d.stale = false
	d.mu.Unlock()
	err := d.writeCheckpoints(known)
	if err != nil && stale {
		d.mu.Lock()
		d.stale = true
		d.mu.Unlock()
	}
	return err
}

// writeCheckpoints writes the files that differ from what was written last. d.saveMu is held.
func (d *Dir) writeCheckpoints(known []known) error {
	for i, name := range checkpointFiles {
		var rows []layout.Checkpoint
		for _, k := range known {
			// Kafka leaves out a start that the file names tell, as most do.
			if k.offsets[i] >= 0 && (i != knownLogStart || k.offsets[i] > 0) {
				rows = append(rows, layout.Checkpoint{Partition: k.tp, Offset: k.offsets[i]})
			}
		}
		text := layout.AppendCheckpoints(nil, rows)
		if bytes.Equal(text, d.written[i]) {
			continue
		}
		if err := writeDurable(d.path, name, text, d.cfg.Rules); err != nil {
			return fmt.Errorf("seglog: checkpoint %s: %w", filepath.Join(d.path, name), err)
		}
		d.written[i] = text
	}
	return nil
}

// Close closes all logs, writes the checkpoints and, if every log closed without an error, the clean-shutdown marker
// with the broker epoch (-1: unknown). After an error the next start recovers.
func (d *Dir) Close(brokerEpoch int64) error {
	var errs []error
	for _, l := range d.Logs() {
		if err := l.Close(); err != nil && !errors.Is(err, ErrClosed) {
			errs = append(errs, err)
		}
	}
	if err := d.Checkpoint(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		text := layout.AppendMarker(nil, layout.Marker{BrokerEpoch: brokerEpoch})
		if err := writeDurable(d.path, layout.CleanMarker, text, d.cfg.Rules); err != nil {
			errs = append(errs, fmt.Errorf("seglog: mark %s clean: %w", d.path, err))
		}
	}
	return Several(errs)
}

// Several is one error of one line for many of a kind: the first, and how many more there are; nil ones do not count. A
// full disk or a lack of descriptors fails a thousand partitions in the same way.
func Several(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return fmt.Errorf("%w (and %d more such failures)", errs[0], len(errs)-1)
}
