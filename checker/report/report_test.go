package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/checker/history"
	"trialog/checker/history/historytest"
	"trialog/checker/oracle"
	"trialog/core/event"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files of testdata")

func golden(t *testing.T, file, now string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(now), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), now, "%s: run with -rewrite if that is wanted", file)
}

// load reads STEM.jsonl or STEM/history.jsonl with what lies beside it, and judges it.
func load(t *testing.T, historyFile, eventsFile, faultsFile string, p oracle.Promises) *Input {
	t.Helper()
	in := &Input{Experiment: "000-test", Cell: "cell", World: "sim", Engine: "wasm", Seed: 1, Replay: "trialog run 000", Compacted: p.Compacted}
	f, err := os.Open(historyFile)
	require.NoError(t, err)
	defer f.Close()
	in.History, err = history.Read(f)
	require.NoError(t, err)
	if text, err := os.ReadFile(eventsFile); err == nil {
		in.Events, err = event.ReadAll(eventsFile, bytes.NewReader(text))
		require.NoError(t, err)
	}
	if text, err := os.ReadFile(faultsFile); err == nil {
		in.Faults, err = oracle.ReadFaults(faultsFile, bytes.NewReader(text))
		require.NoError(t, err)
	}
	in.Verdict = oracle.Judge(oracle.Input{History: in.History, Events: in.Events, Faults: in.Faults, Promises: p, TrueTime: len(in.Events) > 0})
	return in
}

// small is a run in which everything happens once: a pause, a power cut, a lost record, a reused offset, damaged bytes.
func small(t *testing.T) *Input {
	in := load(t, "testdata/small/history.jsonl", "testdata/small/events.jsonl", "testdata/small/faults.jsonl", oracle.Promises{})
	in.Clients = map[string]Role{"c1": "producer", "c2": "reader"}
	in.RulesOff = []Rule{{"seglog.recover-checks-crc", "recovery drops a batch whose CRC fails", "KAFKA-1"}}
	in.Ends = []End{{"b1", "power cut", 137, 400_000_000}, {"c1", "exit", 0, 700_000_000}, {"c2", "exit", 1, 920_000_000}}
	in.Output = []Line{
		{1_500, "b1", "stderr", "level=INFO msg=serving"}, {NoTime, "b1", "stdout", "listening"},
		{451_000_000, "b1", "stderr", "recovery of t-0: </script><b>cut</b>"}, {700_000_000, "c1", "stderr", "c1: 4 ok"},
	}
	in.Plan = "at 400ms powercut b1 for 49ms\n"
	in.Identity = []Fact{{"seed", "1"}}
	return in
}

// The data part is the same for the same run, and is reviewed as a whole.
func TestDataOfASmallRun(t *testing.T) {
	d, err := Build(small(t))
	require.NoError(t, err)
	text, err := json.MarshalIndent(d, "", " ")
	require.NoError(t, err)
	golden(t, "testdata/small.json", string(text)+"\n")
}

func TestSameInputSameBytes(t *testing.T) {
	var first bytes.Buffer
	require.NoError(t, Write(&first, small(t)))
	for range 8 {
		var again bytes.Buffer
		require.NoError(t, Write(&again, small(t)))
		require.Equal(t, first.String(), again.String())
	}
}

// samples are the histories that the judges are tested with.
func samples(t *testing.T) (names []string, inputs map[string]*Input) {
	files, err := filepath.Glob("../oracle/testdata/corpus/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	inputs = map[string]*Input{}
	for _, file := range files {
		stem := strings.TrimSuffix(file, ".jsonl")
		name := filepath.Base(stem)
		kind := name[strings.LastIndexByte(name, '.')+1:]
		names = append(names, name)
		inputs[name] = load(t, file, stem+".events", stem+".faults", oracle.Promises{
			FlushFirst:     strings.Contains(name, ".flush-first."),
			Compacted:      strings.Contains(name, ".compacted."),
			Holes:          strings.Contains(name, ".compacted."),
			DocumentedLoss: slices.Contains([]string{"loss", "no-cut", "fsynced", "loss-bad"}, kind),
		})
	}
	return names, inputs
}

// Sentences and stories of every class of anomaly, as a reader meets them.
func TestStoriesOfTheCorpus(t *testing.T) {
	names, inputs := samples(t)
	var b strings.Builder
	b.WriteString("The corpus of the judges as reports tell it. Regenerate with -rewrite.\n")
	for _, name := range names {
		in := inputs[name]
		d, err := Build(in)
		require.NoError(t, err, name)
		fmt.Fprintf(&b, "\n== %s\n%s\n", name, sentence(in, d))
		for i := range d.Stories {
			s := &d.Stories[i]
			fmt.Fprintf(&b, "  %s: %s\n", s.Class, s.headline(d))
			for n, step := range s.Steps {
				fmt.Fprintf(&b, "    %d %s %-8s %s: %s\n", n+1, seconds(step.Time), step.Role, step.Title, step.Text)
			}
		}
	}
	golden(t, "testdata/stories.txt", b.String())
}

// What the acceptance asks of a report: whoever lost a record finds the record, its acknowledgement, the crash and the
// answer that denies it, in the order in which they happened.
func TestLostRecordHasItsStory(t *testing.T) {
	d, err := Build(small(t))
	require.NoError(t, err)
	at := slices.IndexFunc(d.Stories, func(s Story) bool { return s.Class == oracle.LostAcked })
	require.GreaterOrEqual(t, at, 0)
	s := &d.Stories[at]
	var roles []string
	for i, step := range s.Steps {
		roles = append(roles, step.Role)
		require.True(t, i == 0 || s.Steps[i-1].Time <= step.Time)
	}
	for _, role := range []string{roleAppended, roleAck, roleCrash, roleRecover, roleMissed} {
		require.Contains(t, roles, role)
	}
	require.Less(t, slices.Index(roles, roleAck), slices.Index(roles, roleCrash))
	require.Equal(t, "t-0", d.Parts[s.Part].Name)
	record := d.Parts[s.Part].Records[s.Record]
	require.True(t, record.Gone)
	require.Equal(t, s.Value, record.Value)
	require.Equal(t, State(Lost), record.State)
	require.Contains(t, s.headline(d), "is gone: the power of b1 was cut at 0.400 s, and the log came back without it")
}

// Every record that the strips call lost was known to somebody and is missing in the end; a sound history has none.
func TestNothingIsLostInSoundHistories(t *testing.T) {
	names, inputs := samples(t)
	lost := 0
	for _, name := range names {
		d, err := Build(inputs[name])
		require.NoError(t, err)
		for _, p := range d.Parts {
			for _, r := range p.Records {
				if r.Gone {
					lost++
					require.NotEqual(t, oracle.Valid, inputs[name].Verdict.Result, "%s: %s offset %d %q", name, p.Name, r.Offset, r.Value)
				}
			}
		}
	}
	require.Greater(t, lost, 10, "the corpus holds lost records")
	for seed := range int64(30) {
		in := &Input{History: historytest.Simulate(rand.New(rand.NewSource(seed)), historytest.Spec{Producers: 3, Readers: 2, Ops: 150, BatchMax: 4})}
		d, err := Build(in)
		require.NoError(t, err)
		for _, r := range d.Parts[0].Records {
			require.False(t, r.Gone, "seed %d: offset %d %q", seed, r.Offset, r.Value)
			require.NotContains(t, []State{Lost, Reused, Corrupt}, r.State)
		}
	}
}

// A report asks for nothing outside itself, and nothing that a process said becomes markup.
func TestPageIsSelfContained(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, small(t)))
	page := b.String()
	for _, outside := range []string{"http://", "https://", "//cdn", "@import", "url(", " src="} {
		require.NotContains(t, page, outside)
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		require.Regexp(t, `^(#.*|data:,)$`, link[1])
	}
	require.Equal(t, 2, strings.Count(page, "</script>"))
	require.NotContains(t, page, "<b>cut</b>")
	require.NotContains(t, page, "ZgotmplZ")
	require.Contains(t, page, "Content-Security-Policy")
}

// many is a run of n operations and more: the busiest that an experiment makes is a tenth of it.
func many(n int) *Input {
	rng := rand.New(rand.NewSource(1))
	spec := historytest.Spec{Producers: 4, Readers: 3, Ops: n, BatchMax: 5, ReadMax: 200}
	in := &Input{History: historytest.Simulate(rng, spec), Experiment: "000-many", Cell: "cell", World: "sim"}
	for i := range in.History {
		in.History[i].Time *= 1_000_000
	}
	for i := range 3 * OutputMax {
		in.Output = append(in.Output, Line{int64(i) * 1_000_000, "b1", "stderr", "level=INFO msg=" + strings.Repeat("word ", 20)})
	}
	in.Verdict = &oracle.Verdict{Result: oracle.Valid}
	return in
}

const sizeMax = 5 << 20

func TestSizeIsBounded(t *testing.T) {
	var b bytes.Buffer
	in := many(10_000)
	require.NoError(t, Write(&b, in))
	require.Less(t, b.Len(), sizeMax)
	t.Logf("%d lines of history, %d bytes of report", len(in.History), b.Len())
	require.Contains(t, b.String(), "lines of output were left out")

	d, err := Build(many(OperationsMax + 500))
	require.NoError(t, err)
	require.Len(t, d.Ops, OperationsMax)
	require.Len(t, d.Output, OutputMax)
	require.Positive(t, d.OpsLeftOut)
	for _, p := range d.Parts {
		for _, r := range p.Records {
			require.Less(t, r.Writer, OperationsMax)
		}
	}
}

// A log that is too long keeps what is wrong in it.
func TestRecordsAreBounded(t *testing.T) {
	l := &log{byKey: map[key]*record{}, end: -1}
	for i := range int64(100) {
		r := l.show(i, fmt.Sprint(i), i)
		r.acked, r.read = true, i%10 != 9
	}
	p := l.partition(20)
	require.Len(t, p.Records, 20)
	acked := 0
	for i, r := range p.Records {
		require.Equal(t, i, l.byKey[key{r.Offset, r.Value}].id)
		if r.State == Acked {
			acked++
		}
	}
	require.Equal(t, 10, acked)
	require.Equal(t, int64(99), p.Records[19].Offset)
	require.Len(t, l.partition(100).Records, 100)
	require.Len(t, l.partition(5).Records, 5, "even of what is wrong")
}

// What is left out is never what the verdict rests on.
func TestWitnessesStay(t *testing.T) {
	in := many(OperationsMax + 500)
	operations, err := history.Pair(in.History)
	require.NoError(t, err)
	last := len(operations) - 1
	in.Verdict = &oracle.Verdict{Result: oracle.Invalid, Anomalies: []oracle.Anomaly{{
		Class: oracle.LostAcked, Topic: "t", Text: "x", Witnesses: []oracle.Witness{{Kind: "op", Text: operations[last].String()}},
	}}}
	d, err := Build(in)
	require.NoError(t, err)
	require.Len(t, d.Stories, 1)
	at := d.Stories[0].Steps[0].Op
	require.True(t, d.Ops[at].Witness)
	require.Equal(t, operations[last].Call, d.Ops[at].Call)
	failed := 0
	for i := range operations {
		if operations[i].Outcome != history.OK {
			failed++
		}
	}
	for _, op := range d.Ops {
		if op.Outcome != history.OK {
			failed--
		}
	}
	require.Zero(t, failed, "operations that did not succeed stay")
}

// A run that could not be made has a report, too.
func TestEmptyRun(t *testing.T) {
	var b bytes.Buffer
	in := &Input{Experiment: "001", Cell: "cut", World: "real", Verdict: &oracle.Verdict{Result: oracle.Unknown, Reasons: []string{"not expressible: powercut"}}}
	require.NoError(t, Write(&b, in))
	require.Contains(t, b.String(), "This run decides nothing: not expressible: powercut.")
	require.NoError(t, Write(&bytes.Buffer{}, &Input{}))
	in.History = []history.Op{{Time: 1, Proc: "c1", ID: 1, Type: history.OK, F: history.Metadata}}
	require.ErrorContains(t, Write(&b, in), "was never invoked")
}
