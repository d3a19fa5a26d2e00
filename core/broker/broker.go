package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"trialog/core/broker/clusterapi"
	"trialog/core/broker/fetchsession"
	"trialog/core/broker/logcleaner"
	"trialog/core/broker/logdirs"
	"trialog/core/broker/metalog"
	"trialog/core/broker/meter"
	"trialog/core/broker/partition"
	"trialog/core/broker/serve"
	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
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
	// Meter counts requests, bytes and records; nil: nobody measures, at no cost.
	Meter *meter.Meter
}

// Broker is one broker process. Make it with New.
type Broker struct {
	cfg    *config.Broker                // what it was started with
	live   atomic.Pointer[config.Broker] // what is in force: see reconfigure
	opts   Options
	rules  RuleSet
	log    *slog.Logger
	state  atomic.Int32
	events *sink // nil: no events
	origin time.Time

	dirs        *logdirs.Set
	meta        *metalog.Log
	table       *partition.Table
	sessions    *fetchsession.Cache
	env         *partition.Env
	ids         *clusterapi.ProducerIDs
	listeners   []net.Listener
	server      *serve.Server
	limiting    sync.Mutex // held while limits of the server change
	hosts       *hosts
	chores      *chores
	cleaner     *logcleaner.Cleaner
	recovery    *recovery
	failed      chan error // see Failed
	brokerEpoch int64

	stopOnce sync.Once
	stopErr  error
}

// New checks the configuration and touches nothing. Errors are usage errors:
// unknown rules, listeners that cannot be served, no log directory.
func New(cfg *config.Broker, opts Options) (*Broker, error) {
	rules, err := ParseRules(cfg.RulesOff)
	if err != nil {
		return nil, err
	}
	if len(cfg.Listeners) == 0 || len(cfg.LogDirs) == 0 {
		return nil, errors.New("broker: listeners and log.dirs must not be empty")
	}
	for _, l := range cfg.Listeners {
		if strings.HasPrefix(l.Name, "SSL") || strings.HasPrefix(l.Name, "SASL") {
			return nil, fmt.Errorf("broker: listener %s: only plaintext listeners are served", l)
		}
	}
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Broker{cfg: cfg, opts: opts, rules: rules, log: log, table: partition.NewTable(), brokerEpoch: kafka.NoBrokerEpoch}
	b.state.Store(int32(Starting))
	b.live.Store(cfg)
	b.failed = make(chan error, 1)
	b.recovery = &recovery{b: b, done: map[kafka.TopicPartition]recovered{}}
	b.sessions = fetchsession.New(int(cfg.FetchSessionSlots), fetchsession.PartitionsMax, randomID)
	b.hosts = newHosts(log)
	b.events = newSink(opts.Events, log)
	b.env = &partition.Env{Node: cfg.NodeID, Now: b.now, Emit: b.emitter(), Log: log, Rules: rules.Replica, Failed: b.logFailed}
	return b, nil
}

// now is the time as the machines want it. One reading serves both clocks.
func (b *Broker) now() kafka.Now {
	t := time.Now()
	return kafka.Now{WallMs: t.UnixMilli(), MonoNs: int64(t.Sub(b.origin))}
}

// emitter is nil when there are no events, so that they cost nothing.
func (b *Broker) emitter() func(event.Event) {
	if b.events == nil {
		return nil
	}
	return b.events.emit
}

// Start locks and opens the log directories, recovers the logs, replays the
// metadata, registers the broker, listens, and returns when clients are served.
// After an error everything is given back; the broker is of no more use.
func (b *Broker) Start() error {
	b.origin = time.Now()
	b.announce()
	if err := b.start(); err != nil {
		b.Abandon()
		return err
	}
	return nil
}

func (b *Broker) start() error {
	b.state.Store(int32(Recovery))
	if err := b.openDirs(); err != nil {
		return err
	}
	if err := b.openMetadata(); err != nil {
		return err
	}
	b.reconfigure(b.meta.Image())
	b.recoverLogs()
	if err := b.openPartitions(false); err != nil {
		return b.startFailed(err)
	}
	b.dirs.Settle()
	if err := b.checkDirs(); err != nil {
		return err
	}
	if err := b.listen(); err != nil {
		return err
	}
	if err := b.register(); err != nil {
		return err
	}
	if err := b.openPartitions(true); err != nil {
		return b.startFailed(err)
	}
	if err := b.dirs.Fatal(); err != nil {
		return err
	}
	for _, w := range b.dirs.Warnings() {
		b.log.Warn(w)
	}
	b.chores = startChores(b)
	b.cleaner = b.startCleaner()
	b.hosts.learn(b.live.Load().ConnectionOverrides)
	b.server = serve.NewServer(b.rows(), b.limits(), b.log, b.now, b.opts.Meter)
	for i, l := range b.listeners {
		b.server.Serve(l, b.cfg.Listeners[i].Name)
	}
	b.state.Store(int32(Running))
	b.log.Info("serving", "node", b.cfg.NodeID, "addr", b.Addr().String(), "cluster", b.dirs.ClusterID(), "broker_epoch", b.brokerEpoch, "clean", b.dirs.Clean())
	return nil
}

// announce says what this process is: the first event, and the rules that are
// off. It writes as many lines when none are, so that in the simulator a rule
// that is off shifts nothing before it makes a difference.
func (b *Broker) announce() {
	off := strings.Join(b.cfg.RulesOff, ",")
	level, shown := slog.LevelInfo, "none"
	if off != "" {
		level, shown = slog.LevelWarn, off
	}
	b.log.Log(context.Background(), level, "safety rules", "off", shown)
	if emit := b.emitter(); emit != nil {
		emit(event.Event{Kind: event.Start, Node: b.cfg.NodeID, Text: b.opts.Version})
		emit(event.Event{Kind: event.RulesOff, Node: b.cfg.NodeID, Text: off})
	}
}

// Addr is the address of the first listener, after Start.
func (b *Broker) Addr() net.Addr { return b.listeners[0].Addr() }

// ClusterID is the cluster that the broker belongs to, after Start.
func (b *Broker) ClusterID() string { return b.dirs.ClusterID() }

// Stop ends the broker cleanly: no new requests, answers to those that are being
// handled, logs flushed and closed, checkpoints and the clean-shutdown marker
// written. When ctx ends, connections are cut, and the logs are still closed. An
// error of a log means that the next start recovers. A second call waits for the
// first and returns the same.
func (b *Broker) Stop(ctx context.Context) error {
	b.stopOnce.Do(func() { b.stopErr = b.stop(ctx) })
	return b.stopErr
}

func (b *Broker) stop(ctx context.Context) error {
	b.state.Store(int32(ShuttingDown))
	for _, p := range b.table.All() {
		p.Drain() // so that answers which wait for a flush leave
	}
	if err := b.server.Stop(ctx); err != nil {
		b.log.Warn("connections were cut", "err", err)
	}
	b.hosts.stop()
	b.cleaner.Stop()
	b.chores.stop()
	for _, p := range b.table.All() {
		p.Close()
	}
	if err := b.dirs.Close(b.brokerEpoch); err != nil {
		return fmt.Errorf("broker: not a clean stop: %w", err)
	}
	if emit := b.emitter(); emit != nil {
		emit(event.Event{Kind: event.Stop, Node: b.cfg.NodeID})
	}
	b.log.Info("stopped", "node", b.cfg.NodeID)
	return nil
}

// Abandon ends the broker as a crash would: nothing is flushed, no marker is
// written. For tests, and for a start that failed.
func (b *Broker) Abandon() {
	b.stopOnce.Do(func() { b.stopErr = errors.New("broker: abandoned") })
	if b.server != nil {
		cut, cancel := context.WithCancel(context.Background())
		cancel()
		_ = b.server.Stop(cut)
	}
	b.hosts.stop()
	for _, l := range b.listeners {
		_ = l.Close()
	}
	if b.cleaner != nil {
		b.cleaner.Stop()
	}
	if b.chores != nil {
		b.chores.stop()
	}
	for _, p := range b.table.All() {
		p.Cut()
	}
	if b.dirs != nil {
		b.dirs.Abandon()
	}
}
