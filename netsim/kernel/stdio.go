package kernel

// OutputMax bounds what one process may write to its standard streams and sinks together, in bytes; more is refused
// with ENOSPC.
const OutputMax = 256 << 20

// sink is a descriptor whose writes go to the world, stamped with virtual time, outside the simulated disk.
type sink struct {
	k      *Kernel
	stream string
}

// NewSink makes a write-only file whose writes appear in Outputs under this stream name.
func (k *Kernel) NewSink(stream string) File { return &sink{k: k, stream: stream} }

// IsSink tells whether f was made by NewSink: every write succeeds at once and nothing can be read.
func IsSink(f File) bool {
	_, ok := f.(*sink)
	return ok
}

func (s *sink) Kind() FileKind                  { return KindChar }
func (s *sink) Read(*Proc, []byte) (int, Errno) { return 0, EBADF }
func (s *sink) Ready(Mode) bool                 { return true }
func (s *sink) Close(*Proc)                     {}
func (s *sink) Write(p *Proc, b []byte) (int, Errno) {
	if p.written+int64(len(b)) > OutputMax {
		return 0, ENOSPC
	}
	p.written += int64(len(b))
	s.k.outputs = append(s.k.outputs, Output{At: s.k.now, Proc: p.Name, Life: p.life, Stream: s.stream, Data: append([]byte(nil), b...)})
	return len(b), OK
}

// nullPath is the one device of every host.
const nullPath = "/dev/null"

// null is that device, open.
type null struct{}

// IsNull tells whether f is /dev/null: what is written is gone, and nothing can be read.
func IsNull(f File) bool {
	_, ok := f.(null)
	return ok
}

func (null) Kind() FileKind                       { return KindChar }
func (null) Read(*Proc, []byte) (int, Errno)      { return 0, OK }
func (null) Write(_ *Proc, b []byte) (int, Errno) { return len(b), OK }
func (null) Ready(Mode) bool                      { return true }
func (null) Close(*Proc)                          {}

// Stdin is a standard input that stays silent until End.
type Stdin struct {
	k   *Kernel
	eof bool
}

// NewStdin makes a silent standard input.
func (k *Kernel) NewStdin() *Stdin { return &Stdin{k: k} }

// End lets readers see the end of the input.
func (s *Stdin) End() {
	s.eof = true
	s.k.Kick()
}

// Kind is KindChar.
func (s *Stdin) Kind() FileKind { return KindChar }

// Read waits for the end and then reports it.
func (s *Stdin) Read(*Proc, []byte) (int, Errno) {
	if s.eof {
		return 0, OK
	}
	return 0, EAGAIN
}

// Write refuses.
func (s *Stdin) Write(*Proc, []byte) (int, Errno) { return 0, EBADF }

// Ready is true once the input has ended.
func (s *Stdin) Ready(m Mode) bool { return m == Readable && s.eof }

// Close does nothing.
func (s *Stdin) Close(*Proc) {}
