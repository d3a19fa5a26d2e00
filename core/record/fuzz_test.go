package record

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzBatch gives any bytes to everything that reads, as they are and with length and CRC made to fit, so that the
// records are reached. `go test -fuzz FuzzBatch ./core/record`; the corpus is in testdata/fuzz.
func FuzzBatch(f *testing.F) {
	f.Add(build(nil))
	f.Add(build(func(b *Builder) { b.SetAttributes(Transactional) }))
	f.Add(append(build(nil), build(nil)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		walkAll(b)
		if len(b) < HeaderSize {
			return
		}
		b = bytes.Clone(b)
		b[posMagic] = byte(Magic)
		clear(b[posBaseOffset:posLength])
		be32(b[posLength:], len(b)-LengthPrefix)
		SetChecksum(b)
		walkAll(b)
		p, err := ValidateProduce(b)
		if err != nil || p.Codec() != Uncompressed {
			return
		}
		again := rebuild(t, b, &p.Header)
		q, err := ValidateProduce(again)
		require.NoError(t, err)
		require.Equal(t, []any{p.MinTimestamp, p.MaxTimestamp, p.Oldest, p.Newest, p.Keyless, p.Count},
			[]any{q.MinTimestamp, q.MaxTimestamp, q.Oldest, q.Newest, q.Keyless, q.Count})
		require.Zero(t, scanFault(t, b))
	})
}
