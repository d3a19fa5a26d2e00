package disk

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/netsim/kernel"
)

// guest makes a process main out of a Go function, as an engine would. The function has a goroutine of its own, so that
// it can be left by Goexit, by the kernel (Unwind) or by a failed requirement. failed takes what went wrong.
func guest(body func(*kernel.Proc), failed *any) func(*kernel.Proc) {
	return func(p *kernel.Proc) {
		p.Unwind = runtime.Goexit
		over := make(chan struct{})
		go func() {
			returned := false
			defer close(over)
			defer func() {
				if r := recover(); r != nil {
					*failed = r
				} else if !returned && !p.Dying() {
					*failed = "a guest gave up"
				}
			}()
			body(p)
			returned = true
		}()
		<-over
	}
}

// bench is one host with a disk.
type bench struct {
	t  require.TestingT
	k  *kernel.Kernel
	fs *FS
	h  *kernel.Host
}

func newBench(t require.TestingT, seed uint64, opt Options) *bench {
	k := kernel.New(kernel.Options{Seed: seed})
	b := &bench{t: t, k: k, fs: New(k, "b1", opt)}
	b.h = &kernel.Host{Name: "b1", FS: b.fs}
	return b
}

// run lets guests run until all of them are over.
func (b *bench) run(bodies ...func(*kernel.Proc)) {
	defer b.k.Close()
	left := len(bodies)
	var failed any
	for i, body := range bodies {
		name := "p" + string(rune('0'+i))
		b.k.Spawn(b.h, name, "0", guest(body, &failed), func(*kernel.Proc) { left-- })
	}
	err := b.k.Run(func() bool { return left == 0 })
	if failed != nil {
		panic(failed)
	}
	require.NoError(b.t, err)
}

// wait repeats a call until it is no longer deferred.
func wait(p *kernel.Proc, call func() kernel.Errno) kernel.Errno {
	for {
		e := call()
		token := p.Deferred()
		if e != kernel.EAGAIN || token == 0 {
			return e
		}
		p.PollWait([]kernel.Poll{p.PollOn(token, kernel.Readable)}, -1)
		p.ResumeWith(token)
	}
}

const (
	rdwr   = kernel.OpenRead | kernel.OpenWrite
	create = rdwr | kernel.OpenCreate
)

func (b *bench) open(p *kernel.Proc, path string, flags kernel.OpenFlags) int {
	fd, e := p.Open(path, flags)
	require.Equal(b.t, kernel.OK, e, "open %s", path)
	return fd
}

func (b *bench) write(p *kernel.Proc, fd int, data []byte) {
	require.Equal(b.t, kernel.OK, wait(p, func() kernel.Errno {
		n, e := p.Write(fd, data)
		if e == kernel.OK {
			require.Equal(b.t, len(data), n)
		}
		return e
	}))
}

func (b *bench) sync(p *kernel.Proc, fd int) {
	require.Equal(b.t, kernel.OK, wait(p, func() kernel.Errno { return p.Sync(fd) }))
}

func (b *bench) syncDir(p *kernel.Proc, path string) {
	fd := b.open(p, path, kernel.OpenRead|kernel.OpenDir)
	b.sync(p, fd)
	p.Close(fd)
}

// durable makes a file whose content and name are durable.
func (b *bench) durable(p *kernel.Proc, path string, data []byte) int {
	fd := b.open(p, path, create)
	b.write(p, fd, data)
	b.sync(p, fd)
	b.syncDir(p, "/")
	return fd
}

func (b *bench) content(path string) []byte {
	data, err := b.fs.ReadFile(path)
	require.NoError(b.t, err)
	return data
}

func fill(c byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = c
	}
	return b
}

func TestReadWriteSeek(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create)
		b.write(p, fd, []byte("hello"))
		n, e := p.Pwrite(fd, []byte("J"), 0)
		require.Equal(t, []any{1, kernel.OK}, []any{n, e})
		at, _ := p.Seek(fd, -2, 2)
		require.EqualValues(t, 3, at)
		buf := make([]byte, 9)
		n, _ = p.Read(fd, buf)
		require.Equal(t, "lo", string(buf[:n]))
		n, e = p.Read(fd, buf)
		require.Equal(t, []any{0, kernel.OK}, []any{n, e}, "end of file")
		at, _ = p.Seek(fd, -4, 1)
		require.EqualValues(t, 1, at)
		_, e = p.Seek(fd, -9, 0)
		require.Equal(t, kernel.EINVAL, e)

		// A write behind the end leaves a hole of zeros.
		p.Pwrite(fd, []byte("x"), 2*PageSize)
		hole := make([]byte, 2*PageSize+1)
		n, _ = p.Pread(fd, hole, 0)
		require.Equal(t, 2*PageSize+1, n)
		require.Equal(t, append(append([]byte("Jello"), fill(0, 2*PageSize-5)...), 'x'), hole)

		require.Equal(t, kernel.OK, p.Truncate(fd, 2))
		require.Equal(t, kernel.OK, p.Truncate(fd, 4))
		require.Equal(t, "Je\x00\x00", string(b.content("/a")))
		st, _ := p.Fstat(fd)
		require.EqualValues(t, 4, st.Size)

		ap := b.open(p, "/a", kernel.OpenWrite|kernel.OpenAppend)
		b.write(p, ap, []byte("end"))
		require.Equal(t, "Je\x00\x00end", string(b.content("/a")))
		_, e = p.Read(ap, buf)
		require.Equal(t, kernel.EBADF, e)
		for _, off := range []int64{FileSizeMax, 1 << 62, math.MaxInt64} {
			require.Equal(t, kernel.EFBIG, second(p.Pwrite(fd, []byte("x"), off)), "offset %d", off)
		}
		require.Equal(t, kernel.OK, second(p.Seek(fd, math.MaxInt64, 0)))
		require.Equal(t, kernel.EFBIG, second(p.Write(fd, []byte("x"))))
		b.open(p, "/a", rdwr|kernel.OpenTrunc)
		require.Empty(t, b.content("/a"))
	})
}

func second[T any](_ T, e kernel.Errno) kernel.Errno { return e }

func TestNamesAndTheirErrors(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		require.Equal(t, kernel.OK, p.Mkdir("/d"))
		require.Equal(t, kernel.EEXIST, p.Mkdir("/d"))
		require.Equal(t, kernel.ENOENT, p.Mkdir("/x/y"), "the parent must exist")
		fd := b.open(p, "/d/f", create)
		open := func(path string, flags kernel.OpenFlags) kernel.Errno { return second(p.Open(path, flags)) }
		for _, c := range []struct {
			name      string
			got, want kernel.Errno
		}{
			{"missing", open("/nope", rdwr), kernel.ENOENT},
			{"exclusive", open("/d/f", create|kernel.OpenExcl), kernel.EEXIST},
			{"write a directory", open("/d", rdwr), kernel.EISDIR},
			{"a file as directory", open("/d/f", kernel.OpenRead|kernel.OpenDir), kernel.ENOTDIR},
			{"through a file", open("/d/f/g", create), kernel.ENOTDIR},
			{"long name", open("/"+string(fill('n', NameMax+1)), create), kernel.ENAMETOOLONG},
			{"relative", open("f", create), kernel.ENOENT},
			{"unlink a directory", p.Unlink("/d"), kernel.EISDIR},
			{"rmdir a file", p.Rmdir("/d/f"), kernel.ENOTDIR},
			{"rmdir what has entries", p.Rmdir("/d"), kernel.ENOTEMPTY},
			{"rmdir the root", p.Rmdir("/"), kernel.EINVAL},
			{"rename nothing", p.Rename("/nope", "/x"), kernel.ENOENT},
			{"rename below itself", p.Rename("/d", "/d/e"), kernel.EINVAL},
			{"rename a directory over a file", p.Rename("/d", "/d/f"), kernel.EINVAL},
			{"rename a file over a directory", p.Rename("/d/f", "/d"), kernel.EISDIR},
			{"sync a bad descriptor", p.Sync(99), kernel.EBADF},
			{"long name that fits", open("/"+string(fill('n', NameMax)), create), kernel.OK},
		} {
			require.Equal(t, c.want, c.got, c.name)
		}

		// Rename over an existing file; the replaced file stays readable through its descriptor.
		b.write(p, fd, []byte("old"))
		g := b.open(p, "/d/g", create)
		b.write(p, g, []byte("new"))
		require.Equal(t, kernel.OK, p.Rename("/d/g", "/d/f"))
		require.Equal(t, "new", string(b.content("/d/f")))
		buf := make([]byte, 3)
		n, _ := p.Pread(fd, buf, 0)
		require.Equal(t, "old", string(buf[:n]))
		st, _ := p.Fstat(fd)
		require.Zero(t, st.Links)

		// Rename over an empty directory, not over one with entries.
		p.Mkdir("/e")
		require.Equal(t, kernel.ENOTEMPTY, p.Rename("/e", "/d"))
		require.Equal(t, kernel.ENOTDIR, p.Rename("/e", "/d/f"))
		require.Equal(t, kernel.OK, p.Rename("/d", "/e"))
		require.Equal(t, []string{"/e/f", "/" + string(fill('n', NameMax))}, b.fs.Files())

		// Listed in name order; unlink of an open file keeps its data.
		for _, name := range []string{"/e/z", "/e/a"} {
			p.Close(b.open(p, name, create))
		}
		dir := b.open(p, "/e", kernel.OpenRead|kernel.OpenDir)
		list, _ := p.Entries(dir)
		require.Equal(t, []string{"a", "f", "z"}, []string{list[0].Name, list[1].Name, list[2].Name})
		require.Equal(t, kernel.OK, p.Unlink("/e/f"))
		n, _ = p.Pread(g, buf, 0)
		require.Equal(t, "new", string(buf[:n]))
		require.Equal(t, kernel.ENOENT, second(p.Stat("/e/f")))
	})
}

func TestCapacityIsBoundedAndComesBack(t *testing.T) {
	b := newBench(t, 1, Options{Capacity: 4 * PageSize})
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/a", create)
		n, e := p.Write(fd, fill('a', 5*PageSize))
		require.Equal(t, []any{4 * PageSize, kernel.OK}, []any{n, e}, "a short write first")
		require.Equal(t, kernel.ENOSPC, second(p.Write(fd, []byte("b"))))
		require.Equal(t, kernel.OK, second(p.Pwrite(fd, []byte("b"), 0)), "overwriting needs no space")
		require.Equal(t, kernel.OK, p.Unlink("/a"))
		other := b.open(p, "/b", create)
		require.Equal(t, kernel.ENOSPC, second(p.Write(other, []byte("b"))), "still open")
		p.Close(fd)
		b.write(p, other, fill('b', 4*PageSize))
		p.Truncate(other, PageSize)
		b.write(p, b.open(p, "/c", create), fill('c', 3*PageSize))
	})
	b.fs.PowerCut(Cut{Lose: LoseNone})
	require.Contains(t, b.fs.String(), "16384 of 16384 bytes used")
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.log", "/data/t-0/0.log", true},
		{"*.log", "/data/t-0/0.index", false},
		{"t-0", "/data/t-0/0.log", true},
		{"t-0/*.log", "/data/t-0/0.log", true},
		{"t-1/*.log", "/data/t-0/0.log", false},
		{"/data", "/data/t-0/0.log", true},
		{"/t-0", "/data/t-0/0.log", false},
		{"[", "/data", false},
	} {
		require.Equal(t, c.want, Match(c.pattern, c.path), "%s on %s", c.pattern, c.path)
	}
}

func TestInspection(t *testing.T) {
	b := newBench(t, 1, Options{})
	require.NoError(t, b.fs.WriteFile("/data/x/conf", []byte("one")))
	require.NoError(t, b.fs.WriteFile("/data/x/conf", []byte("two!")))
	require.NoError(t, b.fs.MkdirAll("/empty/dir"))
	require.ErrorContains(t, b.fs.WriteFile("/data", nil), "EISDIR")
	require.ErrorContains(t, b.fs.MkdirAll("/data/x/conf/y"), "ENOTDIR")
	_, err := b.fs.ReadFile("/data/none")
	require.ErrorContains(t, err, "disk: read /data/none on b1: ENOENT")
	b.fs.PowerCut(Cut{})
	require.Equal(t, "two!", string(b.content("/data/x/conf")), "installed files are durable")
	b.run(func(p *kernel.Proc) {
		fd := b.open(p, "/data/log", create)
		b.write(p, fd, fill('a', 3*PageSize))
		b.sync(p, fd)
		p.Pwrite(fd, []byte("b"), 2*PageSize)
		b.write(p, fd, []byte("tail"))
		p.Rename("/data/x/conf", "/data/conf")
		require.Equal(t, "/data/log", PathOf(p.File(fd)))
	})
	b.fs.Slow(1000)
	require.Equal(t, `disk b1: 36864 of 1073741824 bytes used, slow by 1000 ns
  /data/
  /data/conf  4 bytes
  /data/log  12292 bytes, durable 12288, dirty pages 2-3
  /data/x/
  /empty/
  /empty/dir/
  not durable: +/data/log (inode 7)
  not durable: -/data/x/conf +/data/conf (inode 4)
`, b.fs.String())
}

func TestCloneSharesUntilWritten(t *testing.T) {
	b := newBench(t, 1, Options{})
	var fork *FS
	b.run(func(p *kernel.Proc) {
		fd := b.durable(p, "/a", fill('a', PageSize))
		p.Pwrite(fd, []byte("B"), 0)
		p.Rename("/a", "/b")
		fork = b.fs.Clone("fork")
		require.Same(t, fork.root.names[0].node.slots[0].cached, b.fs.root.names[0].node.slots[0].cached)
		before := b.fs.String()
		p.Pwrite(fd, []byte("C"), 0)
		p.Rename("/b", "/c")
		require.NotEqual(t, before, b.fs.String())
	})
	data, err := fork.ReadFile("/b")
	require.NoError(t, err)
	require.Equal(t, byte('B'), data[0])
	fork.PowerCut(Cut{})
	data, err = fork.ReadFile("/a")
	require.NoError(t, err)
	require.Equal(t, fill('a', PageSize), data, "the fork has its own durable state")
	require.Equal(t, byte('C'), b.content("/c")[0])
}

// A process that can have no more descriptors changes nothing by trying to open a file.
func TestOpenWithoutAFreeDescriptor(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(func(p *kernel.Proc) {
		fd, e := p.Open("/f", kernel.OpenWrite|kernel.OpenCreate)
		require.Equal(t, kernel.OK, e)
		_, e = p.Write(fd, []byte("text"))
		require.Equal(t, kernel.OK, e)
		for e == kernel.OK {
			_, e = p.Open("/f", kernel.OpenRead)
		}
		require.Equal(t, kernel.EMFILE, e)
		_, e = p.Open("/f", kernel.OpenWrite|kernel.OpenTrunc)
		require.Equal(t, kernel.EMFILE, e)
		_, e = p.Open("/new", kernel.OpenWrite|kernel.OpenCreate)
		require.Equal(t, kernel.EMFILE, e)
		st, e := p.Stat("/f")
		require.Equal(t, []any{int64(4), kernel.OK}, []any{st.Size, e})
		_, e = p.Stat("/new")
		require.Equal(t, kernel.ENOENT, e)
	})
}
