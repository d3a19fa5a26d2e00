package disk

import (
	"bytes"

	"trialog/netsim/kernel"
)

// file is an open file or directory. It implements [kernel.Regular].
type file struct {
	fs    *FS
	node  *inode
	path  string
	flags kernel.OpenFlags
	boot  uint64 // of the filesystem when it was opened
	pos   int64
}

func (f *file) Kind() kernel.FileKind  { return f.node.kind() }
func (f *file) Ready(kernel.Mode) bool { return true }

func (f *file) Close(*kernel.Proc) {
	if f.boot != f.fs.boot {
		return // the power cut forgot every open file
	}
	f.node.opens--
	f.fs.release(f.node)
}

// SetAppend is O_APPEND by fcntl(2).
func (f *file) SetAppend(on bool) {
	f.flags &^= kernel.OpenAppend
	if on {
		f.flags |= kernel.OpenAppend
	}
}

func (f *file) Read(p *kernel.Proc, dst []byte) (int, kernel.Errno) {
	n, e := f.Pread(p, dst, f.pos)
	f.pos += int64(n)
	return n, e
}

func (f *file) Pread(p *kernel.Proc, dst []byte, off int64) (int, kernel.Errno) {
	switch {
	case f.node.dir:
		return 0, kernel.EISDIR
	case f.flags&kernel.OpenRead == 0:
		return 0, kernel.EBADF
	case off < 0:
		return 0, kernel.EINVAL
	}
	if _, e, yes := p.Resumed(); yes {
		if e != kernel.OK {
			return 0, e
		}
	} else if f.fs.slow > 0 || f.fs.stuck {
		return 0, f.fs.later(p, f.node, f.fs.slow, func() (int, kernel.Errno) { return 0, kernel.OK })
	}
	if f.fs.failReads {
		f.fs.k.Note(f.fs.host, "disk: EIO on read", int64(f.node.id), off, int64(len(dst)))
		return 0, kernel.EIO
	}
	return f.node.readAt(dst, off), kernel.OK
}

func (f *file) Write(p *kernel.Proc, src []byte) (int, kernel.Errno) {
	return f.write(p, src, func(b []byte) (int, kernel.Errno) {
		if f.flags&kernel.OpenAppend != 0 {
			f.pos = f.node.size
		}
		n, e := f.put(b, f.pos)
		f.pos += int64(n)
		return n, e
	})
}

func (f *file) Pwrite(p *kernel.Proc, src []byte, off int64) (int, kernel.Errno) {
	if off < 0 {
		return 0, kernel.EINVAL
	}
	return f.write(p, src, func(b []byte) (int, kernel.Errno) {
		if f.flags&kernel.OpenAppend != 0 {
			off = f.node.size // as Linux does it
		}
		return f.put(b, off)
	})
}

// write puts the bytes at once, or, when the disk is slow, at the end of a deferred call. Under O_SYNC it ends when they
// are durable.
func (f *file) write(p *kernel.Proc, src []byte, put func([]byte) (int, kernel.Errno)) (int, kernel.Errno) {
	if f.node.dir || f.flags&kernel.OpenWrite == 0 {
		return 0, kernel.EBADF
	}
	if n, e, yes := p.Resumed(); yes {
		return n, e
	}
	if f.flags&kernel.OpenSync != 0 {
		return f.writeThrough(p, src, put)
	}
	if f.fs.slow == 0 && !f.fs.stuck {
		return put(src)
	}
	src = bytes.Clone(src)
	return 0, f.fs.later(p, f.node, f.fs.slow, func() (int, kernel.Errno) { return put(src) })
}

// Sure implements [kernel.SureFile].
func (f *file) Sure() bool {
	return !f.node.dir && f.flags&kernel.OpenWrite != 0 && f.flags&kernel.OpenSync == 0
}

// WriteSure implements [kernel.SureFile]. There was room when the disk was last said to be calm, and the guest has made
// no call since.
func (f *file) WriteSure(src []byte, off int64) kernel.Errno {
	at := &off
	if off < 0 {
		at = &f.pos
	}
	if f.flags&kernel.OpenAppend != 0 {
		*at = f.node.size
	}
	full, limit := f.fs.full, f.fs.limit
	f.fs.full, f.fs.limit = false, noLimit
	n, e := f.fs.writeAt(f.node, src, *at)
	f.fs.full, f.fs.limit = full, limit
	*at += int64(n)
	if e == kernel.OK && n < len(src) {
		return kernel.ENOSPC
	}
	return e
}

// writeThrough is a write and an fsync in one call.
func (f *file) writeThrough(p *kernel.Proc, src []byte, put func([]byte) (int, kernel.Errno)) (int, kernel.Errno) {
	n, e := put(src)
	if e != kernel.OK || n == 0 {
		return n, e
	}
	return 0, f.sync(p, f.fs.beginData(f.node), n)
}

func (f *file) put(b []byte, off int64) (int, kernel.Errno) {
	if f.fs.short && len(b) > 1 {
		b = b[:1+f.fs.shorts.Intn(len(b)-1)]
	}
	if f.fs.failWrites {
		f.fs.k.Note(f.fs.host, "disk: EIO on write", int64(f.node.id), off, int64(len(b)))
		return 0, kernel.EIO
	}
	return f.fs.writeAt(f.node, b, off)
}

func (f *file) Seek(p *kernel.Proc, off int64, whence int) (int64, kernel.Errno) {
	switch whence {
	case 0:
	case 1:
		off += f.pos
	case 2:
		off += f.node.size
	default:
		return 0, kernel.EINVAL
	}
	if off < 0 {
		return 0, kernel.EINVAL
	}
	f.pos = off
	f.fs.reached(off)
	return off, kernel.OK
}

func (f *file) Truncate(p *kernel.Proc, size int64) kernel.Errno {
	switch {
	case f.node.dir, size < 0, f.flags&kernel.OpenWrite == 0:
		return kernel.EINVAL
	case size > FileSizeMax:
		return kernel.EFBIG
	}
	f.fs.resize(f.node, size)
	return kernel.OK
}

func (f *file) Stat(*kernel.Proc) (kernel.Stat, kernel.Errno) { return f.node.stat(), kernel.OK }

func (f *file) Entries(*kernel.Proc) ([]kernel.DirEntry, kernel.Errno) {
	if !f.node.dir {
		return nil, kernel.ENOTDIR
	}
	list := make([]kernel.DirEntry, len(f.node.names))
	for i, e := range f.node.names {
		list[i] = kernel.DirEntry{Name: e.name, Kind: e.node.kind(), Inode: e.node.id}
	}
	return list, kernel.OK
}

// Sync is fsync(2): it takes seeded time, and makes durable what was there when it began.
func (f *file) Sync(p *kernel.Proc) kernel.Errno {
	if _, e, yes := p.Resumed(); yes {
		return e
	}
	if f.node.dir {
		return f.sync(p, f.fs.beginNames(f.node), 0)
	}
	return f.sync(p, f.fs.beginData(f.node), 0)
}

// sync defers a call that will return n, and ends what was begun.
func (f *file) sync(p *kernel.Proc, finish func(ok bool), n int) kernel.Errno {
	fs := f.fs
	took := fs.latency.Between(fs.opt.SyncNsMin, fs.opt.SyncNsMax) + fs.slow
	return fs.later(p, f.node, took, func() (int, kernel.Errno) {
		if fs.failSyncs {
			fs.k.Note(fs.host, "disk: EIO on fsync", int64(f.node.id), 0, 0)
			finish(false)
			return 0, kernel.EIO
		}
		finish(true)
		return n, kernel.OK
	})
}
