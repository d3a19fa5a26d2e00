package broker

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"trialog/core/broker/clusterapi"
	"trialog/core/broker/configapi"
	"trialog/core/broker/groupapi"
	"trialog/core/broker/logapi"
	"trialog/core/broker/logdirs"
	"trialog/core/broker/metalog"
	"trialog/core/broker/serve"
	"trialog/core/broker/topicapi"
	"trialog/core/config"
	"trialog/core/controller"
	"trialog/core/kafka"
	"trialog/core/meta"
	"trialog/core/seglog"
	"trialog/core/wire"
)

// RequestBytes is queued.max.request.bytes where that is not given: Kafka has no
// limit then, we have this one.
const RequestBytes = 512 << 20

// RequestMemory is the bytes that requests may hold at one time: queued.max.request.bytes.
func RequestMemory(cfg *config.Broker) int64 {
	if cfg.QueuedMaxRequestBytes > 0 {
		return cfg.QueuedMaxRequestBytes
	}
	return RequestBytes
}

func (b *Broker) openDirs() (err error) {
	b.dirs, err = logdirs.Open(logdirs.Config{
		Paths: b.cfg.LogDirs, ClusterID: b.cfg.ClusterID, NewUUID: metalog.NewUUID, Log: b.log,
		Dir: seglog.DirConfig{
			Node: b.cfg.NodeID, Rules: b.rules.Seglog, ProducerRules: b.rules.Producers, Emit: b.emitter(), Recovering: b.recovery.reading,
		},
	})
	if err != nil {
		return err
	}
	return b.dirs.Fatal()
}

// openMetadata replays the metadata log. What it says of removed topics is used
// to finish removals that a crash interrupted.
func (b *Broker) openMetadata() error {
	log, err := b.dirs.OpenMetadata(metalog.Name, b.metadataSettings())
	if err != nil {
		return fmt.Errorf("broker: opening %s: %w", metalog.Name, err)
	}
	removed := map[kafka.TopicID]bool{}
	b.meta, err = metalog.Open(log, metalog.Config{
		Controller: controller.Config{
			Node: b.cfg.NodeID, NumPartitions: b.cfg.NumPartitions,
			DefaultReplicationFactor: b.cfg.DefaultReplicationFactor, Rules: b.rules.Controller,
		},
		Now: b.now, Emit: b.emitter(), Applied: b.applied, Failed: b.metadataFailed,
	}, func(id kafka.TopicID) { removed[id] = true })
	if err != nil {
		return err
	}
	b.finishRemovals(removed)
	return b.dirs.Fatal()
}

// finishRemovals runs before partitions are opened: it must not see those that
// the image has.
func (b *Broker) finishRemovals(removed map[kafka.TopicID]bool) {
	left := b.dirs.Strays(removed)
	image := b.meta.Image()
	for _, tp := range left {
		if t := image.Topic(tp.Topic); t == nil || int(tp.Partition) >= len(t.Partitions) {
			b.log.Warn("a partition on disk belongs to no topic; it is left alone", "partition", tp.String())
		}
	}
	_, failed := b.dirs.RemoveDeleted(b.now().WallMs)
	b.failDirs(failed)
}

// metadataSettings are those of a log that is never cut by retention or compacted, whatever the defaults of topics: a
// compacted log may have holes, and recovery would take a lost decision for one.
func (b *Broker) metadataSettings() config.Topic {
	s := b.cfg.Topic(nil)
	s.RetentionMs, s.RetentionBytes, s.LogAppendTime = -1, -1, false
	s.CleanupCompact, s.CleanupDelete = false, true
	return s
}

// openPartitions opens every partition that the image gives to this broker, and
// takes up leadership if lead says so: before the registration the epochs of the
// image are those of the process before. A log that cannot be opened ends the
// start: to serve less than was acknowledged would hide a loss.
func (b *Broker) openPartitions(lead bool) error {
	for _, t := range b.meta.Image().Topics() {
		if failed := b.openTopic(t, lead, lead); len(failed) > 0 {
			return seglog.Several(failed)
		}
	}
	return nil
}

// listen binds every listener.
func (b *Broker) listen() error {
	for _, l := range b.cfg.Listeners {
		nl, err := net.Listen("tcp", net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))))
		if err != nil {
			return fmt.Errorf("broker: listener %s: %w", l, err)
		}
		b.listeners = append(b.listeners, nl)
	}
	return nil
}

// register tells the controller that this process is there, under which
// addresses, and takes up what follows from it.
func (b *Broker) register() error {
	answer, err := b.meta.Submit(&controller.RegisterBroker{
		Broker: b.cfg.NodeID, Incarnation: metalog.NewUUID(), Endpoints: b.endpoints(), Rack: b.cfg.Rack,
	})
	if err != nil {
		return err
	}
	registered := answer.(*controller.RegisterBrokerResponse)
	if registered.Code != kafka.ErrNone {
		return fmt.Errorf("broker: registration of node %d: %w", b.cfg.NodeID, registered.Code)
	}
	b.brokerEpoch = registered.BrokerEpoch
	b.ids = &clusterapi.ProducerIDs{Broker: b.cfg.NodeID, BrokerEpoch: b.brokerEpoch, Submit: b.meta.Submit}
	return nil
}

// endpoints are what clients are told to dial: advertised.listeners, with the
// port that the system chose for port 0, and never "all interfaces".
func (b *Broker) endpoints() []meta.Endpoint {
	var out []meta.Endpoint
	for _, a := range b.cfg.AdvertisedListeners {
		e := meta.Endpoint{Name: a.Name, Host: a.Host, Port: uint16(a.Port)}
		for i, l := range b.cfg.Listeners {
			if l.Name == a.Name && a.Port == 0 {
				e.Port = uint16(portOf(b.listeners[i]))
			}
		}
		if ip := net.ParseIP(e.Host); e.Host == "" || ip != nil && ip.IsUnspecified() {
			e.Host = ownName()
		}
		out = append(out, e)
	}
	return out
}

func portOf(l net.Listener) int {
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(port)
	return n
}

// ownName is a name of this host that can be dialed from here at least.
func ownName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	if _, err := net.LookupHost(name); err != nil {
		return "localhost"
	}
	return name
}

// limit puts the limits of now into force. Two that do so come one after the other, so that the last has the newest.
func (b *Broker) limit() {
	b.limiting.Lock()
	defer b.limiting.Unlock()
	b.server.SetLimits(b.limits())
}

func (b *Broker) limits() serve.Limits {
	cfg := b.live.Load()
	l := serve.Limits{
		FrameMax:            int(cfg.SocketRequestMaxBytes),
		RequestBytes:        RequestMemory(cfg),
		RequestsMax:         int(cfg.QueuedMaxRequests),
		ConnectionsMax:      int(cfg.MaxConnections),
		ConnectionsPerIPMax: int(cfg.MaxConnectionsPerIP),
		PerIP:               map[string]int{},
		CreationRateMax:     int(cfg.MaxConnectionCreationRate),
		CopyRegions:         !cfg.Sendfile,
		IdleMax:             time.Duration(cfg.ConnectionsMaxIdleMs) * time.Millisecond,
		SendBuffer:          int(cfg.SocketSendBufferBytes),
		ReceiveBuffer:       b.receiveBuffer(cfg.SocketReceiveBufferBytes),
	}
	for _, o := range cfg.ConnectionOverrides {
		for _, address := range b.hosts.addressesOf(o.Host) {
			l.PerIP[address] = int(o.Max)
		}
	}
	return l
}

// receiveBuffer is the configured size, or -1 (the system's) when it is given
// nowhere. Kafka's default of 100 KiB switches off the system's own tuning, which
// costs twice the CPU time for a megabyte received (BenchmarkProduce).
//
// The send buffer has Kafka's default, for the same reason turned round: what the
// system's tuning gathers there (megabytes) is sent later, out of the reader's
// acknowledgements or a pacing timer instead of the sendfile that is under way, and
// costs up to half of the throughput of a consumer that catches up
// (BenchmarkFetchCatchUp). A consumer far away may need more: -1 is the system's.
func (b *Broker) receiveBuffer(value int32) int {
	for _, d := range b.cfg.DescribeBroker() {
		if d.Definition.Name == "socket.receive.buffer.bytes" && d.Source != config.SourceDefault {
			return int(value)
		}
	}
	return -1
}

// randomID draws a number that peers do not guess.
func randomID() int32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return int32(binary.BigEndian.Uint32(b[:]))
}

// rows is the dispatch table: one row for each API key.
func (b *Broker) rows() []serve.Row {
	logs := &logapi.API{
		Table: b.table, Sessions: b.sessions, Dirs: b.dirs, RemoveSoon: b.chores.removeSoon, FetchMaxBytes: int(b.cfg.FetchMaxBytes),
		AckAfterAppend: b.rules.Broker.AckAfterAppend, Meter: b.opts.Meter,
	}
	topics := &topicapi.API{Config: b.live.Load, ClusterID: b.dirs.ClusterID(), Controller: b.meta, NewTopicID: metalog.NewUUID, Leads: b.leads}
	configs := &configapi.API{Config: b.live.Load, Controller: b.meta}
	cluster := &clusterapi.Cluster{Node: b.cfg.NodeID, ClusterID: b.dirs.ClusterID(), Image: b.meta.Image}
	return []serve.Row{
		row(wire.KeyProduce, serve.ResourceTopic, serve.OperationWrite, logs.Produce),
		row(wire.KeyFetch, serve.ResourceTopic, serve.OperationRead, logs.Fetch),
		row(wire.KeyListOffsets, serve.ResourceTopic, serve.OperationDescribe, logs.ListOffsets),
		row(wire.KeyMetadata, serve.ResourceTopic, serve.OperationDescribe, topics.Metadata),
		row(wire.KeyFindCoordinator, serve.ResourceGroup, serve.OperationDescribe, groupapi.FindCoordinator),
		row(wire.KeyListGroups, serve.ResourceCluster, serve.OperationDescribe, groupapi.ListGroups),
		row(wire.KeyAPIVersions, serve.ResourceNone, serve.OperationNone, clusterapi.APIVersions),
		row(wire.KeyCreateTopics, serve.ResourceTopic, serve.OperationCreate, topics.CreateTopics),
		row(wire.KeyDeleteTopics, serve.ResourceTopic, serve.OperationDelete, topics.DeleteTopics),
		row(wire.KeyDeleteRecords, serve.ResourceTopic, serve.OperationDelete, logs.DeleteRecords),
		row(wire.KeyInitProducerID, serve.ResourceCluster, serve.OperationIdempotentWrite, b.ids.InitProducerID),
		row(wire.KeyOffsetForLeaderEpoch, serve.ResourceTopic, serve.OperationDescribe, logs.OffsetForLeaderEpoch),
		row(wire.KeyDescribeConfigs, serve.ResourceCluster, serve.OperationDescribeConfigs, configs.DescribeConfigs),
		row(wire.KeyAlterConfigs, serve.ResourceCluster, serve.OperationAlterConfigs, configs.AlterConfigs),
		row(wire.KeyDescribeLogDirs, serve.ResourceCluster, serve.OperationDescribe, logs.DescribeLogDirs),
		row(wire.KeyCreatePartitions, serve.ResourceTopic, serve.OperationAlter, topics.CreatePartitions),
		row(wire.KeyIncrementalAlterConfigs, serve.ResourceCluster, serve.OperationAlterConfigs, configs.IncrementalAlterConfigs),
		row(wire.KeyDescribeCluster, serve.ResourceCluster, serve.OperationDescribe, cluster.DescribeCluster),
		row(wire.KeyDescribeProducers, serve.ResourceTopic, serve.OperationRead, logs.DescribeProducers),
		row(wire.KeyDescribeTopicPartitions, serve.ResourceTopic, serve.OperationDescribe, topics.DescribeTopicPartitions),
	}
}

func row(key int16, resource serve.Resource, operation serve.Operation, handle serve.Handler) serve.Row {
	api, ok := wire.Lookup(key)
	if !ok {
		panic(fmt.Sprintf("broker: no api key %d in the version table", key))
	}
	return serve.Row{API: api, Resource: resource, Operation: operation, Handle: handle}
}
