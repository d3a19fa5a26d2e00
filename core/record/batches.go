package record

// Batches walks the batches of a buffer that starts at a batch and may end in the middle of one, as a fetch response
// or a read of a segment does. It parses headers only; it does not check CRCs (use Validate on Batch).
//
//	for it := record.NewBatches(buf); it.Next(); { it.Header(); it.Batch() }
//
// The zero value is a walk over nothing.
type Batches struct {
	buf   []byte
	pos   int
	batch []byte
	head  Header
	err   *Error
}

// NewBatches starts a walk over buf. Batches are views into buf.
func NewBatches(buf []byte) *Batches { return &Batches{buf: buf} }

// Next moves to the next whole batch. It is false at the end, at a partial batch (see Tail), and at a header that
// cannot be one (see Err).
func (it *Batches) Next() bool {
	rest := it.buf[it.pos:]
	if it.err != nil || len(rest) < HeaderSize {
		return false
	}
	h, fault := parseHeader(rest)
	if fault != nil {
		it.err = fault
		return false
	}
	if h.Size() > len(rest) {
		return false
	}
	it.head, it.batch = h, rest[:h.Size():h.Size()]
	it.pos += h.Size()
	return true
}

// Header is the header of the current batch.
func (it *Batches) Header() Header { return it.head }

// Batch is the current batch, a view into the buffer.
func (it *Batches) Batch() []byte { return it.batch }

// Position is where the walk stands: the end of the current batch, in bytes from the start of the buffer.
func (it *Batches) Position() int { return it.pos }

// Tail is what follows the last whole batch: a partial batch, or what Err complains of.
func (it *Batches) Tail() []byte { return it.buf[it.pos:] }

// Err is an [*Error] when the walk stopped at bytes that are no batch, else nil: a partial batch is no error.
func (it *Batches) Err() error {
	if it.err == nil {
		return nil
	}
	return it.err
}
