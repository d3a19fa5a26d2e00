package wasi

import (
	"path"

	"trialog/netsim/kernel"
)

// iov runs a transfer over a vector of buffers, stopping at the first short or failed one.
func iov(m memory, a []uint64, result uint64, do func(b []byte, done int) (int, kernel.Errno)) uint64 {
	vec := m.bytes(a[1], 8*uint64(uint32(a[2])))
	done := 0
	for i := 0; i < len(vec); i += 8 {
		b := m.bytes(uint64(le.Uint32(vec[i:])), uint64(le.Uint32(vec[i+4:])))
		n, e := do(b, done)
		if e != kernel.OK {
			if done > 0 {
				break
			}
			return errno(e)
		}
		done += n
		if n < len(b) {
			break
		}
	}
	m.put32(result, uint32(done))
	return 0
}

func fdRead(g *guest, m memory, a []uint64) uint64 {
	fd := int(int32(a[0]))
	return iov(m, a, a[3], func(b []byte, _ int) (int, kernel.Errno) { return g.p.Read(fd, b) })
}

func fdWrite(g *guest, m memory, a []uint64) uint64 {
	fd := int(int32(a[0]))
	return iov(m, a, a[3], func(b []byte, _ int) (int, kernel.Errno) { return g.p.Write(fd, b) })
}

func fdPread(g *guest, m memory, a []uint64) uint64 {
	fd, off := int(int32(a[0])), int64(a[3])
	return iov(m, a, a[4], func(b []byte, done int) (int, kernel.Errno) { return g.p.Pread(fd, b, off+int64(done)) })
}

func fdPwrite(g *guest, m memory, a []uint64) uint64 {
	fd, off := int(int32(a[0])), int64(a[3])
	return iov(m, a, a[4], func(b []byte, done int) (int, kernel.Errno) { return g.p.Pwrite(fd, b, off+int64(done)) })
}

func fdClose(g *guest, _ memory, a []uint64) uint64 {
	fd := int32(a[0])
	for i := range g.dirs {
		if g.dirs[i].fd == fd {
			g.dirs = append(g.dirs[:i], g.dirs[i+1:]...)
			break
		}
	}
	return errno(g.p.Close(int(fd)))
}

func fdSync(g *guest, _ memory, a []uint64) uint64 { return errno(g.p.Sync(int(int32(a[0])))) }

func fdSetSize(g *guest, _ memory, a []uint64) uint64 {
	return errno(g.p.Truncate(int(int32(a[0])), int64(a[1])))
}

func fdSeek(g *guest, m memory, a []uint64) uint64 {
	pos, e := g.p.Seek(int(int32(a[0])), int64(a[1]), int(uint32(a[2])))
	if e == kernel.OK {
		m.put64(a[3], uint64(pos))
	}
	return errno(e)
}

// File types of WASI.
const (
	typeChar, typeDir, typeRegular, typeStream = 2, 3, 4, 6
)

func fileType(k kernel.FileKind) byte {
	switch k {
	case kernel.KindDirectory:
		return typeDir
	case kernel.KindRegular:
		return typeRegular
	case kernel.KindSocket:
		return typeStream
	default:
		return typeChar
	}
}

func putStat(m memory, ptr uint64, st kernel.Stat) {
	b := m.bytes(ptr, 64)
	clear(b)
	le.PutUint64(b, 1)
	le.PutUint64(b[8:], st.Inode)
	b[16] = fileType(st.Kind)
	le.PutUint64(b[24:], st.Links)
	le.PutUint64(b[32:], uint64(st.Size))
	for at := 40; at < 64; at += 8 {
		le.PutUint64(b[at:], uint64(kernel.Epoch+st.ModTime))
	}
}

func fdFilestat(g *guest, m memory, a []uint64) uint64 {
	st, e := g.p.Fstat(int(int32(a[0])))
	if e == kernel.OK {
		putStat(m, a[1], st)
	}
	return errno(e)
}

const flagNonblock = 4

func fdFdstat(g *guest, m memory, a []uint64) uint64 {
	f := g.p.File(int(int32(a[0])))
	if f == nil {
		return errno(kernel.EBADF)
	}
	b := m.bytes(a[1], 24)
	clear(b)
	b[0] = fileType(f.Kind())
	le.PutUint16(b[2:], flagNonblock)
	le.PutUint64(b[8:], ^uint64(0))
	le.PutUint64(b[16:], ^uint64(0))
	return 0
}

func fdPrestat(_ *guest, m memory, a []uint64) uint64 {
	if int32(a[0]) != rootFD {
		return errno(kernel.EBADF)
	}
	m.put32(a[1], 0)
	m.put32(a[1]+4, 1)
	return 0
}

func fdPrestatName(_ *guest, m memory, a []uint64) uint64 {
	if int32(a[0]) != rootFD {
		return errno(kernel.EBADF)
	}
	copy(m.bytes(a[1], a[2]), "/")
	return 0
}

const direntSize = 24

func fdReaddir(g *guest, m memory, a []uint64) uint64 {
	list, e := g.p.Entries(int(int32(a[0])))
	if e != kernel.OK {
		return errno(e)
	}
	first := a[3]
	if d := g.dir(int32(a[0])); d != nil {
		if first == 0 {
			d.list = list
		}
		list = d.list
	}
	buf := m.bytes(a[1], a[2])
	used := 0
	for i := int(min(first, uint64(len(list)))); i < len(list) && used < len(buf); i++ {
		var h [direntSize]byte
		le.PutUint64(h[:], uint64(i+1))
		le.PutUint64(h[8:], list[i].Inode)
		le.PutUint32(h[16:], uint32(len(list[i].Name)))
		h[20] = fileType(list[i].Kind)
		used += copy(buf[used:], h[:])
		used += copy(buf[used:], list[i].Name)
	}
	m.put32(a[4], uint32(used))
	return 0
}

// resolve makes the absolute path of a path relative to an open directory.
func (g *guest) resolve(fd int32, rel string) (string, kernel.Errno) {
	if d := g.dir(fd); d != nil {
		return path.Join(d.path, rel), kernel.OK
	}
	return "", kernel.EBADF
}

// dir is the open directory behind a descriptor, or nil.
func (g *guest) dir(fd int32) *openDir {
	for i := range g.dirs {
		if g.dirs[i].fd == fd {
			return &g.dirs[i]
		}
	}
	return nil
}

// onPath runs a call on the path in the operands (descriptor, pointer, length).
func onPath(g *guest, m memory, fd, ptr, n uint64, do func(string) kernel.Errno) uint64 {
	p, e := g.resolve(int32(fd), m.text(ptr, n))
	if e == kernel.OK {
		e = do(p)
	}
	return errno(e)
}

// Flags and rights of path_open.
const (
	oCreate, oDirectory, oExcl, oTrunc = 1, 2, 4, 8
	flagAppend, flagDataSync, flagSync = 1, 2, 16
	rightRead, rightWrite              = 1 << 1, 1 << 6
)

func pathOpen(g *guest, m memory, a []uint64) uint64 {
	oflags, rights, fdflags := a[4], a[5], a[7]
	var fl kernel.OpenFlags
	for _, x := range []struct {
		on bool
		f  kernel.OpenFlags
	}{
		{oflags&oCreate != 0, kernel.OpenCreate}, {oflags&oDirectory != 0, kernel.OpenDir},
		{oflags&oExcl != 0, kernel.OpenExcl}, {oflags&oTrunc != 0, kernel.OpenTrunc},
		{fdflags&flagAppend != 0, kernel.OpenAppend}, {fdflags&(flagDataSync|flagSync) != 0, kernel.OpenSync},
		{rights&rightRead != 0, kernel.OpenRead}, {rights&rightWrite != 0, kernel.OpenWrite},
	} {
		if x.on {
			fl |= x.f
		}
	}
	return onPath(g, m, a[0], a[2], a[3], func(p string) kernel.Errno {
		fd, e := g.p.Open(p, fl)
		if e != kernel.OK {
			return e
		}
		if g.p.File(fd).Kind() == kernel.KindDirectory {
			g.dirs = append(g.dirs, openDir{fd: int32(fd), path: p})
		}
		m.put32(a[8], uint32(fd))
		return kernel.OK
	})
}

func pathMkdir(g *guest, m memory, a []uint64) uint64 {
	return onPath(g, m, a[0], a[1], a[2], g.p.Mkdir)
}
func pathUnlink(g *guest, m memory, a []uint64) uint64 {
	return onPath(g, m, a[0], a[1], a[2], g.p.Unlink)
}
func pathRmdir(g *guest, m memory, a []uint64) uint64 {
	return onPath(g, m, a[0], a[1], a[2], g.p.Rmdir)
}

func pathRename(g *guest, m memory, a []uint64) uint64 {
	return onPath(g, m, a[0], a[1], a[2], func(from string) kernel.Errno {
		to, e := g.resolve(int32(a[3]), m.text(a[4], a[5]))
		if e != kernel.OK {
			return e
		}
		return g.p.Rename(from, to)
	})
}

// Flags of path_filestat_set_times; the simulated disk keeps no access times.
const setMod, setModNow = 4, 8

func pathSetTimes(g *guest, m memory, a []uint64) uint64 {
	return onPath(g, m, a[0], a[2], a[3], func(p string) kernel.Errno {
		switch {
		case a[6]&setModNow != 0:
			return g.p.SetModTime(p, g.p.Kernel().Now())
		case a[6]&setMod != 0:
			return g.p.SetModTime(p, int64(a[5])-kernel.Epoch)
		}
		_, e := g.p.Stat(p)
		return e
	})
}

func pathFilestat(g *guest, m memory, a []uint64) uint64 {
	return onPath(g, m, a[0], a[2], a[3], func(p string) kernel.Errno {
		st, e := g.p.Stat(p)
		if e == kernel.OK {
			putStat(m, a[4], st)
		}
		return e
	})
}
