package court

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/checker/court/experiment"
	"trialog/checker/oracle"
	"trialog/checker/report"
	"trialog/netsim/kernel"
)

func someCase(t *testing.T) *Case {
	t.Helper()
	e, err := experiment.Parse("x", []byte(small))
	require.NoError(t, err)
	e.Name = "001-small"
	return &Case{Experiment: e, Cell: &e.Cells[0], Seed: 7}
}

// An identity that moves would make every stored run unreplayable: this one is fixed here.
func TestIdentityIsStable(t *testing.T) {
	c := someCase(t)
	base := c.identity("sim", "wasm", strings.Repeat("a", 64))
	base.Digest = "d" // not that of the text above, which may be edited
	require.Equal(t, "4f94c3a463b2526c", base.ID())
	seen := map[string]string{base.ID(): "base"}
	for name, change := range map[string]func(*Identity){
		"guest":      func(i *Identity) { i.Guest = "b" },
		"experiment": func(i *Identity) { i.Experiment = "002" },
		"text":       func(i *Identity) { i.Digest = "e" },
		"cell":       func(i *Identity) { i.Cell = "cut" },
		"world":      func(i *Identity) { i.World = "real" },
		"engine":     func(i *Identity) { i.Engine = "native" },
		"rules off":  func(i *Identity) { i.RulesOff = []string{"a.b"} },
		"seed":       func(i *Identity) { i.Seed = 8 },
		"version":    func(i *Identity) { i.TraceVersion++ },
		"start time": func(i *Identity) { i.Started = "now" },
	} {
		other := base
		change(&other)
		require.Empty(t, seen[other.ID()], "%s does not change the id", name)
		seen[other.ID()] = name
	}
	c.RulesOff = []string{"b.b", "a.a"}
	require.Equal(t, []string{"a.a", "b.b"}, c.identity("sim", "wasm", "").RulesOff)
}

func TestStreamsDependOnSeedAndCellAlone(t *testing.T) {
	c := someCase(t)
	first := c.Stream("plan").Uint64()
	mutant := *c
	mutant.RulesOff = []string{"a.b"}
	require.Equal(t, first, mutant.Stream("plan").Uint64())
	require.NotEqual(t, first, c.Stream("workload").Uint64())
	cut := *c
	cut.Cell = &c.Experiment.Cells[1]
	require.NotEqual(t, first, cut.Stream("plan").Uint64())
	seed := *c
	seed.Seed++
	require.NotEqual(t, first, seed.Stream("plan").Uint64())
}

func TestSourceOf(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	require.Equal(t, sum, SourceOf([]byte("x"+SourceMark+"no hash here "+SourceMark+sum+"rest")))
	require.Empty(t, SourceOf([]byte("x"+SourceMark)))
	require.Empty(t, SourceOf([]byte(SourceMark+strings.ToUpper(sum))))
}

func TestRunDirectoryRoundTrip(t *testing.T) {
	c := someCase(t)
	c.RulesOff = []string{"seglog.fsync-directory"}
	run := &Run{
		Identity: c.identity("sim", "wasm", "g"), Result: Invalid, TraceHash: "abc", VirtualNs: 5, Calls: 6, Operations: 2,
		Replay: "trialog replay runs/x", Processes: []Process{{"b1", "kill", 137, 4}}, Properties: c.Properties().String(),
		Plan: "at 5s kill b1\n", Source: []byte(small),
		History: []byte(`{"index":0,"time":1,"proc":"c1","process":0,"id":1,"type":"invoke","f":"metadata","topic":"t","partition":0}` + "\n"),
		Events:  []byte(`{"time":1,"proc":"b1","kind":"start","node":1,"text":"v"}` + "\n"),
		Faults:  []Fault{{4, "b1", "kill b1"}},
		Outputs: map[string][]byte{"b1.stdout": []byte("up\n"), "c1.stderr": []byte("no <broker>\n")},
		Said:    []Said{{3, "b1", "stdout", "up"}, {4, "c1", "stderr", "no <broker>"}},
		Verdict: verdict(Invalid, "lost"),
	}
	run.Verdict.Anomalies[0].Witnesses = []oracle.Witness{{Kind: "op", Time: 5, Text: "c1 <acked>"}}
	run.ID = run.Identity.ID()
	dir := t.TempDir() + "/runs/x"
	require.NoError(t, run.WriteDir(dir))
	back, err := ReadDir(dir)
	require.NoError(t, err)
	require.Equal(t, pretty(run), pretty(back))
	require.Equal(t, run, back)

	page, err := back.Report()
	require.NoError(t, err)
	require.Equal(t, string(page), read(t, dir+"/report.html"), "a stored run gives the report that it was stored with")
	require.NotContains(t, string(page), "no <broker>", "what a process said is text")

	again, err := back.Case()
	require.NoError(t, err)
	require.Equal(t, run.Identity, again.identity("sim", "wasm", "g"), "a stored run knows what it was")

	require.NoError(t, os.Remove(dir+"/output.jsonl"))
	old, err := ReadDir(dir)
	require.NoError(t, err, "a run of the time before output.jsonl")
	require.Equal(t, []report.Line{{Time: -1, Proc: "b1", Stream: "stdout", Text: "up"}, {Time: -1, Proc: "c1", Stream: "stderr", Text: "no <broker>"}}, old.said())

	_, err = ReadDir(t.TempDir())
	require.ErrorContains(t, err, "is no run directory")
	write(t, dir+"/verdict.json", "{")
	_, err = ReadDir(dir)
	require.ErrorContains(t, err, "verdict.json: unexpected end of JSON input")
}

// Lines of old runs have the times that they begin with.
func TestStampOf(t *testing.T) {
	start := time.Unix(0, kernel.Epoch)
	require.Equal(t, int64(2_901e6), stampOf(`time=2026-01-01T00:00:02.901Z level=INFO msg=stopping`, start))
	for _, text := range []string{"", "up", "time=", "time=never x", "time=2025-12-31T23:59:59.999Z level=INFO"} {
		require.Equal(t, report.NoTime, stampOf(text, start), text)
	}
}

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
    expect  documented-loss unflushed in >= 20% of seeds
-- mutants --
mutant seglog.fsync-directory
    cells   cut kill
    expect  invalid lost-acked,corrupt-read within 200 seeds
-- plan/one-cut --
at 5s powercut b1
`
