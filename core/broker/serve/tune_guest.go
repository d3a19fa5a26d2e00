//go:build guest

package serve

import "net"

// tune does nothing: a simulated socket has the buffers that its world gives it.
func tune(net.Conn, int, int) {}
