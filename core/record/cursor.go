package record

import (
	"encoding/binary"
	"math"
)

// cursor reads from the front of buf. The first thing that does not fit sets bad, empties buf, and makes all later
// reads zero; the caller looks at bad once, at the end.
type cursor struct {
	buf []byte
	bad string
}

func (c *cursor) fail(what string) {
	if c.bad == "" {
		c.bad = what
	}
	c.buf = nil
}

// varlong reads a zigzag varint of up to 64 bits.
func (c *cursor) varlong() int64 {
	v, n := binary.Varint(c.buf)
	if n <= 0 {
		c.fail("bad varint")
		return 0
	}
	c.buf = c.buf[n:]
	return v
}

// varint reads a zigzag varint of up to 32 bits.
func (c *cursor) varint() int64 {
	v := c.varlong()
	if v < math.MinInt32 || v > math.MaxInt32 {
		c.fail("varint over 32 bits")
		return 0
	}
	return v
}

// take cuts off n bytes; a view.
func (c *cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.buf)) {
		c.fail("size out of range")
		return nil
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b
}

// bytes reads a size and that many bytes; size -1 is null, which is nil. An empty string is not nil.
func (c *cursor) bytes() []byte {
	n := c.varint()
	if n == -1 {
		return nil
	}
	return c.take(n)
}

// skipHeaders reads n headers; a key may not be null. Each takes two bytes at least, which bounds the loop.
func (c *cursor) skipHeaders(n int) {
	if n < 0 || n > len(c.buf)/2 {
		c.fail("header count out of range")
		return
	}
	for range n {
		key := c.bytes()
		c.bytes()
		if key == nil {
			c.fail("null header key")
			return
		}
	}
}
