package config

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Broker is the settings of one broker, typed. Times are in the unit that ends the name; -1 is "no limit" where Kafka
// says so. It does not change after LoadBroker:
// see WithDynamic.
type Broker struct {
	NodeID              int32
	LogDirs             []string // one at least
	Listeners           []Listener
	ControllerListeners []Listener // those of listeners that controller.listener.names has; may be empty
	AdvertisedListeners []Listener // never empty: Listeners when not set, even if their host or port is not dialable
	ClusterID           string     // trialog.cluster.id; "" lets the broker make one
	MetricsListener     string     // trialog.metrics.listener; "" is none
	Sendfile            bool       // trialog.sendfile.enable
	Rack                string     // "" is none
	RulesOff            []string   // sorted room.rule names

	NumPartitions            int32
	DefaultReplicationFactor int16
	AutoCreateTopics         bool
	DeleteTopics             bool
	ControlledShutdown       bool

	SocketRequestMaxBytes    int32
	SocketSendBufferBytes    int32
	SocketReceiveBufferBytes int32
	QueuedMaxRequests        int32
	QueuedMaxRequestBytes    int64 // -1: the broker's own limit
	MaxConnections           int32
	MaxConnectionsPerIP      int32
	ConnectionOverrides      []ConnectionOverride // max.connections.per.ip.overrides
	// MaxConnectionCreationRate is connections in a second.
	MaxConnectionCreationRate int32
	ConnectionsMaxIdleMs      int64
	FetchMaxBytes             int32
	FetchSessionSlots         int32 // max.incremental.fetch.session.cache.slots
	DescribePartitionsMax     int32 // max.request.partition.size.limit

	FlushSchedulerIntervalMs             int64
	RecoveryThreads                      int32 // num.recovery.threads.per.data.dir
	FlushOffsetCheckpointIntervalMs      int64
	FlushStartOffsetCheckpointIntervalMs int64
	RetentionCheckIntervalMs             int64
	ProducerIDExpirationMs               int64
	ProducerIDExpirationCheckIntervalMs  int64

	Cleaner Cleaner

	Warnings []string // one line each: settings that nobody knows, or that are given twice

	set    []Pair  // what was given explicitly, valid and sorted
	layers []layer // set and, above it, what was changed while the broker runs; the strongest first
}

// Cleaner is the settings of compaction, log.cleaner.*, of the whole broker.
type Cleaner struct {
	Enable           bool
	Threads          int32
	BackoffMs        int64
	DedupeBufferSize int64   // bytes
	IOBufferSize     int32   // bytes
	LoadFactor       float64 // log.cleaner.io.buffer.load.factor
	MaxBytesPerSec   float64 // log.cleaner.io.max.bytes.per.second
}

// ConnectionOverride is the limit of connections of one host.
type ConnectionOverride struct {
	Host string // a name or an address
	Max  int32
}

// layer is one place where broker settings are given.
type layer struct {
	source Source
	pairs  []Pair
}

// LoadBroker makes a Broker from server.properties and from overrides of the form key=value, which win. props may be
// nil. The error has a line for every bad value: file:line (or --override), key, value, and what is allowed.
func LoadBroker(props *Properties, overrides []string) (*Broker, error) {
	var entries []entry
	if props != nil {
		entries = props.entries
	}
	over, err := parseOverrides(overrides)
	if err != nil {
		return nil, err
	}
	b := &Broker{}
	if err := b.take(slices.Concat(entries, over)); err != nil {
		return nil, err
	}
	b.layers = []layer{{SourceStaticBroker, b.set}}
	if err := b.load(&reader{layers: b.layers}); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return b, nil
}

// take validates each entry on its own and keeps the last one of each name.
func (b *Broker) take(entries []entry) error {
	var faults []error
	first := make([]entry, 0, len(entries)) // one of each name
	for _, e := range entries {
		d := Lookup(e.name)
		switch {
		case d == nil && strings.HasPrefix(e.name, "trialog."):
			faults = append(faults, fmt.Errorf("config: %s: no setting is named %s", e.where, e.name))
			continue
		case d == nil:
			b.Warnings = append(b.Warnings, fmt.Sprintf("%s: unknown setting %s is ignored", e.where, e.name))
			continue
		case d.Scope&ScopeBroker == 0:
			b.Warnings = append(b.Warnings, fmt.Sprintf("%s: %s is a setting of topics and is ignored; see %s",
				e.where, e.name, strings.Join(d.Synonyms, ", ")))
			continue
		}
		if _, err := d.parse(e.value); err != nil {
			faults = append(faults, fmt.Errorf("config: %s: %w", e.where, err))
			continue
		}
		i := slices.IndexFunc(first, func(o entry) bool { return o.name == e.name })
		if i < 0 {
			first = append(first, e)
			continue
		}
		if e.where != "--override" {
			b.Warnings = append(b.Warnings, fmt.Sprintf("%s: %s replaces that of %s", e.where, e.name, first[i].where))
		}
		first[i] = e
	}
	for _, e := range first {
		b.set = append(b.set, Pair{Name: e.name, Value: strings.TrimSpace(e.value)})
	}
	sort.Slice(b.set, func(i, j int) bool { return b.set[i].Name < b.set[j].Name })
	return errors.Join(faults...)
}

// load fills the typed fields; what it refuses concerns several settings together.
func (b *Broker) load(r *reader) error {
	nodeID := "node.id"
	if !r.has(nodeID) {
		nodeID = "broker.id"
	}
	if !r.has(nodeID) || r.int(nodeID) < 0 {
		return errors.New("node.id is required: " + Lookup("node.id").Range())
	}
	b.NodeID = r.int32(nodeID)
	if b.LogDirs = r.list("log.dirs"); len(b.LogDirs) == 0 {
		b.LogDirs = []string{r.text("log.dir")}
	}
	b.ClusterID = r.text("trialog.cluster.id")
	b.Sendfile = r.bool("trialog.sendfile.enable")
	b.MetricsListener = r.text("trialog.metrics.listener")
	b.Rack = r.text("broker.rack")
	b.RulesOff, _ = ParseRulesOff(strings.Join(r.list("trialog.rules.off"), ",")) // the validator has seen it
	b.NumPartitions = r.int32("num.partitions")
	b.DefaultReplicationFactor = int16(r.int("default.replication.factor"))
	b.AutoCreateTopics = r.bool("auto.create.topics.enable")
	b.DeleteTopics = r.bool("delete.topic.enable")
	b.ControlledShutdown = r.bool("controlled.shutdown.enable")
	b.loadNetwork(r)
	b.loadIntervals(r)
	if err := b.checkAlone(r); err != nil {
		return err
	}
	return b.loadListeners(r)
}

// checkAlone refuses what is meant for a process of a larger cluster: alone, it would begin a cluster of its own.
func (b *Broker) checkAlone(r *reader) error {
	if roles := r.list("process.roles"); len(roles) > 0 && !slices.Contains(roles, "broker") {
		return fmt.Errorf("process.roles=%s: there are no controllers without a broker", strings.Join(roles, ","))
	}
	for _, voter := range r.list("controller.quorum.voters") {
		if id, _, _ := strings.Cut(voter, "@"); id != strconv.Itoa(int(b.NodeID)) {
			return fmt.Errorf("controller.quorum.voters: %s is not node.id=%d: the quorum has one voter, this process", voter, b.NodeID)
		}
	}
	if servers := r.list("controller.quorum.bootstrap.servers"); len(servers) > 1 {
		return fmt.Errorf("controller.quorum.bootstrap.servers: there are %d: the quorum has one voter, this process", len(servers))
	}
	return nil
}

func (b *Broker) loadNetwork(r *reader) {
	b.SocketRequestMaxBytes = r.int32("socket.request.max.bytes")
	b.SocketSendBufferBytes = r.int32("socket.send.buffer.bytes")
	b.SocketReceiveBufferBytes = r.int32("socket.receive.buffer.bytes")
	b.QueuedMaxRequests = r.int32("queued.max.requests")
	b.QueuedMaxRequestBytes = r.int("queued.max.request.bytes")
	b.MaxConnections = r.int32("max.connections")
	b.MaxConnectionsPerIP = r.int32("max.connections.per.ip")
	b.ConnectionOverrides, _ = parseOverridesPerIP(r.text("max.connections.per.ip.overrides")) // the validator has seen it
	b.MaxConnectionCreationRate = r.int32("max.connection.creation.rate")
	b.DescribePartitionsMax = r.int32("max.request.partition.size.limit")
	b.ConnectionsMaxIdleMs = r.int("connections.max.idle.ms")
	b.FetchMaxBytes = r.int32("fetch.max.bytes")
	b.FetchSessionSlots = r.int32("max.incremental.fetch.session.cache.slots")
}

func (b *Broker) loadIntervals(r *reader) {
	b.FlushSchedulerIntervalMs = r.int("log.flush.scheduler.interval.ms")
	b.RecoveryThreads = r.int32("num.recovery.threads.per.data.dir")
	b.FlushOffsetCheckpointIntervalMs = r.int("log.flush.offset.checkpoint.interval.ms")
	b.FlushStartOffsetCheckpointIntervalMs = r.int("log.flush.start.offset.checkpoint.interval.ms")
	b.RetentionCheckIntervalMs = r.int("log.retention.check.interval.ms")
	b.ProducerIDExpirationMs = r.int("producer.id.expiration.ms")
	b.ProducerIDExpirationCheckIntervalMs = r.int("producer.id.expiration.check.interval.ms")
	b.Cleaner = Cleaner{
		Enable: r.bool("log.cleaner.enable"), Threads: r.int32("log.cleaner.threads"), BackoffMs: r.int("log.cleaner.backoff.ms"),
		DedupeBufferSize: r.int("log.cleaner.dedupe.buffer.size"), IOBufferSize: r.int32("log.cleaner.io.buffer.size"),
		LoadFactor: r.real("log.cleaner.io.buffer.load.factor"), MaxBytesPerSec: r.real("log.cleaner.io.max.bytes.per.second"),
	}
}

// reader gives typed values out of validated pairs, or the default.
type reader struct {
	layers []layer
}

func (r *reader) find(name string) (text string, ok bool) {
	for i := range r.layers {
		if text, ok = Get(r.layers[i].pairs, name); ok {
			break
		}
	}
	return text, ok
}

func (r *reader) has(name string) bool {
	_, ok := r.find(name)
	return ok
}

func (r *reader) value(name string) value {
	d := Lookup(name)
	if d == nil {
		panic("config: code asks for " + name + ", which the table lacks")
	}
	text, ok := r.find(name)
	if !ok {
		text = d.Default
	}
	v, _ := d.Type.parse(text)
	return v
}

func (r *reader) int(name string) int64     { return r.value(name).number }
func (r *reader) int32(name string) int32   { return int32(r.value(name).number) }
func (r *reader) real(name string) float64  { return r.value(name).real }
func (r *reader) bool(name string) bool     { return r.value(name).truth }
func (r *reader) text(name string) string   { return r.value(name).text }
func (r *reader) list(name string) []string { return r.value(name).list }

// ValidateDynamic checks settings given to a running broker, or to all of them, sorted or not. The error has a line for
// every bad one; the caller answers INVALID_REQUEST, as Kafka does (KAFKA-13609).
func ValidateDynamic(pairs []Pair) error {
	var faults []error
	pairs, err := SortPairs(pairs)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		d := Lookup(p.Name)
		switch {
		case d == nil || d.Scope&ScopeBroker == 0:
			faults = append(faults, fmt.Errorf("config: no broker setting is named %s", p.Name))
			continue
		case !d.Dynamic:
			faults = append(faults, fmt.Errorf("config: %s does not change while the broker runs", p.Name))
			continue
		}
		if _, err := d.parse(p.Value); err != nil {
			faults = append(faults, fmt.Errorf("config: %w", err))
		}
	}
	return errors.Join(faults...)
}

// NotDynamic is the names among pairs of broker settings that do not change while a broker runs.
func NotDynamic(pairs []Pair) []string {
	var names []string
	for _, p := range pairs {
		if d := Lookup(p.Name); d != nil && d.Scope&ScopeBroker != 0 && !d.Dynamic {
			names = append(names, p.Name)
		}
	}
	return names
}

// WithDynamic is what b becomes under settings that were changed while it runs: those of this broker (own) win over those
// of all brokers, and both over what it was started with (KIP-226). Pairs that ValidateDynamic would refuse are passed
// over. b is what LoadBroker returned, and does not change.
func (b *Broker) WithDynamic(all, own []Pair) *Broker {
	next := &Broker{Warnings: b.Warnings, set: b.set}
	next.layers = []layer{
		{SourceDynamicBroker, dynamicOnly(own)}, {SourceDynamicDefault, dynamicOnly(all)}, {SourceStaticBroker, b.set},
	}
	if err := next.load(&reader{layers: next.layers}); err != nil {
		panic("config: settings that may change break those that may not: " + err.Error())
	}
	return next
}

func dynamicOnly(pairs []Pair) []Pair {
	var kept []Pair
	for _, p := range pairs {
		if ValidateDynamic([]Pair{p}) == nil {
			kept = append(kept, p)
		}
	}
	return kept
}
