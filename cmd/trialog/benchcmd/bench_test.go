package benchcmd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/cmd/trialog/benchcmd/raw"
	"trialog/core/codec"
	"trialog/core/record"
)

// echoes answers each frame with its own body, as often as it is told, and then hangs up.
func echoes(t *testing.T, times int) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for range times {
			frame, err := raw.ReadFrame(c, nil)
			if err != nil {
				return
			}
			c.Write(binary.BigEndian.AppendUint32(nil, uint32(len(frame))))
			c.Write(frame)
		}
		io.CopyN(io.Discard, c, 4)
	}()
	return l.Addr().String()
}

// requests makes so many frames that hold their number.
func requests(count int32) func([]byte, int32) []byte {
	return func(buf []byte, number int32) []byte {
		if number > count {
			return nil
		}
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(buf, 4), uint32(number))
	}
}

// Every request is sent and checked once and in order, whatever the depth; a failure of either side ends the pipeline.
func TestPipeline(t *testing.T) {
	receive := func(check func(frame []byte) error) func(net.Conn) error {
		return func(nc net.Conn) error {
			frame, err := raw.ReadFrame(nc, nil)
			if err != nil {
				return err
			}
			return check(frame)
		}
	}
	for _, depth := range []int{1, 2, 5} {
		var seen []uint32
		latencies, err := pipeline(echoes(t, 100), depth, requests(100), receive(func(frame []byte) error {
			seen = append(seen, binary.BigEndian.Uint32(frame))
			return nil
		}))
		require.NoError(t, err)
		require.Len(t, latencies, 100)
		for i, n := range seen {
			require.Equal(t, uint32(i+1), n)
		}
		require.IsNonDecreasing(t, latencies)

		_, err = pipeline(echoes(t, 10), depth, requests(1<<20), receive(func([]byte) error { return nil }))
		require.Error(t, err, "the peer hung up")
		bad := errors.New("bad")
		_, err = pipeline(echoes(t, 1<<20), depth, requests(1<<20), receive(func([]byte) error { return bad }))
		require.ErrorIs(t, err, bad)
	}
}

// Batches are as large as asked and sound; text compresses, noise does not.
func TestMakeBatch(t *testing.T) {
	for _, compressible := range []bool{true, false} {
		batch, records := makeBatch(64<<10, 100, compressible)
		require.LessOrEqual(t, len(batch), 64<<10)
		require.Greater(t, len(batch), 63<<10)
		h, err := record.Validate(batch)
		require.NoError(t, err)
		require.Equal(t, records, int64(h.Count))
		small := codec.Compress(nil, batch, record.LZ4, defaultLevel(record.LZ4))
		require.Equal(t, compressible, len(small) < len(batch)/2, "%d of %d", len(small), len(batch))
	}
	_, records := makeBatch(1, 100, false)
	require.Equal(t, int64(1), records, "one record at least")
}

func TestMedian(t *testing.T) {
	round := func(mib int64, cpu float64, p50 time.Duration) result {
		return result{bytes: mib << 20, records: mib, elapsed: time.Second, brokerCPU: cpu, clientCPU: cpu, latencies: []time.Duration{p50, p50, 9 * p50}}
	}
	m := median([]result{round(1024, 4, 7), round(2048, 4, 3), round(1024, 8, 5)})
	require.Equal(t, measure{mib: 1024, records: 1024, broker: 4, client: 4, cores: 4, p50: 5, p99: 45, p999: 45}, m)
	m = median([]result{round(1024, -1, 1), round(3072, -1, 1)})
	require.Equal(t, 2048.0, m.mib)
	require.Equal(t, -1.0, m.broker, "unknown")
	require.Nil(t, figuresOf("", "", m).BrokerSecPerGiB)
}

func TestTable(t *testing.T) {
	tb := newTable("", "a", "long")
	tb.row("name", "1000.0")
	tb.gap()
	tb.row("  µ", "1", "2")
	var out bytes.Buffer
	tb.print(&out)
	require.Equal(t, "           a  long\nname  1000.0\n\n  µ        1     2\n", out.String())
	require.Equal(t, ">= 1.2x met", aim(1.2, 1.2, true, "x"))
	require.Equal(t, ">= 1.2x missed", aim(1.19, 1.2, true, "x"))
	require.Equal(t, "<= 0.5x met", aim(0.5, 0.5, false, "x"))
	require.Equal(t, "<= 40 missed", aim(40.1, 40, false, ""))
	require.Empty(t, aim(3, 0, true, "x"))
	require.Empty(t, ratioText(-1, 2))
	require.Equal(t, "0.50x", ratioText(1, 2))
}

// What Kafka's perf producer says at its end, after what it says meanwhile.
func TestPerfResult(t *testing.T) {
	r, err := perfResult([]byte("9 records sent, 1.8 records/sec (0.00 MB/sec), 1.0 ms avg latency, 2.0 ms max latency.\n" +
		"2000000 records sent, 1000000.0 records/sec (95.37 MB/sec), 12.31 ms avg latency, 155.00 ms max latency, 9 ms 50th, 40 ms 95th, 66 ms 99th, 81 ms 99.9th.\n"))
	require.NoError(t, err)
	require.Equal(t, result{records: 2_000_000, requests: 2_000_000, bytes: 200_000_000, clientCPU: -1, elapsed: 2 * time.Second}, r)
	_, err = perfResult([]byte("Exception in thread main"))
	require.ErrorContains(t, err, "gave no result: Exception")
}

// What the limit takes and gives is what a broker does, as far as the client looks.
func TestLimit(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	dir := t.TempDir()
	go raw.Serve(l, dir)
	limit := &target{addr: l.Addr().String(), raw: true}
	batch, records := makeBatch(4<<10, 100, false)
	load := load{topic: "limit", batch: batch, records: records, acks: -1, depth: 3}
	until := bound{time: time.Minute, bytes: 64 * int64(len(batch)), touch: true, dir: t.TempDir()}
	made, err := produce(limit, load, until, func(int64) {})
	require.NoError(t, err)
	require.Equal(t, int64(64), made.requests)

	got, err := fetch(limit, load, made.requests, 10, until, func(int64) {})
	require.NoError(t, err)
	require.Equal(t, int64(7), got.requests, "in pieces of ten until at least as much has come, and from the start again")
	require.Len(t, got.latencies, 7)

	other := load
	other.records++
	_, err = fetch(limit, other, made.requests, 10, until, func(int64) {})
	require.ErrorContains(t, err, "a batch at offset", "the limit holds others than it is asked for")

	require.Len(t, files(t, dir), 1)
	require.NoError(t, raw.Remove(limit.addr))
	require.Empty(t, files(t, dir))
}

func files(t *testing.T, dir string) []os.DirEntry {
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	return all
}

// The client tells a response from a refusal, and looks at every length in it.
func TestReceiveFetched(t *testing.T) {
	batch, records := makeBatch(4<<10, 100, false)
	binary.BigEndian.PutUint64(batch, uint64(3*records))
	answer := func(edit func(*kmsg.FetchResponse)) []byte {
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = append(append(p.RecordBatches, batch...), batch...)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.Partitions = "t", append(topic.Partitions, p)
		resp := kmsg.NewPtrFetchResponse()
		resp.Version, resp.Topics = raw.FetchVersion, append(resp.Topics, topic)
		edit(resp)
		frame := resp.AppendTo(make([]byte, 8))
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
		return frame
	}
	receive := func(frame []byte) error {
		a, b := net.Pipe()
		go func() {
			a.Write(frame)
			a.Close()
		}()
		defer b.Close()
		return receiveFetched(b, make([]byte, fetchedHead("t")), "t", 3*records, 2*len(batch))
	}
	whole := answer(func(*kmsg.FetchResponse) {})
	require.NoError(t, receive(whole))
	require.Error(t, receive(whole[:len(whole)-1]), "cut off")
	longer := bytes.Clone(whole)
	binary.BigEndian.PutUint32(longer, uint32(len(longer)-3))
	require.ErrorContains(t, receive(longer), "a response of")
	for text, edit := range map[string]func(*kmsg.FetchResponse){
		"NOT_LEADER_OR_FOLLOWER": func(r *kmsg.FetchResponse) {
			r.Topics[0].Partitions[0].ErrorCode = 6
			r.Topics[0].Partitions[0].RecordBatches = nil
		},
		"FETCH_SESSION_ID_NOT_FOUND": func(r *kmsg.FetchResponse) { r.ErrorCode = 70; r.Topics = nil },
		"another shape":              func(r *kmsg.FetchResponse) { r.Topics[0].Topic = "u" },
		"bytes of records, not":      func(r *kmsg.FetchResponse) { r.Topics[0].Partitions[0].RecordBatches = batch },
	} {
		require.ErrorContains(t, receive(answer(edit)), text)
	}
}
