//go:build linux && amd64

package native

import (
	"io"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/native/page"
)

// openDir is an open directory: its path, for calls relative to it, and what it held when reading began, so that
// changes skip and repeat nothing.
type openDir struct {
	fd   int
	path string
	list []kernel.DirEntry
	next int
}

func (g *guest) dir(fd int) *openDir {
	for i := range g.dirs {
		if g.dirs[i].fd == fd {
			return &g.dirs[i]
		}
	}
	return nil
}

// dirOf is dir, or the error of a call that needs one.
func (g *guest) dirOf(fd int) (*openDir, kernel.Errno) {
	if d := g.dir(fd); d != nil {
		return d, kernel.OK
	}
	if g.p.File(fd) == nil {
		return nil, kernel.EBADF
	}
	return nil, kernel.ENOTDIR
}

// out is room in the buffer for a result of at most n bytes.
func (g *guest) out(n uint64) []byte { return g.buf[:min(n, page.SimBufferSize)] }

func fdOf(v uint64) int { return int(int32(v)) }

func read(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd, b := fdOf(a[0]), g.out(a[2])
	n, e := g.p.Read(fd, b)
	if e == kernel.OK {
		g.Out = uint32(n)
	}
	if e == kernel.EAGAIN || 0 < n && n < len(b) {
		g.dry(fd)
	}
	return result(n, e)
}

func write(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd, b := fdOf(a[0]), g.buf[:g.In[0]]
	n, e := g.p.Write(fd, b)
	if e == kernel.OK && n < len(b) {
		g.arm(fd, kernel.Writable)
	}
	return result(n, e)
}

func pread(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	n, e := g.p.Pread(fdOf(a[0]), g.out(a[2]), int64(a[3]))
	if e == kernel.OK {
		g.Out = uint32(n)
	}
	return result(n, e)
}

func pwrite(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	return result(g.p.Pwrite(fdOf(a[0]), g.buf[:g.In[0]], int64(a[3])))
}

func closeFD(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd := fdOf(a[0])
	if fd >= epollFD {
		return 0, kernel.OK
	}
	return 0, g.close(fd)
}

func (g *guest) close(fd int) kernel.Errno {
	for i := range g.dirs {
		if g.dirs[i].fd == fd {
			g.dirs = append(g.dirs[:i], g.dirs[i+1:]...)
			break
		}
	}
	g.unwatch(fd)
	if uint(fd) < page.SimFDMax {
		g.Flags[fd] = 0
		for _, s := range []*page.SimFDSet{&g.Files, &g.Streams, &g.Sinks, &g.Blocking, &g.Plain} {
			unset(s, fd)
		}
	}
	return g.p.Close(fd)
}

// lseek of a directory chooses the entry to go on with; one at the start sees the directory as it has become.
func lseek(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	off, whence := int64(a[1]), fdOf(a[2])
	d := g.dir(fdOf(a[0]))
	if d != nil && whence == io.SeekCurrent {
		off, whence = off+int64(d.next), io.SeekStart
	}
	at, e := g.p.Seek(fdOf(a[0]), off, whence)
	if d != nil && e == kernel.OK {
		d.next = int(min(at, int64(len(d.list))))
	}
	return result(at, e)
}

func fsync(g *guest, a *[6]uint64) (uint64, kernel.Errno) { return 0, g.p.Sync(fdOf(a[0])) }

func ftruncate(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	return 0, g.p.Truncate(fdOf(a[0]), int64(a[1]))
}

// truncate is what it is in other systems: open, ftruncate, close.
func truncate(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	return g.onPath(cwd, func(name string) kernel.Errno {
		fd, e := g.p.Open(name, kernel.OpenWrite)
		if e != kernel.OK {
			return e
		}
		e = g.p.Truncate(fd, int64(a[1]))
		if c := g.p.Close(fd); e == kernel.OK {
			e = c
		}
		return e
	})
}

// ioctl says what programs ask by it: nothing here is a terminal.
func ioctl(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if g.p.File(fdOf(a[0])) == nil {
		return 0, kernel.EBADF
	}
	return 0, enotty
}

func fstat(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	st, e := g.p.Fstat(fdOf(a[0]))
	return 0, g.putStat(st, e)
}

const (
	statSize  = 144
	blockSize = 4096
)

// putStat lays out struct stat. Access and change times are the modification time; every file belongs to root.
func (g *guest) putStat(st kernel.Stat, e kernel.Errno) kernel.Errno {
	if e != kernel.OK {
		return e
	}
	b := g.buf[:statSize]
	clear(b)
	mode := uint32(0)
	switch st.Kind {
	case kernel.KindRegular:
		mode = unix.S_IFREG | 0o644
	case kernel.KindDirectory:
		mode = unix.S_IFDIR | 0o755
	case kernel.KindSocket:
		mode = unix.S_IFSOCK | 0o777
	case kernel.KindPipe:
		mode = unix.S_IFIFO | 0o600
	default:
		mode = unix.S_IFCHR | 0o620
	}
	le.PutUint64(b, 1)
	le.PutUint64(b[8:], st.Inode)
	le.PutUint64(b[16:], st.Links)
	le.PutUint32(b[24:], mode)
	le.PutUint64(b[48:], uint64(st.Size))
	le.PutUint64(b[56:], blockSize)
	le.PutUint64(b[64:], uint64(st.Size+511)/512)
	t := kernel.Epoch + st.ModTime
	for at := 72; at < 120; at += 16 {
		le.PutUint64(b[at:], uint64(t/1e9))
		le.PutUint64(b[at+8:], uint64(t%1e9))
	}
	g.Out = statSize
	return kernel.OK
}

// pathMax is where a path begins to be too long, as in Linux; no longer one is copied.
const pathMax = 4096

// resolve makes an absolute path of one relative to a directory. A slash at its end says that it is a directory.
func (g *guest) resolve(at uint64, rel string) (string, kernel.Errno) {
	name := rel
	switch {
	case rel == "":
		return "", kernel.ENOENT
	case len(rel) >= pathMax:
		return "", kernel.ENAMETOOLONG
	case strings.HasPrefix(rel, "/"):
	case fdOf(at) == unix.AT_FDCWD:
		name = g.cwd + "/" + rel
	default:
		d, e := g.dirOf(fdOf(at))
		if e != kernel.OK {
			return "", e
		}
		name = d.path + "/" + rel
	}
	name = path.Clean(name)
	if strings.HasSuffix(rel, "/") && g.kind(name) == kernel.KindRegular {
		return "", kernel.ENOTDIR
	}
	return name, kernel.OK
}

// kind is what there is at a path, 0 if nothing. It is no system call.
func (g *guest) kind(name string) kernel.FileKind {
	st, _ := g.p.Host.FS.Stat(g.p, name)
	return st.Kind
}

// first and second are the operands that were copied in.
func (g *guest) first() string  { return string(g.buf[:g.In[0]]) }
func (g *guest) second() string { return string(g.buf[g.In[0] : g.In[0]+g.In[1]]) }

const cwd = ^uint64(0) - 99 // AT_FDCWD

func open(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	return openat(g, &[6]uint64{cwd, a[0], a[1], a[2]})
}

func openat(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	name, e := g.resolve(a[0], g.first())
	if e != kernel.OK {
		return 0, e
	}
	flags, fl := int(a[2]), kernel.OpenRead
	switch flags & unix.O_ACCMODE {
	case unix.O_WRONLY:
		fl = kernel.OpenWrite
	case unix.O_RDWR:
		fl = kernel.OpenRead | kernel.OpenWrite
	}
	for _, x := range []struct {
		flag int
		f    kernel.OpenFlags
	}{
		{unix.O_CREAT, kernel.OpenCreate}, {unix.O_EXCL, kernel.OpenExcl}, {unix.O_TRUNC, kernel.OpenTrunc},
		{unix.O_APPEND, kernel.OpenAppend}, {unix.O_DIRECTORY, kernel.OpenDir},
		{unix.O_DSYNC, kernel.OpenSync}, // of which O_SYNC is more
	} {
		if flags&x.flag != 0 {
			fl |= x.f
		}
	}
	fd, e := g.p.Open(name, fl)
	if e != kernel.OK {
		return 0, e
	}
	if g.p.File(fd).Kind() == kernel.KindDirectory {
		g.dirs = append(g.dirs, openDir{fd: fd, path: name})
	}
	g.opened(&g.Files, fd, uint16(flags&(unix.O_ACCMODE|unix.O_APPEND)), 0)
	return uint64(fd), kernel.OK
}

// getdents lays out struct linux_dirent64, as many as fit.
func getdents(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd := fdOf(a[0])
	d, e := g.dirOf(fd)
	if e != kernel.OK {
		return 0, e
	}
	if d.next == 0 {
		list, e := g.p.Entries(fd)
		if e != kernel.OK {
			return 0, e
		}
		d.list = list
	}
	b, used := g.out(a[2]), 0
	for ; d.next < len(d.list); d.next++ {
		x := &d.list[d.next]
		n := (19 + len(x.Name) + 1 + 7) &^ 7
		if used+n > len(b) {
			break
		}
		rec := b[used : used+n]
		clear(rec)
		le.PutUint64(rec, x.Inode)
		le.PutUint64(rec[8:], uint64(d.next+1))
		le.PutUint16(rec[16:], uint16(n))
		rec[18] = unix.DT_REG
		if x.Kind == kernel.KindDirectory {
			rec[18] = unix.DT_DIR
		}
		copy(rec[19:], x.Name)
		used += n
	}
	g.Out = uint32(used)
	return uint64(used), kernel.OK
}

// appender is a file whose writes may be told to go to its end.
type appender interface{ SetAppend(on bool) }

// fcntl is what the guest does not answer itself: F_GETFL, and F_SETFL that leaves O_APPEND as it is.
func fcntl(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd := fdOf(a[0])
	f := g.p.File(fd)
	if f == nil {
		return 0, kernel.EBADF
	}
	switch a[1] {
	case unix.F_GETFD, unix.F_SETFD, unix.F_SETLK, unix.F_SETLKW, unix.F_GETLK, unix.F_OFD_SETLK:
		return 0, kernel.OK
	case unix.F_SETFL:
		if f, ok := f.(appender); ok {
			f.SetAppend(a[2]&unix.O_APPEND != 0)
		}
		g.Flags[fd] = g.Flags[fd]&^unix.O_APPEND | uint16(a[2]&unix.O_APPEND)
		return 0, kernel.OK
	}
	g.sayOnce(g.Num, "command %d of fcntl is not served: EINVAL", a[1])
	return 0, kernel.EINVAL
}

// onPath runs a call on the path in the first operand.
func (g *guest) onPath(at uint64, do func(string) kernel.Errno) (uint64, kernel.Errno) {
	name, e := g.resolve(at, g.first())
	if e == kernel.OK {
		e = do(name)
	}
	return 0, e
}

func (g *guest) stat(name string) kernel.Errno {
	st, e := g.p.Stat(name)
	return g.putStat(st, e)
}

func stat(g *guest, _ *[6]uint64) (uint64, kernel.Errno) { return g.onPath(cwd, g.stat) }

func fstatat(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if a[3]&unix.AT_EMPTY_PATH != 0 && g.In[0] == 0 {
		return fstat(g, a)
	}
	return g.onPath(a[0], g.stat)
}

func mkdirat(g *guest, a *[6]uint64) (uint64, kernel.Errno) { return g.onPath(a[0], g.p.Mkdir) }
func mkdir(g *guest, _ *[6]uint64) (uint64, kernel.Errno)   { return g.onPath(cwd, g.p.Mkdir) }
func unlink(g *guest, _ *[6]uint64) (uint64, kernel.Errno)  { return g.onPath(cwd, g.p.Unlink) }
func rmdir(g *guest, _ *[6]uint64) (uint64, kernel.Errno)   { return g.onPath(cwd, g.p.Rmdir) }

func unlinkat(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if a[2]&unix.AT_REMOVEDIR != 0 {
		return g.onPath(a[0], g.p.Rmdir)
	}
	return g.onPath(a[0], g.p.Unlink)
}

func rename(g *guest, _ *[6]uint64) (uint64, kernel.Errno) {
	return renameat(g, &[6]uint64{cwd, 0, cwd})
}

func renameat(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if g.Num == unix.SYS_RENAMEAT2 && a[4] != 0 {
		return 0, kernel.EINVAL
	}
	to, e := g.resolve(a[2], g.second())
	if e != kernel.OK {
		return 0, e
	}
	return g.onPath(a[0], func(from string) kernel.Errno {
		if strings.HasSuffix(g.second(), "/") && g.kind(from) == kernel.KindRegular {
			return kernel.ENOTDIR
		}
		return g.p.Rename(from, to)
	})
}

func utimensat(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	times := g.buf[g.In[0] : g.In[0]+g.In[1]]
	return g.onPath(a[0], func(name string) kernel.Errno {
		t := g.p.Kernel().Now()
		if len(times) == 32 {
			sec, nsec := int64(le.Uint64(times[16:])), int64(le.Uint64(times[24:]))
			switch nsec {
			case unix.UTIME_NOW:
			case unix.UTIME_OMIT:
				_, e := g.p.Stat(name)
				return e
			default:
				t = sec*1e9 + nsec - kernel.Epoch
			}
		}
		return g.p.SetModTime(name, t)
	})
}

// readlinkat knows the one link that programs ask for; nothing on the disk is one.
func readlinkat(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if g.first() == "/proc/self/exe" {
		n := copy(g.out(a[3]), "/bin/"+path.Base(g.name))
		g.Out = uint32(n)
		return uint64(n), kernel.OK
	}
	return g.onPath(a[0], func(name string) kernel.Errno {
		if _, e := g.p.Stat(name); e != kernel.OK {
			return e
		}
		return kernel.EINVAL
	})
}

func faccessat(g *guest, a *[6]uint64) (uint64, kernel.Errno) { return g.onPath(a[0], g.exists) }

func (g *guest) exists(name string) kernel.Errno {
	_, e := g.p.Stat(name)
	return e
}

func getcwd(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if a[1] < uint64(len(g.cwd)+1) {
		return 0, erange
	}
	g.Out = uint32(copy(g.buf, g.cwd+"\x00"))
	return uint64(g.Out), kernel.OK
}

func chdir(g *guest, _ *[6]uint64) (uint64, kernel.Errno) {
	return g.onPath(cwd, func(name string) kernel.Errno {
		st, e := g.p.Stat(name)
		switch {
		case e != kernel.OK:
			return e
		case st.Kind != kernel.KindDirectory:
			return kernel.ENOTDIR
		}
		g.cwd = name
		return kernel.OK
	})
}

func fchdir(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	d, e := g.dirOf(fdOf(a[0]))
	if e == kernel.OK {
		g.cwd = d.path
	}
	return 0, e
}
