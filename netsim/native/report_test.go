//go:build linux && amd64

package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	guests "trialog/netsim/guest"
)

// goReport counts the runs of the repeat suite with one Go release.
type goReport struct {
	Go       string  `json:"go"`
	Refused  string  `json:"refused,omitempty"` // why guests cannot be built with it
	Runs     int     `json:"runs"`
	Differed int     `json:"differed"`
	Programs []tally `json:"programs,omitempty"`
	Machines []tally `json:"machines,omitempty"`
}

type tally struct {
	Name     string `json:"name"`
	Runs     int    `json:"runs"`
	Differed int    `json:"differed"`
}

type reports []*goReport

func newReport(t *testing.T, command string) *goReport {
	t.Helper()
	out, err := exec.Command(command, "env", "GOVERSION").Output()
	require.NoError(t, err)
	return &goReport{Go: strings.TrimSpace(string(out))}
}

// refuse notes a release that the overlay does not know, which is an answer, unless it is the one that must work.
func (r *goReport) refuse(t *testing.T, err error) {
	t.Helper()
	var shape *guests.ShapeError
	require.True(t, errors.As(err, &shape), "%v", err)
	require.NotEqual(t, newReport(t, "go").Go, r.Go, "%v", err)
	r.Refused = err.Error()
}

func (r *goReport) count(program, machine string, differed bool) {
	n := 0
	if differed {
		n = 1
	}
	add := func(list []tally, name string) []tally {
		i := slices.IndexFunc(list, func(t tally) bool { return t.Name == name })
		if i < 0 {
			i, list = len(list), append(list, tally{Name: name})
		}
		list[i].Runs++
		list[i].Differed += n
		return list
	}
	r.Runs++
	r.Differed += n
	r.Programs, r.Machines = add(r.Programs, program), add(r.Machines, machine)
}

// String is a table of counts.
func (r *goReport) String() string {
	if r.Refused != "" {
		return fmt.Sprintf("%s: refused: %s\n", r.Go, r.Refused)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d runs differed\n", r.Go, r.Differed, r.Runs)
	for _, list := range [][]tally{r.Programs, r.Machines} {
		for _, t := range list {
			fmt.Fprintf(&b, "  %-28s %3d of %3d\n", t.Name, t.Differed, t.Runs)
		}
	}
	return b.String()
}

// write puts the counts into FILE.json and FILE.txt, where they were asked for.
func (all reports) write(t *testing.T, file string) {
	t.Helper()
	if file == "" {
		return
	}
	var table strings.Builder
	for _, r := range all {
		table.WriteString(r.String())
	}
	text, err := json.MarshalIndent(all, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file+".json", append(text, '\n'), 0o644))
	require.NoError(t, os.WriteFile(file+".txt", []byte(table.String()), 0o644))
}

// goCommands are the go commands to build guests with: the one in the path, and, if all are asked for, those that go has fetched.
func goCommands(t *testing.T) []string {
	t.Helper()
	list := []string{"go"}
	if !*every {
		return list
	}
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	others, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "golang.org", "toolchain@*", "bin", "go"))
	require.NoError(t, err)
	return append(list, others...)
}

func TestReportCounts(t *testing.T) {
	r := &goReport{Go: "go9.9"}
	r.count("raft", "quiet", false)
	r.count("raft", "noise", true)
	r.count("ping", "noise", false)
	assert.Equal(t, `go9.9: 1 of 3 runs differed
  raft                           1 of   2
  ping                           0 of   1
  quiet                          0 of   1
  noise                          1 of   2
`, r.String())
	assert.Equal(t, "go9.8: refused: why\n", (&goReport{Go: "go9.8", Refused: "why"}).String())
}
