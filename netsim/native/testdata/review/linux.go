package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linux makes calls whose answers every Linux gives, in the directory that is the first operand. Errors are printed
// without their paths.
func linux(args []string) {
	base := args[0]
	at := func(name string) string { return filepath.Join(base, name) }
	show := func(what string, values ...any) {
		for i, v := range values {
			var pe *fs.PathError
			var le *os.LinkError
			if err, ok := v.(error); ok && errors.As(err, &pe) {
				values[i] = pe.Err
			} else if ok && errors.As(err, &le) {
				values[i] = le.Err
			}
		}
		fmt.Println(append([]any{what}, values...)...)
	}
	names(base, at, show)
	directories(at, show)
	contents(at, show)
	descriptors(at, show)
}

type (
	namer  = func(string) string
	shower = func(string, ...any)
)

func write(name, text string) error { return os.WriteFile(name, []byte(text), 0o644) }

func names(base string, at namer, show shower) {
	show("mkdir", os.Mkdir(at("d"), 0o755), os.Mkdir(at("d"), 0o755), os.Mkdir(at("none/d"), 0o755), os.Mkdir(at("."), 0o755))
	show("write", write(at("f"), "one"), write(at("d"), "x"), write(at("none/f"), "x"), write(at("f/x"), "x"), write(at("d/g"), "g"))
	show("mkdir on a file", os.Mkdir(at("f"), 0o755), os.Mkdir(at("f/x"), 0o755))
	show("empty", os.Mkdir("", 0o755), write("", ""), os.Remove(""), os.Rename("", at("x")), os.Rename(at("f"), ""))
	long := strings.Repeat("n", 256)
	raw := base + strings.Repeat("/.", 2100) + "/f" // os cleans nothing
	var st unix.Stat_t
	show("long", write(at(long), "x"), unix.Stat(raw, &st), unix.Stat(base+strings.Repeat("/.", 100)+"/f", &st))
	show("slash", unix.Stat(at("f")+"/", &st), unix.Stat(at("d")+"/", &st), unix.Mkdir(at("e")+"/", 0o755), unix.Rmdir(at("e")+"/"),
		unix.Unlink(at("f")+"/"), unix.Rename(at("f"), at("h")+"/"))
	_, err := os.OpenFile(at("f"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	show("excl", err)
	_, err = os.OpenFile(at("d"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	show("excl on a directory", err)
	_, err = os.OpenFile(at("d"), os.O_RDWR, 0)
	show("directory for writing", err)
	_, err = os.OpenFile(at("f"), syscall.O_DIRECTORY, 0)
	show("file as directory", err)

	show("rename", os.Rename(at("none"), at("x")), os.Rename(at("f"), at("d")), os.Rename(at("d"), at("f")), os.Rename(at("d"), at("d/in")),
		os.Rename(at("f"), at("f")), os.Rename(at("f"), at("none/f")), os.Rename(at("f/x"), at("x")))
	os.Mkdir(at("empty"), 0o755)
	show("rename of directories", os.Rename(at("empty"), at("d")), unix.Rename(at("d"), at("empty")), os.Rename(at("empty"), at("d")))
	show("remove", unix.Unlink(at("d")), unix.Rmdir(at("d")), unix.Rmdir(at("f")), unix.Unlink(at("none")), unix.Rmdir(at("none")), unix.Unlink(at("f/x")))
	show("chmod", os.Chmod(at("none"), 0o600), os.Chmod(at("f"), 0o644), os.Chown(at("none"), 0, 0), os.Lchown(at("none"), 0, 0))
	show("times", os.Chtimes(at("none"), time.Now(), time.Now()), os.Chtimes(at("f"), time.Unix(1, 2), time.Unix(1_800_000_000, 123456789)))
	fi, err := os.Stat(at("f"))
	show("stat", fi.Size(), fi.ModTime().UnixNano(), fi.Mode().Type(), fi.IsDir(), err)
	show("access", unix.Access(at("f"), unix.R_OK), unix.Access(at("none"), unix.F_OK), unix.Access(at("f/x"), unix.F_OK))
	_, err = os.Readlink(at("f"))
	show("readlink", err)
	_, err = os.Readlink(at("none"))
	show("readlink", err)

	show("chdir", os.Chdir(at("none")), os.Chdir(at("f")), os.Chdir(at("d")))
	wd, err := unix.Getwd()
	rel, _ := filepath.Rel(base, wd)
	_, serr := os.Stat("g")
	show("below", rel, err, write("new", "n"), serr)
	_, err = os.Stat(at("d/new"))
	show("absolute", err, os.Chdir(".."), write("up", "u"))
	_, err = os.Stat(at("up"))
	d, derr := os.Open(at("d"))
	show("up", err, derr, d.Chdir())
	_, err = os.Stat("new")
	f, _ := os.Open(at("f"))
	_, gerr := unix.Getcwd(make([]byte, 2))
	show("by descriptor", err, f.Chdir(), gerr, os.Chdir(base))
	show("at", unix.Fstatat(int(d.Fd()), "new", &st, 0), unix.Fstatat(int(f.Fd()), "new", &st, 0), unix.Fstatat(999, "new", &st, 0),
		unix.Unlinkat(int(d.Fd()), "new", 0), unix.Mkdirat(int(d.Fd()), "sub", 0o755), unix.Unlinkat(int(d.Fd()), "sub", unix.AT_REMOVEDIR))
	d.Close()
	f.Close()
}

func directories(at namer, show shower) {
	os.Mkdir(at("list"), 0o755)
	for i := range 500 {
		write(at(fmt.Sprintf("list/%03d", i)), "")
	}
	count := func(f *os.File) int {
		list, err := f.Readdirnames(-1)
		if err != nil {
			return -1
		}
		return len(list)
	}
	d, err := os.Open(at("list"))
	some, serr := unix.Getdents(int(d.Fd()), make([]byte, 1024))
	_, cerr := unix.Seek(int(d.Fd()), 0, io.SeekCurrent)
	rest := count(d)
	show("list", some > 0, serr, cerr, rest > 100 && rest < 500, count(d), err)
	_, err = d.Seek(0, io.SeekStart)
	show("list again", count(d), err)
	write(at("list/more"), "")
	_, err = d.Seek(0, io.SeekStart)
	show("list with more", count(d), err)
	_, err = d.Read(make([]byte, 1))
	_, werr := d.Write([]byte("x"))
	show("as a file", errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL), werr, unix.Ftruncate(int(d.Fd()), 0), d.Sync())
	f, _ := os.Open(at("list/more"))
	_, err = unix.Getdents(int(f.Fd()), make([]byte, 4096))
	_, berr := unix.Getdents(999, make([]byte, 4096))
	_, serr = unix.Getdents(int(d.Fd()), make([]byte, 8))
	show("getdents", err, berr, serr)
	show("removed", os.RemoveAll(at("list")), count(f))
	f.Close()
	d.Close()
}

func contents(at namer, show shower) {
	f, err := os.OpenFile(at("c"), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o644)
	show("create", err)
	b := make([]byte, 10)
	n, err := f.WriteAt([]byte("abc"), 5)
	show("hole", n, err)
	n, err = f.Read(b)
	show("read", n, err, b[:n])
	n, err = f.Read(b)
	show("end", n, err)
	n, err = unix.Pread(int(f.Fd()), b, 100)
	show("behind the end", n, err)
	_, err = unix.Pread(int(f.Fd()), b, -1)
	_, werr := unix.Pwrite(int(f.Fd()), b, -1)
	show("negative", err, werr, unix.Ftruncate(int(f.Fd()), -1), unix.Truncate(at("c"), -1), unix.Truncate(at("none"), 0), unix.Truncate(at("d"), 0))
	for _, s := range []struct {
		off    int64
		whence int
	}{{3, 0}, {2, 1}, {-100, 1}, {-2, 2}, {5, 2}, {0, 9}, {-1, 0}} {
		o, err := f.Seek(s.off, s.whence)
		show("seek", o, err)
	}
	n, err = unix.Write(int(f.Fd()), nil)
	n2, err2 := unix.Read(int(f.Fd()), nil)
	n3, err3 := unix.Write(999, nil)
	show("nothing", n, err, n2, err2, n3, err3)
	show("truncate", f.Truncate(2), f.Truncate(6))
	n, _ = f.ReadAt(b, 0)
	show("then", b[:n])

	a, err := os.OpenFile(at("a"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	other, err2 := os.OpenFile(at("a"), os.O_RDWR, 0)
	show("append", err, err2)
	a.Write([]byte("one"))
	other.WriteAt([]byte("twothree"), 3)
	a.Write([]byte("four"))
	unix.Pwrite(int(a.Fd()), []byte("five"), 0) // as Linux does it
	o, _ := a.Seek(0, io.SeekCurrent)
	n, _ = other.Read(make([]byte, 100))
	show("appended", o, n)
	show("vectors", vectors(int(other.Fd()), show))

	r, _ := os.Open(at("a"))
	_, err = r.Write(b)
	w, _ := os.OpenFile(at("a"), os.O_WRONLY, 0)
	_, err2 = w.Read(b)
	show("not opened for", err, err2, unix.Ftruncate(int(r.Fd()), 0), unix.Fsync(int(r.Fd())))
	flags := func(fd int) (int, error) {
		v, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		return v & (unix.O_ACCMODE | unix.O_APPEND | unix.O_NONBLOCK), err
	}
	for _, f := range []*os.File{f, a, r, w} {
		v, err := flags(int(f.Fd()))
		show("flags", v, err)
	}
	_, err = unix.FcntlInt(w.Fd(), unix.F_SETFL, unix.O_APPEND)
	v, _ := flags(int(w.Fd()))
	show("flags", v, err)
	w.Write([]byte("six"))
	fi, _ := w.Stat()
	show("size", fi.Size())
	_, err = flags(999)
	show("flags", err)

	show("gone", os.Remove(at("a")))
	fi, err = r.Stat()
	n, rerr := r.ReadAt(b[:3], 0)
	show("still", fi.Size(), err, n, rerr)
	r.Close()
	_, err = r.Stat()
	show("closed", err != nil, unix.Close(999))
	a.Close()
	w.Close()
	f.Close()
	other.Close()
}

// vectors writes and reads with several buffers.
func vectors(fd int, show shower) error {
	unix.Seek(fd, 0, 0)
	n, err := unix.Writev(fd, [][]byte{[]byte("x"), nil, []byte("yy"), []byte("zzz")})
	for n < 6 && err == nil { // short counts are legal
		var k int
		k, err = unix.Write(fd, []byte("xyyzzz")[n:])
		n += k
	}
	b := make([]byte, 6)
	m, err2 := unix.Pread(fd, b, 0)
	show("written", n, err, string(b[:m]), err2)
	_, err = unix.Writev(fd, nil)
	_, err2 = unix.Writev(999, [][]byte{[]byte("x")})
	show("without", err, err2)
	return nil
}

func descriptors(at namer, show shower) {
	f, _ := os.OpenFile(at("c"), os.O_RDWR, 0)
	fd := int(f.Fd())
	var p [2]int
	show("pipe", unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC))
	b := make([]byte, 10)
	n, err := unix.Read(p[0], b)
	show("empty", n, err)
	n, err = unix.Write(p[1], []byte("abc"))
	n2, err2 := unix.Read(p[0], b[:0])
	n3, err3 := unix.Read(p[0], b)
	show("some", n, err, n2, err2, n3, err3)
	_, err = unix.Write(p[0], b)
	_, err2 = unix.Read(p[1], b)
	show("wrong way", err, err2)
	_, err = unix.Seek(p[0], 0, 0)
	_, err2 = unix.Pread(p[0], b, 0)
	show("no file", err, err2, unix.Ftruncate(p[1], 0), unix.Fsync(p[1]))
	for _, end := range p {
		v, err := unix.FcntlInt(uintptr(end), unix.F_GETFL, 0)
		show("flags", v&(unix.O_ACCMODE|unix.O_NONBLOCK), err)
	}
	var st unix.Stat_t
	show("fstat", unix.Fstat(p[0], &st), st.Mode&unix.S_IFMT == unix.S_IFIFO)
	full := 0
	for {
		n, err := unix.Write(p[1], make([]byte, 5000))
		if err != nil {
			show("full", full > 50_000, err)
			break
		}
		full += n
	}
	unix.Close(p[0])
	_, err = unix.Write(p[1], b)
	show("nobody reads", err)
	unix.Close(p[1])
	unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC)
	unix.Close(p[1])
	n, err = unix.Read(p[0], b)
	show("nobody writes", n, err)

	for _, x := range []int{fd, p[0], 999} {
		_, err := unix.GetsockoptInt(x, unix.SOL_SOCKET, unix.SO_TYPE)
		_, err2 := unix.GetsockoptInt(x, unix.SOL_SOCKET, unix.SO_ERROR)
		_, err3 := unix.Getsockname(x)
		_, err4 := unix.Getpeername(x)
		_, _, err5 := unix.Accept(x)
		show("no socket", unix.SetsockoptInt(x, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), err, err2, err3, err4, err5,
			unix.Listen(x, 1), unix.Shutdown(x, unix.SHUT_WR), unix.Bind(x, &unix.SockaddrInet4{}), unix.Connect(x, &unix.SockaddrInet4{Port: 1}))
		_, rerr := unix.Read(x, nil)
		show("no matter", unix.Flock(x, unix.LOCK_EX|unix.LOCK_NB), unix.Fchmod(x, 0o600), unix.Fchown(x, 0, 0), rerr)
	}
	unix.Close(p[0])
	sockets(show)
	f.Close()
}

func sockets(show shower) {
	b := make([]byte, 10)
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	show("socket", err)
	_, err = unix.Read(s, b)
	_, err2 := unix.Write(s, b)
	_, _, err3 := unix.Accept(s)
	_, err4 := unix.Getpeername(s)
	kind, err5 := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_TYPE)
	show("unbound", err, err2, err3, err4, kind, err5)
	loop := [4]byte{127, 0, 0, 1}
	show("bind", unix.Bind(s, &unix.SockaddrInet4{Addr: loop}), unix.Bind(s, &unix.SockaddrInet4{Addr: loop}))
	show("listen", unix.Listen(s, 10), unix.Listen(s, 10))
	a, _ := unix.Getsockname(s)
	at := a.(*unix.SockaddrInet4)
	small, size := [8]byte{4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff}, uint32(4)
	_, _, e := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(s), uintptr(unsafe.Pointer(&small)), uintptr(unsafe.Pointer(&size)))
	show("cut off", e, size, small[:2], small[4:])
	_, _, err = unix.Accept(s)
	_, err2 = unix.Getpeername(s)
	_, err3 = unix.Read(s, b)
	show("nobody", err, err2, err3, at.Addr, at.Port != 0)
	c, _ := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	show("connect", unix.Connect(c, at), unix.Connect(c, at), unix.Bind(c, &unix.SockaddrInet4{}), unix.Listen(c, 1))
	var conn int
	for {
		if conn, a, err = unix.Accept4(s, unix.SOCK_NONBLOCK); err != unix.EAGAIN {
			break
		}
		time.Sleep(time.Millisecond)
	}
	mine, _ := unix.Getsockname(c)
	show("accept", err, a.(*unix.SockaddrInet4).Port == mine.(*unix.SockaddrInet4).Port)
	_, err = unix.Read(conn, b)
	_, _, err2 = unix.Recvfrom(c, b, unix.MSG_DONTWAIT)
	show("nothing yet", err, err2)
	n, err := unix.Write(c, []byte("hello"))
	show("write", n, err)
	time.Sleep(10 * time.Millisecond)
	n, err = unix.Read(conn, b[:0])
	show("read nothing", n, err)
	n, err = unix.Read(conn, b[:2])
	n2, err2 := unix.Read(conn, b)
	_, err3 = unix.Read(conn, b)
	show("read", n, err, n2, err2, err3)
	show("half", unix.Shutdown(c, unix.SHUT_WR), unix.Shutdown(c, unix.SHUT_WR), unix.Shutdown(c, 7))
	_, err = unix.Write(c, b)
	time.Sleep(10 * time.Millisecond)
	n, err2 = unix.Read(conn, b)
	n2, err3 = unix.Write(conn, []byte("yes"))
	show("half", err, n, err2, n2, err3)
	time.Sleep(10 * time.Millisecond)
	n, err = unix.Read(c, b)
	show("answer", n, err)
	unix.Close(conn)
	time.Sleep(10 * time.Millisecond)
	n, err = unix.Read(c, b)
	soErr, err2 := unix.GetsockoptInt(c, unix.SOL_SOCKET, unix.SO_ERROR)
	show("over", n, err, soErr, err2, unix.Close(c), unix.Close(c))

	unix.Close(s)
	c, _ = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	err = unix.Connect(c, at)
	time.Sleep(10 * time.Millisecond)
	show("refused", err == unix.EINPROGRESS || err == unix.ECONNREFUSED, unix.Connect(c, at) == unix.ECONNREFUSED || err == unix.ECONNREFUSED)
	unix.Close(c)

	// A listener that goes away takes what nobody accepted with it.
	s, _ = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	unix.Bind(s, &unix.SockaddrInet4{Addr: loop})
	unix.Listen(s, 10)
	a, _ = unix.Getsockname(s)
	c, _ = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	show("connect", unix.Connect(c, a))
	time.Sleep(10 * time.Millisecond)
	unix.Close(s)
	time.Sleep(10 * time.Millisecond)
	_, err = unix.Read(c, b)
	_, err2 = unix.Write(c, b)
	show("listener gone", err, err2)
	unix.Close(c)
}
