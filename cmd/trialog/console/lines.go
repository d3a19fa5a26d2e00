package console

import (
	"fmt"
	"strings"

	"trialog/core/client"
	"trialog/core/record"
)

// LineFormat says how a line becomes a record: [headers delimiter] [key separator] value.
type LineFormat struct {
	Key              bool   // parse.key
	KeySeparator     string // key.separator
	Headers          bool   // parse.headers
	HeadersDelimiter string // headers.delimiter: between headers and the rest
	HeadersSeparator string // headers.separator: between two headers. NB: text, where Kafka's tool reads a regular expression
	HeaderSeparator  string // headers.key.separator: between a header's key and its value
	IgnoreError      bool   // ignore.error: a part without its separator belongs to the value, a header has no value
	NullMarker       string // null.marker: this text is null
	nullable         bool   // there is a marker
}

// NewLineFormat is Kafka's default, changed by what p says.
func NewLineFormat(p *Properties) (*LineFormat, error) {
	f := &LineFormat{KeySeparator: "\t", HeadersDelimiter: "\t", HeadersSeparator: ",", HeaderSeparator: ":"}
	for _, row := range []struct {
		name string
		to   *bool
	}{{"parse.key", &f.Key}, {"parse.headers", &f.Headers}, {"ignore.error", &f.IgnoreError}} {
		if err := p.truth(row.name, row.to); err != nil {
			return nil, err
		}
	}
	p.text("key.separator", &f.KeySeparator)
	p.text("headers.delimiter", &f.HeadersDelimiter)
	p.text("headers.separator", &f.HeadersSeparator)
	p.text("headers.key.separator", &f.HeaderSeparator)
	p.text("null.marker", &f.NullMarker)
	_, f.nullable = p.values["null.marker"]
	if err := p.rest(); err != nil {
		return nil, err
	}
	return f, f.check()
}

// check refuses separators that cannot be told apart.
func (f *LineFormat) check() error {
	type part struct{ name, text string }
	parts := []part{
		{"headers.delimiter", f.HeadersDelimiter}, {"headers.separator", f.HeadersSeparator}, {"headers.key.separator", f.HeaderSeparator},
	}
	separators := len(parts)
	if f.nullable {
		parts = append(parts, part{"null.marker", f.NullMarker}, part{"key.separator", f.KeySeparator})
	}
	for i, a := range parts {
		if a.name != "null.marker" && a.text == "" {
			return fmt.Errorf("%s must not be empty", a.name)
		}
		for _, b := range parts[:i] {
			if a.text == b.text && (i < separators || a.name == "null.marker" || b.name == "null.marker") {
				return fmt.Errorf("%s and %s are both %q", b.name, a.name, a.text)
			}
		}
	}
	if f.KeySeparator == "" {
		return fmt.Errorf("key.separator must not be empty")
	}
	return nil
}

// Parse makes a record of line, whose number (from 1) is for errors.
func (f *LineFormat) Parse(number int64, line string) (client.Record, error) {
	var r client.Record
	rest := line
	headers, found, err := f.cut(f.Headers, &rest, f.HeadersDelimiter, "headers delimiter", number, line)
	if err != nil {
		return r, err
	}
	if found && !f.null(headers) {
		if r.Headers, err = f.headers(number, headers); err != nil {
			return r, err
		}
	}
	key, found, err := f.cut(f.Key, &rest, f.KeySeparator, "key separator", number, line)
	if err != nil {
		return r, err
	}
	if found {
		r.Key = f.bytes(key)
	}
	r.Value = f.bytes(rest)
	return r, nil
}

// cut takes what stands before separator off rest.
func (f *LineFormat) cut(enabled bool, rest *string, separator, what string, number int64, line string) (string, bool, error) {
	if !enabled {
		return "", false, nil
	}
	before, after, found := strings.Cut(*rest, separator)
	if !found {
		if f.IgnoreError {
			return "", false, nil
		}
		return "", false, fmt.Errorf("line %d: no %s %q in %s", number, what, separator, shorten(line))
	}
	*rest = after
	return before, true, nil
}

// headers splits the headers of a line. Empty ones at the end do not count, as with Kafka's tool.
func (f *LineFormat) headers(number int64, text string) ([]record.RecordHeader, error) {
	pairs := strings.Split(text, f.HeadersSeparator)
	for len(pairs) > 1 && pairs[len(pairs)-1] == "" {
		pairs = pairs[:len(pairs)-1]
	}
	var out []record.RecordHeader
	for _, pair := range pairs {
		key, value, found := strings.Cut(pair, f.HeaderSeparator)
		switch {
		case !found && !f.IgnoreError:
			return nil, fmt.Errorf("line %d: no header key separator %q in header %s", number, f.HeaderSeparator, shorten(pair))
		case !found:
			out = append(out, record.RecordHeader{Key: pair})
		case f.null(key):
			return nil, fmt.Errorf("line %d: the key of a header is the null marker %q, and cannot be null", number, f.NullMarker)
		default:
			out = append(out, record.RecordHeader{Key: key, Value: f.bytes(value)})
		}
	}
	return out, nil
}

func (f *LineFormat) null(text string) bool { return f.nullable && text == f.NullMarker }

// bytes is nil for the null marker.
func (f *LineFormat) bytes(text string) []byte {
	if f.null(text) {
		return nil
	}
	return []byte(text)
}

// shorten quotes the beginning of a text.
func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
