package compact

import (
	"encoding/binary"
	"fmt"
	"math"

	"trialog/core/codec"
	"trialog/core/record"
)

// rebuild appends a batch with the records that stay. With setHorizon its base timestamp becomes the delete horizon, and
// the records keep their times. Compressed records are compressed again, with Kafka's level of their codec.
func (f *Filter) rebuild(dst []byte, h *record.Header, found sifted, setHorizon bool) ([]byte, record.Header) {
	kept := *h
	kept.Count = found.count
	if !h.IsLogAppendTime() {
		kept.MaxTimestamp = found.newestMs
	}
	if setHorizon {
		kept.Attributes |= record.HasDeleteHorizon
		kept.BaseTimestamp = f.NowMs + f.DeleteRetentionMs
		if kept.BaseTimestamp < f.NowMs {
			kept.BaseTimestamp = math.MaxInt64 // for ever
		}
	}
	start := len(dst)
	dst = append(dst, make([]byte, record.HeaderSize)...)
	if h.Codec() == record.Uncompressed {
		return seal(f.records(dst, h, &kept, found.content), start, kept, nil)
	}
	f.rebuilt = f.records(f.rebuilt[:0], h, &kept, found.content)
	return seal(dst, start, kept, f.rebuilt)
}

// records appends the records that stay, with timestamps relative to the new base.
func (f *Filter) records(dst []byte, h, kept *record.Header, content []byte) []byte {
	for _, r := range f.runs {
		if kept.BaseTimestamp == h.BaseTimestamp {
			dst = append(dst, content[r.from:r.to]...)
			continue
		}
		for rest := content[r.from:r.to]; len(rest) > 0; {
			size, n := binary.Varint(rest)
			dst = shift(dst, rest[n:n+int(size)], h.BaseTimestamp-kept.BaseTimestamp)
			rest = rest[n+int(size):]
		}
	}
	return dst
}

// shift appends a record whose timestamp delta grows by ms. body is a sound record without its size: attributes,
// timestamp delta, and what follows.
func shift(dst, body []byte, ms int64) []byte {
	delta, n := binary.Varint(body[1:])
	var buf [binary.MaxVarintLen64]byte
	moved := binary.AppendVarint(buf[:0], delta+ms)
	dst = binary.AppendVarint(dst, int64(1+len(moved)+len(body)-1-n))
	dst = append(dst, body[0])
	dst = append(dst, moved...)
	return append(dst, body[1+n:]...)
}

// seal completes the batch that begins at start: dst holds its uncompressed records already, or content is compressed
// behind its header.
func seal(dst []byte, start int, h record.Header, content []byte) ([]byte, record.Header) {
	if len(dst) == start {
		dst = append(dst, make([]byte, record.HeaderSize)...)
	}
	if c := h.Codec(); c != record.Uncompressed {
		w := codec.Create(c, codec.DefaultLevel(c), dst, math.MaxInt32)
		_, _ = w.Write(content) // its error comes with Finish
		var err error
		if dst, err = w.Finish(); err != nil {
			panic(fmt.Sprintf("compact: a batch of %d bytes: %v", len(content), err))
		}
	}
	h.Length = int32(len(dst) - start - record.LengthPrefix)
	h.AppendTo(dst[start:start])
	record.SetChecksum(dst[start:])
	h.CRC = record.Checksum(dst[start:])
	return dst, h
}
