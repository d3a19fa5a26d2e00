package court

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestExpectationText(t *testing.T) {
	for _, text := range []string{
		"valid", "documented-loss lost-record in >= 20% of seeds", "documented-loss x in >= 100% of seeds",
		"invalid within 200 seeds", "invalid lost-record within 1 seeds", "invalid lost-record,corrupt-read within 200 seeds",
	} {
		x, err := ParseExpectation(text)
		require.NoError(t, err, text)
		require.Equal(t, text, x.String())
	}
	for _, text := range []string{
		"", "unknown", "valid always", "documented-loss x", "documented-loss x in >= 0% of seeds", "documented-loss x in >= 101% of seeds",
		"documented-loss x in >= 20 of seeds", "documented-loss x in > 20% of seeds", "invalid", "invalid within seeds", "invalid within 0 seeds",
		"invalid a b within 5 seeds", "invalid a within -5 seeds",
	} {
		_, err := ParseExpectation(text)
		require.ErrorContains(t, err, "is no expectation", text)
	}
}

func verdict(r Result, classes ...string) *Verdict {
	v := &Verdict{}
	for _, c := range classes {
		v.Findings = append(v.Findings, Finding{Result: r, Class: c})
	}
	if r == Unknown {
		v.Reasons = []string{"not drained"}
	}
	v.settle()
	return v
}

func TestTallyJudges(t *testing.T) {
	valid := Expectation{Result: Valid}
	loss := Expectation{Result: Documented, Classes: []string{"lost"}, Percent: 20}
	v, d, i, u := verdict(Valid), verdict(Documented, "lost"), verdict(Invalid, "lost"), verdict(Unknown)
	other := verdict(Documented, "other")
	none := &Verdict{Result: Unknown, Reasons: []string{notExpressible + ": powercut"}}
	for _, row := range []struct {
		name   string
		x      Expectation
		runs   []*Verdict
		want   Result
		reason string
	}{
		{"all valid", valid, []*Verdict{v, v, v}, Valid, ""},
		{"nothing ran", valid, nil, Unknown, "no run"},
		{"one invalid", valid, []*Verdict{v, i, u}, Invalid, "1 of 3 runs invalid"},
		{"one undecided", valid, []*Verdict{v, u}, Unknown, "1 of 2 runs undecided"},
		{"loss where none is documented", valid, []*Verdict{v, d}, Invalid, "1 of 2 runs lost records where no loss is documented"},
		{"not expressible", valid, []*Verdict{none, none}, Valid, notExpressible},
		{"not expressible counts for nothing", valid, []*Verdict{none, i}, Invalid, "1 of 1 runs invalid"},
		{"exactly 20%", loss, []*Verdict{d, v, v, v, v}, Valid, ""},
		{"below 20%", loss, []*Verdict{d, v, v, v, v, v}, Unknown, "loss in 1 of 6 runs, expected in at least 20%"},
		{"no loss", loss, []*Verdict{v}, Unknown, "loss in 0 of 1 runs, expected in at least 20%"},
		{"invalid under documented loss", loss, []*Verdict{d, i}, Invalid, "1 of 2 runs invalid"},
		{"another class", loss, []*Verdict{d, other}, Invalid, "1 of 2 runs without lost among their findings"},
	} {
		var tally Tally
		for _, run := range row.runs {
			tally.Add(row.x, run)
		}
		got, reason := tally.Judge(row.x)
		require.Equal(t, row.want, got, row.name)
		require.Equal(t, row.reason, reason, row.name)
	}
}

func TestConviction(t *testing.T) {
	x := Expectation{Result: Invalid, Classes: []string{"lost", "corrupt"}, Within: 5}
	require.True(t, x.Convicts(verdict(Invalid, "other", "corrupt")))
	require.False(t, x.Convicts(verdict(Invalid, "other")), "another class")
	require.False(t, x.Convicts(verdict(Documented, "lost")), "documented loss is no conviction")
	require.False(t, x.Convicts(verdict(Unknown)))
	require.True(t, Expectation{Result: Invalid, Within: 5}.Convicts(verdict(Invalid, "other")), "any class")
	panicked := verdict(Unknown)
	panicked.Panics = []string{"b1: panic: x"}
	require.False(t, x.Convicts(panicked), "a panic is no conviction")
}

func TestSettle(t *testing.T) {
	v := verdict(Documented, "lost")
	v.Reasons = []string{"not drained"}
	v.settle()
	require.Equal(t, Unknown, v.Result, "loss in a run that was not drained stays undecided")
	v.Findings = append(v.Findings, Finding{Result: Invalid})
	v.settle()
	require.Equal(t, Invalid, v.Result, "an anomaly is one, drained or not")
	require.Equal(t, []int{0, 1, 0, 2}, []int{Valid.ExitCode(), Invalid.ExitCode(), Documented.ExitCode(), Unknown.ExitCode()})
}
