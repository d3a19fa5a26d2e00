package seglog

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/transcript"
)

// TestCases holds cases.md to what exists: every case of class L and those of class R where storage is involved, in order;
// tests that exist, one of them named after the case; rules that exist, each switched off by a test of its row.
func TestCases(t *testing.T) {
	tests := transcript.TestBodies(t, "..")
	var rules, ids []string
	for _, d := range RuleDocs {
		rules = append(rules, d.Name)
	}
	guarded := map[string]bool{}
	for line := range strings.Lines(string(readFile(t, "cases.md"))) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.ContainsAny(cells[1], "0123456789") {
			continue
		}
		id, named := strings.TrimSpace(cells[1]), strings.Fields(cells[3])
		ids = append(ids, id)
		if len(named) == 0 {
			require.Contains(t, cells[4], "needs several replicas", id)
			continue
		}
		require.True(t, slices.ContainsFunc(named, func(name string) bool { return strings.Contains(name, id) }), "%s: a test of that name", id)
		bodies := ""
		for _, name := range named {
			require.NotEmpty(t, tests[name], "%s: %s", id, name)
			bodies += tests[name]
		}
		for _, rule := range strings.Fields(cells[4]) {
			require.Contains(t, rules, rule, id)
			require.Contains(t, bodies, `"`+rule+`"`, "%s: no test of the row switches %s off", id, rule)
			guarded[rule] = true
		}
	}
	for _, rule := range rules {
		require.True(t, guarded[rule], "%s guards no case", rule)
	}
	want := strings.Fields(`L01 L02 L03 L04 L05 L06 L07 L08 L09 L10 L11 L12 L13 L14 L15 L16 L17 L18 L19 L20 L21
		R09 R10 R25 R26 R27 R28 R29 R30 R31 R32 R33 R34`)
	require.Equal(t, want, ids)
}
