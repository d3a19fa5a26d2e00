package producers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/kafka"
)

// without is all rules but these.
func without(names ...string) Rules {
	r := AllRules()
	for _, name := range names {
		if !r.Off(name) {
			panic("no rule " + name)
		}
	}
	return r
}

// word is an outcome in a few words.
func (o Outcome) word() string {
	switch o.Verdict {
	case Duplicate:
		return fmt.Sprintf("duplicate of %d..%d", o.BaseOffset, o.LastOffset)
	case Refuse:
		return o.Code.String()
	}
	return "append"
}

// story is a log, and what it says to what comes, a line each.
type story struct {
	log
	told []string
}

func tell(rules Rules) *story { return &story{log: log{s: New(rules)}} }

func (s *story) send(epoch int16, sequences ...kafka.Sequence) *story {
	for _, seq := range sequences {
		s.told = append(s.told, fmt.Sprintf("%d/%d: %s", epoch, seq, s.produce(7, epoch, seq, 1).word()))
	}
	return s
}

// replicate has a follower take what the leader has.
func (s *story) replicate(sequences ...kafka.Sequence) *story {
	for _, seq := range sequences {
		h := batch(7, 0, seq, 1, s.leo, 0)
		s.s.Replicated(&h)
		s.batches = append(s.batches, h)
		s.leo++
	}
	return s
}

// cut truncates the log, and rebuilds the state if it has to be.
func (s *story) cut(end int64) *story {
	s.batches, s.leo = s.batches[:end], end
	if !s.s.TruncateTo(end) {
		s.s = New(s.s.rules)
		for i := range s.batches {
			s.s.Update(&s.batches[i])
		}
	}
	return s
}

// restart reads the state from a snapshot that was taken at an offset and is named after another.
func (s *story) restart(named int64) *story {
	loaded, err := ParseSnapshot(s.s.rules, named, s.s.AppendSnapshot(nil))
	if err != nil {
		s.told = append(s.told, err.Error())
		loaded = New(s.s.rules)
		for i := range s.batches[:named] {
			loaded.Update(&s.batches[i])
		}
	}
	s.s = loaded
	return s
}

// Each rule has a story that ends differently without it.
func TestRulesBite(t *testing.T) {
	stories := map[string]struct {
		story   func(*story)
		on, off string // the last line
		why     string
	}{
		"detect-duplicates": {func(s *story) { s.send(0, 0, 1, 0) }, "0/0: duplicate of 0..0", "0/0: append",
			"the record is in the log twice"},
		"remember-five": {func(s *story) { s.send(0, 0, 1, 2, 3, 4, 0) }, "0/0: duplicate of 0..0", "0/0: OUT_OF_ORDER_SEQUENCE_NUMBER",
			"the answers of five in flight were lost: a producer that is told so begins anew, and writes it twice"},
		"check-order": {func(s *story) { s.send(0, 0, 2) }, "0/2: OUT_OF_ORDER_SEQUENCE_NUMBER", "0/2: append",
			"1 is on its way, and would come behind it"},
		"answer-original-offset": {func(s *story) { s.send(0, 0, 1, 0) }, "0/0: duplicate of 0..0", "0/0: duplicate of 1..1",
			"who reads there finds another record"},
		"fence-epochs": {func(s *story) { s.send(0, 0).send(1, 0).send(0, 1) }, "0/1: INVALID_PRODUCER_EPOCH", "0/1: append",
			"a producer that was replaced goes on writing"},
		"epoch-begins-at-zero": {func(s *story) { s.send(0, 0).send(1, 1) }, "1/1: OUT_OF_ORDER_SEQUENCE_NUMBER", "1/1: append",
			"0 is on its way, and would come behind it"},
		"learn-from-leader": {func(s *story) { s.replicate(0, 1).send(0, 0) }, "0/0: duplicate of 0..0", "0/0: append",
			"after a failover a retry is in the log twice"},
		"truncate-with-log": {func(s *story) { s.send(0, 0, 1).cut(1).send(0, 1) }, "0/1: append", "0/1: duplicate of 1..1",
			"a record is acked that is nowhere"},
		"rebuild-after-cut": {func(s *story) { s.send(0, 0, 1, 2, 3, 4, 5).cut(5).send(0, 0) }, "0/0: duplicate of 0..0",
			"0/0: OUT_OF_ORDER_SEQUENCE_NUMBER", "5 had pushed 0 out of the window, and is gone"},
		"snapshot-keeps-five": {func(s *story) { s.send(0, 0, 1, 2).restart(3).send(0, 1) }, "0/1: duplicate of 1..1",
			"0/1: OUT_OF_ORDER_SEQUENCE_NUMBER", "as after a restart of Kafka"},
		"snapshot-below-end": {func(s *story) {
			s.send(0, 0, 1, 2).restart(2)
			s.leo = 2
			s.send(0, 2)
		}, "0/2: append", "0/2: duplicate of 2..2", "a record is acked that is nowhere"},
	}
	require.Len(t, stories, len(RuleDocs))
	for _, d := range RuleDocs {
		c, ok := stories[d.Name]
		require.True(t, ok, d.FullName())
		require.Equal(t, "producers", d.Room)
		require.NotEmpty(t, d.Source)
		for rules, want := range map[Rules]string{AllRules(): c.on, without(d.Name): c.off} {
			s := tell(rules)
			c.story(s)
			require.Equal(t, want, s.told[len(s.told)-1], "%s: %s\n%s", d.Name, c.why, strings.Join(s.told, "\n"))
		}
	}
	rules := without()
	for _, d := range RuleDocs {
		require.True(t, rules.Off(d.Name))
	}
	require.Equal(t, Rules{}, rules)
	require.False(t, rules.Off("luck"))
}

// Without the rule a snapshot is as Kafka writes it.
func TestSnapshotAsKafkas(t *testing.T) {
	s := tell(without("snapshot-keeps-five")).send(0, 0, 1, 2)
	require.Len(t, s.s.AppendSnapshot(nil), snapshotHeaderSize+snapshotEntrySize)
}
