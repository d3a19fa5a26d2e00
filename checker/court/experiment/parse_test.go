package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/checker/oracle"
)

const small = `Question: does it hold?
Answer: yes,
as far as we know

-- cluster.properties --
# a comment
node.id=1
internal.segment.bytes = 16384
-- workload --
work 20s
limit 90s
all --batch-max 3
c1 producer --idempotent --retries=5
c2 producer start=12s
c3 reader
-- cells --
cell kill
    plan    generate profile=kill from=3s to=16s
    seeds   40
    claims  order committed
    expect  valid
cell cut
    plan    literal one-cut
    with    flush.messages=1
    with    node.id=2
    client  all --pause 1ms
    client  c1 --compression gzip
    judge   flush-first
    expect  documented-loss unflushed in >= 20% of seeds
-- mutants --
mutant seglog.fsync-directory
    cells   cut kill
    expect  invalid lost-acked,corrupt-read within 200 seeds
-- plan/one-cut --
at 5s powercut b1
`

func TestParse(t *testing.T) {
	e, err := Parse("x/experiment.txtar", []byte(small))
	require.NoError(t, err)
	require.Equal(t, "does it hold?", e.Question)
	require.Equal(t, "yes, as far as we know", e.Answer)
	require.Equal(t, Properties{{"node.id", "1"}, {"internal.segment.bytes", "16384"}}, e.Broker)
	require.Equal(t, []string{"--batch-max", "3"}, e.Flags)
	require.Equal(t, 20*time.Second, e.Work)
	require.Equal(t, 90*time.Second, e.Limit)
	require.Equal(t, []Client{
		{Name: "c1", Role: "producer", Flags: []string{"--idempotent", "--retries=5"}},
		{Name: "c2", Role: "producer", Start: 12 * time.Second, Flags: []string{}},
		{Name: "c3", Role: "reader", Flags: []string{}},
	}, e.Clients)
	require.Equal(t, []Cell{
		{Name: "kill", Plan: PlanSource{Generate: []string{"profile=kill", "from=3s", "to=16s"}, Line: 18}, Seeds: 40,
			Claims: []string{"order", "committed"}, Expect: Expectation{Result: oracle.Valid}, Line: 17},
		{Name: "cut", Plan: PlanSource{Literal: "at 5s powercut b1\n", Line: 35}, Seeds: 1,
			Properties: Properties{{"flush.messages", "1"}, {"node.id", "2"}},
			Flags:      []ClientFlags{{"all", []string{"--pause", "1ms"}, 26}, {"c1", []string{"--compression", "gzip"}, 27}}, Judge: oracle.Promises{FlushFirst: true},
			Expect: Expectation{Result: oracle.DocumentedLoss, Classes: []string{"unflushed"}, Percent: 20}, Line: 22},
	}, e.Cells)
	require.Equal(t, []Mutant{{Rule: "seglog.fsync-directory", Cells: []string{"cut", "kill"}, Line: 31,
		Expect: Expectation{Result: oracle.Invalid, Classes: []string{"lost-acked", "corrupt-read"}, Within: 200}}}, e.Mutants)

	require.Equal(t, []string{"--pause", "1ms", "--compression", "gzip"}, e.Cells[1].FlagsOf("c1"))
	require.Equal(t, []string{"--pause", "1ms"}, e.Cells[1].FlagsOf("c2"))
	require.Empty(t, e.Cells[0].FlagsOf("c1"))
	require.Equal(t, "node.id=2\ninternal.segment.bytes=16384\nflush.messages=1\n", e.Broker.With(e.Cells[1].Properties...).String())
}

func TestParseRefuses(t *testing.T) {
	for _, row := range []struct{ name, old, new, want string }{
		{"no question", "Question:", "Q:", "x:1: the file must begin with the lines `Question: ...` and `Answer: ...`"},
		{"unknown section", "-- mutants --", "-- mutant --", `x:30: unknown section "mutant"`},
		{"section twice", "-- mutants --", "-- cells --", `x:30: section "cells" occurs twice`},
		{"section missing", "-- workload --", "-- plan/w --", `x:36: section "workload" is missing`},
		{"property without value", "node.id=1", "node.id", `x:7: "node.id" is no property: want key=value`},
		{"property twice", "internal.segment.bytes", "node.id", "x:8: property node.id is set twice"},
		{"bad duration", "work 20s", "work 20", `x:10: "20" is no duration: want, for example, 20s`},
		{"bad start", "start=12s", "start=soon", `x:14: "soon" is no duration: want, for example, 20s`},
		{"client twice", "c2 producer", "c1 producer", "x:14: client c1 occurs twice"},
		{"client without role", "c3 reader", "c3", "x:15: \"c3\": want `work DURATION`, `limit DURATION` or `NAME ROLE [start=DURATION] [flags]`"},
		{"limit below work", "limit 90s", "limit 10s", "x:1: the workload needs clients, `work`, and a `limit` above it"},
		{"no cell", small[strings.Index(small, "cell kill"):strings.Index(small, "-- plan")], "", "x:1: the experiment has no cell"},
		{"stanza", "cell cut", "cells cut", "x:22: \"cells cut\": want `cell NAME`, with its settings indented below it"},
		{"cell twice", "cell cut", "cell kill", "x:22: cell kill occurs twice"},
		{"orphan setting", "cell kill", "    seeds 1", "x:17: a setting before the first cell"},
		{"unknown setting", "claims  order", "promises order", `x:20: a cell has no "promises": want plan, plan-real, with, client, claims, judge, seeds or expect`},
		{"unknown claim", "order committed", "order forever", `x:20: cell kill claims "forever": the guarantees are order, committed, durable, visible`},
		{"setting without value", "claims  order committed", "claims", "x:20: claims of cell kill has no value"},
		{"bad plan", "plan    literal one-cut", "plan    one-cut", "x:23: plan \"one-cut\": want `generate KEY=VALUE ...` or `literal NAME`"},
		{"unknown plan", "literal one-cut", "literal two-cuts", "x:23: no section plan/two-cuts"},
		{"unknown judgement", "flush-first", "gently", "x:28: cell cut: oracle: unknown promise gently (documented-loss, retention, holes, compacted, stale-reads, flush-first)"},
		{"bad literal plan", "at 5s powercut b1", "at 5s explode b1", `x:35: there is no verb "explode"`},
		{"bad word", "profile=kill", "profil=kill", `x:18: plan generate "profil=kill": want profile, kinds, from, to, targets, faults, down or files`},
		{"bad profile", "profile=kill", "profile=mess", `x:18: nemesis: generate: there is no profile "mess"; there are [kill powercut pause-partition torn]`},
		{"bad kind", "profile=kill", "kinds=mess", `there is no fault "mess"`},
		{"bad weight", "profile=kill", "kinds=kill:x", `x:18: plan generate "kinds=kill:x": strconv.Atoi: parsing "x": invalid syntax`},
		{"bad window", "to=16s", "to=soon", `x:18: plan generate "to=soon": time: invalid duration "soon"`},
		{"no profile", "profile=kill ", "", `x:18: plan generate "from=3s to=16s": want kinds=KIND,... or profile=NAME`},
		{"flags of nobody", "client  c1", "client  c9", "x:27: client c9 of cell cut: want `client NAME FLAGS` or `client all FLAGS`, of a client of the workload"},
		{"no flags", "c1 --compression gzip", "c1", "x:27: client c1 of cell cut: want `client NAME FLAGS`"},
		{"bad seeds", "seeds   40", "seeds   0", `x:19: seeds "0": want a number from 1 up`},
		{"bad expectation", "expect  valid", "expect  fine", "x:21: \"fine\" is no expectation: want `valid`, `documented-loss unflushed in >= N% of seeds` or `invalid [CLASS,...] within N seeds`"},
		{"cell expects invalid", "expect  valid", "expect  invalid within 5 seeds", "x:17: cell kill expects invalid: that is for mutants"},
		{"cell without plan", "    plan    literal one-cut\n", "", "x:22: cell cut needs a plan and an expectation"},
		{"unknown cell of a mutant", "cut kill", "cut torn", `x:31: mutant seglog.fsync-directory: experiment:  has no cell "torn"; its cells are kill, cut`},
		{"mutant expects valid", "expect  invalid lost-acked,corrupt-read within 200 seeds", "expect  valid", "x:31: mutant seglog.fsync-directory needs cells and expects `invalid [CLASS,...] within N seeds`"},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Contains(t, small, row.old)
			_, err := Parse("x", []byte(strings.Replace(small, row.old, row.new, 1)))
			require.ErrorContains(t, err, row.want)
		})
	}
}

func TestLoadFindsByNameAndBeginning(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/001-first/experiment.txtar", small)
	write(t, root+"/002-second/experiment.txtar", small)
	for _, name := range []string{root + "/001-first", root + "/001-first/experiment.txtar", "001-first", "001"} {
		e, err := Load(root, name)
		require.NoError(t, err, name)
		require.Equal(t, "001-first", e.Name)
	}
	_, err := Load(root, "00")
	require.ErrorContains(t, err, "ambiguous")
	_, err = Load(root, "003")
	require.ErrorContains(t, err, `no experiment "003"`)
	all, err := LoadAll(root)
	require.NoError(t, err)
	require.Len(t, all, 2)
	_, err = LoadAll(root + "/empty")
	require.ErrorContains(t, err, "no experiments in")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestExpectationText(t *testing.T) {
	for _, text := range []string{
		"valid", "documented-loss unflushed in >= 20% of seeds", "documented-loss unflushed in >= 100% of seeds",
		"invalid within 200 seeds", "invalid lost-acked within 1 seeds", "invalid lost-acked,corrupt-read within 200 seeds",
	} {
		x, err := ParseExpectation(text)
		require.NoError(t, err, text)
		require.Equal(t, text, x.String())
	}
	for _, text := range []string{
		"", "unknown", "valid always", "documented-loss x", "documented-loss unflushed in >= 0% of seeds", "documented-loss unflushed in >= 101% of seeds",
		"documented-loss unflushed in >= 20 of seeds", "documented-loss unflushed in > 20% of seeds", "invalid", "invalid within seeds", "invalid within 0 seeds",
		"documented-loss lost-acked in >= 20% of seeds", "invalid a b within 5 seeds", "invalid lost-acked within -5 seeds",
	} {
		_, err := ParseExpectation(text)
		require.ErrorContains(t, err, "is no expectation", text)
	}
	_, err := ParseExpectation("invalid lost within 5 seeds")
	require.ErrorContains(t, err, "names no class of anomaly: lost")
}
