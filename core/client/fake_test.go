package client

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/wire"
)

// fate is what a fake broker does with one produce request.
type fate int

const (
	serve      fate = iota
	dropBefore      // the connection breaks, nothing is appended
	dropAfter       // it is appended, then the connection breaks
	silent          // appended and never answered
	notLeader       // refused with an indefinite error, not appended
	notEnough       // refused with a definite, retriable error
	tooLarge        // refused with a definite error that is not retried
)

// fakeBroker is the least of a broker: one node, one topic "t", logs in memory, strict about sequence numbers. Tests
// decide the fate of each produce.
type fakeBroker struct {
	t     *testing.T
	ln    net.Listener
	id    kafka.TopicID
	table []wire.API

	mu       sync.Mutex
	fates    func(n int) fate // for the n-th produce request, from 0
	produces int
	logs     map[int32]*fakeLog
	nextPID  int64
	override func(req kmsg.Request) kmsg.Response // nil answers mean "as usual"
	conns    []net.Conn
	asked    map[int16]int
}

type fakeLog struct {
	next    int64
	batches []fakeBatch
	nextSeq map[int64]int32
}

type fakeBatch struct {
	base    int64
	pid     int64
	seq     int32
	records []string
	bytes   []byte
}

func newFake(t *testing.T, partitions int32) *fakeBroker {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fakeBroker{
		t: t, ln: ln, id: kafka.TopicID{1, 2, 3}, table: wire.APIs(), nextPID: 1000,
		logs: map[int32]*fakeLog{}, asked: map[int16]int{},
	}
	for p := range partitions {
		f.logs[p] = &fakeLog{nextSeq: map[int64]int32{}}
	}
	go f.accept()
	t.Cleanup(f.stop)
	return f
}

func (f *fakeBroker) addr() string { return f.ln.Addr().String() }

func (f *fakeBroker) stop() {
	f.ln.Close()
	f.cut()
}

// cut breaks every connection.
func (f *fakeBroker) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, nc := range f.conns {
		nc.Close()
	}
	f.conns = nil
}

func (f *fakeBroker) accept() {
	for {
		nc, err := f.ln.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns = append(f.conns, nc)
		f.mu.Unlock()
		go f.converse(nc)
	}
}

func (f *fakeBroker) converse(nc net.Conn) {
	defer nc.Close()
	for {
		var size [4]byte
		if _, err := io.ReadFull(nc, size[:]); err != nil {
			return
		}
		frame := make([]byte, int(size[2])<<8|int(size[3])|int(size[1])<<16)
		if _, err := io.ReadFull(nc, frame); err != nil {
			return
		}
		h, body, err := wire.ParseRequestHeader(frame)
		if err != nil {
			return
		}
		req, err := wire.Decode(h.Key, h.Version, body)
		if err != nil {
			return
		}
		resp, keep := f.answer(req)
		if resp != nil {
			if _, err := nc.Write(wire.AppendResponse(nil, h.CorrelationID, resp)); err != nil {
				return
			}
		}
		if !keep {
			return
		}
	}
}

func (f *fakeBroker) answer(req kmsg.Request) (resp kmsg.Response, keep bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[req.Key()]++
	if f.override != nil {
		if resp := f.override(req); resp != nil {
			return resp, true
		}
	}
	switch r := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return f.versions(r), true
	case *kmsg.MetadataRequest:
		return f.metadata(r), true
	case *kmsg.InitProducerIDRequest:
		resp := r.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ProducerID, resp.ProducerEpoch = f.nextPID, 0
		f.nextPID++
		return resp, true
	case *kmsg.ProduceRequest:
		return f.produce(r)
	case *kmsg.FetchRequest:
		return f.fetch(r), true
	case *kmsg.ListOffsetsRequest:
		return f.listOffsets(r), true
	}
	return nil, false
}

func (f *fakeBroker) versions(r *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
	for _, row := range f.table {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = row.Key, row.Min, row.Max
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

func (f *fakeBroker) metadata(r *kmsg.MetadataRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.MetadataResponse)
	host, port, _ := net.SplitHostPort(f.addr())
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = 1, host, atoi(port)
	resp.Brokers, resp.ControllerID = []kmsg.MetadataResponseBroker{b}, 1
	for _, asked := range r.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic, t.TopicID = asked.Topic, f.id
		if *asked.Topic != "t" {
			t.ErrorCode = int16(kafka.ErrUnknownTopicOrPartition)
		}
		for p := range int32(len(f.logs)) {
			part := kmsg.NewMetadataResponseTopicPartition()
			part.Partition, part.Leader = p, 1
			t.Partitions = append(t.Partitions, part)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func atoi(s string) (n int32) {
	for _, c := range s {
		n = n*10 + c - '0'
	}
	return n
}

func (f *fakeBroker) produce(r *kmsg.ProduceRequest) (kmsg.Response, bool) {
	fate := serve
	if f.fates != nil {
		fate = f.fates(f.produces)
	}
	f.produces++
	asked := r.Topics[0].Partitions[0]
	resp := r.ResponseKind().(*kmsg.ProduceResponse)
	t := kmsg.NewProduceResponseTopic()
	t.Topic = r.Topics[0].Topic
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition, p.BaseOffset = asked.Partition, -1
	code := kafka.ErrNone
	switch fate {
	case dropBefore:
		return nil, false
	case notLeader:
		code = kafka.ErrNotLeaderOrFollower
	case notEnough:
		code = kafka.ErrNotEnoughReplicas
	case tooLarge:
		code = kafka.ErrMessageTooLarge
	default:
		p.BaseOffset, code = f.logs[asked.Partition].append(f.t, asked.Records)
	}
	p.ErrorCode = int16(code)
	t.Partitions = []kmsg.ProduceResponseTopicPartition{p}
	resp.Topics = []kmsg.ProduceResponseTopic{t}
	switch {
	case fate == dropAfter:
		return nil, false
	case fate == silent || r.Acks == 0:
		return nil, true
	}
	return resp, true
}

// append checks the sequence as a broker with a perfect memory does, and appends or recognises the batch.
func (l *fakeLog) append(t *testing.T, bytes []byte) (int64, kafka.ErrorCode) {
	h, err := record.ValidateProduce(bytes)
	require.NoError(t, err)
	if h.HasProducerID() {
		for _, b := range l.batches {
			if b.pid == h.ProducerID && b.seq == h.BaseSequence {
				return b.base, kafka.ErrNone
			}
		}
		if want := l.nextSeq[h.ProducerID]; h.BaseSequence != want {
			return -1, kafka.ErrOutOfOrderSequenceNumber
		}
		l.nextSeq[h.ProducerID] = h.BaseSequence + h.Count
	}
	b := fakeBatch{base: l.next, pid: h.ProducerID, seq: h.BaseSequence, bytes: append([]byte(nil), bytes...)}
	record.SetBaseOffset(b.bytes, l.next)
	it, err := codec.Records(bytes, 1<<20)
	for err == nil && it.Next() {
		b.records = append(b.records, string(it.Record().Value))
	}
	require.NoError(t, err)
	require.NoError(t, it.Err())
	l.batches = append(l.batches, b)
	l.next += int64(h.Count)
	return b.base, kafka.ErrNone
}

// values lists the log's records in order.
func (f *fakeBroker) values(partition int32) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, b := range f.logs[partition].batches {
		all = append(all, b.records...)
	}
	return all
}

func (f *fakeBroker) fetch(r *kmsg.FetchRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.FetchResponse)
	for _, asked := range r.Topics {
		t := kmsg.NewFetchResponseTopic()
		t.Topic, t.TopicID = asked.Topic, asked.TopicID
		for _, ap := range asked.Partitions {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition = ap.Partition
			log := f.logs[ap.Partition]
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = log.next, log.next, 0
			if ap.FetchOffset > log.next {
				p.ErrorCode = int16(kafka.ErrOffsetOutOfRange)
			}
			for _, b := range log.batches {
				if b.base+int64(len(b.records)) > ap.FetchOffset {
					p.RecordBatches = append(p.RecordBatches, b.bytes...)
				}
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func (f *fakeBroker) listOffsets(r *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
	asked := r.Topics[0].Partitions[0]
	t := kmsg.NewListOffsetsResponseTopic()
	t.Topic = r.Topics[0].Topic
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition = asked.Partition
	if asked.Timestamp == Latest {
		p.Offset = f.logs[asked.Partition].next
	} else {
		p.Offset = 0
	}
	t.Partitions = []kmsg.ListOffsetsResponseTopicPartition{p}
	resp.Topics = []kmsg.ListOffsetsResponseTopic{t}
	return resp
}

// client returns a client of the fake with short pauses.
func (f *fakeBroker) client() *Client {
	c, err := New(Config{
		Bootstrap: []string{f.addr()}, RequestTimeout: 300 * time.Millisecond,
		RetryBackoff: time.Millisecond, RetryBackoffMax: 4 * time.Millisecond,
	})
	require.NoError(f.t, err)
	f.t.Cleanup(c.Close)
	return c
}

// texts makes records of these values.
func texts(values ...string) []Record {
	var rs []Record
	for _, v := range values {
		rs = append(rs, Record{Value: []byte(v)})
	}
	return rs
}
