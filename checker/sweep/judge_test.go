package sweep

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/sweep/script"
	"trialog/core/kafka"
	"trialog/core/seglog/twin"
)

const judged = `log t-0 internal.segment.bytes=4000
start
open t-0 id=1
append t-0 n=2
flush t-0
append t-0 n=1
delete t-0
`

// after is the moment after what a process said: ">1 <1" for two lines.
func after(t *testing.T, s *script.Script, said string) moment {
	t.Helper()
	var lines []string
	for _, w := range strings.Fields(said) {
		lines = append(lines, w[:1]+" "+w[1:])
	}
	list, err := moments(s, lines, moment{before: &state{}})
	require.NoError(t, err)
	return list[len(list)-1]
}

// left is what a log recovers to that holds the first batches of the script.
func left(s *script.Script, batches ...int) *recovered {
	tp := kafka.TopicPartition{Topic: "t"}
	l := twin.New(s.Logs[0].Settings)
	for _, n := range batches {
		l.Append(s.Steps[n-1].Batch.Bytes(), 0)
	}
	see := func() seen {
		o := twin.Outcome{
			Start: l.StartOffset(), End: l.EndOffset(), HW: l.HighWatermark(), Flushed: l.EndOffset(), Segments: l.Segments(),
		}
		for _, b := range l.Batches() {
			o.Batches = append(o.Batches, b.Raw)
		}
		if l.EndOffset() > 0 {
			o.Epochs = []twin.Epoch{{Epoch: 0, Start: 0}}
		}
		return seen{tp, o}
	}
	r := &recovered{found: []found{{tp, 1}}, first: []seen{see()}}
	probe := s.Recovery().Steps[3].Batch
	l.Append(probe.Bytes(), probe.Epoch)
	r.second = []seen{see()}
	r.second[0].outcome.Epochs = append(r.first[0].outcome.Epochs, twin.Epoch{Epoch: probe.Epoch, Start: r.first[0].outcome.End})
	return r
}

func TestJudge(t *testing.T) {
	s, err := script.Parse("s", judged)
	require.NoError(t, err)
	gone := &recovered{}
	for _, c := range []struct {
		said string
		left *recovered
		want string // "" is allowed
	}{
		{">1 <1 >2", gone, ""},
		{">1 <1 >2 <2", gone, "the log is gone"},
		{">1 <1 >2 <2 >3 <3 >4", left(s), ""},
		{">1 <1 >2 <2 >3 <3 >4 <4", left(s), "C1"},
		{">1 <1 >2 <2 >3 <3 >4 <4 >5 <5 >6", gone, ""},
		{">1 <1 >2 <2 >3 <3 >4 <4 >5 <5 >6 <6", left(s, 3), "a log that was deleted is back"},
		{">1 <1 >2 <2 >3 <3 >4 <4", &recovered{wrong: "open * failed"}, "open * failed"},
	} {
		m := after(t, s, c.said)
		why := m.judge(s, c.left)
		require.Contains(t, why, c.want, c.said)
		require.Equal(t, c.want == "", why == "", "%s: %s", c.said, why)
	}
}
