package client

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/kafka"
)

// Config says how a client reaches its cluster. The zero value of every field but Bootstrap means the default; names
// in brackets are Kafka's for the same setting.
type Config struct {
	Bootstrap       []string      // host:port of brokers to begin with [bootstrap.servers]
	ClientID        string        // sent in every request [client.id]; default "trialog"
	DialTimeout     time.Duration // for a connection, and again for its version negotiation [socket.connection.setup.timeout.ms]; 2 s
	RequestTimeout  time.Duration // until a request without response breaks its connection [request.timeout.ms]; 5 s
	RetryBackoff    time.Duration // pause before the first retry, doubled for each further one [retry.backoff.ms]; 100 ms
	RetryBackoffMax time.Duration // and never longer than this [retry.backoff.max.ms]; 1 s
}

// withDefaults fills in what is zero and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	if len(c.Bootstrap) == 0 {
		return c, errors.New("client: no bootstrap address")
	}
	for _, a := range c.Bootstrap {
		if _, port, err := net.SplitHostPort(a); err != nil || port == "" {
			return c, fmt.Errorf("client: bootstrap address %q is not host:port", a)
		}
	}
	if c.ClientID == "" {
		c.ClientID = "trialog"
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.DialTimeout, 2 * time.Second},
		{&c.RequestTimeout, 5 * time.Second},
		{&c.RetryBackoff, 100 * time.Millisecond},
		{&c.RetryBackoffMax, time.Second},
	} {
		if *d.value < 0 {
			return c, fmt.Errorf("client: negative duration %s in the configuration", *d.value)
		}
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	return c, nil
}

// backoff is the pause after the given number of failed attempts, which is at least 1. It has no jitter: what a
// workload does is fixed by its seed.
func (c *Config) backoff(failed int) time.Duration {
	d := c.RetryBackoff
	for range failed - 1 {
		if d *= 2; d >= c.RetryBackoffMax {
			break
		}
	}
	return min(d, c.RetryBackoffMax)
}

// purpose keeps apart what must not wait for each other: a long poll must not hold up a produce.
type purpose uint8

const (
	forAdmin purpose = iota
	forProduce
	forFetch
)

// connKey names a connection.
type connKey struct {
	addr string
	purpose
}

// slot is the place of one connection; its lock is held while dialling, so that one dial serves all who wait.
type slot struct {
	mu   sync.Mutex
	conn *conn
}

// Client is the shared part of producers, readers and admin calls: connections and metadata. It is safe for
// concurrent use. It does no I/O before it is asked to.
type Client struct {
	cfg Config

	mu     sync.Mutex
	slots  map[connKey]*slot
	closed bool

	meta metadata
}

// New checks cfg and returns a client. The caller closes it.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Client{cfg: cfg, slots: make(map[connKey]*slot)}, nil
}

// Close breaks every connection; what is in flight ends as unknown. It waits for a dial that is under way, which
// DialTimeout bounds, and may be called twice.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	var open []*slot
	for _, s := range c.slots {
		open = append(open, s)
	}
	c.mu.Unlock()
	for _, s := range open {
		s.mu.Lock()
		if s.conn != nil {
			s.conn.fail(NameConnectionLost, errClosed)
		}
		s.mu.Unlock()
	}
}

// connect returns the connection to addr for a purpose; it dials when there is none or the last one is broken.
func (c *Client) connect(addr string, p purpose) (*conn, *transportError) {
	c.mu.Lock()
	s := c.slots[connKey{addr, p}]
	if s == nil {
		s = &slot{}
		c.slots[connKey{addr, p}] = s
	}
	c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.isClosed() {
		return nil, &transportError{name: NameNotSent, err: errClosed}
	}
	if s.conn != nil && !s.conn.broken() {
		return s.conn, nil
	}
	conn, err := dial(addr, c.cfg.ClientID, c.cfg.DialTimeout)
	s.conn = conn
	return conn, err
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// request sends one request to addr in the newest version that both sides speak and waits for its response.
func (c *Client) request(addr string, p purpose, req kmsg.Request, timeout time.Duration) (kmsg.Response, *transportError) {
	conn, err := c.connect(addr, p)
	if err != nil {
		return nil, err
	}
	if err := conn.version(req); err != nil {
		return nil, err
	}
	return conn.roundTrip(req, timeout)
}

// version sets the version of req.
func (c *conn) version(req kmsg.Request) *transportError {
	v, err := c.versions.pick(req.Key())
	if err != nil {
		return &transportError{name: NameNotSent, code: kafka.ErrUnsupportedVersion, err: fmt.Errorf("%s: %w", c.addr, err)}
	}
	req.SetVersion(v)
	return nil
}
