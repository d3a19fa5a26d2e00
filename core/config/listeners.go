package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Listener is one endpoint: NAME://host:port.
type Listener struct {
	Name string // upper case
	Host string // "" is all interfaces (listeners only)
	Port int32  // 0 lets the system choose (listeners only)
}

// String is NAME://host:port, with brackets around an IPv6 host.
func (l Listener) String() string {
	host := l.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return l.Name + "://" + host + ":" + strconv.Itoa(int(l.Port))
}

func parseListener(s string) (Listener, error) {
	name, address, ok := strings.Cut(s, "://")
	colon := strings.LastIndexByte(address, ':')
	if !ok || name == "" || colon < 0 {
		return Listener{}, fmt.Errorf("%q is not of the form NAME://host:port", s)
	}
	port, err := strconv.ParseUint(address[colon+1:], 10, 16)
	if err != nil {
		return Listener{}, fmt.Errorf("%q: port %q is not 0 to 65535", s, address[colon+1:])
	}
	host := address[:colon]
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	} else if strings.ContainsAny(host, ":[]/") {
		return Listener{}, fmt.Errorf("%q: host %q is not a name, an IPv4 address or an IPv6 address in brackets", s, host)
	}
	return Listener{Name: strings.ToUpper(name), Host: host, Port: int32(port)}, nil
}

// parseProtocols reads listener.security.protocol.map into sorted pairs.
func parseProtocols(list []string) ([]Pair, error) {
	var pairs []Pair
	for _, word := range list {
		name, protocol, ok := strings.Cut(word, ":")
		if !ok || name == "" {
			return nil, fmt.Errorf("listener.security.protocol.map: %q is not of the form NAME:PROTOCOL", word)
		}
		pairs = append(pairs, Pair{Name: strings.ToUpper(name), Value: strings.ToUpper(protocol)})
	}
	pairs, err := SortPairs(pairs)
	if err != nil {
		return nil, fmt.Errorf("listener.security.protocol.map: %w", err)
	}
	return pairs, nil
}

// parseListeners reads one of the two lists. Names are distinct, and so are ports that are not 0; every protocol is
// PLAINTEXT.
func parseListeners(key string, list []string, protocols []Pair) ([]Listener, error) {
	var all []Listener
	for _, word := range list {
		l, err := parseListener(word)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if protocol, ok := Get(protocols, l.Name); !ok {
			return nil, fmt.Errorf("%s: %v: listener.security.protocol.map has no %s", key, l, l.Name)
		} else if protocol != "PLAINTEXT" {
			return nil, fmt.Errorf("%s: %v has protocol %s: only PLAINTEXT is served", key, l, protocol)
		}
		for _, o := range all {
			if o.Name == l.Name {
				return nil, fmt.Errorf("%s: two listeners are named %s", key, l.Name)
			}
			if key == "listeners" && o.Port == l.Port && l.Port != 0 && o.Host == l.Host {
				return nil, fmt.Errorf("%s: %v and %v are one address", key, o, l)
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// loadListeners fills the three lists of a Broker.
func (b *Broker) loadListeners(r *reader) error {
	protocols, err := parseProtocols(r.list("listener.security.protocol.map"))
	if err != nil {
		return err
	}
	listeners, err := parseListeners("listeners", r.list("listeners"), protocols)
	if err != nil {
		return err
	}
	advertised, err := parseListeners("advertised.listeners", r.list("advertised.listeners"), protocols)
	if err != nil {
		return err
	}
	controllers := r.list("controller.listener.names")
	for i := range controllers {
		controllers[i] = strings.ToUpper(controllers[i])
	}
	isController := func(l Listener) bool { return slices.Contains(controllers, l.Name) }
	for _, l := range listeners {
		if isController(l) {
			b.ControllerListeners = append(b.ControllerListeners, l)
		} else {
			b.Listeners = append(b.Listeners, l)
		}
	}
	b.AdvertisedListeners = slices.DeleteFunc(advertised, isController)
	return b.checkListeners()
}

func (b *Broker) checkListeners() error {
	if len(b.Listeners) == 0 {
		return fmt.Errorf("listeners: all of them are controller.listener.names, clients have none")
	}
	if len(b.AdvertisedListeners) == 0 {
		b.AdvertisedListeners = slices.Clone(b.Listeners)
		return nil
	}
	for _, l := range b.AdvertisedListeners {
		if !slices.ContainsFunc(b.Listeners, func(o Listener) bool { return o.Name == l.Name }) {
			return fmt.Errorf("advertised.listeners: %v: listeners has no %s", l, l.Name)
		}
		if l.Host == "" || l.Host == "0.0.0.0" || l.Host == "::" || l.Port == 0 {
			return fmt.Errorf("advertised.listeners: %v is not an address that clients can dial", l)
		}
	}
	return nil
}
