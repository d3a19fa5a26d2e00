package exporter

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"trialog/core/broker"
)

const (
	scrapesMax     = 2
	connectionsMax = 32
	headerMax      = 16 << 10
	headerTimeout  = 5 * time.Second
	answerTimeout  = 30 * time.Second
	idleTimeout    = 2 * time.Minute
)

// Server serves /metrics, /healthz and /readyz of one broker.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan struct{}
}

// Start listens on addr, a host:port, and serves from then on: also while b recovers its logs. b must have a Meter.
func Start(addr string, b *broker.Broker, log *slog.Logger) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("exporter: trialog.metrics.listener %s: %w", addr, err)
	}
	s := &Server{
		listener: &limited{Listener: l, slots: make(chan struct{}, connectionsMax)}, done: make(chan struct{}),
		http: &http.Server{
			Handler: Handler(b), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: answerTimeout,
			IdleTimeout: idleTimeout, MaxHeaderBytes: headerMax, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s.listener)
	}()
	log.Info("metrics", "addr", l.Addr().String())
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Stop ends it; a scrape that runs is finished unless ctx ends first.
func (s *Server) Stop(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.done
}

// Handler answers the three paths.
//
// /healthz is 200 as long as the process lives, also while it recovers; /readyz is 200 when clients are served, and 503
// before and after. Both say the state in JSON.
func Handler(b *broker.Broker) http.Handler { return handler(b, newCollector(b)) }

func handler(b *broker.Broker, c *collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesMax, Timeout: answerTimeout / 2}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { health(w, b, http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		status := http.StatusServiceUnavailable
		if b.State() == broker.Running {
			status = http.StatusOK
		}
		health(w, b, status)
	})
	return mux
}

func health(w http.ResponseWriter, b *broker.Broker, status int) {
	state := b.State()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct {
		Node  int32  `json:"node"`
		State string `json:"state"`
		Ready bool   `json:"ready"`
	}{b.Node(), state.String(), state == broker.Running})
}

// limited is a listener with a bounded number of connections; others wait to be accepted.
type limited struct {
	net.Listener
	slots chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	l.slots <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotted{Conn: c, slots: l.slots, once: make(chan struct{}, 1)}, nil
}

// slotted gives its place back when it is closed.
type slotted struct {
	net.Conn
	slots chan struct{}
	once  chan struct{}
}

func (c *slotted) Close() error {
	select {
	case c.once <- struct{}{}:
		<-c.slots
	default:
	}
	return c.Conn.Close()
}
