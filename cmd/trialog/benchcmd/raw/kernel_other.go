//go:build !linux

package raw

import (
	"io"
	"net"
	"os"
	"time"
)

// Discard reads n bytes and throws them away.
func Discard(nc net.Conn, n int) error {
	_, err := io.CopyN(io.Discard, nc, int64(n))
	return err
}

// sendFile writes head and then size bytes of f from pos on.
func sendFile(nc *net.TCPConn, head []byte, f *os.File, pos, size int64) error {
	if _, err := nc.Write(head); err != nil {
		return err
	}
	if _, err := f.Seek(pos, io.SeekStart); err != nil {
		return err
	}
	n, err := nc.ReadFrom(&io.LimitedReader{R: f, N: size})
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Sleep waits for some time.
func Sleep(d time.Duration) { time.Sleep(d) }
