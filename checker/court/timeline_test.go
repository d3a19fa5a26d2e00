package court

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	oneProduce = `{"index":0,"time":1000000000,"proc":"c1","process":0,"id":1,"type":"invoke","f":"produce","topic":"t","partition":0,"values":["c1-1"],"acks":-1}
{"index":1,"time":3000000000,"proc":"c1","process":0,"id":1,"type":"ok","f":"produce","topic":"t","partition":0,"offset":0}
`
	oneAppend = `{"time":2000000000,"proc":"b1","kind":"append","node":1,"topic":"t","partition":0,"epoch":0,"base":0,"next":1,"pid":-1,"pepoch":-1,"seq":-1,"lastseq":-1}
`
)

func TestTimeline(t *testing.T) {
	r := &Run{History: []byte(oneProduce), Events: []byte(oneAppend), Faults: []Fault{{2500000000, "b1", "kill b1"}}}
	all, err := r.Timeline()
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, []string{"event", "fault", "op"}, []string{all[0].Kind, all[1].Kind, all[2].Kind})

	part, err := Until(all, "2.5s")
	require.NoError(t, err)
	require.Len(t, part, 2)
	part, err = Until(all, `"append"`)
	require.NoError(t, err)
	require.Len(t, part, 1)
	_, err = Until(all, "powercut")
	require.EqualError(t, err, `court: nothing in the run says "powercut", and it is no duration`)

	same, err := Difference(r, r)
	require.NoError(t, err)
	require.Empty(t, same)
	other := *r
	other.Faults = nil
	diff, err := Difference(r, &other)
	require.NoError(t, err)
	require.Contains(t, diff, "stored:     2.500000s * b1  kill b1\nnow:        3.000000s")
}

func TestFirstDifference(t *testing.T) {
	for _, row := range []struct{ a, b, want string }{
		{"", "", ""},
		{"x\ny\n", "x\ny\n", ""},
		{"x\ny\n", "x\nz\n", "event 2\nfirst:  y\nsecond: z\n"},
		{"x\n", "x\nz\n", "event 2\nfirst:  \nsecond: z\n"},
	} {
		got, err := FirstDifference(strings.NewReader(row.a), strings.NewReader(row.b))
		require.NoError(t, err)
		require.Equal(t, row.want, got)
	}
}

// What is stored of a run that is the same by its trace was altered where it is not what the run gave.
func TestAltered(t *testing.T) {
	now := func() *Run {
		return &Run{
			Plan: "at 5s kill b1\nat 6s start b1\n", Properties: "node.id=1\n", History: []byte("{1}\n{2}\n"), Events: []byte("{3}\n"),
			Faults: []Fault{{4, "b1", "kill b1"}},
		}
	}
	require.Empty(t, Altered(now(), now()))
	for want, alter := range map[string]func(*Run){
		"plan.txt:2 was altered\nstored: at 7s start b1\nnow:    at 6s start b1":                                                                           func(r *Run) { r.Plan = "at 5s kill b1\nat 7s start b1\n" },
		"history.jsonl:2 was altered\nstored: nothing\nnow:    {2}":                                                                                        func(r *Run) { r.History = []byte("{1}\n") },
		"history.jsonl:2 was altered\nstored: {2 without its newline\nnow:    {2}":                                                                         func(r *Run) { r.History = []byte("{1}\n{2") },
		"events.jsonl:2 was altered\nstored: {4}\nnow:    nothing":                                                                                         func(r *Run) { r.Events = []byte("{3}\n{4}\n") },
		"server.properties:1 was altered\nstored: node.id=2\nnow:    node.id=1":                                                                            func(r *Run) { r.Properties = "node.id=2\n" },
		`faults.jsonl:1 was altered` + "\nstored: " + `{"time":5,"proc":"b1","text":"kill b1"}` + "\nnow:    " + `{"time":4,"proc":"b1","text":"kill b1"}`: func(r *Run) { r.Faults[0].Time = 5 },
	} {
		stored := now()
		alter(stored)
		require.Equal(t, want, Altered(stored, now()))
	}
}
