package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trialog/checker/sweep/script"
	"trialog/core/kafka"
	"trialog/core/seglog/twin"
)

// state is what a log directory holds, as the obvious log knows it.
type state struct{ logs []held }

// held is one log; log is nil if there is none of that name.
type held struct {
	tp  kafka.TopicPartition
	id  byte
	log *twin.Log
}

func (s *state) of(tp kafka.TopicPartition) *held {
	for i := range s.logs {
		if s.logs[i].tp == tp {
			return &s.logs[i]
		}
	}
	s.logs = append(s.logs, held{tp: tp})
	return &s.logs[len(s.logs)-1]
}

func (s *state) clone() *state {
	out := &state{logs: slices.Clone(s.logs)}
	for i := range out.logs {
		if l := out.logs[i].log; l != nil {
			out.logs[i].log = l.Clone()
		}
	}
	return out
}

// moment is what may be there when a process is stopped: before it did a step, after it, or half way.
type moment struct {
	before *state
	after  *state // nil between two steps
	// unknown: it is a recovery that has not yet shown what it found.
	unknown bool
	// pass is the compaction that the step is, of the log cleaned; nil if it is none.
	pass    *twin.Compaction
	cleaned kafka.TopicPartition
	// wrong says why what was shown is not allowed, "" if it is.
	wrong string
}

// moments follows what a process said: moments[n] is after its first n lines.
func moments(s *script.Script, lines []string, from moment) ([]moment, error) {
	now := from
	list := []moment{now}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		var err error
		now.wrong = ""
		switch word {
		case ">":
			now, err = now.begin(s, rest)
		case "<":
			now, err = now.end(s, rest)
		case "x":
			now, err = now.fail(s, rest)
		case "found":
			now, err = now.find(rest)
		case "cleaned":
			now, err = now.passed(rest)
		case "=":
			now, err = now.show(rest)
		}
		if err != nil {
			return nil, fmt.Errorf("sweep: script %s: %q: %w", s.Name, line, err)
		}
		list = append(list, now)
	}
	return list, nil
}

func stepOf(s *script.Script, text string) (*script.Step, error) {
	n, err := strconv.Atoi(strings.SplitN(text, " ", 2)[0])
	if err != nil || n < 1 || n > len(s.Steps) {
		return nil, fmt.Errorf("no step")
	}
	return &s.Steps[n-1], nil
}

// changes tells whether a step changes what a log holds or promises.
func changes(v script.Verb) bool {
	switch v {
	case script.Start, script.Tidy, script.Observe, script.Fault:
		return false
	}
	return true
}

// begin: the step may now have happened or not.
func (m moment) begin(s *script.Script, text string) (moment, error) {
	st, err := stepOf(s, text)
	if err != nil || m.unknown || !changes(st.Verb) {
		return m, err
	}
	next := m.before
	if m.after != nil {
		next = m.after
	}
	next = next.clone()
	if l := next.of(st.Log).log; st.Verb == script.Compact && l != nil {
		return moment{before: m.before, after: next, cleaned: st.Log, pass: &twin.Compaction{Bound: l.Bound(), NowMs: st.NowMs}}, nil
	}
	next.apply(s, st)
	return moment{before: m.before, after: next}, nil
}

// end: the step has happened.
func (m moment) end(s *script.Script, text string) (moment, error) {
	st, err := stepOf(s, text)
	if err != nil {
		return m, err
	}
	if m.unknown {
		if st.Verb == script.Observe { // what was not shown is not there
			m = moment{before: m.before}
		}
		return m, nil
	}
	if m.after == nil || !changes(st.Verb) {
		return m, nil
	}
	return moment{before: m.after}, nil
}

// fail: what was not appended, or made durable, is as it was. Whatever else fails may have happened by half.
func (m moment) fail(s *script.Script, text string) (moment, error) {
	st, err := stepOf(s, text)
	if err != nil || m.unknown {
		return m, err
	}
	switch st.Verb {
	case script.Append, script.Follow, script.Flush, script.Checkpoint, script.Close:
		m.after = nil
	}
	return m, nil
}

// find: a recovery found a log under this id; one whose making was cut short may have none.
func (m moment) find(text string) (moment, error) {
	if !m.unknown {
		return m, nil
	}
	f, err := readFound(text)
	m.before = m.before.clone()
	m.before.of(f.tp).id = f.id
	return m, err
}

// show: a recovery shows a log, and from now on keeps what it showed; so does a compaction.
func (m moment) show(text string) (moment, error) {
	switch {
	case m.unknown:
	case m.pass != nil:
		return m.showCleaned(text)
	default:
		return m, nil
	}
	s, err := readSeen(text, func(b []byte) []byte { return b })
	if err != nil {
		return m, err
	}
	m.before = m.before.clone()
	h := m.before.of(s.tp)
	if m.after == nil {
		h.log = adopted(h.log, nil, s.outcome)
		return m, nil
	}
	m.after = m.after.clone()
	a := m.after.of(s.tp)
	h.log = adopted(h.log, a.log, s.outcome)
	if a.log = nil; h.log != nil {
		a.log = h.log.Clone()
	}
	return m, nil
}

// passed: the compaction says what part of the log it was about.
func (m moment) passed(text string) (moment, error) {
	if m.pass == nil {
		return m, fmt.Errorf("nobody compacts")
	}
	pass, most := *m.pass, m.pass.Bound
	if _, err := fmt.Sscanf(text[strings.IndexByte(text, ' ')+1:], "%d %d", &pass.FirstDirty, &pass.Bound); err != nil {
		return m, err
	}
	if pass.Bound > most {
		m.wrong = fmt.Sprintf("the compaction went up to %d, above the smallest of HW, last stable offset and active segment, %d", pass.Bound, most)
	}
	m.pass = &pass
	return m, nil
}

func (m moment) showCleaned(text string) (moment, error) {
	s, err := readSeen(text, func(b []byte) []byte { return b })
	if err != nil {
		return m, err
	}
	if err := m.before.of(m.cleaned).log.CheckCompacted(*m.pass, s.outcome); err != nil {
		m.wrong = "after the compaction: " + err.Error()
	}
	m.after = m.before.clone()
	m.after.of(m.cleaned).log.Adopt(s.outcome)
	return m, nil
}

// adopted goes on with what a crash in the middle of a step left: as the log that knows all of it.
func adopted(before, after *twin.Log, o twin.Outcome) *twin.Log {
	base := before
	if base == nil || after != nil && after.EndOffset() >= o.End {
		base = after
	}
	if base == nil {
		return nil
	}
	base = base.Clone()
	base.Adopt(o)
	return base
}

// apply does a step to the obvious log.
func (s *state) apply(sc *script.Script, st *script.Step) {
	for i := range sc.Logs {
		tp := sc.Logs[i].Partition
		h := s.of(tp)
		switch {
		case st.Verb == script.Open && tp == st.Log:
			if h.log == nil {
				h.log, h.id = twin.New(sc.Logs[i].Settings), st.ID[len(st.ID)-1]
			}
		case h.log == nil || !st.All && st.Verb != script.Close && st.Verb != script.Checkpoint && tp != st.Log:
		case st.Verb == script.Delete:
			h.log = nil
		default:
			apply(h.log, st)
		}
	}
}

func apply(l *twin.Log, st *script.Step) {
	offset := st.Offset
	if offset == script.End {
		offset = l.EndOffset()
	}
	switch st.Verb {
	case script.Append:
		l.Append(st.Batch.Bytes(), st.Batch.Epoch)
	case script.Follow:
		l.AppendFollower(st.Batch.Follower())
	case script.HighWatermark:
		l.SetHighWatermark(offset)
	case script.Flush:
		l.Flush(l.EndOffset())
	case script.Epoch:
		l.StartEpoch(kafka.LeaderEpoch(offset))
	case script.Truncate:
		l.Truncate(offset)
	case script.Restart:
		l.TruncateFully(offset)
	case script.DeleteRecords:
		l.DeleteRecords(offset)
	case script.Retain:
		l.Retain(st.NowMs)
	case script.Checkpoint:
		l.Checkpoint()
	case script.Close:
		l.Close()
	}
}

// judge says why an image must not have recovered to this, "" if it may have.
func (m *moment) judge(s *script.Script, r *recovered) string {
	if r.wrong != "" {
		return r.wrong
	}
	for i := range s.Logs {
		if why := m.judgeLog(s.Logs[i].Partition, s.Recovery(), r); why != "" {
			return fmt.Sprintf("%s: %s", s.Logs[i].Partition, why)
		}
	}
	return ""
}

func (m *moment) judgeLog(tp kafka.TopicPartition, recovery *script.Script, r *recovered) string {
	before, after := m.before.of(tp), m.before.of(tp)
	if m.after != nil {
		after = m.after.of(tp)
	}
	at := slices.IndexFunc(r.found, func(f found) bool { return f.tp == tp })
	switch {
	case at < 0 && before.log != nil && after.log != nil:
		return "the log is gone"
	case at < 0:
		return ""
	case before.log == nil && after.log == nil:
		return "a log that was deleted is back"
	case r.found[at].id != before.id && r.found[at].id != after.id && before.log != nil:
		return fmt.Sprintf("its topic id is %d, want %d", r.found[at].id, before.id)
	}
	first, second := outcomeOf(r.first, tp), outcomeOf(r.second, tp)
	if first == nil || second == nil {
		return "it was not shown"
	}
	var allowed twin.Allowed
	switch {
	case before.log == nil:
		allowed = after.log.Crashed()
	case m.pass != nil && m.cleaned == tp:
		allowed = before.log.Compacting(*m.pass)
	case after.log == nil || m.after == nil:
		allowed = before.log.Crashed()
	default:
		allowed = twin.Between(before.log, after.log)
	}
	if err := allowed.Check(*first); err != nil {
		return "after the crash: " + err.Error()
	}
	next := adopted(before.log, after.log, *first)
	for i := range recovery.Steps {
		if st := &recovery.Steps[i]; st.Number < 8 && changes(st.Verb) && st.Verb != script.Open {
			apply(next, st)
		}
	}
	if err := next.Check(*second); err != nil {
		return "after it went on and stopped: " + err.Error()
	}
	return ""
}

func outcomeOf(list []seen, tp kafka.TopicPartition) *twin.Outcome {
	for i := range list {
		if list[i].tp == tp {
			return &list[i].outcome
		}
	}
	return nil
}
