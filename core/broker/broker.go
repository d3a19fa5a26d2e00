package broker

import (
	"context"
	"io"
	"log/slog"
	"net"

	"trialog/core/config"
)

// Options are what a broker is given beside its configuration.
type Options struct {
	// Log takes one line for each thing that an operator should know; nil is silent.
	Log *slog.Logger
	// Version is reported in the start event.
	Version string
	// Events takes the events of core/event, one line a Write, each before the
	// effect that it describes leaves the process; nil: none. See EventsFromEnv.
	Events io.Writer
}

// Broker is one broker process. Make it with New.
type Broker struct{}

// New checks the configuration and touches nothing. Errors are usage errors:
// unknown rules, listeners that cannot be served.
func New(cfg *config.Broker, opts Options) (*Broker, error) { panic("broker: New") }

// Start locks and opens the log directories, recovers the logs, replays the
// metadata, registers the broker, listens, and returns when clients are served.
// After an error everything is closed again.
func (b *Broker) Start() error { panic("broker: Start") }

// Addr is the address of the first listener, after Start.
func (b *Broker) Addr() net.Addr { panic("broker: Addr") }

// Stop ends the broker cleanly: no new requests, answers to those that are being
// handled, logs flushed and closed, checkpoints and the clean-shutdown marker
// written. When ctx ends, connections are cut, and the logs are still closed. A
// second call waits for the first.
func (b *Broker) Stop(ctx context.Context) error { panic("broker: Stop") }

// Abandon ends the broker as a crash would: nothing is flushed, no marker is
// written. For tests.
func (b *Broker) Abandon() { panic("broker: Abandon") }

// EventsFromEnv opens the descriptor named by TRIALOG_EVENTS_FD; nil when the
// variable is not set.
func EventsFromEnv() (io.Writer, error) { panic("broker: EventsFromEnv") }
