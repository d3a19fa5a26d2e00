package exporter

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"trialog/core/broker"
	"trialog/core/broker/meter"
	"trialog/core/broker/partition"
	"trialog/core/kafka"
)

const (
	topicsMax     = 1000 // with counters of their own
	partitionsMax = 4000 // with a log's metrics of their own
)

// bounds are how much has series of its own.
type bounds struct{ topics, partitions int }

// quantiles are those of Kafka's percentiles.
var quantiles = []float64{0.5, 0.75, 0.95, 0.98, 0.99, 0.999}

// desc describes a metric by name, help and labels.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

const (
	topicPrefix   = "kafka_server_brokertopicmetrics_"
	requestPrefix = "kafka_network_requestmetrics_"
	replicaPrefix = "kafka_server_replicamanager_"
	logPrefix     = "kafka_log_log_"
	dirPrefix     = "kafka_log_logmanager_"
	socketPrefix  = "kafka_server_socket_server_metrics_"
	waitingPrefix = "kafka_server_delayedoperationpurgatory_"
	sessionPrefix = "kafka_server_fetchsessioncache_"
)

// topicCounter is a counter of topics: once over all of them without a label, and once for each.
type topicCounter struct {
	all, each *prometheus.Desc
	value     func(t *meter.Topic) int64
}

func newTopicCounter(name, help string, value func(t *meter.Topic) int64) topicCounter {
	name = topicPrefix + name + "_total"
	return topicCounter{desc(name, help), desc(name, help, "topic"), value}
}

// phase is one of the times of a request.
type phase struct {
	desc *prometheus.Desc
	of   func(a *meter.API) *meter.Histogram
}

func newPhase(name, help string, of func(a *meter.API) *meter.Histogram) phase {
	return phase{desc(requestPrefix+name+"ms", help+", in milliseconds, over the last minutes", "request"), of}
}

// collector reads a broker out at each scrape.
type collector struct {
	b      *broker.Broker
	open   func() []*partition.Topic // by name
	most   bounds
	now    func() time.Time
	topics []topicCounter
	phases []phase

	requests, errors                       *prometheus.Desc
	delayed, watched                       *prometheus.Desc
	logStart, logEnd, logSize, logSegments *prometheus.Desc
	replicas                               [6]*prometheus.Desc // as replicaCounts has them
	offlineDirs, offlineDir                *prometheus.Desc
	logsLeft, segmentsLeft                 *prometheus.Desc
	connections, created, closed           *prometheus.Desc
	sessions, sessionPartitions            *prometheus.Desc
	state, requestBytes, leftOut           *prometheus.Desc
	compaction                             compactionDescs
}

func newCollector(b *broker.Broker) *collector {
	c := &collector{b: b, open: b.Topics, most: bounds{topicsMax, partitionsMax}, now: time.Now}
	c.describeTopics()
	c.describeRequests()
	c.describeBroker()
	c.compaction.describe()
	return c
}

func (c *collector) describeTopics() {
	c.topics = []topicCounter{
		newTopicCounter("messagesin", "records appended", func(t *meter.Topic) int64 { return t.Messages.Load() }),
		newTopicCounter("bytesin", "bytes of batches appended", func(t *meter.Topic) int64 { return t.BytesIn.Load() }),
		newTopicCounter("bytesout", "bytes of batches sent to consumers", func(t *meter.Topic) int64 { return t.BytesOut.Load() }),
		newTopicCounter("totalproducerequests", "partitions of Produce requests", func(t *meter.Topic) int64 { return t.Produces.Load() }),
		newTopicCounter("totalfetchrequests", "partitions of Fetch requests", func(t *meter.Topic) int64 { return t.Fetches.Load() }),
		newTopicCounter("failedproducerequests", "partitions of Produce requests that failed unexpectedly", func(t *meter.Topic) int64 { return t.FailedProduces.Load() }),
		newTopicCounter("failedfetchrequests", "partitions of Fetch requests that failed unexpectedly", func(t *meter.Topic) int64 { return t.FailedFetches.Load() }),
	}
	c.logStart = desc(logPrefix+"logstartoffset", "first offset of a log", "topic", "partition")
	c.logEnd = desc(logPrefix+"logendoffset", "offset of the next record of a log", "topic", "partition")
	c.logSize = desc(logPrefix+"size", "bytes of a log's segments", "topic", "partition")
	c.logSegments = desc(logPrefix+"numlogsegments", "segments of a log", "topic", "partition")
}

func (c *collector) describeRequests() {
	c.requests = desc(requestPrefix+"requests_total", "requests", "request", "version")
	c.errors = desc(requestPrefix+"errors_total", "error codes in responses, NONE included", "request", "error")
	c.phases = []phase{
		newPhase("totaltime", "from the last byte of a request to that of its response", func(a *meter.API) *meter.Histogram { return &a.Total }),
		newPhase("requestqueuetime", "wait for a place among queued.max.requests", func(a *meter.API) *meter.Histogram { return &a.Queue }),
		newPhase("localtime", "time in the handler", func(a *meter.API) *meter.Histogram { return &a.Local }),
		newPhase("remotetime", "wait for data, a flush or replicas", func(a *meter.API) *meter.Histogram { return &a.Remote }),
		newPhase("responsequeuetime", "wait for earlier responses of the connection", func(a *meter.API) *meter.Histogram { return &a.ResponseQueue }),
		newPhase("responsesendtime", "time of sending", func(a *meter.API) *meter.Histogram { return &a.Send }),
	}
	c.delayed = desc(waitingPrefix+"numdelayedoperations", "requests that wait for data, a flush or replicas", "delayedOperation")
	c.watched = desc(waitingPrefix+"purgatorysize", "partitions that such requests wait for", "delayedOperation")
}

func (c *collector) describeBroker() {
	for i, name := range []string{"leadercount", "partitioncount", "offlinereplicacount", "underreplicatedpartitions", "underminisrpartitioncount", "atminisrpartitioncount"} {
		c.replicas[i] = desc(replicaPrefix+name, [...]string{
			"partitions that this broker leads", "partitions on this broker", "partitions whose log failed",
			"partitions that lack replicas in their ISR", "partitions with fewer in the ISR than min.insync.replicas",
			"partitions with as many in the ISR as min.insync.replicas",
		}[i])
	}
	c.offlineDirs = desc(dirPrefix+"offlinelogdirectorycount", "log directories that failed")
	c.offlineDir = desc(dirPrefix+"logdirectoryoffline", "1 for a log directory that failed", "logDirectory")
	c.logsLeft = desc(dirPrefix+"remaininglogstorecover", "logs that a start has not opened yet", "dir")
	c.segmentsLeft = desc(dirPrefix+"remainingsegmentstorecover", "segments to be read yet of the log that a thread of a start opens", "dir", "threadNum")
	c.connections = desc(socketPrefix+"connection_count", "connections that are open", "listener")
	c.created = desc(socketPrefix+"connection_creation_total", "connections that were accepted", "listener")
	c.closed = desc(socketPrefix+"connection_close_total", "connections that were closed", "listener")
	c.sessions = desc(sessionPrefix+"numincrementalfetchsessions", "fetch sessions (KIP-227)")
	c.sessionPartitions = desc(sessionPrefix+"numincrementalfetchpartitionscached", "partitions of all fetch sessions")
	c.state = desc("kafka_server_kafkaserver_brokerstate", "1 starting, 2 recovering, 3 running, 7 stopping")
	c.requestBytes = desc("trialog_request_memory_bytes", "memory of requests, bounded by queued.max.request.bytes")
	c.leftOut = desc("trialog_metrics_left_out", "what has no series of its own because there is too much of it", "what")
}

// Describe names nothing, so that a metric may have series with and without a topic, as Kafka's exporters give them.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the broker.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	gauge(to, c.state, float64(c.b.State()))
	c.collectDirs(to)
	topics := c.open()
	c.collectTopics(to, topics)
	c.collectLogs(to, topics)
	for _, api := range c.b.Meter().APIs() {
		c.collectRequests(to, api)
	}
	for _, l := range c.b.Listeners() {
		gauge(to, c.connections, float64(l.Open), l.Name)
		counter(to, c.created, l.Created, l.Name)
		counter(to, c.closed, l.Closed, l.Name)
	}
	sessions, partitions := c.b.FetchSessions()
	gauge(to, c.sessions, float64(sessions))
	gauge(to, c.sessionPartitions, float64(partitions))
	gauge(to, c.requestBytes, float64(c.b.RequestBytes()))
	c.compaction.collect(to, c.b.Compaction(), c.now())
}

func (c *collector) collectDirs(to chan<- prometheus.Metric) {
	failed := c.b.OfflineDirs()
	gauge(to, c.offlineDirs, float64(len(failed)))
	for _, f := range failed {
		gauge(to, c.offlineDir, 1, f.Path)
	}
	for _, r := range c.b.Recovering() {
		gauge(to, c.logsLeft, float64(r.Logs), r.Dir)
		for thread, n := range r.Segments {
			gauge(to, c.segmentsLeft, float64(n), r.Dir, strconv.Itoa(thread))
		}
	}
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(to chan<- prometheus.Metric, d *prometheus.Desc, v int64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (c *collector) collectTopics(to chan<- prometheus.Metric, topics []*partition.Topic) {
	for _, t := range c.topics {
		counter(to, t.all, t.value(&c.b.Meter().All))
	}
	for _, topic := range topics[:min(len(topics), c.most.topics)] {
		if topic.Meter == nil {
			continue
		}
		for _, t := range c.topics {
			counter(to, t.each, t.value(topic.Meter), topic.Name)
		}
	}
	gauge(to, c.leftOut, float64(max(0, len(topics)-c.most.topics)), "topics")
}

// replicaCounts has the numbers that ReplicaManager's metrics are.
type replicaCounts struct{ leaders, partitions, offline, underReplicated, underMinISR, atMinISR int }

func (r *replicaCounts) add(p *partition.Partition) {
	r.partitions++
	if p.State() == partition.Failed { // it leads no longer
		r.offline++
		return
	}
	if p.Epoch() != kafka.NoLeaderEpoch {
		r.leaders++
	}
	switch least := p.Settings().MinInsyncReplicas; { // the ISR is this replica alone
	case least > 1:
		r.underMinISR++
	case least == 1:
		r.atMinISR++
	}
}

// addOffline counts a partition that is not open, if its directory is to blame.
func (r *replicaCounts) addOffline(offline bool) {
	if offline {
		r.partitions, r.offline = r.partitions+1, r.offline+1
	}
}

func (c *collector) collectLogs(to chan<- prometheus.Metric, topics []*partition.Topic) {
	var counts replicaCounts
	produces, fetches := 0, 0
	for _, topic := range topics {
		for i, p := range topic.Partitions {
			if p == nil {
				_, code := topic.Find(int32(i))
				counts.addOffline(code == kafka.ErrKafkaStorageError)
				continue
			}
			counts.add(p)
			a, b := p.Waits()
			produces, fetches = produces+a, fetches+b
			if counts.partitions <= c.most.partitions {
				c.collectLog(to, p)
			}
		}
	}
	gauge(to, c.leftOut, float64(max(0, counts.partitions-c.most.partitions)), "partitions")
	gauge(to, c.watched, float64(produces), "Produce")
	gauge(to, c.watched, float64(fetches), "Fetch")
	for i, n := range [...]int{counts.leaders, counts.partitions, counts.offline, counts.underReplicated, counts.underMinISR, counts.atMinISR} {
		gauge(to, c.replicas[i], float64(n))
	}
}

func (c *collector) collectLog(to chan<- prometheus.Metric, p *partition.Partition) {
	topic, number := p.Name().Topic, strconv.Itoa(int(p.Name().Partition))
	log := p.Log()
	gauge(to, c.logStart, float64(log.StartOffset()), topic, number)
	gauge(to, c.logEnd, float64(log.EndOffset()), topic, number)
	gauge(to, c.logSize, float64(log.Size()), topic, number)
	gauge(to, c.logSegments, float64(log.Segments()), topic, number)
}

// collectRequests shows an API that was called; the others have no series.
func (c *collector) collectRequests(to chan<- prometheus.Metric, api *meter.API) {
	if api.Name == "Produce" || api.Name == "Fetch" {
		gauge(to, c.delayed, float64(api.Delayed.Load()), api.Name)
	}
	called := false
	api.Requests(func(version int, n int64) {
		called = true
		counter(to, c.requests, n, api.Name, strconv.Itoa(version))
	})
	if !called {
		return
	}
	api.Errors(func(code kafka.ErrorCode, n int64) { counter(to, c.errors, n, api.Name, code.String()) })
	for _, p := range c.phases {
		const nsPerMs = 1e6
		r := p.of(api).Read(quantiles, c.now())
		values := make(map[float64]float64, len(quantiles))
		for i, q := range quantiles {
			values[q] = r.Quantiles[i] / nsPerMs
		}
		to <- prometheus.MustNewConstSummary(p.desc, uint64(r.Count), float64(r.Sum)/nsPerMs, values, api.Name)
	}
}
