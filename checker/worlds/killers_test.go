// Package worlds_test holds the table of safety rules and of what finds them when they are off.
package worlds_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/worlds/producer"
	"trialog/core/client/retry"
	"trialog/core/config"
	"trialog/core/controller"
	"trialog/core/producers"
	"trialog/core/replica"
)

var rewrite = flag.Bool("rewrite", false, "write killers.md anew")

// unseen says why no closed world finds a rule. What finds it stands in the columns of stories and properties.
var unseen = map[string]string{
	"replica.visible-after-flush":            "no flush policy here: HW and visibility are the same",
	"replica.divergence-before-hw":           "not within these bounds; it takes three leaders and more records, as its schedule shows",
	"replica.range-before-divergence":        "nothing is ever deleted here, so every log begins at 0",
	"replica.hw-follows-isr":                 "the HW comes late, not wrong; the next fetch of anybody takes it on",
	"replica.ack-needs-min-isr":              "hw-needs-min-isr keeps the promise alone: what is refused is not shown either",
	"replica.idle-is-in-sync":                "costs availability; an ISR that is too small breaks no promise here",
	"replica.end-after-epoch-start":          "nobody asks for the end offset here",
	"replica.fetch-life-checked":             "a fetch does not outlive its process here; the controller refuses the life, too",
	"replica.hw-waits-for-near":              "keeps a follower from never coming in; no record is lost by it",
	"replica.acks-end-with-leadership":       "the shell fails waiting produces; there is no shell here",
	"replica.append-known-epochs":            "an answer is read in the moment in which it is given here",
	"replica.delete-below-hw":                "nothing is ever deleted here",
	"replica.lso-waits-for-markers":          "no transactions here",
	"controller.elr-ends-with-feature":       "features do not change here",
	"controller.register-checks-features":    "all brokers here are of the same program",
	"controller.register-checks-directories": "no disk here is a copy of another broker's",
}

// places are the directories of rooms whose rules are in the table.
var places = []struct {
	docs []config.RuleDoc
	dir  string
}{
	{replica.RuleDocs, "../../core/replica"}, {controller.RuleDocs, "../../core/controller"},
	{producers.RuleDocs, "../../core/producers"}, {retry.RuleDocs, "../../core/client/retry"},
}

// files reads all files of a pattern, by path.
func files(t *testing.T, patterns ...string) map[string]string {
	all := map[string]string{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			all[path] = string(text)
		}
	}
	return all
}

// stories are the transcripts that switch the rule off.
func stories(all map[string]string, room, rule string) []string {
	off := regexp.MustCompile(`off=(\S*,)?(` + room + `\.)?` + rule + `(,|\s|$)`)
	var found []string
	for path, text := range all {
		if off.MatchString(text) {
			found = append(found, strings.TrimSuffix(filepath.Base(path), ".txt"))
		}
	}
	slices.Sort(found)
	return found
}

// tests are the tests in Go, of random schedules and others, in which the rule is named.
func tests(all map[string]string, room, rule string) []string {
	named := regexp.MustCompile(`"(` + room + `\.)?` + rule + `"`)
	head := regexp.MustCompile(`(?m)^func (Test\w+)|^var (\w+) = `)
	var found []string
	for _, text := range all {
		for _, at := range named.FindAllStringIndex(text, -1) {
			heads := head.FindAllStringSubmatch(text[:at[0]], -1)
			if len(heads) == 0 {
				continue
			}
			last := heads[len(heads)-1]
			if name := last[1] + last[2]; !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// searches are the rows of killers.txt in which the rule is off: how, and how long the shortest way is.
func searches(t *testing.T, rule string) []string {
	text, err := os.ReadFile("killers.txt")
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 7 || words[0] != "ci" && words[0] != "long" {
			continue
		}
		off := strings.Split(words[len(words)-1], ",")
		if !slices.Contains(off, rule) {
			continue
		}
		require.NotContains(t, []string{"?", "exhausted"}, words[1], "a killer finds nothing: %s", line)
		how := fmt.Sprintf("%s: %s in %s steps, %s states, %s s", words[5], words[1], words[3], words[2], words[4])
		if len(off) > 1 {
			how += ", together with " + strings.Join(slices.DeleteFunc(off, func(r string) bool { return r == rule }), ", ")
		}
		found = append(found, how)
	}
	return found
}

// Every rule is found by something when it is off, and what no closed world finds is explained. killers.md is the table.
func TestKillers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Who finds a rule that is off

Each safety rule of the machines, and what turns red when it is switched off: transcripts in the room's testdata, tests of
random schedules and of single rules, and the closed worlds, with the shortest way to break a promise in the smallest world
that was found for it (killers.txt has the commands). Made by ` + "`go test ./checker/worlds -rewrite`" + `, and held to the sources by
the same test.

| rule | stories | tests | closed worlds |
|---|---|---|---|
`)
	world := 0
	for _, place := range places {
		told := files(t, place.dir+"/testdata/*.txt")
		tested := files(t, place.dir+"/*_test.go")
		for _, doc := range place.docs {
			rule := doc.Room + "." + doc.Name
			s, n, w := stories(told, doc.Room, doc.Name), tests(tested, doc.Room, doc.Name), searches(t, rule)
			require.NotEmpty(t, append(slices.Clone(s), n...), "%s: nothing that ships with the room turns red without it", rule)
			why, explained := unseen[rule]
			if !explained {
				why, explained = producer.Unseen[rule]
			}
			switch {
			case len(w) > 0:
				require.False(t, explained, "%s: explained, and found: %v", rule, w)
				world++
			default:
				require.True(t, explained, "%s: no closed world finds it, and nothing says why", rule)
				w = []string{"not seen: " + why}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", rule, strings.Join(s, " "), strings.Join(n, " "), strings.Join(w, "; "))
		}
	}
	require.GreaterOrEqual(t, world, 28)
	fmt.Fprintf(&b, "\n%d rules are found by a closed world.\n", world)
	if *rewrite {
		require.NoError(t, os.WriteFile("killers.md", []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile("killers.md")
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "go test ./checker/worlds -rewrite")
}
