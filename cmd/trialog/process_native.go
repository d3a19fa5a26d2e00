//go:build !guest

package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"trialog/core/broker"
	"trialog/core/broker/exporter"
	"trialog/core/broker/meter"
	"trialog/core/config"
)

// monotonicNs is the system's monotonic clock, the same for all processes of a run.
func monotonicNs() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock_gettime(CLOCK_MONOTONIC): " + err.Error())
	}
	return ts.Nano()
}

// newMeter is for a broker that shows its metrics; nil: nobody measures.
func newMeter(cfg *config.Broker) *meter.Meter {
	if cfg.MetricsListener == "" {
		return nil
	}
	return meter.New()
}

// serveMetrics shows a broker over HTTP where its configuration says so, before it starts and until the end.
func serveMetrics(cfg *config.Broker, b *broker.Broker, log *slog.Logger) (stop func(), err error) {
	if cfg.MetricsListener == "" {
		return func() {}, nil
	}
	s, err := exporter.Start(cfg.MetricsListener, b, log)
	if err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Stop(ctx)
	}, nil
}

// notifySignals sends the name of each SIGTERM and SIGINT.
func notifySignals(to chan<- string) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		for s := range signals {
			to <- s.String()
		}
	}()
}
