// Package openfiles bounds how many files of a set of logs are open at once.
//
// It owns the descriptors: a File is a name that is opened when somebody uses it, and closed, least recently used first,
// when more than the bound are open and nobody uses it. It never reads, writes or fsyncs. Callers: seglog and its index,
// which keep a file in use while it has bytes that were not fsynced: an error of a write-back that nobody has seen yet may
// be lost with the last descriptor.
//
// Locks: a File's mu is taken before the Cache's. Nothing is opened or closed under the Cache's.
package openfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"trialog/core/kafka"
	"trialog/core/seglog/layout"
)

// DefaultMax is a bound that systems allow without being asked.
const DefaultMax = 4096

// ErrGone: the file was forgotten. Whoever has found it in a list that is older should look again.
var ErrGone = errors.New("openfiles: file is gone")

// Cache is the files that share one bound. All methods may be called from any goroutine.
type Cache struct {
	max int

	mu   sync.Mutex
	open int
	idle File // ring of files that are open and not in use, the least recently used first
}

// New is a cache of at most max open files; those that are in use count but are never closed, so there may be more.
func New(max int) *Cache {
	c := &Cache{max: max}
	c.idle.next, c.idle.prev = &c.idle, &c.idle
	return c
}

// Open is how many files are open.
func (c *Cache) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

// File is one file of a segment, open or not. All methods may be called from any goroutine.
type File struct {
	cache  *Cache
	dir    string
	suffix string
	base   kafka.Offset

	mu    sync.Mutex   // held while the file is opened, so that none is opened after Forget
	users atomic.Int32 // leaves 0, and comes back to it, under the cache's mu

	// The rest is the cache's mu's; file is constant while somebody uses it.
	file       *os.File
	gone       bool
	prev, next *File
}

// File is the file of that base offset and suffix in dir, which need not exist.
func (c *Cache) File(dir string, base kafka.Offset, suffix string) *File {
	return &File{cache: c, dir: dir, base: base, suffix: suffix}
}

// Adopt is the same for a file that is open; the caller uses it.
func (c *Cache) Adopt(dir string, base kafka.Offset, suffix string, file *os.File) *File {
	f := c.File(dir, base, suffix)
	f.file = file
	f.users.Store(1)
	c.mu.Lock()
	c.open++
	victims := c.evict()
	c.mu.Unlock()
	closeAll(victims)
	return f
}

// Path is where the file lies.
func (f *File) Path() string { return filepath.Join(f.dir, layout.FileName(f.base, f.suffix)) }

// Acquire opens the file for reading and writing, if it is not open. The caller must Release it, and not close what it got.
// The error is ErrGone after Forget; a file that does not exist is fs.ErrNotExist.
func (f *File) Acquire() (*os.File, error) { return f.AcquireWith(0) }

// AcquireWith is Acquire with further flags of os.OpenFile; they are of no effect on a file that is open.
func (f *File) AcquireWith(flags int) (*os.File, error) {
	for n := f.users.Load(); n > 0; n = f.users.Load() {
		if f.users.CompareAndSwap(n, n+1) {
			return f.file, nil
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if file, err := f.use(nil); file != nil || err != nil {
		return file, err
	}
	file, err := os.OpenFile(f.Path(), os.O_RDWR|flags, 0o644)
	if err != nil {
		return nil, err
	}
	return f.use(file)
}

// use adds a user to an open file, or to this one, which was just opened; neither gives nil.
func (f *File) use(opened *os.File) (*os.File, error) {
	c := f.cache
	c.mu.Lock()
	var victims []*os.File
	switch {
	case f.gone && f.file == nil:
		c.mu.Unlock()
		if opened != nil {
			opened.Close()
		}
		return nil, ErrGone
	case f.file != nil:
		f.unlink()
		f.users.Add(1)
	case opened != nil:
		f.file = opened
		f.users.Add(1)
		c.open++
		victims = c.evict()
	}
	c.mu.Unlock()
	closeAll(victims)
	return f.file, nil
}

// Release ends one use.
func (f *File) Release() {
	for n := f.users.Load(); n > 1; n = f.users.Load() {
		if f.users.CompareAndSwap(n, n-1) {
			return
		}
	}
	c := f.cache
	c.mu.Lock()
	var victims []*os.File
	switch n := f.users.Add(-1); {
	case n < 0:
		panic(fmt.Sprintf("openfiles: %s released too often", f.Path()))
	case n == 0 && f.gone:
		victims = append(victims, f.take())
	case n == 0:
		f.prev, f.next = c.idle.prev, &c.idle
		f.prev.next, f.next.prev = f, f
		victims = c.evict()
	}
	c.mu.Unlock()
	closeAll(victims)
}

// Forget ends the file: it is closed once nobody uses it, and never opened again, whatever has its name by then.
func (f *File) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.cache
	c.mu.Lock()
	f.gone = true
	var victims []*os.File
	if f.file != nil && f.users.Load() == 0 {
		f.unlink()
		victims = append(victims, f.take())
	}
	c.mu.Unlock()
	closeAll(victims)
}

// Forgotten reports that Forget was called.
func (f *File) Forgotten() bool {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	return f.gone
}

// Users is how many use the file.
func (f *File) Users() int { return int(f.users.Load()) }

// evict takes idle files until the bound holds. c.mu is held; the caller closes them.
func (c *Cache) evict() (victims []*os.File) {
	for c.open > c.max && c.idle.next != &c.idle {
		f := c.idle.next
		f.unlink()
		victims = append(victims, f.take())
	}
	return victims
}

func (f *File) take() *os.File {
	file := f.file
	f.file = nil
	f.cache.open--
	return file
}

func (f *File) unlink() {
	if f.next != nil {
		f.prev.next, f.next.prev = f.next, f.prev
		f.prev, f.next = nil, nil
	}
}

// closeAll closes files that have nothing left to write back: see the package comment.
func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}
