package event

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// LineMax is the longest line that a Decoder takes, in bytes.
const LineMax = 1 << 20

// Parse reads one line, with or without its newline. The error says what and at which byte.
func Parse(line []byte) (Event, error) {
	p := parser{in: line}
	var e Event
	var seen field
	p.expect('{')
	for p.err == nil {
		f := p.key()
		if seen&f != 0 {
			p.fail("key twice: " + f.String())
		}
		seen |= f
		p.expect(':')
		p.value(&e, f)
		if !p.accept(',') {
			break
		}
	}
	p.expect('}')
	p.end()
	if p.err == nil {
		p.err = checkFields(e.Kind, seen)
	}
	if p.err != nil {
		return Event{}, fmt.Errorf("event: %w", p.err)
	}
	return e, nil
}

// checkFields demands what the kind must have and refuses what it cannot have.
func checkFields(k Kind, seen field) error {
	if seen&fKind == 0 {
		return errors.New("no kind")
	}
	must := kinds[k].fields | fAlways
	if missing := must &^ seen; missing != 0 {
		return fmt.Errorf("%v lacks %v", k, missing)
	}
	if extra := seen &^ (must | fOptional); extra != 0 {
		return fmt.Errorf("%v has no %v", k, extra)
	}
	return nil
}

// String lists the keys.
func (f field) String() string {
	var b []byte
	for i, key := range keys {
		if f&(1<<i) != 0 {
			b = append(append(b, key...), ' ')
		}
	}
	return string(bytes.TrimSpace(b))
}

// key reads a quoted key; 0 and a failure if it is unknown.
func (p *parser) key() field {
	name := p.bytes()
	for n := range keys {
		i := (p.after + n) % len(keys) // they come in order, as a rule
		if keys[i] == string(name) {
			p.after = i + 1
			return 1 << i
		}
	}
	p.fail(fmt.Sprintf("unknown key %q", name))
	return 0
}

func (p *parser) value(e *Event, f field) {
	switch f {
	case fKind:
		e.Kind = p.kind()
	case fProc:
		e.Proc = p.text()
	case fTopic:
		e.Topic = p.text()
	case fText:
		e.Text = p.text()
	case fTime:
		e.Time = p.integer(math.MinInt64, math.MaxInt64)
	case fNode:
		e.Node = p.int32()
	case fPartition:
		e.Partition = p.int32()
	case fEpoch:
		e.Epoch = p.int32()
	case fBase:
		e.Base = p.integer(math.MinInt64, math.MaxInt64)
	case fNext:
		e.Next = p.integer(math.MinInt64, math.MaxInt64)
	case fOffset:
		e.Offset = p.integer(math.MinInt64, math.MaxInt64)
	case fPID:
		e.ProducerID = p.integer(math.MinInt64, math.MaxInt64)
	case fPEpoch:
		e.ProducerEpoch = int16(p.integer(math.MinInt16, math.MaxInt16))
	case fSeq:
		e.BaseSeq = p.int32()
	case fLastSeq:
		e.LastSeq = p.int32()
	}
}

func (p *parser) kind() Kind {
	name := p.bytes()
	for k := Start; int(k) < len(kinds); k++ {
		if kinds[k].name == string(name) {
			return k
		}
	}
	p.fail(fmt.Sprintf("unknown kind %q", name))
	return 0
}

// Decoder reads events line by line.
type Decoder struct {
	name string
	in   *bufio.Scanner
	line int
	cut  bool // the last token had no newline
}

// NewDecoder reads from r; name appears in errors. It buffers by itself.
func NewDecoder(name string, r io.Reader) *Decoder {
	d := &Decoder{name: name, in: bufio.NewScanner(r)}
	d.in.Buffer(nil, LineMax)
	d.in.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			d.cut = true
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	return d
}

// Next is the next event; io.EOF after the last. Errors are prefixed name:line. A last line without a newline is an
// error even if it parses: its writer was cut off.
func (d *Decoder) Next() (Event, error) {
	if !d.in.Scan() {
		if err := d.in.Err(); err != nil {
			return Event{}, fmt.Errorf("%s:%d: event: %w", d.name, d.line+1, err)
		}
		return Event{}, io.EOF
	}
	d.line++
	if d.cut {
		line := d.in.Bytes()
		return Event{}, fmt.Errorf("%s:%d: event: line of %d bytes is cut off: %.60q", d.name, d.line, len(line), line)
	}
	e, err := Parse(d.in.Bytes())
	if err != nil {
		return Event{}, fmt.Errorf("%s:%d: %w", d.name, d.line, err)
	}
	return e, nil
}

// Line is the number of the line that Next read last, from 1.
func (d *Decoder) Line() int { return d.line }

// ReadAll reads all events of r. On an error it returns those before it, too.
func ReadAll(name string, r io.Reader) ([]Event, error) {
	var all []Event
	d := NewDecoder(name, r)
	for {
		e, err := d.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}
