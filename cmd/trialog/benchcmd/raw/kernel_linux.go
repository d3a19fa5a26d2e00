package raw

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// discardPiece is the most that one call throws away.
const discardPiece = 1 << 20

// Discard reads n bytes of a TCP connection and throws them away in the kernel: with MSG_TRUNC nothing is copied
// (tcp(7)).
func Discard(nc net.Conn, n int) error {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		_, err := io.CopyN(io.Discard, nc, int64(n))
		return err
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		for n > 0 {
			got, _, err := syscall.Recvfrom(int(fd), nowhere[:min(n, len(nowhere))], syscall.MSG_TRUNC)
			switch {
			case err == syscall.EAGAIN:
				return false
			case err == syscall.EINTR:
			case err != nil:
				failure = os.NewSyscallError("recvfrom", err)
				return true
			case got == 0:
				failure = io.ErrUnexpectedEOF
				return true
			default:
				n -= got
			}
		}
		return true
	})
	if failure != nil {
		return failure
	}
	return err
}

// nowhere gives the call its length; it is never written.
var nowhere [discardPiece]byte

// sendFile writes head and then size bytes of f from pos on: MSG_MORE and sendfile, as bare as they can be called. The
// standard library's way to sendfile costs about a tenth more.
func sendFile(nc *net.TCPConn, head []byte, f *os.File, pos, size int64) error {
	raw, err := nc.SyscallConn()
	if err != nil {
		return err
	}
	file, end := int(f.Fd()), pos+size
	var failure error
	err = raw.Write(func(fd uintptr) bool {
		for len(head) > 0 && failure == nil {
			var n int
			n, failure = unix.SendmsgN(int(fd), head, nil, nil, unix.MSG_MORE)
			head = head[max(n, 0):]
		}
		for pos < end && failure == nil {
			var n int
			if n, failure = unix.Sendfile(int(fd), file, &pos, int(min(end-pos, 1<<20))); n == 0 && failure == nil {
				failure = io.ErrUnexpectedEOF
			}
		}
		if errors.Is(failure, unix.EAGAIN) {
			failure = nil
			return false
		}
		return true
	})
	return errors.Join(err, failure)
}

// Sleep blocks its thread. time.Sleep waits whole milliseconds in a process that has nothing else to do.
func Sleep(d time.Duration) {
	left := unix.NsecToTimespec(max(0, d.Nanoseconds()))
	for errors.Is(unix.Nanosleep(&left, &left), unix.EINTR) {
	}
}
