package guest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func TestOverlayOfTheInstalledGo(t *testing.T) {
	files, err := overlayFiles(runtime.Version(), goroot(t))
	require.NoError(t, err)
	require.Len(t, files, 11)
	again, err := overlayFiles(runtime.Version(), goroot(t))
	require.NoError(t, err)
	assert.Equal(t, files, again)
	for _, f := range files {
		assert.Contains(t, string(f.text), "netsim", f.name)
	}
}

// TestChangedShapesAreRefused copies the files that the overlay edits and changes one thing in each.
func TestChangedShapesAreRefused(t *testing.T) {
	root := goroot(t)
	for _, c := range []struct{ name, file, from, to, reason string }{
		{"function renamed", netFake, "func socket(", "func sock(", "has no function socket"},
		{"parameter added", netFake, "ctrlCtxFn func(context.Context, string, string, syscall.RawConn) error) (*netFD", "extra int) (*netFD", "socket has the type"},
		{"receiver changed", netFD, "func (fd *netFD) accept(", "func (fd netFD) accept(", "has no function (*netFD).accept"},
		{"call moved away", pollUnix, "syscall.Pread(fd.Sysfd, p, off)", "pread(fd.Sysfd, p, off)", "uses syscall.Pread 0 times"},
		{"call doubled", pollSync, "return syscall.Fsync(fd.Sysfd)", "syscall.Fsync(0); return syscall.Fsync(fd.Sysfd)", "uses syscall.Fsync 2 times"},
		{"no Go", netNames, "package net", "package", "does not parse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := t.TempDir()
			for _, name := range []string{netFake, netFD, netNames, netOpts, netTCP, osName, pollUnix, pollSync} {
				text, err := os.ReadFile(filepath.Join(root, "src", name))
				require.NoError(t, err)
				if name == c.file {
					require.Contains(t, string(text), c.from)
					text = []byte(strings.Replace(string(text), c.from, c.to, 1))
				}
				path := filepath.Join(fake, "src", name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, text, 0o644))
			}
			_, err := overlayFiles("go9.99", fake)
			var shape *ShapeError
			require.True(t, errors.As(err, &shape), "%v", err)
			assert.Equal(t, c.file, shape.File)
			assert.Contains(t, err.Error(), "go9.99")
			assert.Contains(t, err.Error(), c.reason)
		})
	}
	_, err := overlayFiles("go9.99", t.TempDir())
	assert.ErrorContains(t, err, "cannot be read")
}

func TestBuildErrorsNameThePackage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module broken\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\nfunc main() { nothing() }\n"), 0o644))
	err := Build(t.Context(), Options{Dir: dir, Package: ".", Out: filepath.Join(dir, "x.wasm")})
	require.ErrorContains(t, err, "guest: go build .")
	assert.ErrorContains(t, err, "nothing")
}

func TestLibraryIsNoProgram(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module library\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package library\n"), 0o644))
	err := Build(t.Context(), Options{Dir: dir, Package: ".", Out: filepath.Join(dir, "x.wasm")})
	require.EqualError(t, err, "guest: . is not a program (package main)")
}
