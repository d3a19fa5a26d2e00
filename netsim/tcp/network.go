package tcp

import (
	"time"

	"trialog/netsim/kernel"
)

// Options of a network. Zero values mean the defaults.
type Options struct {
	LatencyMin, LatencyMax time.Duration // one way, drawn for each segment; default 50 us to 500 us
	BytesPerSecond         int64         // of a directed link; default 125,000,000 (1 Gbit/s)
	Buffer                 int           // bytes sent and not yet read, per direction; default 256 KiB
	DialTimeout            time.Duration // default 20 s
	GiveUp                 time.Duration // without an acknowledgement, until ETIMEDOUT; default 60 s
	RetransmitMax          time.Duration // longest wait after a link healed; default 3 s
	Backlog                int           // connections a listener holds unaccepted; default 128
}

// HostsMax bounds a network, which has one /24.
const HostsMax = 254

// Network joins all hosts of a world. It implements [kernel.Net].
type Network struct {
	k   *kernel.Kernel
	opt Options
}

// New makes a network without hosts.
func New(k *kernel.Kernel, opt Options) *Network { panic("tcp: New") }

// AddHost makes a host reachable under its name. A zero h.IP is set to the next free 10.0.0.x. It panics if the name
// or address is taken or the network is full.
func (n *Network) AddHost(h *kernel.Host) { panic("tcp: AddHost") }

// Listen binds; see [kernel.Net].
func (n *Network) Listen(p *kernel.Proc, at kernel.Addr) (kernel.Socket, kernel.Errno) {
	panic("tcp: Listen")
}

// Dial starts a connection; see [kernel.Net].
func (n *Network) Dial(p *kernel.Proc, to kernel.Addr) (kernel.Socket, kernel.Errno) {
	panic("tcp: Dial")
}

// Lookup resolves a host name, "localhost" or a dotted address; ENOENT if there is none.
func (n *Network) Lookup(p *kernel.Proc, name string) ([4]byte, kernel.Errno) { panic("tcp: Lookup") }

// String lists hosts, links in an unusual state, and connections, sorted.
func (n *Network) String() string { panic("tcp: String") }
