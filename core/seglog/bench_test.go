//go:build linux

package seglog

import (
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/record"
)

// Ratios are of processor time, the system's part included, and both sides of one take turns: what others do on the machine
// concerns them alike.

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// race runs two things in turns and returns how much of the speed of the bare one the other has.
func race(b *testing.B, rounds int, bare, ours func()) float64 {
	var used [2]time.Duration
	for i := range rounds {
		for j, do := range []func(){bare, ours} {
			began := processorTime(b)
			do()
			if i > 0 { // once for the caches
				used[j] += processorTime(b) - began
			}
		}
	}
	return float64(used[0]) / float64(used[1])
}

// BenchmarkAppend is ready batches of 64 KiB, checked and appended to a log, beside the bare CRC and pwrite of the same bytes
// to a growing file.
func BenchmarkAppend(b *testing.B) {
	const times = 1000 // 64 MiB
	raw := batch(64, 1000, 1000)
	var allocs float64
	ratio := 0.0
	for b.Loop() {
		l := open(b, filepath.Join(b.TempDir(), "t-0"), testConfig(large()), Start{})
		path := filepath.Join(b.TempDir(), "f")
		table := crc32.MakeTable(crc32.Castagnoli)
		f, err := os.Create(path)
		require.NoError(b, err)
		ratio = race(b, 5, func() {
			require.NoError(b, f.Truncate(0))
			for i := range times {
				if crc32.Checksum(raw[crcFrom:], table) == 0 {
					b.Fatal("the CRC is 0")
				}
				if _, err := f.WriteAt(raw, int64(i*len(raw))); err != nil {
					b.Fatal(err)
				}
			}
		}, func() {
			require.NoError(b, l.TruncateFully(0))
			for range times {
				_, err := record.Validate(raw)
				if err == nil {
					_, err = l.Append(raw, 0, now(1000))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		allocs = testing.AllocsPerRun(200, func() { _, _ = l.Append(raw, 0, now(1000)) })
		l.abandon()
		f.Close()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*ratio, "%-of-crc+pwrite(target>=80)")
	b.ReportMetric(allocs, "allocs/append(target=0)")
}

// BenchmarkGroupCommit is 64 appenders that each wait for their fsync, which takes 1 ms more than it does.
func BenchmarkGroupCommit(b *testing.B) {
	fsync = func(f *os.File) error {
		time.Sleep(time.Millisecond)
		return f.Sync()
	}
	defer func() { fsync = (*os.File).Sync }()
	run := func(appenders, each int) (perSecond, perFsync float64) {
		l := open(b, filepath.Join(b.TempDir(), "t-0"), testConfig(large()), Start{})
		defer l.abandon()
		passes := l.flush.passes
		var wg sync.WaitGroup
		began := time.Now()
		for range appenders {
			wg.Go(func() {
				for range each {
					a, err := l.Append(batch(1, 100, 5), 0, now(5))
					if err == nil {
						err = l.Flush(a.Next)
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		n := float64(appenders * each)
		return n / time.Since(began).Seconds(), n / float64(l.flush.passes-passes)
	}
	var alone, together, perFsync float64
	for b.Loop() {
		alone, _ = run(1, 50)
		together, perFsync = run(64, 50)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(perFsync, "appends/fsync(target>=16)")
	b.ReportMetric(together/alone, "x-one-appender(target>=10)")
}

// BenchmarkSequentialRead is a log of batches of 64 KiB, read in pieces of up to 1 MiB by sendfile into a connection, beside a
// bare loop of sendfile over the same pieces of the same file.
func BenchmarkSequentialRead(b *testing.B) {
	const piece = 1 << 20
	raw := batch(64, 1000, 1000)
	l := open(b, filepath.Join(b.TempDir(), "t-0"), testConfig(large()), Start{})
	for l.Size() < 64*piece {
		mustAppend(b, l, raw, 0)
	}
	defer l.abandon()
	to, done := drain(b)
	defer done()
	send := func(f *os.File, pos int64, n int) (int, error) {
		sent := 0
		var err error
		rc, _ := to.SyscallConn()
		werr := rc.Write(func(fd uintptr) bool {
			at := pos + int64(sent)
			var k int
			k, err = syscall.Sendfile(int(fd), int(f.Fd()), &at, n-sent)
			if err == syscall.EAGAIN {
				err = nil
				return false
			}
			sent += max(k, 0)
			return err != nil || sent == n
		})
		if err == nil {
			err = werr
		}
		return sent, err
	}
	file, err := os.Open(l.active().path(".log"))
	require.NoError(b, err)
	defer file.Close()
	size, whole := l.Size(), int64(piece/len(raw)*len(raw))
	ratio := 0.0
	for b.Loop() {
		ratio = race(b, 11, func() {
			for pos := int64(0); pos < size; pos += whole {
				if _, err := send(file, pos, int(min(whole, size-pos))); err != nil {
					b.Fatal(err)
				}
			}
		}, func() {
			for offset := l.StartOffset(); offset < l.EndOffset(); {
				s, err := l.Read(offset, piece, l.EndOffset(), true)
				if err == nil {
					whole := s.Len() / len(raw) // a client asks for what is left of the last one again
					_, err = s.Send(0, func(f *os.File, pos int64, n int) (int, error) { return send(f, pos, whole*len(raw)) })
					offset += kafka.Offset(whole * 64)
					s.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*ratio, "%-of-sendfile(target>=95)")
}

// drain is a connection whose other end reads and forgets.
func drain(b *testing.B) (*net.TCPConn, func()) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c, err := ln.Accept(); err == nil {
			_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 1<<20))
		}
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(b, err)
	return c.(*net.TCPConn), func() { c.Close(); ln.Close(); <-ended }
}

// BenchmarkOpenDirectory is the opening of 1,000 partitions after a clean stop.
func BenchmarkOpenDirectory(b *testing.B) {
	const partitions = 1000
	root := b.TempDir()
	d, err := OpenDir(root, dirConfig())
	require.NoError(b, err)
	each := func(d *Dir, fn func(l *Log)) {
		for p := range kafka.PartitionID(partitions) {
			l, err := d.OpenLog(kafka.TopicPartition{Topic: "t", Partition: p}, kafka.TopicID{1}, large())
			require.NoError(b, err)
			fn(l)
		}
	}
	each(d, func(l *Log) { fill(b, l, 200) })
	var took, used time.Duration
	for b.Loop() {
		b.StopTimer()
		require.NoError(b, d.Close(1))
		b.StartTimer()
		began, usedBefore := time.Now(), processorTime(b)
		d, err = OpenDir(root, dirConfig())
		require.NoError(b, err)
		require.True(b, d.Clean())
		each(d, func(*Log) {})
		took, used = time.Since(began), processorTime(b)-usedBefore
	}
	require.NoError(b, d.Close(1))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took.Seconds(), "s-for-1000-partitions(target<1)")
	b.ReportMetric(used.Seconds(), "s-of-a-core")
}

// BenchmarkRecovery is the recovery of 256 MiB behind the recovery point, from the page cache, in batches of 64 KiB and of 1
// KiB.
func BenchmarkRecovery(b *testing.B) {
	for _, records := range []int{64, 1} {
		b.Run(fmt.Sprintf("%dKiB", records), func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "t-0")
			l := open(b, dir, testConfig(large()), Start{})
			raw := batch(records, 1000, 1000)
			for l.Size() < 256<<20 {
				mustAppend(b, l, raw, 0)
			}
			require.NoError(b, l.Flush(l.EndOffset()))
			l.abandon()
			var read int64
			began := processorTime(b)
			for b.Loop() {
				l := open(b, dir, testConfig(large()), Start{})
				read += l.read
				l.abandon()
			}
			b.SetBytes(read / int64(b.N))
			b.ReportMetric(float64(read)/1e9/(processorTime(b)-began).Seconds(), "GB/s-of-a-core(target>=1)")
		})
	}
}

// BenchmarkSegments is what 10,000 open segments hold in memory after each was read from: measured without samples, and with
// those that segments of 1 GiB with an entry for every 4 KiB would have.
func BenchmarkSegments(b *testing.B) {
	var per, opened int
	for b.Loop() {
		per, opened = heapOfSegments(b, b.TempDir(), 10_001, 2)
	}
	const sample = 2 * (1 << 30 / 4096 / 512)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(per), "B/segment(target<=4096)")
	b.ReportMetric(float64(opened*(per+sample/2*(8+16)))/(1<<20), "MiB-with-samples(target<=200)")
}

// BenchmarkRead finds and reads 1 MiB somewhere in a log of batches of 10 records, and the tail of it. Target: no
// allocation.
func BenchmarkRead(b *testing.B) {
	l := open(b, filepath.Join(b.TempDir(), "t-0"), testConfig(large()), Start{})
	for range 20_000 {
		mustAppend(b, l, batch(10, 100, 1000), 0)
	}
	end := l.EndOffset()
	buf := make([]byte, 1<<20)
	for name, back := range map[string]kafka.Offset{"1MiB": 0, "tail": 10} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			offset := kafka.Offset(0)
			for b.Loop() {
				at := end - back
				if back == 0 {
					offset = (offset + 70_001) % (end - 20_000)
					at = offset
				}
				s, err := l.Read(at, len(buf), end, true)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.ReadAt(buf[:s.Len()], 0); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(s.Len()))
				s.Close()
			}
		})
	}
	l.abandon()
}

// TestNoAllocation: neither an append nor a read allocates, whatever the number of records.
func TestNoAllocation(t *testing.T) {
	l := open(t, newDir(t), testConfig(large()), Start{})
	for _, records := range []int{1, 1000} {
		raw := batch(records, 10, 1000)
		appends := testing.AllocsPerRun(50, func() {
			if _, err := l.Append(raw, 0, now(1000)); err != nil {
				panic(err)
			}
		})
		require.LessOrEqual(t, appends, 0.5, "index columns grow now and then")
		buf := make([]byte, len(raw))
		reads := testing.AllocsPerRun(50, func() {
			s, err := l.Read(l.EndOffset()-1, len(buf), l.EndOffset(), true)
			if err != nil {
				panic(err)
			}
			if _, err := s.ReadAt(buf[:s.Len()], 0); err != nil {
				panic(err)
			}
			s.Close()
		})
		require.Zero(t, reads)
	}
	require.NoError(t, l.Close())
}
