package event

import "io"

// LineMax is the longest line that a Decoder takes, in bytes.
const LineMax = 1 << 20

// Parse reads one line, with or without its newline. The error says what and at which byte.
func Parse(line []byte) (Event, error) { panic("event: Parse") }

// Decoder reads events line by line.
type Decoder struct {
	name string
	line int
}

// NewDecoder reads from r; name appears in errors. It buffers by itself.
func NewDecoder(name string, r io.Reader) *Decoder { panic("event: NewDecoder") }

// Next is the next event; io.EOF after the last. Errors are prefixed name:line. A last line without a newline is an
// error: its writer was cut off.
func (d *Decoder) Next() (Event, error) { panic("event: Next") }

// Line is the number of the line that Next read last, from 1.
func (d *Decoder) Line() int { return d.line }

// ReadAll reads all events of r.
func ReadAll(name string, r io.Reader) ([]Event, error) { panic("event: ReadAll") }
