//go:build linux && amd64

package native

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/disk"
	"trialog/netsim/kernel"
	"trialog/netsim/world"
)

// appended is a world whose one process appends lines to /d/log; what happens, happens when a number of them have been
// written and the next one begins. It returns how many are in the file, and how many the process knows of.
func appended(t *testing.T, lines int, what func(p *kernel.Proc, fs *disk.FS)) (there, known int) {
	spec := specOf(t, newEngine(t, nil), 1, "examples/probe", "a: append /d -")
	spec.Procs[0].Watch = func(p *kernel.Proc) {
		p.SetTrap(&kernel.Trap{
			Match: func(c kernel.Call) bool {
				if c.Name == "write" && c.File != nil && disk.PathOf(c.File) == "/d/log" {
					lines--
				}
				return lines < 0
			},
			Fire: func(p *kernel.Proc) { what(p, p.Host.FS.(*disk.FS)) },
		})
	}
	res, err := world.Run(t.Context(), spec)
	require.NoError(t, err)
	b, err := res.Disks["a"].ReadFile("/d/log")
	require.NoError(t, err)
	return len(b) / 100, strings.Count(res.Text("a", "stdout"), "safe ")
}

// A write to a calm disk is made after the process was told so. A fault that begins in between strikes the next one that
// it can strike: the 41st line needs a second page, which holds 81.
func TestAFaultStrikesBehindPostedWrites(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(fs *disk.FS)
		lines int
	}{
		"full":   {func(fs *disk.FS) { fs.Full(true) }, 81},
		"room":   {func(fs *disk.FS) { fs.Room(0) }, 81},
		"failed": {func(fs *disk.FS) { fs.FailWrites(true) }, 41},
	} {
		t.Run(name, func(t *testing.T) {
			there, known := appended(t, 40, func(_ *kernel.Proc, fs *disk.FS) { c.fault(fs) })
			assert.Equal(t, []int{c.lines, c.lines}, []int{there, known})
		})
	}
}

// A process that dies in between has not made it, and nobody has heard that it would.
func TestAPostedWriteDiesWithItsProcess(t *testing.T) {
	there, known := appended(t, 40, func(p *kernel.Proc, _ *disk.FS) { p.Kernel().Kill(p, kernel.ReasonKill) })
	assert.Equal(t, []int{40, 40}, []int{there, known})
}
