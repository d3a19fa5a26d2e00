package court

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/court/experiment"
	"trialog/checker/oracle"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func verdict(r Result, classes ...string) *Verdict {
	v := &Verdict{Verdict: oracle.Verdict{Result: r, Counts: map[string]int{}}}
	for _, c := range classes {
		v.Counts[c]++
		v.Anomalies = append(v.Anomalies, oracle.Anomaly{Class: c, Documented: r == Documented})
	}
	return v
}

func TestTallyJudges(t *testing.T) {
	valid := experiment.Expectation{Result: Valid}
	loss := experiment.Expectation{Result: Documented, Classes: []string{"lost"}, Percent: 20}
	v, d, i, u := verdict(Valid), verdict(Documented, "lost"), verdict(Invalid, "lost"), verdict(Unknown)
	none := verdict(Unknown)
	none.Reasons = []string{notExpressible + ": powercut"}
	for _, row := range []struct {
		name   string
		x      experiment.Expectation
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
	} {
		var tally Tally
		for _, run := range row.runs {
			tally.Add(run)
		}
		got, reason := tally.Judge(row.x)
		require.Equal(t, row.want, got, row.name)
		require.Equal(t, row.reason, reason, row.name)
	}
}

func TestConviction(t *testing.T) {
	x := experiment.Expectation{Result: Invalid, Classes: []string{"lost", "corrupt"}, Within: 5}
	require.True(t, Convicts(x, verdict(Invalid, "other", "corrupt")))
	require.False(t, Convicts(x, verdict(Invalid, "other")), "another class")
	require.False(t, Convicts(x, verdict(Documented, "lost")), "documented loss is no conviction")
	require.False(t, Convicts(x, verdict(Unknown)))
	require.True(t, Convicts(experiment.Expectation{Result: Invalid, Within: 5}, verdict(Invalid, "other")), "any class")
	panicked := verdict(Unknown)
	panicked.Panics = []string{"b1: panic: x"}
	require.False(t, Convicts(x, panicked), "a panic is no conviction")
}

func TestDoubtNeverHidesAnAnomaly(t *testing.T) {
	for have, want := range map[Result]Result{Valid: Unknown, Documented: Unknown, Unknown: Unknown, Invalid: Invalid} {
		v := verdict(have)
		v.doubt()
		require.Equal(t, have, v.Result)
		v.doubt("not drained")
		require.Equal(t, want, v.Result)
	}
	require.Equal(t, []int{0, 1, 0, 2}, []int{ExitCode(Valid), ExitCode(Invalid), ExitCode(Documented), ExitCode(Unknown)})
}

// A process that ends the same way at each restart is one reason, with a count.
func TestEqualReasonsAreCounted(t *testing.T) {
	v := verdict(Unknown)
	v.Reasons = []string{"x"}
	v.doubt("b1 ended", "y", "b1 ended", "x", "b1 ended")
	require.Equal(t, []string{"x (2 times)", "b1 ended (3 times)", "y"}, v.Reasons)
}
