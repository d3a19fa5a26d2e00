package replica

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/config"
	"trialog/core/controller"
	"trialog/core/seglog"
	"trialog/core/transcript"
)

// row is one row of a table in cases.md.
type row struct{ id, room, shown, rules string }

// TestCases holds cases.md to what exists: every counterexample and case once, in order; stories, tests and rules that exist;
// for each rule something in its row that switches it off; and a row for every rule of replica and controller.
func TestCases(t *testing.T) {
	text, err := os.ReadFile("cases.md")
	require.NoError(t, err)
	rows := tables(string(text))
	want := strings.Fields("1 2 3 3b 4 5 6 7 8 9 10a 10b")
	for i := range 35 {
		want = append(want, fmt.Sprintf("R%02d", i+1))
	}
	for i := range 20 {
		want = append(want, fmt.Sprintf("C%02d", i+1))
	}
	known := map[string]bool{}
	for _, docs := range [][]config.RuleDoc{RuleDocs, controller.RuleDocs, seglog.RuleDocs} {
		for _, d := range docs {
			known[d.Room+"."+d.Name] = true
		}
	}
	tests := transcript.TestBodies(t, "..")
	guarded := map[string]bool{}
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.id)
		shown := strings.Fields(r.shown)
		require.NotEqual(t, len(shown) == 0, !strings.HasPrefix(r.room, "later: "), "%s: shown by %q, room %s", r.id, r.shown, r.room)
		for _, room := range strings.Split(r.room, ", ") {
			if _, later := strings.CutPrefix(room, "later: "); !later {
				require.DirExists(t, filepath.Join("..", room), r.id)
			} else {
				require.Contains(t, []string{"later: quorum", "later: sockets"}, room, r.id)
			}
		}
		var off []string // rules that what is shown switches off
		for _, s := range shown {
			off = append(off, switchedOff(t, s, tests, known)...)
		}
		for _, rule := range strings.Fields(r.rules) {
			require.True(t, known[rule], "%s: no rule %s", r.id, rule)
			require.Contains(t, off, rule, "%s: nothing in the row switches it off", r.id)
			guarded[rule] = true
		}
	}
	require.Greater(t, len(ids), len(want))
	require.Equal(t, want, ids[:len(want)])
	for _, docs := range [][]config.RuleDoc{RuleDocs, controller.RuleDocs} {
		for _, d := range docs {
			require.True(t, guarded[d.Room+"."+d.Name], "%s.%s guards no case", d.Room, d.Name)
		}
	}
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, f := range files {
		name := "replica/" + filepath.Base(f)
		isCase := strings.ContainsAny(filepath.Base(f)[:2], "0123456789") || strings.HasPrefix(name, "replica/counterexample-")
		require.True(t, !isCase || slices.ContainsFunc(rows, func(r row) bool { return strings.Contains(r.shown, name) }), "%s: no row names it", name)
	}
}

// tables are the rows of all tables of the page, without the heads.
func tables(text string) []row {
	var rows []row
	head := true
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) == 7 && !head && !strings.HasPrefix(line, "|---") {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, row{cells[1], cells[2], cells[4], cells[5]})
		}
		head = !strings.HasPrefix(line, "|")
	}
	return rows
}

// switchedOff are the rules that a story or test switches off.
func switchedOff(t *testing.T, shown string, tests map[string]string, known map[string]bool) []string {
	var off []string
	room, file, isStory := strings.Cut(shown, "/")
	if !isStory {
		require.NotEmpty(t, tests[shown], shown)
		for rule := range known {
			_, name, _ := strings.Cut(rule, ".")
			if strings.Contains(tests[shown], `"`+name+`"`) || strings.Contains(tests[shown], `"`+rule+`"`) {
				off = append(off, rule)
			}
		}
		return off
	}
	text, err := os.ReadFile(filepath.Join("..", room, "testdata", file))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if _, names, ok := strings.Cut(strings.TrimSpace(line), " off="); ok && strings.HasPrefix(line, "> ") {
			for _, name := range strings.Split(names, ",") {
				for _, r := range []string{room, "controller", "replica"} {
					if known[r+"."+name] {
						off = append(off, r+"."+name)
					}
				}
			}
		}
	}
	return off
}
