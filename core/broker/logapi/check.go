package logapi

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"trialog/core/codec"
	"trialog/core/config"
	"trialog/core/kafka"
	"trialog/core/record"
)

// refusal is why a batch is not appended; the zero value is none.
type refusal struct {
	code    kafka.ErrorCode
	message string
	record  int32 // index of the record that is to blame, if code is set; -1: none alone
}

func refuse(code kafka.ErrorCode, format string, args ...any) refusal {
	return refusal{code: code, message: fmt.Sprintf(format, args...), record: -1}
}

// of says which record is to blame.
func (r refusal) of(index int32) refusal {
	r.record = index
	return r
}

// checker checks one batch at a time and, if the topic says so, compresses it anew. It is reused; close gives it back.
type checker struct {
	settings *config.Topic
	version  int16 // of the Produce request
	now      kafka.Now

	tee tee
	out []byte // a batch that was compressed anew; its memory is used again
}

var checkers = sync.Pool{New: func() any { return new(checker) }}

func newChecker(settings *config.Topic, version int16, now kafka.Now) *checker {
	c := checkers.Get().(*checker)
	c.settings, c.version, c.now = settings, version, now
	return c
}

// outKept bounds the memory that a checker keeps for the next batch.
const outKept = 2 << 20

// close ends the life of the batch that check returned.
func (c *checker) close() {
	if c.settings = nil; cap(c.out) > outKept {
		c.out = nil
	}
	checkers.Put(c)
}

// check refuses what no log may hold, with Kafka's codes (LogValidator), and returns what is to be appended: b, in which
// the largest timestamp may have been written, or a batch of the same records compressed as the topic wants it, which
// lives until close.
//
// A compressed batch is decompressed once, in pieces, and never lies uncompressed in memory. Kafka does not bound what it
// may grow to; here it is MESSAGE_TOO_LARGE, to which producers answer with smaller batches. A stream that cannot be
// decompressed is INVALID_RECORD: its CRC fits, so to send it again, as CORRUPT_MESSAGE would have it, is of no use.
func (c *checker) check(b []byte) ([]byte, refusal) {
	p, no := c.header(b)
	if no.code != kafka.ErrNone {
		return nil, no
	}
	target := targetCodec(c.settings.CompressionType, p.Codec())
	var w *codec.Writer
	if target != p.Codec() {
		c.out = append(c.out[:0], b[:record.HeaderSize]...)
		w = codec.Create(target, int(c.settings.CompressionLevel), c.out, int(c.settings.MaxMessageBytes))
	}
	if no = c.records(&p, b[record.HeaderSize:], w); no.code == kafka.ErrNone {
		no = c.bounds(&p)
	}
	if w != nil {
		var err error
		if c.out, err = w.Finish(); err != nil && no.code == kafka.ErrNone {
			no = refuse(kafka.ErrMessageTooLarge, "batch is over max.message.bytes=%d when stored with compression.type=%s", c.settings.MaxMessageBytes, c.settings.CompressionType)
		}
		if b = c.out; no.code == kafka.ErrNone {
			record.SetCodec(b, target)
		}
	}
	if no.code != kafka.ErrNone {
		return nil, no
	}
	if len(b) > int(c.settings.SegmentBytes) {
		return nil, refuse(kafka.ErrRecordListTooLarge, "batch of %d bytes is over segment.bytes=%d", len(b), c.settings.SegmentBytes)
	}
	record.SetMaxTimestamp(b, p.MaxTimestamp)
	return b, refusal{}
}

// header checks everything but compressed records.
func (c *checker) header(b []byte) (record.Produced, refusal) {
	h, err := record.ParseHeader(b)
	if err == nil && h.Size() < len(b) {
		return record.Produced{}, refuse(kafka.ErrInvalidRecord, "%d bytes follow the first batch: a request carries one batch for each partition", len(b)-h.Size())
	}
	if len(b) > int(c.settings.MaxMessageBytes) {
		return record.Produced{}, refuse(kafka.ErrMessageTooLarge, "batch of %d bytes is over max.message.bytes=%d", len(b), c.settings.MaxMessageBytes)
	}
	if len(b) == 0 {
		return record.Produced{}, refuse(kafka.ErrInvalidRecord, "no batch")
	}
	p, err := record.ValidateProduce(b)
	switch {
	case err != nil:
		return p, refuse(record.Code(err), "%v", err)
	case p.Codec() == record.Zstd && c.version < 7:
		return p, refuse(kafka.ErrUnsupportedCompressionType, "zstd needs Produce v7")
	case p.IsTransactional():
		return p, refuse(kafka.ErrInvalidTxnState, "no transaction is open")
	}
	return p, refusal{}
}

// records checks compressed records, and gives uncompressed ones to w, which may be nil.
func (c *checker) records(p *record.Produced, payload []byte, w *codec.Writer) refusal {
	if p.Codec() == record.Uncompressed {
		if w != nil {
			_, _ = w.Write(payload) // an error comes with Finish
		}
		return refusal{}
	}
	c.tee = tee{from: codec.Open(p.Codec(), payload, c.settings.UncompressedMaxBytes), to: w}
	p.RecordMax = c.settings.UncompressedRecordMax
	err := p.Scan(&c.tee, c.tee.from.Window())
	c.tee.from.Close()
	c.tee = tee{}
	var fault *record.Error
	switch {
	case err == nil:
		return refusal{}
	case errors.Is(err, codec.ErrTooLarge):
		return refuse(kafka.ErrMessageTooLarge, "%v (trialog.uncompressed.batch.max.bytes)", err)
	case errors.As(err, &fault):
		return refuse(fault.Code(), "%v", err)
	}
	return refuse(kafka.ErrInvalidRecord, "%v", err)
}

// tee is a stream whose bytes a writer gets too.
type tee struct {
	from *codec.Stream
	to   *codec.Writer // nil: nobody
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if t.to != nil && n > 0 {
		_, _ = t.to.Write(p[:n]) // an error comes with Finish: what is wrong with the records goes first
	}
	return n, err
}

var _ io.Reader = (*tee)(nil)

// targetCodec is what a batch of this codec is stored with.
func targetCodec(compressionType string, came record.Codec) record.Codec {
	switch compressionType {
	case "uncompressed":
		return record.Uncompressed
	case "gzip":
		return record.Gzip
	case "snappy":
		return record.Snappy
	case "lz4":
		return record.LZ4
	case "zstd":
		return record.Zstd
	}
	return came
}

// bounds judges every record by the smallest and the largest timestamp, and asks for keys where compaction needs them.
func (c *checker) bounds(p *record.Produced) refusal {
	if set := c.settings; !set.LogAppendTime {
		if ahead := p.MaxTimestamp - c.now.WallMs; p.Newest >= 0 && ahead > set.TimestampAfterMaxMs {
			return refuse(kafka.ErrInvalidTimestamp, "timestamp %d is %d ms ahead of the broker's clock", p.MaxTimestamp, ahead).of(p.Newest)
		}
		if oldest := c.now.WallMs - set.TimestampBeforeMaxMs; p.Oldest >= 0 && p.MinTimestamp < oldest {
			return refuse(kafka.ErrInvalidTimestamp, "timestamp %d is over %d ms behind the broker's clock", p.MinTimestamp, set.TimestampBeforeMaxMs).of(p.Oldest)
		}
	}
	if c.settings.CleanupCompact && p.Keyless >= 0 {
		return refuse(kafka.ErrInvalidRecord, "record %d has no key, which a compacted topic needs", p.Keyless).of(p.Keyless)
	}
	return refusal{}
}
