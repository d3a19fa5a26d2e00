package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"trialog/core/record"
)

const noLimit = 1 << 40

var codecs = []record.Codec{record.Gzip, record.Snappy, record.LZ4, record.Zstd}

// levels of a codec that make a difference here.
func levels(c record.Codec) []int {
	switch c {
	case record.Gzip:
		return []int{-1, 1, 5, 9}
	case record.LZ4:
		return []int{1, 9, 12, 17}
	case record.Zstd:
		return []int{-131072, 1, 3, 8, 22}
	}
	return []int{0}
}

func compress(t require.TestingT, c record.Codec, level int, content []byte) []byte {
	w := Create(c, level, nil, 1<<30)
	_, err := w.Write(content)
	require.NoError(t, err)
	out, err := w.Finish()
	require.NoError(t, err)
	return out
}

// text is bytes that compress about as records do; noise is bytes that do not.
func text(n int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, 0, n+32)
	for len(b) < n {
		b = fmt.Appendf(b, `{"user":%d,"action":"view"}`, rng.IntN(1000))
	}
	return b[:n]
}

func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestSizes meets every boundary of blocks and chunks, compressible and not.
func TestSizes(t *testing.T) {
	for _, c := range codecs {
		for _, n := range []int{0, 1, 15, 16, 17, 61, 4 << 10, xerialChunk - 1, xerialChunk, xerialChunk + 1, lz4ChunkSize - 1,
			lz4ChunkSize, lz4ChunkSize + 1, 1 << 20, 1<<20 + 7} {
			for _, content := range [][]byte{text(n), noise(n), make([]byte, n)} {
				got, err := Decompress(c, compress(t, c, DefaultLevel(c), content), int64(n))
				require.NoError(t, err, "%s of %d bytes", c, n)
				require.True(t, bytes.Equal(content, got), "%s of %d bytes", c, n)
			}
		}
	}
}

// TestRoundTrip writes in pieces, at any level, behind bytes that stay.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(codecs).Draw(t, "codec")
		level := rapid.SampledFrom(levels(c)).Draw(t, "level")
		pieces := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange('a', 'e'), 0, 3000), 0, 40).Draw(t, "pieces")
		w := Create(c, level, []byte("before"), 1<<30)
		var want []byte
		for _, p := range pieces {
			n, err := w.Write(p)
			require.NoError(t, err)
			require.Equal(t, len(p), n)
			want = append(want, p...)
		}
		out, err := w.Finish()
		require.NoError(t, err)
		require.Equal(t, "before", string(out[:6]))
		s := Open(c, out[6:], noLimit)
		defer s.Close()
		var got []byte
		buf := make([]byte, rapid.IntRange(1, 5000).Draw(t, "reads"))
		for {
			n, err := s.Read(buf)
			if got = append(got, buf[:n]...); err != nil {
				require.Equal(t, io.EOF, err)
				break
			}
		}
		require.True(t, bytes.Equal(want, got))
	})
}

// TestAgainstKgo: franz-go reads what we write, and we read what it writes.
func TestAgainstKgo(t *testing.T) {
	theirs := map[record.Codec]kgo.CompressionCodec{
		record.Gzip: kgo.GzipCompression(), record.Snappy: kgo.SnappyCompression(), record.LZ4: kgo.Lz4Compression(),
		record.Zstd: kgo.ZstdCompression(),
	}
	inflate := kgo.DefaultDecompressor()
	for _, c := range codecs {
		deflate, err := kgo.DefaultCompressor(theirs[c])
		require.NoError(t, err)
		for _, content := range [][]byte{text(1), text(1000), text(100_000), noise(100_000), make([]byte, 9<<20)} {
			n := len(content)
			for _, level := range levels(c) {
				got, err := inflate.Decompress(compress(t, c, level, content), kgo.CompressionCodecType(c))
				require.NoError(t, err, "%s level %d of %d bytes", c, level, n)
				require.True(t, bytes.Equal(content, got), "%s level %d of %d bytes", c, level, n)
				if n > windowMax {
					break // once is enough of what is slow
				}
			}
			var dst bytes.Buffer
			out, used := deflate.Compress(&dst, content)
			require.EqualValues(t, c, used)
			got, err := Decompress(c, out, noLimit)
			require.NoError(t, err, "%s of %d bytes", c, n)
			require.True(t, bytes.Equal(content, got), "%s of %d bytes", c, n)
		}
	}
}

// TestCap: exactly the bound passes, one byte more does not, and nothing beyond it is delivered.
func TestCap(t *testing.T) {
	for _, c := range append(codecs, record.Uncompressed) {
		for _, n := range []int{1, 5000, 100_000, 10 << 20} {
			payload := compress(t, c, DefaultLevel(c), make([]byte, n))
			got, err := Decompress(c, payload, int64(n))
			require.NoError(t, err, c)
			require.Len(t, got, n)
			for _, max := range []int{0, 1, n / 2, n - 1} {
				if max >= n {
					continue
				}
				_, err = Decompress(c, payload, int64(max))
				require.ErrorIs(t, err, ErrTooLarge, "%s of %d within %d", c, n, max)
				require.EqualError(t, err, fmt.Sprintf("codec: too large uncompressed: over %d bytes of %s", max, c))
			}
		}
	}
}

// TestMemoryOfDecompress: what does not compress takes no more memory than its bound.
func TestMemoryOfDecompress(t *testing.T) {
	for _, c := range codecs {
		got, err := Decompress(c, compress(t, c, DefaultLevel(c), noise(100_000)), 100_000)
		require.NoError(t, err)
		require.Equal(t, 100_001, cap(got), c) // the one more shows that there are no more
	}
}

// TestWriterCap: what does not fit is an error, however it is written, and the writer serves again.
func TestWriterCap(t *testing.T) {
	for _, c := range append(codecs, record.Uncompressed) {
		content := noise(300_000)
		size := len(compress(t, c, DefaultLevel(c), content))
		require.LessOrEqual(t, size, len(content)+1000, c)
		for _, max := range []int{10, 100_000, size - 1} {
			w := Create(c, DefaultLevel(c), make([]byte, 3, 10), max)
			_, _ = w.Write(content)
			_, err := w.Finish()
			require.ErrorIs(t, err, ErrTooLarge, "%s within %d", c, max)
		}
		w := Create(c, DefaultLevel(c), nil, size)
		_, err := w.Write(content)
		require.NoError(t, err)
		out, err := w.Finish()
		require.NoError(t, err)
		require.Len(t, out, size)
	}
}

// TestOutputDependsOnInputOnly: what a pooled writer did before does not show.
func TestOutputDependsOnInputOnly(t *testing.T) {
	for _, c := range codecs {
		for _, level := range levels(c) {
			content := text(150_000)
			first := compress(t, c, level, content)
			for i := range 4 {
				compress(t, c, level, noise(30_000*i))
				compress(t, c, level, content[:20_000*i])
				require.True(t, bytes.Equal(first, compress(t, c, level, content)), "%s level %d", c, level)
			}
		}
	}
}

// TestDamage changes, cuts and extends streams: an error or other bytes, never a panic, never more than the bound.
func TestDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(codecs).Draw(t, "codec")
		n := rapid.SampledFrom([]int{10, 5000, 70_000}).Draw(t, "size")
		payload := compress(t, c, DefaultLevel(c), text(n))
		for range rapid.IntRange(0, 4).Draw(t, "edits") {
			payload[rapid.IntRange(0, len(payload)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		payload = payload[:rapid.IntRange(0, len(payload)).Draw(t, "cut")]
		payload = append(payload, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "more")...)
		content, err := Decompress(c, payload, int64(n))
		if err == nil {
			require.LessOrEqual(t, len(content), n)
		}
	})
}

// TestStreamsAreIndependent: a stream that is closed in the middle leaves nothing to the next one.
func TestStreamsAreIndependent(t *testing.T) {
	for _, c := range codecs {
		a, b := compress(t, c, DefaultLevel(c), text(100_000)), compress(t, c, DefaultLevel(c), noise(100_000))
		for range 3 {
			s := Open(c, a, noLimit)
			_, err := s.Read(make([]byte, 1000))
			require.NoError(t, err)
			s.Close()
			got, err := Decompress(c, b, noLimit)
			require.NoError(t, err)
			require.True(t, bytes.Equal(noise(100_000), got))
			_, err = Decompress(c, []byte("no stream at all, of any codec, whatever"), noLimit)
			require.Error(t, err)
		}
	}
}

// TestManyStreams has far more streams than slots, large ones among them: all end, and none sees another's bytes.
func TestManyStreams(t *testing.T) {
	large := make([]byte, windowMax+1)
	copy(large, text(100_000))
	raw := s2.EncodeSnappy(nil, large) // cannot be read in pieces
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			c := codecs[i%len(codecs)]
			content := text(1000 * i)
			payload := compress(t, c, DefaultLevel(c), content)
			if i%8 == 1 {
				content, payload = large, raw
			}
			got, err := Decompress(c, payload, noLimit)
			assert.NoError(t, err)
			assert.True(t, bytes.Equal(content, got), "%s %d", c, i)
		})
	}
	all.Wait()
	assert.Empty(t, slots())
	assert.Empty(t, big)
}

func TestNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, c := range codecs {
		_, err := Decompress(c, compress(t, c, DefaultLevel(c), text(3<<20)), noLimit)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestLevels(t *testing.T) {
	assert.Equal(t, []int{-1, 0, 9, 3}, []int{DefaultLevel(record.Gzip), DefaultLevel(record.Snappy), DefaultLevel(record.LZ4), DefaultLevel(record.Zstd)})
	smaller := func(c record.Codec, low, high int) {
		content := text(300_000)
		assert.Less(t, len(compress(t, c, high, content)), len(compress(t, c, low, content)), c)
	}
	smaller(record.Gzip, 1, 9)
	smaller(record.LZ4, 9, 17) // 9 is lz4-java's fast compressor
	if !zstdStores {
		smaller(record.Zstd, 1, 22)
	}
}

// TestErrTooLargeIsNotDamage: the two have different answers.
func TestErrTooLargeIsNotDamage(t *testing.T) {
	for _, c := range codecs {
		_, err := Decompress(c, []byte("\xff\x00\x01"), 10)
		require.Error(t, err)
		require.False(t, errors.Is(err, ErrTooLarge), "%s: %v", c, err)
		require.Contains(t, err.Error(), "codec: "+c.String()+": ")
	}
}
