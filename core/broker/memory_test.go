//go:build linux

package broker

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trialog/core/kafka"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

// idleBytesMax is what a connection that asked something and is quiet may cost.
const idleBytesMax = 20 << 10

// rawSocket is a client's end that takes no memory of this process: what is counted is the broker's.
func rawSocket(t testing.TB, addr net.Addr, request, response []byte) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Connect(fd, &unix.SockaddrInet4{Port: addr.(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}))
	_, err = unix.Write(fd, request)
	require.NoError(t, err)
	n, err := unix.Read(fd, response)
	require.NoError(t, err)
	require.Positive(t, n)
	return fd
}

func usedBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// idleConnections opens so many connections, each of which asks what a client asks first and then for a topic, and
// returns the bytes that each costs afterwards.
func idleConnections(t testing.TB, in *instance, n int) (bytesEach int64, closeAll func()) {
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.Version, versions.ClientSoftwareName, versions.ClientSoftwareVersion = 3, "idle", "1"
	first := formatter.AppendRequest(nil, versions, 1)
	response := make([]byte, 64<<10)
	before := usedBytes()
	fds := make([]int, n)
	for i := range fds {
		fds[i] = rawSocket(t, in.Addr(), first, response)
	}
	eventually(t, "accepted", func() bool { return in.server.Connections() >= n })
	each := (usedBytes() - before) / int64(n)
	return each, func() {
		for _, fd := range fds {
			require.NoError(t, unix.Close(fd))
		}
		eventually(t, "gone", func() bool { return in.server.Connections() == 0 })
	}
}

// W07: a connection that is quiet costs little, and nothing once it is gone.
func TestIdleConnectionBytes(t *testing.T) {
	in := start(t, t.TempDir())
	goroutines := runtime.NumGoroutine()
	each, closeAll := idleConnections(t, in, 2000)
	t.Logf("%d bytes a connection", each)
	require.Less(t, each, int64(idleBytesMax))
	eventually(t, "memory is back", func() bool { return in.server.HeldBytes() == 0 })
	closeAll()
	eventually(t, "goroutines are back", func() bool { return runtime.NumGoroutine() <= goroutines+5 })
}

// BenchmarkIdleConnections is the same with as many as this process may have descriptors for, 10,000 at most.
func BenchmarkIdleConnections(b *testing.B) {
	var limit unix.Rlimit
	require.NoError(b, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	n := int(min(10_000, (limit.Cur-200)/2))
	for b.Loop() {
		in := start(b, b.TempDir())
		each, closeAll := idleConnections(b, in, n)
		b.ReportMetric(float64(each), "bytes/conn")
		b.ReportMetric(float64(n), "conns")
		closeAll()
		in.end()
	}
}

// W08: 200 connections that all send large frames at once share queued.max.request.bytes, and all are answered.
func TestBusyConnectionsShareMemory(t *testing.T) {
	const memory, connections = 8 << 20, 200
	in := start(t, t.TempDir(), fmt.Sprint("queued.max.request.bytes=", memory))
	in.dial().create("t", 4)
	records := batch(strings.Repeat("x", 300<<10))
	var highest atomic.Int64
	watching := make(chan struct{})
	var watcher, clients sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-watching:
				return
			case <-time.After(time.Millisecond):
				highest.Store(max(highest.Load(), in.server.HeldBytes()))
			}
		}
	})
	var failed atomic.Int32
	for i := range connections {
		conn, err := net.Dial("tcp", in.Addr().String())
		require.NoError(t, err)
		clients.Go(func() {
			defer conn.Close()
			frame := formatter.AppendRequest(nil, produceRequest(9, 1, "t", int32(i%4), records), 1)
			answer := make([]byte, 64)
			_ = conn.SetDeadline(time.Now().Add(3 * safety))
			for range 2 {
				if _, err := conn.Write(frame); err != nil {
					failed.Add(1)
					return
				}
				if _, err := io.ReadAtLeast(conn, answer, 40); err != nil {
					failed.Add(1)
					return
				}
			}
		})
	}
	clients.Wait()
	close(watching)
	watcher.Wait()
	require.Zero(t, failed.Load())
	total := int64(0)
	for p := range int32(4) {
		total += in.dial().listOffset("t", p, kafka.LatestTimestamp).Offset
	}
	require.EqualValues(t, 2*connections, total)
	require.LessOrEqual(t, highest.Load(), int64(memory+memory/8+1<<20), "the budget, what is for small requests, and one frame over it")
	require.Positive(t, highest.Load())
}
