package exporter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/core/broker"
	"trialog/core/broker/meter"
	"trialog/core/broker/partition"
	"trialog/core/client"
	"trialog/core/config"
)

// start runs a broker, measured, and a client of it.
func start(t *testing.T) (*broker.Broker, *client.Client) {
	cfg, err := config.LoadBroker(nil, []string{
		"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + t.TempDir(), "auto.create.topics.enable=false",
	})
	require.NoError(t, err)
	b, err := broker.New(cfg, broker.Options{Meter: meter.New()})
	require.NoError(t, err)
	require.Equal(t, 503, status(t, b, "/readyz"))
	require.NoError(t, b.Start())
	t.Cleanup(b.Abandon)
	c, err := client.New(client.Config{Bootstrap: []string{b.Addr().String()}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return b, c
}

func ask(b *broker.Broker, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	Handler(b).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func status(t *testing.T, b *broker.Broker, path string) int { return ask(b, path).Code }

// scrape gives the series by name and labels.
func scrape(t *testing.T, b *broker.Broker) map[string]string {
	w := ask(b, "/metrics")
	require.Equal(t, 200, w.Code, w.Body.String())
	series := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		require.NotContains(t, series, line[:i])
		series[line[:i]] = line[i+1:]
	}
	return series
}

func create(t *testing.T, c *client.Client, name string, partitions int32) {
	require.NoError(t, c.CreateTopic(t.Context(), client.NewTopic{Name: name, Partitions: partitions}))
}

// produce sends one batch of records of 100 bytes.
func produce(t *testing.T, p *client.Producer, topic string, partition int32, records int) client.Result {
	b := client.Batch{Topic: topic, Partition: partition}
	for range records {
		b.Records = append(b.Records, client.Record{Timestamp: 1, Value: make([]byte, 100)})
	}
	return p.Produce(t.Context(), b)
}

// gate is a sink of events that stops whoever writes the n-th recovery of a topic's log.
type gate struct {
	skip    int
	reached chan struct{}
	open    chan struct{}
	mu      sync.Mutex
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if bytes.Contains(p, []byte(`"kind":"recover"`)) && !bytes.Contains(p, []byte("__")) {
		if g.skip--; g.skip == 0 {
			close(g.reached)
			<-g.open
		}
	}
	return len(p), nil
}

// While a broker recovers it lives and is not ready, and says how far it is; a supervisor that asks for life waits.
func TestL20RecoveryShowsProgress(t *testing.T) {
	dir := t.TempDir()
	cfg, err := config.LoadBroker(nil, []string{
		"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir, "num.recovery.threads.per.data.dir=1",
	})
	require.NoError(t, err)
	b, err := broker.New(cfg, broker.Options{})
	require.NoError(t, err)
	require.NoError(t, b.Start())
	c, err := client.New(client.Config{Bootstrap: []string{b.Addr().String()}})
	require.NoError(t, err)
	create(t, c, "a", 5)
	p, err := c.NewProducer(client.ProducerConfig{Acks: -1})
	require.NoError(t, err)
	for i := range int32(5) {
		require.NoError(t, produce(t, p, "a", i, 3).Err)
	}
	c.Close()
	b.Abandon()

	g := &gate{skip: 3, reached: make(chan struct{}), open: make(chan struct{})}
	b, err = broker.New(cfg, broker.Options{Events: g, Meter: meter.New()})
	require.NoError(t, err)
	started := make(chan error, 1)
	go func() { started <- b.Start() }()
	t.Cleanup(b.Abandon)
	<-g.reached
	require.Equal(t, 200, status(t, b, "/healthz"))
	require.Equal(t, 503, status(t, b, "/readyz"))
	left := fmt.Sprintf(`kafka_log_logmanager_remaininglogstorecover{dir=%q}`, dir)
	require.Equal(t, "3", scrape(t, b)[left], "the third of five is being opened")
	close(g.open)
	require.NoError(t, <-started)
	require.Equal(t, "0", scrape(t, b)[left])
	require.Equal(t, "0", scrape(t, b)[fmt.Sprintf(`kafka_log_logmanager_remainingsegmentstorecover{dir=%q,threadNum="0"}`, dir)])
	require.Equal(t, "0", scrape(t, b)["kafka_log_logmanager_offlinelogdirectorycount"])
}

// A log directory that failed is counted and named, and so are its partitions.
func TestR28OfflineDirectoryShows(t *testing.T) {
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "two")
	cfg, err := config.LoadBroker(nil, []string{
		"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + one + "," + two, "internal.segment.bytes=2000",
	})
	require.NoError(t, err)
	b, err := broker.New(cfg, broker.Options{Meter: meter.New()})
	require.NoError(t, err)
	require.NoError(t, b.Start())
	t.Cleanup(b.Abandon)
	c, err := client.New(client.Config{Bootstrap: []string{b.Addr().String()}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	create(t, c, "a", 4)
	offline := fmt.Sprintf(`kafka_log_logmanager_logdirectoryoffline{logDirectory=%q}`, two)
	require.Equal(t, "0", scrape(t, b)["kafka_log_logmanager_offlinelogdirectorycount"])
	require.NotContains(t, scrape(t, b), offline)

	require.NoError(t, os.RemoveAll(two))
	p, err := c.NewProducer(client.ProducerConfig{Acks: -1})
	require.NoError(t, err)
	for i := int32(0); len(b.OfflineDirs()) == 0; i++ {
		produce(t, p, "a", i%4, 10)
	}
	require.Equal(t, "1", scrape(t, b)["kafka_log_logmanager_offlinelogdirectorycount"])
	require.Equal(t, "1", scrape(t, b)[offline])
	require.Eventually(t, func() bool { return scrape(t, b)["kafka_server_replicamanager_offlinereplicacount"] == "2" }, 20*time.Second, time.Millisecond)
}

// After known traffic every count is exact.
func TestCounts(t *testing.T) {
	b, c := start(t)
	create(t, c, "a", 2)
	create(t, c, "b", 1)
	p, err := c.NewProducer(client.ProducerConfig{Acks: -1})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, produce(t, p, "a", 0, 5).Err)
	}
	require.NoError(t, produce(t, p, "a", 1, 1).Err)
	require.Error(t, produce(t, p, "b", 0, 20_000).Err) // over max.message.bytes

	fetch := client.FetchConfig{MaxWait: -1}
	got := c.Fetch(t.Context(), fetch, []client.Position{{Topic: "a", Partition: 0}, {Topic: "a", Partition: 1}, {Topic: "b", Partition: 0}})
	bytes := got[0].Bytes + got[1].Bytes
	require.Positive(t, bytes)
	require.Error(t, c.Fetch(t.Context(), fetch, []client.Position{{Topic: "b", Partition: 0, Offset: 7}})[0].Err)
	_, err = c.ListOffset(t.Context(), "a", 0, client.Latest)
	require.NoError(t, err)

	want := map[string]string{
		`kafka_server_kafkaserver_brokerstate`:                                                   "3",
		`kafka_server_brokertopicmetrics_messagesin_total`:                                       "16",
		`kafka_server_brokertopicmetrics_messagesin_total{topic="a"}`:                            "16",
		`kafka_server_brokertopicmetrics_messagesin_total{topic="b"}`:                            "0",
		`kafka_server_brokertopicmetrics_bytesin_total{topic="a"}`:                               fmt.Sprint(bytes),
		`kafka_server_brokertopicmetrics_bytesin_total`:                                          fmt.Sprint(bytes),
		`kafka_server_brokertopicmetrics_bytesout_total`:                                         fmt.Sprint(bytes),
		`kafka_server_brokertopicmetrics_bytesout_total{topic="a"}`:                              fmt.Sprint(bytes),
		`kafka_server_brokertopicmetrics_totalproducerequests_total`:                             "5",
		`kafka_server_brokertopicmetrics_totalproducerequests_total{topic="b"}`:                  "1",
		`kafka_server_brokertopicmetrics_failedproducerequests_total`:                            "0", // too large is no failure of the broker
		`kafka_server_brokertopicmetrics_totalfetchrequests_total`:                               "4",
		`kafka_server_brokertopicmetrics_totalfetchrequests_total{topic="b"}`:                    "2",
		`kafka_server_brokertopicmetrics_failedfetchrequests_total`:                              "0",
		`kafka_network_requestmetrics_requests_total{request="Produce",version="11"}`:            "5",
		`kafka_network_requestmetrics_errors_total{error="NONE",request="Produce"}`:              "4",
		`kafka_network_requestmetrics_errors_total{error="MESSAGE_TOO_LARGE",request="Produce"}`: "1",
		`kafka_network_requestmetrics_errors_total{error="OFFSET_OUT_OF_RANGE",request="Fetch"}`: "1",
		`kafka_network_requestmetrics_errors_total{error="NONE",request="Fetch"}`:                "5", // two requests, three partitions
		`kafka_network_requestmetrics_requests_total{request="CreateTopics",version="7"}`:        "2",
		`kafka_network_requestmetrics_errors_total{error="NONE",request="ListOffsets"}`:          "1",
		`kafka_network_requestmetrics_totaltimems_count{request="Produce"}`:                      "5",
		`kafka_network_requestmetrics_localtimems_count{request="Fetch"}`:                        "2",
		`kafka_network_requestmetrics_remotetimems{request="ListOffsets",quantile="0.99"}`:       "0",
		`kafka_server_delayedoperationpurgatory_numdelayedoperations{delayedOperation="Fetch"}`:  "0",
		`kafka_server_delayedoperationpurgatory_purgatorysize{delayedOperation="Produce"}`:       "0",
		`kafka_log_log_logendoffset{partition="0",topic="a"}`:                                    "15",
		`kafka_log_log_logstartoffset{partition="0",topic="a"}`:                                  "0",
		`kafka_log_log_size{partition="0",topic="b"}`:                                            "0",
		`kafka_log_log_numlogsegments{partition="1",topic="a"}`:                                  "1",
		`kafka_server_replicamanager_leadercount`:                                                "3",
		`kafka_server_replicamanager_partitioncount`:                                             "3",
		`kafka_server_replicamanager_underreplicatedpartitions`:                                  "0",
		`kafka_server_replicamanager_atminisrpartitioncount`:                                     "3",
		`kafka_server_socket_server_metrics_connection_count{listener="PLAINTEXT"}`:              "3", // administration, produce, fetch
		`kafka_server_socket_server_metrics_connection_creation_total{listener="PLAINTEXT"}`:     "3",
		`trialog_metrics_left_out{what="topics"}`:                                                "0",
	}
	series := scrape(t, b)
	// The time of a request is counted once its response is out, which its client may have before.
	require.Eventually(t, func() bool {
		series = scrape(t, b)
		return series[`kafka_network_requestmetrics_totaltimems_count{request="Produce"}`] == "5" &&
			series[`kafka_network_requestmetrics_totaltimems_count{request="ListOffsets"}`] == "1"
	}, 10*time.Second, time.Millisecond)
	for name, value := range want {
		require.Equal(t, value, series[name], name)
	}
	require.Contains(t, series, "process_cpu_seconds_total")
	require.Contains(t, series, "go_goroutines")

	// A topic that is deleted and made again begins at zero; the sum over all topics does not.
	require.NoError(t, c.DeleteTopic(t.Context(), "a"))
	create(t, c, "a", 1)
	series = scrape(t, b)
	require.Equal(t, "0", series[`kafka_server_brokertopicmetrics_messagesin_total{topic="a"}`])
	require.Equal(t, "16", series[`kafka_server_brokertopicmetrics_messagesin_total`])
}

// A partition whose log failed is one of the broker's still, and is offline; it counts as nothing that leads.
func TestOfflineReplicasLeadNothing(t *testing.T) {
	b, c := start(t)
	create(t, c, "t", 3)
	counts := func() (all []string) {
		s := scrape(t, b)
		for _, name := range []string{"partitioncount", "leadercount", "offlinereplicacount", "atminisrpartitioncount"} {
			all = append(all, s["kafka_server_replicamanager_"+name])
		}
		return all
	}
	require.Equal(t, []string{"3", "3", "0", "3"}, counts())
	b.Topics()[0].Partitions[1].GoOffline()
	require.Equal(t, []string{"3", "2", "1", "2"}, counts())
}

// A fetch that waits is seen waiting, and its wait is remote time.
func TestWaiting(t *testing.T) {
	b, c := start(t)
	create(t, c, "t", 1)
	p, err := c.NewProducer(client.ProducerConfig{Acks: 1})
	require.NoError(t, err)
	fetched := make(chan []client.Fetched)
	go func() {
		fetched <- c.Fetch(context.Background(), client.FetchConfig{MaxWait: 20 * time.Second}, []client.Position{{Topic: "t"}})
	}()
	const waiting = `kafka_server_delayedoperationpurgatory_%s{delayedOperation="Fetch"}`
	require.Eventually(t, func() bool {
		s := scrape(t, b)
		return s[fmt.Sprintf(waiting, "numdelayedoperations")] == "1" && s[fmt.Sprintf(waiting, "purgatorysize")] == "1"
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, produce(t, p, "t", 0, 1).Err)
	require.Len(t, (<-fetched)[0].Records, 1)
	require.Eventually(t, func() bool { return scrape(t, b)[fmt.Sprintf(waiting, "numdelayedoperations")] == "0" }, 10*time.Second, time.Millisecond)
	const remote = `kafka_network_requestmetrics_remotetimems_%s{request="Fetch"}`
	require.Eventually(t, func() bool { return scrape(t, b)[fmt.Sprintf(remote, "count")] == "1" }, 10*time.Second, time.Millisecond)
	require.NotEqual(t, "0", scrape(t, b)[fmt.Sprintf(remote, "sum")])
}

// With ten times the topics that anybody shows, a scrape has the size that a tenth has.
func TestScrapeIsBounded(t *testing.T) {
	b, client := start(t)
	create(t, client, "t", 3)
	var many []*partition.Topic
	for i := range 10 * topicsMax {
		many = append(many, &partition.Topic{Name: fmt.Sprintf("t%0248d", i), Meter: b.Meter().NewTopic()})
	}
	size := func(topics []*partition.Topic) int {
		c := newCollector(b)
		c.open = func() []*partition.Topic { return topics }
		w := httptest.NewRecorder()
		handler(b, c).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		require.Equal(t, 200, w.Code)
		require.Contains(t, w.Body.String(), fmt.Sprintf("trialog_metrics_left_out{what=\"topics\"} %d\n", len(topics)-topicsMax))
		return w.Body.Len()
	}
	require.InDelta(t, size(many[:topicsMax]), size(many), 2000)

	c := newCollector(b)
	c.most.partitions = 2
	w := httptest.NewRecorder()
	handler(b, c).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Contains(t, w.Body.String(), "trialog_metrics_left_out{what=\"partitions\"} 1\n")
	require.Contains(t, w.Body.String(), "kafka_log_log_size{partition=\"1\",topic=\"t\"} 0\n")
	require.NotContains(t, w.Body.String(), "kafka_log_log_size{partition=\"2\"")
	require.Contains(t, w.Body.String(), "kafka_server_replicamanager_partitioncount 3\n")
}

// The server answers before the broker runs, and ends.
func TestHealth(t *testing.T) {
	cfg, err := config.LoadBroker(nil, []string{"node.id=7", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + t.TempDir()})
	require.NoError(t, err)
	b, err := broker.New(cfg, broker.Options{Meter: meter.New()})
	require.NoError(t, err)
	s, err := Start("127.0.0.1:0", b, quiet())
	require.NoError(t, err)
	get := func(path string) (int, map[string]any) {
		resp, err := http.Get("http://" + s.Addr().String() + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		got := map[string]any{}
		_ = json.Unmarshal(body, &got)
		return resp.StatusCode, got
	}
	check := func(state string, ready bool) {
		want := map[string]any{"node": 7.0, "state": state, "ready": ready}
		code, got := get("/healthz")
		require.Equal(t, 200, code)
		require.Equal(t, want, got)
		code, got = get("/readyz")
		require.Equal(t, ready, code == 200)
		require.Equal(t, want, got)
		code, _ = get("/metrics")
		require.Equal(t, 200, code)
	}
	check("starting", false)
	require.NoError(t, b.Start())
	check("running", true)
	require.NoError(t, b.Stop(t.Context()))
	check("stopping", false)
	code, _ := get("/")
	require.Equal(t, 404, code)
	http.DefaultClient.CloseIdleConnections()
	s.Stop(t.Context())
	_, err = net.Dial("tcp", s.Addr().String())
	require.Error(t, err)
	_, err = Start("256.0.0.1:0", b, quiet())
	require.ErrorContains(t, err, "exporter: trialog.metrics.listener 256.0.0.1:0: ")
}

// More connections than there are places wait for one, and get it.
func TestConnectionsAreBounded(t *testing.T) {
	b, _ := start(t)
	s, err := Start("127.0.0.1:0", b, quiet())
	require.NoError(t, err)
	defer s.Stop(t.Context())
	var silent []net.Conn
	for range connectionsMax {
		c, err := net.Dial("tcp", s.Addr().String())
		require.NoError(t, err)
		silent = append(silent, c)
	}
	late, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer late.Close()
	_, err = io.WriteString(late, "GET /healthz HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	for _, c := range slices.Backward(silent) {
		require.NoError(t, c.Close())
	}
	answer, err := io.ReadAll(late)
	require.NoError(t, err)
	require.Contains(t, string(answer), "200 OK")
}
