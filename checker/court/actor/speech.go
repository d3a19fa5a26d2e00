package actor

import (
	"bytes"
	"time"
)

// Speech is what a process wrote to one standard stream, and when each line of it came. One goroutine writes at a time; it
// may be read once [Actor.Wait] has returned.
type Speech struct {
	start time.Time
	text  bytes.Buffer
	ends  []mark // of the lines
}

// mark is the end of a line: how many bytes there were with it, and when it came.
type mark struct {
	bytes int
	at    int64 // ns since the start of the run
}

// Write implements io.Writer. It never fails.
func (s *Speech) Write(p []byte) (int, error) {
	before := s.text.Len()
	s.text.Write(p)
	at := time.Since(s.start).Nanoseconds()
	for i, c := range p {
		if c == '\n' {
			s.ends = append(s.ends, mark{before + i + 1, at})
		}
	}
	if n := len(p); n > 0 && p[n-1] != '\n' {
		s.ends = append(s.ends, mark{before + n, at})
	}
	return len(p), nil
}

// Bytes are all of it.
func (s *Speech) Bytes() []byte { return s.text.Bytes() }

// Lines are its lines without their newlines. A line that came in pieces has the time of the last one.
func (s *Speech) Lines() []Line {
	var out []Line
	text, from := s.text.Bytes(), 0
	for i, m := range s.ends {
		if whole := text[m.bytes-1] == '\n'; !whole && i+1 < len(s.ends) {
			continue // the next mark ends this line
		}
		out = append(out, Line{m.at, bytes.TrimSuffix(text[from:m.bytes], []byte("\n"))})
		from = m.bytes
	}
	return out
}
