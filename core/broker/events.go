package broker

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"

	"trialog/core/event"
)

// eventsEnv names the descriptor that takes the events.
const eventsEnv = "TRIALOG_EVENTS_FD"

// EventsFromEnv opens the descriptor named by TRIALOG_EVENTS_FD; nil when the
// variable is not set.
func EventsFromEnv() (io.Writer, error) {
	text := os.Getenv(eventsEnv)
	if text == "" {
		return nil, nil
	}
	fd, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("broker: %s=%q is not a descriptor", eventsEnv, text)
	}
	f := os.NewFile(uintptr(fd), "events")
	if f == nil {
		return nil, fmt.Errorf("broker: %s=%d is not an open descriptor", eventsEnv, fd)
	}
	return f, nil
}

// sink writes events one after the other, in the order of the calls.
type sink struct {
	log *slog.Logger

	mu     sync.Mutex
	w      io.Writer
	buf    []byte
	broken bool
}

func newSink(w io.Writer, log *slog.Logger) *sink {
	if w == nil {
		return nil
	}
	return &sink{w: w, log: log}
}

// emit writes the event before it returns. A sink that fails is reported once and
// then left alone: judges see a stream that ends.
func (s *sink) emit(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return
	}
	s.buf = e.AppendTo(s.buf[:0])
	if _, err := s.w.Write(s.buf); err != nil {
		s.broken = true
		s.log.Error("events are lost from here on", "err", err)
	}
}
