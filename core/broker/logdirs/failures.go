package logdirs

import (
	"fmt"

	"trialog/core/kafka"
)

// Failure is a directory that is offline, and why.
type Failure struct {
	Path string
	Err  error
}

// Failures are the directories that are offline.
func (s *Set) Failures() []Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Failure
	for _, e := range s.dirs {
		if e.failed != nil {
			all = append(all, Failure{e.path, e.failed})
		}
	}
	return all
}

// Of is the directory of a partition that is open, or that was found; "" if there is none.
func (s *Set) Of(tp kafka.TopicPartition) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.dirs {
		if e.logs != nil && e.logs.Log(tp) != nil {
			return e.path
		}
	}
	if all := s.found[tp]; len(all) > 0 {
		return all[0].dir.path
	}
	return ""
}

// Fail takes a directory offline; first is false when it was. fatal is why no broker can go on: it held the metadata, or
// was the last one.
func (s *Set) Fail(path string, err error) (first bool, fatal error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.dirs {
		if e.path == path && e.failed == nil {
			e.failed, first = err, true
		}
	}
	return first, s.fatal()
}

// Fatal is why no broker can go on, or nil.
func (s *Set) Fatal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fatal()
}

func (s *Set) fatal() error {
	left := 0
	for _, e := range s.dirs {
		if e.failed == nil {
			left++
		}
	}
	switch e := s.dirs[0]; {
	case left == 0 && len(s.dirs) > 1:
		return fmt.Errorf("broker: all log directories failed; %s: %w", e.path, e.failed)
	case left == 0:
		return fmt.Errorf("broker: log directory %s failed, there is no other: %w", e.path, e.failed)
	case e.failed != nil:
		return fmt.Errorf("broker: log directory %s, which holds the metadata, failed: %w", e.path, e.failed)
	}
	return nil
}

// Checkpoint writes the checkpoints of all directories that are online. What it returns are those that failed.
func (s *Set) Checkpoint() []Failure {
	return s.each(func(e *entry) error { return e.logs.Checkpoint() })
}

// RemoveDeleted removes files and directories that are marked for removal, if their time has come, and says when it comes
// for the next (ms, wall time), or 0. failed are the directories that failed.
func (s *Set) RemoveDeleted(nowMs int64) (nextMs int64, failed []Failure) {
	failed = s.each(func(e *entry) error {
		next, err := e.logs.RemoveDeleted(nowMs)
		if nextMs == 0 || next != 0 && next < nextMs {
			nextMs = next
		}
		return err
	})
	return nextMs, failed
}

func (s *Set) each(do func(*entry) error) (failed []Failure) {
	for _, e := range s.online() {
		if err := do(e); err != nil {
			failed = append(failed, Failure{e.path, err})
		}
	}
	return failed
}
