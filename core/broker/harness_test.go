package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"trialog/core/broker/meter"
	"trialog/core/config"
	"trialog/core/event"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/wire"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// safety bounds waits for what must come; nothing depends on it passing.
const safety = 20 * time.Second

// instance is a broker under test with its data directory.
type instance struct {
	*Broker
	t      testing.TB
	dir    string
	log    *lines
	events *lines
	stop   sync.Once
}

// lines collects what is written, line by line.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func loadConfig(t testing.TB, dir string, overrides ...string) *config.Broker {
	t.Helper()
	cfg, err := config.LoadBroker(nil, append([]string{"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir}, overrides...))
	require.NoError(t, err)
	return cfg
}

// start starts a broker on dir, measured; it is stopped with the test.
func start(t testing.TB, dir string, overrides ...string) *instance {
	t.Helper()
	in := &instance{t: t, dir: dir, log: new(lines), events: new(lines)}
	b, err := New(loadConfig(t, dir, overrides...), Options{
		Log: slog.New(slog.NewTextHandler(in.log, nil)), Version: "test", Events: in.events, Meter: meter.New(),
	})
	require.NoError(t, err)
	require.NoError(t, b.Start())
	in.Broker = b
	t.Cleanup(in.end)
	return in
}

func (in *instance) end() {
	in.stop.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), safety)
		defer cancel()
		require.NoError(in.t, in.Stop(ctx))
	})
}

// mustEnd waits until the broker says that it must not go on, and why.
func (in *instance) mustEnd() error {
	in.t.Helper()
	select {
	case err := <-in.Failed():
		return err
	case <-time.After(safety):
		require.Fail(in.t, "the broker goes on")
		return nil
	}
}

// crash ends the broker without a clean stop.
func (in *instance) crash() { in.stop.Do(in.Abandon) }

// eventsOf reads the events so far.
func (in *instance) eventsOf(kinds ...event.Kind) []event.Event {
	in.t.Helper()
	all, err := event.ReadAll("events", bytes.NewReader([]byte(in.events.String())))
	require.NoError(in.t, err)
	var out []event.Event
	for _, e := range all {
		for _, k := range kinds {
			if e.Kind == k {
				out = append(out, e)
			}
		}
	}
	return out
}

// client is a raw connection.
type client struct {
	t    testing.TB
	conn net.Conn
	next int32
	sent []kmsg.Request // requests whose responses were not read
}

func (in *instance) dial() *client {
	in.t.Helper()
	return in.dialTo(in.Addr().String())
}

func (in *instance) dialTo(address string) *client {
	in.t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(in.t, err)
	in.t.Cleanup(func() { _ = conn.Close() })
	return &client{t: in.t, conn: conn}
}

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw"))

// send writes a request and does not wait.
func (c *client) send(req kmsg.Request) {
	c.t.Helper()
	c.next++
	c.sent = append(c.sent, req)
	c.write(formatter.AppendRequest(nil, req, c.next))
}

func (c *client) write(b []byte) {
	c.t.Helper()
	_, err := c.conn.Write(b)
	require.NoError(c.t, err)
}

// frame reads one response frame without its size.
func (c *client) frame() []byte {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(safety)))
	var size [4]byte
	_, err := io.ReadFull(c.conn, size[:])
	require.NoError(c.t, err)
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(c.conn, body)
	require.NoError(c.t, err)
	return body
}

// read reads the response to the oldest request that was sent.
func (c *client) read() kmsg.Response {
	c.t.Helper()
	req := c.sent[0]
	c.sent = c.sent[1:]
	body := c.frame()
	require.Equal(c.t, c.next-int32(len(c.sent)), int32(binary.BigEndian.Uint32(body)), "responses come in request order")
	body = body[4:]
	if req.IsFlexible() && req.Key() != wire.KeyAPIVersions {
		require.Zero(c.t, body[0])
		body = body[1:]
	}
	resp := req.ResponseKind()
	require.NoError(c.t, resp.ReadFrom(body))
	return resp
}

// ask sends a request and reads its response; R is the response's type.
func ask[R kmsg.Response](c *client, req kmsg.Request) R {
	c.t.Helper()
	c.send(req)
	return c.read().(R)
}

// closed asserts that the broker closes the connection.
func (c *client) closed() {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(safety)))
	rest, err := io.ReadAll(c.conn)
	if ne, ok := err.(net.Error); ok {
		require.False(c.t, ne.Timeout(), "the broker did not close the connection")
	}
	require.Empty(c.t, rest)
}

// create makes a topic with settings key=value.
func (c *client) create(topic string, partitions int32, settings ...string) kafka.TopicID {
	c.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, 1
	for i := 0; i+1 < len(settings); i += 2 {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = settings[i], kmsg.StringPtr(settings[i+1])
		rt.Configs = append(rt.Configs, rc)
	}
	req.Topics = append(req.Topics, rt)
	resp := ask[*kmsg.CreateTopicsResponse](c, req)
	require.Len(c.t, resp.Topics, 1)
	require.Zero(c.t, resp.Topics[0].ErrorCode, "%v", resp.Topics[0].ErrorMessage)
	return resp.Topics[0].TopicID
}

// batch makes an uncompressed batch of the values.
func batch(values ...string) []byte { return batchOf(nil, values...) }

func batchOf(with func(*record.Builder), values ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	if with != nil {
		with(&b)
	}
	for _, v := range values {
		b.Append(time.Now().UnixMilli(), nil, []byte(v))
	}
	return b.Finish()
}

// produceRequest makes a request of one batch.
func produceRequest(version, acks int16, topic string, p int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, int32(safety/time.Millisecond)
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = p, records
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// produce sends one batch and returns the partition's outcome.
func (c *client) produce(acks int16, topic string, p int32, records []byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return ask[*kmsg.ProduceResponse](c, produceRequest(9, acks, topic, p, records)).Topics[0].Partitions[0]
}

// fetchRequest makes a request of v12 for one partition.
func fetchRequest(topic string, p int32, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.MinBytes = 12, 50<<20, 1
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = p, offset, 1<<20
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

func (c *client) fetch(topic string, p int32, offset int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	return ask[*kmsg.FetchResponse](c, fetchRequest(topic, p, offset)).Topics[0].Partitions[0]
}

// readAll fetches a partition from its start to its HW and returns offset=value
// for every record.
func (c *client) readAll(topic string, p int32) []string {
	c.t.Helper()
	var out []string
	for next := int64(0); ; {
		got := c.fetch(topic, p, next)
		require.Zero(c.t, got.ErrorCode)
		if next >= got.HighWatermark {
			return out
		}
		for _, v := range values(c.t, got.RecordBatches) {
			out = append(out, v)
			next++
		}
	}
}

// values decodes record bytes to offset=value.
func values(t testing.TB, b []byte) []string {
	t.Helper()
	var out []string
	for it := record.NewBatches(b); it.Next(); {
		_, err := record.Validate(it.Batch())
		require.NoError(t, err)
		records := record.NewRecords(it.Batch())
		for records.Next() {
			r := records.Record()
			out = append(out, fmt.Sprintf("%d=%s", r.Offset, r.Value))
		}
		require.NoError(t, records.Err())
	}
	return out
}

// end asks for an end or start offset by its special timestamp.
func (c *client) listOffset(topic string, p int32, ts int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 9, -1
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = p, ts, -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]
}

// eventually waits for a condition that must come true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, safety, time.Millisecond, what)
}
