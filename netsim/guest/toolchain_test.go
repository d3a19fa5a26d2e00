package guest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fetched are the toolchains of a minor release that go has fetched into the module cache.
func fetched(t *testing.T, minor string) []string {
	t.Helper()
	installed, err := findToolchain(t.Context(), "", "")
	require.NoError(t, err)
	cache, err := goOutput(t.Context(), installed.command, "", "GOMODCACHE")
	require.NoError(t, err)
	list, err := filepath.Glob(filepath.Join(cache[0], "golang.org", "toolchain@v0.0.1-"+minor+".*.linux-amd64"))
	require.NoError(t, err)
	return list
}

// The release before is refused with the reason; nothing else happens to it.
func TestThePreviousGoMinorIsRefused(t *testing.T) {
	list := fetched(t, "go1.25")
	if len(list) == 0 {
		t.Skip("not fetched (GOTOOLCHAIN=go1.25.8 go version does that)")
	}
	t.Setenv("GOTOOLCHAIN", "local") // that release, whatever the module wants
	err := Build(t.Context(), Options{Engine: Native, GoCommand: filepath.Join(list[0], "bin", "go"), Package: "../examples/probe", Out: filepath.Join(t.TempDir(), "x")})
	var shape *ShapeError
	require.True(t, errors.As(err, &shape), "%v", err)
	assert.Regexp(t, `^guest: go1\.25\.\d+: runtime/mcache\.go: \*mcache\.refill has changed \(hash [0-9a-f]{16}, known [0-9a-f ]+\); the simulator's overlay does not know this Go release$`, err.Error())
}

// fakeGo is a go command that answers go env with these lines.
func fakeGo(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\ncat <<'END'\n"+lines+"END\n"), 0o755))
	return path
}

func TestAToolchainInTheModuleCacheIsCopied(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cache := t.TempDir()
	root := filepath.Join(cache, "golang.org", "toolchain@v0.0.1-go9.99.linux-amd64")
	for _, name := range []string{"VERSION", "bin/go", "src/runtime/proc.go", "src/runtime/testdata/x.go", "test/x.go", "pkg/tool/compile"} {
		put(t, filepath.Join(root, name), name)
	}
	command := fakeGo(t, "go9.99\n"+root+"\n"+cache+"\n")
	first, err := findToolchain(t.Context(), command, "")
	require.NoError(t, err)
	copied := filepath.Join(CacheDir(), "goroot-toolchain@v0.0.1-go9.99.linux-amd64")
	assert.Equal(t, &toolchain{"go9.99", copied, filepath.Join(copied, "bin", "go"), []string{"GOROOT=" + copied, "GOTOOLCHAIN=local"}}, first)
	var names []string
	require.NoError(t, filepath.Walk(copied, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			rel, err := filepath.Rel(copied, path)
			require.NoError(t, err)
			assert.Equal(t, rel, string(text))
			names = append(names, rel)
		}
		return err
	}))
	assert.Equal(t, []string{"VERSION", "bin/go", "pkg/tool/compile", "src/runtime/proc.go"}, names)

	require.NoError(t, os.RemoveAll(root)) // the copy is not made again
	again, err := findToolchain(t.Context(), command, "")
	require.NoError(t, err)
	assert.Equal(t, first, again)
	list, err := os.ReadDir(CacheDir())
	require.NoError(t, err)
	assert.Len(t, list, 1, "nothing half done is left")

	_, err = findToolchain(t.Context(), fakeGo(t, "go9.98\n"+filepath.Join(cache, "gone")+"\n"+cache+"\n"), "")
	assert.ErrorContains(t, err, "guest: copy go9.98 out of the module cache ("+cache+"), whose files go build refuses to overlay: ")
}

func TestAFileIsCopiedWhereItCannotBeLinked(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	require.NoError(t, os.WriteFile(from, []byte("text"), 0o755))
	require.NoError(t, copyFile(from, to))
	text, err := os.ReadFile(to)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	info, err := os.Stat(to)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	assert.Error(t, copyFile(from, to), "it is there")
}

func TestGoCommandsThatAreNone(t *testing.T) {
	for _, c := range []struct{ command, why string }{
		{filepath.Join(t.TempDir(), "go"), "no such file or directory"},
		{fakeGo(t, "go1.0\n"), `env answers "go1.0\n", expected 3 values`},
	} {
		err := Build(t.Context(), Options{Engine: Native, GoCommand: c.command, Package: ".", Out: filepath.Join(t.TempDir(), "x")})
		assert.ErrorContains(t, err, "guest: "+c.command)
		assert.ErrorContains(t, err, c.why)
	}
}
