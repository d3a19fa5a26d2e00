package compact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/codec"
	"trialog/core/kafka"
	"trialog/core/record"
)

const (
	hour      = int64(3600_000)
	retention = 24 * hour
	start     = int64(1_700_000_000_000) // wall time at which a test begins, ms
)

var allRules = Rules{KeepLogEnd: true, DeleteHorizon: true}

// put is one record of a test: "k=v", "k" for a tombstone, "=v" for one without a key.
func put(t require.TestingT, at kafka.Offset, c record.Codec, producer kafka.ProducerID, attributes record.Attributes, records ...string) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetBaseOffset(at)
	b.SetLeaderEpoch(3)
	b.SetAttributes(attributes)
	if producer >= 0 {
		b.SetProducer(producer, 1, kafka.Sequence(at))
	}
	for i, r := range records {
		key, value, has := strings.Cut(r, "=")
		var k, v []byte
		if key != "" {
			k = []byte(key)
		}
		if has {
			v = []byte(value)
		}
		b.Append(start-1000+int64(i), k, v, record.RecordHeader{Key: "h", Value: k})
	}
	batch := b.Finish()
	if c != record.Uncompressed {
		batch = codec.Compress(nil, batch, c, codec.DefaultLevel(c))
	}
	_, err := record.Validate(batch)
	require.NoError(t, err)
	return batch
}

func data(t require.TestingT, at kafka.Offset, records ...string) []byte {
	return put(t, at, record.Uncompressed, -1, 0, records...)
}

func txn(t require.TestingT, at kafka.Offset, id kafka.ProducerID, records ...string) []byte {
	return put(t, at, record.Uncompressed, id, record.Transactional, records...)
}

func end(at kafka.Offset, id kafka.ProducerID, kind record.ControlType) []byte {
	var b record.Builder
	b.Reset(nil)
	b.SetBaseOffset(at)
	b.SetAttributes(record.Transactional | record.Control)
	b.SetProducer(id, 1, kafka.NoSequence)
	b.Append(start, []byte{0, 0, 0, byte(kind)}, []byte{0, 0, 0, 0, 0, 0})
	return b.Finish()
}

// parsed are the batches of b.
func parsed(t require.TestingT, b []byte) (heads []record.Header, batches [][]byte) {
	it := record.NewBatches(b)
	for it.Next() {
		h, err := record.Validate(it.Batch())
		require.NoError(t, err)
		heads, batches = append(heads, h), append(batches, it.Batch())
	}
	require.NoError(t, it.Err())
	require.Empty(t, it.Tail())
	return heads, batches
}

// round cleans a log that lies in memory: its dirty part is [first, bound).
func round(t require.TestingT, log []byte, first, bound kafka.Offset, nowMs int64, r Round) (out []byte, f *Filter) {
	m, err := NewMap(1<<20, 0.9, 1<<20)
	require.NoError(t, err)
	if r.Map == nil {
		r.Map = m
	}
	r.Map.Reset(first)
	r.NowMs = nowMs
	if r.DeleteRetentionMs == 0 {
		r.DeleteRetentionMs = retention
	}
	heads, batches := parsed(t, log)
	r.Txns = NewTxns(first)
	for i := range heads {
		require.NoError(t, r.Txns.Note(&heads[i], batches[i]))
	}
	f = NewFilter(r)
	for i := range heads {
		if heads[i].LastOffset() < first || heads[i].BaseOffset >= bound {
			continue
		}
		ok, err := f.Put(&heads[i], batches[i])
		require.NoError(t, err)
		if !ok {
			break
		}
		if i+1 == len(heads) || heads[i+1].BaseOffset >= bound {
			r.Map.Extend(bound)
		}
	}
	for i := range heads {
		if heads[i].BaseOffset >= r.Map.End() {
			out = append(out, batches[i]...)
			continue
		}
		before := len(out)
		var kept record.Header
		out, kept, err = f.Batch(out, &heads[i], batches[i])
		require.NoError(t, err)
		if len(out) == before && (i+1 == len(heads) || heads[i+1].BaseOffset >= r.Map.End()) {
			out, kept = f.Tail(out, &heads[i])
		}
		if len(out) > before {
			again, err := record.Validate(out[before:])
			require.NoError(t, err)
			require.Equal(t, again, kept)
		}
	}
	return out, f
}

// show is what a log holds, one word for each batch: "[base..last: offset key=value ...]" and what is unusual of it.
func show(t require.TestingT, log []byte) string {
	var words []string
	heads, batches := parsed(t, log)
	for i, h := range heads {
		word := fmt.Sprintf("[%d..%d:", h.BaseOffset, h.LastOffset())
		if h.Attributes&record.HasDeleteHorizon != 0 {
			word = fmt.Sprintf("[%d..%d until %dh:", h.BaseOffset, h.LastOffset(), (h.BaseTimestamp-start)/hour)
		}
		it, err := codec.Records(batches[i], 1<<30)
		require.NoError(t, err)
		for it.Next() {
			r := it.Record()
			switch {
			case h.IsControl():
				word += fmt.Sprintf(" %d marker", r.Offset)
			case r.Value == nil:
				word += fmt.Sprintf(" %d %s", r.Offset, r.Key)
			default:
				word += fmt.Sprintf(" %d %s=%s", r.Offset, r.Key, r.Value)
			}
		}
		require.NoError(t, it.Err())
		words = append(words, word+"]")
	}
	return strings.Join(words, " ")
}

func join(batches ...[]byte) (log []byte) {
	for _, b := range batches {
		log = append(log, b...)
	}
	return log
}

var codecs = []record.Codec{record.Uncompressed, record.Gzip, record.Snappy, record.LZ4, record.Zstd}

func only(t *testing.T, rule string, r Rules) Rules {
	t.Helper()
	switch rule {
	case "compact-keeps-log-end":
		r.KeepLogEnd = false
	case "compact-delete-horizon":
		r.DeleteHorizon = false
	default:
		t.Fatal(rule)
	}
	return r
}
