//go:build !guest

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
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
