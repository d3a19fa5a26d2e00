package disk

import (
	"path"
	"strings"

	"trialog/netsim/kernel"
)

// PageSize and SectorSize are the units of loss: a power cut loses pages, a torn one leaves a prefix of a page's
// sectors.
const (
	PageSize   = 4096
	SectorSize = 512
)

// Bounds of a filesystem. A call beyond one fails as open(2) or write(2) would; when more than PendingMax operations
// on names are not durable, the oldest become so by themselves.
const (
	NameMax     = 255     // bytes of one name
	PathMax     = 4096    // bytes of a path
	FileSizeMax = 1 << 34 // bytes of a file, holes included; a page of a hole costs the simulator 24 bytes
	PendingMax  = 1 << 16
)

// Options of a disk. Zero values mean the defaults.
type Options struct {
	Capacity             int64 // bytes of files and directories, in whole pages; default 1 GiB
	SyncNsMin, SyncNsMax int64 // virtual time of one fsync; default 300 us to 4 ms
}

func (o *Options) setDefaults() {
	if o.Capacity == 0 {
		o.Capacity = 1 << 30
	}
	if o.SyncNsMax == 0 {
		o.SyncNsMin, o.SyncNsMax = 300_000, 4_000_000
	}
}

// FS is the filesystem of one host. It implements [kernel.FS]. Paths are absolute, slash-separated and clean.
type FS struct {
	k    *kernel.Kernel
	host string
	opt  Options

	root      *inode
	lastInode uint64
	pages     int64 // of files and directories in the page cache, all of which take space
	changes   uint64
	pending   []*nameOp
	lastName  uint64 // number of the newest name operation
	lastSync  uint64 // number of the newest fsync
	boot      uint64 // grows with each power cut; a call of an earlier boot completes without effect

	latency, cuts, flips, shorts *kernel.Rand

	slow                             int64 // ns added to each call
	stuck                            bool
	hung                             []func()
	limit                            int64 // of pages; see Room
	full, short                      bool
	far                              bool // see reached
	failReads, failWrites, failSyncs bool
}

// New makes an empty filesystem: the root directory and nothing else.
func New(k *kernel.Kernel, host string, opt Options) *FS {
	opt.setDefaults()
	fs := &FS{
		k: k, host: host, opt: opt, limit: noLimit,
		latency: k.Stream(host, "disk latency"),
		shorts:  k.Stream(host, "disk short write"),
		cuts:    k.Stream(host, "disk power cut"),
		flips:   k.Stream(host, "disk flip"),
	}
	fs.root = fs.newInode(true)
	return fs
}

// place is where a path leads: a directory and a name in it, and what is there now.
type place struct {
	dir  *inode
	name string // "" for the root itself
	node *inode // nil if there is nothing
}

// find walks a path. Only the last component may be missing.
func (fs *FS) find(at string) (place, kernel.Errno) {
	if len(at) > PathMax {
		return place{}, kernel.ENAMETOOLONG
	}
	if !strings.HasPrefix(at, "/") {
		return place{}, kernel.ENOENT
	}
	here := place{node: fs.root}
	rest := path.Clean(at)[1:]
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch {
		case here.node == nil:
			return place{}, kernel.ENOENT
		case !here.node.dir:
			return place{}, kernel.ENOTDIR
		case len(name) > NameMax:
			return place{}, kernel.ENAMETOOLONG
		}
		here = place{dir: here.node, name: name, node: here.node.names.get(name)}
	}
	return here, kernel.OK
}

// Open is open(2).
func (fs *FS) Open(p *kernel.Proc, path string, flags kernel.OpenFlags) (kernel.Regular, kernel.Errno) {
	at, e := fs.find(path)
	if e != kernel.OK {
		return nil, e
	}
	const writing = kernel.OpenWrite | kernel.OpenTrunc | kernel.OpenAppend
	switch node := at.node; {
	case node == nil && (flags&kernel.OpenCreate == 0 || flags&kernel.OpenDir != 0):
		return nil, kernel.ENOENT
	case node == nil:
		if !fs.fits(at.dir.growth()) {
			return nil, kernel.ENOSPC
		}
		at.node = fs.newInode(false)
		fs.link(at.dir, at.name, at.node)
	case flags&kernel.OpenCreate != 0 && flags&kernel.OpenExcl != 0:
		return nil, kernel.EEXIST
	case node.dir && flags&(writing|kernel.OpenCreate) != 0:
		return nil, kernel.EISDIR
	case !node.dir && flags&kernel.OpenDir != 0:
		return nil, kernel.ENOTDIR
	}
	if flags&kernel.OpenTrunc != 0 && flags&kernel.OpenWrite != 0 {
		fs.resize(at.node, 0)
	}
	at.node.opens++
	return &file{fs: fs, node: at.node, path: path, flags: flags, boot: fs.boot}, kernel.OK
}

// Mkdir is mkdir(2).
func (fs *FS) Mkdir(p *kernel.Proc, path string) kernel.Errno {
	at, e := fs.find(path)
	if e != kernel.OK {
		return e
	}
	if at.node != nil {
		return kernel.EEXIST
	}
	node := fs.newInode(true)
	if !fs.fits(at.dir.growth() + node.space()) {
		return kernel.ENOSPC
	}
	fs.pages += node.space()
	fs.link(at.dir, at.name, node)
	return kernel.OK
}

// Unlink is unlink(2). An open file keeps its data until it is closed.
func (fs *FS) Unlink(p *kernel.Proc, path string) kernel.Errno {
	at, e := fs.find(path)
	switch {
	case e != kernel.OK:
		return e
	case at.node == nil:
		return kernel.ENOENT
	case at.node.dir:
		return kernel.EISDIR
	}
	fs.unlink(at.dir, at.name)
	return kernel.OK
}

// Rmdir is rmdir(2).
func (fs *FS) Rmdir(p *kernel.Proc, path string) kernel.Errno {
	at, e := fs.find(path)
	switch {
	case e != kernel.OK:
		return e
	case at.node == nil:
		return kernel.ENOENT
	case !at.node.dir:
		return kernel.ENOTDIR
	case at.node == fs.root:
		return kernel.EINVAL
	case len(at.node.names) > 0:
		return kernel.ENOTEMPTY
	}
	fs.unlink(at.dir, at.name)
	return kernel.OK
}

// Rename is rename(2): atomic, also as seen after a power cut.
func (fs *FS) Rename(p *kernel.Proc, from, to string) kernel.Errno {
	a, e := fs.find(from)
	if e != kernel.OK {
		return e
	}
	b, e := fs.find(to)
	if e != kernel.OK {
		return e
	}
	switch {
	case a.node == nil:
		return kernel.ENOENT
	case a.node == fs.root || b.node == fs.root:
		return kernel.EINVAL
	case a.node == b.node:
		return kernel.OK
	case a.node.dir && a.node.contains(b.dir, (*inode).cachedDir):
		return kernel.EINVAL
	}
	if b.node == nil && b.dir != a.dir && !fs.fits(b.dir.growth()) {
		return kernel.ENOSPC
	}
	if b.node != nil {
		switch {
		case a.node.dir && !b.node.dir:
			return kernel.ENOTDIR
		case !a.node.dir && b.node.dir:
			return kernel.EISDIR
		case len(b.node.names) > 0:
			return kernel.ENOTEMPTY
		}
	}
	fs.rename(a, b)
	return kernel.OK
}

// Stat is stat(2).
func (fs *FS) Stat(p *kernel.Proc, path string) (kernel.Stat, kernel.Errno) {
	at, e := fs.find(path)
	if e != kernel.OK {
		return kernel.Stat{}, e
	}
	if at.node == nil {
		return kernel.Stat{}, kernel.ENOENT
	}
	return at.node.stat(), kernel.OK
}

// SetModTime is utimensat(2).
func (fs *FS) SetModTime(p *kernel.Proc, path string, t int64) kernel.Errno {
	at, e := fs.find(path)
	if e == kernel.OK && at.node == nil {
		e = kernel.ENOENT
	}
	if e == kernel.OK {
		at.node.modTime = t
	}
	return e
}

// PathOf is the path by which f was opened, or "" if f is no file of a disk.
func PathOf(f kernel.File) string {
	if f, ok := f.(*file); ok {
		return f.path
	}
	return ""
}

// Match tells whether a pattern means the file at path: the pattern's components match (as in path.Match) a run of
// consecutive components of path. So "*.log" means every log, "topic-0" everything below a directory of that name,
// "topic-0/*.log" the logs in it. A pattern that begins with a slash must match from the root.
func Match(pattern, file string) bool {
	want := strings.Split(strings.Trim(pattern, "/"), "/")
	have := strings.Split(strings.Trim(file, "/"), "/")
	for first := 0; first+len(want) <= len(have); first++ {
		if matchAll(want, have[first:]) {
			return true
		}
		if strings.HasPrefix(pattern, "/") {
			break
		}
	}
	return false
}

func matchAll(want, have []string) bool {
	for i, w := range want {
		if ok, err := path.Match(w, have[i]); err != nil || !ok {
			return false
		}
	}
	return true
}
