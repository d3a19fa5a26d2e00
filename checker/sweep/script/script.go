package script

import (
	"fmt"
	"strconv"
	"strings"

	"trialog/core/config"
	"trialog/core/kafka"
)

// StepsMax bounds a script.
const StepsMax = 1000

// Verb names what a step does.
type Verb string

// The verbs.
const (
	Start         Verb = "start"
	Open          Verb = "open"
	Append        Verb = "append"
	Follow        Verb = "follow"
	HighWatermark Verb = "hw"
	Flush         Verb = "flush"
	Epoch         Verb = "epoch"
	Truncate      Verb = "truncate"
	Restart       Verb = "restart"
	DeleteRecords Verb = "delete-records"
	Retain        Verb = "retain"
	Compact       Verb = "compact"
	Tidy          Verb = "tidy"
	Checkpoint    Verb = "checkpoint"
	Delete        Verb = "delete"
	Observe       Verb = "observe"
	Fault         Verb = "fault"
	Close         Verb = "close"
)

// dirVerbs concern the directory; the others name a log.
var dirVerbs = map[Verb]bool{Start: true, Tidy: true, Checkpoint: true, Fault: true, Close: true}

var logVerbs = map[Verb]bool{
	Open: true, Append: true, Follow: true, HighWatermark: true, Flush: true, Epoch: true, Truncate: true, Restart: true,
	DeleteRecords: true, Retain: true, Compact: true, Delete: true, Observe: true,
}

// End is the offset that `end` means.
const End = kafka.Offset(-1)

// Step is one line.
type Step struct {
	Number int // from 1
	Text   string
	Verb   Verb
	Log    kafka.TopicPartition
	All    bool // every log
	Offset kafka.Offset
	NowMs  int64
	ID     kafka.TopicID
	Fault  string // without on or off
	On     bool
	Batch  Batch // append, follow
}

// Log is a declared partition.
type Log struct {
	Partition kafka.TopicPartition
	Settings  config.Topic
}

// Script is a parsed script.
type Script struct {
	Name  string
	About string // the comment at its beginning
	Logs  []Log
	Steps []Step
	// Convicts names the rules of seglog without which this script must come to a violation.
	Convicts []string

	declared []string // lines
	next     map[string]kafka.Sequence
}

// Parse reads a script. Errors read `name:LINE: what`.
func Parse(name, text string) (*Script, error) {
	s := &Script{Name: name, next: map[string]kafka.Sequence{}}
	for i, line := range strings.Split(text, "\n") {
		if comment, ok := strings.CutPrefix(line, "# "); ok && len(s.Logs) == 0 {
			s.About = strings.TrimSpace(s.About + " " + comment)
		}
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := s.line(words); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	return s, nil
}

// Recovery is the script that opens what a crash of this one left, looks at it, goes on a little, stops and looks again.
func (s *Script) Recovery() *Script {
	const steps = "\nstart\nopen *\nobserve *\nappend * n=1 size=100 ts=900000 epoch=1000\nflush *\nclose\nstart\nopen *\nobserve *\nclose\n"
	r, err := Parse(s.Name, strings.Join(s.declared, "\n")+steps)
	if err != nil {
		panic(err) // the same lines were parsed before
	}
	return r
}

// Declarations are the lines that declare logs.
func (s *Script) Declarations() string { return strings.Join(s.declared, "\n") + "\n" }

// Settings are those of a log, nil if it is not declared.
func (s *Script) Settings(tp kafka.TopicPartition) *config.Topic {
	for i := range s.Logs {
		if s.Logs[i].Partition == tp {
			return &s.Logs[i].Settings
		}
	}
	return nil
}

func (s *Script) line(words []string) error {
	times := 1
	if n, err := strconv.Atoi(words[0]); err == nil && n > 0 && len(words) > 2 && words[1] == "*" {
		times, words = n, words[2:]
	}
	switch words[0] {
	case "log":
		return s.declare(words)
	case "convicts":
		s.Convicts = append(s.Convicts, words[1:]...)
		return nil
	}
	for range times {
		if len(s.Steps) == StepsMax {
			return fmt.Errorf("a script has at most %d steps", StepsMax)
		}
		st := Step{Number: len(s.Steps) + 1, Text: strings.Join(words, " "), Verb: Verb(words[0])}
		if err := s.parse(&st, words[1:]); err != nil {
			return fmt.Errorf("%s: %w", st.Text, err)
		}
		s.Steps = append(s.Steps, st)
	}
	return nil
}

func (s *Script) declare(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("log: want a name")
	}
	tp, err := kafka.ParseTopicPartition(words[1])
	if err != nil {
		return err
	}
	var pairs []config.Pair
	for _, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		pairs = append(pairs, config.Pair{Name: key, Value: value})
	}
	if pairs, err = config.SortPairs(pairs); err != nil {
		return err
	}
	if err := config.ValidateTopic(pairs); err != nil {
		return err
	}
	props, err := config.ParseProperties("script", "")
	if err != nil {
		return err
	}
	b, err := config.LoadBroker(props, []string{"node.id=1", "log.dirs=/data"})
	if err != nil {
		return err
	}
	s.Logs = append(s.Logs, Log{Partition: tp, Settings: b.Topic(pairs)})
	s.declared = append(s.declared, strings.Join(words, " "))
	return nil
}

// parse reads what follows the verb.
func (s *Script) parse(st *Step, words []string) error {
	switch {
	case st.Verb == Fault:
		if len(words) < 2 {
			return fmt.Errorf("want a fault, and on or off")
		}
		st.Fault, st.On = strings.Join(words[:len(words)-1], " "), words[len(words)-1] == "on"
		return nil
	case dirVerbs[st.Verb]:
		if len(words) > 0 {
			return fmt.Errorf("unexpected %q", words[0])
		}
		return nil
	case !logVerbs[st.Verb]:
		return fmt.Errorf("there is no such verb")
	case len(words) == 0:
		return fmt.Errorf("which log?")
	}
	if st.All = words[0] == "*"; !st.All {
		tp, err := kafka.ParseTopicPartition(words[0])
		if err != nil {
			return err
		}
		if st.Log = tp; s.Settings(tp) == nil {
			return fmt.Errorf("%s is not declared", tp)
		}
	}
	st.Batch = Batch{Count: 1, Size: 50, ProducerID: kafka.NoProducerID, Epoch: 0, Tag: strconv.Itoa(st.Number)}
	st.Batch.Ts = int64(1000 * st.Number)
	for _, w := range words[1:] {
		if err := st.argument(w); err != nil {
			return err
		}
	}
	if st.NowMs == 0 {
		st.NowMs = st.Batch.Ts
	}
	if b := &st.Batch; b.ProducerID >= 0 {
		who := fmt.Sprint(st.Log, b.ProducerID)
		b.Sequence = s.next[who]
		s.next[who] += kafka.Sequence(b.Count)
	}
	return nil
}

// argument is one word behind the log: an offset, or key=value.
func (st *Step) argument(w string) error {
	key, value, named := strings.Cut(w, "=")
	if w == "end" {
		st.Offset = End
		return nil
	}
	if key == "keys" {
		st.Batch.Keys = strings.Split(value, ",")
		return nil
	}
	if !named {
		value = w
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is no number", w)
	}
	switch {
	case !named, key == "base":
		st.Offset = n
		st.Batch.Base = n
	case key == "id":
		st.ID[len(st.ID)-1] = byte(n)
	case key == "n":
		st.Batch.Count = int(n)
	case key == "size":
		st.Batch.Size = int(n)
	case key == "pid":
		st.Batch.ProducerID = n
	case key == "epoch":
		st.Batch.Epoch = int32(n)
	case key == "ts":
		st.Batch.Ts = n
	case key == "now":
		st.NowMs = n
	default:
		return fmt.Errorf("there is no argument %q", key)
	}
	return nil
}
