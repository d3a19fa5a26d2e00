//go:build !guest && linux

package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// directMin is the smallest region that is worth a sendfile of its own.
const directMin = 32 << 10

// directPiece bounds one sendfile call, so that progress is seen.
const directPiece = 1 << 20

// direct sends file bytes from the page cache to a plaintext TCP socket
// (sendfile(2)) with an offset of its own: the file may be shared. It carries no
// promise of durability or order; the staging path sends the same bytes.
type direct struct {
	raw syscall.RawConn

	// State of the call that runs, so that the closures below are made once.
	buf      []byte
	region   Region
	off      int64
	left     int
	err      error
	fd       int
	progress *atomic.Int64
	onWrite  func(fd uintptr) bool
	onSend   func(fd uintptr) bool
	sendFile func(f *os.File, pos int64, n int) (int, error)
}

func (d *direct) open(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	d.raw = raw
	d.onWrite, d.onSend, d.sendFile = d.tryWrite, d.trySend, d.sendfile
}

func (d *direct) usable() bool { return d.raw != nil }

// writeMore writes all of b and tells the kernel that more follows (MSG_MORE), so
// that the small head of a response does not become a packet of its own.
func (d *direct) writeMore(b []byte) error {
	d.buf, d.err = b, nil
	err := d.raw.Write(d.onWrite)
	d.buf = nil
	return errors.Join(err, d.err)
}

func (d *direct) tryWrite(fd uintptr) bool {
	for len(d.buf) > 0 {
		n, err := unix.SendmsgN(int(fd), d.buf, nil, nil, unix.MSG_MORE)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return false
		case err != nil:
			d.err = fmt.Errorf("serve: send: %w", err)
			return true
		}
		d.buf = d.buf[n:]
	}
	return true
}

// send sends the first size bytes of r.
func (d *direct) send(r Region, size int, progress *atomic.Int64) error {
	d.region, d.off, d.left, d.err, d.progress = r, 0, size, nil, progress
	err := d.raw.Write(d.onSend)
	d.region = nil
	return errors.Join(err, d.err)
}

func (d *direct) trySend(fd uintptr) bool {
	d.fd = int(fd)
	for d.left > 0 {
		n, err := d.region.Send(d.off, d.sendFile)
		if n > 0 {
			d.off += int64(n)
			d.left -= n
			d.progress.Add(1)
			continue
		}
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return false
		case err == nil:
			d.err = fmt.Errorf("serve: sendfile ends at byte %d of %d: %w", d.off, d.off+int64(d.left), io.ErrUnexpectedEOF)
			return true
		default:
			d.err = fmt.Errorf("serve: sendfile: %w", err)
			return true
		}
	}
	return true
}

func (d *direct) sendfile(f *os.File, pos int64, n int) (int, error) {
	return unix.Sendfile(d.fd, int(f.Fd()), &pos, min(n, d.left, directPiece))
}
