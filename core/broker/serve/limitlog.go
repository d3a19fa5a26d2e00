package serve

import (
	"context"
	"log/slog"
	"sync"

	"trialog/core/kafka"
)

// Lines that peers can cause are limited to limitLines in limitPeriodNs; what was
// left out is counted in the next line.
const (
	limitLines    = 20
	limitPeriodNs = int64(10e9)
)

type limitState struct {
	mu      sync.Mutex
	since   int64
	lines   int
	omitted int
}

// limitHandler limits the lines of another handler.
type limitHandler struct {
	slog.Handler
	state *limitState
	now   func() kafka.Now
}

func (h *limitHandler) Handle(ctx context.Context, r slog.Record) error {
	omitted, ok := h.state.take(h.now().MonoNs)
	if !ok {
		return nil
	}
	if omitted > 0 {
		r.AddAttrs(slog.Int("omitted_before", omitted))
	}
	return h.Handler.Handle(ctx, r)
}

func (s *limitState) take(now int64) (omitted int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.since >= limitPeriodNs {
		s.since, s.lines = now, 0
		omitted, s.omitted = s.omitted, 0
	}
	if s.lines >= limitLines {
		s.omitted++
		return 0, false
	}
	s.lines++
	return omitted, true
}

func (h *limitHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limitHandler{Handler: h.Handler.WithAttrs(attrs), state: h.state, now: h.now}
}

func (h *limitHandler) WithGroup(name string) slog.Handler {
	return &limitHandler{Handler: h.Handler.WithGroup(name), state: h.state, now: h.now}
}
