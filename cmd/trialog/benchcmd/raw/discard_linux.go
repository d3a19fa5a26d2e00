package raw

import (
	"io"
	"net"
	"os"
	"syscall"
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
