//go:build linux

package broker

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"trialog/core/config"
	"trialog/core/record"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

// The benchmarks drive a server in a process of its own, so that its CPU time
// (getrusage of that process alone) and its allocations are not mixed with those
// of the client. Each runs the broker and, beside it, the least that any server
// could do with the same bytes:
//
//	produce  recv into a buffer, pwrite, answer: to 16 files as the broker must
//	         ("raw"), and all to one file ("raw-one-file")
//	fetch    recv a request, sendfile from a file, with the broker's send buffer
//
// cpu-s/GiB is user plus system time of the server; "ratio" is the broker's value
// over the raw loop's, of the same run.

const (
	childEnv   = "TRIALOG_BENCH_SERVER" // broker, sink, sink1, source
	benchParts = 16
	batchBytes = 64 << 10
	fetchBytes = 8 << 20
	inFlight   = 5
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(childEnv); kind != "" {
		if err := serveChild(kind, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveChild is the server process: it prints its address, then its use of CPU
// (ns) and its allocations for every line on stdin, and ends with stdin.
func serveChild(kind, dir string) error {
	addr, stop, err := startChild(kind, dir)
	if err != nil {
		return err
	}
	fmt.Println(addr)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var use syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
			return err
		}
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		fmt.Println(use.Utime.Nano()+use.Stime.Nano(), mem.Mallocs)
	}
	return stop()
}

func startChild(kind, dir string) (addr string, stop func() error, err error) {
	if kind == "broker" {
		cfg, err := config.LoadBroker(nil, []string{"node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir})
		if err != nil {
			return "", nil, err
		}
		b, err := New(cfg, Options{})
		if err != nil {
			return "", nil, err
		}
		if err := b.Start(); err != nil {
			return "", nil, err
		}
		return b.Addr().String(), func() error { return b.Stop(context.Background()) }, nil
	}
	var files []*os.File
	for i := range map[string]int{"sink": benchParts, "sink1": 1, "source": 1}[kind] {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint("raw", i)), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return "", nil, err
		}
		files = append(files, f)
	}
	serveRaw := func(c net.Conn) { rawSink(c, files) }
	if kind == "source" {
		serveRaw = func(c net.Conn) { rawSource(c, files[0]) }
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveRaw(c)
		}
	}()
	return l.Addr().String(), l.Close, nil
}

// rawSink receives frames and writes an equal part of each to every file.
func rawSink(c net.Conn, files []*os.File) {
	defer c.Close()
	buf := make([]byte, 2<<20)
	var at int64
	for {
		if _, err := io.ReadFull(c, buf[:4]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint32(buf))
		if _, err := io.ReadFull(c, buf[:n]); err != nil {
			return
		}
		part := n / len(files)
		for i, f := range files {
			if _, err := f.WriteAt(buf[i*part:(i+1)*part], at); err != nil {
				return
			}
		}
		at += int64(part)
		if _, err := c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0}); err != nil {
			return
		}
	}
}

// rawSource answers every frame with fetchBytes of the file by sendfile.
func rawSource(c net.Conn, f *os.File) {
	defer c.Close()
	if err := c.(*net.TCPConn).SetWriteBuffer(102400); err != nil {
		return
	}
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	head := make([]byte, 4<<10)
	for {
		if _, err := io.ReadFull(c, head[:4]); err != nil {
			return
		}
		if _, err := io.ReadFull(c, head[:binary.BigEndian.Uint32(head)]); err != nil {
			return
		}
		if _, err := c.Write(binary.BigEndian.AppendUint32(nil, fetchBytes)); err != nil {
			return
		}
		var off int64
		_ = raw.Write(func(fd uintptr) bool {
			for off < fetchBytes {
				n, err := unix.Sendfile(int(fd), int(f.Fd()), &off, fetchBytes-int(off))
				if n <= 0 || err != nil {
					return err != unix.EAGAIN
				}
			}
			return true
		})
	}
}

// child is a server process under measurement.
type child struct {
	b    *testing.B
	addr string
	in   io.WriteCloser
	out  *bufio.Reader
}

func startServer(b *testing.B, kind, dir string) *child {
	b.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), childEnv+"="+kind)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	c := &child{b: b, in: in, out: bufio.NewReader(out)}
	line, err := c.out.ReadString('\n')
	require.NoError(b, err)
	c.addr = strings.TrimSpace(line)
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return c
}

// use is the server's CPU time in ns and its allocations so far.
func (c *child) use() (cpu, mallocs int64) {
	c.b.Helper()
	_, err := fmt.Fprintln(c.in)
	require.NoError(c.b, err)
	_, err = fmt.Fscanln(c.out, &cpu, &mallocs)
	require.NoError(c.b, err)
	return cpu, mallocs
}

func (c *child) dial() net.Conn {
	c.b.Helper()
	conn, err := net.Dial("tcp", c.addr)
	require.NoError(c.b, err)
	return conn
}

// exchange sends the frames in turn, inFlight at a time, and reads as many
// responses, without looking into them.
func exchange(b *testing.B, conn net.Conn, frames func(i int) []byte, n int) (received int64) {
	b.Helper()
	tokens := make(chan struct{}, inFlight)
	go func() {
		for i := range n {
			tokens <- struct{}{}
			if _, err := conn.Write(frames(i)); err != nil {
				return
			}
		}
	}()
	sink := make([]byte, 1<<20)
	for range n {
		_, err := io.ReadFull(conn, sink[:4])
		require.NoError(b, err)
		left := int(binary.BigEndian.Uint32(sink))
		received += int64(left)
		for left > 0 {
			got, err := conn.Read(sink[:min(left, len(sink))])
			require.NoError(b, err)
			left -= got
		}
		<-tokens
	}
	return received
}

// measured is one server's result.
type measured struct{ mbPerSec, cpuPerGiB, allocs float64 }

// measure runs n requests against a server and reports what they cost it.
func measure(b *testing.B, c *child, frames func(i int) []byte, n int, bytes int64) measured {
	b.Helper()
	conn := c.dial()
	defer conn.Close()
	exchange(b, conn, frames, min(n, 2*inFlight)) // warm pools and page tables
	cpu0, allocs0 := c.use()
	b.ResetTimer()
	b.StartTimer()
	received := exchange(b, conn, frames, n)
	b.StopTimer()
	cpu1, allocs1 := c.use()
	if bytes == 0 {
		bytes = received
	}
	return measured{
		mbPerSec:  float64(bytes) / 1e6 / b.Elapsed().Seconds(),
		cpuPerGiB: float64(cpu1-cpu0) / 1e9 / (float64(bytes) / (1 << 30)),
		allocs:    float64(allocs1-allocs0) / float64(n),
	}
}

func (m measured) report(b *testing.B) {
	b.ReportMetric(m.mbPerSec, "MB/s")
	b.ReportMetric(m.cpuPerGiB, "cpu-s/GiB")
	b.ReportMetric(m.allocs, "allocs/req")
	b.ReportMetric(0, "ns/op")
}

// contender is one server of a benchmark.
type contender struct {
	name string
	run  func(b *testing.B) measured
}

// sideBySide runs the broker, which is the first, and raw loops; each raw loop
// reports the broker's ratio to it.
func sideBySide(b *testing.B, contenders ...contender) {
	var broker measured
	for i, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			m := c.run(b)
			m.report(b)
			if i == 0 {
				broker = m
			} else if broker.mbPerSec > 0 {
				b.ReportMetric(broker.mbPerSec/m.mbPerSec, "MB/s-ratio")
				b.ReportMetric(broker.cpuPerGiB/m.cpuPerGiB, "cpu-ratio")
			}
		})
	}
}

// benchRequest is a Produce request of one 64 KiB batch of 1 KiB records for each
// of 16 partitions.
func benchRequest(acks int16) []byte {
	var build record.Builder
	build.Reset(nil)
	value := make([]byte, 1<<10-16)
	for build.SizeWith(nil, value) < batchBytes {
		build.Append(1, nil, value)
	}
	records := build.Finish()
	req := produceRequest(9, acks, "t", 0, records)
	for p := 1; p < benchParts; p++ {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = int32(p), records
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, rp)
	}
	return formatter.AppendRequest(nil, req, 1)
}

func createBenchTopic(b *testing.B, c *child) {
	conn := c.dial()
	defer conn.Close()
	(&client{t: b, conn: conn}).create("t", benchParts)
}

// BenchmarkProduce is one connection that sends 1 MiB requests with acks=1, five
// in flight.
func BenchmarkProduce(b *testing.B) {
	frame := benchRequest(1)
	always := func(int) []byte { return frame }
	run := func(kind string, prepare func(*testing.B, *child)) func(*testing.B) measured {
		return func(b *testing.B) measured {
			c := startServer(b, kind, b.TempDir())
			prepare(b, c)
			return measure(b, c, always, b.N, int64(b.N)*int64(len(frame)))
		}
	}
	nothing := func(*testing.B, *child) {}
	sideBySide(b, contender{"broker", run("broker", createBenchTopic)},
		contender{"raw", run("sink", nothing)}, contender{"raw-one-file", run("sink1", nothing)})
}

// BenchmarkFetchCatchUp is one consumer that reads what lies in the page cache by
// fetches of 8 MiB over 16 partitions.
func BenchmarkFetchCatchUp(b *testing.B) {
	const preload = 64 // requests of 1 MiB, so 4 MiB for each partition
	fetch := fetchRequest("t", 0, 0)
	fetch.MaxBytes = fetchBytes
	fetch.Topics[0].Partitions = nil
	for p := range int32(benchParts) {
		fetch.Topics[0].Partitions = append(fetch.Topics[0].Partitions, fetchPartition(p, 0, fetchBytes/benchParts))
	}
	frame := formatter.AppendRequest(nil, fetch, 1)
	always := func(int) []byte { return frame }
	sideBySide(b, contender{"broker", func(b *testing.B) measured {
		c := startServer(b, "broker", b.TempDir())
		createBenchTopic(b, c)
		load := benchRequest(1)
		conn := c.dial()
		exchange(b, conn, func(int) []byte { return load }, preload)
		_ = conn.Close()
		return measure(b, c, always, b.N, 0)
	}}, contender{"raw", func(b *testing.B) measured {
		dir := b.TempDir()
		require.NoError(b, os.WriteFile(filepath.Join(dir, "raw0"), make([]byte, fetchBytes), 0o600))
		return measure(b, startServer(b, "source", dir), always, b.N, 0)
	}})
}
