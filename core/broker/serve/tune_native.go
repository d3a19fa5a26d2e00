//go:build !guest

package serve

import "net"

// tune sets socket buffers, in bytes, as configured: only positive sizes.
func tune(nc net.Conn, send, receive int) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	if send > 0 {
		_ = tcp.SetWriteBuffer(send) // a hint: the system may refuse
	}
	if receive > 0 {
		_ = tcp.SetReadBuffer(receive)
	}
}
