package main

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestHashCoversWhatABuildDependsOn(t *testing.T) {
	base := func() fstest.MapFS {
		return fstest.MapFS{
			"go.mod":          {Data: []byte("module m\n")},
			"a/a.go":          {Data: []byte("package a\n")},
			"a/a_test.go":     {Data: []byte("package a\n")},
			"a/testdata/x.go": {Data: []byte("x")},
			"other/go.mod":    {Data: []byte("module other\n")},
			"other/o.go":      {Data: []byte("package o\n")},
			"README.md":       {Data: []byte("hello")},
		}
	}
	want, err := hash(base())
	require.NoError(t, err)
	require.Len(t, want, 64)
	for _, row := range []struct {
		path    string
		counted bool
	}{
		{"go.mod", true}, {"go.sum", true}, {"a/a.go", true}, {"a/b.go", true}, {"overlay/net.go.txt", true},
		{"a/a_test.go", false}, {"a/testdata/x.go", false}, {"other/o.go", false}, {"README.md", false}, {".git/x.go", false},
	} {
		module := base()
		module[row.path] = &fstest.MapFile{Data: []byte("changed")}
		got, err := hash(module)
		require.NoError(t, err)
		require.Equal(t, row.counted, got != want, row.path)
	}
}
