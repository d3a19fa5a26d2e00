package nemesis

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const sample = `# every verb once
budget faults=20 down=2

at 5s     partition b1 | b2 b3 for 3s
at 5s     cut b1->b2 for 1m
at 8s     heal
at 8s     heal b1->b2
at 9s     kill b2 for 800ms            # down for 800 ms
at 9.5s   kill b1 call 1234
at 9.5s   kill b1 b2 call +50 after
at 9.5s   kill b1 midwrite *.log
at 10s    powercut b1 lose=some torn=1 call 7 before for 1s
at 10s    powercut b1
at 11s    stop b1 for 1s
at 11s    start b1
at 11s    restart b1
at 12s    pause b1 for 8s
at 12s    pause b1 call +3
at 12s    resume b1
at 13s    clock b3 skew +2s
at 13s    clock b3 skew -1h2m for 9s
at 14s    link b1->b2 drop for 3s
at 14s    link b1->b2 delay 50ms
at 14s    link b1->b2 throttle 5000
at 14s    link b1->b2 loss 12
at 14s    link b1->b2 reset
at 14s    link b1->b2 hold
at 14s    link b1->b2 release
at 15s    conn c1->controller#2 hold for 1s
at 15s    conn c1->b1 reset
at 16s    disk b1 slow 50ms for 5s
at 16s    disk b1 stuck
at 16s    disk b1 full
at 16s    disk b1 eio write
at 16s    disk b1 eio sync for 1s
at 16s    disk b1 flip topic-0/*.log offset 17
at 16s    disk b1 heal
at 17s    wipe b1
at 18s    elect t-0 preferred
on leader(t-0) acked 10   kill leader(t-0)
at 16s    disk b1 room 65536 for 1s
at 16s    disk b1 short
at 16s    disk b1 eio read
`

func TestEveryVerbParsesAndPrints(t *testing.T) {
	p, err := Parse("plan", sample)
	require.NoError(t, err)
	require.Equal(t, &Budget{Faults: 20, Down: 2}, p.Budget)
	require.Len(t, p.Steps, strings.Count(sample, "at ")+1)
	var seen []Verb
	for _, s := range p.Steps {
		seen = append(seen, s.Verb)
	}
	for _, v := range verbs[:len(verbs)-4] { // the last admin verbs parse as the first of them
		require.Contains(t, seen, v)
	}

	again, err := Parse("again", p.String())
	require.NoError(t, err, p.String())
	require.True(t, p.Equal(again), "%v\n%v", p, again)
	require.Equal(t, p.String(), again.String())
	for i := range p.Steps {
		one, err := Parse("one", p.Steps[i].String())
		require.NoError(t, err)
		require.True(t, one.Steps[0].equal(&p.Steps[i]))
	}
}

// TestAnyWordsParseOrAreRefused puts the words of the language together at random: no panic, an error names the line,
// and what parses is printed so that it parses again.
func TestAnyWordsParseOrAreRefused(t *testing.T) {
	word := rapid.OneOf(rapid.SampledFrom(strings.Fields(sample+" at on budget for before after -9223372036854775808ns 9e9h +1ns -1h #3 a->b#0 = lose= call 9223372036854775807")),
		rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SliceOfN(word, 0, 9), 1, 3).Draw(t, "lines")
		text := ""
		for _, words := range lines {
			text += rapid.SampledFrom([]string{"at 1s ", ""}).Draw(t, "begin") + strings.Join(words, " ") + "\n"
		}
		p, err := Parse("plan", text)
		if err != nil {
			require.Regexp(t, `^plan:\d+: `, err.Error())
			return
		}
		again, err := Parse("again", p.String())
		require.NoError(t, err, p.String())
		require.True(t, p.Equal(again), "%v\n%v", p, again)
	})
}

func TestPlacesInMessages(t *testing.T) {
	p, err := Parse("f.txt", "\n\nat 1s kill a")
	require.NoError(t, err)
	require.Equal(t, "f.txt:3", p.Place(&p.Steps[0]))
	p = &Plan{Steps: make([]Step, 2)}
	require.Equal(t, "plan:2", p.Place(&p.Steps[1]))
}

func TestStepsAsData(t *testing.T) {
	p, err := Parse("plan", sample)
	require.NoError(t, err)
	byLine := map[int]Step{}
	for _, s := range p.Steps {
		byLine[s.Line] = s
	}
	require.Equal(t, Step{
		Line: 4, At: 5 * time.Second, Verb: Partition, Groups: [][]string{{"b1"}, {"b2", "b3"}}, For: 3 * time.Second,
	}, byLine[4])
	require.Equal(t, Step{
		Line: 10, At: 9500 * time.Millisecond, Verb: Kill, Targets: []string{"b1", "b2"},
		Strike: Strike{Call: 50, Relative: true, After: true},
	}, byLine[10])
	require.Equal(t, Step{
		Line: 12, At: 10 * time.Second, Verb: PowerCut, Targets: []string{"b1"}, Lose: "some", Torn: true,
		Strike: Strike{Call: 7}, For: time.Second,
	}, byLine[12])
	require.Equal(t, -(time.Hour + 2*time.Minute), byLine[21].Amount)
	require.Equal(t, Step{Line: 29, At: 15 * time.Second, Verb: Conn, From: "c1", To: "controller", Nth: 2, Mode: Hold, For: time.Second}, byLine[29])
	require.Equal(t, &Trigger{Words: []string{"leader(t-0)", "acked", "10"}}, byLine[40].On)
}

func TestErrorsSayWhatAndWhere(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\n\nkill b1", `plan:3: "kill": a line begins with at, on or budget`},
		{"at 5 kill b1", `plan:1: at "5": want a duration such as 1.5s`},
		{"at -5s kill b1", `plan:1: at "-5s": want a duration such as 1.5s`},
		{"at 2562047h kill b1", `plan:1: at "2562047h": want at most 10000h0m0s`},
		{"at 5s clock a skew -2562047h47m16.854775808s", `want at most 10000h0m0s`},
		{"at 5s", `plan:1: there is no verb ""`},
		{"at 5s murder b1", `plan:1: there is no verb "murder"; the verbs are [partition cut`},
		{"at 5s kill", `plan:1: kill: no target`},
		{"at 5s kill b1;b2", `plan:1: kill: "b1;b2" cannot be the name of a process or role`},
		{"at 5s kill b1 call 0", `plan:1: kill: call "0": calls are numbered from 1`},
		{"at 5s kill b1 call 3 midwrite *", `plan:1: kill: call and midwrite exclude each other`},
		{"at 5s kill b1 midwrite [", `plan:1: kill: midwrite "[": want a pattern`},
		{"at 5s kill b1 torn=1", `plan:1: kill: unexpected "torn=1"`},
		{"at 5s powercut b1 lose=all", `plan:1: powercut: unexpected "lose=all"`},
		{"at 5s kill b1 for", `plan:1: kill: for "": want a duration`},
		{"at 5s kill b1 for 0s", `plan:1: kill: for "0s": want a duration`},
		{"at 5s start b1 for 1s", `plan:1: start: nothing to undo with for`},
		{"at 5s link a->b reset for 1s", `plan:1: link reset: nothing to undo with for`},
		{"at 5s partition a b", `plan:1: partition: want two or more groups`},
		{"at 5s partition a | ", `plan:1: partition: no target`},
		{"at 5s cut ab", `plan:1: cut: "ab" is not of the form a->b`},
		{"at 5s cut a->b#2", `plan:1: cut: "a->b#2" is not of the form a->b`},
		{"at 5s conn a->b#0 hold", `plan:1: conn: "a->b#0": connections are numbered`},
		{"at 5s conn a->b delay 3s", `plan:1: conn: "delay": want one of reset, hold, release`},
		{"at 5s link a->b slow", `plan:1: link: "slow": want one of drop, delay`},
		{"at 5s link a->b loss 101", `plan:1: link: loss "101": want a number from 1 to 100`},
		{"at 5s disk b1 room -1", `plan:1: disk: room "-1": want a number from 0`},
		{"at 5s disk b1 eio open", `plan:1: disk: "eio open": want one of slow`},
		{"at 5s disk b1 flip x 17", `plan:1: disk: flip x: "17": want offset N`},
		{"at 5s clock b1 +2s", `plan:1: clock: "+2s" cannot be the name`},
		{"at 5s clock b1 skew 2s", `plan:1: clock: skew "2s": want +D or -D`},
		{"at 5s heal now", `plan:1: heal: "now" is not of the form a->b`},
		{"at 5s resume b1 please=1", `plan:1: resume: unexpected "please=1"`},
		{"on kill b1", `plan:1: on: want an event and then a verb`},
		{"on b1 dead", `plan:1: on: want an event and then a verb`},
		{"at 1s heal\nbudget faults=1", `plan:2: budget: stated once, before the first step`},
		{"budget kills=1", `plan:1: budget: "kills=1" is not of the form faults=N or down=N`},
	} {
		_, err := Parse("plan", c.text)
		require.ErrorContains(t, err, c.want, c.text)
	}
	_, err := Parse("plan", strings.Repeat("at 1s heal\n", StepsMax+1))
	require.EqualError(t, err, "plan:10001: a plan has at most 10000 steps")
}

func TestInexpressible(t *testing.T) {
	p, err := Parse("plan", sample)
	require.NoError(t, err)
	require.Equal(t, []string{
		"plan:39: at 18s elect t-0 preferred: not expressible in sim: it has no client of the system",
		"plan:40: on leader(t-0) acked 10 kill leader(t-0): not expressible in sim: steps are triggered by times and system calls only",
	}, p.Inexpressible("plan", Sim))
	real := strings.Join(p.Inexpressible("plan", Real), "\n")
	require.NotContains(t, real, "plan:8:", "a plain kill")
	for _, want := range []string{
		"plan:4: at 5s partition b1 | b2 b3 for 3s: not expressible in real: links of real processes cannot be touched",
		"plan:9: at 9.5s kill b1 call 1234: not expressible in real: calls of a real process are not counted",
		"plan:13: at 10s powercut b1: not expressible in real: a real machine keeps its power",
	} {
		require.Contains(t, real, want)
	}
	require.Len(t, table, len(verbs))
	for i, row := range table {
		require.Equal(t, verbs[i], row.verb)
	}
}

// drawn plans need not make sense; they need to survive printing.
func drawPlan(t *rapid.T) *Plan {
	p := &Plan{}
	if rapid.Bool().Draw(t, "budget") {
		p.Budget = &Budget{Faults: rapid.IntRange(0, 9).Draw(t, "faults"), Down: rapid.IntRange(0, 9).Draw(t, "down")}
	}
	p.Steps = rapid.SliceOf(rapid.Custom(drawStep)).Draw(t, "steps")
	return p
}

var (
	names     = rapid.StringMatching(`[a-z][a-z0-9]{0,2}|leader\(t-[0-9]\)`).Filter(validName)
	words     = rapid.StringMatching(`[a-z0-9-]{1,5}`).Filter(func(s string) bool { return s != "for" && !isVerb(s) })
	durations = rapid.Map(rapid.Int64Range(1, int64(time.Hour)), func(n int64) time.Duration { return time.Duration(n) })
	patterns  = rapid.SampledFrom([]string{"*.log", "/data/t-?/*", "t-0"})
)

func isVerb(s string) bool {
	for _, v := range verbs {
		if string(v) == s {
			return true
		}
	}
	return false
}

func drawStep(t *rapid.T) Step {
	s := Step{Verb: rapid.SampledFrom(verbs).Draw(t, "verb"), At: durations.Draw(t, "at")}
	if rapid.IntRange(0, 9).Draw(t, "triggered") == 0 {
		s.At, s.On = 0, &Trigger{Words: rapid.SliceOfN(words, 1, 3).Draw(t, "words")}
	}
	targets := rapid.SliceOfN(names, 1, 3)
	switch s.Verb {
	case Partition:
		s.Groups = rapid.SliceOfN(targets, 2, 3).Draw(t, "groups")
	case CutLink, Link, Conn:
		s.From, s.To = names.Draw(t, "from"), names.Draw(t, "to")
	case Heal:
		if rapid.Bool().Draw(t, "one") {
			s.From, s.To = names.Draw(t, "from"), names.Draw(t, "to")
		}
	case Elect, Reassign, Alter, Create, Delete:
		s.Args = rapid.SliceOf(words).Draw(t, "args")
	default:
		s.Targets = targets.Draw(t, "targets")
	}
	drawDetails(t, &s)
	if s.undoable() && rapid.Bool().Draw(t, "undone") {
		s.For = durations.Draw(t, "for")
	}
	return s
}

func drawDetails(t *rapid.T, s *Step) {
	switch s.Verb {
	case Kill, PowerCut, Pause:
		switch rapid.IntRange(0, 2).Draw(t, "strike") {
		case 0:
			s.Strike = Strike{
				Call: rapid.Int64Range(1, 1<<40).Draw(t, "call"), Relative: rapid.Bool().Draw(t, "relative"),
				After: rapid.Bool().Draw(t, "after"),
			}
		case 1:
			s.Strike.MidWrite = patterns.Draw(t, "midwrite")
		}
		if s.Verb == PowerCut {
			s.Lose = rapid.SampledFrom([]string{"", "unsynced", "some", "none"}).Draw(t, "lose")
			s.Torn = rapid.Bool().Draw(t, "torn")
		}
	case Clock:
		s.Amount = durations.Draw(t, "skew") * time.Duration(rapid.SampledFrom([]int{-1, 1}).Draw(t, "sign"))
	case Conn:
		s.Nth = rapid.IntRange(0, 5).Draw(t, "nth")
		s.Mode = rapid.SampledFrom(modes[Conn]).Draw(t, "mode")
	case Link, Disk:
		s.Mode = rapid.SampledFrom(modes[s.Verb]).Draw(t, "mode")
		switch s.Mode {
		case Delay, Slow:
			s.Amount = durations.Draw(t, "amount")
		case Throttle, Loss, Room:
			s.Number = rapid.Int64Range(1, 100).Draw(t, "number")
		case Flip:
			s.Pattern, s.Number = patterns.Draw(t, "pattern"), rapid.Int64Range(0, 1<<30).Draw(t, "offset")
		}
	}
}

func TestParseOfPrintIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		again, err := Parse("plan", p.String())
		require.NoError(t, err, "%v", p)
		require.True(t, p.Equal(again), "%v\n%v", p, again)
		require.Equal(t, p.String(), again.String())
	})
}

func TestParseNeverPanics(t *testing.T) {
	lines := strings.Fields(sample)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(lines)).Draw(t, "words"), " ")
		if p, err := Parse("plan", "at 1s "+text); err == nil {
			again, err := Parse("again", p.String())
			require.NoError(t, err)
			require.True(t, p.Equal(again))
		} else {
			require.Contains(t, err.Error(), "plan:1: ")
		}
	})
}
