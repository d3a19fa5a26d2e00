package disk

import (
	"trialog/netsim/kernel"
)

// PageSize and SectorSize are the units of loss: a power cut loses pages, a torn one leaves a prefix of a page's
// sectors.
const (
	PageSize   = 4096
	SectorSize = 512
)

// Bounds of a filesystem.
const (
	NameMax     = 255     // bytes of one name
	PathMax     = 4096    // bytes of a path
	FileSizeMax = 1 << 40 // bytes of a file, holes included
)

// Options of a disk. Zero values mean the defaults.
type Options struct {
	Capacity             int64 // bytes of file data, in whole pages; default 1 GiB
	SyncNsMin, SyncNsMax int64 // virtual time of one fsync; default 300 us to 4 ms
}

// FS is the filesystem of one host. It implements [kernel.FS]. Paths are absolute, slash-separated and clean.
type FS struct {
	k    *kernel.Kernel
	host string
	opt  Options
}

// New makes an empty filesystem: the root directory and nothing else.
func New(k *kernel.Kernel, host string, opt Options) *FS { panic("disk: New") }

// Open is open(2).
func (fs *FS) Open(p *kernel.Proc, path string, flags kernel.OpenFlags) (kernel.Regular, kernel.Errno) {
	panic("disk: Open")
}

// Mkdir is mkdir(2).
func (fs *FS) Mkdir(p *kernel.Proc, path string) kernel.Errno { panic("disk: Mkdir") }

// Unlink is unlink(2). An open file keeps its data until it is closed.
func (fs *FS) Unlink(p *kernel.Proc, path string) kernel.Errno { panic("disk: Unlink") }

// Rmdir is rmdir(2).
func (fs *FS) Rmdir(p *kernel.Proc, path string) kernel.Errno { panic("disk: Rmdir") }

// Rename is rename(2): atomic, also as seen after a power cut.
func (fs *FS) Rename(p *kernel.Proc, from, to string) kernel.Errno { panic("disk: Rename") }

// Stat is stat(2).
func (fs *FS) Stat(p *kernel.Proc, path string) (kernel.Stat, kernel.Errno) { panic("disk: Stat") }

// PathOf is the path by which f was opened, or "" if f is no file of a disk.
func PathOf(f kernel.File) string { panic("disk: PathOf") }

// Match tells whether a pattern means the file at path: the pattern's components match (as in path.Match) a run of
// consecutive components of path. So "*.log" means every log, "topic-0" everything below a directory of that name,
// "topic-0/*.log" the logs in it. A pattern that begins with a slash must match from the root.
func Match(pattern, path string) bool { panic("disk: Match") }
