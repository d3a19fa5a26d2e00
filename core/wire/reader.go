package wire

import "encoding/binary"

// cursor walks a request body. A read past the end sets bad and yields zero
// values; the caller checks once.
type cursor struct {
	src []byte
	bad bool
}

func (c *cursor) span(n int) []byte {
	if n < 0 || n > len(c.src) {
		c.bad, c.src = true, nil
		return nil
	}
	b := c.src[:n:n]
	c.src = c.src[n:]
	return b
}

func (c *cursor) int16() int16 {
	if b := c.span(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *cursor) int32() int32 {
	if b := c.span(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// uvarint reads at most five bytes: a sixth, or a value over 32 bits, is bad.
func (c *cursor) uvarint() uint32 {
	v, n := binary.Uvarint(c.src[:min(len(c.src), 5)])
	if n <= 0 || v > 1<<32-1 {
		c.bad, c.src = true, nil
		return 0
	}
	c.src = c.src[n:]
	return uint32(v)
}

// length reads the length of a nullable string, or of bytes when wide; -1 is
// null.
func (c *cursor) length(flexible, wide bool) int {
	switch {
	case flexible:
		return int(c.uvarint()) - 1
	case wide:
		return int(c.int32())
	default:
		return int(c.int16())
	}
}

// nullable reads a nullable string or bytes; ok is false for null.
func (c *cursor) nullable(flexible, wide bool) (b []byte, ok bool) {
	n := c.length(flexible, wide)
	if n == -1 {
		return nil, false
	}
	return c.span(n), true
}

// arrayLen reads the length of an array whose elements take at least
// elementMin bytes each; null counts as empty, as in kmsg.
func (c *cursor) arrayLen(flexible bool, elementMin int) int {
	n := c.length(flexible, true)
	if n < -1 || n > len(c.src)/elementMin {
		c.bad, c.src = true, nil
		return 0
	}
	return max(n, 0)
}

// skipTags passes over a tag buffer: unknown tags are ignored (KIP-482).
func (c *cursor) skipTags() {
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		c.uvarint()
		c.span(int(c.uvarint()))
	}
}
