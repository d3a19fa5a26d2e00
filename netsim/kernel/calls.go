package kernel

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Call describes a system call to a trap.
type Call struct {
	Number int64 // of this process, from 1
	Name   string
	File   File   // nil where the call has none
	Path   string // of a call on a path; of rename both, with a zero byte between them
	Len    int    // bytes to read or write
}

// When says at which side of a call a trap strikes.
type When uint8

// Sides of a call. Middle strikes only in a write to a disk file of at least 2 bytes, and leaves a seeded proper
// prefix of it written; on a slow disk it strikes when that prefix has reached the disk.
const (
	Before When = iota
	Middle
	After
)

// Trap is a fault tied to a system call. It strikes once.
type Trap struct {
	// Call is the number of the call to strike at; 0 strikes at the first that Match accepts.
	Call  int64
	Match func(Call) bool // nil accepts every call
	When  When
	// Fire may kill, pause or cut the power of the process; what it did is felt before the guest runs on.
	Fire func(*Proc)

	removed bool // by RemoveTrap, before it struck
}

// SetTrap arms a trap on the process.
func (p *Proc) SetTrap(t *Trap) { p.traps = append(p.traps, t) }

// RemoveTrap disarms a trap that has not struck.
func (p *Proc) RemoveTrap(t *Trap) {
	t.removed = true
	p.takeTrap(t)
}

func (p *Proc) takeTrap(t *Trap) {
	for i, have := range p.traps {
		if have == t {
			p.traps = append(p.traps[:i:i], p.traps[i+1:]...)
			return
		}
	}
}

// sprung takes the first armed trap that fits, if any.
func (p *Proc) sprung(c Call, w When) *Trap {
	for _, t := range p.traps {
		if t.When != w || (t.Call != 0 && t.Call != c.Number) || (t.Match != nil && !t.Match(c)) {
			continue
		}
		p.takeTrap(t)
		return t
	}
	return nil
}

func (p *Proc) spring(c Call, w When) {
	if len(p.traps) == 0 {
		return
	}
	if t := p.sprung(c, w); t != nil {
		t.Fire(p)
		p.checkpoint()
	}
}

// enter starts a call: it gets its number and its time, what is due happens first, and the baton may change hands.
func (p *Proc) enter(name string, f File, n int) Call {
	k := p.k
	p.calls++
	k.calls.Add(1)
	c := Call{Number: p.calls, Name: name, File: f, Path: p.operand, Len: n}
	p.operand = ""
	p.call = c
	if f != nil {
		p.deferred = nil
	}
	k.now += p.cost.Between(k.opt.CallNsMin, k.opt.CallNsMax)
	p.spring(c, Before)
	p.handOver(p.cost.Intn(k.opt.HandOver) == 0)
	return c
}

// handOver lets due events happen, and others run if told to.
func (p *Proc) handOver(others bool) {
	p.k.runDue()
	if others && !p.dying && !p.paused {
		p.pass()
	}
	p.checkpoint()
}

// leave ends a call.
func (p *Proc) leave(c Call, a, b int64, e Errno) {
	p.logCall(c, a, b, e)
	p.spring(c, After)
}

func (p *Proc) logCall(c Call, a, b int64, e Errno) {
	p.k.trace.add(Entry{At: p.k.now, Who: p.Name, What: c.Name, A: a, B: b, C: int64(e)})
	if p.resumed != nil && p.resumed.again(c) {
		p.resumed = nil
	}
}

// Read is read(2).
func (p *Proc) Read(fd int, dst []byte) (int, Errno) {
	f := p.File(fd)
	c := p.enter("read", f, len(dst))
	n, e := 0, EBADF
	if f != nil {
		n, e = f.Read(p, dst)
	}
	p.leave(c, int64(fd), digest(n, dst), e)
	return n, e
}

// digest folds the length and the content of a transfer into one number for the trace.
func digest(n int, b []byte) int64 {
	if n <= 0 || n > len(b) {
		return int64(n)
	}
	return int64(n)<<32 | int64(crc32.Checksum(b[:n], castagnoli))
}

// Write is write(2).
func (p *Proc) Write(fd int, src []byte) (int, Errno) {
	return p.write("write", fd, src, func(f File, b []byte) (int, Errno) { return f.Write(p, b) })
}

// Pwrite is pwrite(2).
func (p *Proc) Pwrite(fd int, src []byte, off int64) (int, Errno) {
	return p.write("pwrite", fd, src, func(f File, b []byte) (int, Errno) {
		r, ok := f.(Regular)
		if !ok {
			return 0, ESPIPE
		}
		return r.Pwrite(p, b, off)
	})
}

func (p *Proc) write(name string, fd int, src []byte, do func(File, []byte) (int, Errno)) (int, Errno) {
	f := p.File(fd)
	c := p.enter(name, f, len(src))
	n, e := 0, EBADF
	if f != nil {
		if t := p.middle(c); t != nil {
			return p.tornWrite(t, c, fd, src, do)
		}
		n, e = do(f, src)
	}
	p.leave(c, int64(fd), digest(n, src), e)
	return n, e
}

// middle takes the trap that strikes in the middle of this write, if any. The repetition of a deferred write writes
// nothing.
func (p *Proc) middle(c Call) *Trap {
	if len(p.traps) == 0 || c.File.Kind() != KindRegular || c.Len < 2 || (p.resumed != nil && p.resumed.again(c)) {
		return nil
	}
	return p.sprung(c, Middle)
}

// tornWrite writes a proper prefix and lets the trap strike: at once, or when a slow disk has done it.
func (p *Proc) tornWrite(t *Trap, c Call, fd int, src []byte, do func(File, []byte) (int, Errno)) (int, Errno) {
	n, e := do(c.File, src[:1+p.tear.Intn(len(src)-1)])
	if e == EAGAIN && p.deferred != nil {
		p.deferred.strike = t
		p.leave(c, int64(fd), int64(n), e)
		return n, e
	}
	p.logCall(c, int64(fd), int64(n), e)
	t.Fire(p)
	p.checkpoint()
	p.spring(c, After)
	return n, e
}

// WriteSure is write(2), or pwrite(2) if off is not negative, on a [SureFile], made after the guest was told that it
// succeeded. It is a call like others: traps may strike at it, and what a trap in its middle left out is written by
// another call if the process lives on.
func (p *Proc) WriteSure(fd int, src []byte, off int64) Errno {
	name := "write"
	if off >= 0 {
		name = "pwrite"
	}
	for {
		n, e := p.write(name, fd, src, func(f File, b []byte) (int, Errno) {
			s, ok := f.(SureFile)
			if !ok {
				return 0, EBADF
			}
			return len(b), s.WriteSure(b, off)
		})
		if e != OK || n == len(src) {
			return e
		}
		src = src[n:]
		if off >= 0 {
			off += int64(n)
		}
	}
}

// regular runs a call that only a file of a disk can serve.
func (p *Proc) regular(name string, fd, n int, do func(Regular) (int64, Errno)) (int64, Errno) {
	f := p.File(fd)
	c := p.enter(name, f, n)
	v, e := int64(0), EBADF
	if f != nil {
		if e = EINVAL; name == "lseek" || name == "pread" {
			e = ESPIPE
		}
		if r, ok := f.(Regular); ok {
			v, e = do(r)
		}
	}
	p.leave(c, int64(fd), v, e)
	return v, e
}

// Pread is pread(2).
func (p *Proc) Pread(fd int, dst []byte, off int64) (int, Errno) {
	n, e := p.regular("pread", fd, len(dst), func(r Regular) (int64, Errno) {
		n, e := r.Pread(p, dst, off)
		return int64(n), e
	})
	return int(n), e
}

// Seek is lseek(2).
func (p *Proc) Seek(fd int, off int64, whence int) (int64, Errno) {
	return p.regular("lseek", fd, 0, func(r Regular) (int64, Errno) { return r.Seek(p, off, whence) })
}

// Truncate is ftruncate(2).
func (p *Proc) Truncate(fd int, size int64) Errno {
	_, e := p.regular("ftruncate", fd, 0, func(r Regular) (int64, Errno) { return size, r.Truncate(p, size) })
	return e
}

// Sync is fsync(2), of a file or a directory.
func (p *Proc) Sync(fd int) Errno {
	_, e := p.regular("fsync", fd, 0, func(r Regular) (int64, Errno) { return 0, r.Sync(p) })
	return e
}

// Fstat is fstat(2); what is no file of a disk has only a kind.
func (p *Proc) Fstat(fd int) (Stat, Errno) {
	f := p.File(fd)
	c := p.enter("fstat", f, 0)
	var st Stat
	e := EBADF
	if r, ok := f.(Regular); ok {
		st, e = r.Stat(p)
	} else if f != nil {
		st, e = Stat{Kind: f.Kind(), Links: 1}, OK
	}
	p.leave(c, int64(fd), st.Size, e)
	return st, e
}

// Entries lists a directory.
func (p *Proc) Entries(fd int) ([]DirEntry, Errno) {
	var list []DirEntry
	_, e := p.regular("getdents", fd, 0, func(r Regular) (int64, Errno) {
		var e Errno
		list, e = r.Entries(p)
		return int64(len(list)), e
	})
	return list, e
}

// Close is close(2).
func (p *Proc) Close(fd int) Errno {
	f := p.File(fd)
	c := p.enter("close", f, 0)
	e := EBADF
	if f != nil {
		p.files[fd] = nil
		f.Close(p)
		e = OK
	}
	p.leave(c, int64(fd), 0, e)
	return e
}

// path runs a call on a path.
func (p *Proc) path(name, path string, do func() (int64, Errno)) (int64, Errno) {
	p.operand = path
	c := p.enter(name, nil, 0)
	v, e := do()
	p.leave(c, int64(crc32.ChecksumIEEE([]byte(path))), v, e)
	return v, e
}

// Open is open(2).
func (p *Proc) Open(path string, flags OpenFlags) (int, Errno) {
	fd, e := p.path("open", path, func() (int64, Errno) {
		if p.free() < 0 { // before anything is created or truncated
			return -1, EMFILE
		}
		f, e := p.file(path, flags)
		if e != OK {
			return -1, e
		}
		fd, e := p.allocate(f)
		return int64(fd), e
	})
	return int(fd), e
}

// file opens what there is at a path: a file of the disk, or the null device.
func (p *Proc) file(path string, flags OpenFlags) (File, Errno) {
	switch {
	case path != nullPath:
		return p.Host.FS.Open(p, path, flags)
	case flags&OpenDir != 0:
		return nil, ENOTDIR
	case flags&OpenCreate != 0 && flags&OpenExcl != 0:
		return nil, EEXIST
	}
	return null{}, OK
}

// Mkdir is mkdir(2).
func (p *Proc) Mkdir(path string) Errno {
	_, e := p.path("mkdir", path, func() (int64, Errno) { return 0, p.Host.FS.Mkdir(p, path) })
	return e
}

// Unlink is unlink(2).
func (p *Proc) Unlink(path string) Errno {
	_, e := p.path("unlink", path, func() (int64, Errno) { return 0, p.Host.FS.Unlink(p, path) })
	return e
}

// Rmdir is rmdir(2).
func (p *Proc) Rmdir(path string) Errno {
	_, e := p.path("rmdir", path, func() (int64, Errno) { return 0, p.Host.FS.Rmdir(p, path) })
	return e
}

// Rename is rename(2).
func (p *Proc) Rename(from, to string) Errno {
	_, e := p.path("rename", from+"\x00"+to, func() (int64, Errno) { return 0, p.Host.FS.Rename(p, from, to) })
	return e
}

// SetModTime is utimensat(2); t is virtual ns since the start of the world.
func (p *Proc) SetModTime(path string, t int64) Errno {
	_, e := p.path("utimensat", path, func() (int64, Errno) { return t, p.Host.FS.SetModTime(p, path, t) })
	return e
}

// Stat is stat(2).
func (p *Proc) Stat(path string) (Stat, Errno) {
	var st Stat
	_, e := p.path("stat", path, func() (int64, Errno) {
		e := OK
		if path == nullPath {
			st = Stat{Kind: KindChar, Links: 1}
			return 0, OK
		}
		st, e = p.Host.FS.Stat(p, path)
		return st.Size, e
	})
	return st, e
}

// Clock reads a clock in nanoseconds: the host's wall clock (Unix time), or the monotonic clock.
func (p *Proc) Clock(wall bool) int64 {
	name := "clock monotonic"
	if wall {
		name = "clock realtime"
	}
	c := p.enter(name, nil, 0)
	t := p.Monotonic()
	if wall {
		t = Epoch + p.k.now + p.Host.WallOffset
	}
	p.leave(c, 0, t, OK)
	return t
}

// monotonicStart keeps the monotonic clock away from zero, which Go's runtime takes for "not set".
const monotonicStart = int64(1e9)

// Monotonic is the reading of the monotonic clock now. It is no system call.
func (p *Proc) Monotonic() int64 { return p.k.now + monotonicStart }

// Advance tells that the guest has read its clock by itself since its last call, and that its monotonic clock stands at
// this reading (ns, as [Proc.Monotonic]). Virtual time moves on to it, if it is later; what is due by then happens within
// the next call. It is no system call.
func (p *Proc) Advance(monotonic int64) { p.k.now = max(p.k.now, monotonic-monotonicStart) }

// Entropy fills b from the process's own stream.
func (p *Proc) Entropy(b []byte) {
	c := p.enter("getrandom", nil, len(b))
	p.entropy.Fill(b)
	p.leave(c, int64(len(b)), 0, OK)
}

// Yield is sched_yield(2).
func (p *Proc) Yield() {
	c := p.enter("yield", nil, 0)
	p.handOver(true)
	p.leave(c, 0, 0, OK)
}

// ExitProcess is exit(2). It does not return.
func (p *Proc) ExitProcess(code int) {
	p.enter("exit", nil, 0)
	p.finish(code, ReasonExit)
	p.checkpoint()
}

// Say puts a line on the process's standard error as the simulator's own word.
func (p *Proc) Say(text string) {
	p.k.outputs = append(p.k.outputs, Output{At: p.k.now, Proc: p.Name, Life: p.life, Stream: "stderr", Data: []byte(text + "\n")})
}

// Crash records that the engine saw the guest fail (a trap, an engine error) and ends the process.
func (p *Proc) Crash(text string) {
	p.Say(text)
	p.finish(134, ReasonCrash)
}
