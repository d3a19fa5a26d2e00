package wire

import (
	"math/bits"
	"sync"
)

const (
	bufferMin      = 4 << 10 // the smallest pooled buffer, in bytes
	bufferMinShift = 12
	bufferClasses  = 16 // the largest pooled buffer is bufferMin << 15 = 128 MiB
)

// Buffer is a pooled byte slice. B has the capacity of its class and any length.
type Buffer struct {
	B     []byte
	class int
}

// Pool keeps buffers of power-of-two sizes for reuse; idle ones are left to the
// garbage collector. The zero value is ready.
type Pool struct{ classes [bufferClasses]sync.Pool }

// classOf is the smallest class that holds n bytes; bufferClasses if none does.
func classOf(n int) int {
	if n <= bufferMin {
		return 0
	}
	return min(bits.Len(uint(n-1))-bufferMinShift, bufferClasses)
}

// ClassBytes is the capacity that Get(n) returns.
func ClassBytes(n int) int {
	if c := classOf(n); c < bufferClasses {
		return bufferMin << c
	}
	return n
}

// Get returns a buffer of capacity at least n and length n, with old contents.
func (p *Pool) Get(n int) *Buffer {
	c := classOf(n)
	if c == bufferClasses {
		return &Buffer{B: make([]byte, n), class: c}
	}
	if b, ok := p.classes[c].Get().(*Buffer); ok {
		b.B = b.B[:n]
		return b
	}
	return &Buffer{B: make([]byte, n, bufferMin<<c), class: c}
}

// tryGet returns a buffer only if one lies ready: it costs no memory.
func (p *Pool) tryGet(n int) *Buffer {
	c := classOf(n)
	if c == bufferClasses {
		return nil
	}
	b, ok := p.classes[c].Get().(*Buffer)
	if !ok {
		return nil
	}
	b.B = b.B[:n]
	return b
}

// Put gives a buffer back; nobody may touch it afterwards. Nil is allowed.
func (p *Pool) Put(b *Buffer) {
	if b == nil || b.class >= bufferClasses {
		return
	}
	b.B = b.B[:0]
	p.classes[b.class].Put(b)
}
