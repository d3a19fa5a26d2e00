package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// LineError says which line of a history cannot be accepted, and why.
type LineError struct {
	Line int // from 1
	Why  string
}

func (e *LineError) Error() string { return fmt.Sprintf("history: line %d: %s", e.Line, e.Why) }

func bad(line int, format string, args ...any) error {
	return &LineError{Line: line, Why: fmt.Sprintf(format, args...)}
}

// Read reads a whole history, strictly: Parse for each line, then Check. The last line must end with a newline. Empty
// lines are refused. Every error about content is a *LineError.
func Read(r io.Reader) ([]Op, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	var ops []Op
	var buf []byte
	for line := 1; ; line++ {
		text, err := readLine(br, buf[:0], line)
		if err == io.EOF {
			return ops, Check(ops)
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			return nil, bad(line, "the line is empty")
		}
		op, err := Parse(text)
		if err != nil {
			return nil, bad(line, "%s", err)
		}
		ops, buf = append(ops, op), text
	}
}

// readLine appends one line without its newline to text; io.EOF at a clean end.
func readLine(br *bufio.Reader, text []byte, line int) ([]byte, error) {
	for {
		part, err := br.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > MaxLine+1:
			return nil, bad(line, "longer than %d bytes", MaxLine)
		case err == nil:
			return text[:len(text)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(text) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, bad(line, "cut in the middle: it has no newline and ends in %q", tail(text, 24))
		default:
			return nil, fmt.Errorf("history: line %d: %w", line, err)
		}
	}
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// raw is the JSON form of an Op; pointers tell "absent" from zero.
type raw struct {
	Index      *int64   `json:"index"`
	Time       *int64   `json:"time"`
	Proc       string   `json:"proc"`
	Process    int      `json:"process"`
	ID         *int64   `json:"id"`
	Type       Type     `json:"type"`
	F          F        `json:"f"`
	Topic      string   `json:"topic"`
	Partition  int32    `json:"partition"`
	Values     []string `json:"values"`
	Acks       int      `json:"acks"`
	Idempotent bool     `json:"idempotent"`
	Retried    bool     `json:"retried"`
	PID        *int64   `json:"pid"`
	PEpoch     *int16   `json:"pepoch"`
	Seq        *int32   `json:"seq"`
	Offset     *int64   `json:"offset"`
	Records    []Rec    `json:"records"`
	HW         *int64   `json:"hw"`
	LogStart   *int64   `json:"log_start"`
	Error      string   `json:"error"`
	Corrupt    string   `json:"corrupt"`
	Final      bool     `json:"final"`
}

// UnmarshalJSON reads the pair [offset,"value"].
func (r *Rec) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a record is [offset,\"value\"], not %s", b)
	}
	if err := json.Unmarshal(pair[0], &r.Offset); err != nil {
		return err
	}
	return json.Unmarshal(pair[1], &r.Value)
}

// Parse reads one line, without its newline, and keeps no part of it. Unknown keys, types and operations, and what a
// completion must carry but does not, are errors; they do not name a line.
func Parse(line []byte) (Op, error) {
	c := canonical{line: string(line)}
	op, has, ok := c.op()
	if !ok {
		var err error
		if op, has, err = decode(bytes.Clone(line)); err != nil { // NB: a clone, so that the caller's line can stay on its stack
			return Op{}, err
		}
	}
	if err := op.check(has); err != nil {
		return Op{}, err
	}
	return op, nil
}

// decode reads any line that is one JSON object with the keys of raw.
func decode(line []byte) (Op, given, error) {
	var w raw
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return Op{}, given{}, fmt.Errorf("cut in the middle: the JSON object is not closed, the line ends in %q", tail(line, 24))
		}
		return Op{}, given{}, err
	}
	if rest := bytes.TrimSpace(line[dec.InputOffset():]); len(rest) > 0 {
		return Op{}, given{}, fmt.Errorf("%q follows the JSON object", tail(rest, 24))
	}
	return w.op(), w.given(), nil
}

// absent has what a line without the key says.
var absent = Op{PID: NoOffset, PEpoch: -1, Seq: -1, Offset: NoOffset, HW: -1, LogStart: -1}

// given says which keys a line has, of those whose absence matters.
type given struct{ time, id, pid, pepoch, seq, offset bool }

func (w *raw) given() given {
	return given{
		time: w.Time != nil, id: w.ID != nil, pid: w.PID != nil, pepoch: w.PEpoch != nil, seq: w.Seq != nil, offset: w.Offset != nil,
	}
}

func (w *raw) op() Op {
	return Op{
		Index: or(w.Index, 0), Time: or(w.Time, 0), Proc: w.Proc, Process: w.Process, ID: or(w.ID, 0), Type: w.Type, F: w.F,
		Topic: w.Topic, Partition: w.Partition, Values: w.Values, Acks: w.Acks, Idempotent: w.Idempotent, Retried: w.Retried,
		PID: or(w.PID, absent.PID), PEpoch: or(w.PEpoch, absent.PEpoch), Seq: or(w.Seq, absent.Seq),
		Offset: or(w.Offset, absent.Offset), Records: w.Records, HW: or(w.HW, absent.HW), LogStart: or(w.LogStart, absent.LogStart),
		Error: w.Error, Corrupt: w.Corrupt, Final: w.Final,
	}
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// check refuses a line that its reader would have to guess about.
func (op *Op) check(has given) error {
	switch op.Type {
	case Invoke, OK, Fail, Info:
	default:
		return fmt.Errorf("unknown type %q", op.Type)
	}
	switch op.F {
	case Produce, Fetch, ListOffsets:
		if op.Topic == "" {
			return fmt.Errorf("%s without a topic", op.F)
		}
	case InitProducerID, CreateTopic, DeleteTopic, Metadata:
	default:
		return fmt.Errorf("unknown f %q", op.F)
	}
	switch {
	case !has.time:
		return errors.New("no time")
	case !has.id:
		return errors.New("no id")
	case op.Proc == "":
		return errors.New("no proc")
	case op.Partition < 0:
		return fmt.Errorf("partition %d", op.Partition)
	}
	return op.checkF(has)
}

func (op *Op) checkF(has given) error {
	switch {
	case op.F == Produce && op.Type == Invoke && len(op.Values) == 0:
		return errors.New("produce without values")
	case op.F == Produce && op.Idempotent && !(has.pid && has.pepoch && has.seq):
		return errors.New("idempotent produce without pid, pepoch and seq")
	case op.F == Produce && op.Type == OK && op.Offset < NoOffset:
		return fmt.Errorf("produce ok at offset %d", op.Offset)
	case op.F == Produce && op.Type == OK && op.Offset > MaxOffset:
		return tooLarge(op.Offset)
	case op.F == Fetch && op.Offset < 0:
		return errors.New("fetch without the offset it asks for")
	case op.F == ListOffsets && op.Type == Invoke && op.Offset != Latest && op.Offset != Earliest:
		return fmt.Errorf("list-offsets asks for %d; only latest (-1) and earliest (-2) can be judged", op.Offset)
	case op.F == ListOffsets && op.Type == OK && !has.offset:
		return errors.New("list-offsets ok without an offset")
	case op.F == InitProducerID && op.Type == OK && !(has.pid && has.pepoch):
		return errors.New("init-producer-id ok without pid and pepoch")
	}
	for _, r := range op.Records {
		if r.Offset > MaxOffset {
			return tooLarge(r.Offset)
		}
	}
	return nil
}

// MaxOffset is the highest offset at which a batch or record may stand. Judges count on from it over the values of a
// batch, of which a line holds fewer than bytes.
const MaxOffset = math.MaxInt64 - MaxLine

func tooLarge(offset int64) error {
	return fmt.Errorf("offset %d is above %d", offset, int64(MaxOffset))
}
