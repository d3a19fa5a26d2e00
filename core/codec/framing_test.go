package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/core/record"
)

// TestXXH32 has the vectors of the reference implementation.
func TestXXH32(t *testing.T) {
	for in, want := range map[string]uint32{
		"": 0x02cc5d05, "a": 0x550d7456, "abc": 0x32d153ff, "Nobody inspects the spammish repetition": 0xe2293b2f,
	} {
		assert.Equal(t, want, xxh32([]byte(in)), in)
	}
}

// lz4Frame is a frame as the library's own writer makes it.
func lz4Frame(t *testing.T, content []byte, options ...lz4.Option) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	require.NoError(t, w.Apply(options...))
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestLZ4Frames reads every form of frame that Kafka reads.
func TestLZ4Frames(t *testing.T) {
	content := text(700_000)
	for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
		for _, block := range []bool{false, true} {
			for _, sum := range []bool{false, true} {
				for _, length := range []uint64{0, uint64(len(content))} {
					frame := lz4Frame(t, content, lz4.BlockSizeOption(size), lz4.BlockChecksumOption(block), lz4.ChecksumOption(sum), lz4.SizeOption(length))
					got, err := Decompress(record.LZ4, frame, noLimit)
					require.NoError(t, err)
					require.True(t, bytes.Equal(content, got))
				}
			}
		}
	}
	var got bytes.Buffer
	_, err := got.ReadFrom(lz4.NewReader(bytes.NewReader(compress(t, record.LZ4, 9, content))))
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got.Bytes()))
}

func TestLZ4Refused(t *testing.T) {
	good := lz4Frame(t, text(1000), lz4.BlockSizeOption(lz4.Block64Kb), lz4.BlockChecksumOption(true))
	sealed := func(flags, size byte) []byte { // a header that fits
		b := bytes.Clone(good)
		b[4], b[5] = flags, size
		b[6] = byte(xxh32(b[4:6]) >> 8)
		return b
	}
	edited := func(at int, to ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], to)
		return b
	}
	broken := edited(6, byte(xxh32(good[:6])>>8)) // as Kafka wrote it before batches of magic 2: over the magic too
	for _, c := range []struct {
		name, want string
		payload    []byte
	}{
		{"nothing", "unexpected EOF", nil},
		{"half a header", "unexpected EOF", good[:6]},
		{"another magic", "magic 184d2205", edited(0, 5)},
		{"legacy", "magic 184c2102", lz4Frame(t, text(1000), lz4.LegacyOption(true))},
		{"a checksum over the magic", "header checksum ", broken},
		{"a dictionary", "frame flags 75", sealed(0x75, 0x40)},
		{"version 2", "frame flags b4", sealed(0xb4, 0x40)},
		{"dependent blocks", "which Kafka does not read", sealed(0x54, 0x40)},
		{"blocks of 3", "block size flags 30", sealed(0x74, 0x30)},
		{"reserved bits", "block size flags 41", sealed(0x74, 0x41)},
		{"content size cut off", "unexpected EOF", sealed(0x7c, 0x40)[:13]},
		{"a block too large", "block of 65537 bytes in a frame of blocks up to 65536", edited(7, 1, 0, 1, 0)},
		{"a block beyond the end", "unexpected EOF", edited(7, 0, 0x80, 0, 0)},
		{"a wrong block", "block checksum ", edited(20, ^good[20])},
		{"no end mark", "unexpected EOF", good[:len(good)-8]},
		{"no content checksum", "unexpected EOF", good[:len(good)-1]},
		{"a second frame", "bytes after the frame", append(bytes.Clone(good), good...)},
	} {
		_, err := Decompress(record.LZ4, c.payload, noLimit)
		assert.ErrorContains(t, err, "codec: lz4: ", c.name)
		assert.ErrorContains(t, err, c.want, c.name)
	}
}

// TestLZ4BlockOverItsFrame: a block may not decompress to more than the frame said.
func TestLZ4BlockOverItsFrame(t *testing.T) {
	frame := lz4Frame(t, make([]byte, 200_000), lz4.BlockSizeOption(lz4.Block256Kb))
	frame[5] = 0x40 // 64 KiB
	frame[6] = byte(xxh32(frame[4:6]) >> 8)
	_, err := Decompress(record.LZ4, frame, noLimit)
	require.Error(t, err)
}

// framed puts raw blocks into xerial's framing.
func framed(blocks ...[]byte) []byte {
	b := []byte(xerial)
	for _, block := range blocks {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(block))), block...)
	}
	return b
}

func TestSnappyFramings(t *testing.T) {
	raw := func(s string) []byte { return s2.EncodeSnappy(nil, []byte(s)) }
	long := strings.Repeat("long ", 50_000)
	for _, c := range []struct {
		name, want string
		payload    []byte
	}{
		{"raw", "hello", raw("hello")},
		{"raw and long", long, raw(long)},
		{"empty raw", "", raw("")},
		{"no chunks", "", framed()},
		{"two chunks", "hello, world", framed(raw("hello, "), raw("world"))},
		{"chunks of nothing", "hello", framed(raw(""), raw("hello"), raw(""))},
		{"a chunk over 32 KiB", long, framed(raw(long))},
		{"of a later version that version 1 reads", "hello", append([]byte("\x82SNAPPY\x00\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x07"), raw("hello")...)},
	} {
		got, err := Decompress(record.Snappy, c.payload, noLimit)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, string(got), c.name)
	}
}

func TestSnappyRefused(t *testing.T) {
	block := s2.EncodeSnappy(nil, []byte("hello"))
	for _, c := range []struct {
		name, want string
		payload    []byte
	}{
		{"a head cut short", "unexpected EOF", []byte(xerial[:12])},
		{"readers of version 2", "framing for readers of version 2", []byte("\x82SNAPPY\x00\x00\x00\x00\x02\x00\x00\x00\x02")},
		{"half a size", "unexpected EOF", append(framed(block), 0, 0)},
		{"a chunk beyond the end", "chunk of 7 bytes, 6 left", framed(block)[:len(framed(block))-1]},
		{"a chunk of 4 GiB", "chunk of 4294967295 bytes", append(framed(), 0xff, 0xff, 0xff, 0xff)},
		{"no size", "corrupt", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{"a lying size", "more than it can decompress to", binary.AppendUvarint(nil, 1<<32-1)},
		{"a lying size in a chunk", "more than it can decompress to", framed(append(binary.AppendUvarint(nil, 90<<20), block...))},
		{"bytes after the block", "corrupt", append(bytes.Clone(block), 1)},
	} {
		_, err := Decompress(record.Snappy, c.payload, noLimit)
		assert.ErrorContains(t, err, "codec: snappy: ", c.name)
		assert.ErrorContains(t, err, c.want, c.name)
	}
}

// TestSnappyIsNotS2: what s2 adds to snappy is refused wherever it stands, and no snappy block is.
func TestSnappyIsNotS2(t *testing.T) {
	refused := 0
	for _, n := range []int{50, 100, 1000, 5000, 100_000} {
		for _, content := range [][]byte{text(n), bytes.Repeat([]byte("abcdefgh12"), n/10), noise(n)} {
			plain := s2.EncodeSnappyBetter(nil, content)
			got, err := Decompress(record.Snappy, plain, noLimit)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got))
			extended := s2.EncodeBetter(nil, content)
			if _, err := Decompress(record.Snappy, extended, noLimit); err != nil {
				require.True(t, errors.Is(err, errNotSnappy) || errors.Is(err, errLyingLength), err)
				refused++
			}
		}
	}
	require.Greater(t, refused, 3)
}

// TestZstdWindows: a window over windowMax is read for its content, and costs its content.
func TestZstdWindows(t *testing.T) {
	content := text(100_000)
	var frame bytes.Buffer
	w, err := zstd.NewWriter(&frame, zstd.WithWindowSize(zstdWindowMax), zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	require.NoError(t, err)
	_, err = w.Write(content[:50_000])
	require.NoError(t, err)
	require.NoError(t, w.Flush()) // else the frame tells its size and needs no window
	_, err = w.Write(content[50_000:])
	require.NoError(t, err)
	require.NoError(t, w.Close())
	var head zstd.Header
	require.NoError(t, head.Decode(frame.Bytes()))
	require.EqualValues(t, zstdWindowMax, head.WindowSize)
	spent := allocated(func() {
		got, err := Decompress(record.Zstd, frame.Bytes(), 1<<20)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, got))
	})
	require.Less(t, spent, uint64(16<<20))
	_, err = Decompress(record.Zstd, frame.Bytes(), int64(len(content))-1)
	require.ErrorIs(t, err, ErrTooLarge)
}

// TestLyingSizesAllocateLittle: what a payload of some bytes claims to need is not believed.
func TestLyingSizesAllocateLittle(t *testing.T) {
	const max = 100 << 20
	for name, c := range map[string]struct {
		codec   record.Codec
		payload []byte
	}{
		"snappy, 99 MiB":        {record.Snappy, append(binary.AppendUvarint(nil, 99<<20), 0, 'a')},
		"snappy chunk, 99 MiB":  {record.Snappy, framed(append(binary.AppendUvarint(nil, 99<<20), 0, 'a'))},
		"lz4, blocks of 4 MiB":  {record.LZ4, append(lz4Head4MiB(), "\xff\xff\x3f\x00"...)},
		"zstd, window 2 GiB":    {record.Zstd, []byte("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00")},
		"zstd, content 90 MiB":  {record.Zstd, []byte("\x28\xb5\x2f\xfd\xa0\x00\x00\xa0\x05\x01\x00\x00")},
		"zstd, content 4 EiB":   {record.Zstd, []byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x40\x01\x00\x00")},
		"zstd, skippable 4 GiB": {record.Zstd, []byte("\x50\x2a\x4d\x18\xff\xff\xff\xff")},
	} {
		spent := allocated(func() {
			_, err := Decompress(c.codec, c.payload, max)
			require.Error(t, err, name)
		})
		t.Logf("%s: %d KiB", name, spent>>10)
		if c.codec == record.Zstd {
			require.Less(t, spent, uint64(max+max/10), name) // one of them at a time, see big
		} else {
			require.Less(t, spent, uint64(5<<20), name)
		}
	}
}

func lz4Head4MiB() []byte {
	b := []byte(lz4Head)
	b[5] = 0x70
	b[6] = byte(xxh32(b[4:6]) >> 8)
	return b
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
