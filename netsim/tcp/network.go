package tcp

import (
	"fmt"
	"net/netip"
	"strings"
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

func (o *Options) setDefaults() {
	if o.LatencyMax == 0 {
		o.LatencyMin, o.LatencyMax = 50*time.Microsecond, 500*time.Microsecond
	}
	if o.BytesPerSecond == 0 {
		o.BytesPerSecond = 125_000_000
	}
	if o.Buffer == 0 {
		o.Buffer = 256 << 10
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = 20 * time.Second
	}
	if o.GiveUp == 0 {
		o.GiveUp = 60 * time.Second
	}
	if o.RetransmitMax == 0 {
		o.RetransmitMax = 3 * time.Second
	}
	if o.Backlog == 0 {
		o.Backlog = 128
	}
}

// HostsMax bounds a network, which has one /24.
const HostsMax = 254

// Ephemeral ports, as Linux has them by default.
const (
	portMin = 32768
	portMax = 60999
)

var (
	anyIP      = [4]byte{}
	loopbackIP = [4]byte{127, 0, 0, 1}
)

// Network joins all hosts of a world. It implements [kernel.Net].
type Network struct {
	k     *kernel.Kernel
	opt   Options
	hosts []*host
	conns []*conn // alive, by id
	last  int64   // id of the newest connection
}

// host is what the network knows of a machine.
type host struct {
	name      string
	ip        [4]byte
	index     int
	down      bool
	listeners []*listener
	nextPort  int
	out       []*link // to each host, by index; nil until used
}

// New makes a network without hosts.
func New(k *kernel.Kernel, opt Options) *Network {
	opt.setDefaults()
	return &Network{k: k, opt: opt}
}

// AddHost makes a host reachable under its name. A zero h.IP is set to the next free 10.0.0.x. It panics if the name
// or address is taken or the network is full.
func (n *Network) AddHost(h *kernel.Host) {
	if len(n.hosts) == HostsMax {
		panic(fmt.Sprintf("tcp: AddHost %q: the network is full with %d hosts", h.Name, HostsMax))
	}
	for last := byte(1); h.IP == anyIP; last++ {
		if ip := [4]byte{10, 0, 0, last}; n.hostAt(ip) == nil {
			h.IP = ip
		}
	}
	if n.find(h.Name) != nil || n.hostAt(h.IP) != nil {
		panic(fmt.Sprintf("tcp: AddHost %q at %v: name or address taken", h.Name, h.IP))
	}
	n.hosts = append(n.hosts, &host{name: h.Name, ip: h.IP, index: len(n.hosts), nextPort: portMin})
}

func (n *Network) find(name string) *host {
	for _, h := range n.hosts {
		if h.name == name {
			return h
		}
	}
	return nil
}

// host is find for callers that promise it is there.
func (n *Network) host(name string) *host {
	h := n.find(name)
	if h == nil {
		panic(fmt.Sprintf("tcp: there is no host %q", name))
	}
	return h
}

func (n *Network) hostAt(ip [4]byte) *host {
	for _, h := range n.hosts {
		if h.ip == ip {
			return h
		}
	}
	return nil
}

// Lookup resolves a host name, "localhost" or a dotted address; ENOENT if there is none. As in /etc/hosts, case does not
// count, nor does a dot at the end.
func (n *Network) Lookup(p *kernel.Proc, name string) ([4]byte, kernel.Errno) {
	plain := strings.TrimSuffix(name, ".")
	if strings.EqualFold(plain, "localhost") {
		return loopbackIP, kernel.OK
	}
	for _, h := range n.hosts {
		if strings.EqualFold(h.name, plain) {
			return h.ip, kernel.OK
		}
	}
	if a, err := netip.ParseAddr(name); err == nil && a.Is4() {
		return a.As4(), kernel.OK
	}
	return anyIP, kernel.ENOENT
}

// Bind checks an address to listen at; see [kernel.Net].
func (n *Network) Bind(p *kernel.Proc, at kernel.Addr) (kernel.Addr, kernel.Errno) {
	h := n.host(p.Host.Name)
	if at.IP != anyIP && at.IP != loopbackIP && at.IP != h.ip {
		return at, kernel.EADDRNOTAVAIL
	}
	if at.Port == 0 {
		port, ok := n.freePort(h)
		if !ok {
			return at, kernel.EADDRINUSE
		}
		at.Port = port
	}
	for _, l := range h.listeners {
		if l.at.Port == at.Port && (l.at.IP == at.IP || l.at.IP == anyIP || at.IP == anyIP) {
			return at, kernel.EADDRINUSE
		}
	}
	return at, kernel.OK
}

// Listen binds; see [kernel.Net].
func (n *Network) Listen(p *kernel.Proc, at kernel.Addr) (kernel.Socket, kernel.Errno) {
	at, e := n.Bind(p, at)
	if e != kernel.OK {
		return nil, e
	}
	h := n.host(p.Host.Name)
	l := &listener{n: n, host: h, at: at}
	h.listeners = append(h.listeners, l)
	return l, kernel.OK
}

// freePort takes the next ephemeral port that nobody on h uses.
func (n *Network) freePort(h *host) (uint16, bool) {
	for range portMax - portMin + 1 {
		port := uint16(h.nextPort)
		if h.nextPort++; h.nextPort > portMax {
			h.nextPort = portMin
		}
		if !n.uses(h, port) {
			return port, true
		}
	}
	return 0, false
}

func (n *Network) uses(h *host, port uint16) bool {
	for _, l := range h.listeners {
		if l.at.Port == port {
			return true
		}
	}
	for _, c := range n.conns {
		for _, s := range c.ends {
			if s.host == h && s.local.Port == port {
				return true
			}
		}
	}
	return false
}

// Dial starts a connection; see [kernel.Net].
func (n *Network) Dial(p *kernel.Proc, to kernel.Addr) (kernel.Socket, kernel.Errno) {
	from := n.host(p.Host.Name)
	local := kernel.Addr{IP: from.ip}
	peer := n.hostAt(to.IP)
	if to.IP == loopbackIP || to.IP == anyIP {
		peer, to.IP, local.IP = from, loopbackIP, loopbackIP
	}
	if peer == nil {
		return nil, kernel.ENETUNREACH
	}
	port, ok := n.freePort(from)
	if !ok {
		return nil, kernel.EADDRNOTAVAIL
	}
	local.Port = port
	c := n.connect(from, peer, local, to)
	n.k.Note(from.name, "tcp: dial", c.id, int64(peer.index), int64(to.Port))
	return c.ends[dialer], kernel.EINPROGRESS
}
