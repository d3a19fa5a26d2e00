package broker

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"trialog/core/kafka"
	"trialog/core/wire"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hostileEnv makes TestHostileClient run for that long, as a duration; without it a number of requests is enough.
const hostileEnv = "TRIALOG_HOSTILE_FOR"

// A client that sends nonsense of every key, seeded, beside one that checks: what that one wrote stays as it was, and the
// broker's memory, goroutines and descriptors come back (W01, W02, W04, W10, INV-RES).
func TestHostileClient(t *testing.T) {
	in := start(t, t.TempDir(), "num.partitions=1", "auto.create.topics.enable=false", "max.connections.per.ip=500")
	check := in.dial()
	check.create("checked", 1)
	var want []string
	write := func() {
		v := fmt.Sprint("v", len(want))
		want = append(want, fmt.Sprintf("%d=%s", len(want), v))
		require.Zero(t, check.produce(-1, "checked", 0, batch(v)).ErrorCode)
	}
	write()
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	rng := rand.New(rand.NewSource(1))
	f := nonsense(1)
	until, requests := time.Time{}, 1000
	if d, err := time.ParseDuration(os.Getenv(hostileEnv)); err == nil {
		until, requests = time.Now().Add(d), 1<<40
	}
	var conn net.Conn
	for i := 0; i < requests && (until.IsZero() || time.Now().Before(until)); i++ {
		if conn == nil {
			var err error
			conn, err = net.Dial("tcp", in.Addr().String())
			require.NoError(t, err)
		}
		if !hostileRequest(conn, rng, f) {
			_ = conn.Close()
			conn = nil
		}
		if i%200 == 0 {
			write()
			require.Less(t, in.server.HeldBytes(), int64(64<<20))
		}
	}
	if conn != nil {
		_ = conn.Close()
	}
	require.Equal(t, want, check.readAll("checked", 0))
	eventually(t, "connections are gone", func() bool { return in.server.Connections() == 1 })
	eventually(t, "memory is back", func() bool { return in.server.HeldBytes() == 0 })
	eventually(t, "goroutines are back", func() bool { return runtime.NumGoroutine() <= goroutines+5 })
	require.LessOrEqual(t, openDescriptors(t), descriptors+100, "what is open beside are the files of topics that it made")
}

func openDescriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0 // not here
	}
	return len(entries)
}

// nonsense fills requests: small numbers and all bits, names of topics that are there and that are not.
func nonsense(seed int64) *fuzz.Fuzzer {
	return fuzz.NewWithSeed(seed).NilChance(0.2).NumElements(0, 5).MaxDepth(12).Funcs(
		func(*kmsg.Tags, fuzz.Continue) {},
		func(n *int32, c fuzz.Continue) {
			*n = []int32{0, 1, -1, 2, 1<<31 - 1, -1 << 31, c.Int31()}[c.Intn(7)]
		},
		func(n *int8, c fuzz.Continue) { *n = int8(c.Intn(10) - 1) },
		func(n *int64, c fuzz.Continue) {
			*n = []int64{0, 1, -1, -2, 1<<63 - 1, -1 << 63, c.Int63()}[c.Intn(7)]
		},
		func(s *string, c fuzz.Continue) {
			*s = []string{"", "h", "1", "a/b", "..", "flush.ms", "max.message.bytes", "node.id", "\xff\xfe", "h-2", c.RandString()}[c.Intn(11)]
		},
		func(b *[]byte, c fuzz.Continue) {
			*b = make([]byte, c.Intn(300))
			c.Read(*b)
		},
	)
}

// hostileRequest sends one request and reads its answer, if there is one; false when the connection is of no more use.
func hostileRequest(conn net.Conn, rng *rand.Rand, f *fuzz.Fuzzer) bool {
	apis := wire.APIs()
	api := apis[rng.Intn(len(apis))]
	req := kmsg.RequestForKey(api.Key)
	f.Fuzz(req)
	req.SetVersion(api.ServeMin + int16(rng.Intn(int(api.Max-api.ServeMin)+1)))
	switch req := req.(type) {
	case *kmsg.FetchRequest:
		req.MaxWaitMillis = 0
	case *kmsg.ProduceRequest:
		req.TimeoutMillis = 0
	case *kmsg.CreateTopicsRequest:
		req.ValidateOnly = rng.Intn(10) > 0
	case *kmsg.DeleteTopicsRequest, *kmsg.DeleteRecordsRequest: // "checked" is not among the names
	case *kmsg.AlterConfigsRequest:
		req.ValidateOnly = true
	case *kmsg.IncrementalAlterConfigsRequest:
		req.ValidateOnly = true
	}
	frame := formatter.AppendRequest(nil, req, rng.Int31())
	whole := rng.Intn(3) == 0
	if !whole {
		spoil(rng, frame)
	}
	_ = conn.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := conn.Write(frame); err != nil {
		return false
	}
	if rng.Intn(20) == 0 {
		return false // it does not wait for the answer
	}
	_, err := conn.Read(make([]byte, 1<<20))
	return err == nil && whole
}

// spoil changes some bytes of a frame, mostly behind its header.
func spoil(rng *rand.Rand, frame []byte) {
	for range 1 + rng.Intn(4) {
		at := rng.Intn(len(frame))
		if rng.Intn(4) > 0 && len(frame) > 16 {
			at = 16 + rng.Intn(len(frame)-16)
		}
		frame[at] = []byte{0xff, 0x7f, 0x80, 0, byte(rng.Intn(256))}[rng.Intn(5)]
	}
}

// W02: in every key and version, a count that no frame could hold closes the connection, and costs nobody memory.
func TestCountBombs(t *testing.T) {
	in := start(t, t.TempDir())
	other := in.dial()
	for _, api := range wire.APIs() {
		for version := api.ServeMin; version <= api.Max; version++ {
			req := kmsg.RequestForKey(api.Key)
			nonsense(7).NilChance(0).NumElements(1, 1).Fuzz(req)
			req.SetVersion(version)
			frame := formatter.AppendRequest(nil, req, 1)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for at := 14; at+4 <= len(frame) && at < 80; at++ { // wherever a count may be
				bomb := append([]byte(nil), frame...)
				binary.BigEndian.PutUint32(bomb[at:], 0x7fffffff)
				c := in.dial()
				c.write(bomb)
				require.NoError(t, c.conn.(*net.TCPConn).CloseWrite())
				require.NoError(t, c.conn.SetReadDeadline(time.Now().Add(safety)))
				if _, err := io.Copy(io.Discard, c.conn); err != nil {
					require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
				}
			}
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "%s v%d", api.Name, version)
		}
	}
	eventually(t, "connections are gone", func() bool { return in.server.Connections() == 1 })
	eventually(t, "memory is back", func() bool { return in.server.HeldBytes() == 0 })
	require.NotEmpty(t, ask[*kmsg.ApiVersionsResponse](other, kmsg.NewPtrApiVersionsRequest()).ApiKeys)
}

// W04: a version next to the served ones closes the connection, whatever the key; ApiVersions alone is answered.
func TestVersionsNextToServed(t *testing.T) {
	in := start(t, t.TempDir())
	for _, api := range wire.APIs() {
		for _, version := range []int16{api.ServeMin - 1, api.Max + 1, -1, 1<<15 - 1, -1 << 15} {
			if version >= api.ServeMin && version <= api.Max || api.Key == wire.KeyAPIVersions {
				continue
			}
			c := in.dial()
			b := binary.BigEndian.AppendUint16([]byte{0, 0, 0, 12}, uint16(api.Key))
			c.write(append(binary.BigEndian.AppendUint16(b, uint16(version)), 0, 0, 0, 1, 0xff, 0xff, 0, 0))
			c.closed()
		}
	}
}

// W08: requests that come a byte at a time are answered, and nobody waits for those who send them. What is announced and
// does not come takes no memory.
func TestDribble(t *testing.T) {
	in := start(t, t.TempDir())
	other := in.dial()
	other.create("t", 1)
	var slow []*client
	for range 50 {
		c := in.dial()
		c.write([]byte{0x06, 0x3f, 0xff, 0xff, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0}) // a Produce of 100 MiB, of which this is all
		slow = append(slow, c)
	}
	dribbling := in.dial()
	frame := formatter.AppendRequest(nil, produceRequest(9, -1, "t", 0, batch("drop by drop")), 1)
	for i := range frame {
		dribbling.write(frame[i : i+1])
		if i%10 == 0 {
			require.Zero(t, other.produce(1, "t", 0, batch("whole")).ErrorCode)
		}
	}
	require.NotEmpty(t, dribbling.frame())
	require.LessOrEqual(t, in.server.HeldBytes(), int64(51*64<<10), "W01: 64 KiB each, until more arrives")
	for _, c := range slow {
		require.NoError(t, c.conn.Close())
	}
	eventually(t, "memory is back", func() bool { return in.server.HeldBytes() == 0 })
}

// W09: ten thousand requests that are sent ahead are answered in order, correlation ids and all.
func TestLongPipeline(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	const n = 10_000
	var sender sync.WaitGroup
	sender.Go(func() {
		var frames []byte
		for i := range int32(n) {
			frames = append(frames, formatter.AppendRequest(nil, kmsg.NewPtrListGroupsRequest(), i-n/2)...)
		}
		_, _ = c.conn.Write(frames)
	})
	for i := range int32(n) {
		require.Equal(t, i-n/2, int32(binary.BigEndian.Uint32(c.frame())))
	}
	sender.Wait()
}

// W10: tags that nobody knows are passed over, in the header and in the body, whatever their size.
func TestUnknownTags(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	for _, size := range []int{0, 10, 100_000} {
		req := metadata(12)
		for i := range 3 {
			req.UnknownTags.Set(uint32(50+i), make([]byte, size))
		}
		require.NotEmpty(t, ask[*kmsg.MetadataResponse](c, req).Brokers)
	}
}

// W11: names at their limits, and names that are no text.
func TestNamesAtTheirLimits(t *testing.T) {
	in := start(t, t.TempDir())
	c := in.dial()
	for name, want := range map[string]kafka.ErrorCode{
		strings.Repeat("n", 249): 0, strings.Repeat("n", 250): kafka.ErrInvalidTopic, strings.Repeat("n", 32767): kafka.ErrInvalidTopic,
		"\xff\xfe": kafka.ErrInvalidTopic, "a\xc3": kafka.ErrInvalidTopic, "\x00": kafka.ErrInvalidTopic,
	} {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.ValidateOnly = 4, true
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 1, 1
		req.Topics = append(req.Topics, rt)
		require.Equal(t, want, kafka.ErrorCode(ask[*kmsg.CreateTopicsResponse](c, req).Topics[0].ErrorCode), "%.20q", name)
		require.NotZero(t, ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(1, ofTopic, name)).Resources[0].ErrorCode)
		more := kmsg.NewPtrCreatePartitionsRequest()
		mt := kmsg.NewCreatePartitionsRequestTopic()
		mt.Topic, mt.Count = name, 2
		more.Topics = append(more.Topics, mt)
		require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, ask[*kmsg.CreatePartitionsResponse](c, more).Topics[0].ErrorCode)
		require.EqualValues(t, kafka.ErrUnknownTopicOrPartition, ask[*kmsg.DeleteRecordsResponse](c, deleteRecords(0, name, 0, 0)).Topics[0].Partitions[0].ErrorCode)
	}
}
