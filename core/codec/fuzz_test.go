package codec

import (
	"bytes"
	"testing"

	fuzz "github.com/google/gofuzz"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"trialog/core/record"
)

// FuzzStream reads any bytes as a stream of each codec: never more than the bound, and what is accepted is what another
// client reads too. `go test -fuzz FuzzStream ./core/codec`; the corpus is in testdata/fuzz.
func FuzzStream(f *testing.F) {
	for _, c := range codecs {
		for _, content := range [][]byte{nil, text(30), text(3000), noise(100), make([]byte, 2000)} {
			f.Add(uint8(c), compress(f, c, DefaultLevel(c), content))
		}
	}
	f.Add(uint8(record.Snappy), framed([]byte{5, 16, 'h', 'e', 'l', 'l', 'o'}))
	f.Add(uint8(record.Snappy), []byte{5, 16, 'h', 'e', 'l', 'l', 'o'})
	theirs := kgo.DefaultDecompressor()
	f.Fuzz(func(t *testing.T, n uint8, payload []byte) {
		const max = 1 << 20
		c := codecs[int(n)%len(codecs)]
		content, err := Decompress(c, payload, max)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(content), max)
		again, err := Decompress(c, compress(t, c, DefaultLevel(c), content), int64(len(content)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, again))
		if len(content) == 0 {
			return // they do not agree on what nothing looks like, and no batch holds nothing
		}
		got, err := theirs.Decompress(payload, kgo.CompressionCodecType(c))
		require.NoError(t, err, "%s: we read %d bytes", c, len(content))
		require.True(t, bytes.Equal(content, got), c)
	})
}

// TestStructures has records of every shape that gofuzz makes, in each codec, read in both ways.
func TestStructures(t *testing.T) {
	type plain struct {
		Timestamp  int64
		Key, Value []byte
		Headers    []record.RecordHeader
	}
	f := fuzz.NewWithSeed(3).NilChance(0.2).NumElements(0, 8)
	for range 100 {
		var in []plain
		for len(in) == 0 {
			f.Fuzz(&in)
		}
		var b record.Builder
		b.Reset(nil)
		keyless := int32(-1)
		for i, r := range in {
			b.Append(r.Timestamp, r.Key, r.Value, r.Headers...)
			if r.Key == nil && keyless < 0 {
				keyless = int32(i)
			}
		}
		batch := b.Finish()
		for _, c := range codecs {
			packed := Compress(nil, batch, c, DefaultLevel(c))
			it, err := Records(packed, noLimit)
			require.NoError(t, err)
			for _, want := range in {
				require.True(t, it.Next(), it.Err())
				got := it.Record()
				require.Equal(t, want.Timestamp, got.Timestamp)
				require.Equal(t, want.Key, got.Key)
				require.Equal(t, want.Value, got.Value)
				require.Equal(t, len(want.Headers), got.HeaderCount())
				for i, h := range got.AppendHeaders(nil) {
					require.Equal(t, want.Headers[i], h)
				}
			}
			require.False(t, it.Next())
			require.NoError(t, it.Err())
			p, err := record.ValidateProduce(packed)
			require.NoError(t, err)
			s := Open(c, packed[record.HeaderSize:], noLimit)
			require.NoError(t, p.Scan(s, make([]byte, 64)))
			s.Close()
			require.Equal(t, keyless, p.Keyless)
		}
	}
}
