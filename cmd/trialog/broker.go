package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"trialog/cmd/trialog/cli"
	"trialog/core/broker"
	"trialog/core/config"
)

// stopTimeout is how long a clean stop waits for answers that are being made; logs are closed in any case.
const stopTimeout = 30 * time.Second

func init() { commands = append(commands, brokerCommand) }

func brokerCommand() *cobra.Command {
	var (
		file      string
		overrides []string
		stopOnEOF bool
		metrics   string
		asJSON    bool
	)
	c := &cobra.Command{
		Use:   "broker",
		Short: "run a broker",
		Long: `Run a broker until it is told to stop (SIGTERM or SIGINT: it stops cleanly; a second one ends it at once).
It prints one line when it serves clients, and its log to stderr.

With --metrics it shows itself over HTTP: /metrics in Prometheus' format under the names that Kafka's metrics have there,
/healthz (200 while the process lives, also while it recovers) and /readyz (200 while clients are served, else 503).

Exit codes: 0 stopped cleanly; 1 could not start or stop; 3 usage, a bad setting.`,
		Example: `  trialog broker --override node.id=1 --override log.dirs=/var/lib/trialog
  trialog broker --config server.properties --metrics localhost:9404`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if metrics != "" {
				overrides = append(overrides, "trialog.metrics.listener="+metrics)
			}
			cfg, err := loadConfig(file, overrides)
			if err != nil {
				return err
			}
			stop := make(chan string, 2)
			notifySignals(stop)
			if stopOnEOF {
				go func() {
					io.Copy(io.Discard, os.Stdin)
					stop <- "end of stdin"
				}()
			}
			return runBroker(c, cfg, asJSON, stop)
		},
	}
	f := c.Flags()
	f.StringVar(&file, "config", "", "server.properties; without it Kafka's defaults, and node.id must come from --override")
	f.StringArrayVar(&overrides, "override", nil, "key=value that wins over the file; repeat for more")
	f.StringVar(&metrics, "metrics", "", "host:port for /metrics, /healthz and /readyz: --override trialog.metrics.listener=")
	f.BoolVar(&asJSON, "json", false, "print the line about serving as JSON")
	f.BoolVar(&stopOnEOF, "stop-on-eof", false, "stop cleanly when stdin ends")
	f.MarkHidden("stop-on-eof")
	return c
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

// runBroker serves until something says why to stop.
func runBroker(c *cobra.Command, cfg *config.Broker, asJSON bool, stop <-chan string) error {
	log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
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
	if asJSON {
		json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"node": cfg.NodeID, "listening": b.Addr().String()})
	} else {
		fmt.Fprintf(c.OutOrStdout(), "broker %d listening on %s\n", cfg.NodeID, b.Addr())
	}
	log.Info("stopping", "why", <-stop)
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
