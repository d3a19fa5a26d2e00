package broker

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"

	"trialog/core/config"
)

// hostsMax is how many entries of max.connections.per.ip.overrides may be names, which are looked up; names further on limit nobody.
const hostsMax = 1000

// hosts knows the addresses of the hosts that max.connections.per.ip.overrides names. While the broker runs a goroutine
// looks them up, one after the other: the metadata, under whose lock settings change, waits for no name server.
type hosts struct {
	log    *slog.Logger
	lookUp func(ctx context.Context, host string) ([]string, error)
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	known   map[string][]string // addresses by name; none: nobody knows it
	running bool
	worker  sync.WaitGroup
}

func newHosts(log *slog.Logger) *hosts {
	h := &hosts{log: log, lookUp: net.DefaultResolver.LookupHost, known: map[string][]string{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// namesOf is what is to be looked up, each name once.
func namesOf(all []config.ConnectionOverride) []string {
	var names []string
	for _, o := range all[:min(len(all), hostsMax)] {
		if _, err := netip.ParseAddr(o.Host); err != nil && !slices.Contains(names, o.Host) {
			names = append(names, o.Host)
		}
	}
	return names
}

// addressesOf is the addresses of a host as connections have them, as far as they are known yet.
func (h *hosts) addressesOf(host string) []string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []string{ip.Unmap().String()}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[host]
}

// learn looks up what is not known, before the broker serves.
func (h *hosts) learn(all []config.ConnectionOverride) {
	for _, name := range namesOf(all) {
		h.learnOne(name)
	}
}

// learnOne looks one name up. A name that nobody knows limits nobody, as it must not end a broker that runs.
func (h *hosts) learnOne(name string) {
	addresses, err := h.lookUp(h.ctx, name)
	if err != nil && h.ctx.Err() == nil {
		h.log.Warn("max.connections.per.ip.overrides: a host is not known", "host", name, "err", err)
	}
	h.mu.Lock()
	h.known[name] = addresses
	h.mu.Unlock()
}

// learnSoon has what is not known looked up in the background, again if nobody knew it, and then calls learned. all is
// what is wanted now; it is asked before each lookup.
func (h *hosts) learnSoon(all func() []config.ConnectionOverride, learned func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running || h.ctx.Err() != nil {
		return
	}
	names := namesOf(all())
	for name, addresses := range h.known {
		if len(addresses) == 0 || !slices.Contains(names, name) {
			delete(h.known, name)
		}
	}
	if len(h.known) == len(names) {
		return
	}
	h.running = true
	h.worker.Go(func() {
		for name, ok := h.next(all); ok; name, ok = h.next(all) {
			h.learnOne(name)
		}
		learned()
	})
}

// next is a name to look up. When there is none, nobody looks up any more.
func (h *hosts) next(all func() []config.ConnectionOverride) (name string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() == nil {
		for _, name := range namesOf(all()) {
			if _, known := h.known[name]; !known {
				return name, true
			}
		}
	}
	h.running = false
	return "", false
}

// stop ends lookups and waits for them.
func (h *hosts) stop() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.worker.Wait()
}
