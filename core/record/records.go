package record

import (
	"errors"
	"fmt"

	"trialog/core/kafka"
)

// ErrCompressed is the answer to reading the records of a compressed batch, which its caller has to decompress first:
// see NewRecordsOf and Produced.Scan.
var ErrCompressed = errors.New("record: the records of a compressed batch cannot be read as they lie")

// Record is one record of a batch. Key, Value and the headers are views into the batch; nil is Kafka's null, and
// differs from empty.
type Record struct {
	Offset    kafka.Offset
	Timestamp int64 // ms
	Key       []byte
	Value     []byte

	headers     []byte // parsed once already
	headerCount int
}

// RecordHeader is one header of a record. A nil Value is null.
type RecordHeader struct {
	Key   string
	Value []byte
}

// HeaderCount is the number of headers.
func (r *Record) HeaderCount() int { return r.headerCount }

// AppendHeaders appends the headers to dst; keys are copied, values are views into the batch.
func (r *Record) AppendHeaders(dst []RecordHeader) []RecordHeader {
	c := cursor{buf: r.headers}
	for range r.headerCount {
		key := c.bytes()
		dst = append(dst, RecordHeader{Key: string(key), Value: c.bytes()})
	}
	return dst
}

// Records walks the records of one whole batch (take it from Validate or Batches). It checks the records as it goes:
// sizes, offset deltas that increase and stay within the last offset delta, exactly as many records as the header
// counts, no bytes left over.
//
//	it := record.NewRecords(batch)
//	for it.Next() { r := it.Record() }
//	if err := it.Err(); err != nil { ... }
//
// It allocates nothing besides itself.
type Records struct {
	head  Header
	buf   []byte // what is left
	left  int32  // records to come
	delta int64  // last offset delta seen
	rec   Record
	err   error
}

// NewRecords starts a walk. A batch that has no header, or is not as long as its header says, or is compressed, gives
// a walk without records and with an Err.
func NewRecords(batch []byte) Records {
	h, fault := parseHeader(batch)
	switch {
	case fault != nil:
	case len(batch) < h.Size():
		fault = &Error{Fault: FaultShort, Have: int64(len(batch)), Want: int64(h.Size())}
	case len(batch) > h.Size():
		fault = &Error{Fault: FaultTrailing, Have: int64(len(batch)), Want: int64(h.Size())}
	case h.Codec() > Zstd:
		fault = &Error{Fault: FaultCodec, Have: int64(h.Codec()), Want: int64(Zstd)}
	case h.Count < 0:
		fault = &Error{Fault: FaultCount, Have: int64(h.Count)}
	case h.Codec() != Uncompressed:
		return Records{head: h, err: ErrCompressed}
	}
	if fault != nil {
		return Records{head: h, err: fault}
	}
	return Records{head: h, buf: batch[HeaderSize:], left: h.Count, delta: -1}
}

// NewRecordsOf starts a walk over content: what the records of a compressed batch with header h are uncompressed. Records
// are views into content.
func NewRecordsOf(h *Header, content []byte) Records {
	if h.Count < 0 {
		return Records{head: *h, err: &Error{Fault: FaultCount, Have: int64(h.Count)}}
	}
	return Records{head: *h, buf: content, left: h.Count, delta: -1}
}

// Next moves to the next record; false at the end or at the first fault (see Err).
func (it *Records) Next() bool {
	if it.err != nil {
		return false
	}
	if it.left == 0 {
		if len(it.buf) > 0 {
			it.fail("bytes after the last record", int64(len(it.buf)), 0)
		}
		return false
	}
	c := cursor{buf: it.buf}
	body := c.take(c.varint())
	if c.bad != "" {
		it.fail("record size: "+c.bad, int64(len(it.buf)), 0)
		return false
	}
	it.buf = c.buf
	it.left--
	return it.parse(body)
}

// parse reads one record from exactly these bytes.
func (it *Records) parse(body []byte) bool {
	c := cursor{buf: body}
	c.take(1) // attributes of a record have no meaning yet
	timestamp := it.head.BaseTimestamp + c.varlong()
	delta := c.varint()
	it.rec.Key, it.rec.Value = c.bytes(), c.bytes()
	it.rec.headerCount = int(c.varint())
	it.rec.headers = c.buf
	c.skipHeaders(it.rec.headerCount)
	switch {
	case c.bad != "":
		it.fail(c.bad, int64(len(body)), 0)
	case len(c.buf) > 0:
		it.fail("bytes after the headers of a record", int64(len(c.buf)), 0)
	case delta <= it.delta || delta > int64(it.head.LastOffsetDelta):
		it.fail("offset delta", delta, it.delta+1)
	default:
		it.delta = delta
		it.rec.Offset = it.head.BaseOffset + delta
		it.rec.Timestamp = timestamp
		if it.head.IsLogAppendTime() {
			it.rec.Timestamp = it.head.MaxTimestamp
		}
		return true
	}
	return false
}

func (it *Records) fail(detail string, have, want int64) {
	it.rec = Record{}
	it.err = &Error{
		Fault: FaultRecord, Have: have, Want: want,
		Detail: fmt.Sprintf("%s (%d of %d records left)", detail, it.left, it.head.Count),
	}
}

// Record is the current record; valid until the bytes of the batch change or Next is called.
func (it *Records) Record() *Record { return &it.rec }

// Rest is how many bytes follow the current record: with it a caller finds where in the content a record lies.
func (it *Records) Rest() int { return len(it.buf) }

// Header is the header of the batch.
func (it *Records) Header() Header { return it.head }

// Err is nil, ErrCompressed, or an [*Error] with FaultRecord (or a frame fault from NewRecords).
func (it *Records) Err() error { return it.err }
