//go:build linux && amd64

package native

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"trialog/netsim/kernel"
	"trialog/netsim/world"
)

var (
	runs   = flag.Int("runs", 3, "how often the repeat suite runs each program; it goes round all machines")
	every  = flag.Bool("every-go", false, "run the repeat suite with every Go release that is installed")
	report = flag.String("report", "", "write the counts of the repeat suite to this name with .json and .txt")
)

// subject is a world that is run again and again.
type subject struct {
	name, guest string
	procs       []string // as in specOf
	plan        string
	limit       time.Duration
}

var subjects = []subject{
	{"raft", "examples/raft", []string{"n1: n1 12 n1 n2 n3", "n2: n2 12 n1 n2 n3", "n3: n3 12 n1 n2 n3"},
		"at 4s partition n1 | n2 n3 for 3s\nat 8s cut n2->n3 for 2s\nat 11s kill n1", 20 * time.Second},
	{"ping", "examples/probe", []string{"srv: echo :7000", "cli: ping srv:7000 60 500ms"},
		"at 1s partition srv | cli for 2s\nat 4s kill srv for 1s\nat 6s link srv->cli reset\nat 7s pause srv for 1s", 20 * time.Second},
	{"flood", "examples/probe", []string{"srv: sink :7000", "cli: flood srv:7000"}, "at 5010ms link cli->srv throttle 4000000 for 1s", 20 * time.Second},
	{"group", "examples/probe", []string{"a: group", "b: tick", "c: library", "d: lookup a b localhost"},
		"at 0s disk a slow 20ms\nat 0s disk b slow 300ms", 20 * time.Second},
	{"append", "examples/probe", []string{"a: append /d fd", "b: append /d f"},
		"at 300ms powercut a lose=some torn=1 for 100ms\nat 500ms kill b midwrite *log for 100ms", time.Second},
	{"sweep", "examples/probe", []string{"a: sweep"}, "", 20 * time.Second},
	{"garbage", "mill", []string{"a: garbage"}, "", 20 * time.Second},
	{"timers", "mill", []string{"a: timers", "b: timers"}, "at 100ms pause a for 200ms", 20 * time.Second},
	{"maps", "mill", []string{"a: maps"}, "", 20 * time.Second},
	{"channels", "mill", []string{"a: channels", "b: crowd"}, "", 20 * time.Second},
	{"text", "mill", []string{"a: text", "b: zones"}, "at 0s clock b skew +1h", 20 * time.Second},
	{"secrets", "mill", []string{"a: secrets"}, "", 20 * time.Second},
	{"files", "mill", []string{"a: files"}, "at 0s disk a slow 3ms", 20 * time.Second},
	{"http", "mill", []string{"srv: serve :80", "c1: ask srv:80", "c2: ask srv:80"},
		"at 40ms link c2->srv delay 30ms for 1s\nat 60ms partition srv | c1 for 1s\nat 300ms kill srv for 200ms", 20 * time.Second},
	{"mixed", "mill", []string{"cli: mixed srv:7000", "srv: echo :7000"}, "at 100us link srv->cli delay 50us", 20 * time.Second},
	{"crash", "ends", []string{"a: maps", "b: nil", "c: stack", "d: memory"}, "", 20 * time.Second},
	{"random", "hostile", []string{"a: random", "b: clocks", "c: signals"}, "", 20 * time.Second},
	{"busy", "busy", []string{"a: map", "b: stat", "c: string"}, "", 20 * time.Second},
}

// outcome is all that a run gave which must be the same again.
type outcome struct {
	hash  string
	lines []world.Line
	procs []world.ProcResult
	trace bytes.Buffer
}

// run simulates a subject with one seed, whose guest is in a file, on a machine.
func (s subject) run(t *testing.T, m machine, file string, seed uint64) (o *outcome) {
	t.Helper()
	t.Run(m.name, func(t *testing.T) {
		e := newEngine(t, nil)
		p, err := e.Load(file)
		require.NoError(t, err)
		spec := planned(t, world.Spec{Seed: seed, Program: p, Procs: procsOf(s.procs), Limit: s.limit}, s.plan)
		o = &outcome{}
		spec.Record = &o.trace
		m.be(t, e)
		res, err := world.Run(t.Context(), spec)
		require.NoError(t, err)
		require.Empty(t, res.NotFired)
		o.hash, o.lines, o.procs = res.TraceHash, res.Lines, res.Procs
	})
	require.NotNil(t, o)
	return o
}

// differs says how another run of the same world differed, if it did.
func (o *outcome) differs(t *testing.T, again *outcome) string {
	t.Helper()
	if o.hash != again.hash {
		d, err := kernel.FirstDifference(bytes.NewReader(o.trace.Bytes()), bytes.NewReader(again.trace.Bytes()))
		require.NoError(t, err)
		return "trace: " + d.String()
	}
	if !assert.ObjectsAreEqual(o.lines, again.lines) || !assert.ObjectsAreEqual(o.procs, again.procs) {
		return "what the processes wrote, or their ends, with equal traces"
	}
	return ""
}

// TestRepeat runs each subject again and again with one seed, each time on another machine.
func TestRepeat(t *testing.T) {
	t.Setenv("GOTOOLCHAIN", "local") // each release itself, whatever the module wants
	var all reports
	for _, command := range goCommands(t) {
		r := newReport(t, command)
		all = append(all, r)
		for i, s := range subjects {
			file, err := build(command, s.guest)
			if err != nil {
				r.refuse(t, err)
				break
			}
			t.Run(strings.TrimSpace(r.Go+" "+s.name), func(t *testing.T) { repeat(t, s, file, i*(*runs), r) })
		}
	}
	all.write(t, *report)
}

// repeat runs one subject. Runs of different subjects begin at different machines, so that few runs see them all.
func repeat(t *testing.T, s subject, file string, start int, r *goReport) {
	elsewhere := filepath.Join(t.TempDir(), strings.Repeat("another name ", 9))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(elsewhere, text, 0o755))
	var first *outcome
	for i := range *runs {
		m := machines[(start+i)%len(machines)]
		o := s.run(t, m, []string{file, elsewhere}[i%2], 7)
		if first == nil {
			first = o
		}
		d := first.differs(t, o)
		if r.count(s.name, m.name, d != ""); d != "" {
			t.Errorf("%s differs on the machine %q: %s", s.name, m.name, d)
		}
	}
	require.NotEqual(t, first.hash, s.run(t, machines[0], file, 8).hash, "another seed is another run")
}

// A processor that hashes otherwise is one on which another program runs: what is hidden matters.
func TestHashingShowsInATrace(t *testing.T) {
	const aes = 1 << 25
	if !cpu.X86.HasAES {
		t.Skip("this processor has no AES")
	}
	s := subject{"maps", "mill", []string{"a: maps"}, "", time.Second}
	file := built(t, s.guest)
	with := machine{"AES", func(_ *testing.T, e *Engine) { e.cpu |= aes }}
	assert.NotEmpty(t, s.run(t, machines[0], file, 7).differs(t, s.run(t, with, file, 7)))
}

// Seeds differ in the order of goroutines, in what select takes, and in the order of maps; one seed never does.
func TestSeedsDecideTheOrder(t *testing.T) {
	for _, way := range []string{"channels", "crowd", "maps"} {
		seen := map[string]uint64{}
		for seed := range uint64(6) {
			out := play(t, seed, "mill", "a: "+way).Text("a", "stdout")
			assert.Contains(t, out, "order ")
			assert.Equal(t, out, play(t, seed, "mill", "a: "+way).Text("a", "stdout"))
			if other, ok := seen[out]; ok {
				t.Errorf("%s: seeds %d and %d give the same:\n%s", way, other, seed, out)
			}
			seen[out] = seed
		}
	}
}
