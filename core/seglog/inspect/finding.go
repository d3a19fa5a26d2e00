package inspect

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Level is how bad a finding is.
type Level uint8

// Levels, the worst last.
const (
	Note Level = iota
	Recoverable
	Damage
)

// String is a word.
func (l Level) String() string { return [...]string{"note", "recoverable", "damage"}[l] }

// MarshalText is the word.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// NoPos is the position of a finding that concerns a whole file, or one that has no bytes.
const NoPos = -1

// Finding is one thing that is not as it should be.
type Finding struct {
	Path   string `json:"file"`
	Pos    int64  `json:"position"` // in bytes, or NoPos
	Level  Level  `json:"level"`
	Reason string `json:"reason"`
}

// String is one line: level, file, position, reason.
func (f Finding) String() string {
	if f.Pos == NoPos {
		return fmt.Sprintf("%s: %s: %s", f.Level, f.Path, f.Reason)
	}
	return fmt.Sprintf("%s: %s: at %d: %s", f.Level, f.Path, f.Pos, f.Reason)
}

// perFile is how many findings of one file are kept; the last of them says that there are more.
const perFile = 20

// Report is the result of a check.
type Report struct {
	Findings   []Finding `json:"findings"`
	Partitions int       `json:"partitions"`
	Files      int       `json:"files"`
	Batches    int64     `json:"batches"`
	Bytes      int64     `json:"bytes"` // of batches

	count map[string]int // findings of a file
	more  map[string]int // where the last of them is, when there are too many
}

// Worst is the level of the worst finding, and false if there is none.
func (r *Report) Worst() (Level, bool) {
	worst, any := Note, false
	for _, f := range r.Findings {
		worst, any = max(worst, f.Level), true
	}
	return worst, any
}

// Count is how many findings have the level.
func (r *Report) Count(l Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == l {
			n++
		}
	}
	return n
}

// In is the findings of a file, by its name without directories.
func (r *Report) In(name string) (in []Finding) {
	for _, f := range r.Findings {
		if filepath.Base(f.Path) == name {
			in = append(in, f)
		}
	}
	return in
}

func (r *Report) add(l Level, path string, pos int64, format string, args ...any) {
	if r.count == nil {
		r.count, r.more = map[string]int{}, map[string]int{}
	}
	r.count[path]++
	switch n := r.count[path]; {
	case n < perFile:
		r.Findings = append(r.Findings, Finding{Path: path, Pos: pos, Level: l, Reason: oneLine(fmt.Sprintf(format, args...))})
	case n == perFile:
		r.more[path] = len(r.Findings)
		r.Findings = append(r.Findings, Finding{Path: path, Pos: pos, Level: l, Reason: "and more in this file"})
	default:
		more := &r.Findings[r.more[path]]
		more.Level = max(more.Level, l)
	}
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }
