package kernel

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// TraceVersion is part of a run's identity: hashes of different versions cannot be compared.
const TraceVersion = 2

// Entry is one observable step: a system call, a delivery, a fault.
type Entry struct {
	At      int64  // virtual ns
	Who     string // process or host
	What    string // call or event name
	A, B, C int64  // operands: descriptor, length or offset, result or digest
}

// String is one line of a recorded trace.
func (e Entry) String() string {
	return fmt.Sprintf("%d.%09d %s %s %d %d %d", e.At/1e9, e.At%1e9, e.Who, e.What, e.A, e.B, e.C)
}

// Trace is the running hash of all entries, and optionally their text.
type Trace struct {
	n   uint64
	h   hash.Hash
	buf []byte
	rec *bufio.Writer
}

func newTrace(record io.Writer) *Trace {
	t := &Trace{h: sha256.New(), buf: make([]byte, 0, 1<<16)}
	if record != nil {
		t.rec = bufio.NewWriterSize(record, 1<<16)
	}
	return t
}

func (t *Trace) add(e Entry) {
	t.n++
	if len(t.buf) > 1<<16-512 {
		t.h.Write(t.buf)
		t.buf = t.buf[:0]
	}
	b := binary.LittleEndian.AppendUint64(t.buf, uint64(e.At))
	b = append(append(b, e.Who...), 0)
	b = append(append(b, e.What...), 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.A))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.B))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.C))
	t.buf = b
	if t.rec != nil {
		t.rec.WriteString(e.String())
		t.rec.WriteByte('\n')
	}
}

// Len is the number of entries so far.
func (t *Trace) Len() uint64 { return t.n }

// Sum is the hash so far, in hex. It may be taken at any time.
func (t *Trace) Sum() string {
	t.h.Write(t.buf)
	t.buf = t.buf[:0]
	return hex.EncodeToString(t.h.Sum(nil)[:16])
}

// Flush writes out what is recorded.
func (t *Trace) Flush() error {
	if t.rec == nil {
		return nil
	}
	if err := t.rec.Flush(); err != nil {
		return fmt.Errorf("kernel: write trace: %w", err)
	}
	return nil
}

// Difference is where two recorded traces part.
type Difference struct {
	Index int // of the first differing entry, from 0
	A, B  string
}

// String shows both entries.
func (d *Difference) String() string {
	return fmt.Sprintf("first differing event is number %d:\n  a: %s\n  b: %s", d.Index, d.A, d.B)
}

// FirstDifference compares two recorded traces and returns nil if they are equal.
func FirstDifference(a, b io.Reader) (*Difference, error) {
	sa, sb := bufio.NewScanner(a), bufio.NewScanner(b)
	for i := 0; ; i++ {
		oka, okb := sa.Scan(), sb.Scan()
		if err := firstError(sa.Err(), sb.Err()); err != nil {
			return nil, fmt.Errorf("kernel: read trace: %w", err)
		}
		if !oka && !okb {
			return nil, nil
		}
		ta, tb := "(end of trace)", "(end of trace)"
		if oka {
			ta = sa.Text()
		}
		if okb {
			tb = sb.Text()
		}
		if ta != tb {
			return &Difference{Index: i, A: ta, B: tb}, nil
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
