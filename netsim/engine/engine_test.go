package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// supporting makes this machine one on which native guests run, or do not.
func supporting(t *testing.T, err error) {
	t.Helper()
	before := supported
	supported = func() error { return err }
	t.Cleanup(func() { supported = before })
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

var errPlatform = errors.New("native: not on this machine")

func TestAutoIsNativeWhereThatCanBe(t *testing.T) {
	program := filepath.Join(t.TempDir(), "trialog")
	choose := func(name string) (string, string) {
		c, file, err := Beside(name, program)
		require.NoError(t, err)
		return c.String(), file
	}
	supporting(t, nil)
	line, file := choose(Auto)
	assert.Equal(t, []string{"engine wasm: there is no " + program + ".guest", program + ".wasm"}, []string{line, file})

	write(t, program+".guest", "")
	line, file = choose(Auto)
	assert.Equal(t, []string{"engine native: it can run here", program + ".guest"}, []string{line, file})
	line, file = choose(Wasm)
	assert.Equal(t, []string{"engine wasm: as told", program + ".wasm"}, []string{line, file})

	supporting(t, errPlatform)
	line, file = choose(Auto)
	assert.Equal(t, []string{"engine wasm: native: not on this machine", program + ".wasm"}, []string{line, file})
	line, file = choose(Native)
	assert.Equal(t, []string{"engine native: as told", program + ".guest"}, []string{line, file}, "whoever insists hears why not from Open")
	_, err := Open(t.Context(), Native)
	assert.Equal(t, errPlatform, err)
}

func TestAGuestsFileSaysWhatItWasBuiltFor(t *testing.T) {
	dir := t.TempDir()
	elf, wasm := write(t, filepath.Join(dir, "elf"), "\x7fELF..."), write(t, filepath.Join(dir, "wasm"), "\x00asm...")
	for _, c := range []struct{ name, file, want string }{
		{Auto, elf, "engine native: elf was built for it"},
		{Native, elf, "engine native: elf was built for it"},
		{Auto, wasm, "engine wasm: wasm was built for it"},
		{Wasm, wasm, "engine wasm: wasm was built for it"},
	} {
		got, err := For(c.name, c.file)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.String())
	}
	for _, c := range []struct{ name, file, why string }{
		{Native, wasm, "is a guest for engine wasm"},
		{Wasm, elf, "is a guest for engine native"},
		{Auto, write(t, filepath.Join(dir, "text"), "no program"), "text is no guest of any engine"},
		{Auto, write(t, filepath.Join(dir, "empty"), ""), "empty is no guest of any engine"},
		{Auto, filepath.Join(dir, "none"), "no such file"},
		{"jit", elf, `no engine "jit": it is auto, native or wasm`},
	} {
		_, err := For(c.name, c.file)
		assert.ErrorContains(t, err, c.why)
	}
}

func TestNoOtherEngines(t *testing.T) {
	for _, name := range []string{"", "Native", Auto} {
		_, err := Open(t.Context(), name)
		assert.ErrorContains(t, err, "engine", name)
	}
	_, _, err := Beside("jit", "trialog")
	assert.ErrorContains(t, err, `no engine "jit"`)
}

func TestWhatIsNoGuestIsNotLoaded(t *testing.T) {
	e, err := Open(t.Context(), Wasm)
	require.NoError(t, err)
	defer e.Close(t.Context())
	p, err := e.Load(t.Context(), write(t, filepath.Join(t.TempDir(), "junk"), "\x00asm junk"))
	assert.ErrorContains(t, err, "junk: wasi: compile")
	assert.Nil(t, p)
}
