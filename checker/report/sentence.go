package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trialog/checker/oracle"
)

// sentence is the verdict as one sentence for somebody who has never seen a report.
func sentence(in *Input, d *Data) string {
	v := in.Verdict
	if v == nil {
		return "There is no verdict."
	}
	switch v.Result {
	case oracle.Invalid:
		if s := lead(d.Stories); s != nil {
			return capital(s.headline(d)) + "."
		}
		return "The judge " + v.Judge + " found " + v.Class + "."
	case oracle.DocumentedLoss:
		what := "What"
		if v.Lost > 0 {
			what = count(v.Lost, "record") + " that"
		}
		return what + " had never been flushed went with a power cut; this configuration promises no more, so that is documented loss."
	case oracle.Valid:
		all := "all " + were(v.Coverage.Acked, "acknowledged record")
		if v.Coverage.Acked == 1 {
			all = "the one acknowledged record was"
		}
		if in.Compacted {
			all = "of each key the newest acknowledged record was"
		}
		return fmt.Sprintf("Nothing was lost: %s there when %s read to the end, %s.", all, were(v.Coverage.Partitions, "partition"), in.ordeal())
	}
	if len(v.Reasons) > 0 {
		return "This run decides nothing: " + v.Reasons[0] + "."
	}
	return "This run decides nothing."
}

// lead is the story that the page begins with: the first that a client could see and that nothing excuses, or just the
// first.
func lead(stories []Story) *Story {
	if len(stories) == 0 {
		return nil
	}
	return &stories[leadIndex(stories)]
}

func leadIndex(stories []Story) int {
	for _, want := range []func(*Story) bool{
		func(s *Story) bool {
			return !s.Documented && s.Record >= 0 && s.has(roleMissed) && s.has(roleCrash) && worst[s.Class]
		},
		func(s *Story) bool { return !s.Documented && s.Record >= 0 },
		func(s *Story) bool { return !s.Documented },
	} {
		if i := slices.IndexFunc(stories, func(s Story) bool { return want(&s) }); i >= 0 {
			return i
		}
	}
	return 0
}

// worst are the classes that a reader should hear of first: a record is gone, or is not what it was.
var worst = map[string]bool{
	oracle.LostAcked: true, oracle.OutOfRange: true, oracle.OffsetReused: true, oracle.LostRead: true, oracle.CorruptRead: true,
}

func (s *Story) has(role string) bool {
	return slices.ContainsFunc(s.Steps, func(x Step) bool { return x.Role == role })
}

// step is the last one of a role.
func (s *Story) step(role string) *Step {
	for i := len(s.Steps) - 1; i >= 0; i-- {
		if s.Steps[i].Role == role {
			return &s.Steps[i]
		}
	}
	return nil
}

// headline is the story in one sentence.
func (s *Story) headline(d *Data) string {
	if plain := plainly[s.Class]; plain != "" || s.Part < 0 || s.Offset < 0 {
		return plain + s.Text
	}
	place := fmt.Sprintf("offset %d of %s", s.Offset, d.Parts[s.Part].Name)
	known := "acknowledged"
	if !s.has(roleAck) {
		known = "read"
	}
	record := "record " + strconv.Quote(s.Value) + " was " + known + " at " + place
	switch s.Class {
	case oracle.LostAcked, oracle.LostRead:
		return record + " and is gone" + s.cause()
	case oracle.OutOfRange:
		return record + ", and later the broker said that there is no such offset" + s.cause()
	case oracle.StaleRead:
		return record + ", and a reader that asked later was not shown it" + s.cause()
	case oracle.OffsetReused:
		return record + ", and then that offset held another record" + s.cause()
	case oracle.AckNoAppend:
		return record + " before the broker had written it"
	case oracle.AckNoFlush, oracle.ReadNoFlush:
		return record + " before it was on the disk"
	}
	return s.Text
}

// plainly is what a class means, before the judge's own sentence, where that does not begin with it.
var plainly = map[string]string{
	oracle.CorruptRead:     "a client was served damaged bytes: ",
	oracle.Phantom:         "a record was read that nobody had sent there: ",
	oracle.LostFlushed:     "a log came back shorter than what had been on the disk: ",
	oracle.UncommittedRead: "a record was shown before it was committed: ",
	oracle.FutureRead:      "a record was read before it was sent: ",
	oracle.EndOffsetBack:   "the end of a log went back: ",
	oracle.PIDReused:       "one producer id was handed out twice: ",
	oracle.Duplicate:       "one record stands in the log twice: ",
	oracle.Reordered:       "records stand in another order than their producer sent them: ",
	oracle.Gap:             "something is missing in the middle: ",
	oracle.Inversion:       "a record landed below one that was there before it was sent: ",
	oracle.TwoLeaders:      "two brokers led one partition at the same time: ",
	oracle.AppendMisfits:   "a batch was written elsewhere than at the end of the log: ",
	oracle.NotLinearizable: "no order of the operations explains what clients saw: ",
}

// cause is what happened in between.
func (s *Story) cause() string {
	crash := s.step(roleCrash)
	if crash == nil {
		if absent := s.step(roleAbsent); absent != nil {
			return ": " + absent.Text
		}
		return ""
	}
	text := fmt.Sprintf(": %s at %s", crash.Text, seconds(crash.Time))
	if back := s.step(roleRecover); back != nil && strings.Contains(back.Title, "without") {
		text += ", and the log came back without it"
	}
	return text
}

// ordeal is what the brokers went through.
func (in *Input) ordeal() string {
	kinds := []struct{ verb, one, many string }{
		{"kill", "a kill", "kills"}, {"restart", "a restart", "restarts"}, {"powercut", "a power cut", "power cuts"},
		{"stop", "a stop", "stops"}, {"pause", "a pause", "pauses"}, {"partition", "a partition", "partitions of the network"},
		{"cut", "a cut link", "cut links"}, {"link", "a broken link", "broken links"}, {"conn", "a held connection", "held connections"},
		{"disk", "a disk fault", "disk faults"}, {"clock", "a skewed clock", "skewed clocks"},
	}
	var list []string
	for _, k := range kinds {
		n := 0
		for _, f := range in.Faults {
			if f.Verb == k.verb && !strings.HasSuffix(f.Text, " ends") && !strings.Contains(f.Text, " heal") {
				n++
			}
		}
		switch {
		case n == 1:
			list = append(list, k.one)
		case n > 1:
			list = append(list, fmt.Sprintf("%d %s", n, k.many))
		}
	}
	if len(list) == 0 {
		return "and nothing had happened to the broker"
	}
	if n := len(list); n > 1 {
		list = append(list[:n-2], list[n-2]+" and "+list[n-1])
	}
	return "after " + strings.Join(list, ", ")
}

// count is a number with its noun: "1,813 records".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

func were(n int, noun string) string {
	if n == 1 {
		return count(n, noun) + " was"
	}
	return count(n, noun) + " were"
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// seconds is a time as the page prints it.
func seconds(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func words(parts ...any) string { return strings.TrimSuffix(fmt.Sprintln(parts...), "\n") }
