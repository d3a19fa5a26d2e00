//go:build !linux

package raw

import (
	"io"
	"net"
)

// Discard reads n bytes and throws them away.
func Discard(nc net.Conn, n int) error {
	_, err := io.CopyN(io.Discard, nc, int64(n))
	return err
}
