package seglog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/cleaning"
	"trialog/core/seglog/layout"
)

// How segments are replaced (KAFKA-12520). Each step is durable before the next, so that a power cut between any two
// system calls leaves the old segments or the new one, and finishSwaps can tell which:
//
//	1  <base>.*.cleaned are written; fsync            a .cleaned is there: the old ones count
//	2  they become .swap, the log last; fsync         a .log.swap is there and no .cleaned: the new one counts
//	3  the old files become .deleted; fsync           nothing of the range is left under its own name
//	4  .swap becomes <base>.*, the log first; fsync   done
//
// Old and new segment have the same name, so 4 may not be durable while 3 is not: the log would have both. The log is named
// first in 4, since its .swap is what says that the other files of the base are the old ones.

// stepped is called after each name that changes in a replacement, for tests.
var stepped = func() {}

// errMoved: segments are not those that were cleaned any more. The next round sees what there is now.
var errMoved = errors.New("seglog: segments have changed while they were cleaned")

// cleanedFrom is a segment as it was when its cleaning began.
type cleanedFrom struct {
	*segment
	next kafka.Offset
	size int64
	cuts uint32
}

// replace puts what was cleaned in the place of old. Appends and flushes wait; readers that are at work finish with the old
// files, new ones wait for the new list.
func (l *Log) replace(old []cleanedFrom, r cleaning.Replacement, nowMs int64) error {
	// The names of step 1, too: a lost .log.cleaned beside an .index.swap would have that taken for the old segment's.
	if err := syncDir(l.dir, l.cfg.Rules); err != nil {
		return l.fail(fmt.Errorf("seglog: replace segments of %s at %d: %w", l.cfg.Partition, r.Base, err))
	}
	l.appendMu.Lock()
	defer l.appendMu.Unlock()
	return l.exclusive(func() error {
		if err := l.usable(); err != nil {
			return err
		}
		segs := *l.segments.Load()
		i := find(segs, old[0].base)
		if !unchanged(segs[i:], old) {
			return errMoved
		}
		fresh, err := l.swap(old, r, nowMs)
		if err != nil {
			return l.fail(fmt.Errorf("seglog: replace segments of %s at %d: %w", l.cfg.Partition, r.Base, err))
		}
		list := append(append(segs[:i:i], fresh), segs[i+len(old):]...)
		l.setSegments(list)
		return nil
	})
}

// unchanged reports that segs begin with old, none of them the active one, and none cut meanwhile.
func unchanged(segs []*segment, old []cleanedFrom) bool {
	if len(segs) <= len(old) {
		return false
	}
	for i, o := range old {
		next, size := segs[i].bounds()
		if segs[i] != o.segment || next != o.next || size != o.size || segs[i].cuts.Load() != o.cuts {
			return false
		}
	}
	return true
}

// swap is steps 2 to 4. The append lock is held, and no flush runs.
func (l *Log) swap(old []cleanedFrom, r cleaning.Replacement, nowMs int64) (*segment, error) {
	for _, o := range old {
		if err := l.keepSnapshot(o.segment, old[len(old)-1].next); err != nil {
			return nil, err
		}
		o.forget()
	}
	if !l.cfg.Rules.SwapBeforeDelete {
		if err := l.deleteReplaced(old, nowMs); err != nil {
			return nil, err
		}
	}
	name := func(suffix string) string { return filepath.Join(l.dir, layout.FileName(r.Base, suffix)) }
	for _, suffix := range r.Suffixes {
		if err := os.Rename(name(suffix+layout.CleanedSuffix), name(suffix+layout.SwapSuffix)); err != nil {
			return nil, err
		}
		stepped()
	}
	if err := syncDir(l.dir, l.cfg.Rules); err != nil {
		return nil, err
	}
	if l.cfg.Rules.SwapBeforeDelete {
		if err := l.deleteReplaced(old, nowMs); err != nil {
			return nil, err
		}
	}
	for i := len(r.Suffixes) - 1; i >= 0; i-- {
		if err := os.Rename(name(r.Suffixes[i]+layout.SwapSuffix), name(r.Suffixes[i])); err != nil {
			return nil, err
		}
		stepped()
	}
	if err := syncDir(l.dir, l.cfg.Rules); err != nil {
		return nil, err
	}
	fresh := newSegment(&l.env, l.dir, r.Base, old[len(old)-1].next, r.Size)
	fresh.clean.Store(true)
	return fresh, nil
}

// deleteReplaced is step 3. The snapshot at the base of the first one belongs to the new one.
func (l *Log) deleteReplaced(old []cleanedFrom, nowMs int64) error {
	for i, o := range old {
		suffixes := segmentSuffixes
		if i == 0 {
			suffixes = replacedSuffixes
		}
		if err := l.setAside(o.segment, suffixes, nowMs); err != nil {
			return err
		}
	}
	return syncDir(l.dir, l.cfg.Rules)
}

// replacedSuffixes are the files of a segment that its replacement has, too.
var replacedSuffixes = []string{layout.LogSuffix, layout.IndexSuffix, layout.TimeIndexSuffix, layout.TxnIndexSuffix}

// keepSnapshot writes the producer snapshot that a segment's flush would have: only where segments are replaced before they
// are flushed, without rule compact-below-hw.
func (l *Log) keepSnapshot(s *segment, end kafka.Offset) error {
	todo := s.seal.Load()
	if todo == nil || todo.snapshot == nil || todo.snapshotAt != end {
		return nil
	}
	return layout.WriteSynced(filepath.Join(l.dir, layout.FileName(end, layout.SnapshotSuffix)), todo.snapshot)
}

// finishSwaps settles a replacement of segments that a crash cut off: see the steps above. While a .cleaned is there the
// old segments count, and what was renamed to .swap of the same base or later ones goes; afterwards the new one counts. As
// in the steps themselves, nothing is done before that on which it rests is durable: this may be cut off, too.
func finishSwaps(dir string, rules Rules) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var cleaned, swaps, undone []string
	from := kafka.Offset(1<<63 - 1)
	for _, e := range entries {
		if base, _, ok := layout.ParseFileName(e.Name()); ok && strings.HasSuffix(e.Name(), layout.CleanedSuffix) {
			cleaned, from = append(cleaned, e.Name()), min(from, base)
		}
	}
	for _, e := range entries {
		if base, _, ok := layout.ParseFileName(e.Name()); ok && strings.HasSuffix(e.Name(), layout.SwapSuffix) {
			if base >= from {
				undone = append(undone, e.Name())
			} else {
				swaps = append(swaps, e.Name())
			}
		}
	}
	if err := removeAll(dir, undone, rules); err != nil {
		return err
	}
	if err := removeAll(dir, cleaned, rules); err != nil {
		return err
	}
	var replaced []string
	for _, name := range swaps {
		if base, suffix, _ := layout.ParseFileName(name); suffix == layout.LogSuffix+layout.SwapSuffix {
			names, err := replacedBy(dir, base, entries)
			if err != nil {
				return err
			}
			replaced = append(replaced, names...)
		}
	}
	if err := removeAll(dir, replaced, rules); err != nil {
		return err
	}
	return nameSwaps(dir, swaps, rules)
}

// removeAll removes files, and makes it durable.
func removeAll(dir string, names []string, rules Rules) error {
	for _, name := range names {
		if err := layout.RemoveIfThere(filepath.Join(dir, name)); err != nil {
			return err
		}
		stepped()
	}
	if len(names) == 0 {
		return nil
	}
	return syncDir(dir, rules)
}

// nameSwaps is step 4.
func nameSwaps(dir string, swaps []string, rules Rules) error {
	if len(swaps) == 0 {
		return nil
	}
	for _, logs := range []bool{true, false} {
		for _, name := range swaps {
			if strings.HasSuffix(name, layout.LogSuffix+layout.SwapSuffix) != logs {
				continue
			}
			path := filepath.Join(dir, name)
			if err := os.Rename(path, strings.TrimSuffix(path, layout.SwapSuffix)); err != nil {
				return err
			}
			stepped()
		}
	}
	return syncDir(dir, rules)
}

// replacedBy is the files of segments that <base>.log.swap stands for.
func replacedBy(dir string, base kafka.Offset, entries []fs.DirEntry) (names []string, err error) {
	next, err := endOf(filepath.Join(dir, layout.FileName(base, layout.LogSuffix+layout.SwapSuffix)), base)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		at, suffix, ok := layout.ParseFileName(e.Name())
		if !ok || at < base || at >= max(next, base+1) {
			continue
		}
		for _, s := range segmentSuffixes {
			if suffix == s && (at > base || suffix != layout.SnapshotSuffix) {
				names = append(names, e.Name())
			}
		}
	}
	return names, nil
}

// endOf is the offset after the last batch of a log file: as far as its headers can be read.
func endOf(path string, base kafka.Offset) (kafka.Offset, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var buf [record.HeaderSize]byte
	next := base
	for pos := int64(0); ; {
		if _, err := f.ReadAt(buf[:], pos); errors.Is(err, io.EOF) {
			return next, nil
		} else if err != nil {
			return 0, err
		}
		h, err := record.ParseHeader(buf[:])
		if err != nil || h.NextOffset() <= next {
			return next, nil
		}
		next, pos = h.NextOffset(), pos+int64(h.Size())
	}
}
