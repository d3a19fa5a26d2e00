package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"trialog/cmd/trialog/cli"
	"trialog/core/broker"
	"trialog/core/config"
)

// stopTimeout is how long a clean stop waits for answers that are being made; logs are closed in any case.
const stopTimeout = 30 * time.Second

// brokerOptions are the flags of `trialog broker`.
type brokerOptions struct {
	file      string
	overrides []string
	stopOnEOF bool
	metrics   string
	asJSON    bool
}

func (o *brokerOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.file, "config", "", "server.properties; without it Kafka's defaults, and node.id must come from --override")
	f.StringArrayVar(&o.overrides, "override", nil, "key=value that wins over the file; repeat for more")
	f.StringVar(&o.metrics, "metrics", "", "host:port for /metrics, /healthz and /readyz: --override trialog.metrics.listener=")
	f.BoolVar(&o.asJSON, "json", false, "print the line about serving as JSON")
	f.BoolVar(&o.stopOnEOF, "stop-on-eof", false, "stop cleanly when stdin ends")
	f.MarkHidden("stop-on-eof")
}

// run is the broker from its settings to its end.
func (o *brokerOptions) run(_ context.Context, stdout, stderr io.Writer) error {
	if o.metrics != "" {
		o.overrides = append(o.overrides, "trialog.metrics.listener="+o.metrics)
	}
	cfg, err := loadConfig(o.file, o.overrides)
	if err != nil {
		return err
	}
	stop := make(chan string, 2)
	notifySignals(stop)
	if o.stopOnEOF {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			stop <- "end of stdin"
		}()
	}
	return o.serve(stdout, stderr, cfg, stop)
}

func loadConfig(file string, overrides []string) (*config.Broker, error) {
	var props *config.Properties
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("broker: --config: %w", err)
		}
		if props, err = config.ParseProperties(file, string(text)); err != nil {
			return nil, err
		}
	}
	return config.LoadBroker(props, overrides)
}

// serve serves until something says why to stop.
func (o *brokerOptions) serve(stdout, stderr io.Writer, cfg *config.Broker, stop <-chan string) error {
	log := slog.New(slog.NewTextHandler(stderr, nil))
	for _, w := range cfg.Warnings {
		log.Warn(w)
	}
	events, err := broker.EventsFromEnv()
	if err != nil {
		return err
	}
	b, err := broker.New(cfg, broker.Options{Log: log, Version: sourceHash(), Events: events, Meter: newMeter(cfg)})
	if err != nil {
		return err
	}
	stopMetrics, err := serveMetrics(cfg, b, log)
	if err != nil {
		return cli.Exit(cli.Failed, err)
	}
	defer stopMetrics()
	limitMemory(broker.RequestMemory(cfg))
	if err := b.Start(); err != nil {
		return cli.Exit(cli.Failed, err)
	}
	if o.asJSON {
		json.NewEncoder(stdout).Encode(map[string]any{"node": cfg.NodeID, "listening": b.Addr().String()})
	} else {
		fmt.Fprintf(stdout, "broker %d listening on %s\n", cfg.NodeID, b.Addr())
	}
	select {
	case why := <-stop:
		log.Info("stopping", "why", why)
	case err := <-b.Failed():
		return cli.Exit(cli.Failed, err) // at once: see Failed
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- b.Stop(ctx) }()
	return awaitStop(stopped, stop)
}

// sameSignal is how long after the first a signal counts as the same one: `timeout` and shells send theirs to the process
// and to its group, and that must not cost a clean stop.
const sameSignal = 500 * time.Millisecond

// awaitStop waits for the clean stop to end, or for a second word to end at once.
func awaitStop(stopped <-chan error, stop <-chan string) error {
	began := time.Now()
	for {
		select {
		case err := <-stopped:
			if err != nil {
				return cli.Exit(cli.Failed, err)
			}
			return nil
		case why := <-stop:
			if time.Since(began) >= sameSignal {
				return cli.Exit(cli.Failed, fmt.Errorf("broker: ended by a second signal (%s) before it had stopped", why))
			}
		}
	}
}
