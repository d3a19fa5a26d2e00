package seglog

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

// BenchmarkAppend is one batch of 64 records of 1 KiB, and the raw pwrite of the same bytes beside it. Target: no
// allocation, at most 10% over pwrite.
func BenchmarkAppend(b *testing.B) {
	for _, records := range []int{1, 64, 1024} {
		raw := batch(records, 1000, 1000)
		b.Run(fmt.Sprintf("log/%drecords", records), func(b *testing.B) {
			l := open(b, filepath.Join(b.TempDir(), "t-0"), testConfig(large()), Start{})
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Append(raw, 0, now(1000)); err != nil {
					b.Fatal(err)
				}
				if l.Size() > 900<<20 {
					b.StopTimer()
					require.NoError(b, l.TruncateFully(0))
					b.StartTimer()
				}
			}
			l.abandon()
		})
		b.Run(fmt.Sprintf("pwrite/%drecords", records), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "f"))
			require.NoError(b, err)
			defer f.Close()
			b.SetBytes(int64(len(raw)))
			pos := int64(0)
			for b.Loop() {
				if _, err := f.WriteAt(raw, pos); err != nil {
					b.Fatal(err)
				}
				if pos += int64(len(raw)); pos > 900<<20 {
					b.StopTimer()
					pos = 0
					require.NoError(b, f.Truncate(0))
					b.StartTimer()
				}
			}
		})
	}
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
