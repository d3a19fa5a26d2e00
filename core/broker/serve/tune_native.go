//go:build !guest

package serve

import "net"

// tune sets socket buffers as configured.
func tune(nc net.Conn, limits Limits) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	if limits.SendBuffer > 0 {
		_ = tcp.SetWriteBuffer(limits.SendBuffer) // a hint: the system may refuse
	}
	if limits.ReceiveBuffer > 0 {
		_ = tcp.SetReadBuffer(limits.ReceiveBuffer)
	}
}
