package history

import (
	"io"
	"strconv"
	"sync"
	"unicode/utf8"
)

// MaxLine bounds one line of a history, in bytes and without its newline. A client keeps its fetches small enough.
const MaxLine = 8 << 20

// Writer writes a history, one line and one Write call per Op. It is safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	now  func() int64
	next int64
	buf  []byte
}

// NewWriter returns a Writer on w. now (ns) stamps each Op as it is written, so that times never go back within the
// file; with a nil now, Op.Time is written as it is.
func NewWriter(w io.Writer, now func() int64) *Writer { return &Writer{w: w, now: now} }

// Write sets op.Index and op.Time and writes op. It does not retain op. A line longer than MaxLine is an error.
func (w *Writer) Write(op *Op) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	op.Index = w.next
	if w.now != nil {
		op.Time = w.now()
	}
	w.buf = append(Append(w.buf[:0], op), '\n')
	if len(w.buf) > MaxLine+1 {
		return &LineError{Line: int(w.next) + 1, Why: "line of " + strconv.Itoa(len(w.buf)-1) + " bytes is above the limit of " + strconv.Itoa(MaxLine)}
	}
	w.next++
	_, err := w.w.Write(w.buf)
	return err
}

// WriteAll writes a whole history as it is: times and indexes are kept.
func WriteAll(w io.Writer, ops []Op) error {
	var buf []byte
	for i := range ops {
		buf = append(Append(buf, &ops[i]), '\n')
		if len(buf) < 1<<16 && i < len(ops)-1 {
			continue
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
	return nil
}

// Append appends the JSON form of op, without a newline. Keys come in the order of SCHEMA.md; what is not meaningful
// for the operation is left out.
func Append(b []byte, op *Op) []byte {
	b = append(b, `{"index":`...)
	b = strconv.AppendInt(b, op.Index, 10)
	b = appendInt(b, `,"time":`, op.Time)
	b = appendStr(b, `,"proc":`, op.Proc)
	b = appendInt(b, `,"process":`, int64(op.Process))
	b = appendInt(b, `,"id":`, op.ID)
	b = appendStr(b, `,"type":`, string(op.Type))
	b = appendStr(b, `,"f":`, string(op.F))
	if op.Topic != "" {
		b = appendStr(b, `,"topic":`, op.Topic)
		b = appendInt(b, `,"partition":`, int64(op.Partition))
	}
	switch op.F {
	case Produce:
		b = appendProduce(b, op)
	case Fetch:
		b = appendFetch(b, op)
	case ListOffsets:
		b = appendInt(b, `,"offset":`, op.Offset)
	case InitProducerID:
		if op.Type == OK {
			b = appendInt(b, `,"pid":`, op.PID)
			b = appendInt(b, `,"pepoch":`, int64(op.PEpoch))
		}
	}
	if op.Error != "" {
		b = appendStr(b, `,"error":`, op.Error)
	}
	if op.Corrupt != "" {
		b = appendStr(b, `,"corrupt":`, op.Corrupt)
	}
	if op.Final {
		b = append(b, `,"final":true`...)
	}
	return append(b, '}')
}

func appendProduce(b []byte, op *Op) []byte {
	if op.Values != nil {
		b = append(b, `,"values":[`...)
		for i, v := range op.Values {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, v)
		}
		b = append(b, ']')
	}
	if op.Type == Invoke {
		b = appendInt(b, `,"acks":`, int64(op.Acks))
	}
	if op.Idempotent {
		b = append(b, `,"idempotent":true`...)
	}
	if op.Retried {
		b = append(b, `,"retried":true`...)
	}
	if op.Idempotent {
		b = appendInt(b, `,"pid":`, op.PID)
		b = appendInt(b, `,"pepoch":`, int64(op.PEpoch))
		b = appendInt(b, `,"seq":`, int64(op.Seq))
	}
	if op.Type == OK {
		b = appendInt(b, `,"offset":`, op.Offset)
	}
	return b
}

func appendFetch(b []byte, op *Op) []byte {
	b = appendInt(b, `,"offset":`, op.Offset)
	if op.Type != OK && op.Records == nil {
		return b
	}
	b = append(b, `,"records":[`...)
	for i, r := range op.Records {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, r.Offset, 10)
		b = append(b, ',')
		b = appendQuoted(b, r.Value)
		b = append(b, ']')
	}
	b = append(b, ']')
	b = appendInt(b, `,"hw":`, op.HW)
	return appendInt(b, `,"log_start":`, op.LogStart)
}

// appendInt appends key, which has its comma, quotes and colon, and v.
func appendInt(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(append(b, key...), v, 10)
}

func appendStr(b []byte, key, v string) []byte { return appendQuoted(append(b, key...), v) }

// appendQuoted appends v as a JSON string. Bytes that are not UTF-8 become U+FFFD: such a value was never sent, so
// the judges will call it a phantom.
func appendQuoted(b []byte, v string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for {
		n := 0
		for n < len(v) && plain(v[n]) {
			n++
		}
		b, v = append(b, v[:n]...), v[n:]
		if v == "" {
			return append(b, '"')
		}
		switch c := v[0]; {
		case c == '"' || c == '\\':
			b, n = append(b, '\\', c), 1
		case c < utf8.RuneSelf:
			b, n = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15]), 1
		default:
			var r rune
			r, n = utf8.DecodeRuneInString(v)
			b = utf8.AppendRune(b, r) // RuneError encodes as U+FFFD
		}
		v = v[n:]
	}
}

// plain reports printable ASCII that stands for itself in a JSON string.
func plain(c byte) bool { return ' ' <= c && c <= '~' && c != '"' && c != '\\' }
