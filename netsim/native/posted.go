//go:build linux && amd64

package native

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"trialog/netsim/kernel"
	"trialog/netsim/native/page"
)

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
	case unix.SYS_WRITE:
		n, err := g.p.Write(fd, data)
		g.wrote(fd, n, len(data), err)
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
