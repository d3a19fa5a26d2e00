package court

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"trialog/checker/court/experiment"
	"trialog/checker/history"
	"trialog/netsim/engine"
	"trialog/netsim/guest"
)

const theExperiment = "../../experiments/001-acked-records-survive-a-crash"

// built is a directory with trialog and its guests of one source, made once for all tests of this package.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "trialog-court-test-*")
	if err != nil {
		return "", err
	}
	builtDir = dir
	mark := "-X main.source=" + SourceMark + strings.Repeat("5", 64)
	build := exec.Command("go", "build", "-trimpath", "-ldflags", mark, "-o", filepath.Join(dir, "trialog"), "trialog/cmd/trialog")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return dir, err
	}
	for _, name := range engineNames() {
		o := guest.Options{
			Engine: guest.Engine(name), Package: "trialog/cmd/trialog", Out: filepath.Join(dir, "trialog"+engine.Suffix(name)), LDFlags: mark,
		}
		if err := guest.Build(context.Background(), o); err != nil {
			return dir, err
		}
	}
	return dir, nil
})

// engineNames are the engines that this machine has.
func engineNames() []string {
	if c, _ := engine.Choose(engine.Auto, nil); c.Name == engine.Native {
		return []string{engine.Wasm, engine.Native}
	}
	return []string{engine.Wasm}
}

// engines runs a test on every engine.
func engines(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	for _, name := range engineNames() {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

var builtDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if builtDir != "" {
		os.RemoveAll(builtDir)
	}
	os.Exit(code)
}

// program is a built trialog; a test that runs it costs seconds.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program and runs it")
	}
	dir, err := built()
	require.NoError(t, err)
	return filepath.Join(dir, "trialog")
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	require.NoError(t, err)
	return abs
}

// trialog runs the program and returns what it printed and its exit code.
func trialog(t *testing.T, dir string, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.Command(program(t), args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		require.NotNil(t, cmd.ProcessState, "%v", err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// One seed is one execution, whatever surrounds it.
func TestSimulatedRunsRepeat(t *testing.T) {
	engines(t, func(t *testing.T, name string) {
		exp := absolute(t, theExperiment)
		hash := func(seed string, env ...string) string {
			dir := t.TempDir()
			out, errs, code := trialog(t, dir, env, "run", exp, "--engine", name, "--cell", "powercut-flush", "--seed", seed, "--json")
			require.Zero(t, code, errs)
			var r Run
			require.NoError(t, json.Unmarshal([]byte(out), &r))
			require.Len(t, r.TraceHash, 32)
			require.Equal(t, name, r.Engine)
			require.DirExists(t, filepath.Join(dir, r.Dir))
			return r.TraceHash
		}
		want := hash("7")
		require.Equal(t, want, hash("7", "GOMAXPROCS=1", "TZ=Pacific/Auckland"))
		require.Equal(t, want, hash("7", "GOMAXPROCS=16", "SOMETHING=else", "LANG=tr_TR.UTF-8"))
		require.NotEqual(t, want, hash("8"))
	})
}

func sims(t *testing.T, name string) (*Sim, *experiment.Experiment) {
	t.Helper()
	s, err := NewSim(t.Context(), SimOptions{Engine: name, Program: program(t), Source: strings.Repeat("5", 64)})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close(context.Background()) })
	return s, theExperimentFile(t)
}

func theExperimentFile(t testing.TB) *experiment.Experiment {
	t.Helper()
	e, err := experiment.Load("", theExperiment)
	require.NoError(t, err)
	return e
}

// A rule that is off changes neither the faults nor what the clients try to do.
func TestARuleOffLeavesPlanAndWorkload(t *testing.T) {
	engines(t, func(t *testing.T, name string) {
		s, e := sims(t, name)
		cell, err := e.Cell("kill")
		require.NoError(t, err)
		sound, err := s.Run(t.Context(), &Case{Experiment: e, Cell: cell, Seed: 3})
		require.NoError(t, err)
		mutant, err := s.Run(t.Context(), &Case{Experiment: e, Cell: cell, Seed: 3, RulesOff: []string{"producers.detect-duplicates"}})
		require.NoError(t, err)
		require.Equal(t, sound.Plan, mutant.Plan)
		require.NotEqual(t, sound.ID, mutant.ID)
		a, b := firstProduces(t, sound), firstProduces(t, mutant)
		require.Equal(t, a, b)
		require.NotEmpty(t, sound.Faults)
		require.Equal(t, sound.Faults[0].Time, mutant.Faults[0].Time)
	})
}

// firstProduces is what each producer tried first, before the first fault.
func firstProduces(t *testing.T, r *Run) map[string][]string {
	t.Helper()
	ops, err := history.Read(strings.NewReader(string(r.History)))
	require.NoError(t, err)
	first := map[string][]string{}
	for _, op := range ops {
		if op.Type == history.Invoke && op.F == history.Produce && len(first[op.Proc]) < 10 {
			first[op.Proc] = append(first[op.Proc], strings.Join(op.Values, " ")+" to "+string('0'+rune(op.Partition)))
		}
	}
	require.Len(t, first, 4)
	return first
}

// The line that replays a run says where its guest was.
func TestReplayLineNamesTheGuest(t *testing.T) {
	dir := t.TempDir()
	wasm, err := os.ReadFile(program(t) + ".wasm")
	require.NoError(t, err)
	write(t, filepath.Join(dir, "other.wasm"), string(wasm))
	out, errs, code := trialog(t, dir, nil, "run", absolute(t, theExperiment), "--guest", "other.wasm", "--json")
	require.Zero(t, code, errs)
	var r Run
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Contains(t, r.Replay, " --world sim --engine wasm --cell kill --seed 1 --guest other.wasm")
	require.Equal(t, "engine wasm: other.wasm was built for it\n", errs)
}

func TestGuestOfAnotherSourceIsRefused(t *testing.T) {
	engines(t, func(t *testing.T, name string) {
		_, err := NewSim(t.Context(), SimOptions{Engine: name, Program: program(t), Source: strings.Repeat("6", 64)})
		require.ErrorContains(t, err, "was built from source 555555555555, this program from 666666666666: run make build")
		_, err = NewSim(t.Context(), SimOptions{Engine: name, Guest: "none"})
		require.ErrorContains(t, err, "court: guest: open none")
		_, err = NewSim(t.Context(), SimOptions{Engine: name, Program: "none"})
		require.ErrorContains(t, err, "court: guest: open none"+engine.Suffix(name))
	})
}

// Where the engine is left open, the program takes the best, and says so where no program reads.
func TestTheChoiceOfTheEngineIsSaid(t *testing.T) {
	names := engineNames()
	best := names[len(names)-1]
	out, errs, code := trialog(t, t.TempDir(), nil, "run", absolute(t, theExperiment), "--json")
	require.Zero(t, code, errs)
	require.Regexp(t, "^engine "+best+": .*\n$", errs)
	var r Run
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, best, r.Engine)
	_, errs, code = trialog(t, t.TempDir(), nil, "run", absolute(t, theExperiment), "--engine", engine.Wasm)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
}

func TestReplay(t *testing.T) {
	engines(t, func(t *testing.T, name string) {
		dir := t.TempDir()
		_, errs, code := trialog(t, dir, nil, "run", absolute(t, theExperiment), "--engine", name, "--seed", "2", "--out", "stored")
		require.Zero(t, code, errs)

		out, errs, code := trialog(t, dir, nil, "replay", "stored", "--until", "3s")
		require.Zero(t, code, errs)
		require.Regexp(t, `(?m)^ +0\.\d+s   c1  \[.*init-producer-id -> ok pid=`, out)
		require.Regexp(t, `(?m)^trace [0-9a-f]{32}, as stored$`, out)
		require.NotContains(t, errs, "warning")

		// A stored file that is not what the run gave is named, though the trace is the same.
		for _, name := range []string{"plan.txt", "history.jsonl", "events.jsonl"} {
			file := filepath.Join(dir, "stored", name)
			sound, err := os.ReadFile(file)
			require.NoError(t, err)
			write(t, file, string(sound)+"{}\n")
			_, errs, code = trialog(t, dir, nil, "replay", "stored")
			require.Equal(t, 3, code, name)
			require.Contains(t, errs, fmt.Sprintf("%s:%d was altered\nstored: {}\nnow:    nothing", name, strings.Count(string(sound), "\n")+1))
			write(t, file, string(sound))
		}

		// A run that went another way is told apart, with the first difference.
		stored, err := ReadDir(filepath.Join(dir, "stored"))
		require.NoError(t, err)
		stored.TraceHash, stored.Guest = strings.Repeat("0", 32), strings.Repeat("7", 64)
		stored.Faults[0].Text = "kill b1 harder"
		require.NoError(t, stored.WriteDir(filepath.Join(dir, "stored")))
		_, errs, code = trialog(t, dir, nil, "replay", "stored")
		require.Equal(t, 3, code)
		require.Contains(t, errs, "is built from another source than the stored run's guest")
		require.Contains(t, errs, "kill b1 harder")
		require.Contains(t, errs, "two replays agree: the guest or the simulator is not the stored run's")
	})
}

// A mutant is convicted with witnesses, and the program says so with its exit code.
func TestAMutantIsConvicted(t *testing.T) {
	engines(t, func(t *testing.T, name string) {
		dir := t.TempDir()
		out, errs, code := trialog(t, dir, nil, "swarm", absolute(t, theExperiment), "--engine", name, "--mutant", "broker.ack-after-append", "--seeds", "1..20")
		require.Equal(t, 1, code, errs)
		require.Contains(t, out, "--mutant broker.ack-after-append")
		kept, err := filepath.Glob(filepath.Join(dir, "runs", "*"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		r, err := ReadDir(kept[0])
		require.NoError(t, err)
		require.Equal(t, Invalid, r.Verdict.Result)
		require.GreaterOrEqual(t, len(r.Verdict.Anomalies[0].Witnesses), 2)
	})
}

// A real run that is asked to stop leaves no process and no directory, whoever asks.
func TestAnInterruptedRealRunLeavesNothing(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		tmp := t.TempDir()
		cmd := exec.Command(program(t), "run", absolute(t, theExperiment), "--world", "real")
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "TMPDIR="+tmp)
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			started, _ := filepath.Glob(filepath.Join(tmp, "*", "data", "*"))
			return len(started) > 0
		}, 20*time.Second, 20*time.Millisecond, "the broker never started")
		require.NoError(t, cmd.Process.Signal(s))
		require.Error(t, cmd.Wait())
		require.Equal(t, 3, cmd.ProcessState.ExitCode(), s)
		left, err := os.ReadDir(tmp)
		require.NoError(t, err)
		require.Empty(t, left, s)
	}
}

func TestRealRun(t *testing.T) {
	w := &Real{Binary: program(t), Command: "trialog", Scale: RealScale / 2}
	e := theExperimentFile(t)
	cell, err := e.Cell("kill")
	require.NoError(t, err)
	r, err := w.Run(t.Context(), &Case{Experiment: e, Cell: cell, Seed: 1})
	require.NoError(t, err)
	require.Equal(t, Valid, r.Result, r.Verdict)
	require.NotEmpty(t, r.Faults)
	require.Greater(t, r.Operations, 100)
	require.NotEmpty(t, r.Events)

	cut, err := e.Cell("powercut-flush")
	require.NoError(t, err)
	r, err = w.Run(t.Context(), &Case{Experiment: e, Cell: cut, Seed: 1})
	require.NoError(t, err)
	require.True(t, r.Verdict.NotExpressible())
	require.Equal(t, Unknown, r.Result)
}
