package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"trialog/checker/sweep/script"
	"trialog/core/kafka"
	"trialog/core/producers"
	"trialog/core/seglog"
	"trialog/core/seglog/cleaning"
	"trialog/core/seglog/twin"
)

// subject does the steps of one script to one directory.
type subject struct {
	script *script.Script
	dir    string
	rules  seglog.Rules
	out    *os.File

	open *seglog.Dir // nil before the first start and after a close
}

func (x *subject) say(format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " | ")
	if _, err := x.out.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// play does all steps. A recovery ends at the first that fails; a script goes on, as a client would.
func (x *subject) play() {
	defer func() {
		if r := recover(); r != nil {
			x.say("panic %v %.2000s", r, debug.Stack())
		}
		x.say(".")
	}()
	for i := range x.script.Steps {
		st := &x.script.Steps[i]
		x.say("> %d", st.Number)
		if err := x.do(st); err != nil {
			x.say("x %d %v", st.Number, err)
			continue
		}
		x.say("< %d", st.Number)
	}
}

func (x *subject) do(st *script.Step) error {
	switch st.Verb {
	case script.Fault:
		_, err := os.Stat(x.dir) // the simulator does it when the next call shows it the line
		return err
	case script.Start:
		d, err := seglog.OpenDir(x.dir, seglog.DirConfig{Node: 1, Rules: x.rules, ProducerRules: producers.AllRules()})
		x.open = d
		return err
	}
	if x.open == nil {
		return fmt.Errorf("the directory is not open")
	}
	switch st.Verb {
	case script.Tidy:
		_, err := x.open.RemoveDeleted(1 << 62) // everything is due
		return err
	case script.Checkpoint:
		return x.open.Checkpoint()
	case script.Close:
		d := x.open
		x.open = nil
		return d.Close(kafka.NoBrokerEpoch)
	case script.Open:
		return x.openLogs(st)
	case script.Delete:
		return x.open.DeleteLog(st.Log, fmt.Sprintf("%032x", st.Number), st.NowMs)
	}
	for _, l := range x.logs(st) {
		if l == nil {
			return fmt.Errorf("%s is not open", st.Log)
		}
		if err := x.log(st, l); err != nil {
			return err
		}
	}
	return nil
}

// logs are those that a step is about.
func (x *subject) logs(st *script.Step) []*seglog.Log {
	if st.All {
		return x.open.Logs()
	}
	return []*seglog.Log{x.open.Log(st.Log)}
}

func (x *subject) openLogs(st *script.Step) error {
	if !st.All {
		return x.openLog(st.Log, st.ID)
	}
	found, err := x.open.List()
	if err != nil {
		return err
	}
	for _, f := range found {
		x.say("found %s %d", f.Partition, f.TopicID[len(f.TopicID)-1])
		if err := x.openLog(f.Partition, f.TopicID); err != nil {
			return err
		}
	}
	return nil
}

func (x *subject) openLog(tp kafka.TopicPartition, id kafka.TopicID) error {
	settings := x.script.Settings(tp)
	if settings == nil {
		return fmt.Errorf("nobody made a log %s", tp)
	}
	_, err := x.open.OpenLog(tp, id, *settings)
	return err
}

// log does a step to one log.
func (x *subject) log(st *script.Step, l *seglog.Log) error {
	offset := st.Offset
	if offset == script.End {
		offset = l.EndOffset()
	}
	switch st.Verb {
	case script.Append:
		return appended(l.Append(st.Batch.Bytes(), st.Batch.Epoch, kafka.Now{WallMs: st.NowMs}))
	case script.Follow:
		return appended(l.AppendFollower(st.Batch.Follower(), kafka.Now{WallMs: st.NowMs}))
	case script.HighWatermark:
		l.SetHighWatermark(offset)
		return nil
	case script.Flush:
		return l.Flush(l.EndOffset())
	case script.Epoch:
		return l.StartEpoch(kafka.LeaderEpoch(offset))
	case script.Truncate:
		return l.Truncate(offset)
	case script.Restart:
		return l.TruncateFully(offset)
	case script.DeleteRecords:
		_, err := l.DeleteRecords(offset, st.NowMs)
		return err
	case script.Retain:
		_, err := l.Retain(st.NowMs)
		return err
	case script.Compact:
		return x.compact(st, l)
	case script.Observe:
		return x.observe(l)
	}
	return fmt.Errorf("nobody does %s", st.Verb)
}

// compact is one round of the cleaner, and a look at what it made.
func (x *subject) compact(st *script.Step, l *seglog.Log) error {
	w := cleaning.NewWorker(cleaning.Limits{MapBytes: 1 << 16, MapLoad: 0.9, BufferBytes: 4096})
	dirt, _, err := l.Clean(w, st.NowMs)
	if err != nil {
		return err
	}
	x.say("cleaned %s %d %d", l.Partition(), dirt.First, dirt.Bound)
	return x.observe(l)
}

func appended(a seglog.Appended, err error) error {
	if err == nil && a.Code != kafka.ErrNone {
		err = fmt.Errorf("refused with %v", a.Code)
	}
	return err
}

// observe shows all of a log, and whether its indexes find what is there.
func (x *subject) observe(l *seglog.Log) error {
	o, err := twin.Observe(l)
	if err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	x.say("= %s %s", l.Partition(), text)
	for _, bad := range lookups(l, o.Batches) {
		x.say("bad %s %s", l.Partition(), bad)
	}
	return nil
}
