package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/oracle"
)

func TestJoinLives(t *testing.T) {
	kill := func(at int64) End { return End{"b1", "kill", 137, at} }
	for _, row := range []struct {
		name   string
		starts []int64
		ends   []End
		want   []Life
	}{
		{"one life, alive", []int64{5}, nil, []Life{{5, 100, "", false}}},
		{"killed and back", []int64{5, 30}, []End{kill(20)}, []Life{{5, 20, "kill", true}, {30, 100, "", false}}},
		{"a clean stop", []int64{5}, []End{{"b1", "exit", 0, 9}}, []Life{{5, 9, "exit", false}}},
		{"died before it said that it had started", []int64{5}, []End{kill(20), kill(40)}, []Life{{5, 20, "kill", true}, {20, 40, "kill", true}}},
		{"an end that nobody recorded", []int64{5, 30}, nil, []Life{{5, 100, "", false}}},
		{"never heard of", nil, []End{kill(7)}, []Life{{0, 7, "kill", true}}},
		{"nothing", nil, nil, nil},
	} {
		require.Equal(t, row.want, joinLives(row.starts, row.ends, 100), row.name)
	}
}

// Faults are in force until something undoes them; else to the end of the run.
func TestBandsOfFaults(t *testing.T) {
	for _, row := range []struct {
		faults []string // "TIME PROC|TEXT"
		kind   string
		from   int64
		to     int64
	}{
		{[]string{"b1|pause b1", "b1|pause b1 ends"}, "pause", 0, 10},
		{[]string{"b1|pause b1", "b1|resume b1"}, "pause", 0, 10},
		{[]string{"b1|pause b1", "b1|kill b1"}, "pause", 0, 10},
		{[]string{"b1|pause b1", "b2|resume b2"}, "pause", 0, 20},
		{[]string{"|partition b1 | b2", "|partition ends"}, "network", 0, 10},
		{[]string{"|partition b1 | b2", "|heal"}, "network", 0, 10},
		{[]string{"c1->b1|cut c1->b1", "c1->b1|cut c1->b1 ends"}, "network", 0, 10},
		{[]string{"c1->b1|cut c1->b1", "b1->c1|heal b1->c1"}, "network", 0, 20},
		{[]string{"c1->b1|cut c1->b1", "c1->b1|heal c1->b1"}, "network", 0, 10},
		{[]string{"b1|disk b1 slow 50ms", "b1|disk b1 slow ends"}, "disk", 0, 10},
		{[]string{"b1|disk b1 full", "b1|disk b1 heal"}, "disk", 0, 10},
		{[]string{"b1|clock b1 skew +2s"}, "clock", 0, 20},
	} {
		in := &Input{Faults: []oracle.Fault{}, Ends: []End{{"c9", "end", 0, 20}}}
		for i, text := range row.faults {
			proc, words, _ := strings.Cut(text, "|")
			in.Faults = append(in.Faults, oracle.ParseFault(int64(i)*10, proc, words))
			in.Faults[i].Target = proc
		}
		d, err := Build(in)
		require.NoError(t, err)
		require.Len(t, d.Bands, 1, row.faults)
		b := d.Bands[0]
		require.Equal(t, []any{row.kind, row.from, row.to}, []any{b.Kind, b.From, b.To}, row.faults)
	}
}

func TestWords(t *testing.T) {
	require.Equal(t, "1,234,567", thousands(1_234_567))
	require.Equal(t, "12", thousands(12))
	require.Equal(t, "1 record", count(1, "record"))
	require.Equal(t, "1,000 records", count(1000, "record"))
	require.Equal(t, "ab …", cut("abc", 2))
	require.Equal(t, " …", cut("ée", 1), "no half rune")
	require.Equal(t, "abc", cut("abc", 3))
	faults := func(texts ...string) *Input {
		in := &Input{}
		for i, text := range texts {
			in.Faults = append(in.Faults, oracle.ParseFault(int64(i), "", text))
		}
		return in
	}
	for want, in := range map[string]*Input{
		"and nothing had happened to the broker": faults("start b1"),
		"after a kill":                           faults("kill b1", "kill b1 ends"),
		"after 2 kills, a power cut and a stop":  faults("kill b1", "kill b1", "powercut b1", "stop b1"),
	} {
		require.Equal(t, want, in.ordeal())
	}
}

func TestListOfRuns(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteList(&b, "runs", []RunRow{
		{Name: "ab12", Experiment: "001-x", Cell: "kill", World: "sim", Engine: "wasm", Seed: 7, RulesOff: []string{"a.b"}, Result: oracle.Invalid, Brief: "lost-acked", Age: "3 min"},
		{Name: "cd34", Unreadable: "court: <no> run"},
	}))
	page := b.String()
	for _, want := range []string{`href="ab12/"`, ">lost-acked<", ">a.b<", ">7<", "3 min", "court: &lt;no&gt; run", "1 invalid"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "ZgotmplZ")
	b.Reset()
	require.NoError(t, WriteList(&b, "runs", nil))
	require.Contains(t, b.String(), "There are none.")
}
