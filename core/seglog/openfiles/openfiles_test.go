package openfiles

import (
	"io/fs"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

func made(t *testing.T, c *Cache, dir string, base kafka.Offset) *File {
	f := c.File(dir, base, layout.LogSuffix)
	require.NoError(t, os.WriteFile(f.Path(), []byte{byte(base)}, 0o644))
	return f
}

func TestBound(t *testing.T) {
	dir, c := t.TempDir(), New(2)
	var all []*File
	for i := range kafka.Offset(4) {
		all = append(all, made(t, c, dir, i))
	}
	use := func(f *File) *os.File {
		file, err := f.Acquire()
		require.NoError(t, err)
		b := make([]byte, 1)
		_, err = file.ReadAt(b, 0)
		require.NoError(t, err)
		require.Equal(t, byte(f.base), b[0])
		return file
	}
	for _, f := range all {
		use(f)
		f.Release()
		require.LessOrEqual(t, c.Open(), 2)
	}
	third := use(all[2]) // is still open: the least recently used goes
	all[2].Release()
	use(all[0])
	all[0].Release()
	require.Same(t, third, use(all[2]))
	for _, f := range all {
		use(f)
	}
	require.Equal(t, 4, c.Open(), "what is in use is not closed")
	for _, f := range all {
		f.Release()
	}
	require.Equal(t, 2, all[2].Users()+c.Open()-1, "one user of the third is left, and one other is open")
	_, err := c.File(dir, 9, layout.LogSuffix).Acquire()
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A file that is forgotten is closed with its last user, and its name is nobody's.
func TestForget(t *testing.T) {
	dir, c := t.TempDir(), New(2)
	f, idle := made(t, c, dir, 1), made(t, c, dir, 2)
	for _, f := range []*File{f, idle} {
		_, err := f.Acquire()
		require.NoError(t, err)
	}
	idle.Release()
	f.Forget()
	idle.Forget()
	require.Equal(t, 1, c.Open())
	file, err := f.Acquire()
	require.NoError(t, err, "while it is open it may be used")
	f.Release()
	f.Release()
	require.Error(t, file.Close())
	for _, f := range []*File{f, idle} {
		_, err = f.Acquire()
		require.ErrorIs(t, err, ErrGone)
	}
	require.Zero(t, c.Open())
	require.Panics(t, f.Release)
}

func TestManyUsers(t *testing.T) {
	dir, c := t.TempDir(), New(3)
	var all []*File
	for i := range kafka.Offset(8) {
		all = append(all, made(t, c, dir, i))
	}
	var wg sync.WaitGroup
	for who := range 4 {
		wg.Go(func() {
			b := make([]byte, 1)
			for i := range 400 {
				f := all[(i*(2*who+1)+who)%len(all)]
				file, err := f.Acquire()
				if err == nil {
					_, err = file.ReadAt(b, 0)
				}
				if err != nil || b[0] != byte(f.base) {
					t.Errorf("file %d: %v %v", f.base, b, err)
				}
				f.Release()
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, c.Open(), 3)
}
