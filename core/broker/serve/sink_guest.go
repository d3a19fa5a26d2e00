//go:build guest || !linux

package serve

import (
	"errors"
	"net"
	"sync/atomic"
)

// directMin is as in sink_native.go; nothing is sent directly here.
const directMin = 32 << 10

// direct sends file bytes without copying them through this process; here there
// is no such way.
type direct struct{}

var errNoDirect = errors.New("serve: no sendfile here")

func (*direct) open(net.Conn)                         {}
func (*direct) usable() bool                          { return false }
func (*direct) writeMore([]byte) error                { return errNoDirect }
func (*direct) send(Region, int, *atomic.Int64) error { return errNoDirect }
