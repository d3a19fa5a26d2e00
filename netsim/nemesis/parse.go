package nemesis

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// StepsMax bounds a plan, and TimeMax every time and duration in it, so that sums of a few of them are times as well.
const (
	StepsMax = 10_000
	TimeMax  = 10_000 * time.Hour
)

var verbs = []Verb{
	Partition, CutLink, Heal, Kill, Stop, Start, Restart, PowerCut, Pause, Resume, Clock, Link, Conn, Disk, Wipe,
	Elect, Reassign, Alter, Create, Delete,
}

// reserved words end a list of targets, so nothing may be called so.
var reserved = []string{"call", "midwrite", "for", "skew", "slow", "stuck", "full", "room", "short", "eio", "flip", "heal", "|"}

// Parse reads a plan. Errors read `name:LINE: what and where`.
func Parse(name, text string) (*Plan, error) {
	p := &Plan{Name: name}
	for i, line := range strings.Split(text, "\n") {
		words := fields(line)
		if len(words) == 0 {
			continue
		}
		if err := p.parseLine(i+1, words); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	return p, nil
}

// fields splits a line into words, up to a comment. A # inside a word begins none: c1->b1#2 is a connection.
func fields(line string) []string {
	words := strings.Fields(line)
	for i, w := range words {
		if strings.HasPrefix(w, "#") {
			return words[:i]
		}
	}
	return words
}

func (p *Plan) parseLine(number int, words []string) error {
	w := &reader{words: words}
	s := Step{Line: number}
	var err error
	switch first := w.next(); first {
	case "budget":
		return p.parseBudget(w)
	case "at":
		s.At, err = w.duration("at", 0)
	case "on":
		s.On, err = w.trigger()
	default:
		return fmt.Errorf("%q: a line begins with at, on or budget", first)
	}
	if err != nil {
		return err
	}
	if len(p.Steps) == StepsMax {
		return fmt.Errorf("a plan has at most %d steps", StepsMax)
	}
	if err := s.parse(w); err != nil {
		return err
	}
	p.Steps = append(p.Steps, s)
	return nil
}

func (p *Plan) parseBudget(w *reader) error {
	if p.Budget != nil || len(p.Steps) > 0 {
		return fmt.Errorf("budget: stated once, before the first step")
	}
	b := &Budget{}
	for !w.done() {
		word := w.next()
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || n < 0:
			return fmt.Errorf("budget: %q is not of the form faults=N or down=N", word)
		case key == "faults":
			b.Faults = n
		case key == "down":
			b.Down = n
		default:
			return fmt.Errorf("budget: %q is not of the form faults=N or down=N", word)
		}
	}
	p.Budget = b
	return nil
}

// parse reads a step from its verb on.
func (s *Step) parse(w *reader) error {
	word := w.next()
	s.Verb = Verb(word)
	if !slices.Contains(verbs, s.Verb) {
		return fmt.Errorf("there is no verb %q; the verbs are %v", word, verbs)
	}
	if err := s.parseBody(w); err != nil {
		return fmt.Errorf("%s: %w", s.Verb, err)
	}
	if w.peek() == "for" {
		if !s.undoable() {
			return fmt.Errorf("%s: nothing to undo with for", strings.TrimSpace(string(s.Verb)+" "+s.Mode))
		}
		w.next()
		var err error
		if s.For, err = w.duration(string(s.Verb)+": for", 1); err != nil {
			return err
		}
	}
	if !w.done() {
		return fmt.Errorf("%s: unexpected %q", s.Verb, w.next())
	}
	return nil
}

func (s *Step) parseBody(w *reader) (err error) {
	switch s.Verb {
	case Partition:
		s.Groups, err = w.groups()
		return err
	case CutLink:
		return s.parseLink(w, false)
	case Heal:
		if w.done() {
			return nil
		}
		return s.parseLink(w, false)
	case Link, Conn:
		if err := s.parseLink(w, s.Verb == Conn); err != nil {
			return err
		}
		return s.parseMode(w)
	case Elect, Reassign, Alter, Create, Delete:
		for !w.done() {
			s.Args = append(s.Args, w.next())
		}
		return nil
	}
	if s.Targets, err = w.names(); err != nil {
		return err
	}
	switch s.Verb {
	case Kill, PowerCut, Pause:
		return s.parseOptions(w)
	case Clock:
		return s.parseSkew(w)
	case Disk:
		return s.parseMode(w)
	}
	return nil
}

func (s *Step) undoable() bool {
	switch s.Verb {
	case Partition, CutLink, Kill, Stop, PowerCut, Pause, Clock:
		return true
	case Link, Conn, Disk:
		return s.Mode != Reset && s.Mode != Release && s.Mode != Flip && s.Mode != HealDisk
	}
	return false
}

func (s *Step) parseLink(w *reader, numbered bool) error {
	word := w.next()
	link := word
	if numbered {
		before, number, ok := strings.Cut(word, "#")
		if link = before; ok {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				return fmt.Errorf("%q: connections are numbered #1, #2 and so on", word)
			}
			s.Nth = n
		}
	}
	var ok bool
	s.From, s.To, ok = strings.Cut(link, "->")
	if !ok || !validName(s.From) || !validName(s.To) {
		return fmt.Errorf("%q is not of the form a->b", word)
	}
	return nil
}

// parseOptions reads lose=, torn=, call and midwrite, in any order.
func (s *Step) parseOptions(w *reader) error {
	for {
		word := w.peek()
		key, value, isOption := strings.Cut(word, "=")
		switch {
		case word == "call":
			w.next()
			if err := s.Strike.parseCall(w); err != nil {
				return err
			}
		case word == "midwrite":
			w.next()
			pattern, err := w.pattern("midwrite")
			if err != nil {
				return err
			}
			s.Strike.MidWrite = pattern
		case isOption && s.Verb == PowerCut && key == "lose" && slices.Contains([]string{"unsynced", "some", "none"}, value):
			w.next()
			s.Lose = value
		case isOption && s.Verb == PowerCut && key == "torn" && (value == "0" || value == "1"):
			w.next()
			s.Torn = value == "1"
		case isOption:
			return fmt.Errorf("unexpected %q", word)
		default:
			if s.Strike.Call > 0 && s.Strike.MidWrite != "" {
				return fmt.Errorf("call and midwrite exclude each other")
			}
			return nil
		}
	}
}

func (st *Strike) parseCall(w *reader) error {
	word := w.next()
	number, relative := strings.CutPrefix(word, "+")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return fmt.Errorf("call %q: calls are numbered from 1; +N counts from now", word)
	}
	st.Call, st.Relative = n, relative
	switch w.peek() {
	case "before":
		w.next()
	case "after":
		w.next()
		st.After = true
	}
	return nil
}

func (s *Step) parseSkew(w *reader) error {
	if word := w.next(); word != "skew" {
		return fmt.Errorf("%q: want skew", word)
	}
	word := w.next()
	if !strings.HasPrefix(word, "+") && !strings.HasPrefix(word, "-") {
		return fmt.Errorf("skew %q: want +D or -D", word)
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return fmt.Errorf("skew %q is no duration", word)
	}
	if d > TimeMax || d < -TimeMax {
		return fmt.Errorf("skew %q: want at most %v", word, TimeMax)
	}
	s.Amount = d
	return nil
}

var modes = map[Verb][]string{
	Link: {Drop, Delay, Throttle, Loss, Reset, Hold, Release},
	Conn: {Reset, Hold, Release},
	Disk: {Slow, Stuck, Full, Room, Short, EIORead, EIOWrite, EIOSync, Flip, HealDisk},
}

func (s *Step) parseMode(w *reader) (err error) {
	s.Mode = w.next()
	if s.Mode == "eio" && s.Verb == Disk {
		s.Mode += " " + w.next()
	}
	if !slices.Contains(modes[s.Verb], s.Mode) {
		return fmt.Errorf("%q: want one of %s", s.Mode, strings.Join(modes[s.Verb], ", "))
	}
	switch s.Mode {
	case Delay, Slow:
		s.Amount, err = w.duration(s.Mode, 1)
	case Throttle:
		s.Number, err = w.number(s.Mode, 1, 1<<40)
	case Room:
		s.Number, err = w.number(s.Mode, 0, 1<<40)
	case Loss:
		s.Number, err = w.number(s.Mode, 1, 100)
	case Flip:
		if s.Pattern, err = w.pattern(Flip); err != nil {
			return err
		}
		if word := w.next(); word != "offset" {
			return fmt.Errorf("flip %s: %q: want offset N", s.Pattern, word)
		}
		s.Number, err = w.number("offset", 0, 1<<40)
	}
	return err
}

// reader hands out the words of a line.
type reader struct{ words []string }

func (w *reader) done() bool { return len(w.words) == 0 }

// peek is the next word, "" at the end.
func (w *reader) peek() string {
	if w.done() {
		return ""
	}
	return w.words[0]
}

func (w *reader) next() string {
	word := w.peek()
	if !w.done() {
		w.words = w.words[1:]
	}
	return word
}

func (w *reader) duration(what string, least time.Duration) (time.Duration, error) {
	word := w.next()
	d, err := time.ParseDuration(word)
	switch {
	case err != nil || d < least:
		return 0, fmt.Errorf("%s %q: want a duration such as 1.5s", what, word)
	case d > TimeMax:
		return 0, fmt.Errorf("%s %q: want at most %v", what, word, TimeMax)
	}
	return d, nil
}

func (w *reader) number(what string, least, most int64) (int64, error) {
	word := w.next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s %q: want a number from %d to %d", what, word, least, most)
	}
	return n, nil
}

func (w *reader) pattern(what string) (string, error) {
	word := w.next()
	if _, err := path.Match(word, ""); err != nil || word == "" {
		return "", fmt.Errorf("%s %q: want a pattern of file paths", what, word)
	}
	return word, nil
}

// trigger reads everything up to the verb.
func (w *reader) trigger() (*Trigger, error) {
	t := &Trigger{}
	for !w.done() && !slices.Contains(verbs, Verb(w.peek())) {
		t.Words = append(t.Words, w.next())
	}
	if len(t.Words) == 0 || w.done() {
		return nil, fmt.Errorf("on: want an event and then a verb")
	}
	return t, nil
}

// names reads targets: at least one.
func (w *reader) names() ([]string, error) {
	var list []string
	for !w.done() && !slices.Contains(reserved, w.peek()) && !strings.Contains(w.peek(), "=") {
		word := w.next()
		if !validName(word) {
			return nil, fmt.Errorf("%q cannot be the name of a process or role", word)
		}
		list = append(list, word)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no target")
	}
	return list, nil
}

func (w *reader) groups() ([][]string, error) {
	var list [][]string
	for {
		g, err := w.names()
		if err != nil {
			return nil, err
		}
		list = append(list, g)
		if w.peek() != "|" {
			break
		}
		w.next()
	}
	if len(list) < 2 {
		return nil, fmt.Errorf("want two or more groups, separated by |")
	}
	return list, nil
}

// validName accepts process names and roles such as leader(t-0).
func validName(s string) bool {
	for _, c := range s {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_.,:()/", c)) {
			return false
		}
	}
	return s != "" && !slices.Contains(reserved, s)
}
