//go:build linux && amd64

package native

import (
	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/native/page"
)

// Descriptors that exist for Go's netpoller only.
const (
	epollFD = 1 << 20
	eventFD = epollFD + 1
)

// watch is a descriptor in the epoll set. Its events are edge-triggered: a direction is reported once, and then again
// when the guest has seen it run dry (armed).
type watch struct {
	fd    int
	data  uint64
	armed kernel.Mode
	room  roomy // nil for what is no connection
}

// roomy is a connection that knows how many bytes a write takes now.
type roomy interface{ Room() int }

// tellRoom shows the guest what it may write without asking. Nothing takes room away but the guest's own writes, until the
// connection fails, which the guest then learns from its next call.
func (g *guest) tellRoom() {
	for i := range g.watched {
		if w := &g.watched[i]; w.room != nil && uint(w.fd) < page.SimFDMax {
			g.Room[w.fd] = uint32(w.room.Room())
		}
	}
}

// epollCreate serves the one epoll set of the runtime.
func epollCreate(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if g.epolls++; g.epolls > 1 {
		return refuse(g, a)
	}
	return epollFD, kernel.OK
}

// eventfd serves the one by which Go wakes its poller, which is never needed on one thread.
func eventfd(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	if g.epolls != 1 {
		return refuse(g, a)
	}
	g.epolls++
	return eventFD, kernel.OK
}

func epollCtl(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	fd := fdOf(a[2])
	if fd == eventFD {
		return 0, kernel.OK
	}
	return 0, g.control(a[1], fd, g.buf[:g.In[0]])
}

// control changes the epoll set.
func (g *guest) control(op uint64, fd int, event []byte) kernel.Errno {
	f := g.p.File(fd)
	switch {
	case f == nil:
		return kernel.EBADF
	case f.Kind() == kernel.KindRegular || f.Kind() == kernel.KindDirectory || kernel.IsNull(f):
		return kernel.EPERM
	}
	g.unwatch(fd)
	if op == unix.EPOLL_CTL_DEL || len(event) < eventSize {
		return kernel.OK
	}
	// What is ready already is an event too: a connection that Go has dialed may have come about before it is registered, and
	// is waited for all the same.
	w := watch{fd: fd, data: le.Uint64(event[4:]), armed: kernel.Readable | kernel.Writable}
	w.room, _ = f.(roomy)
	g.watched = append(g.watched, w)
	return kernel.OK
}

func (g *guest) unwatch(fd int) {
	if uint(fd) < page.SimFDMax {
		unset(&g.Dry, fd)
		g.Room[fd] = 0
	}
	for i := range g.watched {
		if g.watched[i].fd == fd {
			g.watched = append(g.watched[:i], g.watched[i+1:]...)
			return
		}
	}
}

// arm makes the next readiness of a descriptor an event. It is false if the descriptor is not watched.
func (g *guest) arm(fd int, m kernel.Mode) bool {
	for i := range g.watched {
		if g.watched[i].fd == fd {
			g.watched[i].armed |= m
			return true
		}
	}
	return false
}

// dry is told that there is nothing more to read: until an event says otherwise the guest need not try.
func (g *guest) dry(fd int) {
	if g.arm(fd, kernel.Readable) {
		set(&g.Dry, fd)
	}
}

// rewatch arms everything: what the descriptor stands for has changed.
func (g *guest) rewatch(fd int) {
	for i := range g.watched {
		if w := &g.watched[i]; w.fd == fd {
			w.armed = kernel.Readable | kernel.Writable
			w.room, _ = g.p.File(fd).(roomy)
			unset(&g.Dry, fd)
		}
	}
}

const eventSize = 12

// epollWait waits for armed descriptors, ends of parked calls, and the next timer.
func epollWait(g *guest, a *[6]uint64) (uint64, kernel.Errno) {
	g.subs, g.owners = g.subs[:0], g.owners[:0]
	for i := range g.watched {
		for _, m := range []kernel.Mode{kernel.Readable, kernel.Writable} {
			if g.watched[i].armed&m != 0 {
				g.subs = append(g.subs, g.p.PollOn(int32(g.watched[i].fd), m))
				g.owners = append(g.owners, i<<2|int(m))
			}
		}
	}
	watches := len(g.subs)
	for i := range g.parked {
		g.subs = append(g.subs, g.p.PollOn(g.parked[i].token, kernel.Readable))
	}
	deadline := int64(-1)
	if g.Delay >= 0 {
		if deadline = g.Now + g.Delay; deadline < g.Now {
			deadline = -1
		}
	}
	if len(g.ended) > 0 {
		deadline = 0
	}
	asked := g.p.Monotonic()
	g.p.PollWait(g.subs, deadline)
	g.PeekCount, g.peeked = 0, 0
	n := g.events(watches, int(a[2]))
	g.finished(watches)
	g.e.stats.Polls.Add(1)
	if n == 0 && g.DoneCount == 0 && g.p.Monotonic()-asked < 2000 {
		g.e.stats.Empty.Add(1)
	}
	g.Out = uint32(n * eventSize)
	return uint64(n), kernel.OK
}

// events writes one event for each watched descriptor that is ready, and disarms what it reports.
func (g *guest) events(watches, limit int) int {
	n := 0
	for i := 0; i < watches && n < limit; {
		w, bits := &g.watched[g.owners[i]>>2], uint32(0)
		for ; i < watches && &g.watched[g.owners[i]>>2] == w; i++ {
			m := kernel.Mode(g.owners[i] & 3)
			if ready, _ := g.subs[i].Ready(); !ready {
				if m == kernel.Readable && g.Flags[w.fd]&unix.O_ACCMODE != unix.O_WRONLY {
					set(&g.Dry, w.fd) // and armed: an event will say when there is something
				}
				continue
			}
			w.armed &^= m
			if m == kernel.Readable {
				unset(&g.Dry, w.fd)
				g.show(w.fd)
			}
			if bits |= unix.EPOLLOUT; m == kernel.Readable {
				bits = bits&^unix.EPOLLOUT | unix.EPOLLIN
			}
		}
		if bits != 0 {
			b := g.buf[n*eventSize:]
			le.PutUint32(b, bits)
			le.PutUint64(b[4:], w.data)
			n++
		}
	}
	return n
}

// peekMax bounds what is shown of one stream.
const peekMax = 32 << 10

// peeker is a stream that can be looked into.
type peeker interface {
	Peek(dst []byte) (n int, more bool)
}

// show puts what a stream holds into the page, so that the guest needs no turn to read it.
func (g *guest) show(fd int) {
	f, ok := g.p.File(fd).(peeker)
	if !ok || g.PeekCount == page.SimPeekMax {
		return
	}
	room := g.peek[g.peeked:]
	n, more := f.Peek(room[:min(len(room), peekMax)])
	if n == 0 {
		return
	}
	e := &g.Peeked[g.PeekCount]
	*e = page.SimPeek{FD: uint32(fd), At: uint32(g.peeked), Len: uint32(n)}
	if !more {
		e.All = 1
	}
	g.PeekCount++
	g.peeked += n
}

// parked is a call that the disk answers later.
type parked struct {
	token int32
	num   uint64
	args  [6]uint64
	as    int32 // the guest waits for: the token, or the ticket of a posted call
}

// finished reports the calls that have ended. One that gives no bytes is made again here, so that the guest need not.
func (g *guest) finished(watches int) {
	left := g.parked[:0]
	n := copy(g.Done[:], g.ended)
	g.ended = append(g.ended[:0], g.ended[n:]...)
	g.DoneCount = uint32(n)
	for i, c := range g.parked {
		if ready, _ := g.subs[watches+i].Ready(); !ready || g.DoneCount == page.SimDoneMax {
			left = append(left, c)
			continue
		}
		d := &g.Done[g.DoneCount]
		*d = page.SimDone{Token: c.as}
		if c.num == unix.SYS_FSYNC || c.num == unix.SYS_FDATASYNC {
			g.p.ResumeWith(c.token)
			_, e := fsync(g, &c.args)
			d.Known, d.Errno = 1, uint64(e)
		}
		g.DoneCount++
	}
	g.parked = left
}
