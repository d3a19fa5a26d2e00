package kernel

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// piped runs a guest that has a pipe.
func piped(t *testing.T, body func(p *Proc, r, w int)) {
	t.Helper()
	bothWays(t, func(t *testing.T, start starter) {
		k := start(Options{Seed: 1})
		p := spawn(k, "a", func(p *Proc) {
			r, w, e := p.Pipe()
			assert.Equal(t, []any{3, 4, OK}, []any{r, w, e})
			body(p, r, w)
		})
		require.NoError(t, k.Run(allDead(k)))
		assert.Equal(t, ReasonExit, p.Exited().Reason)
	})
}

// ready asks for readiness without waiting.
func ready(p *Proc, fd int, m Mode) bool {
	subs := []Poll{p.PollOn(int32(fd), m)}
	p.PollWait(subs, 0)
	yes, _ := subs[0].Ready()
	return yes
}

func TestAPipeCarriesBytesInOrder(t *testing.T) {
	piped(t, func(p *Proc, r, w int) {
		var buf [8]byte
		n, e := p.Read(r, buf[:])
		assert.Equal(t, []any{0, EAGAIN}, []any{n, e})
		assert.False(t, ready(p, r, Readable))
		assert.True(t, ready(p, w, Writable))
		assert.False(t, ready(p, r, Writable), "the wrong end")
		for _, s := range []string{"one ", "two ", "three"} {
			n, e = p.Write(w, []byte(s))
			assert.Equal(t, []any{len(s), OK}, []any{n, e})
		}
		assert.True(t, ready(p, r, Readable))
		for _, want := range []string{"one two ", "three"} {
			n, e = p.Read(r, buf[:])
			assert.Equal(t, []any{want, OK}, []any{string(buf[:n]), e})
		}
		_, e = p.Write(r, buf[:1])
		assert.Equal(t, EBADF, e)
		_, e = p.Read(w, buf[:1])
		assert.Equal(t, EBADF, e)
		_, e = p.Pread(r, buf[:1], 0)
		assert.Equal(t, ESPIPE, e)
		st, e := p.Fstat(r)
		assert.Equal(t, []any{KindPipe, OK}, []any{st.Kind, e})
	})
}

func TestAPipeIsFull(t *testing.T) {
	piped(t, func(p *Proc, r, w int) {
		n, e := p.Write(w, make([]byte, PipeSize-pipeAtomic+1))
		assert.Equal(t, []any{PipeSize - pipeAtomic + 1, OK}, []any{n, e})
		assert.False(t, ready(p, w, Writable), "not every whole write has room")
		n, e = p.Write(w, make([]byte, pipeAtomic))
		assert.Equal(t, []any{0, EAGAIN}, []any{n, e}, "whole or not at all")
		n, e = p.Write(w, make([]byte, pipeAtomic+1))
		assert.Equal(t, []any{pipeAtomic - 1, OK}, []any{n, e}, "a long write is made in part")
		n, e = p.Write(w, make([]byte, pipeAtomic+1))
		assert.Equal(t, []any{0, EAGAIN}, []any{n, e})
		n, e = p.Read(r, make([]byte, pipeAtomic))
		assert.Equal(t, []any{pipeAtomic, OK}, []any{n, e})
		assert.True(t, ready(p, w, Writable))
	})
}

func TestTheEndsOfAPipe(t *testing.T) {
	piped(t, func(p *Proc, r, w int) {
		p.Write(w, []byte("last"))
		assert.Equal(t, OK, p.Close(w))
		var buf bytes.Buffer
		for b := make([]byte, 3); ; {
			assert.True(t, ready(p, r, Readable))
			n, e := p.Read(r, b)
			assert.Equal(t, OK, e)
			if n == 0 {
				break
			}
			buf.Write(b[:n])
		}
		assert.Equal(t, "last", buf.String())
	})
	piped(t, func(p *Proc, r, w int) {
		p.Write(w, make([]byte, PipeSize))
		assert.False(t, ready(p, w, Writable))
		assert.Equal(t, OK, p.Close(r))
		assert.True(t, ready(p, w, Writable), "the error does not wait")
		_, e := p.Write(w, []byte("x"))
		assert.Equal(t, EPIPE, e)
		n, e := p.Write(w, nil)
		assert.Equal(t, []any{0, OK}, []any{n, e})
	})
}

func TestNoDescriptorsLeftForAPipe(t *testing.T) {
	piped(t, func(p *Proc, r, w int) {
		for fd := w + 1; fd < FilesMax-1; fd++ {
			p.Install(fd, p.k.NewSink("x"))
		}
		a, b, e := p.Pipe()
		assert.Equal(t, []any{-1, -1, EMFILE}, []any{a, b, e})
		assert.Nil(t, p.File(FilesMax-1), "the end that had a place gave it back")
	})
}
