package record

import (
	"errors"

	"trialog/core/kafka"
)

// ErrCompressed is the answer to reading the records of a compressed batch.
var ErrCompressed = errors.New("record: the records of a compressed batch cannot be read: no codec")

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
func (r *Record) AppendHeaders(dst []RecordHeader) []RecordHeader { panic("record: AppendHeaders") }

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
func NewRecords(batch []byte) Records { panic("record: NewRecords") }

// Next moves to the next record; false at the end or at the first fault (see Err).
func (it *Records) Next() bool { panic("record: Next") }

// Record is the current record; valid until the bytes of the batch change.
func (it *Records) Record() *Record { return &it.rec }

// Header is the header of the batch.
func (it *Records) Header() Header { return it.head }

// Err is nil, ErrCompressed, or an [*Error] with FaultRecord (or a frame fault from NewRecords).
func (it *Records) Err() error { return it.err }
