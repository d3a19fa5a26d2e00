package guest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNativeOverlayOfTheInstalledGo(t *testing.T) {
	installed, err := findToolchain(t.Context(), "", "")
	require.NoError(t, err)
	files, deleted, err := nativeFiles(installed.version, installed.root)
	require.NoError(t, err)
	again, _, err := nativeFiles(installed.version, installed.root)
	require.NoError(t, err)
	assert.Equal(t, files, again)
	assert.Equal(t, nativeDeleted, deleted)
	names := map[string]bool{}
	for _, f := range files {
		assert.False(t, names[f.name], "%s twice", f.name)
		names[f.name] = true
	}
	for _, e := range nativeEdits {
		assert.True(t, names[e.file], e.file)
	}
	for _, a := range nativeAdded {
		assert.True(t, names[a.file], a.file)
	}
}

// fakeGoroot is a copy of what the native overlay reads of the installed Go, after change.
func fakeGoroot(t *testing.T, change func(name, text string) (string, bool)) string {
	t.Helper()
	installed, err := findToolchain(t.Context(), "", "")
	require.NoError(t, err)
	fake := t.TempDir()
	names := append([]string{}, nativeDeleted...)
	for _, e := range append(append([]textEdit{}, nativeEdits...), relied...) {
		names = append(names, e.file)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(installed.root, "src", name))
		require.NoError(t, err)
		if changed, ok := change(name, string(text)); ok {
			put(t, filepath.Join(fake, "src", name), changed)
		}
	}
	return fake
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// Each line is a release in which one thing is not as the native overlay knows it.
func TestReleasesThatTheNativeOverlayDoesNotKnow(t *testing.T) {
	for _, c := range []struct{ name, file, from, to, reason string }{
		{"an edited function has another body", rtProc, "\tmp := allocm(pp, fn, id)", "\tmp := allocm(pp, fn, id+0)", "newm has changed (hash "},
		{"an edited function has another type", rtLinux, "func getCPUCount() int32 {", "func getCPUCount() int64 {", "getCPUCount has changed (hash "},
		{"a function is gone", rtEpoll, "func netpollBreak()", "func netpollWake()", "has no declaration of netpollBreak"},
		{"a method has another receiver", "runtime/mcache.go", "func (c *mcache) refill(", "func (c mcache) refill(", "has no declaration of *mcache.refill"},
		{"a constant is gone", rtProc, "haveSysmon = ", "hasSysmon = ", "has no declaration of haveSysmon"},
		{"a function that is relied upon has changed", "runtime/stack.go", "thisg.m.morebuf.g.ptr().stackguard0 == stackFork", "thisg.m.morebuf.g.ptr().stackguard0 == stackBig", "newstack has changed (hash "},
		{"assembly has another name", rtAsm, "TEXT runtime·write1(SB)", "TEXT runtime·writeOne(SB)", `the file contains "TEXT runtime·write1(SB)" 0 times, expected once`},
		{"assembly is there twice", sysAsm, "TEXT ·rawSyscallNoError(SB)", "TEXT ·rawSyscallNoError(SB),4,$0\n\tRET\nTEXT ·rawSyscallNoError(SB)", `2 times, expected once`},
		{"a file is no Go", rtProc, "package runtime", "package", "does not parse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := 0
			fake := fakeGoroot(t, func(name, text string) (string, bool) {
				if name == c.file {
					require.Contains(t, text, c.from)
					text = strings.Replace(text, c.from, c.to, 1)
					changed++
				}
				return text, true
			})
			require.Positive(t, changed)
			refused(t, fake, c.file, c.reason)
		})
	}
	all := func(_, text string) (string, bool) { return text, true }
	t.Run("nothing has changed", func(t *testing.T) {
		_, _, err := nativeFiles("go9.99", fakeGoroot(t, all))
		require.NoError(t, err)
	})
	t.Run("an edited file is gone", func(t *testing.T) {
		refused(t, fakeGoroot(t, func(name, text string) (string, bool) { return text, name != cpuAsm }), cpuAsm, "cannot be read: no such file")
	})
	t.Run("a hidden file is gone", func(t *testing.T) {
		gone := nativeDeleted[0]
		refused(t, fakeGoroot(t, func(name, text string) (string, bool) { return text, name != gone }), gone, "cannot be hidden: ")
	})
	t.Run("an added file is there", func(t *testing.T) {
		fake := fakeGoroot(t, all)
		put(t, filepath.Join(fake, "src", nativeAdded[0].file), "package runtime\n")
		refused(t, fake, nativeAdded[0].file, "exists already")
	})
}

// refused wants the release, the file and the reason in one line.
func refused(t *testing.T, goroot, file, reason string) {
	t.Helper()
	_, _, err := nativeFiles("go9.99", goroot)
	var shape *ShapeError
	require.True(t, errors.As(err, &shape), "%v", err)
	assert.Equal(t, "go9.99", shape.GoVersion)
	assert.Equal(t, file, shape.File)
	assert.Contains(t, shape.Reason, reason)
	assert.Contains(t, err.Error(), "guest: go9.99: "+file+": "+shape.Reason)
	assert.NotContains(t, err.Error(), "\n")
}
