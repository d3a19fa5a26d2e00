package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// toolchain is the Go installation that builds.
type toolchain struct {
	version string // go1.26.8
	root    string // GOROOT
	command string // the go command
	env     []string
}

// findToolchain asks a go command ("" is go) for its release, as the module in dir wants it. A release that go has fetched by
// itself lies in the module cache, whose files go build refuses to overlay: it is used from a copy.
func findToolchain(ctx context.Context, command, dir string) (*toolchain, error) {
	if command == "" {
		command = "go"
	}
	f, err := goOutput(ctx, command, dir, "GOVERSION", "GOROOT", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	t := &toolchain{version: f[0], root: f[1], command: command}
	if strings.HasPrefix(t.root, f[2]+string(filepath.Separator)) {
		return t.outOf(f[2])
	}
	return t, nil
}

// goOutput asks a go command for variables.
func goOutput(ctx context.Context, command, dir string, names ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, command, append([]string{"env"}, names...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("guest: %s env: %w", command, err)
	}
	values := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(values) != len(names) {
		return nil, fmt.Errorf("guest: %s env answers %q, expected %d values", command, out, len(names))
	}
	return values, nil
}

// outOf copies a toolchain out of the module cache, once, and gives the copy.
func (t *toolchain) outOf(cache string) (*toolchain, error) {
	from, root := t.root, filepath.Join(CacheDir(), "goroot-"+filepath.Base(t.root))
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		if err := copyGoroot(from, root); err != nil {
			return nil, fmt.Errorf("guest: copy %s out of the module cache (%s), whose files go build refuses to overlay: %w", t.version, cache, err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("guest: %w", err)
	}
	// The copy must not look for another release in its turn, and not believe an environment that names another root.
	return &toolchain{t.version, root, filepath.Join(root, "bin", "go"), []string{"GOROOT=" + root, "GOTOOLCHAIN=local"}}, nil
}

// copyGoroot links what a build needs to a new place, or copies it where that is another filesystem. The place appears
// complete or not at all.
func copyGoroot(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), "tmp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(tmp, rel)
		switch {
		case d.IsDir() && (d.Name() == "testdata" || rel == "test" || rel == "doc" || rel == "api" || rel == "misc"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(at, 0o755)
		case os.Link(path, at) == nil:
			return nil
		}
		return copyFile(path, at)
	})
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, to); err != nil && !errors.Is(err, fs.ErrExist) { // somebody else was quicker
		return err
	}
	return nil
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
