//go:build guest

package main

import (
	"log/slog"
	"sync/atomic"

	"trialog/core/broker"
	"trialog/core/broker/meter"
	"trialog/core/config"
)

var stamps atomic.Int64

// monotonicNs counts calls: it never goes back, and the simulator stamps its own time over it. Reading a clock would
// cost a system call for each line.
func monotonicNs() int64 { return stamps.Add(1) }

// notifySignals does nothing: a guest has no signals, its stdin ends instead.
func notifySignals(chan<- string) {}

// newMeter makes none: nobody could ask for it.
func newMeter(*config.Broker) *meter.Meter { return nil }

// serveMetrics serves none: a guest has no use for HTTP, and its program stays small.
func serveMetrics(*config.Broker, *broker.Broker, *slog.Logger) (stop func(), err error) {
	return func() {}, nil
}

// limitMemory does nothing: the simulator bounds the memory of a guest.
func limitMemory(int64) {}
