package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trialog/core/epochs"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/seglog/layout"
)

// partition is one that is being checked.
type partition struct {
	facts
	r    *Report
	dir  string
	opts Options

	bases     []kafka.Offset // of the segments, in order
	snapshots []kafka.Offset
	files     map[string]bool // names of segment files that are there
	epochs    *epochs.Cache   // nil: cannot be had
	replay    replay

	next  kafka.Offset // expected of the next batch
	epoch kafka.LeaderEpoch
}

// checkPartition checks the directory of one partition and returns its topic id, zero if it has none.
func checkPartition(r *Report, dir string, d *dirFacts, o Options) (kafka.TopicID, error) {
	p := &partition{r: r, dir: dir, opts: o, files: map[string]bool{}, epoch: -1}
	// A copy of a partition may have any name; then nothing else is known of it.
	tp, err := kafka.ParseTopicPartition(filepath.Base(filepath.Clean(dir)))
	if err != nil {
		d = &dirFacts{}
	}
	p.facts = d.of(tp)
	r.Partitions++
	id, err := p.check()
	if err != nil {
		return id, fmt.Errorf("inspect: %w", err)
	}
	return id, nil
}

func (p *partition) check() (id kafka.TopicID, err error) {
	if err := p.list(); err != nil {
		return id, err
	}
	if id, err = p.topicID(); err != nil {
		return id, err
	}
	if err := p.loadEpochs(); err != nil {
		return id, err
	}
	if len(p.bases) == 0 {
		p.r.add(p.level(0), p.dir, NoPos, "there is no segment")
		return id, nil
	}
	p.next = p.bases[0]
	if err := p.begin(); err != nil {
		return id, err
	}
	for i := range p.bases {
		if err := p.segment(i); err != nil {
			return id, err
		}
	}
	if err := p.compareSnapshots(p.next); err != nil {
		return id, err
	}
	for _, at := range p.snapshots {
		p.r.add(p.level(p.next), p.file(at, layout.SnapshotSuffix), NoPos, "the log ends at %d, before it", p.next)
	}
	p.checkEnds()
	return id, nil
}

func (p *partition) path(name string) string { return filepath.Join(p.dir, name) }

func (p *partition) file(base kafka.Offset, suffix string) string {
	return p.path(layout.FileName(base, suffix))
}

// list sorts the names.
func (p *partition) list() error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		base, suffix, ok := layout.ParseFileName(name)
		switch {
		case name == layout.FsyncFailedFile:
			p.r.add(Recoverable, p.path(name), NoPos, "an fsync failed here; the next start reads everything")
		case leftover(name) != "":
			level := Recoverable
			if strings.HasSuffix(name, layout.DeletedSuffix) {
				level = Note
			}
			p.r.add(level, p.path(name), NoPos, "%s", leftover(name))
		case e.IsDir() || !ok && !knownPartitionFile(name):
			p.r.add(Damage, p.path(name), NoPos, "no name of a file that belongs here")
		case suffix == layout.LogSuffix:
			p.bases = append(p.bases, base)
		case suffix == layout.SnapshotSuffix:
			p.snapshots = append(p.snapshots, base)
		case ok && suffix != layout.IndexSuffix && suffix != layout.TimeIndexSuffix && suffix != layout.TxnIndexSuffix:
			p.r.add(Damage, p.path(name), NoPos, "no name of a file that belongs here")
		case ok:
			p.files[name] = true
		}
	}
	slices.Sort(p.bases)
	slices.Sort(p.snapshots)
	p.r.Files += len(p.bases) + len(p.snapshots) + len(p.files)
	p.orphans()
	return nil
}

// orphans are index files without the log that they index.
func (p *partition) orphans() {
	for _, name := range sorted(p.files) {
		if base, _, _ := layout.ParseFileName(name); !slices.Contains(p.bases, base) {
			p.r.add(p.level(base), p.path(name), NoPos, "there is no %s", layout.FileName(base, layout.LogSuffix))
		}
	}
}

func sorted(names map[string]bool) []string {
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// leftover says what a file is that something unfinished has left; "" for others.
func leftover(name string) string {
	switch {
	case strings.HasSuffix(name, layout.DeletedSuffix):
		return "deleted, to be removed"
	case strings.HasSuffix(name, layout.CleanedSuffix):
		return "left by a compaction that did not end; it will be removed"
	case strings.HasSuffix(name, layout.SwapSuffix):
		return "left by a compaction whose files are complete; it will take the place of what it replaces"
	case strings.HasSuffix(name, layout.TmpSuffix):
		return "left by a write that did not end; it will be removed"
	}
	return ""
}

// knownPartitionFile accepts what is not named after an offset alone: KRaft keeps its vote and its snapshots beside the log.
func knownPartitionFile(name string) bool {
	return name == layout.EpochFile || name == layout.PartitionFile || name == "quorum-state" ||
		strings.HasSuffix(name, ".checkpoint") || strings.HasSuffix(name, ".checkpoint.part")
}

func (p *partition) topicID() (kafka.TopicID, error) {
	path := p.path(layout.PartitionFile)
	text, err := layout.ReadIfThere(path)
	if err != nil {
		return kafka.TopicID{}, err
	}
	if text == nil {
		level := Damage
		if len(p.bases) == 0 {
			level = p.level(0) // the partition was being made
		}
		p.r.add(level, path, NoPos, "it is missing: the topic has no id")
		return kafka.TopicID{}, nil
	}
	p.r.Files++
	id, err := layout.ParsePartitionMetadata(text)
	switch {
	case err != nil:
		p.r.add(Damage, path, NoPos, "%v", err)
	case id.IsZero():
		p.r.add(Damage, path, NoPos, "the topic id is zero")
	}
	return id, nil
}

func (p *partition) loadEpochs() error {
	path := p.path(layout.EpochFile)
	text, err := layout.ReadIfThere(path)
	if err != nil {
		return err
	}
	if text == nil {
		p.r.add(p.level(0), path, NoPos, "it is missing; it can be made from the batches")
		return nil
	}
	p.r.Files++
	if p.epochs, err = epochs.ParseCheckpoint(text); err != nil {
		p.r.add(p.level(0), path, NoPos, "%v; it can be made from the batches", err)
	}
	return nil
}

// begin is the producer state at the first segment: of the snapshot there, if the log does not begin at 0.
func (p *partition) begin() error {
	first := p.bases[0]
	p.replay = replay{state: producers.New(producers.AllRules()), coordinators: map[kafka.ProducerID]int32{}, floor: max(p.cleaned, 0)}
	if first == 0 {
		return nil
	}
	b, err := os.ReadFile(p.file(first, layout.SnapshotSuffix))
	if err == nil {
		if state, bad := producers.ParseSnapshot(producers.AllRules(), first, b); bad == nil {
			p.replay.state = state
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.replay.floor = max(p.replay.floor, first)
	return nil
}

// checkEnds compares the checkpoints with where the log begins and ends.
func (p *partition) checkEnds() {
	dir := filepath.Dir(p.dir)
	above := func(file int, what string, have kafka.Offset, l Level) {
		if have > p.next {
			p.r.add(l, filepath.Join(dir, offsetFiles[file]), NoPos, "%s: %s %d, but the log ends at %d", filepath.Base(p.dir), what, have, p.next)
		}
	}
	above(recoveryPoint, "recovery point", p.recoveryPoint, Damage)
	above(highWatermark, "high watermark", p.highWatermark, p.level(p.next))
	above(logStart, "log start", p.logStart, p.level(p.next))
	if p.epochs == nil {
		return
	}
	if last, ok := p.epochs.Latest(); ok && last.Start > p.next {
		p.r.add(p.level(p.next), p.path(layout.EpochFile), NoPos, "epoch %d starts at %d, but the log ends at %d", last.Epoch, last.Start, p.next)
	}
}
