package codec

import (
	"errors"
	"fmt"
	"io"
	"math"

	"trialog/core/kafka"
	"trialog/core/record"
)

// Records is a walk over the records of one whole batch, compressed or not, which are max bytes uncompressed at most.
// Those of a compressed batch are decompressed into memory that belongs to the walk alone: records stay valid with it.
// An error is ErrTooLarge, or damage; what is wrong with the records themselves, the walk finds.
func Records(batch []byte, max int64) (record.Records, error) {
	h, err := record.ParseHeader(batch)
	if err != nil || h.Codec() == record.Uncompressed || h.Codec() > record.Zstd || h.Size() != len(batch) {
		return record.NewRecords(batch), nil // which says what is wrong
	}
	content, err := Decompress(h.Codec(), batch[record.HeaderSize:], max)
	if err != nil {
		return record.Records{}, err
	}
	return record.NewRecordsOf(&h, content), nil
}

// FirstAt finds the first record of one whole batch of a log that has an offset of at least start and a timestamp (ms) of
// at least ts. A compressed batch is decompressed in pieces, as far as needed and no further than max bytes. The error is
// ErrTooLarge, or that the batch cannot be read.
func FirstAt(batch []byte, max int64, start kafka.Offset, ts int64) (offset kafka.Offset, timestamp int64, found bool, err error) {
	it := record.NewRecords(batch)
	if !errors.Is(it.Err(), record.ErrCompressed) {
		for it.Next() {
			if r := it.Record(); r.Timestamp >= ts && r.Offset >= start {
				return r.Offset, r.Timestamp, true, nil
			}
		}
		return 0, 0, false, it.Err()
	}
	h := it.Header()
	s := Open(h.Codec(), batch[record.HeaderSize:], max)
	defer s.Close()
	return h.FirstAt(s, s.Window(), start, ts)
}

// Decompress is all that payload decompresses to, in fresh memory. Errors are those of a Stream.
func Decompress(c record.Codec, payload []byte, max int64) ([]byte, error) {
	s := Open(c, payload, max)
	defer s.Close()
	content := make([]byte, 0, min(int64(4*len(payload)+512), max)+1)
	for {
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		n, err := s.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if err == io.EOF {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Compress appends batch to dst, its records compressed with c at Kafka's level of it. batch is one whole uncompressed
// batch; dst is none of its memory.
func Compress(dst, batch []byte, c record.Codec, level int) []byte {
	start := len(dst)
	dst = append(dst, batch[:record.HeaderSize]...)
	w := Create(c, level, dst, math.MaxInt32)
	_, _ = w.Write(batch[record.HeaderSize:]) // its error comes with Finish
	dst, err := w.Finish()
	if err != nil {
		panic(fmt.Sprintf("codec: a batch of %d bytes: %v", len(batch), err))
	}
	record.SetCodec(dst[start:], c)
	return dst
}
