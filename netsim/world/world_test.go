package world_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/guest"
	"trialog/netsim/kernel"
	"trialog/netsim/nemesis"
	"trialog/netsim/wasi"
	"trialog/netsim/world"
)

var engine = sync.OnceValues(func() (*wasi.Engine, error) {
	return wasi.NewEngine(context.Background(), filepath.Join(guest.CacheDir(), "compiled"))
})

var programs sync.Map // example name -> func() (*wasi.Program, error)

// program builds and compiles an example once.
func program(t *testing.T, name string) *wasi.Program {
	t.Helper()
	once, _ := programs.LoadOrStore(name, sync.OnceValues(func() (*wasi.Program, error) {
		if _, err := os.ReadFile("../examples/" + name + "/main.go"); err != nil { // so that a cached result knows its guest
			return nil, err
		}
		dir, err := os.MkdirTemp("", "trialog-world-test-*")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		out := filepath.Join(dir, "guest.wasm")
		if err := guest.Build(context.Background(), guest.Options{Package: "../examples/" + name, Out: out}); err != nil {
			return nil, err
		}
		wasm, err := os.ReadFile(out)
		if err != nil {
			return nil, err
		}
		e, err := engine()
		if err != nil {
			return nil, err
		}
		return e.Compile(context.Background(), wasm)
	}))
	p, err := once.(func() (*wasi.Program, error))()
	require.NoError(t, err)
	return p
}

// run simulates probe processes ("name: args") under a plan.
func run(t *testing.T, seed uint64, limit time.Duration, plan string, procs ...string) *world.Result {
	t.Helper()
	spec := world.Spec{Seed: seed, Program: program(t, "probe"), Limit: limit}
	for _, p := range procs {
		name, args, _ := strings.Cut(p, ":")
		spec.Procs = append(spec.Procs, world.ProcSpec{Name: name, Args: strings.Fields(args)})
	}
	if plan != "" {
		var err error
		spec.Plan, err = nemesis.Parse("test", plan)
		require.NoError(t, err)
	}
	res, err := world.Run(t.Context(), spec)
	require.NoError(t, err)
	assert.Empty(t, res.NotFired)
	return res
}

func count(text, part string) int { return strings.Count(text, part) }

func TestPingWithoutFaults(t *testing.T) {
	res := run(t, 1, 30*time.Second, "", "srv: echo :7000", "cli: ping srv:7000 20 1s")
	assert.Equal(t, 20, count(res.Text("cli", "stdout"), " ok "), res.Text("cli", "stdout"))
	assert.Contains(t, res.Text("srv", "stdout"), "listening on")
}

func TestPartitionHealsAndConnectionSurvives(t *testing.T) {
	out := run(t, 1, 60*time.Second, "at 1s partition srv | cli for 3s", "srv: echo :7000", "cli: ping srv:7000 40 20s").Text("cli", "stdout")
	assert.Equal(t, 40, count(out, " ok "), "a held byte is delivered after the heal:\n%s", out)
	out = run(t, 1, 60*time.Second, "at 1s partition srv | cli for 5s", "srv: echo :7000", "cli: ping srv:7000 40 500ms").Text("cli", "stdout")
	assert.Positive(t, count(out, "lost: "), out)
	assert.Positive(t, count(out, "dial: "), out)
	assert.Contains(t, out, "39 at")
	assert.Regexp(t, `39 at \d+ ok`, out)
}

func TestTheEndOfAPartitionEndsNothingElse(t *testing.T) {
	res := run(t, 1, 60*time.Second, "at 0s link cli->srv delay 300ms\nat 1s partition srv | cli for 1s",
		"srv: echo :7000", "cli: ping srv:7000 40 20s")
	var at []int64
	for _, line := range strings.Split(res.Text("cli", "stdout"), "\n") {
		var i int
		var ms int64
		if n, _ := fmt.Sscanf(line, "%d at %d ok", &i, &ms); n == 2 {
			at = append(at, ms)
		}
	}
	require.Len(t, at, 40)
	assert.Greater(t, at[39]-at[29], int64(10*300), "the link is still slow")
}

func TestHealOfOneLinkEndsAllThatAilsIt(t *testing.T) {
	for _, fault := range []string{"link cli->srv delay 1s", "link cli->srv hold", "link cli->srv throttle 10", "cut cli->srv"} {
		res := run(t, 1, 60*time.Second, "at 1s "+fault+"\nat 2s heal cli->srv", "srv: echo :7000", "cli: ping srv:7000 40 20s")
		var ms int64
		_, err := fmt.Sscanf(res.Text("cli", "stdout")[strings.Index(res.Text("cli", "stdout"), "39 at"):], "39 at %d ok", &ms)
		require.NoError(t, err)
		assert.Less(t, ms, int64(8000), fault)
	}
}

func TestOneWayCutsLoseEitherDirection(t *testing.T) {
	for _, link := range []string{"srv->cli", "cli->srv"} {
		res := run(t, 1, 60*time.Second, "at 1s cut "+link+" for 4s", "srv: echo :7000", "cli: ping srv:7000 30 500ms")
		out := res.Text("cli", "stdout")
		assert.Positive(t, count(out, "i/o timeout"), "%s\n%s", link, out)
		assert.Regexp(t, `29 at \d+ ok`, out)
	}
}

func TestDials(t *testing.T) {
	out := run(t, 1, 60*time.Second, "", "srv: spin", "cli: dial srv:9 5s").Text("cli", "stdout")
	assert.Contains(t, out, "refused")
	out = run(t, 1, 60*time.Second, "at 0s powercut srv", "srv: spin", "cli: dial srv:9 5s").Text("cli", "stdout")
	assert.Regexp(t, `failed after 50\d\d ms: .*timeout`, out)
	out = run(t, 1, 60*time.Second, "at 0s partition srv | cli", "srv: echo :7000", "cli: dial srv:7000 50s").Text("cli", "stdout")
	assert.Regexp(t, `failed after \d+ ms: .*timed out`, out, "the network's own limit")
}

func TestResetKillAndRestart(t *testing.T) {
	out := run(t, 1, 30*time.Second, "at 1s link srv->cli reset", "srv: echo :7000", "cli: ping srv:7000 20 1s").Text("cli", "stdout")
	assert.Regexp(t, "(?i)connection reset by peer", out)
	assert.Regexp(t, `19 at \d+ ok`, out)
	res := run(t, 1, 30*time.Second, "at 1s kill srv\nat 2s start srv", "srv: echo :7000", "cli: ping srv:7000 40 1s")
	out = res.Text("cli", "stdout")
	assert.Positive(t, count(out, "refused"), out)
	assert.Regexp(t, `39 at \d+ ok`, out)
	assert.Equal(t, kernel.ReasonKill, res.Procs[0].Exits[0].Reason)
}

func TestWhatWasTakenDownStartsAgain(t *testing.T) {
	for plan, reason := range map[string]string{
		"at 1s kill srv for 1s":          kernel.ReasonKill,
		"at 1s kill srv call +20 for 1s": kernel.ReasonKill,
		"at 1s powercut srv for 1s":      kernel.ReasonPowerCut,
	} {
		res := run(t, 1, 60*time.Second, plan, "srv: echo :7000", "cli: ping srv:7000 40 1s")
		assert.Regexp(t, `39 at \d+ ok`, res.Text("cli", "stdout"), plan)
		assert.Equal(t, reason, res.Procs[0].Exits[0].Reason, plan)
	}
}

func TestPowerCutIsSilent(t *testing.T) {
	out := run(t, 1, 60*time.Second, "at 1s powercut srv\nat 6s start srv", "srv: echo :7000", "cli: ping srv:7000 40 1s").Text("cli", "stdout")
	assert.Contains(t, out, "i/o timeout", "nobody tells the peer")
	assert.NotContains(t, out, "reset")
	assert.Regexp(t, `39 at \d+ ok`, out)
}

func TestPause(t *testing.T) {
	out := run(t, 1, 60*time.Second, "at 3s pause a for 5s", "a: spin").Text("a", "stdout")
	gap, last := int64(0), int64(0)
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var i int
		var at int64
		_, err := fmt.Sscanf(line, "alive %d %d", &i, &at)
		require.NoError(t, err)
		gap, last = max(gap, at-last), at
	}
	assert.InDelta(t, 5000, gap, 200)
	assert.Equal(t, 100, count(out, "alive"))
}

func TestClockSkew(t *testing.T) {
	out := run(t, 1, 60*time.Second, "at 2500ms clock a skew +1h", "a: clock").Text("a", "stdout")
	var walls, monos []int64
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var w, m int64
		_, err := fmt.Sscanf(line, "wall %d mono %d", &w, &m)
		require.NoError(t, err)
		walls, monos = append(walls, w), append(monos, m)
	}
	assert.InDelta(t, 1000, walls[1]-walls[0], 5)
	assert.InDelta(t, 3_601_000, walls[3]-walls[2], 5)
	assert.InDelta(t, 4000, monos[4], 5, "the monotonic clock does not jump")
}

func TestNames(t *testing.T) {
	out := run(t, 1, 60*time.Second, "", "a: lookup a bee localhost nobody", "bee: spin").Text("a", "stdout")
	assert.Contains(t, out, "a [10.0.0.1]")
	assert.Contains(t, out, "bee [10.0.0.2]")
	assert.Contains(t, out, "localhost [127.0.0.1]")
	assert.Contains(t, out, "no such host")
}

func TestBuffersAreBounded(t *testing.T) {
	out := run(t, 1, 60*time.Second, "", "srv: sink :7000", "cli: flood srv:7000").Text("cli", "stdout")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.GreaterOrEqual(t, len(lines), 4, out)
	assert.Equal(t, lines[0], lines[2], "a writer whose peer does not read is blocked")
	assert.Contains(t, out, "done 8388608")
}

func TestTickerRunsThroughALongFsync(t *testing.T) {
	out := run(t, 1, 60*time.Second, "at 0s disk a slow 10s", "a: tick").Text("a", "stdout")
	var ms, ticks int
	_, err := fmt.Sscanf(out[strings.Index(out, "fsync took"):], "fsync took %d ms, ticks %d", &ms, &ticks)
	require.NoError(t, err, out)
	assert.GreaterOrEqual(t, ms, 10_000)
	assert.GreaterOrEqual(t, ticks, 990)
}

func TestAppendersShareFsyncs(t *testing.T) {
	out := run(t, 1, 60*time.Second, "", "a: group").Text("a", "stdout")
	var syncs int
	_, err := fmt.Sscanf(out, "appends 64, fsyncs %d", &syncs)
	require.NoError(t, err, out)
	assert.LessOrEqual(t, syncs, 8)
}

// lastSafe is the number of lines the guest was told are durable (or written).
func lastSafe(t *testing.T, res *world.Result, proc string) int {
	t.Helper()
	n := count(res.Text(proc, "stdout"), "safe ")
	require.Positive(t, n)
	return n
}

func TestKillInTheMiddleOfAWriteLeavesAPrefix(t *testing.T) {
	torn := 0
	for seed := range uint64(10) {
		res := run(t, seed, 3*time.Second, "at 1s kill a midwrite *log", "a: append /d -")
		b, err := res.Disks["a"].ReadFile("/d/log")
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(b)/100, lastSafe(t, res, "a"), "a kill keeps the page cache")
		if len(b)%100 != 0 {
			torn++
		}
	}
	assert.Equal(t, 10, torn)
}

func TestKillAtACall(t *testing.T) {
	res := run(t, 1, 3*time.Second, "at 0s kill a call 500", "a: append /d -")
	assert.Equal(t, int64(500), res.Procs[0].Calls)
	res = run(t, 1, 3*time.Second, "at 0s powercut a call 500 after", "a: append /d -")
	assert.Equal(t, int64(500), res.Procs[0].Calls)
	assert.Equal(t, kernel.ReasonPowerCut, res.Procs[0].Exits[0].Reason)
}

func TestPowerCutKeepsWhatWasFsynced(t *testing.T) {
	for seed := range uint64(10) {
		for _, lose := range []string{"unsynced", "some torn=1"} {
			res := run(t, seed, 3*time.Second, "at 1s powercut a lose="+lose, "a: append /d fd")
			b, err := res.Disks["a"].ReadFile("/d/log")
			require.NoError(t, err)
			assert.GreaterOrEqual(t, len(b)/100, lastSafe(t, res, "a"))
		}
	}
}

func TestPowerCutTakesWhatWasNot(t *testing.T) {
	res := run(t, 1, 3*time.Second, "at 1s powercut a lose=unsynced", "a: append /d d")
	b, err := res.Disks["a"].ReadFile("/d/log")
	require.NoError(t, err, "the name was fsynced")
	assert.Empty(t, b, "the data was not")
	res = run(t, 1, 3*time.Second, "at 1s powercut a lose=unsynced", "a: append /d f")
	_, err = res.Disks["a"].ReadFile("/d/log")
	assert.Error(t, err, "the data was fsynced, the name was not")
	kept := map[bool]int{}
	for seed := range uint64(20) {
		res := run(t, seed, 3*time.Second, "at 1s powercut a lose=some", "a: append /d f")
		_, err := res.Disks["a"].ReadFile("/d/log")
		kept[err == nil]++
	}
	assert.Len(t, kept, 2, "a name that was not fsynced is lost in some worlds and kept in others")
}

func TestAListingSkipsNothingWhileFilesGo(t *testing.T) {
	out := run(t, 1, 10*time.Second, "", "a: sweep").Text("a", "stdout")
	assert.Contains(t, out, "made 2000, met 2000, left 0")
}

func TestLibraryCallsThatProgramsRelyOn(t *testing.T) {
	out := run(t, 1, 10*time.Second, "", "a: library").Text("a", "stdout")
	for _, line := range []string{
		"hostname a <nil>", "mkdirtemp true <nil>", "write <nil>", "chtimes <nil>", "mtime 2020-01-02 03:04:05 size 4",
		"removeall <nil>", "options <nil> <nil> <nil> <nil> <nil>", "linger true", "past true",
	} {
		assert.Contains(t, out, line+"\n")
	}
	for _, line := range []string{
		`link link /tmp/x-\d+/f /tmp/x-\d+/f2: Not supported`, `symlink symlink .*: Not supported`,
		`udp listen udp :0: socket: Not supported`, `dial from dial tcp .*: bind: Not supported`,
	} {
		assert.Regexp(t, line, out)
	}
}

func TestLinesOfTwoLivesAreNotJoined(t *testing.T) {
	res := run(t, 1, 3*time.Second, "at 1s kill a\nat 1500ms start a", "a: half")
	assert.Equal(t, "begun\nbegun\n", res.Text("a", "stdout"))
}

func TestWhoIsKilledWhileItStopsStaysDown(t *testing.T) {
	res := run(t, 1, 5*time.Second, "at 1s stop a\nat 1100ms start a\nat 2s kill a", "a: spin")
	assert.Len(t, res.Procs[0].Exits, 1)
	assert.Equal(t, int64(2e9), res.Procs[0].Exits[0].At)
}

func TestFullDisk(t *testing.T) {
	out := run(t, 1, 10*time.Second, "at 0s disk a full", "a: fill").Text("a", "stdout")
	assert.Regexp(t, `stopped at \d+ .*[Nn]o space`, out)
}

func raftSpec(t *testing.T, seed uint64, record *bytes.Buffer) world.Spec {
	plan, err := nemesis.Parse("raft", `
at 5s  partition n1 | n2 n3 for 4s
at 12s cut n2->n3 for 4s
at 18s partition n1 n2 | n3 for 4s
at 24s kill n1
`)
	require.NoError(t, err)
	spec := world.Spec{Seed: seed, Program: program(t, "raft"), Limit: time.Minute, Plan: plan}
	if record != nil {
		spec.Record = record
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		spec.Procs = append(spec.Procs, world.ProcSpec{Name: n, Args: []string{n, "32", "n1", "n2", "n3"}})
	}
	return spec
}

// applied returns the commands a node applied, and those it saw committed.
func applied(text string) (list, committed []string) {
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[0] == "applied":
			list = append(list, f[2])
		case len(f) == 2 && f[0] == "committed":
			committed = append(committed, f[1])
		}
	}
	return list, committed
}

// TestRaftSurvivesPartitions runs a consensus library that has never heard of the simulator.
func TestRaftSurvivesPartitions(t *testing.T) {
	res, err := world.Run(t.Context(), raftSpec(t, 11, nil))
	require.NoError(t, err)
	require.Empty(t, res.NotFired)
	two, c2 := applied(res.Text("n2", "stdout"))
	three, c3 := applied(res.Text("n3", "stdout"))
	_, c1 := applied(res.Text("n1", "stdout"))
	require.Greater(t, len(two), 50)
	n := min(len(two), len(three))
	assert.Equal(t, two[:n], three[:n])
	longest := two
	if len(three) > n {
		longest = three
	}
	have := map[string]bool{}
	for _, c := range longest {
		have[c] = true
	}
	for _, c := range append(append(c1, c2...), c3...) {
		assert.True(t, have[c], "%s was committed and is lost", c)
	}
}

func TestRaftIsOneExecutionPerSeed(t *testing.T) {
	var a, b bytes.Buffer
	first, err := world.Run(t.Context(), raftSpec(t, 5, &a))
	require.NoError(t, err)
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("SOMETHING", "else")
	second, err := world.Run(t.Context(), raftSpec(t, 5, &b))
	require.NoError(t, err)
	d, err := kernel.FirstDifference(&a, &b)
	require.NoError(t, err)
	require.Nil(t, d, "%v", d)
	assert.Equal(t, first.TraceHash, second.TraceHash)
	assert.Equal(t, first.Lines, second.Lines)
	other, err := world.Run(t.Context(), raftSpec(t, 6, nil))
	require.NoError(t, err)
	assert.NotEqual(t, first.TraceHash, other.TraceHash)
}

func TestBadSpecs(t *testing.T) {
	p := program(t, "probe")
	for _, c := range []struct {
		why  string
		spec world.Spec
	}{
		{"no time limit", world.Spec{Program: p}},
		{"no name", world.Spec{Program: p, Limit: time.Second, Procs: []world.ProcSpec{{}}}},
		{`process 1 has no name of its own: "a"`, world.Spec{Program: p, Limit: time.Second, Procs: []world.ProcSpec{{Name: "a"}, {Name: "a"}}}},
		{"no program", world.Spec{Limit: time.Second, Procs: []world.ProcSpec{{Name: "a"}}}},
		{`"b", which is no process`, world.Spec{Program: p, Limit: time.Second, WaitFor: []string{"b"}}},
	} {
		_, err := world.Run(t.Context(), c.spec)
		assert.ErrorContains(t, err, c.why)
	}
	plan, err := nemesis.Parse("x", "at 1s kill ghost")
	require.NoError(t, err)
	_, err = world.Run(t.Context(), world.Spec{Program: p, Limit: 500 * time.Millisecond, Plan: plan, Procs: []world.ProcSpec{{Name: "a", Args: []string{"spin"}}}})
	assert.EqualError(t, err, `x:1: at 1s kill ghost: no process is called "ghost"`, "before anything runs")
	crowd := world.Spec{Program: p, Limit: time.Second}
	for i := range 255 {
		crowd.Procs = append(crowd.Procs, world.ProcSpec{Name: fmt.Sprint("p", i)})
	}
	_, err = world.Run(t.Context(), crowd)
	assert.ErrorContains(t, err, "255 processes, at most 254")
}
