package courtcmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/court/experiment"
)

// A list of rules without a rule is a slip, not a run of the sound program.
func TestKnownRules(t *testing.T) {
	for list, want := range map[string]string{
		"": "", ",": `--mutant "," names no safety rule`, "a.b": `no safety rule is called "a.b"`, "a": "is not of the form room.rule",
	} {
		_, err := knownRules(list)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

// An experiment that switches off a rule that no room has is refused before anything runs.
func TestUnknownMutantIsRefused(t *testing.T) {
	e := &experiment.Experiment{File: "x.txtar", Mutants: []experiment.Mutant{{Rule: "seglog.fsync-directory"}, {Rule: "broker.nope", Line: 7}}}
	require.ErrorContains(t, checkMutants(e), `x.txtar:7: no safety rule is called "broker.nope"`)
	e.Mutants = e.Mutants[:1]
	require.NoError(t, checkMutants(e))
}

// An empty name would match every experiment.
func TestExperimentWithoutAName(t *testing.T) {
	for _, name := range []string{"", " "} {
		_, err := (&courtFlags{root: "../../../experiments"}).load(name)
		require.EqualError(t, err, "the experiment's name is empty: trialog list names the experiments")
	}
}
