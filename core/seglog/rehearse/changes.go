package rehearse

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Change is one file that would not be what it is.
type Change struct {
	File string `json:"file,omitempty"` // without its directory
	What string `json:"what"`
}

// String is "file: what".
func (c Change) String() string {
	if c.File == "" {
		return c.What
	}
	return c.File + ": " + c.What
}

// content is what is compared of a file.
type content struct {
	size int64
	sum  [sha256.Size]byte
}

// snapshot is the files of a directory by name.
type snapshot map[string]content

func snapshotOf(dir string) (snapshot, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := snapshot{}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		c, err := contentOf(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s[e.Name()] = c
	}
	return s, nil
}

func contentOf(path string) (c content, err error) {
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	h := sha256.New()
	if c.size, err = io.Copy(h, f); err != nil {
		return c, err
	}
	copy(c.sum[:], h.Sum(nil))
	return c, nil
}

// changes is what differs afterwards, by name.
func (s snapshot) changes(after snapshot) []Change {
	all := []Change{} // never null in JSON
	for _, name := range s.with(after) {
		was, before := s[name]
		is, now := after[name]
		switch {
		case was == is && before == now:
		case !now:
			all = append(all, Change{name, fmt.Sprintf("removed, with its %d bytes", was.size)})
		case !before:
			what := fmt.Sprintf("made, %d bytes", is.size)
			if from := s.named(is, after); from != "" {
				what = "made of " + from
			}
			all = append(all, Change{name, what})
		case filepath.Ext(name) == ".log" && is.size < was.size:
			all = append(all, Change{name, fmt.Sprintf("cut from %d to %d bytes", was.size, is.size)})
		default:
			all = append(all, Change{name, fmt.Sprintf("written anew, %d instead of %d bytes", is.size, was.size)})
		}
	}
	return all
}

func (s snapshot) with(other snapshot) []string {
	var names []string
	for name := range s {
		names = append(names, name)
	}
	for name := range other {
		if _, both := s[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// named is the name that a file with this content had, and has no more.
func (s snapshot) named(c content, after snapshot) string {
	if c.size == 0 {
		return ""
	}
	for _, name := range s.with(nil) {
		if _, there := after[name]; !there && s[name] == c {
			return name
		}
	}
	return ""
}
