package benchcmd

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/cmd/trialog/benchcmd/raw"
	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

const (
	produceVersion = raw.ProduceVersion
	fetchVersion   = raw.FetchVersion
	ioTimeout      = 60 * time.Second
)

// result is one measured round.
type result struct {
	bytes, requests, records int64
	elapsed                  time.Duration
	latencies                []time.Duration // sorted
	brokerCPU, clientCPU     float64         // s; brokerCPU is below 0 if nobody knows the process
}

func (r *result) mibPerSec() float64 { return float64(r.bytes) / (1 << 20) / r.elapsed.Seconds() }

// perGiB is processor seconds for each GiB; below 0: unknown.
func (r *result) perGiB(cpu float64) float64 {
	if cpu < 0 || r.bytes == 0 {
		return -1
	}
	return cpu / (float64(r.bytes) / (1 << 30))
}

func (r *result) quantile(q float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[min(int(q*float64(len(r.latencies))), len(r.latencies)-1)]
}

// bound ends a round: after a time or a volume, whichever comes first.
type bound struct {
	time  time.Duration
	bytes int64
	touch bool   // with memory that was touched before
	dir   string // on this file system; the system's temporary directory by default
}

// pipeline sends requests on a connection of its own, depth of them in flight, until next has no more: next appends the
// request with a number to the buffer it is given. Each response is read by receive, which must read all of it.
func pipeline(addr string, depth int, next func(buf []byte, number int32) []byte, receive func(nc net.Conn) error) ([]time.Duration, error) {
	nc, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	var (
		sent      = make(chan time.Time, depth-1)
		failed    = make(chan struct{})
		failure   error
		latencies []time.Duration
		reading   sync.WaitGroup
	)
	reading.Go(func() {
		for at := range sent {
			if failure != nil {
				continue
			}
			if failure = receive(nc); failure != nil {
				close(failed)
				continue
			}
			latencies = append(latencies, time.Since(at))
		}
	})
	writeErr := send(nc, sent, failed, next)
	close(sent)
	reading.Wait()
	if failure != nil {
		return nil, failure
	}
	slices.Sort(latencies)
	return latencies, writeErr
}

// send writes requests until there are no more, or somebody failed.
func send(nc net.Conn, sent chan<- time.Time, failed <-chan struct{}, next func([]byte, int32) []byte) error {
	var buf []byte
	for number := int32(1); ; number++ {
		if buf = next(buf[:0], number); len(buf) == 0 {
			return nil
		}
		select {
		case sent <- time.Now():
		case <-failed:
			return nil
		}
		nc.SetDeadline(time.Now().Add(ioTimeout))
		if _, err := nc.Write(buf); err != nil {
			return err
		}
	}
}

// load is what a producer sends.
type load struct {
	topic        string
	batch        []byte // whole and uncompressed
	records      int64  // in it
	codec        record.Codec
	acks         int16
	depth        int
	compressEach bool // compress every batch anew, as a producer must, and not once for all
}

// makeBatch builds a batch of at most size bytes, of one record at least. Text that repeats itself compresses about as
// well as logs do; noise does not compress.
func makeBatch(size, recordBytes int, compressible bool) (batch []byte, records int64) {
	rng := rand.New(rand.NewSource(1))
	var b record.Builder
	b.Reset(nil)
	for {
		value := make([]byte, recordBytes)
		rng.Read(value)
		if compressible {
			text := fmt.Sprintf(`{"user":%d,"session":"%08x","event":"page_view","page":"/products/%d","agent":"Mozilla/5.0"}`,
				rng.Intn(100_000), rng.Uint32(), rng.Intn(1000))
			for i := 0; i < len(value); i += copy(value[i:], text) {
			}
		}
		if b.Count() > 0 && b.SizeWith(nil, value) > size {
			return b.Finish(), int64(b.Count())
		}
		b.Append(time.Now().UnixMilli(), nil, value)
	}
}

// request appends a Produce request for the load.
func (l *load) request(buf []byte, number int32) []byte {
	batch := l.batch
	if l.codec != record.Uncompressed {
		batch = codec.Compress(nil, l.batch, l.codec, defaultLevel(l.codec))
	}
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = batch
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = l.topic, []kmsg.ProduceRequestTopicPartition{partition}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = produceVersion, l.acks, 30_000
	req.Topics = []kmsg.ProduceRequestTopic{topic}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("trialog-bench")).AppendRequest(buf, req, number)
}

// defaultLevel is Kafka's.
func defaultLevel(c record.Codec) int {
	switch c {
	case record.LZ4:
		return 9
	case record.Zstd:
		return 3
	}
	return -1
}

// produce runs a load against partition 0 until a bound.
func produce(on *target, l load, until bound, progress func(bytes int64)) (result, error) {
	var r result
	same := l.request(nil, 0)
	touched := touch(until)
	defer touched.end()
	began := time.Now()
	next := func(buf []byte, number int32) []byte {
		if time.Since(began) >= until.time || r.bytes >= until.bytes {
			return nil
		}
		r.requests++
		r.records += l.records
		r.bytes += int64(len(l.batch))
		progress(r.bytes)
		touched.letGo(r.bytes)
		if l.compressEach {
			return l.request(buf, number)
		}
		binary.BigEndian.PutUint32(same[8:], uint32(number))
		return append(buf, same...)
	}
	return measured(on, &r, func() ([]time.Duration, error) { return pipeline(on.addr, l.depth, next, receiveProduced()) })
}

// receiveProduced reads responses to Produce. They share one frame of memory.
func receiveProduced() func(net.Conn) error {
	var frame []byte
	return func(nc net.Conn) (err error) {
		if frame, err = raw.ReadFrame(nc, frame); err != nil {
			return err
		}
		return checkProduce(frame)
	}
}

func checkProduce(frame []byte) error {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = produceVersion
	if err := resp.ReadFrom(frame[4:]); err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if code := kafka.ErrorCode(p.ErrorCode); code != kafka.ErrNone {
				return fmt.Errorf("bench: produce to %s: %w", t.Topic, code)
			}
		}
	}
	return nil
}

// measured runs a round and adds time, latencies and processor time to its result.
func measured(on *target, r *result, run func() ([]time.Duration, error)) (result, error) {
	broker, client, began := on.cpu(), selfCPU(), time.Now()
	latencies, err := run()
	r.elapsed, r.latencies, r.clientCPU, r.brokerCPU = time.Since(began), latencies, selfCPU()-client, -1
	if now := on.cpu(); broker >= 0 && now >= 0 {
		r.brokerCPU = now - broker
	}
	return *r, err
}
