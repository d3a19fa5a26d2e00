//go:build linux && amd64

package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"trialog/netsim/native/page"
	"trialog/netsim/world"
)

func file(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, text, 0o755))
	return path
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// ordinary is the same program as a guest, built for the real system.
var ordinary = sync.OnceValues(func() (string, error) {
	dir, err := guestDir()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "ordinary")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", out, "./testdata/ends")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return out, cmd.Run()
})

func TestOnlyGuestsAreLoaded(t *testing.T) {
	linux, err := ordinary()
	require.NoError(t, err)
	good := contents(t, built(t, "ends"))
	renamed := func(from, to string) string { // a section
		require.Equal(t, 1, bytes.Count(good, []byte("\x00"+from+"\x00")), from)
		name := append([]byte("\x00"+to), make([]byte, len(from)-len(to)+1)...)
		return file(t, bytes.Replace(good, []byte("\x00"+from+"\x00"), name, 1))
	}
	arm := bytes.Clone(good)
	binary.LittleEndian.PutUint16(arm[18:], 183) // the machine
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	self, err := os.Executable() // whose text holds the overlay's
	require.NoError(t, err)
	for _, c := range []struct{ name, file, why string }{
		{"missing", filepath.Join(t.TempDir(), "none"), "native: open FILE: no such file or directory"},
		{"a directory", t.TempDir(), "native: FILE is no linux program: "},
		{"empty", file(t, nil), "native: FILE is no linux program: "},
		{"text", file(t, []byte("#!/bin/sh\necho hello, this is a script of a shell and no program at all\n")), "native: FILE is no linux program: "},
		{"for the other engine", file(t, append([]byte("\x00asm\x01\x00\x00\x00"), make([]byte, 100)...)), "native: FILE is no linux program: "},
		{"for another processor", file(t, arm), "native: FILE is EM_AARCH64 ET_EXEC, expected a static x86-64 program"},
		{"for the real system", linux, "native: FILE was not built for the simulator (guestbuild -engine native, trialog sim)"},
		{"the simulator itself", self, "native: FILE "},
		{"not Go", renamed(".gopclntab", ".data.rel"), "native: FILE has no .text or .gopclntab section: it is no Go program"},
		{"with cgo", renamed(".itablink", ".interp"), "native: FILE is linked dynamically (cgo?): guests are pure Go"},
		{"dynamic", shell, "native: FILE is EM_X86_64 ET_DYN, expected a static x86-64 program"},
	} {
		t.Run(c.name, func(t *testing.T) { refuses(t, c.file, c.why) })
	}
}

// refuses wants one line that begins like this.
func refuses(t *testing.T, file, why string) {
	t.Helper()
	_, err := newEngine(t, nil).Load(file)
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), strings.ReplaceAll(why, "FILE", file)), err.Error())
	assert.NotContains(t, err.Error(), "\n")
}

// A copy that was interrupted is refused, wherever it ends; damage that is found is said, and what is not found is no harm
// here.
func TestDamagedGuests(t *testing.T) {
	good := contents(t, built(t, "ends"))
	for i := range 20 {
		refuses(t, file(t, good[:len(good)*i/20]), "native: FILE ")
	}
	for i := range 60 {
		bad := bytes.Clone(good)
		at := i * 17 % 1024 // the headers
		if i%2 == 0 {
			at = len(bad) - 1 - i*37%2048 // the table of sections
		}
		bad[at] ^= byte(1 + i%255)
		if _, err := newEngine(t, nil).Load(file(t, bad)); err != nil {
			require.Regexp(t, `^native: [^\n]+$`, err.Error())
		}
	}
}

func TestAGuestOfAnotherVersion(t *testing.T) {
	var magic, other [8]byte
	binary.LittleEndian.PutUint64(magic[:], page.SimMagic)
	binary.LittleEndian.PutUint64(other[:], page.SimMagic+1)
	text := contents(t, built(t, "ends"))
	require.Positive(t, bytes.Count(text, magic[:]))
	e := newEngine(t, nil)
	p, err := e.Load(file(t, bytes.ReplaceAll(text, magic[:], other[:])))
	require.NoError(t, err)
	_, err = world.Run(t.Context(), world.Spec{Program: p, Procs: procsOf([]string{"a: 0"}), Limit: 1e9})
	assert.ErrorContains(t, err, "ended before its first call: it took no page; was it built by another version?")
	assert.NotContains(t, err.Error(), "\n")
}

func TestAGuestThatMayNotBeExecuted(t *testing.T) {
	path := file(t, contents(t, built(t, "ends")))
	require.NoError(t, os.Chmod(path, 0o644))
	p, err := newEngine(t, nil).Load(path)
	require.NoError(t, err)
	_, err = world.Run(t.Context(), world.Spec{Program: p, Procs: procsOf([]string{"a: 0"}), Limit: 1e9})
	assert.EqualError(t, err, "native: start "+path+": permission denied")
}

// A guest finds itself outside of the simulator.
func TestAGuestStartedByHand(t *testing.T) {
	out, err := exec.Command(built(t, "ends"), "0").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 125, exit.ExitCode())
	assert.Equal(t, "netsim: this program runs inside the simulated operating system only (trialog sim, trialog run)\n", string(out))
}
