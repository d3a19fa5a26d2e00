package event

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// parser reads the little of JSON that a line needs: one flat object of strings and integers. The first failure is
// kept; after it nothing is consumed.
type parser struct {
	in    []byte
	pos   int
	err   error
	buf   []byte // for strings with escapes
	after int    // index of the key that follows on the last one in the order of keys
}

func (p *parser) fail(what string) {
	if p.err == nil {
		p.err = fmt.Errorf("byte %d: %s", p.pos, what)
	}
}

// peek skips white space and is the next byte, or 0 at the end.
func (p *parser) peek() byte {
	for p.pos < len(p.in) {
		switch c := p.in[p.pos]; c {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return c
		}
	}
	return 0
}

func (p *parser) accept(c byte) bool {
	if p.err != nil || p.peek() != c {
		return false
	}
	p.pos++
	return true
}

func (p *parser) expect(c byte) {
	if !p.accept(c) {
		p.fail(fmt.Sprintf("want %q, have %s", c, p.have()))
	}
}

func (p *parser) end() {
	if p.err == nil && (p.peek() != 0 || p.pos < len(p.in)) {
		p.fail("something after the object: " + p.have())
	}
}

func (p *parser) have() string {
	if p.pos >= len(p.in) {
		return "the end"
	}
	return fmt.Sprintf("%q", p.in[p.pos])
}

func (p *parser) int32() int32 { return int32(p.integer(math.MinInt32, math.MaxInt32)) }

// integer reads -?(0|[1-9][0-9]*) within the bounds.
func (p *parser) integer(low, high int64) int64 {
	negative := p.accept('-')
	if p.err != nil {
		return 0
	}
	start := p.pos
	var n uint64
	for p.pos < len(p.in) && '0' <= p.in[p.pos] && p.in[p.pos] <= '9' {
		digit := uint64(p.in[p.pos] - '0')
		if n >= math.MaxUint64/10 && n > (math.MaxUint64-digit)/10 {
			p.fail("number too large")
			return 0
		}
		n = n*10 + digit
		p.pos++
	}
	if p.pos == start || p.in[start] == '0' && p.pos > start+1 {
		p.fail("no integer: " + p.have())
		return 0
	}
	switch {
	case negative && n <= uint64(math.MaxInt64)+1 && -int64(n) >= low:
		return -int64(n)
	case !negative && n <= uint64(high):
		return int64(n)
	}
	p.fail(fmt.Sprintf("number outside %d to %d", low, high))
	return 0
}

// text reads a string.
func (p *parser) text() string { return string(p.bytes()) }

// bytes reads a string: a view that is good until the next one.
func (p *parser) bytes() []byte {
	p.expect('"')
	if p.err != nil {
		return nil
	}
	for i, c := range p.in[p.pos:] {
		if c == '"' {
			plain := p.in[p.pos : p.pos+i]
			p.pos += i + 1
			return plain
		}
		if c < 0x20 || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return p.special()
}

// special reads the rest of a string that is not plain ASCII.
func (p *parser) special() []byte {
	p.buf = p.buf[:0]
	for from := p.pos; p.pos < len(p.in); {
		c := p.in[p.pos]
		if c >= 0x20 && c != '"' && c != '\\' {
			p.pos++
			continue
		}
		if c < 0x20 {
			p.fail("control character in a string")
			return nil
		}
		plain := p.in[from:p.pos]
		p.pos++
		if c == '"' {
			if len(p.buf) > 0 {
				plain = append(p.buf, plain...)
			}
			if !utf8.Valid(plain) {
				p.fail("string is not UTF-8")
				return nil
			}
			return plain
		}
		p.buf = append(p.buf, plain...)
		if err := p.escape(); err != nil {
			p.fail(err.Error())
			return nil
		}
		from = p.pos
	}
	p.fail("string without an end")
	return nil
}

var errEscape = errors.New("bad escape")

// escape reads what follows a backslash.
func (p *parser) escape() error {
	if p.pos >= len(p.in) {
		return errEscape
	}
	c := p.in[p.pos]
	p.pos++
	switch c {
	case '"', '\\', '/':
		p.buf = append(p.buf, c)
	case 'b':
		p.buf = append(p.buf, '\b')
	case 'f':
		p.buf = append(p.buf, '\f')
	case 'n':
		p.buf = append(p.buf, '\n')
	case 'r':
		p.buf = append(p.buf, '\r')
	case 't':
		p.buf = append(p.buf, '\t')
	case 'u':
		return p.unicode()
	default:
		return errEscape
	}
	return nil
}

// unicode reads the four digits after \u, and a second \uXXXX if the first is half of a pair. A lone half is refused.
func (p *parser) unicode() error {
	r, ok := p.hex4()
	if !ok {
		return errEscape
	}
	if utf16.IsSurrogate(r) {
		if p.pos+1 >= len(p.in) || p.in[p.pos] != '\\' || p.in[p.pos+1] != 'u' {
			return errEscape
		}
		p.pos += 2
		low, ok := p.hex4()
		r = utf16.DecodeRune(r, low)
		if !ok || r == utf8.RuneError {
			return errEscape
		}
	}
	p.buf = utf8.AppendRune(p.buf, r)
	return nil
}

func (p *parser) hex4() (rune, bool) {
	if p.pos+4 > len(p.in) {
		return 0, false
	}
	var r rune
	for _, c := range p.in[p.pos : p.pos+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	p.pos += 4
	return r, true
}
