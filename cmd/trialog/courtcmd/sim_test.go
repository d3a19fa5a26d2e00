package courtcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/engine"
)

// sim runs the command and returns what it printed.
func sim(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := simCommand()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestSimRunsAProgramOfAnotherModule(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module elsewhere\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "main.go"), `package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	fmt.Println("I am", os.Args[1])
	time.Sleep(time.Hour)
}
`)
	plan := filepath.Join(dir, "plan.txt")
	write(t, plan, "at 2s kill b\n")
	for _, name := range engineNames() {
		for _, target := range []string{dir, filepath.Join(dir, "main.go")} {
			args := []string{target, "--engine", name, "--proc", "a: one", "--proc", "b: two", "--plan", plan, "--limit", "5s", "--seed", "3"}
			out, err := sim(t, args...)
			require.NoError(t, err, out)
			assert.Contains(t, out, "a  I am one")
			assert.Contains(t, out, "b  I am two")
			assert.Contains(t, out, "2.000000s  **  kill b")
			assert.Contains(t, out, "a still ran when the world ended after 5s")
			again, err := sim(t, args...)
			require.NoError(t, err)
			assert.Equal(t, out, again)
		}
	}
}

// engineNames are the engines that this machine has.
func engineNames() []string {
	if c, _ := engine.Choose(engine.Auto, nil); c.Name == engine.Native {
		return []string{engine.Wasm, engine.Native}
	}
	return []string{engine.Wasm}
}

// What cannot be built for the better engine runs on the other, unless that was asked for.
func TestSimFallsBackToWasmAndSaysWhy(t *testing.T) {
	if len(engineNames()) == 1 {
		t.Skip("there is nothing to fall back from")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module elsewhere\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() { println(\"hello\") }\n")
	write(t, filepath.Join(dir, "other.go"), "//go:build !wasip1\n\npackage main\n\nvar x int = \"no number\"\n")
	out, err := sim(t, dir)
	require.NoError(t, err)
	assert.Regexp(t, `^engine wasm: guest: go build .*\n.*hello`, out)
	_, err = sim(t, dir, "--engine", "native")
	assert.ErrorContains(t, err, "no number")
	_, err = sim(t, dir, "--engine", "wasm")
	assert.NoError(t, err)
}

func TestSimRefusesBadOperands(t *testing.T) {
	dir := t.TempDir()
	plan, junk, strange := filepath.Join(dir, "plan.txt"), filepath.Join(dir, "junk.wasm"), filepath.Join(dir, "strange.guest")
	write(t, strange, "\x00asm")
	write(t, plan, "at 1s explode a\n")
	write(t, junk, "no program")
	for want, args := range map[string][]string{
		"is not positive":         {"x", "--limit", "-1s"},
		`is not "NAME: ARGS`:      {"x", "--proc", "nothing"},
		"plan.txt:1":              {"x", "--plan", plan},
		"junk.wasm":               {junk},
		"no such file":            {filepath.Join(dir, "none.wasm")},
		"no guest of any engine":  {junk, "--engine", "wasm"},
		`no engine "jit"`:         {"x", "--engine", "jit"},
		"for engine wasm":         {strange, "--engine", "native"},
		"./no/such/package":       {"./no/such/package"},
		"invalid argument \"-1\"": {"x", "--seed", "-1"},
	} {
		_, err := sim(t, args...)
		assert.ErrorContains(t, err, want, "%v", args)
	}
}
