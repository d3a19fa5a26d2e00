package kernel

// PipeSize is how many bytes a pipe holds, and pipeAtomic how long a write may be that is made whole or not at all.
const (
	PipeSize   = 64 << 10
	pipeAtomic = 4096
)

// pipe is what the two ends share.
type pipe struct {
	k       *Kernel
	b       []byte
	noRead  bool // the end to read from is closed
	noWrite bool
}

type (
	pipeReader struct{ *pipe }
	pipeWriter struct{ *pipe }
)

// Pipe is pipe2(2): what is written to w is read from r. As of a socket, reads and writes that would wait answer EAGAIN.
func (p *Proc) Pipe() (r, w int, e Errno) {
	c := p.enter("pipe", nil, 0)
	both := &pipe{k: p.k}
	r, w = -1, -1
	if r, e = p.allocate(pipeReader{both}); e == OK {
		if w, e = p.allocate(pipeWriter{both}); e != OK {
			p.files[r] = nil
			r = -1
		}
	}
	p.leave(c, int64(r), int64(w), e)
	return r, w, e
}

func (pipeReader) Kind() FileKind { return KindPipe }
func (pipeWriter) Kind() FileKind { return KindPipe }

func (r pipeReader) Read(_ *Proc, dst []byte) (int, Errno) {
	if len(dst) > 0 && len(r.b) == 0 && !r.noWrite {
		return 0, EAGAIN
	}
	n := copy(dst, r.b)
	r.b = append(r.b[:0], r.b[n:]...)
	r.k.Kick()
	return n, OK
}

func (pipeReader) Write(*Proc, []byte) (int, Errno) { return 0, EBADF }

func (r pipeReader) Ready(m Mode) bool {
	return m&Readable != 0 && (len(r.b) > 0 || r.noWrite)
}

func (r pipeReader) Close(*Proc) {
	r.noRead, r.b = true, nil
	r.k.Kick()
}

func (pipeWriter) Read(*Proc, []byte) (int, Errno) { return 0, EBADF }

func (w pipeWriter) Write(_ *Proc, src []byte) (int, Errno) {
	free := PipeSize - len(w.b)
	switch {
	case len(src) == 0:
		return 0, OK
	case w.noRead:
		return 0, EPIPE
	case free == 0 || free < len(src) && len(src) <= pipeAtomic:
		return 0, EAGAIN
	}
	n := min(free, len(src))
	w.b = append(w.b, src[:n]...)
	w.k.Kick()
	return n, OK
}

// Ready for writing needs room for any write that is made whole.
func (w pipeWriter) Ready(m Mode) bool {
	return m&Writable != 0 && (w.noRead || PipeSize-len(w.b) >= pipeAtomic)
}

func (w pipeWriter) Close(*Proc) {
	w.noWrite = true
	w.k.Kick()
}
