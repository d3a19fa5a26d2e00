package client

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/wire"
)

// What is compressed arrives, under its sequence, and is sent again byte for byte.
func TestCompression(t *testing.T) {
	long := strings.Repeat("compress me ", 1000)
	for _, name := range []string{"", "none", "gzip", "snappy", "lz4", "zstd"} {
		f := newFake(t, 1)
		f.fates = fated(dropAfter)
		c := f.client()
		p, err := c.NewProducer(ProducerConfig{Acks: kafka.AcksAll, Idempotent: true, Retries: -1, Compression: name})
		require.NoError(t, err)
		r := produce(p, 0, "a", long)
		require.Equal(t, OK, r.Outcome, name)
		require.Equal(t, 2, r.Attempts)
		require.Equal(t, []string{"a", long}, f.values(0), name)
		f.mu.Lock()
		h, err := record.ParseHeader(f.logs[0].batches[0].bytes)
		f.mu.Unlock()
		require.NoError(t, err)
		require.Equal(t, cmp.Or(name, "none"), h.Codec().String())
		require.Equal(t, h.Codec() != record.Uncompressed, h.Size() < len(long)/2)
		got := c.Fetch(ctx, FetchConfig{MaxWait: -1}, []Position{{"t", 0, 1}})
		require.NoError(t, got[0].Err)
		require.Equal(t, long, string(got[0].Records[0].Value))
	}
}

// zstd is not for brokers before Produce 7: the batch fails, for sure and at once.
func TestZstdNeedsProduce7(t *testing.T) {
	f := newFake(t, 1)
	f.table = slices.Clone(f.table)
	for i := range f.table {
		if f.table[i].Key == wire.KeyProduce {
			f.table[i].Max = 6
		}
	}
	c := f.client()
	for name, want := range map[string]Outcome{"zstd": Failed, "lz4": OK} {
		p, err := c.NewProducer(ProducerConfig{Acks: kafka.AcksAll, Retries: -1, Compression: name})
		require.NoError(t, err)
		r := produce(p, 0, "a")
		require.Equal(t, want, r.Outcome, name)
		if want == Failed {
			require.Equal(t, "UNSUPPORTED_COMPRESSION_TYPE", NameOf(r.Err))
			require.Equal(t, 1, r.Attempts)
		}
	}
}
