//go:build linux && amd64

package native

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/native/calls"
	"trialog/netsim/native/page"
)

// handler serves one system call. Operands that are pointers have their bytes in the buffer; see page.SimShapeOf.
type handler func(g *guest, a *[6]uint64) (uint64, kernel.Errno)

// result is what most calls of the kernel answer.
func result[T int | int64](v T, e kernel.Errno) (uint64, kernel.Errno) {
	if e != kernel.OK {
		return 0, e
	}
	return uint64(v), kernel.OK
}

// serve makes the call that stands in the page.
func (g *guest) serve() {
	g.e.stats.Calls.Add(1)
	now := g.Now
	g.PeekCount = 0
	g.servePosted()
	g.p.Advance(now)
	if uint64(g.In[0])+uint64(g.In[1]) > page.SimBufferSize {
		g.damaged()
	}
	nr := g.Num
	var h handler
	if nr < uint64(len(handlers)) {
		h = handlers[nr]
	}
	if h == nil {
		h = refuse
	}
	again := g.Again
	for {
		if again != 0 {
			g.p.ResumeWith(again)
		}
		args := g.Args
		r, e := h(g, &args)
		if e == kernel.EAGAIN && transfers(nr) {
			if token := g.p.Deferred(); token != 0 {
				if g.Park != 0 {
					g.Token = token
					g.parked = append(g.parked, parked{token, nr, args, token})
				} else { // the whole process waits
					g.p.PollWait(append(g.subs[:0], g.p.PollOn(token, kernel.Readable)), -1)
					again = token
					continue
				}
			} else if g.wait(nr, int(int32(args[0]))) {
				continue
			}
		}
		g.R1, g.Errno = r, uint64(e)
		return
	}
}

// transfers are the calls that the kernel may answer with EAGAIN.
func transfers(nr uint64) bool {
	switch nr {
	case unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
		unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_SENDTO, unix.SYS_RECVFROM:
		return true
	}
	return false
}

// wait blocks the whole process on a descriptor that is not in non-blocking mode. It is false for one that is.
func (g *guest) wait(nr uint64, fd int) bool {
	mode := kernel.Readable
	if nr == unix.SYS_WRITE || nr == unix.SYS_SENDTO {
		mode = kernel.Writable
	}
	if now := (nr == unix.SYS_SENDTO || nr == unix.SYS_RECVFROM) && g.Args[3]&unix.MSG_DONTWAIT != 0; now || !in(&g.Blocking, fd) {
		g.arm(fd, mode)
		return false
	}
	g.p.PollWait(append(g.subs[:0], g.p.PollOn(int32(fd), mode)), -1)
	return true
}

// handlers by number. What is absent is refused.
var handlers = [512]handler{
	unix.SYS_READ: read, unix.SYS_WRITE: write, unix.SYS_PREAD64: pread, unix.SYS_PWRITE64: pwrite,
	unix.SYS_RECVFROM: recv, unix.SYS_SENDTO: send,
	unix.SYS_CLOSE: closeFD, unix.SYS_LSEEK: lseek, unix.SYS_FSYNC: fsync, unix.SYS_FDATASYNC: fsync,
	unix.SYS_FTRUNCATE: ftruncate, unix.SYS_TRUNCATE: truncate, unix.SYS_FSTAT: fstat, unix.SYS_GETDENTS64: getdents,
	unix.SYS_FCNTL: fcntl, unix.SYS_IOCTL: ioctl, unix.SYS_FLOCK: agreeOnFile, unix.SYS_FADVISE64: agreeOnFile,
	unix.SYS_FCHMOD: agreeOnFile, unix.SYS_FCHOWN: agreeOnFile, unix.SYS_FCHMODAT: agreeAt, unix.SYS_FCHOWNAT: agreeAt,
	unix.SYS_CHMOD: agreeOnPath, unix.SYS_CHOWN: agreeOnPath, unix.SYS_LCHOWN: agreeOnPath, unix.SYS_UMASK: agree,

	unix.SYS_OPENAT: openat, unix.SYS_OPEN: open, unix.SYS_NEWFSTATAT: fstatat, unix.SYS_STAT: stat, unix.SYS_LSTAT: stat,
	unix.SYS_MKDIRAT: mkdirat, unix.SYS_MKDIR: mkdir, unix.SYS_UNLINKAT: unlinkat, unix.SYS_UNLINK: unlink, unix.SYS_RMDIR: rmdir,
	unix.SYS_RENAMEAT: renameat, unix.SYS_RENAMEAT2: renameat, unix.SYS_RENAME: rename, unix.SYS_UTIMENSAT: utimensat,
	unix.SYS_READLINKAT: readlinkat, unix.SYS_FACCESSAT: faccessat, unix.SYS_FACCESSAT2: faccessat,
	unix.SYS_GETCWD: getcwd, unix.SYS_CHDIR: chdir, unix.SYS_FCHDIR: fchdir,
	unix.SYS_LINKAT: unsupported, unix.SYS_SYMLINKAT: unsupported, unix.SYS_LINK: unsupported, unix.SYS_SYMLINK: unsupported,

	unix.SYS_SOCKET: socket, unix.SYS_BIND: bind, unix.SYS_LISTEN: listen, unix.SYS_CONNECT: connect,
	unix.SYS_ACCEPT: accept, unix.SYS_ACCEPT4: accept, unix.SYS_SHUTDOWN: shutdown,
	unix.SYS_GETSOCKNAME: getsockname, unix.SYS_GETPEERNAME: getpeername,
	unix.SYS_SETSOCKOPT: setsockopt, unix.SYS_GETSOCKOPT: getsockopt,
	unix.SYS_PIPE2: pipe, unix.SYS_PIPE: pipe,
	unix.SYS_EPOLL_CREATE1: epollCreate, unix.SYS_EPOLL_CTL: epollCtl, unix.SYS_EPOLL_PWAIT: epollWait, unix.SYS_EVENTFD2: eventfd,

	unix.SYS_GETRANDOM: getrandom, unix.SYS_UNAME: uname, unix.SYS_NANOSLEEP: nanosleep, unix.SYS_CLOCK_NANOSLEEP: nanosleep,
	unix.SYS_EXIT_GROUP: exitGroup, unix.SYS_EXIT: exitGroup, unix.SYS_TGKILL: killSelf, unix.SYS_KILL: killSelf,
	unix.SYS_PRLIMIT64: prlimit, unix.SYS_GETRLIMIT: prlimit, unix.SYS_SETRLIMIT: agree,
	unix.SYS_SCHED_GETAFFINITY: affinity, unix.SYS_SCHED_YIELD: yield,
	unix.SYS_GETPPID: constant(1), unix.SYS_GETUID: constant(0), unix.SYS_GETEUID: constant(0), unix.SYS_GETGID: constant(0),
	unix.SYS_GETEGID: constant(0), unix.SYS_GETPGRP: constant(firstPid), unix.SYS_SYSINFO: quiet, unix.SYS_RSEQ: quiet,
	// The standard library tries these first and has another way.
	unix.SYS_COPY_FILE_RANGE: quiet, unix.SYS_SENDFILE: quiet, unix.SYS_SPLICE: invalid, unix.SYS_STATX: quiet, unix.SYS_OPENAT2: quiet,
	unix.SYS_PIDFD_OPEN: quiet, unix.SYS_PIDFD_SEND_SIGNAL: quiet, unix.SYS_FALLOCATE: unsupported,
	unix.SYS_MMAP: mmapRefused, unix.SYS_MPROTECT: mmapRefused,
}

func constant(v uint64) handler {
	return func(*guest, *[6]uint64) (uint64, kernel.Errno) { return v, kernel.OK }
}

// agree does nothing and succeeds: the simulated disk has no modes, owners and locks, a host has one process. The others
// do so for what is there.
func agree(*guest, *[6]uint64) (uint64, kernel.Errno) { return 0, kernel.OK }

func agreeOnFile(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if g.p.File(fdOf(a[0])) == nil {
		return 0, kernel.EBADF
	}
	return 0, kernel.OK
}

func agreeOnPath(g *guest, _ *[6]uint64) (uint64, kernel.Errno) { return g.onPath(cwd, g.exists) }

func agreeAt(g *guest, a *[6]uint64) (uint64, kernel.Errno) { return g.onPath(a[0], g.exists) }

func quiet(*guest, *[6]uint64) (uint64, kernel.Errno) { return 0, kernel.ENOSYS }

func invalid(*guest, *[6]uint64) (uint64, kernel.Errno) { return 0, kernel.EINVAL }

func unsupported(*guest, *[6]uint64) (uint64, kernel.Errno) { return 0, eopnotsupp }

// Errors that only this engine answers.
const (
	enodev      kernel.Errno = 19
	enotty      kernel.Errno = 25
	erange      kernel.Errno = 34
	enoprotoopt kernel.Errno = 92
	eafnosup    kernel.Errno = 97
	eopnotsupp  kernel.Errno = 95
)

// refuse answers for what the simulated system does not have, and says so once for each call.
func refuse(g *guest, _ *[6]uint64) (uint64, kernel.Errno) {
	g.sayOnce(g.Num, "system call %s is not served: ENOSYS", calls.Name(g.Num))
	return 0, kernel.ENOSYS
}

// sayOnce says a line about a system call, unless it was said.
func (g *guest) sayOnce(about uint64, format string, args ...any) {
	if !g.refused[about] {
		g.refused[about] = true
		g.say(format, args...)
	}
}

// aboutCode is what lines about executable memory are about, of whatever call.
const aboutCode = 1 << 32

// mmapRefused is for files, whose mapped bytes could change unseen, and for code that was not there when the program was
// scanned. Anonymous memory never comes here.
func mmapRefused(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if a[2]&unix.PROT_EXEC != 0 {
		g.sayOnce(aboutCode, "executable memory is not served: EACCES")
		return 0, kernel.EACCES
	}
	g.sayOnce(g.Num, "mmap of a file is not served: what a process writes to mapped memory could not be seen; ENODEV")
	return 0, enodev
}

const postedHead = int(unsafe.Sizeof(page.SimPosted{}))

// servePosted makes the calls that the guest posted since the last one, in their order. The guest ran on since, but only in its
// own memory: whatever happens to it in one of these calls, nobody has seen what it did after it.
func (g *guest) servePosted() {
	all := g.post[:min(int(g.Posted), len(g.post))]
	g.Posted = 0
	for at := 0; at < len(all); {
		if len(all)-at < postedHead {
			g.damaged()
		}
		e := (*page.SimPosted)(unsafe.Pointer(&all[at]))
		at += postedHead
		if int(e.Len) > len(all)-at {
			g.damaged()
		}
		data := all[at : at+int(e.Len)]
		at += (int(e.Len) + 7) &^ 7
		g.e.stats.Posted.Add(1)
		g.p.Advance(e.Now)
		g.makePosted(e, data)
	}
}

func (g *guest) makePosted(e *page.SimPosted, data []byte) {
	switch fd := fdOf(e.Args[0]); e.Num {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		if f, ok := g.p.File(fd).(kernel.SureFile); ok && f.Sure() && g.toldCalm {
			g.sure(e, fd, data)
			return
		} else if ok || e.Num != unix.SYS_WRITE {
			g.damaged()
		}
		n, err := g.p.Write(fd, data)
		g.wrote(fd, n, len(data), err)
	case unix.SYS_FSYNC:
		g.sync(fd, -int32(e.Args[1]))
	case unix.SYS_READ:
		if e.Args[1] > uint64(len(g.scratch)) {
			g.damaged()
		}
		// The bytes were there when they were shown, and whatever befell the connection since, they still are.
		if n, err := g.p.Read(fd, g.scratch[:e.Args[1]]); err != kernel.OK || uint64(n) != e.Args[1] {
			g.damaged()
		}
		if e.Args[2] != 0 {
			g.dry(fd)
		}
	case unix.SYS_CLOSE:
		g.close(fd)
	case unix.SYS_EPOLL_CTL:
		g.control(e.Args[1], fdOf(e.Args[2]), data)
	default:
		g.damaged()
	}
}

// sure makes a posted write to a file. What befell the disk since the guest was told that it is calm strikes the calls
// that come after: this one had been taken.
func (g *guest) sure(e *page.SimPosted, fd int, data []byte) {
	off := int64(-1)
	if e.Num == unix.SYS_PWRITE64 {
		if e.Args[2] >= page.SimOffsetMax {
			g.damaged()
		}
		off = int64(e.Args[2])
	}
	if err := g.p.WriteSure(fd, data, off); err != kernel.OK {
		g.p.Fail(fmt.Errorf("native: %s: a posted write of %d bytes to descriptor %d: %w", g.name, len(data), fd, err))
	}
}

// sync makes a posted fsync, whose goroutine waits for the ticket.
func (g *guest) sync(fd int, ticket int32) {
	err := g.p.Sync(fd)
	if token := g.p.Deferred(); err == kernel.EAGAIN && token != 0 {
		g.parked = append(g.parked, parked{token, unix.SYS_FSYNC, [6]uint64{uint64(fd)}, ticket})
		return
	}
	g.ended = append(g.ended, page.SimDone{Token: ticket, Known: 1, Errno: uint64(err)})
}

// failing is a connection that remembers an error until a call has taken it.
type failing interface{ PutBack(kernel.Errno) }

// wrote looks at how a posted write of size bytes ended. A connection that failed meanwhile loses them, as it may on
// their way; the guest has not heard of the failure, so that stays for its next call.
func (g *guest) wrote(fd, n, size int, err kernel.Errno) {
	f, ok := g.p.File(fd).(failing)
	switch {
	case err == kernel.EAGAIN || err == kernel.OK && n < size:
		g.p.Fail(fmt.Errorf("native: %s: a posted write of %d bytes to descriptor %d took %d: %w", g.name, size, fd, n, err))
	case err != kernel.OK && ok:
		f.PutBack(err)
	case err != kernel.OK:
		g.sayOnce(unix.SYS_WRITE, "what is written to descriptor %d is lost: %v", fd, err)
	}
}

// damaged ends a guest that wrote over its page.
func (g *guest) damaged() {
	g.p.Crash("netsim: guest damaged the page that it shares with the simulator")
	panic(unwound{})
}
