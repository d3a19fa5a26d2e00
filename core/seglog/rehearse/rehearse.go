package rehearse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/seglog"
	"trialog/core/seglog/layout"
)

// Options say what the start would know.
type Options struct {
	// Settings are those of a topic; recovery asks whether it is compacted, and how far apart index entries are.
	Settings func(kafka.TopicPartition) config.Topic
	// TopicID is the topic's id, as the metadata has it; zero, or nil: whatever the directory says is taken.
	TopicID func(kafka.TopicPartition) kafka.TopicID
	// Only, when it is not nil, chooses partitions.
	Only func(kafka.TopicPartition) bool
}

// Partition is what a start would make of one log.
type Partition struct {
	Partition kafka.TopicPartition `json:"-"`
	Name      string               `json:"partition"`
	// Refused is why the start would not take it; then the rest says how far it came.
	Refused string `json:"refused,omitempty"`
	// Recovery is what the recovery says of itself: whether the log was clean, what was read, what is cut and why.
	Recovery string       `json:"recovery,omitempty"`
	Start    kafka.Offset `json:"start"`
	End      kafka.Offset `json:"end"`
	Changes  []Change     `json:"changes"`
}

// Report is what a start would make of a directory.
type Report struct {
	Dir string `json:"dir"`
	// Clean: it was stopped cleanly, and its files are trusted.
	Clean bool `json:"clean"`
	// Refused is why the directory as a whole would not be taken.
	Refused    string      `json:"refused,omitempty"`
	Changes    []Change    `json:"changes"` // of the files beside the partitions
	Partitions []Partition `json:"partitions"`
}

// Run rehearses a start on an entry of log.dirs. scratch is an empty directory; what lies in it afterwards is the caller's to
// remove. The error is one of the file system, or of the copying: never one of the logs.
func Run(dir, scratch string, o Options) (*Report, error) {
	r := &rehearsal{Report: Report{Dir: dir}, Options: o, copy: filepath.Join(scratch, "data")}
	if err := r.run(); err != nil {
		return &r.Report, fmt.Errorf("rehearse: %w", err)
	}
	return &r.Report, nil
}

type rehearsal struct {
	Report
	Options
	copy   string
	d      *seglog.Dir
	events []event.Event
}

func (r *rehearsal) run() error {
	partitions, err := r.begin()
	if err != nil {
		return err
	}
	before, err := snapshotOf(r.copy)
	if err != nil {
		return err
	}
	r.d, err = seglog.OpenDir(r.copy, seglog.DirConfig{Rules: seglog.AllRules(), ProducerRules: producers.AllRules(), Emit: r.emit})
	if err != nil {
		r.Refused = r.said(err)
		return nil
	}
	r.Clean = r.d.Clean()
	for _, w := range r.d.Warnings() {
		r.Changes = append(r.Changes, Change{What: r.here(w)})
	}
	if _, _, err := r.d.Properties(); err != nil {
		r.Refused = r.said(err)
	}
	after, err := snapshotOf(r.copy)
	if err != nil {
		return err
	}
	r.Changes = append(r.Changes, before.changes(after)...)
	for _, tp := range partitions {
		if err := r.partition(tp); err != nil {
			return err
		}
	}
	return nil
}

// begin copies the files beside the partitions, and makes the directories of these: checkpoints of partitions that are not
// there are forgotten at once.
func (r *rehearsal) begin() (partitions []kafka.TopicPartition, err error) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.copy, 0o755); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !layout.IsDir(r.Dir, e) {
			if e.Type().IsRegular() {
				err = copyFile(filepath.Join(r.Dir, e.Name()), filepath.Join(r.copy, e.Name()))
			}
		} else if tp, bad := kafka.ParseTopicPartition(e.Name()); bad == nil && !strings.HasSuffix(e.Name(), layout.DeleteDirSuffix) {
			err = os.Mkdir(filepath.Join(r.copy, e.Name()), 0o755)
			if r.Only == nil || r.Only(tp) {
				partitions = append(partitions, tp)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(partitions, kafka.TopicPartition.Compare)
	return partitions, nil
}

// partition copies one partition, opens it, and removes the copy.
func (r *rehearsal) partition(tp kafka.TopicPartition) error {
	from, to := filepath.Join(r.Dir, tp.String()), filepath.Join(r.copy, tp.String())
	if err := copyFiles(from, to); err != nil {
		return err
	}
	before, err := snapshotOf(to)
	if err != nil {
		return err
	}
	r.events = nil
	p := Partition{Partition: tp, Name: tp.String()}
	var id kafka.TopicID
	if r.TopicID != nil {
		id = r.TopicID(tp)
	}
	l, refused := r.d.OpenLog(tp, id, r.Settings(tp))
	after, err := snapshotOf(to) // before it is closed: that would write what a clean stop writes
	if err != nil {
		return err
	}
	p.Changes = before.changes(after)
	if refused != nil {
		p.Refused = r.said(refused)
	} else {
		p.Start, p.End = l.StartOffset(), l.EndOffset()
		_ = l.Close() // of a copy that is going to be removed
	}
	for _, e := range r.events {
		if e.Kind == event.Recover {
			p.Recovery = r.here(e.Text)
		}
	}
	r.Partitions = append(r.Partitions, p)
	return emptyDir(to)
}

func (r *rehearsal) emit(e event.Event) { r.events = append(r.events, e) }

// here is a text with the names of the directory instead of those of the copy.
func (r *rehearsal) here(text string) string { return strings.ReplaceAll(text, r.copy, r.Dir) }

func (r *rehearsal) said(err error) string { return r.here(err.Error()) }

func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyFile copies the content; where the file system can share it, os.File does so.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	return errors.Join(err, out.Close())
}

func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
