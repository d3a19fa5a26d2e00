package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sort"
	"sync"
	"time"

	"trialog/core/broker/meter"
	"trialog/core/kafka"
	"trialog/core/wire"
)

// Limits bound what peers may cost. All are Kafka's settings.
type Limits struct {
	FrameMax            int   // socket.request.max.bytes
	RequestBytes        int64 // bytes of requests held at one time
	RequestsMax         int   // queued.max.requests: requests being handled at one time
	ConnectionsMax      int   // max.connections
	ConnectionsPerIPMax int   // max.connections.per.ip
	// PerIP has other limits for some addresses: max.connections.per.ip.overrides.
	PerIP map[string]int
	// CreationRateMax is max.connection.creation.rate: connections accepted in a
	// second over all listeners; the others wait to be accepted (KIP-612).
	CreationRateMax int
	IdleMax         time.Duration // connections.max.idle.ms; 0 or less: never
	CopyRegions     bool          // file bytes are copied through this process: trialog.sendfile.enable=false
	SendBuffer      int           // socket.send.buffer.bytes; -1: the system's
	ReceiveBuffer   int           // socket.receive.buffer.bytes; -1: the system's
}

// sweepsPerIdle is how often a connection is looked at within IdleMax.
const sweepsPerIdle = 4

// Server accepts connections and serves the rows.
type Server struct {
	rows   [wire.KeyMax + 1]*Row
	limits Limits
	log    *slog.Logger
	now    func() kafka.Now
	meter  *meter.Meter // nil: nobody measures
	pool   wire.Pool
	budget *wire.Budget
	slots  chan struct{}

	quit chan struct{} // closed when nothing more is accepted

	mu        sync.Mutex
	creation  creation
	listeners []net.Listener
	conns     []*conn // in order of arrival
	perIP     map[string]int
	counts    map[string]*ListenerCount // by listener
	stopping  bool
	idle      *time.Timer
	accepting sync.WaitGroup
	serving   sync.WaitGroup
}

// NewServer makes a server that answers with rows. m measures requests; it may be nil.
func NewServer(rows []Row, limits Limits, log *slog.Logger, now func() kafka.Now, m *meter.Meter) *Server {
	s := &Server{
		meter: m, counts: map[string]*ListenerCount{},
		limits: limits, log: slog.New(&limitHandler{Handler: log.Handler(), state: new(limitState), now: now}), now: now,
		budget: wire.NewBudget(limits.RequestBytes), slots: make(chan struct{}, limits.RequestsMax), perIP: map[string]int{},
		quit: make(chan struct{}),
	}
	for i := range rows {
		s.rows[rows[i].Key] = &rows[i]
	}
	if limits.IdleMax > 0 {
		s.idle = time.AfterFunc(limits.IdleMax/sweepsPerIdle, s.sweep)
	}
	return s
}

// row is never nil: frames of unknown keys were refused before.
func (s *Server) row(key int16) *Row { return s.rows[key] }

// HeldBytes is the request memory in use, for tests and metrics.
func (s *Server) HeldBytes() int64 { return s.budget.Used() }

// HighestBytes is the most request memory that was in use at one time since it was
// called last, for tests.
func (s *Server) HighestBytes() int64 { return s.budget.Highest() }

// Connections is how many connections are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// ListenerCount is the connections of one listener: open now, accepted and closed since the start. Those that were refused
// count as accepted and closed.
type ListenerCount struct {
	Name                  string
	Open, Created, Closed int64
}

// Listeners is the connections of every listener, by name.
func (s *Server) Listeners() []ListenerCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []ListenerCount
	for _, c := range s.counts {
		all = append(all, *c)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// count notes that a connection of a listener was opened or closed. The lock is held.
func (s *Server) count(listener string, opened, closed int64) {
	c := s.counts[listener]
	if c == nil {
		c = &ListenerCount{Name: listener}
		s.counts[listener] = c
	}
	c.Created += opened
	c.Closed += closed
	c.Open = c.Created - c.Closed
}

// Serve accepts from l in a goroutine of its own until Stop.
func (s *Server) Serve(l net.Listener, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, l)
	s.count(name, 0, 0)
	s.accepting.Add(1)
	go s.accept(l, name)
}

// accept survives what accepting may fail with, EMFILE for one: it waits and
// tries again.
func (s *Server) accept(l net.Listener, name string) {
	defer s.accepting.Done()
	const pauseMax = time.Second
	pause := 5 * time.Millisecond
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			if s.isStopping() {
				return
			}
			s.log.Warn("accept failed", "listener", name, "err", err)
			time.Sleep(pause)
			pause = min(2*pause, pauseMax)
			continue
		}
		pause = 5 * time.Millisecond
		s.awaitTurn()
		s.admit(nc, name)
	}
}

// awaitTurn holds an acceptor up while connections come faster than
// max.connection.creation.rate: what arrives meanwhile waits in the system's
// backlog, and costs nothing here.
func (s *Server) awaitTurn() {
	for {
		s.mu.Lock()
		wait := int64(0)
		if s.limits.CreationRateMax < unlimitedRate {
			wait = s.creation.take(s.now().MonoNs, s.limits.CreationRateMax)
		}
		s.mu.Unlock()
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(time.Duration(wait))
		select {
		case <-timer.C:
		case <-s.quit:
			timer.Stop()
			return
		}
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// SetLimits changes what may change while the server runs: the limits of
// connections. Connections that are there stay.
func (s *Server) SetLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.ConnectionsMax, s.limits.ConnectionsPerIPMax, s.limits.PerIP = l.ConnectionsMax, l.ConnectionsPerIPMax, l.PerIP
	s.limits.CreationRateMax = l.CreationRateMax
}

// full reports that no connection of host may be added. The lock is held.
func (s *Server) full(host string) bool {
	most := s.limits.ConnectionsPerIPMax
	if n, ok := s.limits.PerIP[host]; ok {
		most = n
	}
	return s.stopping || len(s.conns) >= s.limits.ConnectionsMax || s.perIP[host] >= most
}

// admit starts a connection, or closes it at once when there are too many.
func (s *Server) admit(nc net.Conn, listener string) {
	tune(nc, s.limits.SendBuffer, s.limits.ReceiveBuffer) // not the whole of limits: others change under the lock
	c := newConn(s, nc, listener)
	s.mu.Lock()
	refused := s.full(c.session.Host)
	s.count(listener, 1, 0)
	if refused {
		s.count(listener, 0, 1)
	} else {
		s.conns = append(s.conns, c)
		s.perIP[c.session.Host]++
		s.serving.Add(1)
	}
	open := len(s.conns)
	s.mu.Unlock()
	if refused {
		_ = nc.Close()
		s.log.Warn("connection refused: too many", "host", c.session.Host, "open", open)
		return
	}
	go c.serve()
}

// closed forgets a connection.
func (s *Server) closed(c *conn, err error) {
	defer s.serving.Done()
	s.mu.Lock()
	s.count(c.session.Listener, 0, 1)
	if i := slices.Index(s.conns, c); i >= 0 {
		s.conns = slices.Delete(s.conns, i, i+1)
	}
	if s.perIP[c.session.Host]--; s.perIP[c.session.Host] <= 0 {
		delete(s.perIP, c.session.Host)
	}
	s.mu.Unlock()
	switch {
	case isProtocol(err):
		s.log.Warn("connection closed", "host", c.session.Host, "client", c.session.ClientID, "err", err)
	case !isQuiet(err):
		s.log.Debug("connection ended", "host", c.session.Host, "client", c.session.ClientID, "err", err)
	}
}

// sweep looks at every connection once.
func (s *Server) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	for _, c := range s.conns {
		c.sweep(sweepsPerIdle)
	}
	s.idle.Reset(s.limits.IdleMax / sweepsPerIdle)
}

// Stop ends all connections: nothing more is accepted or read, what was asked is
// answered; when ctx ends, connections are cut. It returns when no handler runs.
func (s *Server) Stop(ctx context.Context) error {
	conns := s.stopAccepting()
	for _, c := range conns {
		c.end()
	}
	done := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, c := range conns {
		c.cut()
	}
	<-done
	return ctx.Err()
}

func (s *Server) stopAccepting() []*conn {
	s.mu.Lock()
	if !s.stopping {
		close(s.quit)
	}
	s.stopping = true
	if s.idle != nil {
		s.idle.Stop()
	}
	for _, l := range s.listeners {
		_ = l.Close()
	}
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	s.accepting.Wait()
	return conns
}
