package replica

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/controller"
	"trialog/core/kafka"
)

// noteAcks remembers what a producer with acks=all may have been told.
func (c *cluster) noteAcks() {
	for _, b := range c.brokers {
		if b.m.Role() != Leader {
			continue
		}
		for o := b.start; o < b.m.HW(); o++ {
			if done, code := b.m.AckAll(o + 1); !done || code != kafka.ErrNone {
				break
			}
			promise(c.acked, o, b.log[o-b.start])
		}
	}
}

func promise(what map[kafka.Offset][]stored, o kafka.Offset, r stored) {
	if !slices.Contains(what[o], r) {
		what[o] = append(what[o], r)
	}
}

// serves has a consumer read all that a broker shows.
func (c *cluster) serves(b *broker) string {
	text := ""
	for o := b.start; o < b.m.VisibleTo(kafka.ConsumerReplica, kafka.ReadUncommitted); o++ {
		r := b.log[o-b.start]
		text += fmt.Sprintf(" %s", r)
		promise(c.read, o, r)
	}
	if text == "" {
		return "  a consumer reads nothing\n"
	}
	return "  a consumer reads" + text + "\n"
}

func (r stored) String() string { return fmt.Sprintf("%s@%d", r.name, r.epoch) }

// leads is the broker that the controller elected last, and whether it knows; nil if that is nobody.
func (c *cluster) leads() (l *broker, knows bool) {
	leader, epoch := kafka.NoNode, kafka.NoLeaderEpoch
	if c.ctl != nil {
		p := &c.ctl.views[len(c.ctl.views)-1].partition
		leader, epoch = p.Leader, p.LeaderEpoch
	}
	for e := range c.requests {
		epoch = max(epoch, e)
	}
	if d, ok := c.requests[epoch]; ok {
		leader = d.leader
	}
	if leader == kafka.NoNode {
		return nil, false
	}
	l = c.brokers[leader-1]
	return l, l.m.Role() == Leader && l.m.Epoch() == epoch
}

// promises says what was acknowledged and what was read, and whether who leads now has it; and whether two logs differ where
// both count their records as committed.
func (c *cluster) promises() string {
	text := c.kept("acknowledged", c.acked)
	if len(c.read) > 0 {
		text += c.kept("read", c.read)
	}
	for i, b := range c.brokers {
		for _, k := range c.brokers[:i] {
			for o := max(b.start, k.start); o < min(b.m.HW(), k.m.HW()); o++ {
				if x, y := k.log[o-k.start], b.log[o-b.start]; x != y {
					text += fmt.Sprintf("  DIFFERENT at offset %d: %s on b%d, %s on b%d\n", o, x, k.node, y, b.node)
				}
			}
		}
	}
	return text
}

func (c *cluster) kept(verb string, what map[kafka.Offset][]stored) string {
	l, knows := c.leads()
	var offsets []kafka.Offset
	for o := range what {
		offsets = append(offsets, o)
	}
	slices.Sort(offsets)
	names, lost := "", ""
	for _, o := range offsets {
		for _, r := range what[o] {
			names += " " + r.String()
			if knows && o >= l.start && (o >= l.leo() || l.log[o-l.start] != r) {
				lost += fmt.Sprintf("  LOST %s at offset %d: b%d leads e%d without it\n", r, o, l.node, l.m.Epoch())
			}
		}
	}
	switch {
	case names == "":
		return "  nothing was " + verb + "\n"
	case l == nil:
		return "  " + verb + names + "; nobody leads\n"
	case !knows:
		return fmt.Sprintf("  %s%s; b%d does not know yet that it leads\n", verb, names, l.node)
	case lost == "":
		return fmt.Sprintf("  %s%s; b%d leads e%d with it\n", verb, names, l.node, l.m.Epoch())
	}
	return "  " + verb + names + "\n" + lost
}

// telling is a story told once: with all rules, or with some of them off.
type telling struct {
	cluster  string // its first line, without the rules that are off
	off      []string
	commands []string
	answers  []string // of each command
}

// tellings of a file. What a command answers ends at a blank line.
func tellings(text string) []telling {
	var all []telling
	answering := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "> ")
		switch {
		case isCommand && strings.HasPrefix(command, "cluster "):
			head, off, isOff := strings.Cut(command, " off=")
			all = append(all, telling{cluster: head})
			if isOff {
				all[len(all)-1].off = strings.Split(off, ",")
			}
			answering = false
		case len(all) == 0:
		case isCommand:
			t := &all[len(all)-1]
			t.commands, t.answers = append(t.commands, command), append(t.answers, "")
			answering = true
		case line == "" || strings.HasPrefix(line, "#"):
			answering = false
		case answering:
			t := &all[len(all)-1]
			t.answers[len(t.answers)-1] += line + "\n"
		}
	}
	return all
}

// broken is how many promises it says are broken.
func (t *telling) broken() int {
	all := strings.Join(t.answers, "")
	return strings.Count(all, "LOST") + strings.Count(all, "DIFFERENT")
}

// play tells it again with these rules off.
func (t *telling) play(tt *testing.T, off []string) telling {
	again := telling{cluster: t.cluster, off: off, commands: t.commands}
	words := strings.Fields(t.cluster)[1:]
	if len(off) > 0 {
		words = append(words, "off="+strings.Join(off, ","))
	}
	c := newCluster(tt, words)
	for _, line := range t.commands {
		again.answers = append(again.answers, c.run(tt, strings.Fields(line)))
	}
	return again
}

// stories are the files of testdata that tell of a cluster, by name.
func stories(t *testing.T) (names []string, texts map[string][]telling) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	texts = map[string][]telling{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		if all := tellings(string(raw)); len(all) > 0 {
			name := strings.TrimSuffix(filepath.Base(f), ".txt")
			names, texts[name] = append(names, name), all
		}
	}
	return names, texts
}

// Each rule that a story switches off changes what the same commands tell: otherwise the story shows nothing.
func TestStoriesBite(t *testing.T) {
	bitten := map[string]bool{}
	names, texts := stories(t)
	for _, name := range names {
		var sound telling
		for _, told := range texts[name] {
			if told.off == nil {
				sound = told
				continue
			}
			require.Equal(t, sound.cluster, told.cluster, "%s: with %v off it is about another cluster", name, told.off)
			require.Equal(t, sound.commands, told.commands, "%s: with %v off it is another story", name, told.off)
			require.NotEqual(t, sound.answers, told.answers, "%s: with %v off it tells the same", name, told.off)
			if len(told.off) == 1 {
				bitten[told.off[0]] = true
			}
		}
	}
	for _, doc := range RuleDocs {
		if doc.Name != "visible-after-flush" && doc.Name != "lso-waits-for-markers" { // flush.txt, lso.txt
			require.True(t, bitten[doc.Name], "no story switches %s off", doc.Name)
		}
	}
}

// A story that asks for the promises ends, with the rules off that it is about, in a record that is lost or in logs that
// differ. With all rules in force it does not, and with all but one of those that it takes neither.
func TestPromises(t *testing.T) {
	names, texts := stories(t)
	counterexamples := 0
	for _, name := range names {
		all := texts[name]
		if !slices.Contains(all[0].commands, "promises") {
			require.NotContains(t, name, "counterexample")
			continue
		}
		if strings.HasPrefix(name, "counterexample-") {
			counterexamples++
		}
		require.Empty(t, all[0].off, name)
		require.Greater(t, len(all), 1, name)
		lost := 0
		if name == "r02" {
			lost = 1 // by two disks
		}
		require.Equal(t, lost, all[0].broken(), name)
		for _, told := range all[1:] {
			require.Greater(t, told.broken(), lost, "%s with %v off", name, told.off)
			for i := range told.off {
				if len(told.off) > 1 {
					again := told.play(t, slices.Delete(slices.Clone(told.off), i, i+1))
					require.Equal(t, lost, again.broken(), "%s does not take %s", name, told.off[i])
				}
			}
		}
	}
	require.Equal(t, 12, counterexamples)
}

// A rule is of one room alone, so that a story may name it without the room.
func TestRulesAreNamedOnce(t *testing.T) {
	for _, doc := range controller.RuleDocs {
		var r Rules
		require.False(t, r.Off(doc.Name), doc.Name)
	}
}
